/* Collecting the cells of a row, and the columns that end each. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/terminal.h"
#include "bench/report/report-terminal.h"
#include "bench/report/report.h"
#include "device/products.h"

static const struct nn_report_column last_columns[] = {
	{ "threads", 0, 0 }, { "version", 8, 0 }, { "cpu", 24, 0 }, { "gpu", 12, 0 },
	{ "blas", 12, 0 },   { "date", 20, 0 },   { NULL, 0, 0 },
};
#define N_LAST (sizeof last_columns / sizeof *last_columns - 1)

struct nn_report {
	struct nn_output *output;
	enum nn_report_format format;
	const struct nn_report_writer *writer;
	struct nn_report_column columns[NN_REPORT_COLUMNS];
	struct nn_cell cells[NN_REPORT_COLUMNS];
	size_t n, shown; /* columns; those of them that the rows of this format show */
	bool terminal;   /* a table is shown there, as `fit` says */
	struct nn_terminal fit;
	struct nn_machine machine;
	size_t rows, wrong;
	struct nn_text text;
};

static void add_columns(struct nn_report *r, const struct nn_report_column *columns)
{
	for (; columns->name; columns++) {
		if (r->n == NN_REPORT_COLUMNS)
			NN_BUG("more than %d columns", NN_REPORT_COLUMNS);
		r->columns[r->n++] = *columns;
	}
}

static struct nn_cell *cell(struct nn_report *r, const char *column)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->columns[i].name, column) == 0)
			return &r->cells[i];
	NN_BUG("no column %s", column);
}

static void set(struct nn_report *r, const char *column, struct nn_cell value)
{
	struct nn_cell *c = cell(r, column);

	nn_free(c->text);
	*c = value;
}

void nn_report_text(struct nn_report *r, const char *column, const char *value)
{
	char *text = value ? nn_strdup(value, NULL) : NULL;

	set(r, column,
	    (struct nn_cell){ .kind = text ? NN_REPORT_TEXT : NN_REPORT_UNKNOWN, .text = text });
}

void nn_report_count(struct nn_report *r, const char *column, uint64_t value)
{
	set(r, column, (struct nn_cell){ .kind = NN_REPORT_COUNT, .count = value });
}

void nn_report_real(struct nn_report *r, const char *column, double value)
{
	char digits[40];

	snprintf(digits, sizeof digits, "%.6g", value);
	set(r, column,
	    (struct nn_cell){ .kind = isfinite(value) ? NN_REPORT_REAL : NN_REPORT_UNKNOWN,
			      .real = strtod(digits, NULL) });
}

void nn_report_check(struct nn_report *r, const char *value, bool wrong)
{
	nn_report_text(r, "check", value);
	r->wrong += wrong;
}

int nn_report_item(struct nn_report *r, const char *item, double value, const char *unit,
		   struct nn_error *err)
{
	nn_report_text(r, "item", item);
	nn_report_real(r, "value", value);
	nn_report_text(r, "unit", unit);
	return nn_report_row(r, err);
}

int nn_report_wrong(const struct nn_report *r, struct nn_error *err)
{
	return r->wrong == 0
		       ? 0
		       : nn_fail(err, NN_EFAIL, "%zu of %zu result%s %s wrong: see column check",
				 r->wrong, r->rows, nn_s(r->rows), r->wrong == 1 ? "is" : "are");
}

/* Whose products the row's device has; else the machine's, which rows may be compared with. */
static const char *library(struct nn_report *r)
{
	const char *device, *found = NULL;

	for (size_t i = 0; i < r->n && !found; i++) {
		device = strcmp(r->columns[i].name, "device") == 0 ? r->cells[i].text : NULL;
		found = device ? nn_products_library(device) : NULL;
	}
	return found ? found : *r->machine.blas ? r->machine.blas : NULL;
}

/* threads may have been set by the verb. */
static void put_last(struct nn_report *r)
{
	time_t now = time(NULL);
	struct tm utc;
	char date[32];

	if (cell(r, "threads")->kind == NN_REPORT_UNKNOWN)
		nn_report_count(r, "threads", (uint64_t)r->machine.threads);
	nn_report_text(r, "version", PACKAGE_VERSION);
	nn_report_text(r, "cpu", r->machine.cpu);
	nn_report_text(r, "gpu", *r->machine.gpu ? r->machine.gpu : NULL);
	nn_report_text(r, "blas", library(r));
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	nn_report_text(r, "date", date);
}

static int write_text(struct nn_report *r, struct nn_error *err)
{
	int status = r->text.failed ? nn_fail(err, NN_ENOMEM, "out of memory for a row") : 0;

	if (status == 0 && r->text.length > 0)
		status = nn_output_write(r->output, r->text.data, r->text.length, err);
	if (status == 0)
		status = nn_output_flush(r->output, err);
	nn_text_clear(&r->text);
	return status;
}

static void clear(struct nn_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		nn_free(r->cells[i].text);
		r->cells[i] = (struct nn_cell){ .kind = NN_REPORT_UNKNOWN };
	}
}

/* A table's rows would be too wide with what is the same in all. */
static void begin_table(struct nn_report *r)
{
	struct nn_text title = { 0 };

	nn_text_addf(&title, "nntools %s, %s, threads %d, GPU %s, BLAS %s, %s", PACKAGE_VERSION,
		     r->machine.cpu, r->machine.threads, *r->machine.gpu ? r->machine.gpu : "none",
		     library(r) ? library(r) : "none",
		     cell(r, "date")->text ? cell(r, "date")->text : "");
	r->text.failed |= title.failed;
	if (r->terminal && !title.failed)
		nn_terminal_title(&r->text, &r->fit, title.data);
	else if (!title.failed)
		nn_text_addf(&r->text, "%s\n", title.data);
	nn_text_free(&title);
}

static void write_row(struct nn_report *r)
{
	if (r->terminal) {
		if (r->rows == 0)
			nn_terminal_begin(&r->text, &r->fit, r->columns);
		nn_terminal_row(&r->text, &r->fit, r->columns, r->cells);
		return;
	}
	if (r->rows == 0 && r->writer->begin)
		r->writer->begin(&r->text, r->columns, r->shown);
	r->writer->row(&r->text, r->columns, r->cells, r->shown, r->rows == 0);
}

int nn_report_open(struct nn_report **report, const char *path, enum nn_report_format format,
		   const struct nn_report_column *columns, const struct nn_machine *machine,
		   struct nn_error *err)
{
	struct nn_report *r = nn_alloc(1, sizeof *r, err);

	if (!r)
		return -1;
	r->format = format;
	r->writer = &nn_report_writers[format];
	r->machine = *machine;
	add_columns(r, columns);
	add_columns(r, last_columns);
	r->shown = format == NN_REPORT_TABLE ? r->n - N_LAST : r->n;
	r->terminal = format == NN_REPORT_TABLE && (!path || strcmp(path, "-") == 0) &&
		      isatty(STDOUT_FILENO);
	if (r->terminal)
		nn_terminal_fit(&r->fit, r->columns, r->shown, nn_terminal_columns(STDOUT_FILENO));
	if (nn_output_open(&r->output, path, false, err) < 0) {
		nn_free(r);
		return -1;
	}
	*report = r;
	return 0;
}

int nn_report_row(struct nn_report *r, struct nn_error *err)
{
	put_last(r);
	/*
	 * Nothing is written before there is a row, so that a command that fails leaves nothing but
	 * its error.
	 */
	if (r->rows == 0 && r->format == NN_REPORT_TABLE)
		begin_table(r);
	write_row(r);
	clear(r);
	r->rows++;
	return write_text(r, err);
}

int nn_report_close(struct nn_report *r, int status, struct nn_error *err)
{
	if (!r)
		return status;
	if (r->writer->end && (status == 0 || r->rows > 0))
		r->writer->end(&r->text, r->rows == 0);
	if (write_text(r, status < 0 ? NULL : err) < 0)
		status = -1;
	status = nn_output_close(r->output, status, err);
	clear(r);
	nn_text_free(&r->text);
	nn_free(r);
	return status;
}
