/*
 * A table for a terminal: as wide as that, in units people read. Columns that do not fit are left
 * out, those that say least first; text that is too long goes on below. Where even the others do
 * not fit beside each other, a row is a line for each.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/terminal.h"
#include "base/text.h"
#include "bench/report/report-terminal.h"

#define LEAST_TEXT 10 /* characters of a column of text that is made narrower */
#define FIGURE 8      /* of a column of figures: "12.3 µs", "1.2e+04" */

/* ---- words ---- */

/* Three digits with the unit of a power of 1000 or 1024 that makes them short. */
static void scaled(char *text, size_t n, double value, double step, const char *const *units)
{
	while (fabs(value) >= 0.9995 * step && units[1]) {
		value /= step;
		units++;
	}
	snprintf(text, n, fabs(value) < 999.5 ? "%.3g%s%s" : "%.0f%s%s", value, **units ? " " : "",
		 *units);
}

static const char *const times[] = { "ns", "µs", "ms", "s", NULL };
static const char *const binary[] = { "B", "KiB", "MiB", "GiB", "TiB", NULL };
static const char *const thousands[] = { "", "k", "M", "G", "T", NULL };

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && strcmp(name + n - m, end) == 0;
}

enum figure { PLAIN, TIME, BYTES, RATE, SHARE };

static enum figure figure_of(const char *name, const char *unit)
{
	if (unit)
		return strcmp(unit, "s") == 0   ? TIME
		       : strcmp(unit, "B") == 0 ? BYTES
		       : strchr(unit, '/')      ? RATE
						: PLAIN;
	if (ends_in(name, "per_s"))
		return RATE;
	if (strcmp(name, "seconds") == 0 || ends_in(name, "_s"))
		return strcmp(name, "gbytes_s") == 0 ? PLAIN : TIME;
	return ends_in(name, "share") ? SHARE : ends_in(name, "bytes") ? BYTES : PLAIN;
}

/* A figure as people read it; unit: of the cell beside it, NULL: the name says it. */
static const char *word_of(const struct nn_cell *cell, const char *name, const char *unit,
			   char text[NN_TERMINAL_WORD])
{
	double value = cell->kind == NN_REPORT_COUNT ? (double)cell->count : cell->real;

	if (cell->kind == NN_REPORT_TEXT)
		return cell->text;
	if (cell->kind == NN_REPORT_UNKNOWN)
		return "-";
	switch (figure_of(name, unit)) {
	case TIME:
		scaled(text, NN_TERMINAL_WORD, value * 1e9, 1000, times);
		break;
	case BYTES:
		scaled(text, NN_TERMINAL_WORD, value, 1024, binary);
		break;
	case RATE:
		scaled(text, NN_TERMINAL_WORD - 10, value, 1000, thousands);
		if (unit) {
			strcat(text, strchr(text, ' ') ? "" : " ");
			strncat(text, unit, 9);
		}
		break;
	case SHARE:
		snprintf(text, NN_TERMINAL_WORD, "%.3g %%", 100 * value);
		break;
	default:
		if (cell->kind == NN_REPORT_COUNT && cell->count >= 10000)
			nn_grouped(text, cell->count);
		else if (cell->kind == NN_REPORT_COUNT)
			snprintf(text, NN_TERMINAL_WORD, "%d", (int)cell->count);
		else
			snprintf(text, NN_TERMINAL_WORD, "%.3g", value);
	}
	return text;
}

/* Of a heading: what the figures below say themselves is left out. */
static const char *heading(const char *name, char text[NN_TERMINAL_WORD])
{
	static const struct {
		const char *name, *heading;
	} own[] = { { "samples_per_s", "samples/s" }, { "gflops", "GFLOP/s" },
		    { "gbytes_s", "GB/s" },           { "memory_bytes", "memory" },
		    { "peak_share", "of peak" },      { "seconds", "time" } };

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(own[i].name, name) == 0)
			return own[i].heading;
	snprintf(text, NN_TERMINAL_WORD, "%s", name);
	if (figure_of(name, NULL) == TIME)
		text[strlen(text) - 2] = '\0';
	return text;
}

/* ---- which columns, how wide ---- */

/* The widest column of text; -1: all are narrow. */
static int widest(const struct nn_terminal *t, const struct nn_report_column *columns)
{
	int found = -1;

	for (size_t i = 0; i < t->n; i++)
		if (columns[t->column[i]].width && t->width[i] > LEAST_TEXT &&
		    (found < 0 || t->width[i] > t->width[found]))
			found = (int)i;
	return found;
}

void nn_terminal_fit(struct nn_terminal *t, const struct nn_report_column *columns, size_t n,
		     int most)
{
	int width[NN_REPORT_COLUMNS], drop[NN_REPORT_COLUMNS] = { 0 }, at;
	char text[NN_TERMINAL_WORD];

	*t = (struct nn_terminal){ .most = most };
	for (size_t i = 0; i < n; i++) {
		int name = (int)strlen(heading(columns[i].name, text));

		width[i] = columns[i].width ? columns[i].width : FIGURE;
		width[i] = name > width[i] ? name : width[i];
		drop[i] = columns[i].drop;
		if (i == 1 && strcmp(columns[0].name, "item") == 0)
			width[i] = 16; /* a value of any unit, or a word */
	}
	nn_columns_drop(width, drop, n, most);
	for (size_t i = 0; i < n; i++)
		if (width[i] > 0) {
			t->column[t->n] = i;
			t->width[t->n++] = width[i];
		}
	while (nn_columns_width(t->width, t->n) > most && (at = widest(t, columns)) >= 0)
		t->width[at]--;
	t->tall = nn_columns_width(t->width, t->n) > most;
}

/* ---- lines ---- */

/* Columns that bytes of UTF-8 take: continuation bytes none. */
static int display(const char *bytes, size_t n)
{
	int columns = 0;

	for (size_t i = 0; i < n; i++)
		columns += (bytes[i] & 0xC0) != 0x80;
	return columns;
}

/* How much of a word goes on this line: up to a blank where it can be. */
static size_t piece(const char *word, int width)
{
	size_t n = 0, blank = 0;

	while (word[n] && display(word, n + 1) <= width) {
		n++;
		if (word[n] == ' ' || word[n - 1] == ',')
			blank = n;
	}
	return word[n] && blank ? blank : n;
}

static void put_lines(struct nn_text *text, const struct nn_terminal *t,
		      const struct nn_report_column *columns, const char **words)
{
	bool more = true;

	while (more) {
		size_t written = text->length;

		more = false;
		for (size_t i = 0; i < t->n; i++) {
			bool figure = columns[t->column[i]].width == 0;
			size_t n = figure ? strlen(words[i]) : piece(words[i], t->width[i]);
			int room = t->width[i] - display(words[i], n);

			room = room > 0 ? room : 0;
			nn_text_addf(text, "%*s", figure ? room : 0, "");
			nn_text_add_bytes(text, words[i], n);
			nn_text_addf(text, "%*s", figure ? 0 : room, "");
			nn_text_add(text, i + 1 < t->n ? "  " : "");
			words[i] += n + strspn(words[i] + n, " ");
			more |= *words[i] != '\0';
		}
		while (!text->failed && text->length > written &&
		       text->data[text->length - 1] == ' ')
			text->length--;
		nn_text_add(text, "\n");
	}
}

void nn_terminal_begin(struct nn_text *text, const struct nn_terminal *t,
		       const struct nn_report_column *columns)
{
	char names[NN_REPORT_COLUMNS][NN_TERMINAL_WORD];
	const char *words[NN_REPORT_COLUMNS];

	for (size_t i = 0; i < t->n; i++)
		words[i] = heading(columns[t->column[i]].name, names[i]);
	if (!t->tall)
		put_lines(text, t, columns, words);
}

/* A row whose columns do not fit beside each other: a line each, and an empty one. */
static void put_tall(struct nn_text *text, const struct nn_terminal *t,
		     const struct nn_report_column *columns, const char *const *words)
{
	char name[NN_TERMINAL_WORD];
	int widest_name = 0;

	for (size_t i = 0; i < t->n; i++) {
		int n = (int)strlen(heading(columns[t->column[i]].name, name));

		widest_name = n > widest_name ? n : widest_name;
	}
	for (size_t i = 0; i < t->n; i++) {
		const char *word = words[i];
		int room = t->most - widest_name - 2;

		nn_text_addf(text, *word ? "%-*s  " : "%.*s", *word ? widest_name : 0,
			     heading(columns[t->column[i]].name, name));
		while (*word) {
			size_t n = piece(word, room > LEAST_TEXT ? room : LEAST_TEXT);

			nn_text_add_bytes(text, word, n);
			word += n + strspn(word + n, " ");
			nn_text_addf(text, "\n%*s", *word ? widest_name + 2 : 0, "");
		}
	}
	nn_text_add(text, "\n");
}

void nn_terminal_row(struct nn_text *text, const struct nn_terminal *t,
		     const struct nn_report_column *columns, const struct nn_cell *cells)
{
	char figures[NN_REPORT_COLUMNS][NN_TERMINAL_WORD];
	const char *words[NN_REPORT_COLUMNS], *unit = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(columns[t->column[i]].name, "unit") == 0)
			unit = cells[t->column[i]].text ? cells[t->column[i]].text : "";
	for (size_t i = 0; i < t->n; i++) {
		const char *name = columns[t->column[i]].name;

		words[i] = word_of(&cells[t->column[i]], name,
				   strcmp(name, "value") == 0 ? unit : NULL, figures[i]);
		/* what the figure says already */
		if (strcmp(name, "unit") == 0 && (!*unit || figure_of("", unit) != PLAIN))
			words[i] = "";
	}
	if (t->tall)
		put_tall(text, t, columns, words);
	else
		put_lines(text, t, columns, words);
}

void nn_terminal_title(struct nn_text *text, const struct nn_terminal *t, const char *title)
{
	while (*title) {
		size_t n = piece(title, t->most);

		nn_text_add_bytes(text, title, n);
		nn_text_add(text, "\n");
		title += n + strspn(title + n, " ");
	}
}
