/* Fields are taken in order of rank while there is room, and stand in the order they were added. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "train/tell/fields.h"

#define APART 2
#define LEAST_BAR 12 /* columns, brackets included */
#define MOST_BAR 42

static struct nn_fields_one *next(struct nn_fields *f, int rank)
{
	struct nn_fields_one *field = &f->field[f->n++];

	field->rank = rank;
	field->bar = field->shown = false;
	return field;
}

void nn_fields_add(struct nn_fields *f, int rank, const char *format, ...)
{
	struct nn_fields_one *field = next(f, rank);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(field->text, sizeof field->text, format, args);
	va_end(args);
	field->columns = n >= 0 && n < NN_FIELD ? (size_t)n : SIZE_MAX / 2;
}

void nn_fields_add_bar(struct nn_fields *f, int rank, double share)
{
	struct nn_fields_one *field = next(f, rank);

	field->columns = LEAST_BAR;
	field->bar = true;
	f->share = share;
}

static struct nn_fields_one *most_wanted(struct nn_fields *f, int rank)
{
	struct nn_fields_one *best = NULL;

	for (size_t i = 0; i < f->n; i++)
		if (f->field[i].rank > rank && (!best || f->field[i].rank < best->rank))
			best = &f->field[i];
	return best;
}

/* Columns that are left beside those that are shown. */
static size_t choose(struct nn_fields *f, size_t columns)
{
	size_t used = 0;

	for (struct nn_fields_one *field = most_wanted(f, -1); field;
	     field = most_wanted(f, field->rank)) {
		size_t more = field->columns + (used ? APART : 0);

		field->shown = used + more <= columns;
		used += field->shown ? more : 0;
	}
	return columns - used;
}

static void put_bar(double share, size_t columns, struct nn_text *line)
{
	size_t room = (columns < MOST_BAR ? columns : MOST_BAR) - 2,
	       full = (size_t)((double)room * share);

	nn_text_add(line, "[");
	for (size_t i = 0; i < room; i++)
		nn_text_add(line, i < full ? "=" : i == full ? ">" : " ");
	nn_text_add(line, "]");
}

void nn_fields_put(struct nn_fields *f, size_t columns, struct nn_text *line)
{
	size_t left = choose(f, columns);
	bool first = true;

	for (size_t i = 0; i < f->n; i++) {
		if (!f->field[i].shown)
			continue;
		if (!first)
			nn_text_add(line, "  ");
		first = false;
		if (f->field[i].bar)
			put_bar(f->share, LEAST_BAR + left, line);
		else
			nn_text_add(line, f->field[i].text);
	}
}
