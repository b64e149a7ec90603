/* What nn-predict emits: an output's rows as probabilities, classes, logits or values, and the
 * writers that print them. */
#ifndef NN_PREDICT_EMIT_H
#define NN_PREDICT_EMIT_H

#include "base/output.h"
#include "predict/model.h"

enum nn_emit { NN_EMIT_PROBS, NN_EMIT_CLASS, NN_EMIT_TOP, NN_EMIT_LOGITS, NN_EMIT_VALUES };

/* One output of the model made ready for a writer. */
struct nn_emitted {
	const char *name; /* of the output line, NULL: the only one */
	enum nn_emit emit;
	size_t top;                            /* top:K */
	const struct nn_target_schema *target; /* NULL: none is known */
	enum nn_dtype dtype;
	size_t positions, columns; /* classes or numbers last */
	struct nn_shape shape;     /* of a row in language order */
	void *values;              /* real [rows][positions][columns] */
	int output;
	bool bce;
};

/* Which figures to emit: `word` is --emit's value or NULL for the default. Checks it against the
 * model. */
int nn_emitted_open(struct nn_emitted *emitted, const struct nn_model *model, int output,
		    const char *word, struct nn_graph *graph, size_t max_rows,
		    struct nn_error *err);
void nn_emitted_close(struct nn_emitted *emitted);
/* Take the rows of the last forward. */
void nn_emitted_take(struct nn_emitted *emitted, const struct nn_model *model,
		     const struct nn_graph *graph, size_t rows);
/* What --emit=WORD may be, without a model. */
int nn_emit_check(const char *word, struct nn_error *err);

double nn_emitted_value(const struct nn_emitted *emitted, size_t row, size_t position,
			size_t column);
/* The best class of a position: its number; first of equals. */
size_t nn_emitted_best(const struct nn_emitted *emitted, size_t row, size_t position);
/* The label of class c, or its number, in buffer. */
const char *nn_emitted_label(const struct nn_emitted *emitted, size_t c, char buffer[24]);

/* ---- writers: header once, then blocks of rows; bad[row], where not NULL, says why a row has no
 * answer ---- */

struct nn_writer;

enum nn_to { NN_TO_CSV, NN_TO_TSV, NN_TO_JSONL, NN_TO_NPY };

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
