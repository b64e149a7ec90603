/* The table of --try. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/terminal.h"
#include "train/try/try-inside.h"

#define CELL 4096

/* Column c of row k, of the heading where k is the number of rows; shortened for people. */
static void write_cell(const struct nn_tries *all, size_t k, size_t c, bool people, char text[CELL])
{
	static const char *const names[] = { "metric", "sd", "seconds", "best" };
	const struct nn_tried *trial = &all->trials[k];
	double value;

	*text = '\0';
	if (c < all->axes.n) {
		snprintf(text, CELL, "%s",
			 k == all->n ? all->axes.axes[c].row->name
				     : nn_try_value(&all->axes, c, k));
		return;
	}
	c -= all->axes.n;
	if (k == all->n || c == 3) {
		snprintf(text, CELL, "%s", k == all->n ? names[c] : k == all->best ? "yes" : "no");
		return;
	}
	value = c == 0 ? trial->metric : c == 1 ? trial->sd : round(trial->seconds * 1e6) / 1e6;
	if (!isnan(value) && people)
		snprintf(text, CELL, "%.4g", value);
	else if (!isnan(value))
		nn_format_f64(text, value);
}

static size_t width_of(const struct nn_tries *all, size_t c)
{
	char text[CELL];
	size_t width = 0;

	for (size_t k = 0; k <= all->n; k++) {
		write_cell(all, k, c, true, text);
		width = strlen(text) > width ? strlen(text) : width;
	}
	return width;
}

/* What people need least is left out of lines that are too long: seconds, then sd. */
static void narrow(const struct nn_tries *all, size_t *widths)
{
	size_t sd = all->axes.n + 1, room = (size_t)nn_terminal_columns(STDOUT_FILENO), sum = 0;

	for (size_t c = 0; c < all->axes.n + 4; c++)
		sum += widths[c] + (c ? 2 : 0);
	for (size_t c = sd + 1; c >= sd && sum > room; c--) {
		sum -= widths[c] + 2;
		widths[c] = 0;
	}
}

int nn_tries_table(struct nn_tries *all, struct nn_error *err)
{
	bool people = isatty(STDOUT_FILENO);
	size_t columns = all->axes.n + 4, widths[NN_MOST_AXES + 4] = { 0 };
	char text[CELL];

	for (size_t c = 0; people && c < columns; c++)
		widths[c] = width_of(all, c);
	if (people)
		narrow(all, widths);
	for (size_t row = 0; row <= all->n; row++)
		for (size_t c = 0; c < columns; c++) {
			write_cell(all, row ? row - 1 : all->n, c, people, text);
			if (people && widths[c] == 0)
				continue;
			if (nn_output_printf(all->table, err, "%-*s%s", (int)widths[c], text,
					     c + 1 == columns ? "\n"
					     : people         ? "  "
							      : "\t") < 0)
				return -1;
		}
	return nn_output_flush(all->table, err);
}
