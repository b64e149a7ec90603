/*
 * One op at one site on one device with all its memory: to be called again and again, and to be
 * checked.
 */
#ifndef NN_BENCH_OP_TRIAL_H
#define NN_BENCH_OP_TRIAL_H

#include "base/real.h"
#include "bench/op/site.h"
#include "device/device.h"
#include "device/queue.h"

struct nn_cut;

/* inputs that calls use in turn, so that none finds what the last one left */
#define NN_OP_TRIAL_SETS 2

/* Values of a site in double, canonical; what the device's type cannot hold is rounded. */
struct nn_op_values {
	const double *const *x, *const *w, *dy;
	const double *const *dx; /* what gradients are added to */
};

struct nn_op_how {
	const struct nn_device *device;
	const struct nn_kernel *kernel; /* NULL: the device's */
	struct nn_pool *pool;
	bool training, want_dx;
	const struct nn_op_values *values; /* NULL: made up, in NN_OP_TRIAL_SETS sets */
};

struct nn_op_trial {
	const struct nn_device *device;
	const struct nn_kernel *kernel;
	enum nn_op_id op;
	struct nn_site site;
	size_t rows, out_size; /* out_size: values of a row */
	unsigned sets;
	struct nn_op_param params[NN_MAX_PARAMS];
	int n_params;
	size_t packed[NN_MAX_PARAMS];  /* elements */
	double *values[NN_MAX_PARAMS]; /* canonical */
	struct nn_cut *cut;
	struct nn_queue *queue; /* of a device with memory of its own; NULL: the memory is the host's */
	size_t repeat; /* a call of forward or backward is so many of the kernel, and then waits */
	/*
	 * Arrays of the device's type, in its memory. dy: what backward may overwrite, and what it
	 * is made anew from.
	 */
	void **x[NN_OP_TRIAL_SETS], *y, *dy[NN_OP_TRIAL_SETS], *given[NN_OP_TRIAL_SETS], **dx,
		*w[NN_MAX_PARAMS], *dw[NN_MAX_PARAMS];
	bool *dx_add;
	struct nn_op_lists {
		struct nn_row_list *entries, *sums;
		void *work;
	} lists; /* of a table's gradient; NULL: there is none */
	struct nn_op_room {
		size_t saved, work;
	} bytes; /* that the call has of them */
	struct nn_call call;
	unsigned long calls;
	bool wears; /* backward leaves less and less in dy */
};

/*
 * Take the memory of a site and fill it. The site's shapes and attributes must stay. NN_ENODEV
 * where the device lacks the op, NN_ENOMEM where it cannot fit, said before any of it is taken.
 */
int nn_op_trial_new(struct nn_op_trial **trial, const struct nn_op_site *site,
		    const struct nn_op_how *how, struct nn_error *err);
void nn_op_trial_free(struct nn_op_trial *trial);

/*
 * Calls of nn_measure_call; arg is the trial. Backward uses what the last forward kept. On a device
 * with memory of its own a call is `repeat` of the kernel, and the device done; what failed
 * nn_op_trial_failed tells.
 */
int nn_op_trial_failed(struct nn_op_trial *trial, struct nn_error *err);
void nn_op_trial_forward(void *trial);
void nn_op_trial_backward(void *trial);

/*
 * FLOP of a forward pass over all rows, taps of a convolution that lie outside the image not
 * counted; of a backward one (0: not told).
 */
double nn_op_trial_flop(const struct nn_op_trial *trial, bool backward);
/* Bytes that a pass has to read and to write at least, each array once. */
double nn_op_trial_bytes(const struct nn_op_trial *trial, bool backward);
/* Bytes of all arrays that calls of a pass go through. */
size_t nn_op_trial_span(const struct nn_op_trial *trial, bool backward);

/*
 * Compare with plain loops in double: some rows of what forward gives, and gradients of elements
 * with central differences of the loops. The largest difference relative to the largest value of
 * its array, and the difference that rounding explains. -1: memory.
 */
int nn_op_trial_check(struct nn_op_trial *trial, bool backward, double *difference, double *allowed,
		      struct nn_error *err);

/*
 * A parameter or its gradient, packed as the kernel has it, in canonical order, which is host
 * memory. Fails where memory is short.
 */
int nn_op_trial_unpack(const struct nn_op_trial *trial, int p, const void *packed, void *plain,
		       struct nn_error *err);
/* An array of n values on the host, as it is now: itself, or a copy to be freed by ..._drop. */
const void *nn_op_trial_fetch(const struct nn_op_trial *trial, const void *array, size_t n,
			      struct nn_error *err);
void nn_op_trial_drop(const struct nn_op_trial *trial, const void *fetched);
/* n numbers into such an array; NULL: zeros. */
int nn_op_trial_store(const struct nn_op_trial *trial, void *array, size_t n, const double *values,
		      struct nn_error *err);

/*
 * lists.c: random numbers in [-1, 1) become numbers of rows; lists of a table's gradient, for
 * parameter p and one by one; a call's sums; those as an array of zeros else.
 */
void nn_op_rows_fill(const struct nn_op_trial *trial, void *x, size_t n, size_t rows);
struct nn_row_list *nn_op_list_new(const struct nn_op_trial *trial, int p, struct nn_error *err);
void nn_op_list_free(const struct nn_op_trial *trial, struct nn_row_list *list);
int nn_op_lists_new(struct nn_op_trial *trial, int p, struct nn_error *err);
void nn_op_lists_free(struct nn_op_trial *trial);
void nn_op_lists_sum(struct nn_op_trial *trial);
int nn_op_lists_gradient(const struct nn_op_trial *trial, void *plain, struct nn_error *err);

/* inside: elements of the device's type */
static inline double nn_op_trial_real(const struct nn_op_trial *t, const void *array, size_t i)
{
	return nn_real_at(t->device->dtype, array, i);
}

static inline void nn_op_trial_put(const struct nn_op_trial *t, void *array, size_t i, double value)
{
	nn_real_put(t->device->dtype, array, i, value);
}

static inline size_t nn_op_trial_in(const struct nn_op_trial *t, int j)
{
	return t->rows * nn_shape_count(&t->site.in[j]);
}

#endif
