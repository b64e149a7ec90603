/*
 * What is said of an output: a session's rows as probabilities, classes, logits or values.
 *
 * Labels in JSON are strings, whole numbers too; logits have the column names of probs; .npy holds
 * the type that the model computes in. A model trained with bce prints sigmoids under
 * --emit=values and probs.
 */
#ifndef NN_PREDICT_EMIT_H
#define NN_PREDICT_EMIT_H

#include "predict/session.h"

enum nn_emit { NN_EMIT_PROBS, NN_EMIT_CLASS, NN_EMIT_TOP, NN_EMIT_LOGITS, NN_EMIT_VALUES };

/* One output of the model made ready for a writer. */
struct nn_emitted {
	const char *name; /* of the output line, NULL: the only one */
	enum nn_emit emit;
	size_t top;                            /* top:K */
	const struct nn_target_schema *target; /* NULL: none is known */
	const struct nn_device *host;
	enum nn_dtype dtype;
	size_t positions, columns; /* classes or numbers last */
	struct nn_shape shape;     /* of a row in language order */
	void *values;              /* real [rows][positions][columns] */
	int output;
	uint32_t *lengths; /* [max_rows] positions of each; NULL: all have as many */
	bool bce;
	double threshold; /* nn_emitted_set_threshold; 0: the likeliest class is best */
};

/*
 * Which figures to emit: `word` is --emit's value or NULL for the default. Checks it against the
 * model.
 */
int nn_emitted_open(struct nn_emitted *emitted, const struct nn_model *model, int output,
		    const char *word, size_t max_rows, struct nn_error *err);
/*
 * NN_EMIT_CLASS of two classes: the second where its probability reaches the threshold, above 0,
 * of the model's type. NN_EFAIL: there are not two.
 */
int nn_emitted_set_threshold(struct nn_emitted *emitted, double threshold, struct nn_error *err);
void nn_emitted_close(struct nn_emitted *emitted);
/* Take rows first .. first + rows - 1 of a session's last run; they are rows 0 .. below. */
void nn_emitted_take(struct nn_emitted *emitted, const struct nn_session *session, size_t first,
		     size_t rows);
/* The same of values as they are emitted, [rows][positions][columns], in place of a session's. */
void nn_emitted_put(struct nn_emitted *emitted, const void *values, size_t rows);
/* What --emit=WORD may be, without a model. */
int nn_emit_check(const char *word, struct nn_error *err);

/* Positions that count, in a row. */
static inline size_t nn_emitted_length(const struct nn_emitted *emitted, size_t row)
{
	return emitted->lengths ? emitted->lengths[row] : emitted->positions;
}
/* Those of a session's last run, as nn_emitted_take has them too. */
void nn_emitted_take_lengths(struct nn_emitted *emitted, const struct nn_session *session,
			     size_t first, size_t rows);

double nn_emitted_value(const struct nn_emitted *emitted, size_t row, size_t position,
			size_t column);
/* The best class of a position: its number; first of equals. */
size_t nn_emitted_best(const struct nn_emitted *emitted, size_t row, size_t position);
/* The label of class c, or its number, in buffer. */
const char *nn_emitted_label(const struct nn_emitted *emitted, size_t c, char buffer[24]);
/* Are its columns classes, not numbers of their own? */
bool nn_emitted_by_class(const struct nn_emitted *emitted);
/* The label of class c, or the name of number column c: the target's, else y or y1, y2, ... */
const char *nn_emitted_name(const struct nn_emitted *emitted, size_t c, char buffer[24]);
/* The k best classes of a row, best first; first of equals. */
void nn_emitted_top(const struct nn_emitted *emitted, size_t row, size_t k, size_t *classes);

#endif
