/* Sizes of packed panels. */
#ifndef NN_DEVICE_CPU_PRODUCT_PACK_H
#define NN_DEVICE_CPU_PRODUCT_PACK_H

#include "device/cpu/product/product.h"

static inline size_t nn_panels(size_t channels)
{
	return (channels + NN_PANEL - 1) / NN_PANEL;
}

/* Channels with the padding of the last panel. */
static inline size_t nn_packed_channels(size_t channels)
{
	return (channels + NN_LANES - 1) / NN_LANES * NN_LANES;
}

/* Width of the panel that begins at channel `panel`. */
static inline size_t nn_panel_width(size_t channels, size_t panel)
{
	return channels - panel > NN_LANES ? NN_PANEL : NN_LANES;
}

/* Steps of a convolution's chain. */
static inline size_t nn_chain(const struct nn_conv *c)
{
	return (size_t)(c->h.n * c->w.n) * c->cin;
}

#endif
