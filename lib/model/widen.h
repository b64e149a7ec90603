/*
 * The same network with layers of other widths, as text: what it costs to be wider, or to have
 * rounder numbers.
 */
#ifndef NN_MODEL_WIDEN_H
#define NN_MODEL_WIDEN_H

#include "base/text.h"
#include "model/model.h"

/*
 * Widths are the output widths of hidden dense layers and convolutions; in a net without hidden
 * ones, those of its outputs. The largest of them; 0: there are none.
 */
size_t nn_widest(const struct nn_net *net);

/*
 * The canonical text with width(arg, OUT) in place of each such OUT. The net has to be resolved;
 * text is added to.
 */
int nn_widened(const struct nn_net *net, size_t (*width)(void *arg, size_t out), void *arg,
	       struct nn_text *text, struct nn_error *err);

#endif
