/*
 * The loop of nn-predict: a block of rows that lie ready, forward, write; never waiting for a
 * second row.
 */
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "base/text.h"
#include "predict/run.h"

#define PASSING_ROWS 4

/* An input that ends with its first few rows is answered as large weights come out of the file. */
static bool may_pass(const struct nn_run *r, const struct nn_run_member *m,
		     const struct nn_run_block *block)
{
	return !m->session && block->n <= PASSING_ROWS && block->n < block->max &&
	       !nn_rows_would_block(r->rows);
}

/*
 * A session for n rows: the weights are shared, so another one costs little. Threads come with the
 * first whole batch.
 */
static int open_session(struct nn_run *r, struct nn_run_member *m, size_t n, struct nn_error *err)
{
	struct nn_session_setup setup = { .model = m->model, .max_rows = n };

	nn_session_close(m->session);
	m->session = NULL;
	if (n == r->batch && !r->pool && nn_pool_new(&r->pool, nn_run_threads(r), err) < 0)
		return -1;
	setup.pool = r->pool;
	return nn_session_new(&m->session, &setup, err);
}

static int forward_member(struct nn_run *r, struct nn_run_member *m, const struct nn_run_batch *b,
			  struct nn_error *err)
{
	enum nn_dtype dtype = m->model->device->dtype;
	size_t n = b->n;

	if (!may_pass(r, m, b->block) && nn_model_load_rest(m->model, err) < 0)
		return -1;
	if ((!m->session || n > nn_session_max_rows(m->session)) &&
	    open_session(r, m, n > r->batch / 2 ? r->batch : n, err) < 0)
		return -1;
	for (size_t i = 0; i < nn_session_n_inputs(m->session); i++) {
		size_t row = nn_session_input_size(m->session, i) * nn_dtype_size(dtype);

		nn_session_lend(m->session, i, n,
				(char *)b->block->inputs[m->first_input + i] + b->first * row,
				dtype);
	}
	if (b->block->beside.lengths)
		nn_session_set_lengths(m->session, 0, n, b->block->beside.lengths + b->first);
	return nn_session_run(m->session, n, err);
}

static int forward(struct nn_run *r, const struct nn_run_batch *b, struct nn_error *err)
{
	for (size_t k = 0; k < r->n_members; k++) {
		if (forward_member(r, &r->members[k], b, err) < 0)
			return -1;
		if (r->ensemble)
			nn_ensemble_add(r->ensemble, k, r->members[k].session, b->n);
	}
	return 0;
}

/* Whoever drives us through a pipe gets its answers before we wait for more. */
static int flush(struct nn_run *r, struct nn_error *err)
{
	if (!r->output) /* a folder */
		return 0;
	if (r->p->options.flush == NN_FLUSH_LINE ||
	    (r->p->options.flush == NN_FLUSH_AUTO && !r->ahead && nn_rows_would_block(r->rows)))
		return nn_output_flush(r->output, err);
	return 0;
}

static int answer(struct nn_run *r, const struct nn_run_block *block, struct nn_error *err)
{
	struct nn_run_batch b = { .block = block };

	for (; b.first < block->n; b.first += b.n) {
		b.n = block->n - b.first < r->batch ? block->n - b.first : r->batch;
		if (forward(r, &b, err) < 0)
			return -1;
		if ((r->metrics ? nn_run_score : nn_run_write)(r, &b, err) < 0)
			return -1;
		r->n_rows += b.n;
	}
	if (r->metrics)
		return 0;
	if (block->array_end && nn_writer_end_array(r->writer, err) < 0)
		return -1;
	return flush(r, err);
}

/* A block is answered by the caller while the next one is read. */
struct overlap {
	struct nn_run *run;
	struct nn_run_block *now, *next;
	int status;
	struct nn_error *err;
};

static void overlap_piece(void *arg, size_t i, int thread)
{
	struct overlap *o = arg;

	(void)thread;
	if (i == 0)
		o->status = answer(o->run, o->now, o->err);
	else if (o->run->ahead || o->status == 0)
		nn_run_read_block(o->run, o->next);
}

static int loop(struct nn_run *r, struct nn_error *err)
{
	struct overlap o = { .run = r, .now = &r->blocks[0], .next = &r->blocks[0], .err = err };

	nn_run_read_block(r, o.now);
	if (nn_run_read_ahead(r, err) < 0)
		return -1;
	if (r->ahead)
		o.next = &r->blocks[1];
	for (;;) {
		struct nn_run_block *now = o.now;

		/* What was read before a bad row is still answered. */
		if (now->status < 0) {
			*err = now->err;
			return -1;
		}
		if (now->n == 0 && !now->array_end)
			return 0;
		nn_pool_run(r->ahead, 2, overlap_piece, &o);
		if (o.status < 0)
			return -1;
		o.now = o.next;
		if (r->ahead)
			o.next = o.now == &r->blocks[1] ? &r->blocks[2] : &r->blocks[1];
	}
}

/* ---- closing ---- */

/* Members that know the same of their data notice the same. */
static bool was_given(const struct nn_run *r, size_t member, const char *notice)
{
	const char *before;

	for (size_t k = 0; k < member; k++)
		for (size_t i = 0; (before = nn_rows_notice(r->members[k].rows, i)); i++)
			if (strcmp(before, notice) == 0)
				return true;
	return false;
}

static void give_notices(struct nn_run *r)
{
	char text[160];
	const char *notice;

	for (size_t k = 0; k < r->n_members; k++)
		for (size_t i = 0; (notice = nn_rows_notice(r->members[k].rows, i)); i++)
			if (!was_given(r, k, notice))
				nn_run_warn(r, notice);
	if (nn_run_bad(r)) {
		snprintf(text, sizeof text, "%llu row%s could not be read and %s %s",
			 (unsigned long long)nn_run_bad(r), nn_s(nn_run_bad(r)),
			 nn_run_bad(r) == 1 ? "was" : "were",
			 r->writer && r->p->options.on_error == NN_ON_ERROR_MARK ? "marked"
										 : "left out");
		nn_run_warn(r, text);
	}
	if (r->writer && nn_writer_not_finite(r->writer)) {
		snprintf(text, sizeof text, "the outputs of %llu row%s are not finite",
			 (unsigned long long)nn_writer_not_finite(r->writer),
			 nn_s(nn_writer_not_finite(r->writer)));
		nn_run_warn(r, text);
	}
}

static int finish(struct nn_run *r, struct nn_error *err)
{
	struct nn_output *output = r->output;

	for (size_t o = 0; r->metrics && o < nn_run_outputs(r); o++) {
		nn_metrics_close(r->metrics[o]);
		if (r->against)
			nn_metrics_close(r->against[o]);
	}
	if ((r->metrics ? nn_run_print_score(r, err) : nn_writer_close(r->writer, err)) < 0)
		return -1;
	give_notices(r);
	r->output = NULL;
	return output ? nn_output_commit(output, err) : 0;
}

int nn_predict_run(const struct nn_predict *predict, struct nn_error *err)
{
	struct nn_run r = { .p = predict };
	int status = nn_run_open(&r, err);

	if (status == 0)
		status = loop(&r, err);
	if (status == 0)
		status = finish(&r, err);
	else if (r.writer && r.output && !nn_output_is_regular(r.output))
		nn_output_flush(r.output,
				NULL); /* what was answered before the failure is the user's */
	status = nn_run_log_end(&r, status, err);
	nn_run_close(&r);
	return status;
}
