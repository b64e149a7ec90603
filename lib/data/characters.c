/*
 * Text as characters (--window=T): a row is T of its bytes, one window behind the other, and the
 * class at each position the byte that comes next. Which bytes there are is learned from the whole
 * text, in order; the model keeps them. Nothing but the bytes themselves lies in memory.
 */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "data/dataset.h"

/* ---- rows of an open text ---- */

static const unsigned char *window_of(const struct nn_dataset *ds, uint64_t row)
{
	return (const unsigned char *)ds->inputs[0].source.data + row * ds->inputs[0].source.stride;
}

static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n,
		      bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	const struct nn_input_code *code = &ds->coding->inputs[input];
	size_t window = ds->inputs[input].source.stride;

	(void)channels_last;
	(void)err;
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < window; i++)
			nn_real_put(ds->dtype, values, r * window + i,
				    code->character[window_of(ds, rows[r])[i]]);
	return 0;
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n,
		       void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	const struct nn_input_code *code = &ds->coding->inputs[0];
	size_t window = ds->targets[target].size;
	int32_t *to = values;

	(void)err;
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < window; i++)
			*to++ = code->character[window_of(ds, rows[r])[i + 1]];
	return 0;
}

static void fetch(const void *data, const uint64_t *rows, size_t n)
{
	const struct nn_dataset *ds = data;

	for (size_t r = 0; r < n; r++)
		for (size_t at = 0; at <= ds->inputs[0].source.stride; at += 64)
			__builtin_prefetch(window_of(ds, rows[r]) + at, 0, 2);
}

static const struct nn_source_ops characters = { .fill_input = fill_input,
						 .fill_target = fill_target,
						 .fetch = fetch };

/* ---- reading ---- */

int nn_text_check(const struct nn_text_use *use, enum nn_code code, struct nn_error *err)
{
	if (use->apart)
		return nn_fail(err, code,
			       "%s: a text has no targets but the characters that come next",
			       use->file);
	if (use->inputs > 1 || use->targets != 1)
		return nn_fail(err, code,
			       "%s: a text has one input and one target, the model has %zu and %zu",
			       use->file, use->inputs, use->targets);
	if (use->numbers)
		return nn_fail(err, code, "%s: characters are classes, the loss wants numbers",
			       use->file);
	if (!use->embedded)
		return nn_fail(err, code,
			       "%s: --window reads characters, which an embedding has to take, as "
			       "in 'embedding 32, ...'",
			       use->file);
	if (use->target)
		return nn_fail(err, code,
			       "%s: is text without columns, so --target=%.60s is not in it",
			       use->file, use->target);
	return 0;
}

static int check_model(const struct nn_dataset *ds, const char *file,
		       const struct nn_reading *reading, struct nn_error *err)
{
	const struct nn_input_schema *known = &ds->schema->inputs[0];
	const struct nn_want *want = ds->fixed ? NULL : reading->want;
	const struct nn_text_use use = {
		.file = file,
		.apart = !reading->inputs && !ds->lenient,
		.inputs = ds->schema->n_inputs,
		.targets = reading->targets || ds->schema->n_inputs > 1 ? ds->schema->n_targets : 1,
		.numbers = want && want->targets[0].numbers,
		.embedded = !want || (want->inputs[0].categories && !want->inputs[0].hash),
		.target = ds->rules.target,
	};

	if (nn_text_check(&use, NN_EFORMAT, err) < 0)
		return -1;
	if (ds->fixed && !known->characters.n)
		return nn_fail(err, NN_EFORMAT,
			       "%s: --window reads characters, which the start model has not been "
			       "trained on",
			       file);
	if (ds->fixed && ds->rules.window && ds->rules.window != nn_shape_count(&known->shape))
		return nn_fail(err, NN_EFORMAT,
			       "%s: --window=%zu, but the start model reads windows of %zu", file,
			       ds->rules.window, nn_shape_count(&known->shape));
	return nn_dataset_no_columns(ds, file, reading->want, false, err);
}

/* All of it, or the first bytes where a sample is enough. */
static int read_bytes(const struct nn_dataset *ds, struct nn_input *input, struct nn_block *block,
		      size_t window, size_t *n, struct nn_error *err)
{
	size_t most = ds->files.sample ? ds->files.sample : SIZE_MAX, got = 1;

	most = most > window ? most : window + 1;
	for (*n = 0; got > 0 && *n < most;) {
		const unsigned char *bytes, *nul;

		if (nn_input_some(input, &bytes, &got, err) < 0)
			return -1;
		got = got < most - *n ? got : most - *n;
		nul = got ? memchr(bytes, '\0', got) : NULL;
		if (nul)
			return nn_fail(err, NN_EFORMAT,
				       "%s: byte %zu is NUL, expected text without it",
				       nn_input_name(input), *n + (size_t)(nul - bytes) + 1);
		if (nn_block_reserve(block, *n + got + 1, err) < 0)
			return nn_fail_at(err, "%s", nn_input_name(input));
		if (got)
			memcpy(nn_block_at(block, *n), bytes, got);
		nn_input_take(input, got);
		*n += got;
	}
	return 0;
}

/* A byte that a model or a start model never had. */
static int meet_unknown(struct nn_dataset *ds, const char *file, const unsigned char *bytes,
			size_t at, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (!ds->lenient)
		return nn_fail(err, NN_EFORMAT,
			       "%s: byte %zu: the character \"%s\" is not among those of the start "
			       "model",
			       file, at + 1, nn_quote(quoted, (const char *)bytes + at, 1));
	nn_unseen_add(&ds->unseen, (const char *)bytes + at, 1);
	return 0;
}

/* The model's characters, and where it may still learn those of the text. */
static int learn_characters(struct nn_dataset *ds, const char *file, const unsigned char *bytes,
			    size_t n, struct nn_error *err)
{
	struct nn_dataset *owner = ds->training ? ds->training : ds;
	struct nn_characters *known = &ds->schema->inputs[0].characters;
	bool has[256] = { false };

	for (size_t i = 0; i < known->n; i++)
		has[known->bytes[i]] = true;
	for (size_t i = 0; i < n; i++) {
		if (!has[bytes[i]] && owner->fixed && meet_unknown(ds, file, bytes, i, err) < 0)
			return -1;
		has[bytes[i]] |= !owner->fixed;
	}
	if (owner->fixed)
		return 0;
	known->n = 0;
	for (int byte = 0; byte < 256; byte++)
		if (has[byte])
			known->bytes[known->n++] = (unsigned char)byte;
	return 0;
}

/* Numbers of categories, and as many of them as there are characters. */
static int learn_input(struct nn_dataset *ds, const char *file, const struct nn_want_input *want,
		       struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[0];
	size_t n = schema->characters.n;

	if (want)
		schema->rows = want->rows;
	else if (schema->rows < n)
		schema->rows = 0;
	if (schema->rows && schema->rows < n)
		return nn_fail(err, NN_EFORMAT,
			       "%s: found %zu different characters, the embedding has %zu row%s",
			       file, n, schema->rows, nn_s(schema->rows));
	if (!schema->rows)
		schema->rows = n;
	return nn_coding_input(ds->coding, 0, schema, false, err);
}

/* The labels are the same characters, by number. */
static int learn_target(struct nn_dataset *ds, struct nn_error *err)
{
	const struct nn_characters *known = &ds->schema->inputs[0].characters;
	struct nn_target_schema *schema = &ds->schema->targets[0];
	struct nn_target_code *code = &ds->coding->targets[0];

	if (!schema->columns) {
		schema->columns = nn_alloc(1, sizeof *schema->columns, err);
		if (!schema->columns)
			return -1;
		schema->n_columns = 1;
	}
	if (nn_dataset_label_bytes(schema, known, err) < 0)
		return -1;
	code->labels = NULL; /* others than before */
	return nn_coding_target(ds->coding, 0, schema, err);
}

static int tell(struct nn_dataset *ds, const char *file, size_t n, size_t window,
		struct nn_error *err)
{
	struct nn_text text = { 0 };

	nn_text_addf(&text, "%s: %zu character%s, %zu different; %zu window%s of %zu", file, n,
		     nn_s(n), ds->schema->inputs[0].characters.n, ds->rows, nn_s(ds->rows), window);
	ds->columns = text.failed ? NULL : nn_strdup(text.data, err);
	nn_text_free(&text);
	return ds->columns ? 0 : -1;
}

static void set_share(struct nn_dataset *ds, const struct nn_input *input, size_t n, size_t window)
{
	int64_t left = nn_input_left(input);
	double share = nn_input_share(input);

	if (!ds->files.sample || left == 0)
		return;
	if (left > 0)
		nn_dataset_set_share(ds, (double)(n + (uint64_t)left) / (double)n,
				     (n + (uint64_t)left - 1) / window);
	else
		nn_dataset_set_share(ds, share > 0 ? 1 / share : share, 0);
}

static int set_rows(struct nn_dataset *ds, const char *file, size_t n, size_t window, bool targets,
		    struct nn_error *err)
{
	size_t rows = n ? (n - targets) / window : 0;

	if (n == 0)
		return nn_fail(err, NN_EFORMAT, "%s: is empty, expected text", file);
	if (rows == 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has %zu character%s, a window of %zu takes %zu", file, n,
			       nn_s(n), window, window + targets);
	ds->inputs[0].source = (struct nn_row_block){ .data = ds->inputs[0].array.block.data,
						      .dtype = NN_U8,
						      .stride = window };
	return nn_dataset_set_rows(ds, file, rows, err);
}

/* --score=FILE: the class at each position of DATA is the character of this text at it. */
static int read_classes(struct nn_dataset *ds, struct nn_input *input, struct nn_block *text,
			struct nn_error *err)
{
	size_t window = nn_shape_count(&ds->schema->inputs[0].shape), n;
	struct nn_data_target *t = &ds->targets[0];
	const unsigned char *bytes;
	int32_t *ids;

	if (read_bytes(ds, input, text, window, &n, err) < 0 ||
	    set_rows(ds, nn_input_name(input), n, window, false, err) < 0 ||
	    nn_block_reserve(&t->values, ds->rows * window * sizeof *ids, err) < 0)
		return -1;
	bytes = text->data;
	ids = t->values.data;
	for (size_t i = 0; i < ds->rows * window; i++) {
		ids[i] = ds->coding->inputs[0].character[bytes[i]];
		if (ids[i] < 0)
			nn_unseen_add(&ds->unseen, (const char *)bytes + i, 1);
	}
	t->classes = true;
	t->size = window;
	return 0;
}

static int read_text(struct nn_dataset *ds, struct nn_input *input,
		     const struct nn_reading *reading, struct nn_error *err)
{
	const struct nn_want *want = ds->fixed ? NULL : reading->want;
	const char *file = nn_input_name(input);
	struct nn_input_schema *schema = &ds->schema->inputs[0];
	struct nn_block *block = &ds->inputs[0].array.block;
	size_t window, n;

	if (check_model(ds, file, reading, err) < 0)
		return -1;
	if (!reading->inputs)
		return read_classes(ds, input, block, err);
	window = schema->characters.n ? nn_shape_count(&schema->shape) : ds->rules.window;
	if (!schema->characters.n)
		schema->shape = nn_shape1(window);
	if (want && nn_fit_shape(&schema->shape, &want->inputs[0], file, err) < 0)
		return -1;
	if (read_bytes(ds, input, block, window, &n, err) < 0 ||
	    set_rows(ds, file, n, window, reading->targets, err) < 0)
		return -1;
	set_share(ds, input, n, window);
	if (learn_characters(ds, file, block->data, n, err) < 0)
		return -1;
	if (!ds->fixed && (learn_input(ds, file, want ? &want->inputs[0] : NULL, err) < 0 ||
			   learn_target(ds, err) < 0))
		return -1;
	if (reading->targets) {
		ds->targets[0].classes = true;
		ds->targets[0].size = window;
	}
	ds->source = (struct nn_source){ &characters, ds, ds->rows };
	return ds->fixed ? 0 : tell(ds, file, n, window, err);
}

const struct nn_format nn_format_characters = {
	.id = NN_FORMAT_text,
	.name = "text",
	.read = read_text,
};
