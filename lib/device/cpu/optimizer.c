/* Updates of runs of the flat block, and of rows of tables. */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"
#include "device/cpu/optimizer-step.h"

#define lars sgd /* the kernel of its row */

void NN_K(ready)(struct nn_ready_update *ready, const struct nn_update *u, void *direction)
{
	static void (*const updates[NN_N_OPTIMIZERS])(const struct nn_sink *sink, size_t at,
						      const void *gradients, size_t n) = {
#define NN_OPTIMIZER(ID, id, ...) id,
#include "device/optimizers.def"
	};
	nn_ready_numbers(ready, u, direction);
	ready->sink = (struct nn_sink){ updates[u->kind], { u->w, u->slot[0], u->slot[1] } };
	if (u->kind == NN_OPTIMIZER_ADAM && ready->clip == 1 && ready->decay == 0)
		ready->sink.take = adam_plain;
}

/* ---- tables: gradients of some of their rows ---- */

#define NN_ZEROS 4096 /* gradients of rows that have none, as many as go at once */
#define NN_AHEAD 8    /* rows asked for before they are needed */
static const real zeros[NN_ZEROS];

static void ask_for(const struct nn_ready_update *u, size_t at)
{
	__builtin_prefetch(u->w + at, 1);
	if (u->a)
		__builtin_prefetch(u->a + at, 1);
	if (u->b)
		__builtin_prefetch(u->b + at, 1);
}

struct job {
	struct nn_ready_update ready;
	const real *g;
	const struct nn_row_list *rows; /* in its place */
};

/* Elements [at, at + n), whose gradients are g. */
static void update_run(const struct job *job, size_t at, const real *g, size_t n)
{
	job->ready.sink.take(&job->ready.sink, at, g, n);
}

static void piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	(void)thread;
	update_run(job, begin, job->g + begin, end - begin);
}

/* Rows of the list, numbered as they stand there. */
static void listed_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	const struct nn_row_list *rows = job->rows;
	const real *value = rows->value;
	(void)thread;
	for (size_t j = begin; j < end; j++) {
		if (j + NN_AHEAD < end)
			ask_for(&job->ready, rows->row[j + NN_AHEAD] * rows->width);
		update_run(job, rows->row[j] * rows->width, value + j * rows->width, rows->width);
	}
}

/* The first of the list that is not before row r. */
static size_t find_row(const struct nn_row_list *rows, size_t r)
{
	size_t low = 0, high = *rows->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows->row[middle] < r)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All rows from begin on, in the list or not. */
static void every_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	const struct nn_row_list *rows = job->rows;
	size_t j = find_row(rows, begin), w = rows->width;
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		size_t next = j < *rows->n && rows->row[j] < end ? rows->row[j] : end;
		for (size_t at = r * w, count; at < next * w; at += count) {
			count = next * w - at < NN_ZEROS ? next * w - at : NN_ZEROS;
			update_run(job, at, zeros, count);
		}
		if (next == end)
			return;
		update_run(job, next * w, (const real *)rows->value + j++ * w, w);
		r = next;
	}
}

void NN_K(direction)(const struct nn_update *u, void *direction)
{
	struct job job = { .g = u->g, .rows = u->rows };
	if (u->now->hold)
		return;
	NN_K(ready)(&job.ready, u, direction);
	if (!u->rows)
		nn_cpu_split(u->pool, u->n, 64, 7 * sizeof(real), piece, &job);
	else if (u->every)
		nn_cpu_split(u->pool, u->n / u->rows->width, 1, 7 * sizeof(real) * u->rows->width,
			     every_piece, &job);
	else
		nn_cpu_split(u->pool, *u->rows->n, 1, 7 * sizeof(real) * u->rows->width + 200,
			     listed_piece, &job);
}

void NN_K(update)(const struct nn_update *u)
{
	NN_K(direction)(u, NULL);
}
