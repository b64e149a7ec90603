/* How wide a terminal is, and tables that fit it. */
#ifndef NN_BASE_TERMINAL_H
#define NN_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters of a line of the terminal that fd is: COLUMNS, else what the terminal says, else 80. */
int nn_terminal_columns(int fd);
/* Is fd a terminal on which a line can be taken off again ("\r\033[K")? */
bool nn_terminal_redraws(int fd);

#define NN_GROUPED 32
/* "12,345,678"; returns the text. */
const char *nn_grouped(char text[NN_GROUPED], uint64_t value);
/* Characters of n columns with two blanks between them; those of width 0 are left out. */
int nn_columns_width(const int *width, size_t n);
/*
 * Columns are left out, those with the highest drop first, of 0 none, until the others fit into
 * `most` characters or no more can go.
 */
void nn_columns_drop(int *width, const int *drop, size_t n, int most);

#endif
