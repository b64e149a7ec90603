/* A network of a text, as the tests of the model language make it. */
#ifndef TESTS_LIB_MODEL_NET_H
#define TESTS_LIB_MODEL_NET_H

#include "model/model.h"
#include "tap.h"

static inline void check(bool good, const char *claim, const char *found)
{
	if (!ok(good, "%s", claim) && found)
		note("found: %s", found);
}

/* Samples where the text says no shape; 10 for each `?`. */
static inline int resolve(struct nn_net *net, const struct nn_shape *samples, struct nn_error *err)
{
	struct nn_shape shapes[8];
	size_t sizes[8];

	for (size_t i = 0; i < 8; i++) {
		shapes[i] = !samples || (i < nn_net_n_inputs(net) && nn_net_input(net, i)->shaped)
				    ? nn_net_input(net, i < nn_net_n_inputs(net) ? i : 0)->shape
				    : *samples;
		sizes[i] = 10;
	}
	return nn_net_resolve(net, shapes, sizes, err);
}

static inline struct nn_net *net_of(const char *text, size_t n, bool is_inline,
				    const struct nn_shape *samples, struct nn_error *err)
{
	struct nn_net *net;

	if (nn_net_parse(&net, is_inline ? "-m" : "net.nn", text, n, is_inline, err))
		return NULL;
	if (resolve(net, samples, err) == 0)
		return net;
	nn_net_free(net);
	return NULL;
}

#endif
