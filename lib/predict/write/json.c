/* JSON lines: an object for each row, nested lists for what has a shape per row. */
#include <math.h>
#include <string.h>

#include "predict/write/write-inside.h"

static void json_number(struct nn_text *text, const struct nn_emitted *e, double value)
{
	if (isfinite(value))
		nn_write_number(text, e, value);
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
			json_string(&w->text, nn_emitted_name(e, c, buffer));
			nn_text_add(&w->text, ":");
		}
		json_number(&w->text, e, nn_emitted_value(e, row, position, c));
	}
	nn_text_add(&w->text, keyed ? "}" : "]");
}

static void json_top(struct nn_writer *w, const struct nn_emitted *e, size_t row)
{
	char buffer[24];

	nn_emitted_top(e, row, e->top, w->classes);
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
	for (size_t p = 0; p < nn_emitted_length(e, row); p++) {
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

static const char *const keys[] = {
	[NN_EMIT_PROBS] = "probs",   [NN_EMIT_CLASS] = "class",   [NN_EMIT_TOP] = "top",
	[NN_EMIT_LOGITS] = "logits", [NN_EMIT_VALUES] = "values",
};

static void json_answer(struct nn_writer *w, const struct nn_emitted *e, size_t row)
{
	json_string(&w->text, keys[e->emit]);
	nn_text_add(&w->text, ":");
	if (e->positions > 1)
		json_places(w, e, row);
	else if (e->emit == NN_EMIT_TOP)
		json_top(w, e, row);
	else
		json_place(w, e, row, 0);
}

bool nn_write_is_member(const struct nn_emitted *e, size_t n, bool named, const char *name)
{
	bool found = strcmp(name, "error") == 0;

	for (size_t i = 0; i < n; i++)
		found |= strcmp(name, !named      ? keys[e[i].emit]
				      : e[i].name ? e[i].name
						  : "output") == 0;
	return found;
}

static void json_kept(struct nn_writer *w)
{
	const char *name, *kept;

	for (size_t i = 0; w->options.rows && (name = nn_rows_kept(w->options.rows, i)); i++) {
		json_string(&w->text, name);
		nn_text_add(&w->text, ":");
		kept = nn_write_next_kept(w);
		if (*kept == 's')
			json_string(&w->text, kept + 1);
		else
			nn_text_add(&w->text, kept + 1);
		nn_text_add(&w->text, ",");
	}
}

int nn_write_json_header(struct nn_writer *w, struct nn_error *err)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->e[i].emit == NN_EMIT_TOP && w->e[i].positions > 1)
			return nn_fail(
				err, NN_EFAIL,
				"--emit=top: the output has a shape per sample; use --emit=class");
	return 0;
}

int nn_write_json_rows(struct nn_writer *w, size_t rows, const char *const *bad,
		       struct nn_error *err)
{
	(void)err;
	for (size_t r = 0; r < rows; r++) {
		nn_text_add(&w->text, "{");
		json_kept(w);
		if (bad && bad[r]) {
			nn_text_add(&w->text, "\"error\":");
			json_string(&w->text, bad[r]);
		}
		for (size_t i = 0; i < w->n && !(bad && bad[r]); i++) {
			if (w->options.named) {
				nn_text_add(&w->text, i ? "," : "");
				json_string(&w->text, w->e[i].name ? w->e[i].name : "output");
				nn_text_add(&w->text, ":{");
			}
			json_answer(w, &w->e[i], r);
			nn_text_add(&w->text, w->options.named ? "}" : "");
		}
		nn_text_add(&w->text, "}\n");
	}
	return 0;
}
