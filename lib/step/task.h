/*
 * What is trained, on what: const once a training has been opened. It lies here, in the lowest room
 * that knows losses and data, since a step, ranks and a plan are all made from it; the network's
 * text is known by its name alone.
 */
#ifndef NN_STEP_TASK_H
#define NN_STEP_TASK_H

#include "data/augment/augment.h"
#include "data/data.h"
#include "graph/graph.h"
#include "predict/score/metrics.h"
#include "step/recipe.h"

struct nn_net;

/* All is borrowed, so a copy with other members is another task. */
struct nn_task {
	const struct nn_device *device;
	struct nn_pool *pool;
	const struct nn_recipe *recipe;
	uint64_t seed;
	struct nn_net *net;
	bool from_file;                   /* the network; else the command line says it */
	const struct nn_program *program; /* of the network */
	struct nn_loss_spec *losses;      /* [n_outputs] */
	double *shares;                   /* [n_outputs] weights of their losses */
	/* [n_outputs] --class-weight, NULL where the targets are not classes */
	double **class_weights;

	struct nn_augment *augment; /* of rows that are trained on; NULL: they stay as they are */
	struct nn_dataset *dataset, *held_out; /* held_out: of --valid=FILE */
	struct nn_schema *schema;
	uint64_t *rows, *valid_rows; /* numbers of samples that are trained on, held out */
	uint64_t n_rows, n_valid;
	uint64_t window;                   /* of the shuffle */
	uint64_t steps_per_epoch, planned; /* planned: steps in all, UINT64_MAX: without end */
	bool rows_unknown, rows_about;     /* a plan: without data, from a part of them */
	bool logs, notes;                  /* steps are reported: in a log, with -v */
	bool unmeasured; /* memory is too short for norms of gradients: none for a log */
};

#endif
