/* Inside the writers: their state, and each format in a file of its own. */
#ifndef NN_PREDICT_WRITE_WRITE_INSIDE_H
#define NN_PREDICT_WRITE_WRITE_INSIDE_H

#include <stdio.h>

#include "base/text.h"
#include "predict/write/write.h"

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
	struct nn_writer_spool *spools; /* [n] of .npz */
	struct nn_block lengths;        /* int64_t of its rows, where an output has them */
	struct nn_writer_png *png;
};

/* The rows of an output, to be mapped when all are there. */
struct nn_writer_spool {
	FILE *rows;
	void *row, *map;
	size_t bytes;
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
int nn_write_npz_header(struct nn_writer *writer, struct nn_error *err);
int nn_write_npz_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
		      struct nn_error *err);
int nn_write_npz_close(struct nn_writer *writer, struct nn_error *err);
void nn_write_npz_free(struct nn_writer *writer);
int nn_write_png_header(struct nn_writer *writer, struct nn_error *err);
int nn_write_png_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
		      struct nn_error *err);
int nn_write_png_close(struct nn_writer *writer, struct nn_error *err);
void nn_write_png_free(struct nn_writer_png *png); /* NULL allowed */

/* Arrays: what an output is in one, a row of it, its rows while their number is not known. */
int nn_write_npy_check(const struct nn_emitted *emitted, struct nn_error *err);
enum nn_dtype nn_write_npy_dtype(const struct nn_emitted *emitted);
struct nn_shape nn_write_npy_shape(const struct nn_emitted *emitted, size_t rows);
size_t nn_write_npy_values(const struct nn_emitted *emitted);
void nn_write_npy_row(const struct nn_emitted *emitted, void *to, size_t row, bool bad);
FILE *nn_write_spool(struct nn_error *err);
/* The label of class c where labels are whole numbers, else c. */
int64_t nn_write_class_value(const struct nn_emitted *emitted, size_t c);

#endif
