/* The newest samples of a stream, as they go into batches. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/text.h"
#include "data/ring.h"
#include "data/rows/rows.h"

#define WAIT_MS 50 /* a step that waits for samples looks for a signal so often */

struct column {
	char *values; /* [rows][bytes] */
	size_t bytes;
};

struct nn_ring {
	struct nn_ring_options options;
	struct column *inputs, *targets;
	double *weights; /* [rows]; NULL: all weigh 1 */
	size_t n_inputs, n_targets;
	size_t n;       /* rows that are there */
	uint64_t taken; /* that came after the first ones */
	bool ended;
	struct nn_rows *rows; /* NULL: nothing was read yet */
	struct nn_shape *outputs;       /* [n_targets] */
	void **to_inputs, **to_targets; /* where the next rows go */
};

static const struct nn_dataset *dataset_of(const struct nn_ring *r)
{
	return r->options.dataset;
}

static size_t input_bytes(const struct nn_dataset *ds, size_t i)
{
	return ds->coding->inputs[i].size * nn_dtype_size(ds->dtype);
}

static size_t target_bytes(const struct nn_dataset *ds, size_t i)
{
	return ds->targets[i].size *
	       (ds->targets[i].classes ? sizeof(int32_t) : nn_dtype_size(ds->dtype));
}

size_t nn_ring_row_bytes(const struct nn_dataset *ds)
{
	size_t bytes = ds->weights ? sizeof *ds->weights : 0;

	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		bytes += nn_shape_count(&ds->schema->inputs[i].shape) * nn_dtype_size(ds->dtype);
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		bytes += target_bytes(ds, i);
	return bytes;
}

/* ---- what batches are filled with ---- */

static const char *at(const struct column *c, uint64_t row)
{
	return c->values + row * c->bytes;
}

/* As they are: the coding was done when they came in. */
static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n,
		      bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_ring *r = data;
	const struct nn_dataset *ds = dataset_of(r);
	const struct nn_input_code *code = &ds->coding->inputs[input],
				   done = { .size = code->size,
					    .channels = code->channels,
					    .positions = code->positions };
	const struct nn_row_block block = { .data = r->inputs[input].values,
					    .dtype = ds->dtype,
					    .stride = code->size };

	(void)err;
	nn_fill_input(&done, ds->dtype, &block, rows, n, channels_last, values);
	return 0;
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n,
		       void *values, struct nn_error *err)
{
	const struct nn_ring *r = data;
	const struct column *c = &r->targets[target];

	(void)err;
	for (size_t i = 0; i < n; i++)
		memcpy((char *)values + i * c->bytes, at(c, rows[i]), c->bytes);
	return 0;
}

static int fill_weights(const void *data, const uint64_t *rows, size_t n, double *weights,
			struct nn_error *err)
{
	const struct nn_ring *r = data;

	(void)err;
	for (size_t i = 0; i < n; i++)
		weights[i] = r->weights[rows[i]];
	return 0;
}

static const struct nn_source_ops plain = { .fill_input = fill_input, .fill_target = fill_target },
				  weighed = { .fill_input = fill_input,
					      .fill_target = fill_target,
					      .fill_weights = fill_weights };

struct nn_source nn_ring_source(const struct nn_ring *r)
{
	return (struct nn_source){ r->weights ? &weighed : &plain, r, r->n };
}

void nn_ring_draw(const struct nn_ring *r, uint64_t batch, uint64_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i] = nn_draw_below(r->options.seed, NN_STREAM_REPLAY, (batch << 24) + i, r->n);
}

/* ---- the rows of the dataset ---- */

static int reserve(struct nn_ring *r, struct nn_error *err)
{
	const struct nn_dataset *ds = dataset_of(r);

	r->n_inputs = ds->schema->n_inputs;
	r->n_targets = ds->schema->n_targets;
	r->inputs = nn_alloc(r->n_inputs, sizeof *r->inputs, err);
	r->targets = nn_alloc(r->n_targets, sizeof *r->targets, err);
	r->to_inputs = nn_alloc(r->n_inputs, sizeof *r->to_inputs, err);
	r->to_targets = nn_alloc(r->n_targets, sizeof *r->to_targets, err);
	r->outputs = nn_alloc(r->n_targets, sizeof *r->outputs, err);
	if (!r->outputs || !r->inputs || !r->targets || !r->to_inputs || !r->to_targets)
		return -1;
	memcpy(r->outputs, r->options.outputs, r->n_targets * sizeof *r->outputs);
	for (size_t i = 0; i < r->n_inputs; i++) {
		r->inputs[i].bytes = input_bytes(ds, i);
		if (!(r->inputs[i].values = nn_alloc(r->n, r->inputs[i].bytes, err)))
			return -1;
	}
	for (size_t i = 0; i < r->n_targets; i++) {
		r->targets[i].bytes = target_bytes(ds, i);
		if (!(r->targets[i].values = nn_alloc(r->n, r->targets[i].bytes, err)))
			return -1;
	}
	if (ds->weights && !(r->weights = nn_alloc(r->n, sizeof *r->weights, err)))
		return -1;
	return 0;
}

static int take_first(struct nn_ring *r, struct nn_error *err)
{
	struct nn_source source = nn_dataset_source(dataset_of(r));

	for (uint64_t row = 0; row < r->n; row++) {
		for (size_t i = 0; i < r->n_inputs; i++)
			if (source.ops->fill_input(source.data, i, &row, 1, false,
						   (char *)at(&r->inputs[i], row), err) < 0)
				return -1;
		for (size_t i = 0; i < r->n_targets; i++)
			if (source.ops->fill_target(source.data, i, &row, 1,
						    (char *)at(&r->targets[i], row), err) < 0)
				return -1;
		if (r->weights &&
		    source.ops->fill_weights(source.data, &row, 1, &r->weights[row], err) < 0)
			return -1;
	}
	return 0;
}

int nn_ring_new(struct nn_ring **ring, const struct nn_ring_options *options,
		struct nn_error *err)
{
	struct nn_ring *r = nn_alloc(1, sizeof *r, err);

	if (!r)
		return -1;
	r->options = *options;
	r->n = nn_dataset_rows(options->dataset);
	r->ended = r->n < options->rows;
	if (reserve(r, err) < 0 || take_first(r, err) < 0) {
		nn_ring_free(r);
		return -1;
	}
	*ring = r;
	return 0;
}

void nn_ring_free(struct nn_ring *r)
{
	if (!r)
		return;
	nn_rows_close(r->rows);
	for (size_t i = 0; r->inputs && i < r->n_inputs; i++)
		nn_free(r->inputs[i].values);
	for (size_t i = 0; r->targets && i < r->n_targets; i++)
		nn_free(r->targets[i].values);
	nn_free(r->outputs);
	nn_free(r->inputs);
	nn_free(r->targets);
	nn_free(r->to_inputs);
	nn_free(r->to_targets);
	nn_free(r->weights);
	nn_free(r);
}

/* ---- what follows ---- */

/* Up to n rows to the places from `slot` on; 0 at the end. */
static int read_some(struct nn_ring *r, size_t slot, size_t n, size_t *got, struct nn_error *err)
{
	struct nn_rows_beside beside = { .weights = r->weights ? r->weights + slot : NULL };
	bool array_end;

	for (size_t i = 0; i < r->n_inputs; i++)
		r->to_inputs[i] = (char *)at(&r->inputs[i], slot);
	for (size_t i = 0; i < r->n_targets; i++)
		r->to_targets[i] = (char *)at(&r->targets[i], slot);
	do {
		array_end = false;
		if (nn_rows_next_beside(r->rows, n, r->to_inputs, r->to_targets, &beside, NULL, got,
					&array_end, err) < 0)
			return -1;
	} while (*got == 0 && array_end);
	return 0;
}

/* Labels that the first samples do not have have no unit of the output. */
static int check_labels(const struct nn_ring *r, size_t slot, size_t n, struct nn_error *err)
{
	const struct nn_dataset *ds = dataset_of(r);

	for (size_t t = 0; t < r->n_targets; t++)
		for (size_t i = 0; ds->targets[t].classes && i < n * ds->targets[t].size; i++) {
			const int32_t *class = (const void *)at(&r->targets[t], slot);

			if (class[i] == NN_CLASS_UNKNOWN)
				return nn_fail(err, NN_EFORMAT,
					       "%s: sample %" PRIu64 ": label %s is not one of the "
					       "first %zu sample%s; --classes=FILE lists all",
					       r->options.data,
					       r->n + r->taken + i / ds->targets[t].size + 1,
					       nn_rows_unseen_label(r->rows), r->n, nn_s(r->n));
		}
	return 0;
}

/* Weights are 0 or more, as in the first samples. */
static int check_weights(const struct nn_ring *r, size_t slot, size_t n, struct nn_error *err)
{
	char number[NN_NUMBER];

	for (size_t i = 0; r->weights && i < n; i++) {
		if (r->weights[slot + i] >= 0)
			continue;
		nn_format_f64(number, r->weights[slot + i]);
		return nn_fail(err, NN_EFORMAT,
			       "%s: sample %" PRIu64 ": a weight is %s, expected 0 or more",
			       r->options.data, r->n + r->taken + i + 1, number);
	}
	return 0;
}

/* Behind the rows that the dataset has had: they are read once more, into the places they have. */
static int open_rows(struct nn_ring *r, struct nn_error *err)
{
	const struct nn_dataset *ds = dataset_of(r);
	struct nn_rows_options options = { .header = ds->rules.table.header,
					   .zero_based = ds->rules.zero_based,
					   .separator = ds->rules.table.separator,
					   .target = ds->rules.target,
					   .want_target = true,
					   .weight = ds->rules.weight,
					   .scaled = true,
					   .stream = ds->files.stream };

	if (nn_rows_open(&r->rows, r->options.data, r->options.targets, ds->schema, &options,
			 ds->dtype, err) < 0)
		return -1;
	nn_input_leave(ds->files.stream); /* so a pipe's bytes are kept no longer */
	for (size_t t = 0; t < r->n_targets; t++)
		nn_rows_set_output(r->rows, t, &r->outputs[t]);
	for (size_t n = 0, got; n < r->n; n += got) {
		if (read_some(r, n, r->n - n, &got, err) < 0)
			return -1;
		if (got == 0)
			return nn_fail(err, NN_EFAIL, "%s: changed while training", r->options.data);
	}
	return 0;
}

static bool is_stopped(const volatile sig_atomic_t *stop)
{
	return stop && *stop;
}

int nn_ring_follow(struct nn_ring *r, uint64_t taken, const volatile sig_atomic_t *stop,
		   bool *ended, uint64_t *total, struct nn_error *err)
{
	if (!r->ended && !r->rows && taken > r->taken && open_rows(r, err) < 0)
		return -1;
	while (!r->ended && r->taken < taken) {
		size_t slot = (size_t)(r->taken % r->n), n = r->n - slot, got;

		if (nn_rows_would_block(r->rows)) {
			if (is_stopped(stop))
				break;
			poll(NULL, 0, WAIT_MS);
			continue;
		}
		n = taken - r->taken < n ? (size_t)(taken - r->taken) : n;
		if (read_some(r, slot, n, &got, err) < 0 || check_labels(r, slot, got, err) < 0 ||
		    check_weights(r, slot, got, err) < 0)
			return -1;
		r->ended = got == 0;
		r->taken += got;
	}
	*ended = r->ended;
	*total = r->n + r->taken;
	return 0;
}

const char *nn_ring_notice(const struct nn_ring *r, size_t i)
{
	return r->rows ? nn_rows_notice(r->rows, i) : NULL;
}
