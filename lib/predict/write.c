/* CSV, TSV and JSON lines: a record for each row, numbers in the fewest digits that read back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "predict/write.h"

/* The name of number column c: the target's, else y or y1, y2, ... */
static const char *column_name(const struct nn_emitted *e, size_t c, char buffer[24])
{
	if (e->target && e->target->columns && c < e->target->n_columns && e->target->columns[c])
		return e->target->columns[c];
	if (e->columns == 1)
		return "y";
	snprintf(buffer, 24, "y%zu", c + 1);
	return buffer;
}

static bool by_class(const struct nn_emitted *e)
{
	return !e->target || e->target->labels;
}

static const char *key_of(const struct nn_emitted *e, size_t c, char buffer[24])
{
	return by_class(e) ? nn_emitted_label(e, c, buffer) : column_name(e, c, buffer);
}

static void add_number(struct nn_text *text, const struct nn_emitted *e, double value)
{
	char number[NN_NUMBER];

	nn_text_add_bytes(text, number,
			  e->dtype == NN_F64 ? nn_format_f64(number, value)
					     : nn_format_f32(number, (float)value));
}

/* A field quoted by RFC 4180 where it has to be. */
static void add_field(struct nn_text *text, const char *field, char separator)
{
	if (!strchr(field, separator) && !strpbrk(field, "\"\r\n")) {
		nn_text_add(text, field);
		return;
	}
	nn_text_add(text, "\"");
	for (const char *c = field; *c; c++)
		nn_text_add_bytes(text, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
	nn_text_add(text, "\"");
}

/* The k best classes of a position, best first; first of equals. */
static void best_classes(const struct nn_emitted *e, size_t row, size_t k, size_t *classes)
{
	size_t n = 0;

	for (size_t c = 0; c < e->columns; c++) {
		double v = nn_emitted_value(e, row, 0, c);
		size_t at = n;

		while (at > 0 && v > nn_emitted_value(e, row, 0, classes[at - 1]))
			at--;
		if (at >= k)
			continue;
		n = n < k ? n + 1 : k;
		memmove(classes + at + 1, classes + at, (n - 1 - at) * sizeof *classes);
		classes[at] = c;
	}
}

/* ---- CSV and TSV ---- */

static void header_fields(struct nn_text *text, const struct nn_emitted *e, char separator)
{
	struct nn_text name = { 0 };
	char buffer[24];
	size_t n = e->emit == NN_EMIT_CLASS ? 1 : e->emit == NN_EMIT_TOP ? 2 * e->top : e->columns;

	for (size_t i = 0; i < n; i++) {
		nn_text_clear(&name);
		if (e->emit == NN_EMIT_CLASS)
			nn_text_add(&name, "class");
		else if (e->emit == NN_EMIT_TOP)
			nn_text_addf(&name, "%s%zu", i % 2 ? "p" : "class", i / 2 + 1);
		else if (e->emit == NN_EMIT_PROBS || by_class(e))
			nn_text_addf(&name, "p.%s", key_of(e, i, buffer));
		else
			nn_text_add(&name, column_name(e, i, buffer));
		if (i)
			nn_text_add_bytes(text, &separator, 1);
		add_field(text, name.data, separator);
	}
	nn_text_free(&name);
}

static void row_fields(struct nn_writer *w, const struct nn_emitted *e, size_t row, char separator)
{
	char buffer[24];

	if (e->emit == NN_EMIT_CLASS) {
		add_field(&w->text, nn_emitted_label(e, nn_emitted_best(e, row, 0), buffer),
			  separator);
		return;
	}
	if (e->emit == NN_EMIT_TOP)
		best_classes(e, row, e->top, w->classes);
	for (size_t i = 0; i < (e->emit == NN_EMIT_TOP ? e->top : e->columns); i++) {
		size_t c = e->emit == NN_EMIT_TOP ? w->classes[i] : i;

		if (i)
			nn_text_add_bytes(&w->text, &separator, 1);
		if (e->emit == NN_EMIT_TOP) {
			add_field(&w->text, nn_emitted_label(e, c, buffer), separator);
			nn_text_add_bytes(&w->text, &separator, 1);
		}
		add_number(&w->text, e, nn_emitted_value(e, row, 0, c));
	}
}

static void empty_fields(struct nn_text *text, const struct nn_emitted *e, char separator)
{
	size_t n = e->emit == NN_EMIT_CLASS ? 1 : e->emit == NN_EMIT_TOP ? 2 * e->top : e->columns;

	for (size_t i = 1; i < n; i++)
		nn_text_add_bytes(text, &separator, 1);
}

static int table_header(struct nn_writer *w, struct nn_error *err)
{
	if (w->e->positions > 1)
		return nn_fail(err, NN_EFAIL,
			       "the output has a shape per sample; use --to=npy or --to=jsonl");
	if (!w->options.header)
		return 0;
	header_fields(&w->text, w->e, w->separator);
	nn_text_add(&w->text, "\n");
	return 0;
}

static int table_rows(struct nn_writer *w, size_t rows, const char *const *bad,
		      struct nn_error *err)
{
	(void)err;
	for (size_t r = 0; r < rows; r++) {
		if (bad && bad[r])
			empty_fields(&w->text, w->e, w->separator);
		else
			row_fields(w, w->e, r, w->separator);
		nn_text_add(&w->text, "\n");
	}
	return 0;
}

/* ---- JSON lines ---- */

static void json_number(struct nn_text *text, const struct nn_emitted *e, double value)
{
	if (isfinite(value))
		add_number(text, e, value);
	else
		nn_text_add(text, "null");
}

static void json_string(struct nn_text *text, const char *string)
{
	nn_text_add_json(text, string, strlen(string));
}

static void json_place(struct nn_writer *w, const struct nn_emitted *e, size_t row, size_t position)
{
	bool keyed = e->emit == NN_EMIT_PROBS || e->emit == NN_EMIT_VALUES;
	char buffer[24];

	if (e->emit == NN_EMIT_CLASS) {
		json_string(&w->text,
			    nn_emitted_label(e, nn_emitted_best(e, row, position), buffer));
		return;
	}
	nn_text_add(&w->text, keyed ? "{" : "[");
	for (size_t c = 0; c < e->columns; c++) {
		if (c)
			nn_text_add(&w->text, ",");
		if (keyed) {
			json_string(&w->text, key_of(e, c, buffer));
			nn_text_add(&w->text, ":");
		}
		json_number(&w->text, e, nn_emitted_value(e, row, position, c));
	}
	nn_text_add(&w->text, keyed ? "}" : "]");
}

static void json_top(struct nn_writer *w, const struct nn_emitted *e, size_t row)
{
	char buffer[24];

	best_classes(e, row, e->top, w->classes);
	nn_text_add(&w->text, "[");
	for (size_t i = 0; i < e->top; i++) {
		nn_text_add(&w->text, i ? ",[" : "[");
		json_string(&w->text, nn_emitted_label(e, w->classes[i], buffer));
		nn_text_add(&w->text, ",");
		json_number(&w->text, e, nn_emitted_value(e, row, 0, w->classes[i]));
		nn_text_add(&w->text, "]");
	}
	nn_text_add(&w->text, "]");
}

/* The places of a sample as nested lists: a mask's rows, a sequence's steps. */
static void json_places(struct nn_writer *w, const struct nn_emitted *e, size_t row)
{
	size_t width = e->shape.rank == 3 ? e->shape.dim[2] : e->positions;

	nn_text_add(&w->text, "[");
	for (size_t p = 0; p < e->positions; p++) {
		if (p)
			nn_text_add(&w->text, ",");
		if (e->shape.rank == 3 && p % width == 0)
			nn_text_add(&w->text, "[");
		json_place(w, e, row, p);
		if (e->shape.rank == 3 && (p + 1) % width == 0)
			nn_text_add(&w->text, "]");
	}
	nn_text_add(&w->text, "]");
}

static void json_object(struct nn_writer *w, const struct nn_emitted *e, size_t row)
{
	static const char *const keys[] = {
		[NN_EMIT_PROBS] = "{\"probs\":",   [NN_EMIT_CLASS] = "{\"class\":",
		[NN_EMIT_TOP] = "{\"top\":",       [NN_EMIT_LOGITS] = "{\"logits\":",
		[NN_EMIT_VALUES] = "{\"values\":",
	};

	nn_text_add(&w->text, keys[e->emit]);
	if (e->positions > 1)
		json_places(w, e, row);
	else if (e->emit == NN_EMIT_TOP)
		json_top(w, e, row);
	else
		json_place(w, e, row, 0);
	nn_text_add(&w->text, "}");
}

static int json_header(struct nn_writer *w, struct nn_error *err)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->e[i].emit == NN_EMIT_TOP && w->e[i].positions > 1)
			return nn_fail(
				err, NN_EFAIL,
				"--emit=top: the output has a shape per sample; use --emit=class");
	return 0;
}

static int json_rows(struct nn_writer *w, size_t rows, const char *const *bad, struct nn_error *err)
{
	(void)err;
	for (size_t r = 0; r < rows; r++) {
		if (bad && bad[r]) {
			nn_text_add(&w->text, "{\"error\":");
			json_string(&w->text, bad[r]);
			nn_text_add(&w->text, "}\n");
			continue;
		}
		for (size_t i = 0; i < w->n; i++) {
			if (w->options.named) {
				nn_text_add(&w->text, i ? "," : "{");
				json_string(&w->text, w->e[i].name ? w->e[i].name : "output");
				nn_text_add(&w->text, ":");
			}
			json_object(w, &w->e[i], r);
		}
		nn_text_add(&w->text, w->options.named ? "}\n" : "\n");
	}
	return 0;
}

/* ---- the door to all writers ---- */

static int put_text(struct nn_writer *w, struct nn_error *err)
{
	int status;

	if (w->text.failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate memory for a record of output");
	status = w->text.length ? nn_output_write(w->output, w->text.data, w->text.length, err) : 0;
	nn_text_clear(&w->text);
	return status;
}

static const struct {
	int (*header)(struct nn_writer *w, struct nn_error *err);
	int (*rows)(struct nn_writer *w, size_t rows, const char *const *bad, struct nn_error *err);
	int (*end)(struct nn_writer *w, struct nn_error *err); /* of an array */
} formats[] = {
	[NN_TO_CSV] = { table_header, table_rows, NULL },
	[NN_TO_TSV] = { table_header, table_rows, NULL },
	[NN_TO_JSONL] = { json_header, json_rows, NULL },
	[NN_TO_NPY] = { nn_write_npy_header, nn_write_npy_rows, nn_write_npy_end },
};

int nn_writer_open(struct nn_writer **writer, struct nn_output *output, struct nn_emitted *emitted,
		   size_t n_emitted, const struct nn_writer_options *options, struct nn_error *err)
{
	struct nn_writer *w = nn_alloc(1, sizeof *w, err);
	size_t most = 1;

	if (!w)
		return -1;
	*w = (struct nn_writer){
		.output = output, .e = emitted, .n = n_emitted, .options = *options
	};
	w->separator = options->to == NN_TO_TSV ? '\t' : ',';
	for (size_t i = 0; i < n_emitted; i++)
		most = emitted[i].top > most ? emitted[i].top : most;
	w->classes = nn_alloc(most + 1, sizeof *w->classes, err);
	if (!w->classes || formats[options->to].header(w, err) < 0 || put_text(w, err) < 0) {
		nn_writer_free(w);
		return -1;
	}
	*writer = w;
	return 0;
}

static void count_not_finite(struct nn_writer *w, size_t rows, const char *const *bad)
{
	for (size_t r = 0; r < rows; r++) {
		bool finite = true;

		for (size_t i = 0; i < w->n && !(bad && bad[r]); i++)
			for (size_t k = 0; k < w->e[i].positions * w->e[i].columns && finite; k++)
				finite = isfinite(nn_emitted_value(&w->e[i], r, 0, k));
		w->not_finite += !finite;
	}
}

int nn_writer_rows(struct nn_writer *w, size_t rows, const char *const *bad, struct nn_error *err)
{
	count_not_finite(w, rows, bad);
	return formats[w->options.to].rows(w, rows, bad, err) < 0 ? -1 : put_text(w, err);
}

int nn_writer_end_array(struct nn_writer *w, struct nn_error *err)
{
	return formats[w->options.to].end ? formats[w->options.to].end(w, err) : 0;
}

int nn_writer_close(struct nn_writer *w, struct nn_error *err)
{
	return w->rows_since_end || !w->ended ? nn_writer_end_array(w, err) : 0;
}

void nn_writer_free(struct nn_writer *w)
{
	if (!w)
		return;
	if (w->spool)
		fclose(w->spool);
	nn_text_free(&w->text);
	nn_free(w->classes);
	nn_free(w->block);
	nn_free(w);
}

uint64_t nn_writer_not_finite(const struct nn_writer *w)
{
	return w->not_finite;
}
