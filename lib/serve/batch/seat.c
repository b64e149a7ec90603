/*
 * Seats: a session and the outputs of a batch, a thread each. All are opened and have computed a
 * row before the lane is there for anybody.
 */
#include <string.h>

#include "base/clock.h"
#include "base/flush.h"
#include "base/memory.h"
#include "base/real.h"
#include "file/convert.h"
#include "predict/part.h"
#include "serve/batch/inside.h"
#include "serve/ranks/ranks.h"

/* Seats together take at most this part of the memory that can be had. */
#define MEMORY_PART 4

static int open_seat(const struct nn_lane *lane, struct nn_seat *seat, struct nn_error *err)
{
	const struct nn_model *model = seat->place->model;
	struct nn_session_setup setup = { .model = model, .max_rows = lane->max_batch };

	seat->pieces = nn_alloc(lane->max_batch, sizeof *seat->pieces, err);
	if (!seat->pieces)
		return -1;
	if (lane->null_row)
		return 0;
	seat->emitted = nn_alloc(lane->n_outputs, sizeof *seat->emitted, err);
	if (!seat->emitted || nn_session_new(&seat->session, &setup, err) < 0)
		return -1;
	for (size_t o = 0; o < lane->n_outputs; o++)
		if (nn_emitted_open(&seat->emitted[o], model, (int)o, NULL, lane->max_batch, err) <
		    0)
			return -1;
	return 0;
}

static void close_seat(const struct nn_lane *lane, struct nn_seat *seat)
{
	for (size_t o = 0; seat->emitted && o < lane->n_outputs; o++)
		nn_emitted_close(&seat->emitted[o]);
	nn_free(seat->emitted);
	nn_session_close(seat->session);
	nn_free(seat->pieces);
	nn_block_free(&seat->answer);
}

/* Bytes of a seat for that many rows, in all ranks: they share this machine. */
static int seat_bytes(const struct nn_lane *lane, const struct nn_model *model, size_t rows,
		      size_t *bytes, struct nn_error *err)
{
	struct nn_graph_options options = { .device = model->device, .max_rows = rows };
	struct nn_part_cut cuts[NN_MOST_PARTS] = { { 0 } };
	int parts = model->part.ranks ? model->part.ranks : 1;
	struct nn_graph_memory m;

	if (model->part.ranks && nn_part_cuts(cuts, parts, model->program, err) < 0)
		return -1;
	*bytes = lane->row_out * rows * nn_dtype_size(model->device->dtype);
	for (int p = 0; p < parts; p++) {
		options.first = cuts[p].first;
		options.last = cuts[p].last;
		if (nn_graph_plan(model->program, &options, &m, err) < 0)
			return -1;
		*bytes += m.activations + m.workspace + m.input;
	}
	return 0;
}

/* Fewer rows at once where seats of max_batch rows would take too much memory. */
static int bound_memory(struct nn_lane *lane, const struct nn_lane_place *place,
			struct nn_error *err)
{
	size_t room = nn_memory_available() / MEMORY_PART / place->n_seats, bytes;

	for (;; lane->max_batch /= 2) {
		if (seat_bytes(lane, place->model, lane->max_batch, &bytes, err) < 0)
			return -1;
		if (bytes <= room || lane->max_batch == 1)
			return 0;
	}
}

int nn_seat_measure(const struct nn_lane *lane, struct nn_seat *seat, size_t rows, double *seconds,
		    struct nn_error *err)
{
	struct nn_job job = { .rows = 1 };
	float *in = nn_alloc(lane->row_in, sizeof *in, err);
	float *out = nn_alloc(lane->row_out, sizeof *out, err);
	int status = in && out ? 0 : -1;

	job.in = in;
	job.out = out;
	for (size_t i = 0; i < rows; i++)
		seat->pieces[i] = (struct nn_piece){ &job, 0, 1 };
	seat->n_pieces = seat->rows = rows;
	for (int i = 0; i < 2 && status == 0; i++) {
		double began = nn_now_s();

		status = nn_seat_compute(lane, seat, err);
		*seconds = nn_now_s() - began;
	}
	nn_free(in);
	nn_free(out);
	return status;
}

/* Workers that compute on a place: those for devices with memory of their own are for no other. */
static size_t workers_of(const struct nn_lane *lane)
{
	const struct nn_batcher_setup *setup = &lane->batcher->setup;

	return setup->workers - (lane->n_places > 1 ? setup->apart : 0);
}

/* Among several, one with memory of its own has one seat, so that what it is known to cost holds.
 */
static size_t most_seats(const struct nn_lane *lane, const struct nn_lane_place *place)
{
	return lane->n_places > 1 && place->model->device->remote
		       ? 1
		       : workers_of(lane) + lane->batcher->setup.loops;
}

/* Seats that threads can have use for, of which some are open: loops compute what is light. */
static size_t needed(const struct nn_lane *lane, const struct nn_lane_place *place, size_t open)
{
	size_t workers = workers_of(lane), heavy = workers > open ? workers : open;
	bool light = lane->null_row || nn_costs_at(&place->costs, 1) < NN_LIGHT_S;

	return (light && !place->model->part.ranks) || heavy > place->n_seats ? place->n_seats
									      : heavy;
}

static int open_seats(struct nn_lane *lane, struct nn_lane_place *place, struct nn_error *err)
{
	place->seats = nn_alloc(place->n_seats, sizeof *place->seats, err);
	if (!place->seats)
		return -1;
	for (size_t i = 0; i < place->n_seats; i++) {
		struct nn_seat *seat = &place->seats[i];
		double seconds;

		seat->place = place;
		if (open_seat(lane, seat, err) < 0 ||
		    nn_seat_measure(lane, seat, 1, &seconds, err) < 0)
			return -1;
		nn_costs_add(&place->costs, 1, seconds);
		seat->next = place->free;
		place->free = seat;
		place->n_seats = needed(lane, place, i + 1);
	}
	return 0;
}

int nn_lane_open_seats(struct nn_lane *lane, struct nn_error *err)
{
	for (size_t i = 0; i < lane->n_places; i++) {
		lane->places[i].n_seats = most_seats(lane, &lane->places[i]);
		if (!lane->null_row && bound_memory(lane, &lane->places[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < lane->n_places; i++)
		if (open_seats(lane, &lane->places[i], err) < 0)
			return -1;
	return 0;
}

void nn_lane_close_seats(struct nn_lane *lane)
{
	for (size_t p = 0; p < lane->n_places; p++) {
		struct nn_lane_place *place = &lane->places[p];

		for (size_t i = 0; place->seats && i < place->n_seats; i++)
			close_seat(lane, &place->seats[i]);
		nn_free(place->seats);
	}
}

/* ---- a batch ---- */

static const void *in_of(const struct nn_lane *lane, const struct nn_piece *p)
{
	return (const char *)p->job->in + p->first * lane->row_in * nn_dtype_size(p->job->dtype);
}

static void *out_of(const struct nn_lane *lane, const struct nn_piece *p)
{
	return (char *)p->job->out + p->first * lane->row_out * nn_dtype_size(p->job->dtype);
}

/* Rows of several tensors lie one after the other in a job; a session has an array of each. */
static void put_rows(const struct nn_lane *lane, struct nn_session *s, size_t at,
		     const struct nn_piece *p)
{
	size_t n_inputs = nn_session_n_inputs(s), size = nn_dtype_size(p->job->dtype);
	const char *rows = in_of(lane, p);

	if (n_inputs == 1) {
		nn_session_put(s, 0, at, p->n, rows, p->job->dtype);
		return;
	}
	for (size_t r = 0; r < p->n; r++)
		for (size_t i = 0; i < n_inputs; i++) {
			nn_session_put(s, i, at + r, 1, rows, p->job->dtype);
			rows += nn_session_input_size(s, i) * size;
		}
}

static void put(const struct nn_lane *lane, struct nn_seat *seat)
{
	const struct nn_piece *p = seat->pieces;
	bool lend = seat->n_pieces == 1 && nn_session_n_inputs(seat->session) == 1;
	size_t at = 0;

	if (lend)
		nn_session_lend(seat->session, 0, p->n, in_of(lane, p), p->job->dtype);
	for (size_t i = 0; i < seat->n_pieces; i++) {
		if (!lend)
			put_rows(lane, seat->session, at, &p[i]);
		if (p[i].job->lengths)
			nn_session_set_lengths(seat->session, at, p[i].n,
					       p[i].job->lengths + p[i].first);
		at += p[i].n;
	}
}

/* Row `row` of an output in language order (channels first for images), as values of dtype. */
static void get_row(const struct nn_emitted *e, size_t row, void *out, enum nn_dtype dtype)
{
	size_t n = e->positions * e->columns, at = row * n, size = nn_dtype_size(dtype);

	if (e->dtype == dtype && e->shape.rank != 3) {
		memcpy(out, (const char *)e->values + at * size, n * size);
		return;
	}
	for (size_t p = 0; p < e->positions; p++)
		for (size_t c = 0; c < e->columns; c++)
			nn_real_put(dtype, out,
				    e->shape.rank == 3 ? c * e->positions + p : p * e->columns + c,
				    nn_real_at(e->dtype, e->values, at + p * e->columns + c));
}

static void get(const struct nn_lane *lane, struct nn_seat *seat)
{
	size_t row = 0;

	for (size_t o = 0; o < lane->n_outputs; o++)
		nn_emitted_take(&seat->emitted[o], seat->session, 0, seat->rows);
	for (size_t i = 0; i < seat->n_pieces; i++) {
		const struct nn_piece *p = &seat->pieces[i];
		size_t size = nn_dtype_size(p->job->dtype);
		char *out = out_of(lane, p);

		for (size_t r = 0; r < p->n; r++, row++)
			for (size_t o = 0; o < lane->n_outputs; o++) {
				const struct nn_emitted *e = &seat->emitted[o];

				get_row(e, row, out, p->job->dtype);
				out += e->positions * e->columns * size;
			}
	}
}

static void answer_nothing(const struct nn_lane *lane, const struct nn_seat *seat)
{
	for (size_t i = 0; i < seat->n_pieces; i++) {
		const struct nn_piece *p = &seat->pieces[i];
		size_t bytes = lane->row_out * nn_dtype_size(p->job->dtype);
		char *out = out_of(lane, p);

		for (size_t r = 0; r < p->n; r++)
			nn_convert(NN_F32, lane->null_row, lane->row_out, p->job->dtype,
				   out + r * bytes);
	}
}

int nn_seat_compute(const struct nn_lane *lane, struct nn_seat *seat, struct nn_error *err)
{
	uint64_t before;
	int status;

	if (lane->null_row) {
		answer_nothing(lane, seat);
		return 0;
	}
	before = nn_flush_set(true);
	put(lane, seat);
	status = lane->model->part.ranks ? nn_ranks_run(lane->batcher->setup.ranks, seat->session,
							lane->model, seat->rows, &seat->answer, err)
					 : nn_session_run(seat->session, seat->rows, err);
	if (status == 0)
		get(lane, seat);
	nn_flush_restore(before);
	return status;
}
