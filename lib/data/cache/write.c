/*
 * A cache being written: the bytes of inputs, targets and weights as they come, then the JSON that
 * says where each lies. Values of text columns are written as their places in the schema, which has
 * them in order, labels as the numbers of the words that stand in the JSON.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32.h"
#include "base/json-text.h"
#include "base/memory.h"
#include "data/array/file-rows.h"
#include "data/cache/cache.h"
#include "data/sequence/sequence.h"

#define PIECE ((size_t)4 << 20) /* bytes that are made at once, about */

struct cache {
	struct nn_output *output;
	struct nn_text json;
	uint64_t at;
};

/* ---- bytes ---- */

struct section {
	uint64_t at, bytes;
	uint32_t crc;
};

static int add_bytes(struct cache *c, struct section *s, const void *bytes, size_t n,
		     struct nn_error *err)
{
	s->crc = nn_crc32(s->crc, bytes, n);
	s->bytes += n;
	c->at += n;
	return nn_output_write(c->output, bytes, n, err);
}

static void say(struct cache *c, const char *key, const struct section *s)
{
	nn_json_add(&c->json, key, "{");
	nn_json_add_count(&c->json, "at", s->at);
	nn_json_add_count(&c->json, "bytes", s->bytes);
	nn_json_add_count(&c->json, "crc", s->crc);
	nn_text_add(&c->json, "}");
}

static int put_bytes(struct cache *c, const char *key, const void *bytes, size_t n,
		     struct nn_error *err)
{
	struct section s = { .at = c->at };

	if (add_bytes(c, &s, bytes, n, err) < 0)
		return -1;
	say(c, key, &s);
	return 0;
}

/* ---- inputs ---- */

/* Some rows that are made at once, by all threads. */
struct piece {
	const struct nn_dataset *ds;
	size_t input, values, row_bytes, from;
	unsigned char *to;
	struct nn_error error;
	_Atomic bool failed;
};

/* A value as it is written: of a text column its place. */
static double value_of(const struct piece *p, const struct nn_row_block *source, size_t row,
		       size_t i)
{
	const struct nn_input_code *code = &p->ds->coding->inputs[p->input];
	double v = nn_row_value(source, row, i);

	return i < code->n_columns && code->words[i] && v >= 0 &&
			       v < (double)nn_words_count(code->words[i])
		       ? code->place[i][(size_t)v]
		       : v;
}

static void make_row(void *arg, size_t i, int thread)
{
	struct piece *p = arg;
	const struct nn_row_block *source = &p->ds->inputs[p->input].source;
	unsigned char *to = p->to + i * p->row_bytes;
	struct nn_error error = { 0 };

	(void)thread;
	if (nn_dataset_input_streams(p->ds, p->input)) {
		if (nn_dataset_stream_row(p->ds, p->input, p->from + i, to, &error) < 0 &&
		    !atomic_exchange(&p->failed, true))
			p->error = error;
		return;
	}
	for (size_t v = 0; v < p->values; v++)
		nn_real_put(source->dtype, to, v, value_of(p, source, p->from + i, v));
}

/* Rows that do not lie as they are written. */
static int put_made(struct cache *c, struct section *s, struct piece *p, size_t rows,
		    struct nn_error *err)
{
	size_t some = 1 + PIECE / (p->row_bytes + 1);
	int status = 0;

	if (!(p->to = nn_alloc(some, p->row_bytes, err)))
		return -1;
	for (; status == 0 && p->from < rows; p->from += some) {
		size_t n = rows - p->from < some ? rows - p->from : some;

		nn_pool_run(p->ds->pool, n, make_row, p);
		status = p->failed ? -1 : add_bytes(c, s, p->to, n * p->row_bytes, err);
	}
	nn_free(p->to);
	if (p->failed && err)
		*err = p->error;
	return status;
}

static int put_input(struct cache *c, const struct nn_dataset *ds, size_t i, struct nn_error *err)
{
	const struct nn_row_block *source = &ds->inputs[i].source;
	struct section s = { .at = c->at };
	bool steps = ds->sequences && ds->sequences->input == i, made;
	struct piece p = { .ds = ds, .input = i };
	size_t rows = steps ? nn_sequence_begin(ds->sequences, ds->rows) : ds->rows;

	p.values = ds->schema->inputs[i].columns ? ds->schema->inputs[i].n_columns
		   : steps                       ? nn_sequences_step(ds)
						 : source->stride;
	p.row_bytes = p.values * nn_dtype_size(source->dtype);
	made = source->slots || p.values < source->stride || ds->coding->inputs[i].categories ||
	       nn_dataset_input_streams(ds, i);
	if ((made ? put_made(c, &s, &p, rows, err)
		  : add_bytes(c, &s, source->data, rows * p.row_bytes, err)) < 0)
		return -1;
	nn_json_put(&c->json, "{");
	nn_json_add_string(&c->json, "dtype", nn_dtype_name(source->dtype));
	nn_json_add_count(&c->json, "rows", rows);
	nn_json_add_count(&c->json, "values", p.values);
	nn_json_add(&c->json, "picture", source->picture ? "true" : "false");
	nn_json_add(&c->json, "slots", source->slots ? "true" : "false");
	say(c, "section", &s);
	nn_text_add(&c->json, "}");
	return 0;
}

/* ---- targets ---- */

/* Values of a target, from where they are kept. */
static int put_values(struct cache *c, const struct nn_dataset *ds, const struct nn_data_target *t,
		      struct nn_error *err)
{
	size_t size = t->classes ? sizeof(int32_t) : nn_dtype_size(ds->dtype);
	struct section s = { .at = c->at };
	void *row = NULL;
	int status = 0;

	if (!t->file)
		return put_bytes(c, "section", t->values.data,
				 nn_dataset_target_values(ds, t) * size, err);
	if (!(row = nn_alloc(t->size, size, err)))
		return -1;
	for (size_t r = 0; status == 0 && r < ds->rows; r++) {
		status = nn_file_rows_read(t->file, r, 1, row, err);
		if (status == 0)
			status = add_bytes(c, &s, row, t->size * size, err);
	}
	nn_free(row);
	say(c, "section", &s);
	return status;
}

static int put_target(struct cache *c, const struct nn_dataset *ds, size_t i, struct nn_error *err)
{
	const struct nn_data_target *t = &ds->targets[i];

	nn_json_put(&c->json, "{");
	nn_json_add(&c->json, "classes", t->classes ? "true" : "false");
	nn_json_add(&c->json, "steps", t->steps ? "true" : "false");
	nn_json_add(&c->json, "table", t->from_table ? "true" : "false");
	nn_json_add_count(&c->json, "size", t->size);
	if (put_values(c, ds, t, err) < 0)
		return -1;
	nn_text_add(&c->json, "}");
	return 0;
}

/* Labels by the numbers that targets have. */
static void put_words(struct cache *c, const struct nn_dataset *ds, size_t i)
{
	const struct nn_target_code *code = &ds->coding->targets[i];
	char digits[24];

	if (!ds->targets[i].classes || code->fixed) {
		nn_json_put(&c->json, "null");
		return;
	}
	nn_json_put(&c->json, "[");
	for (int32_t id = 0; (size_t)id < nn_words_count(code->labels); id++) {
		if (nn_words_integers(code->labels)) {
			snprintf(digits, sizeof digits, "%lld",
				 (long long)nn_words_integer(code->labels, id));
			nn_json_put_string(&c->json, digits);
		} else {
			nn_json_put_string(&c->json, nn_words_text(code->labels, id));
		}
	}
	nn_text_add(&c->json, "]");
}

/* ---- a dataset ---- */

static int put_sequences(struct cache *c, const struct nn_dataset *ds, struct nn_error *err)
{
	const struct nn_sequences *s = ds->sequences;

	if (!s)
		return 0;
	nn_json_add(&c->json, "sequences", "{");
	nn_json_add_count(&c->json, "input", s->input);
	nn_json_add_count(&c->json, "longest", s->longest);
	if (put_bytes(c, "ends", s->ends.data, ds->rows * sizeof(size_t), err) < 0)
		return -1;
	nn_text_add(&c->json, "}");
	return 0;
}

static int put_dataset(struct cache *c, const struct nn_dataset *ds, struct nn_error *err)
{
	nn_json_put(&c->json, "{");
	nn_json_add_string(&c->json, "hash", ds->hash);
	nn_json_add_count(&c->json, "rows", ds->rows);
	nn_json_add_string(&c->json, "columns", ds->columns);
	nn_json_add(&c->json, "notices", "[");
	for (size_t i = 0; i < ds->notices.n; i++)
		nn_json_put_string(&c->json, ds->notices.text[i]);
	nn_text_add(&c->json, "]");
	nn_json_add(&c->json, "inputs", "[");
	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		if (put_input(c, ds, i, err) < 0)
			return -1;
	nn_text_add(&c->json, "]");
	nn_json_add(&c->json, "targets", "[");
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (put_target(c, ds, i, err) < 0)
			return -1;
	nn_text_add(&c->json, "]");
	if ((ds->weights &&
	     put_bytes(c, "weights", ds->weights, ds->rows * sizeof *ds->weights, err) < 0) ||
	    (ds->left_out &&
	     put_bytes(c, "left_out", ds->left_out, ds->rows * sizeof *ds->left_out, err) < 0) ||
	    put_sequences(c, ds, err) < 0)
		return -1;
	nn_text_add(&c->json, "}");
	return 0;
}

static int put_schema(struct cache *c, const struct nn_dataset *ds, struct nn_error *err)
{
	struct nn_text input = { 0 }, target = { 0 };
	int status = nn_schema_input_json(ds->schema, &input);

	if (status == 0)
		status = nn_schema_target_json(ds->schema, &target);
	if (status == 0 && !input.failed && !target.failed) {
		nn_json_add_string(&c->json, "input", input.data);
		nn_json_add_string(&c->json, "target", target.data);
	} else {
		status = nn_fail(err, NN_ENOMEM, "cannot allocate memory for a schema");
	}
	nn_text_free(&input);
	nn_text_free(&target);
	return status;
}

static int put_tail(struct cache *c, struct nn_error *err)
{
	uint64_t length = c->json.length, crc;
	char tail[NN_CACHE_TAIL];

	if (c->json.failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate memory for what a cache has");
	crc = nn_crc32(0, c->json.data, c->json.length);
	memcpy(tail, &length, 8);
	memcpy(tail + 8, &crc, 8);
	memcpy(tail + 16, NN_CACHE_END, 8);
	return nn_output_write(c->output, c->json.data, c->json.length, err) < 0
		       ? -1
		       : nn_output_write(c->output, tail, sizeof tail, err);
}

bool nn_cache_takes(const struct nn_dataset *ds)
{
	return !ds->source.ops || ds->sequences || nn_dataset_streams(ds);
}

int nn_cache_write(struct nn_output *output, const char *key, const struct nn_dataset *ds,
		   const struct nn_dataset *held_out, struct nn_error *err)
{
	struct cache c = { .output = output };
	struct section magic = { 0 };
	int status = add_bytes(&c, &magic, NN_CACHE_MAGIC, 8, err);

	nn_json_put(&c.json, "{");
	nn_json_add_string(&c.json, "key", key);
	if (status == 0)
		status = put_schema(&c, ds, err);
	nn_json_add(&c.json, "words", "[");
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		put_words(&c, ds, i);
	nn_text_add(&c.json, "]");
	nn_json_add_key(&c.json, "data");
	if (status == 0)
		status = put_dataset(&c, ds, err);
	if (status == 0 && held_out) {
		nn_json_add_key(&c.json, "held_out");
		status = put_dataset(&c, held_out, err);
	}
	nn_text_add(&c.json, "}");
	if (status == 0)
		status = put_tail(&c, err);
	nn_text_free(&c.json);
	return status;
}
