/*
 * Writers of what is emitted: a header once, then blocks of rows; bad[row], where not NULL, says
 * why a row has no answer.
 */
#ifndef NN_PREDICT_WRITE_WRITE_H
#define NN_PREDICT_WRITE_WRITE_H

#include "base/output.h"
#include "data/data.h"
#include "predict/emit.h"
#include "predict/write/pictures.h"

struct nn_writer;

/* NN_TO_JSON: of --score alone */
enum nn_to {
	NN_TO_AUTO,
	NN_TO_CSV,
	NN_TO_TSV,
	NN_TO_JSONL,
	NN_TO_NPY,
	NN_TO_JSON,
	NN_TO_NPZ,
	NN_TO_PNG,
};

struct nn_writer_options {
	enum nn_to to;
	bool header;                /* csv, tsv */
	int64_t total;              /* rows that will come, -1: unknown (npy is then spooled) */
	bool named;                 /* json: several outputs, each under its name */
	const struct nn_rows *rows; /* nn_rows_kept: columns in front of a record; NULL: none */
	struct nn_pictures_options pictures; /* of png */
	struct nn_text *text;       /* where to, in place of an output; `total` is known then */
};

/* A field of a table, quoted by RFC 4180 where it has to be. */
void nn_write_field(struct nn_text *text, const char *field, char separator);
int nn_writer_open(struct nn_writer **writer, struct nn_output *output, struct nn_emitted *emitted,
		   size_t n_emitted, const struct nn_writer_options *options, struct nn_error *err);
/* Kept fields of the rows that come next (data/table/keep.h), borrowed until the last of them. */
void nn_writer_keep(struct nn_writer *writer, const char *kept);
/* Is it the name of a column or member of a record? */
bool nn_write_is_name(const struct nn_emitted *emitted, size_t n,
		      const struct nn_writer_options *options, const char *name);
int nn_writer_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
		   struct nn_error *err);
/* An array of the input has ended: the answers to it are complete. */
int nn_writer_end_array(struct nn_writer *writer, struct nn_error *err);
int nn_writer_close(struct nn_writer *writer, struct nn_error *err);
void nn_writer_free(struct nn_writer *writer);
/* Rows whose outputs were not finite. */
uint64_t nn_writer_not_finite(const struct nn_writer *writer);

#endif
