/* A line as wide as a terminal: whole fields, of which the least wanted are left out. */
#ifndef NN_TRAIN_TELL_FIELDS_H
#define NN_TRAIN_TELL_FIELDS_H

#include "base/text.h"

#define NN_MOST_FIELDS 12
#define NN_FIELD 200 /* bytes of a field; a longer one is never shown */

struct nn_fields {
	size_t n;
	struct nn_fields_one {
		char text[NN_FIELD];
		int rank; /* 0: wanted most */
		size_t columns;
		bool bar, shown;
	} field[NN_MOST_FIELDS];
	double share; /* of the bar */
};

/* A field after those before it, printf's way. Bytes count as columns: a label of wide letters may
 * be left out early, but a line is never too wide. */
void nn_fields_add(struct nn_fields *fields, int rank, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A bar that takes the room that is left, share of it (0 to 1) full. */
void nn_fields_add_bar(struct nn_fields *fields, int rank, double share);
/* Append those that fit into so many columns, two blanks apart. */
void nn_fields_put(struct nn_fields *fields, size_t columns, struct nn_text *line);

#endif
