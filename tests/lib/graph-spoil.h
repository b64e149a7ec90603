/* A device that spoils what kernels may not rely on, and counts. */
#ifndef GRAPH_SPOIL_H
#define GRAPH_SPOIL_H

#include <math.h>

#include "device/device.h"

static const struct nn_device *under; /* the device that computes */
static size_t n_calls, n_bytes;       /* kernel calls, bytes taken */

static void spoil(void *memory, size_t n)
{
	for (size_t i = 0; memory && i < n; i++)
		((double *)memory)[i] = NAN;
}

/* What a kernel writes must not depend on what was there, and what is there must be nobody's. */
static void spoil_output(const struct nn_call *call)
{
	n_calls++;
	for (int i = 0; i < call->site.n_in; i++)
		if (call->x[i] == call->y)
			return;
	spoil(call->y, call->rows * nn_shape_count(&call->site.out));
}

static void spoil_gradients(const struct nn_call *call)
{
	n_calls++;
	for (int i = 0; i < call->site.n_in; i++)
		if (call->dx[i] && call->dx[i] != call->dy && !call->dx_add[i])
			spoil(call->dx[i], call->rows * nn_shape_count(&call->site.in[i]));
}

/* After a backward its dy is of no use, unless it became an input's gradient. */
static void spoil_used(const struct nn_call *call)
{
	for (int i = 0; i < call->site.n_in; i++)
		if (call->dx[i] == call->dy)
			return;
	spoil(call->dy, call->rows * nn_shape_count(&call->site.out));
}

#define NN_OP(id, name) \
	static void spoiled_##id(const struct nn_call *call) \
	{ \
		spoil_output(call); \
		under->kernels[NN_OP_##id]->forward(call); \
	} \
	static void spoiled_back_##id(const struct nn_call *call) \
	{ \
		spoil_gradients(call); \
		under->kernels[NN_OP_##id]->backward(call); \
		spoil_used(call); \
	}
#include "op/ops.def"
#undef NN_OP

static struct nn_kernel spoiled[NN_N_OPS];
static const struct nn_kernel *spoiled_table[NN_N_OPS];

static void *counting_alloc(size_t bytes, struct nn_error *err)
{
	n_bytes += bytes;
	return under->alloc(bytes, err);
}

static struct nn_device spoiling(const struct nn_device *device)
{
	struct nn_device result = *device;

#define NN_OP(id, name) \
	if (device->kernels[NN_OP_##id]) { \
		spoiled[NN_OP_##id] = *device->kernels[NN_OP_##id]; \
		spoiled[NN_OP_##id].forward = spoiled_##id; \
		spoiled[NN_OP_##id].backward = spoiled_back_##id; \
		spoiled_table[NN_OP_##id] = &spoiled[NN_OP_##id]; \
	}
#include "op/ops.def"
#undef NN_OP
	under = device;
	result.kernels = spoiled_table;
	result.alloc = counting_alloc;
	return result;
}

#endif
