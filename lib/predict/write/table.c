/* CSV and TSV: a record for each row. */
#include <string.h>

#include "predict/write/write-inside.h"

void nn_write_field(struct nn_text *text, const char *field, char separator)
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

static size_t n_fields(const struct nn_emitted *e)
{
	return e->emit == NN_EMIT_CLASS ? 1 : e->emit == NN_EMIT_TOP ? 2 * e->top : e->columns;
}

static void put_name(struct nn_text *name, const struct nn_emitted *e, size_t i)
{
	char buffer[24];

	nn_text_clear(name);
	if (e->emit == NN_EMIT_CLASS)
		nn_text_add(name, "class");
	else if (e->emit == NN_EMIT_TOP)
		nn_text_addf(name, "%s%zu", i % 2 ? "p" : "class", i / 2 + 1);
	else if (e->emit == NN_EMIT_PROBS || nn_emitted_by_class(e))
		nn_text_addf(name, "p.%s", nn_emitted_name(e, i, buffer));
	else
		nn_text_add(name, nn_emitted_name(e, i, buffer));
}

bool nn_write_is_column(const struct nn_emitted *e, const char *name)
{
	struct nn_text column = { 0 };
	bool found = false;

	for (size_t i = 0; i < n_fields(e) && !found; i++) {
		put_name(&column, e, i);
		found = !column.failed && strcmp(column.data, name) == 0;
	}
	nn_text_free(&column);
	return found;
}

static void header_fields(struct nn_text *text, const struct nn_emitted *e, char separator)
{
	struct nn_text name = { 0 };

	for (size_t i = 0; i < n_fields(e); i++) {
		put_name(&name, e, i);
		if (i)
			nn_text_add_bytes(text, &separator, 1);
		nn_write_field(text, name.failed ? "" : name.data, separator);
	}
	nn_text_free(&name);
}

/* null of JSON lines is an empty field. */
static void kept_fields(struct nn_writer *w)
{
	for (size_t i = 0; w->options.rows && nn_rows_kept(w->options.rows, i); i++) {
		const char *kept = nn_write_next_kept(w);

		nn_write_field(&w->text, strcmp(kept, "jnull") == 0 ? "" : kept + 1, w->separator);
		nn_text_add_bytes(&w->text, &w->separator, 1);
	}
}

static void row_fields(struct nn_writer *w, const struct nn_emitted *e, size_t row, char separator)
{
	char buffer[24];

	if (e->emit == NN_EMIT_CLASS) {
		nn_write_field(&w->text, nn_emitted_label(e, nn_emitted_best(e, row, 0), buffer),
			       separator);
		return;
	}
	if (e->emit == NN_EMIT_TOP)
		nn_emitted_top(e, row, e->top, w->classes);
	for (size_t i = 0; i < (e->emit == NN_EMIT_TOP ? e->top : e->columns); i++) {
		size_t c = e->emit == NN_EMIT_TOP ? w->classes[i] : i;

		if (i)
			nn_text_add_bytes(&w->text, &separator, 1);
		if (e->emit == NN_EMIT_TOP) {
			nn_write_field(&w->text, nn_emitted_label(e, c, buffer), separator);
			nn_text_add_bytes(&w->text, &separator, 1);
		}
		nn_write_number(&w->text, e, nn_emitted_value(e, row, 0, c));
	}
}

static void empty_fields(struct nn_text *text, const struct nn_emitted *e, char separator)
{
	for (size_t i = 1; i < n_fields(e); i++)
		nn_text_add_bytes(text, &separator, 1);
}

int nn_write_table_header(struct nn_writer *w, struct nn_error *err)
{
	const char *kept;

	if (w->e->positions > 1)
		return nn_fail(err, NN_EFAIL,
			       "the output has a shape per sample; use --to=npy or --to=jsonl");
	if (!w->options.header)
		return 0;
	for (size_t i = 0; w->options.rows && (kept = nn_rows_kept(w->options.rows, i)); i++) {
		nn_write_field(&w->text, kept, w->separator);
		nn_text_add_bytes(&w->text, &w->separator, 1);
	}
	header_fields(&w->text, w->e, w->separator);
	nn_text_add(&w->text, "\n");
	return 0;
}

int nn_write_table_rows(struct nn_writer *w, size_t rows, const char *const *bad,
			struct nn_error *err)
{
	(void)err;
	for (size_t r = 0; r < rows; r++) {
		const size_t start = w->text.length;

		kept_fields(w);
		if (bad && bad[r])
			empty_fields(&w->text, w->e, w->separator);
		else
			row_fields(w, w->e, r, w->separator);
		if (w->text.length == start) /* a blank line is no record */
			nn_text_add(&w->text, "\"\"");
		nn_text_add(&w->text, "\n");
	}
	return 0;
}
