/* Tables of nn-bench on a terminal. */
#ifndef NN_BENCH_REPORT_REPORT_TERMINAL_H
#define NN_BENCH_REPORT_REPORT_TERMINAL_H

#include <stdbool.h>
#include "base/text.h"
#include "bench/report/report.h"

#define NN_TERMINAL_WORD 32

/* The columns that are shown, and their widths in characters. */
struct nn_terminal {
	size_t n, column[NN_REPORT_COLUMNS];
	int width[NN_REPORT_COLUMNS], most;
	bool tall; /* too narrow for columns: a line for each figure */
};

/* Choose from n columns what fits into `most` characters. */
void nn_terminal_fit(struct nn_terminal *terminal, const struct nn_report_column *columns, size_t n,
		     int most);
/* What all rows share, the headings, and a row; columns and cells are those of the fit. */
void nn_terminal_title(struct nn_text *text, const struct nn_terminal *terminal, const char *title);
void nn_terminal_begin(struct nn_text *text, const struct nn_terminal *terminal,
		       const struct nn_report_column *columns);
void nn_terminal_row(struct nn_text *text, const struct nn_terminal *terminal,
		     const struct nn_report_column *columns, const struct nn_cell *cells);

#endif
