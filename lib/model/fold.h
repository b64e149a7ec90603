/* A net without the batchnorm lines that can go into the line before them. */
#ifndef NN_MODEL_FOLD_H
#define NN_MODEL_FOLD_H

#include "model/model.h"

/*
 * A new net that predicts the same up to rounding, and its parameters, of dtype (f32 or f64), made
 * of those of net: the caller's, nn_net_free and nn_free. NN_EFAIL: there is nothing to fold.
 */
int nn_net_fold(struct nn_net **folded, void ***params, const struct nn_net *net,
		enum nn_dtype dtype, void *const *from, struct nn_error *err);

#endif
