/* Which unusual bytes a text holds. */
#ifndef NN_DATA_SCAN_H
#define NN_DATA_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* What bytes occur, or-ed together. A CR counts when another byte than a newline follows it. */
enum { NN_SCAN_QUOTE = 1, NN_SCAN_CR = 2, NN_SCAN_NUL = 4, NN_SCAN_HIGH = 8 };
unsigned nn_csv_scan(const char *text, size_t n);
/* nn_csv_scan finds nothing: many times faster. */
bool nn_csv_clean(const char *text, size_t n);

#endif
