/*
 * Held-out rows through a prediction graph: the same digits that nn-predict --score prints, for any
 * number of ranks.
 */
#ifndef NN_STEP_EVALUATE_H
#define NN_STEP_EVALUATE_H

#include "comm/comm.h"
#include "data/data.h"
#include "graph/graph.h"
#include "predict/score/metrics.h"

struct nn_evaluator;
struct nn_resident;

struct nn_evaluator_options {
	const struct nn_device *device;
	struct nn_pool *pool;
	const struct nn_program *program;
	const struct nn_dataset *dataset; /* borrowed, as all of these */
	const struct nn_schema *schema;
	const uint64_t *rows; /* which rows of it, in order */
	size_t n_rows;
	const struct nn_loss_spec *losses; /* [n_outputs] */
	const double *weights;             /* [n_outputs] */
	const struct nn_resident *resident; /* rows that are on the device; NULL: there are none */
	/* of ranks that run it together, each on its share of the rows; NULL: alone */
	struct nn_comm *comm;
};

int nn_evaluator_new(struct nn_evaluator **evaluator, const struct nn_evaluator_options *options,
		     struct nn_error *err);
void nn_evaluator_free(struct nn_evaluator *evaluator);
/*
 * All rows with these parameters (program order, canonical), which are the same on all ranks, as
 * results are; collective. Results are asked for below until the next run.
 */
int nn_evaluator_run(struct nn_evaluator *evaluator, const void *const *params,
		     struct nn_error *err);
/*
 * "loss" is the weighted sum over outputs; other names are of the first output, or OUTPUT.NAME of a
 * named one.
 */
bool nn_evaluator_get(const struct nn_evaluator *evaluator, const char *name, double *value);
/* nn_metrics_set_threshold of the first output, from the next run on. */
int nn_evaluator_set_threshold(struct nn_evaluator *evaluator, double threshold,
			       struct nn_error *err);
/* The metrics of an output. */
const struct nn_metrics *nn_evaluator_metrics(const struct nn_evaluator *evaluator, int output);
bool nn_evaluator_ran(const struct nn_evaluator *evaluator); /* at least once */
/*
 * Some rows once more with the parameters of the last run, by this rank alone:
 * classes[n][positions] found at an output. Of rows of one length, not more of them than there are
 * held out.
 */
int nn_evaluator_find_classes(struct nn_evaluator *evaluator, int output, const uint64_t *rows,
			      size_t n, int32_t *classes, struct nn_error *err);

#endif
