/* The kernels of one instruction set and type, by op and by name. */
#ifndef NN_DEVICE_CPU_KERNELS_H
#define NN_DEVICE_CPU_KERNELS_H

#include "device/cpu/vec/kernel.h"
#include "device/device.h"

#define NN_OP(id, name) extern const struct nn_kernel NN_K(id);
#include "op/ops.def"
#undef NN_OP
extern const struct nn_kernel NN_K(dense_blas), NN_K(dense_by_blas);

/* The backward pass of recurrent, and the bytes of work that it needs. */
void NN_K(recurrent_back)(const struct nn_call *call);
size_t NN_K(recurrent_back_work)(const struct nn_site *site, size_t max_rows, size_t max_leaves,
				 int threads);

void NN_K(loss)(const struct nn_loss_call *call);
void NN_K(update)(const struct nn_update *update);
void NN_K(direction)(const struct nn_update *update, void *direction);
void NN_K(count)(const struct nn_count_call *call);
void NN_K(clip)(const struct nn_clip_call *call);
void NN_K(ratio)(const struct nn_ratio_call *call);
void NN_K(hold)(struct nn_queue *queue, const double *losses, size_t step, size_t n,
		struct nn_now *now);
void NN_K(sum_rows)(const struct nn_row_sum *sum);
void NN_K(add_arrays)(struct nn_queue *queue, void *a, const void *b, size_t n,
		      struct nn_pool *pool);
void NN_K(sum)(struct nn_queue *queue, const void *values, size_t n, double *result);
void NN_K(sum_squares)(struct nn_queue *queue, const void *values, size_t n, double *result);
void NN_K(sum_list_squares)(struct nn_queue *queue, const struct nn_row_list *list, double *result);
void NN_K(softmax_rows)(const void *logits, void *y, size_t rows, size_t columns);
void NN_K(sigmoid)(const void *logits, void *y, size_t n);
double NN_K(fma_peak)(size_t n);
double NN_K(read_peak)(const void *memory, size_t bytes);

/* What nn_device_open hands out. */
extern const struct nn_device NN_K(device), NN_K(device_blas);

#endif
