/* Rows as text: a table for people, Markdown, CSV, JSON. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "bench/report/report.h"

/* of a column of a table; six digits with sign, point and exponent may be wider */
#define NUMBER_WIDTH 12

/* ---- a cell ---- */

/* As it stands in CSV and Markdown; "" where unknown. number holds it where it is one. */
static const char *plain(const struct nn_cell *cell, char number[NN_NUMBER])
{
	*number = '\0';
	if (cell->kind == NN_REPORT_TEXT)
		return cell->text;
	if (cell->kind == NN_REPORT_COUNT)
		snprintf(number, NN_NUMBER, "%llu", (unsigned long long)cell->count);
	else if (cell->kind == NN_REPORT_REAL)
		nn_format_f64(number, cell->real);
	return number;
}

/* ---- table ---- */

/* How wide a column is: text to the left and cut, numbers to the right. */
static int width_of(const struct nn_report_column *column)
{
	int name = (int)strlen(column->name), width = column->width ? column->width : NUMBER_WIDTH;

	return name > width ? name : width;
}

static void pad(struct nn_text *text, const struct nn_report_column *column, const char *word,
		bool last)
{
	int width = width_of(column), n = (int)strlen(word);

	if (column->width == 0)
		nn_text_addf(text, "%*s", width, word);
	else if (n <= width)
		nn_text_addf(text, "%-*s", last ? 0 : width, word);
	else
		nn_text_addf(text, "%.*s...", width - 3, word);
	nn_text_add(text, last ? "\n" : "  ");
}

static void table_begin(struct nn_text *text, const struct nn_report_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pad(text, &columns[i], columns[i].name, i + 1 == n);
}

static void table_row(struct nn_text *text, const struct nn_report_column *columns,
		      const struct nn_cell *cells, size_t n, bool first)
{
	(void)first;
	for (size_t i = 0; i < n; i++) {
		char number[NN_NUMBER], line[256];
		const char *word = plain(&cells[i], number);

		if (cells[i].kind == NN_REPORT_REAL)
			snprintf(number, sizeof number, "%.4g", cells[i].real);
		else if (cells[i].kind == NN_REPORT_UNKNOWN)
			word = "-";
		pad(text, &columns[i], nn_one_line(line, sizeof line, word), i + 1 == n);
	}
}

/* ---- Markdown ---- */

static void md_begin(struct nn_text *text, const struct nn_report_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "| %s ", columns[i].name);
	nn_text_add(text, "|\n");
	for (size_t i = 0; i < n; i++)
		nn_text_add(text, columns[i].width ? "| --- " : "| ---: ");
	nn_text_add(text, "|\n");
}

static void md_row(struct nn_text *text, const struct nn_report_column *columns,
		   const struct nn_cell *cells, size_t n, bool first)
{
	(void)columns;
	(void)first;
	for (size_t i = 0; i < n; i++) {
		char number[NN_NUMBER];
		const char *word = plain(&cells[i], number);

		nn_text_add(text, "| ");
		for (; *word; word++)
			nn_text_addf(text, *word == '|' ? "\\%c" : "%c",
				     *word == '\n' ? ' ' : *word);
		nn_text_add(text, " ");
	}
	nn_text_add(text, "|\n");
}

/* ---- CSV ---- */

static void csv_begin(struct nn_text *text, const struct nn_report_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "%s%c", columns[i].name, i + 1 < n ? ',' : '\n');
}

static void csv_row(struct nn_text *text, const struct nn_report_column *columns,
		    const struct nn_cell *cells, size_t n, bool first)
{
	(void)columns;
	(void)first;
	for (size_t i = 0; i < n; i++) {
		char number[NN_NUMBER];
		const char *word = plain(&cells[i], number);
		bool quoted = strpbrk(word, ",\"\r\n") != NULL;

		nn_text_add(text, quoted ? "\"" : "");
		for (; *word; word++)
			nn_text_addf(text, *word == '"' ? "\"%c" : "%c", *word);
		nn_text_addf(text, "%s%c", quoted ? "\"" : "", i + 1 < n ? ',' : '\n');
	}
}

/* ---- JSON ---- */

static void add_object(struct nn_text *text, const struct nn_report_column *columns,
		       const struct nn_cell *cells, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char number[NN_NUMBER];
		const char *word = plain(&cells[i], number);

		nn_text_addf(text, "%c\"%s\":", i == 0 ? '{' : ',', columns[i].name);
		if (cells[i].kind == NN_REPORT_TEXT)
			nn_text_add_json(text, word, strlen(word));
		else
			nn_text_add(text, cells[i].kind == NN_REPORT_UNKNOWN ? "null" : word);
	}
	nn_text_add(text, "}");
}

static void json_row(struct nn_text *text, const struct nn_report_column *columns,
		     const struct nn_cell *cells, size_t n, bool first)
{
	nn_text_add(text, first ? "[\n" : ",\n");
	add_object(text, columns, cells, n);
}

static void json_end(struct nn_text *text, bool empty)
{
	nn_text_add(text, empty ? "[]\n" : "\n]\n");
}

static void jsonl_row(struct nn_text *text, const struct nn_report_column *columns,
		      const struct nn_cell *cells, size_t n, bool first)
{
	(void)first;
	add_object(text, columns, cells, n);
	nn_text_add(text, "\n");
}

const char *const nn_report_formats[] = {
	[NN_REPORT_TABLE] = "table", [NN_REPORT_MD] = "md",       [NN_REPORT_CSV] = "csv",
	[NN_REPORT_JSON] = "json",   [NN_REPORT_JSONL] = "jsonl", NULL,
};

const struct nn_report_writer nn_report_writers[] = {
	[NN_REPORT_TABLE] = { table_begin, table_row, NULL },
	[NN_REPORT_MD] = { md_begin, md_row, NULL },
	[NN_REPORT_CSV] = { csv_begin, csv_row, NULL },
	[NN_REPORT_JSON] = { NULL, json_row, json_end },
	[NN_REPORT_JSONL] = { NULL, jsonl_row, NULL },
};
