/* A plan: what a task takes on a layout, before any of it is made. */
#ifndef NN_PLAN_PLAN_H
#define NN_PLAN_PLAN_H

#include "parallel/layout.h"
#include "plan/fit.h"
#include "plan/forecast.h"
#include "plan/rank-rate.h"
#include "plan/rates.h"
#include "step/task.h"

/* What a process has besides what is planned, and what it will keep. */
struct nn_budget {
	size_t memory;                    /* --memory, 0: what the machine has */
	size_t machine;                   /* what the machine has for this process */
	size_t start_bytes, loaded_bytes; /* resident before and after the data were read */
	size_t highest_bytes;             /* and the most before the step was made */
	enum nn_dtype loaded_dtype;
	bool partly;               /* only some of the data were read: a plan alone */
	bool keeps_best;           /* the best parameters so far */
	bool keeps_state, a_state; /* this rank writes states; the first of them does */
};

struct nn_plan {
	const struct nn_task *task;
	const struct nn_layout *layout;
	const struct nn_budget *budget;
	struct nn_fit fit;             /* the memory */
	struct nn_rate rate;           /* what the times rest on */
	struct nn_forecast forecast;   /* the times */
	struct nn_rank_rate rank_rate; /* of several ranks: what theirs rest on */
};

#endif
