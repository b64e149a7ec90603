/* Depthwise convolution: what product.h's functions of the same names call for it. */
#ifndef NN_DEVICE_CPU_PRODUCT_DEPTHWISE_H
#define NN_DEVICE_CPU_PRODUCT_DEPTHWISE_H

#include "device/cpu/product/product.h"

void NN_K(depthwise_forward)(const struct nn_conv *c, const real *x, const real *w,
			     const struct nn_tail *tail, real *y, long oh0, long oh1);
void NN_K(depthwise_input_gradient)(const struct nn_conv *c, const real *dy, const real *rotated,
				    real *dx, bool add, long h0, long h1);
void NN_K(depthwise_weight_gradient)(const struct nn_conv *c, const real *x, const real *dy,
				     real *dw, bool first, long oh0, long oh1, long kh0, long kh1,
				     size_t p0, size_t p1);
size_t NN_K(depthwise_packed)(const struct nn_conv *c);
size_t NN_K(depthwise_rotated)(const struct nn_conv *c);
void NN_K(depthwise_pack)(const struct nn_conv *c, const real *canonical, real *packed);
void NN_K(depthwise_unpack)(const struct nn_conv *c, const real *packed, real *canonical);
void NN_K(depthwise_rotate)(const struct nn_conv *c, const real *packed, real *rotated);

#endif
