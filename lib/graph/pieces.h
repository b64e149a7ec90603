/*
 * A large weight in pieces of its out-channels, which stay in a cache while they are fetched and
 * used, and which threads share.
 */
#ifndef NN_GRAPH_PIECES_H
#define NN_GRAPH_PIECES_H

#include "graph/bound.h"

struct nn_weight_piece {
	const struct nn_bound *bound;
	const struct nn_bound_param *param;
	struct nn_site site; /* of the node, with the out-channels of the piece alone */
	size_t first, n;     /* out-channels */
	size_t packed;       /* elements, as it is packed */
	const void *canonical;
	int thread;
};

struct nn_pieces {
	const struct nn_bound *bound;
	const struct nn_bound_param *param;
	size_t channels; /* of a piece; the last one may have less */
	const struct nn_graph_values *values;
	void (*use)(void *arg, const struct nn_weight_piece *piece);
	void *arg;
};

/*
 * Is it a weight of the host that is packed out-channel by out-channel, and large? A device that
 * has the products of a library packs a layer by how all of it is multiplied.
 */
bool nn_in_pieces(const struct nn_bound *bound, const struct nn_bound_param *param);
/* Multiples of `unit` out-channels that have about so many bytes. */
size_t nn_piece_channels(const struct nn_bound *bound, const struct nn_bound_param *param,
			 size_t unit, size_t bytes);
int nn_pieces_run(const struct nn_pieces *pieces, struct nn_pool *pool, struct nn_error *err);
/* Elements of the first n out-channels as they are packed; of n alone, too. */
size_t nn_piece_packed(const struct nn_bound *bound, const struct nn_bound_param *param, size_t n);
void nn_piece_pack(const struct nn_weight_piece *piece, void *to);

#endif
