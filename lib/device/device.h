/* Where arithmetic happens: the interface of a device, a table of kernels by op. */
#ifndef NN_DEVICE_DEVICE_H
#define NN_DEVICE_DEVICE_H

#include "base/pool.h"
#include "op/op.h"

struct nn_queue;
struct nn_update;

/*
 * A node as a kernel sees it at bind time. Shapes are of one row in language order; images C,H,W
 * are held H,W,C.
 */
struct nn_site {
	const void *attrs;
	const struct nn_shape *in;
	int n_in;
	struct nn_shape out;
	bool training;
	bool want_dx; /* is the gradient towards in[0] needed? */
	struct nn_queue
		*queue; /* where its calls go; NULL on the CPU, whose calls return when done */
};

/*
 * What changes from step to step, in device memory: a recorded step finds new values at the same
 * place.
 */
struct nn_now {
	uint64_t sample; /* samples drawn in training before the batch */
	uint64_t step;   /* of the optimizer: 1 for the first update */
	double lr;
	double clip;          /* the gradient is multiplied with it; 1: none */
	double correction[2]; /* 1 - beta1^step, 1 - beta2^step */
	double scale;         /* the gradient of a loss is multiplied with it */
	uint64_t hold;        /* not 0: a loss is not finite, and nothing may be updated */
};

/*
 * Values of rows of a table, `width` reals each: what a batch adds to the gradient of a table of
 * any size. In entries, as backward appends them, row[i] is a row of the table or NN_LIST_NO_ROW
 * (skipped) and leaf[i] the leaf of the batch that it comes from; samples are in order. In sums
 * (nn_device.sum_rows) rows ascend.
 */
struct nn_row_list {
	size_t width, room; /* room: entries there can be */
	size_t *n;          /* device memory, as row, leaf and value */
	uint32_t *row, *leaf;
	void *value;
};
#define NN_LIST_NO_ROW UINT32_MAX

/*
 * Sums of entries by row: inside a leaf one chain in their order from 0, leaves along the binary
 * tree over their numbers; what is not there is 0, so that these are the bytes of a dense gradient.
 * Leaves are added only inside subtrees within first_leaf..end_leaf-1: a row of several such is
 * there as often, with a leaf of each. Lists of several ranks, one after the other in their order,
 * are entries.
 */
struct nn_row_sum {
	const struct nn_row_list *entries;
	struct nn_row_list *sums; /* as wide, with room for as many */
	size_t first_leaf, end_leaf;
	void *work; /* NN_ROW_SUM_WORK bytes for each entry there can be */
	struct nn_pool *pool;
	struct nn_queue *queue;
};
#define NN_ROW_SUM_WORK 24

/*
 * One call of a kernel: `rows` consecutive rows of a global batch. All arrays are dense, rows
 * first, of the graph's dtype ("real"). The rows are cut into n_leaves leaves (a power of two, an
 * aligned subtree of the batch's tree) at leaf[0..n_leaves]; a call with one leaf may be a piece of
 * it: `first` says whether its chain begins here, else it goes on from what dw holds.
 *
 * What a graph lets share memory. y is x[0] in activation, dropout, add, mul, position and, at
 * prediction, batchnorm; y is the residual in dense and in conv2d that is not pooled. One dx is dy,
 * never with its dx_add: in activation, dropout, add, position and batchnorm any, in dense and
 * conv2d that is not pooled the residual's. Two inputs that are the same value have the same dx:
 * the second is added to the first.
 */
struct nn_call {
	struct nn_site site;
	size_t rows;
	/* now->sample and this: samples drawn in training before row 0, dropout's index */
	uint64_t sample;
	uint64_t seed;
	const struct nn_now *now; /* NULL: all is 0 */
	const void *const *x;     /* [n_in] */
	/*
	 * bytes from one thread's copy of x[0] to the next one's (kernel's copies); 0: there is one
	 * for all
	 */
	size_t x_step;
	void *y;
	void *dy;           /* backward: gradient of y, may be overwritten */
	void *const *dx;    /* backward: [n_in], NULL entries are not wanted */
	const bool *dx_add; /* [n_in]: add to what is there (dx = old + new) instead of storing */
	void *const
		*w; /* packed parameters and buffers; buffers are updated by forward in training */
	/*
	 * Packed gradients, NULL for buffers: the sum over this call's leaves along the tree; for a
	 * table a struct nn_row_list, to which entries are appended. conv2d with dw[0] NULL: only
	 * dx[0] is wanted; without epilogue and pooling it is computed from dy and derived, and
	 * nothing else is read, not even work.
	 */
	void *const *dw;
	/*
	 * Backward of a kernel that updates: [parameters], their updates whole but for g. Weights
	 * change as soon as their gradient is there, which dw need not have afterwards; n_leaves
	 * are all of the batch. NULL: weights stay as they are.
	 */
	const struct nn_update *update;
	const void *derived; /* made by derive */
	/*
	 * Kept from forward to backward, `saved` bytes; for a pooled conv2d what maxpool2d keeps:
	 * as many bytes for each element of y, in the order of y.
	 */
	void *saved;
	void *work;         /* scratch of this call alone, `work` bytes */
	const size_t *leaf; /* [n_leaves + 1], leaf[0] = 0, leaf[n_leaves] = rows */
	size_t n_leaves;
	bool first;
	size_t leaf_number;  /* of leaf 0 of the call among those of the batch */
	const size_t *group; /* batch norm: [n_groups + 1] row bounds */
	size_t n_groups;
	/*
	 * Training, ops with statistics: where those of group g go, at g * statistics_step
	 * elements, and the buffers stay as they are; NULL: the buffers are advanced by forward.
	 */
	void *statistics;
	size_t statistics_step;
	struct nn_pool *pool;
	const uint32_t *lengths; /* [rows] positions of each; NULL: all are of one length */
	/*
	 * [rows][nn_kernel.state] the state after the steps before this call, zeros at first;
	 * forward replaces it with the state after its own steps, and saves for backward what that
	 * needs. NULL: rows begin here.
	 */
	void *state;
	size_t step; /* number of steps before this call; set in prediction only */
};

/* NULL members: nothing to do (forward and backward are always there for ops a device has). */
struct nn_kernel {
	void (*forward)(const struct nn_call *call);
	/*
	 * forward where call->w[0] is canonical, which no pool shares: the same bytes. false, or
	 * NULL: not of such a call, whose weights must be packed.
	 */
	bool (*plain)(const struct nn_call *call);
	void (*backward)(const struct nn_call *call);
	/* Does backward obey nn_call.update, and does that pay? NULL: no. */
	bool (*updates)(const struct nn_site *site);
	/* Bytes. saved: for at most max_rows rows; work: the larger of forward and backward. */
	size_t (*saved)(const struct nn_site *site, size_t max_rows);
	size_t (*work)(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads);
	/* Bytes of a row's state (nn_call); NULL: rows carry no state between calls. */
	size_t (*state)(const struct nn_site *site);
	/*
	 * Number of per-thread copies of x[0] worth making for max_rows rows when x[0] is a graph
	 * input: 1 or `threads`; NULL: 1.
	 */
	size_t (*copies)(const struct nn_site *site, size_t max_rows, int threads);
	/* Bytes of the weights in another order for calls; refreshed once after each update. */
	size_t (*derived)(const struct nn_site *site);
	void (*derive)(const struct nn_site *site, const void *const *w, void *derived,
		       struct nn_pool *pool);
	/*
	 * Elements of the statistics that forward computes of each group, for the op's buffers;
	 * advance updates the buffers with those of n_groups groups, in order.
	 */
	size_t (*statistics)(const struct nn_site *site);
	void (*advance)(const struct nn_site *site, void *const *w, const void *statistics,
			size_t step, size_t n_groups);
	/*
	 * Elements of a packed parameter; canonical (dense C order) <-> packed, padding 0, both in
	 * device memory. NULL: not packed.
	 */
	size_t (*packed)(const struct nn_site *site, int param);
	void (*pack)(const struct nn_site *site, int param, const void *canonical, void *packed);
	void (*unpack)(const struct nn_site *site, int param, const void *packed, void *canonical);
};

/* ---- losses ---- */

/* AUTO: what suits the targets; no device computes it */
enum nn_loss_kind {
	NN_LOSS_AUTO,
	NN_LOSS_CROSS_ENTROPY,
	NN_LOSS_MSE,
	NN_LOSS_BCE,
	NN_LOSS_HUBER,
	NN_LOSS_MAE
};

/*
 * rows x positions x columns of logits (classes or target columns last). Targets: int32 classes
 * [rows][positions] (-1: masked), or real numbers / probabilities (NaN first: the position is
 * masked). row_loss[rows] = sum over positions of weight * loss (nn_sum), not scaled; dlogits (may
 * be NULL) = scale * weight * gradient. For mse, bce, huber (delta 1), mae a row's loss is the mean
 * over its columns.
 */
struct nn_loss_call {
	enum nn_loss_kind kind;
	size_t rows, positions, columns;
	const void *logits;
	const int32_t *classes;
	const void *numbers;       /* one of the two */
	const void *class_weights; /* real [columns] or NULL */
	const void *row_weights;   /* real [rows] or NULL: loss and gradient of each times that */
	const struct nn_now *now;  /* scale; NULL: 1 */
	void *row_loss;
	void *dlogits;
	struct nn_pool *pool;
	struct nn_queue *queue;
};

/*
 * Figures of rows as they pass, added to counts, in device memory, in the order of rows. For
 * classes: right answers, and rows counted; for numbers: squared errors times sd^2 (NULL: 1), and
 * values counted.
 */
enum { NN_COUNT_HITS, NN_COUNT_ALL, NN_COUNT_SQUARES, NN_COUNTS };
struct nn_count_call {
	size_t rows, positions, columns;
	const void *logits;
	const int32_t *classes;
	const void *numbers;     /* one of the two */
	const void *row_weights; /* real [rows], what each counts; NULL: 1 */
	const double *sd;        /* [columns] */
	double *counts;          /* [NN_COUNTS] */
	struct nn_queue *queue;
};

/* ---- optimizers: one kernel over a run of the flat block ---- */

enum nn_optimizer_kind {
#define NN_OPTIMIZER(ID, ...) NN_OPTIMIZER_##ID,
#include "device/optimizers.def"
	NN_N_OPTIMIZERS
};
#define NN_OPTIMIZER_USUAL NN_OPTIMIZER_ADAM /* where none is asked for */
#define NN_MAX_SLOTS 2

struct nn_update {
	enum nn_optimizer_kind kind;
	size_t n;
	void *w;
	const void *g;
	/* momentum; m, v; square average; rprop's previous gradient and step */
	void *slot[NN_MAX_SLOTS];
	const struct nn_now *now; /* step, lr, clip, correction */
	double weight_decay, momentum, beta1, beta2, eps, alpha;
	bool nesterov;
	const double *ratio; /* the trust ratio of this parameter, in device memory; NULL: none */
	/*
	 * A table: its gradient as sums, in place of g. every: rows that are not there have
	 * gradient 0; else they stay as they are.
	 */
	const struct nn_row_list *rows;
	bool every;
	struct nn_pool *pool;
	struct nn_queue *queue;
};

/*
 * Numbers of an update that follow from others, computed on the device so that the host need not
 * wait: all in device memory, [n] by parameter of the program, role[n] of type enum nn_param_role.
 */
struct nn_clip_call {
	size_t n;
	const uint8_t *role;
	const double *squares; /* of gradients; buffers have none */
	void *work;            /* real [n] */
	double most;           /* now->clip: to that length; 0: now stays as it is */
	double *norm;          /* nn_sum of the squares, its root */
	struct nn_now *now;
	struct nn_queue *queue;
};
/*
 * Trust ratios of weights and tables (ratio.h); 1 of others. g: squares of gradients, which are
 * clipped, or of the directions along which steps go.
 */
struct nn_ratio_call {
	enum nn_optimizer_kind kind;
	bool along;
	size_t n;
	const uint8_t *role;
	const double *w, *g; /* squares */
	double weight_decay;
	const struct nn_now *now;
	double *ratio;
	struct nn_queue *queue;
};

struct nn_device {
	const char *name; /* "cpu" */
	const char *kind; /* "avx512": which instruction set */
	enum nn_dtype dtype;
	const struct nn_kernel *const *kernels; /* [NN_N_OPS], NULL: the device cannot */
	/*
	 * Memory of its own and a queue of work; NULL: its memory is the host's, calls return when
	 * their work is done, and `queue` is NULL in all of them. Else all arrays of calls are
	 * device memory, but for those that say otherwise, and bounds of leaves and groups, which a
	 * call may keep no longer than it takes to be made.
	 */
	const struct nn_remote *remote;
	/* remote NULL: the memory of graphs, zeroed, aligned to 64 */
	void *(*alloc)(size_t bytes, struct nn_error *err);
	void (*free)(void *memory);
	/* remote: the CPU's table, for what is computed on the host's memory (nn_device_host) */
	const struct nn_device *host;
	void (*loss)(const struct nn_loss_call *call);
	void (*update)(const struct nn_update *update);
	/*
	 * NN_HAS_DIRECTION (lamb): slots advance and direction[n] = the step before the ratio,
	 * which update then takes as g.
	 */
	void (*direction)(const struct nn_update *update, void *direction);
	void (*sum_rows)(const struct nn_row_sum *sum);
	/* a[i] += b[i] */
	void (*add)(struct nn_queue *queue, void *a, const void *b, size_t n, struct nn_pool *pool);
	/*
	 * nn_sum (numerics.md) of n <= any values, in blocks of 4096; of their squares. Result in
	 * the dtype, exactly as double, in device memory.
	 */
	void (*sum)(struct nn_queue *queue, const void *values, size_t n, double *result);
	void (*sum_squares)(struct nn_queue *queue, const void *values, size_t n, double *result);
	/* Of the values of a list, whose number only the device knows. */
	void (*sum_list_squares)(struct nn_queue *queue, const struct nn_row_list *list,
				 double *result);
	void (*count)(const struct nn_count_call *call);
	void (*clip)(const struct nn_clip_call *call);
	void (*ratio)(const struct nn_ratio_call *call);
	/*
	 * now->hold, unless the sum of losses along the tree of n leaves (a power of two), each
	 * `step` doubles after the one before, is finite.
	 */
	void (*hold)(struct nn_queue *queue, const double *losses, size_t step, size_t n,
		     struct nn_now *now);
	/*
	 * On the host's memory, rows x columns: y = softmax of logits (prediction's --emit=probs);
	 * sigmoid. Element by element the same as the ops.
	 */
	void (*softmax)(const void *logits, void *y, size_t rows, size_t columns);
	void (*sigmoid)(const void *logits, void *y, size_t n);
	/*
	 * Leaves a batch of `rows` is cut into (numerics.md), at most `most`; group 0: no batch
	 * norm.
	 */
	size_t (*leaves)(size_t rows, size_t group, size_t most);
	/*
	 * Peaks of the machine, on the calling thread; NULL: not known for this device. fma: n
	 * rounds of multiply-adds in registers; returns the FLOP done. read: reads all of `bytes`,
	 * a multiple of 1024, aligned to 64; returns a value that depends on each of them.
	 */
	double (*fma)(size_t n);
	double (*read)(const void *memory, size_t bytes);
	/*
	 * The same ops by a library in common use, for comparison: "openblas", kernels [NN_N_OPS],
	 * NULL where it has none.
	 */
	const char *library;
	const struct nn_kernel *const *library_kernels;
};

/*
 * The device "cpu" for f32 or f64, with the best instruction set or the one NN_CPU names (avx512,
 * avx2, neon, generic; another value: NN_EUSAGE; one this machine lacks: NN_ENODEV). "cpu+openblas"
 * is the same without the promise of same bytes (--reproducible=no): layers for which OpenBLAS was
 * measured faster go to it; NN_ENODEV without its module. A const table, never freed. NN_I8: the
 * device of f32 that predicts with int8 weights (numerics.md), where it can.
 */
const struct nn_device *nn_device_open(const char *name, enum nn_dtype dtype, struct nn_error *err);

/* A device of the same dtype whose memory is the host's: the device itself, or the CPU. */
static inline const struct nn_device *nn_device_host(const struct nn_device *device)
{
	return device->remote ? device->host : device;
}

/*
 * Names of the devices that can be opened here, the CPU first; NULL after the last. Modules are
 * looked for, not only their files.
 */
const char *nn_device_there(size_t i);
/* The device's own description, for reports; NULL: the name says all. */
const char *nn_device_describe(const char *name);

/*
 * The entry of a device's module (base/module.h): its tables by dtype, NULL where it has none; may
 * fail with NN_ENODEV: no such device.
 */
struct nn_device_module {
	const struct nn_device *(*open)(int number, enum nn_dtype dtype, struct nn_error *err);
	const char *(*describe)(int number); /* "NVIDIA H200", for reports */
};

/*
 * The device "cpu" with every instruction set that this machine has, the widest first: their
 * number.
 */
#define NN_MAX_KINDS 8
size_t nn_device_kinds(enum nn_dtype dtype, const struct nn_device *kinds[NN_MAX_KINDS]);

#endif
