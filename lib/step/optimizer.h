/* Optimizers: what PyTorch 2 defines, as updates of the flat block of a graph. */
#ifndef NN_STEP_OPTIMIZER_H
#define NN_STEP_OPTIMIZER_H

#include "graph/graph.h"

#define NN_TAKES_MOMENTUM 1u /* --momentum, which takes one more slot */
#define NN_TAKES_NESTEROV 2u
#define NN_NO_DECAY 4u       /* there is no --weight-decay */
#define NN_DECOUPLED 8u      /* weight decay is not added to the gradient */
#define NN_FULL_BATCH 16u    /* meant for gradients of all samples */
#define NN_HAS_DIRECTION 32u /* the step is computed before the ratio that it is scaled with */

/* A row of device/optimizers.def. */
struct nn_optimizer_info {
	const char *name;
	double lr, weight_decay, eps; /* lr, weight_decay: defaults */
	size_t slots;
	/*
	 * What the rate of a weight of norm w is multiplied with; g: the norm of its gradient, or
	 * of its direction. NULL: steps are not scaled.
	 */
	double (*ratio)(double w, double g, double weight_decay);
	unsigned flags;
};

extern const struct nn_optimizer_info nn_optimizers[NN_N_OPTIMIZERS];
extern const char *const nn_optimizer_names[]; /* NULL-terminated */

/* By its name; NN_N_OPTIMIZERS: none has it. */
enum nn_optimizer_kind nn_optimizer_find(const char *name);
/* The first that keeps `slots` values of each weight and scales no steps. */
enum nn_optimizer_kind nn_optimizer_keeping(size_t slots);
/* Does it compute steps before the ratio that they are scaled with? */
static inline bool nn_optimizer_steps_along(enum nn_optimizer_kind kind)
{
	return nn_optimizers[kind].flags & NN_HAS_DIRECTION;
}

struct nn_optimizer_options {
	enum nn_optimizer_kind kind;
	double momentum, weight_decay;
	bool nesterov;
	double clip_norm; /* 0: none */
};

/*
 * Ranks that hold parts of a network, or of the optimizer's state. All hooks are collective; where
 * one fails (-1) the job is lost.
 */
struct nn_optimizer_ranks {
	void *arg;
	/*
	 * squares[params of the program]: fill in those of the parameters that other graphs have.
	 * NULL: this graph has all.
	 */
	int (*squares)(void *arg, double *squares, struct nn_error *err);
	/*
	 * The same for parameters of which this graph has a part (nn_graph_channels): values[p] has
	 * it, in canonical order; NULL: not asked for, of no rank. counts (may be NULL): how
	 * many numbers values[p] has, on each rank its own, which are summed over all ranks. NULL:
	 * there are none.
	 */
	int (*cut)(void *arg, const void *const *values, const size_t *counts, double *squares,
		   struct nn_error *err);
	/*
	 * Every rank's elements of a block to all. NULL: all slots are kept here; else those of
	 * elements from .. to - 1 alone, which are updated in parts (nn_optimizer_begin and so on).
	 */
	int (*gather)(void *arg, void *block, struct nn_error *err);
	size_t from, to;
};

/*
 * A run of elements of the flat block; nn_shard_of: the run that rank r of n ranks adds up and
 * updates, whole blocks of 4096, as even as possible.
 */
struct nn_shard {
	size_t from, n;
};
struct nn_shard nn_shard_of(size_t block, int r, int n);

/*
 * Loss scaling: losses are multiplied with a power of two so that f16 holds their gradients, and
 * the update divides by it. Where a gradient is not finite nothing is updated and the scale is
 * halved; after NN_LOSS_SCALE_STEPS updates in a row it is doubled. Without scaling: 1, 0, 0.
 */
#define NN_LOSS_SCALE 65536
#define NN_LOSS_SCALE_STEPS 2000
struct nn_loss_scale {
	double factor;    /* not >= 1: NN_LOSS_SCALE, of a training that begins */
	uint64_t steps;   /* updates since it changed */
	uint64_t skipped; /* steps of the training that updated nothing */
};
/* After a step, by the norm it found. false: a scale of 1 is too large, too. */
bool nn_loss_scale_next(struct nn_loss_scale *scale, double norm);

struct nn_optimizer;

/* Memory that is not the optimizer's own; NULL: it takes its own. */
struct nn_optimizer_place {
	/* zeroed: nn_optimizer_count blocks; NN_HAS_DIRECTION: a block */
	void *slots, *direction;
	/* the shard whose slots are kept here, for ranks that join; shards 0: all slots */
	int shard, shards;
};

/*
 * For a training graph, which is borrowed, as is its pool. Slots are zero (rprop's steps are set by
 * the first update).
 */
int nn_optimizer_new(struct nn_optimizer **optimizer, const struct nn_optimizer_options *options,
		     const struct nn_device *device, struct nn_graph *graph,
		     const struct nn_program *program, struct nn_pool *pool,
		     const struct nn_optimizer_place *place, struct nn_error *err);
void nn_optimizer_free(struct nn_optimizer *optimizer);
/* Before the first update: share the work with other ranks. */
void nn_optimizer_join(struct nn_optimizer *optimizer, const struct nn_optimizer_ranks *ranks);

/*
 * Bytes that an optimizer takes for a graph of `block` elements, of which it keeps the slots of
 * `kept`.
 */
size_t nn_optimizer_bytes(const struct nn_optimizer_options *options, size_t block, size_t kept,
			  enum nn_dtype dtype);
/* Slots there are for each parameter. */
size_t nn_optimizer_count(const struct nn_optimizer_options *options);

/* Does every update need the norm of the gradient, and so all of it? */
bool nn_optimizer_wants_norm(const struct nn_optimizer *optimizer);
/*
 * Does the device have products of f16? Then losses are scaled, and the norm of every step says
 * whether it updated anything. scale: of the next step, copied.
 */
bool nn_optimizer_scales(const struct nn_optimizer *optimizer);
void nn_optimizer_set_scale(struct nn_optimizer *optimizer, const struct nn_loss_scale *scale);
double nn_optimizer_scale(const struct nn_optimizer *optimizer);
/*
 * After nn_optimizer_begin: update the weights from the graph's gradients, and refresh what is
 * derived from them. norm: nn_optimizer_norm will be called. Allocates nothing and, where ranks
 * have no parts and nets no tables, waits for nothing. Fails only where a hook does. Only for an
 * optimizer that keeps all slots.
 */
int nn_optimizer_update(struct nn_optimizer *optimizer, bool norm, struct nn_error *err);

/* Does an update need nothing but a weight's own gradient? Then it may follow each as it comes. */
bool nn_optimizer_is_elementwise(const struct nn_optimizer_options *options);
/*
 * For such an optimizer, after nn_optimizer_begin: nn_graph_backward of a batch in one span and
 * nn_optimizer_update in one.
 */
int nn_optimizer_backward_update(struct nn_optimizer *optimizer, const struct nn_span *span,
				 struct nn_error *err);

/*
 * The same in parts, for ranks that own a run of the block each. What they wrote must be seen by
 * all between the calls named "all".
 *
 *   begin
 *   measure_gradient   where it is asked for, or nn_optimizer_wants_norm: norms of the whole
 *                      gradient block
 *   tables             all of them, from sums that all ranks have; where ranks share parameters
 *                      one of them calls it
 *   compute_direction  where nn_optimizer_has_direction: elements [from, to) of the direction, from
 *                      the gradients of the whole block
 *   -- all --          where nn_optimizer_has_direction; weights are still those before the update
 *   measure_weights    norms of parameters, where nn_optimizer_has_trust_ratio
 *   -- all --          where it has: from here weights change
 *   apply              elements [from, to); gradients[0] is that of element `from`. Threads may
 *                      call for runs that do not overlap.
 *   -- all --          and then nn_graph_refresh
 */
/* Step counted from 1. */
void nn_optimizer_begin(struct nn_optimizer *optimizer, uint64_t step, double lr);
int nn_optimizer_measure_gradient(struct nn_optimizer *optimizer, const void *gradients,
				  struct nn_error *err);
/* The gradient's global norm before clipping, once it was measured and waited for. */
double nn_optimizer_norm(const struct nn_optimizer *optimizer);
/* From now on it is measured into, and read from, side 0 or 1, of steps that overlap. */
void nn_optimizer_use_norm(struct nn_optimizer *optimizer, int side);
int nn_optimizer_tables(struct nn_optimizer *optimizer, struct nn_error *err);
bool nn_optimizer_has_direction(const struct nn_optimizer *optimizer);
void nn_optimizer_compute_direction(struct nn_optimizer *optimizer, const void *gradients,
				    size_t from, size_t to);
void *nn_optimizer_direction(struct nn_optimizer *optimizer);
bool nn_optimizer_has_trust_ratio(const struct nn_optimizer *optimizer);
int nn_optimizer_measure_weights(struct nn_optimizer *optimizer, struct nn_error *err);
void nn_optimizer_apply(const struct nn_optimizer *optimizer, const void *gradients, size_t from,
			size_t to, struct nn_pool *pool);

/* A block of device memory that is free between updates. */
void *nn_optimizer_scratch(struct nn_optimizer *optimizer);
/*
 * The sum of squares of a block in the form of the graph's gradients, for estimates: in the order
 * in which the kernels keep it. NAN for a stage: others have the rest of the gradient.
 */
double nn_optimizer_squares(struct nn_optimizer *optimizer, const void *block);

/* A slot of elements from .. to - 1 of the block. */
void *nn_optimizer_slot(const struct nn_optimizer *optimizer, size_t slot);
/* Are slots kept by several ranks? Then saving one is collective. */
bool nn_optimizer_shared(const struct nn_optimizer *optimizer);
/*
 * Slots by number, 0..n-1, for states: canonical values of the graph's parameters (others stay as
 * they are; params NULL: this rank wants none). Between two steps, since the gradients are what
 * shared slots are brought together in.
 */
size_t nn_optimizer_slots(const struct nn_optimizer *optimizer);
int nn_optimizer_save(struct nn_optimizer *optimizer, size_t slot, void *const *params,
		      struct nn_error *err);
void nn_optimizer_load(struct nn_optimizer *optimizer, size_t slot, const void *const *params);
/* Reset the slots of elements from..to-1 it has, and of all tables, to their first values. */
void nn_optimizer_reset(struct nn_optimizer *optimizer, size_t from, size_t to);

#endif
