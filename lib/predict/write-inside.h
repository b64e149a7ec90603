/* Inside the writers: their state, and each format in a file of its own. */
#ifndef NN_PREDICT_WRITE_INSIDE_H
#define NN_PREDICT_WRITE_INSIDE_H

#include <stdio.h>

#include "base/text.h"
#include "predict/write.h"

struct nn_writer {
	struct nn_output *output;
	struct nn_emitted *e;
	size_t n;
	struct nn_writer_options options;
	char separator;
	struct nn_text text; /* what is ready to be written */
	size_t *classes;     /* of top:K */
	const char *kept;    /* the next field in front of a record */
	uint64_t not_finite;
	/* .npy */
	void *block; /* a row in language order, or class numbers */
	FILE *spool; /* rows whose number is not known yet */
	uint64_t rows_since_end;
	bool ended; /* an array was completed */
};

/* A number in the fewest digits that read back to the same value of its type. */
void nn_write_number(struct nn_text *text, const struct nn_emitted *emitted, double value);

/* The next field that is kept: its letter and text. Every row takes its own, bad ones too. */
const char *nn_write_next_kept(struct nn_writer *writer);

/* A header, or what cannot be written so; rows; the end of an array. */
int nn_write_table_header(struct nn_writer *writer, struct nn_error *err);
int nn_write_table_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
			struct nn_error *err);
bool nn_write_is_column(const struct nn_emitted *emitted, const char *name);
bool nn_write_is_member(const struct nn_emitted *emitted, size_t n, bool named, const char *name);
int nn_write_json_header(struct nn_writer *writer, struct nn_error *err);
int nn_write_json_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
		       struct nn_error *err);
int nn_write_npy_header(struct nn_writer *writer, struct nn_error *err);
int nn_write_npy_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
		      struct nn_error *err);
int nn_write_npy_end(struct nn_writer *writer, struct nn_error *err);

#endif
