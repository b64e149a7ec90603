/*
 * Writers of what is emitted: a header once, then blocks of rows; bad[row], where not NULL, says
 * why a row has no answer.
 */
#ifndef NN_PREDICT_WRITE_H
#define NN_PREDICT_WRITE_H

#include "base/output.h"
#include "predict/emit.h"

struct nn_writer;

enum nn_to { NN_TO_AUTO, NN_TO_CSV, NN_TO_TSV, NN_TO_JSONL, NN_TO_NPY };

struct nn_writer_options {
	enum nn_to to;
	bool header;   /* csv, tsv */
	int64_t total; /* rows that will come, -1: unknown (npy is then spooled) */
	bool named;    /* json: several outputs, each under its name */
};

int nn_writer_open(struct nn_writer **writer, struct nn_output *output, struct nn_emitted *emitted,
		   size_t n_emitted, const struct nn_writer_options *options, struct nn_error *err);
int nn_writer_rows(struct nn_writer *writer, size_t rows, const char *const *bad,
		   struct nn_error *err);
/* An array of the input has ended: the answers to it are complete. */
int nn_writer_end_array(struct nn_writer *writer, struct nn_error *err);
int nn_writer_close(struct nn_writer *writer, struct nn_error *err);
void nn_writer_free(struct nn_writer *writer);
/* Rows whose outputs were not finite. */
uint64_t nn_writer_not_finite(const struct nn_writer *writer);

#endif
