/* A plan: what a task takes on a layout, before any of it is made. */
#ifndef NN_PLAN_PLAN_H
#define NN_PLAN_PLAN_H

#include "parallel/layout.h"
#include "step/task.h"

/* Memory of a process besides the plan's, and what the run will keep. */
struct nn_budget {
	size_t memory;                    /* --memory, 0: what the machine has */
	size_t machine;                   /* what the machine has for this process */
	size_t device;                    /* what the device has, where that is its own memory */
	size_t start_bytes, loaded_bytes; /* resident before and after the data were read */
	size_t highest_bytes;             /* and the most before the step was made */
	enum nn_dtype loaded_dtype;
	bool partly;               /* only some of the data were read: a plan alone */
	bool keeps_best;           /* the best parameters so far */
	bool keeps_state, a_state; /* this rank writes states; the first of them does */
};

/* Memory (fit.h) in bytes; items as --explain names them, for the process as a whole. */
struct nn_fit {
	size_t micro; /* rows at once */
	size_t least; /* that cannot be split: 1, or a batch-norm group */
	/* as nn_recipe has them: what the plan was made with */
	size_t recompute, offload;
	uint64_t again_flops; /* of a row: computed again in backward, by all ranks */
	size_t spilled;       /* bytes of the files of what is offloaded, of all ranks */
	size_t parameters;    /* as the kernels keep them */
	size_t gradients; /* and the sums that wait for their neighbours in the tree of leaves */
	size_t optimizer;
	size_t activations_per_sample, activations;
	size_t workspace;
	size_t input; /* the samples in memory, and those of a step */
	size_t other; /* the program, copies of parameters for files and evaluation */
	/*
	 * limit: --memory, else what the machine has for this process, or for the ranks of this
	 * host
	 */
	size_t total, limit;
	/* not of the total: memory of a device's own that the ranks of this host take; 0: none */
	size_t device, device_limit;
	/* of a rank: what of the items lies on the device, together `device`; pinned: of other */
	struct {
		size_t parameters, gradients, optimizer, activations, workspace, input, evaluation;
	} there;
	size_t pinned;
	size_t resident; /* of there.input: the data set, which stays there; 0: rows are sent */
	size_t host; /* of all ranks of this host, what they share once; alone: total */
	size_t window, window_all; /* of the total, of the host: memory that ranks see together */
	size_t files;              /* of the total: pages of files, which the machine has anyway */
	bool fits;
};

/* Seconds (rates.h), NaN: not known. */
struct nn_rate {
	double step_s;  /* of a full batch */
	double extra_s; /* of an epoch besides its steps: evaluation, state */
	/* fixed cost of a run: page faults of the first step, writing the model file */
	double once_s;
	bool ran; /* measured by a training, else by trial steps */
};

/* How long it will take (forecast.h). */
struct nn_forecast {
	double step_s, epoch_s, total_s; /* NaN: not known; an epoch with evaluation and state */
	double bytes; /* of a step of several ranks, through rank 0; NaN: not known */
	/* the source of the rate; where step_s is not known, "" or what is missing */
	const char *basis;
};

struct nn_plan {
	const struct nn_task *task;
	const struct nn_layout *layout;
	const struct nn_budget *budget;
	struct nn_fit fit;
	struct nn_rate rate; /* the basis of all times */
	struct nn_forecast forecast;
};

#endif
