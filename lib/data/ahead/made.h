/* A batch in the making: its rows, the works they are made in, and a source that fills with them.
 */
#ifndef NN_DATA_AHEAD_MADE_H
#define NN_DATA_AHEAD_MADE_H

#include <stdatomic.h>

#include "data/ahead/stages.h"

/* What batches of a source have in common. */
struct nn_made_form {
	struct nn_source source;
	struct nn_source_ops ops; /* of batches */
	size_t batch, row_bytes;
	size_t work_rows, most_works;
	/* rows of a batch that this process takes, as it was seen; from > to: none yet */
	_Atomic size_t from, to;
};

struct nn_made_batch {
	struct nn_made_form *form;
	uint64_t *rows; /* [batch] */
	size_t n;
	size_t from, to; /* of these rows are made */
	unsigned char *values;
	struct nn_stage_work *work; /* [works] */
	size_t works, left;
};

void nn_made_form_init(struct nn_made_form *form, const struct nn_source *source, size_t batch,
		       bool whole);
/* Bytes that a batch takes, and a row of it. */
size_t nn_made_bytes(const struct nn_made_form *form);
static inline size_t nn_made_row_bytes(size_t row_bytes)
{
	return row_bytes + 3 * sizeof(uint64_t);
}
struct nn_made_batch *nn_made_batch_new(struct nn_made_form *form, struct nn_error *err);
void nn_made_batch_free(struct nn_made_batch *made); /* NULL allowed */
/* Put rows[n] into the stages. */
int nn_made_batch_put(struct nn_made_batch *made, const uint64_t *rows, size_t n,
		      struct nn_stages *stages, struct nn_error *err);
/* It is done: -1 with the error of the first row that has one. */
int nn_made_batch_status(const struct nn_made_batch *made, struct nn_error *err);
/* Valid as long as it is not put again. */
struct nn_source nn_made_batch_source(const struct nn_made_batch *made);

#endif
