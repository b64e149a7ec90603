/*
 * Rows with named columns, printed as they come: table, md, csv, json, jsonl.
 *
 * After the columns of a verb comes warmup_s, seconds that were not counted.
 */
#ifndef NN_BENCH_REPORT_REPORT_H
#define NN_BENCH_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/output.h"
#include "bench/machine/machine.h"

extern const char *const nn_report_formats[]; /* "table", ...; NULL at the end */
enum nn_report_format {
	NN_REPORT_TABLE,
	NN_REPORT_MD,
	NN_REPORT_CSV,
	NN_REPORT_JSON,
	NN_REPORT_JSONL
};

struct nn_report_column {
	const char *name; /* NULL ends a list */
	int width;        /* characters of a column of text in a table; 0: a column of numbers */
	int drop;         /* on a terminal that is too narrow higher ones go first; 0: it stays */
};

#define NN_REPORT_COLUMNS 48 /* at most, with the six that end every row */

struct nn_report;

/*
 * Rows of these columns, which must stay, then threads,version,cpu,gpu,blas,date: into the file
 * path (written safely), or stdout for NULL and "-". What is written is complete after every row,
 * so that an end between two rows leaves valid csv, jsonl and md; json is closed by
 * nn_report_close. A table says the last six columns once, in front.
 */
int nn_report_open(struct nn_report **report, const char *path, enum nn_report_format format,
		   const struct nn_report_column *columns, const struct nn_machine *machine,
		   struct nn_error *err);
/*
 * The cells of the row that comes next, by the name of their column; those that are not set, a real
 * that is not finite and a text NULL are unknown: empty, null in JSON. Reals are rounded to six
 * digits. threads can be set too, where a row used others.
 */
void nn_report_text(struct nn_report *report, const char *column, const char *value);
void nn_report_count(struct nn_report *report, const char *column, uint64_t value);
void nn_report_real(struct nn_report *report, const char *column, double value);
/* The column "check": what it says, and whether that is a wrong result. */
void nn_report_check(struct nn_report *report, const char *value, bool wrong);
/* A row of the columns item, value and unit. */
int nn_report_item(struct nn_report *report, const char *item, double value, const char *unit,
		   struct nn_error *err);
int nn_report_row(struct nn_report *report, struct nn_error *err);
/* Fails where a row so far had a wrong result. */
int nn_report_wrong(const struct nn_report *report, struct nn_error *err);
/*
 * Ends the rows and frees the report in any case; NULL is allowed. A file is kept where status,
 * that of all that was to be measured, is 0; else what was there before stays. What stdout has
 * stays, too, and a JSON array that was begun is closed. -1 where status is or the end could not be
 * written.
 */
int nn_report_close(struct nn_report *report, int status, struct nn_error *err);

/* ---- inside ---- */

struct nn_cell {
	enum { NN_REPORT_UNKNOWN, NN_REPORT_TEXT, NN_REPORT_COUNT, NN_REPORT_REAL } kind;
	char *text;
	uint64_t count;
	double real;
};

struct nn_text;
/* What stands before the first row, a row, and what stands after the last, in one format. */
struct nn_report_writer {
	/* NULL: nothing */
	void (*begin)(struct nn_text *text, const struct nn_report_column *columns, size_t n);
	void (*row)(struct nn_text *text, const struct nn_report_column *columns,
		    const struct nn_cell *cells, size_t n, bool first);
	void (*end)(struct nn_text *text, bool empty); /* NULL: nothing */
};
extern const struct nn_report_writer nn_report_writers[]; /* by format */

#endif
