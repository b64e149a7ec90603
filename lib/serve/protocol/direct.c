/*
 * A body as nn-predict would read it from a file: its reader in front of the batcher, its writer
 * behind it, so that the answer has the bytes of nn-predict's standard output.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "data/data.h"
#include "predict/write/write.h"
#include "serve/protocol/direct.h"

#define CHUNK 256 /* rows that are read at once */

/* ---- rows ---- */

/* Room for CHUNK more rows of one input, or of several apart from each other. */
static int reserve(struct nn_query *q, void **inputs)
{
	const struct nn_served *served = q->served;
	const struct nn_program *program = served->model->program;
	size_t n_inputs = (size_t)program->n_inputs, size = nn_dtype_size(q->job.dtype), bytes;
	char *apart;

	if (!nn_mul(q->job.rows + CHUNK, served->row_in * size, &bytes))
		return nn_query_fail(q, 413, "the rows do not fit into memory");
	if (nn_block_reserve(&q->in, bytes, &q->error) < 0 ||
	    nn_block_reserve(&q->lengths, (q->job.rows + CHUNK) * sizeof(uint32_t), &q->error) < 0)
		return -1;
	if (n_inputs == 1) {
		inputs[0] = (char *)q->in.data + q->job.rows * served->row_in * size;
		return 0;
	}
	if (nn_block_reserve(&q->values, CHUNK * served->row_in * size, &q->error) < 0)
		return -1;
	apart = q->values.data;
	for (size_t i = 0; i < n_inputs; i++) {
		inputs[i] = apart;
		apart += CHUNK * nn_shape_count(&program->values[program->inputs[i]].shape) * size;
	}
	return 0;
}

/* n rows of several inputs, side by side. */
static void interleave(struct nn_query *q, void *const *inputs, size_t n)
{
	const struct nn_program *program = q->served->model->program;
	size_t size = nn_dtype_size(q->job.dtype);
	char *to = (char *)q->in.data + q->job.rows * q->served->row_in * size;

	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < (size_t)program->n_inputs; i++) {
			size_t bytes =
				nn_shape_count(&program->values[program->inputs[i]].shape) * size;

			memcpy(to, (const char *)inputs[i] + r * bytes, bytes);
			to += bytes;
		}
}

/* An array of the body ends here: so does one of the answer. */
static int end_array(struct nn_query *q)
{
	if (nn_block_reserve(&q->arrays, (q->n_arrays + 1) * sizeof(size_t), &q->error) < 0)
		return -1;
	((size_t *)q->arrays.data)[q->n_arrays++] = q->job.rows;
	return 0;
}

static int read_rows(struct nn_query *q, struct nn_rows *rows)
{
	size_t n_inputs = (size_t)q->served->model->program->n_inputs, n;
	void **inputs = nn_alloc(n_inputs, sizeof *inputs, &q->error);
	bool lengths = q->served->lengths;
	struct nn_rows_beside beside = { 0 };
	const char *bad[CHUNK];
	bool ended;
	int status = inputs ? 0 : -1;

	do {
		n = 0;
		ended = false;
		if (status == 0)
			status = reserve(q, inputs);
		if (lengths)
			beside.lengths = (uint32_t *)q->lengths.data + q->job.rows;
		if (status == 0)
			status = nn_rows_next_beside(rows, CHUNK, inputs, NULL, &beside, bad, &n,
						     &ended, &q->error);
		if (status == 0 && n_inputs > 1)
			interleave(q, inputs, n);
		q->job.rows += n;
		if (status == 0 && ended)
			status = end_array(q);
	} while (status == 0 && (n > 0 || ended));
	nn_free(inputs);
	q->job.in = q->in.data;
	q->job.lengths = lengths && q->job.rows ? q->lengths.data : NULL;
	return status;
}

/* ---- formats ---- */

static const struct {
	const char *type;
	enum nn_to to;
} types[] = {
	{ "text/csv", NN_TO_CSV },
	{ "text/tab-separated-values", NN_TO_TSV },
	{ "application/x-ndjson", NN_TO_JSONL },
	{ "application/x-npy", NN_TO_NPY },
};
#define N_TYPES (sizeof types / sizeof *types)

/* Is an answer as long as its row? Then an array does not say all of it. */
static bool has_lengths(const struct nn_query *q)
{
	bool has = false;

	for (size_t o = 0; o < q->served->n_outputs; o++)
		has |= q->served->outputs[o].steps > 0;
	return has;
}

/* The first of our types that a header names. */
static enum nn_to named_format(const struct nn_query *q, const char *header)
{
	const char *types_of = nn_exchange_header(q->exchange, header), *first = NULL, *at;
	enum nn_to to = NN_TO_AUTO;

	for (size_t i = 0; types_of && i < N_TYPES; i++) {
		at = strstr(types_of, types[i].type);
		if (at && (!first || at < first)) {
			first = at;
			to = types[i].to;
		}
	}
	return to;
}

/* Where Accept names none; of an empty body only its type is known. */
static enum nn_to choose_format(const struct nn_query *q, const struct nn_rows *rows)
{
	enum nn_to to = nn_rows_none(rows) ? named_format(q, "Content-Type") : NN_TO_AUTO;

	if (to != NN_TO_AUTO)
		return to;
	return nn_rows_lines(rows)               ? NN_TO_JSONL
	       : nn_rows_suit_arrays(rows)       ? has_lengths(q) ? NN_TO_JSONL : NN_TO_NPY
	       : nn_rows_separator(rows) == '\t' ? NN_TO_TSV
						 : NN_TO_CSV;
}

static bool with_header(const struct nn_rows *rows)
{
	return !nn_rows_none(rows) && (!nn_rows_separator(rows) || nn_rows_header(rows));
}

/* ---- the answer ---- */

/* The values of an output, taken out of rows of the job: positions before columns. */
static int open_emitted(struct nn_query *q, struct nn_emitted *e, size_t output, size_t at,
			size_t first, size_t rows)
{
	size_t n;

	if (nn_emitted_open(e, q->served->model, (int)output, *q->emit ? q->emit : NULL, rows,
			    &q->error) < 0 ||
	    (e->emit == NN_EMIT_CLASS && q->served->model->threshold > 0 &&
	     nn_emitted_set_threshold(e, q->served->model->threshold, &q->error) < 0))
		return -1;
	n = e->positions * e->columns;
	if (e->lengths && rows)
		memcpy(e->lengths, q->job.lengths + first, rows * sizeof *e->lengths);
	for (size_t r = 0; r < rows; r++) {
		size_t row = (first + r) * q->served->row_out + at;

		for (size_t p = 0; p < e->positions; p++)
			for (size_t c = 0; c < e->columns; c++) {
				size_t from = e->shape.rank == 3 ? c * e->positions + p
								 : p * e->columns + c;

				nn_real_put(e->dtype, e->values, r * n + p * e->columns + c,
					    nn_real_at(q->job.dtype, q->job.out, row + from));
			}
	}
	return 0;
}

static int write_rows(struct nn_query *q, struct nn_emitted *emitted, size_t n, size_t rows)
{
	const struct nn_writer_options options = { .to = (enum nn_to)(q->form >> 1),
						   .header = q->form & 1,
						   .total = (int64_t)rows,
						   .named = n > 1,
						   .text = &q->exchange->answer };
	struct nn_writer *writer;
	int status;

	if (options.named && options.to != NN_TO_JSONL)
		return nn_query_fail(q, 400,
				     "the model has %zu outputs, which JSON lines alone can hold "
				     "(Accept: application/x-ndjson)",
				     n);
	if (nn_writer_open(&writer, NULL, emitted, n, &options, &q->error) < 0)
		return -1;
	status = rows ? nn_writer_rows(writer, rows, NULL, &q->error) : 0;
	if (status == 0)
		status = nn_writer_close(writer, &q->error);
	nn_writer_free(writer);
	return status;
}

static int give_rows(struct nn_query *q, size_t first, size_t rows)
{
	size_t n = (size_t)q->served->model->program->n_outputs, at = 0;
	struct nn_emitted *emitted = nn_alloc(n, sizeof *emitted, &q->error);
	int status = emitted ? 0 : -1;

	for (size_t o = 0; status == 0 && o < n; o++) {
		status = open_emitted(q, &emitted[o], o, at, first, rows);
		at += emitted[o].positions * emitted[o].columns;
	}
	if (status == 0)
		status = write_rows(q, emitted, n, rows);
	for (size_t o = 0; emitted && o < n; o++)
		nn_emitted_close(&emitted[o]);
	nn_free(emitted);
	return status;
}

static void format(struct nn_query *q)
{
	bool arrays = q->form >> 1 == NN_TO_NPY;
	size_t n = arrays ? q->n_arrays : 1, first = 0, end;
	int status = 0;

	for (size_t i = 0; status == 0 && i < n; i++, first = end) {
		end = arrays ? ((const size_t *)q->arrays.data)[i] : q->job.rows;
		status = give_rows(q, first, end - first);
	}
	if (status < 0) {
		nn_query_refuse(q);
		return;
	}
	for (size_t i = 0; i < N_TYPES; i++)
		if (types[i].to == (enum nn_to)(q->form >> 1))
			nn_query_answer(q, 200, types[i].type);
}

/* What stands before a notice of the rows of a body. */
static const char body[] = "body: ";

/* The value of a word of the query, unescaped, into value[room]; false: it is not there. */
static bool find_word(const char *query, const char *name, char *value, size_t room)
{
	size_t n = strlen(name), length;

	for (; query; query = strchr(query, '&')) {
		query += *query == '&';
		length = strcspn(query, "&");
		if (length <= n || query[n] != '=' || memcmp(query, name, n) != 0)
			continue;
		if (length - n > room)
			length = room + n;
		memcpy(value, query + n + 1, length - n - 1);
		value[length - n - 1] = '\0';
		return true;
	}
	return false;
}

/* ?emit=WORD; what is kept of a row are the values of the default, which class and top:K go by. */
static int take_emit(struct nn_query *q)
{
	struct nn_emitted e;
	enum nn_emit kept;
	char *colon;

	*q->emit = '\0';
	if (!find_word(q->exchange->query, "emit", q->emit, sizeof q->emit))
		return 0;
	colon = strstr(q->emit, "%3A");
	if (colon) {
		*colon = ':';
		memmove(colon + 1, colon + 3, strlen(colon + 3) + 1);
	}
	for (size_t o = 0; o < (size_t)q->served->model->program->n_outputs; o++) {
		if (nn_emitted_open(&e, q->served->model, (int)o, NULL, 1, &q->error) < 0)
			return -1;
		kept = e.emit;
		nn_emitted_close(&e);
		if (nn_emitted_open(&e, q->served->model, (int)o, q->emit, 1, &q->error) < 0) {
			memmove(q->error.text, q->error.text + strspn(q->error.text, "-"),
				strlen(q->error.text + strspn(q->error.text, "-")) + 1);
			return -1;
		}
		nn_emitted_close(&e);
		if (e.emit == NN_EMIT_LOGITS && kept != NN_EMIT_LOGITS)
			return nn_query_fail(q, 400, "emit=logits: the server keeps %s of them",
					     kept == NN_EMIT_PROBS ? "the probabilities"
								   : "the values");
	}
	return 0;
}

static int parse(struct nn_query *q)
{
	const struct nn_rows_options options = { .bytes = q->exchange->body,
						 .n_bytes = q->exchange->bytes };
	enum nn_to asked = named_format(q, "Accept");
	struct nn_rows *rows;
	const char *notice;
	int status;

	q->job.dtype = q->served->model->device->dtype;
	if (take_emit(q) < 0 || nn_rows_open(&rows, "body", NULL, q->served->model->schema,
					     &options, q->job.dtype, &q->error) < 0)
		return -1;
	q->form = (unsigned)(asked != NN_TO_AUTO ? asked : choose_format(q, rows)) << 1 |
		  with_header(rows);
	status = read_rows(q, rows);
	if (status == 0 && q->n_arrays == 0 && (asked != NN_TO_AUTO || !nn_rows_none(rows)))
		status = end_array(q);
	for (size_t i = 0; status == 0 && (notice = nn_rows_notice(rows, i)); i++)
		nn_query_unseen(q, strtoull(notice + strlen(body), NULL, 10),
				notice + strlen(body));
	nn_rows_close(rows);
	return status;
}

void nn_direct_predict(struct nn_query *q)
{
	if (nn_query_find(q) < 0 || parse(q) < 0)
		nn_query_refuse(q);
	else
		nn_query_submit(q, format);
}
