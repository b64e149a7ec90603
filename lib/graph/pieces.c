/* Pieces of a weight: how many out-channels each has, their values, their place in what is packed.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/pieces.h"

#define LARGE ((size_t)256 << 10) /* bytes */

struct run {
	const struct nn_pieces *pieces;
	size_t row;  /* elements of a channel */
	char *rooms; /* [threads] of a piece each; NULL: values are fetched where they lie */
	struct nn_error *errors; /* [threads] */
};

static const struct nn_bound_node *node_of(const struct nn_bound *b,
					   const struct nn_bound_param *param)
{
	return &b->nodes[param->node];
}

static size_t row_of(const struct nn_bound_param *param)
{
	return nn_shape_count(&param->desc.shape) / param->desc.shape.dim[0];
}

size_t nn_piece_channels(const struct nn_bound *b, const struct nn_bound_param *param, size_t unit,
			 size_t bytes)
{
	size_t least = unit * row_of(param) * nn_dtype_size(b->device->dtype);

	return least < bytes ? bytes / least * unit : unit;
}

size_t nn_piece_packed(const struct nn_bound *b, const struct nn_bound_param *param, size_t n)
{
	const struct nn_bound_node *node = node_of(b, param);
	struct nn_site site = nn_bound_site(b, node);
	union nn_op_attrs part;

	memcpy(&part, node->attrs, nn_ops[node->op]->attrs_size);
	nn_ops[node->op]->narrow(&part, n, 1);
	site.attrs = &part;
	return n ? b->device->kernels[node->op]->packed(&site, param->index) : 0;
}

bool nn_in_pieces(const struct nn_bound *b, const struct nn_bound_param *param)
{
	const struct nn_bound_node *node = node_of(b, param);
	const struct nn_op *op = nn_ops[node->op];
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_bound_site(b, node);

	return !b->queue && !b->device->library && param->index == 0 &&
	       nn_op_is_product(node->op) && op->bias && !node->sharded &&
	       op->product(node->attrs, &site.in[0]).groups == 1 && kernel->packed &&
	       kernel->packed(&site, 0) &&
	       nn_shape_count(&param->desc.shape) * nn_dtype_size(b->device->dtype) > LARGE;
}

static void run_piece(void *arg, size_t i, int thread)
{
	const struct run *r = arg;
	const struct nn_bound *b = r->pieces->bound;
	const struct nn_bound_param *param = r->pieces->param;
	const struct nn_bound_node *node = node_of(b, param);
	const struct nn_graph_values *values = r->pieces->values;
	struct nn_weight_piece piece = { .bound = b,
					 .param = param,
					 .site = nn_bound_site(b, node),
					 .first = i * r->pieces->channels,
					 .thread = thread };
	size_t most = r->pieces->channels, left = param->desc.shape.dim[0] - piece.first;
	char *room = r->rooms;
	union nn_op_attrs attrs;

	piece.n = left < most ? left : most;
	if (room)
		room += (size_t)thread * most * r->row * nn_dtype_size(b->device->dtype);
	piece.canonical = values->get(values->arg, param->source, piece.first * r->row,
				      piece.n * r->row, room, &r->errors[thread]);
	if (!piece.canonical)
		return;
	memcpy(&attrs, node->attrs, nn_ops[node->op]->attrs_size);
	nn_ops[node->op]->narrow(&attrs, piece.n, 1);
	piece.site.attrs = &attrs;
	piece.packed = nn_piece_packed(b, param, piece.n);
	r->pieces->use(r->pieces->arg, &piece);
}

int nn_pieces_run(const struct nn_pieces *pieces, struct nn_pool *pool, struct nn_error *err)
{
	const struct nn_graph_values *values = pieces->values;
	const struct nn_bound_param *param = pieces->param;
	size_t threads = (size_t)nn_pool_threads(pool), each = pieces->channels,
	       n = (param->desc.shape.dim[0] + each - 1) / each;
	bool there = values->get(values->arg, param->source, 0, 1, NULL, NULL);
	struct run r = { .pieces = pieces, .row = row_of(param) };
	int status = 0;

	r.errors = nn_alloc(threads, sizeof *r.errors, err);
	r.rooms = there ? NULL
			: nn_alloc(threads * each * r.row,
				   nn_dtype_size(pieces->bound->device->dtype), err);
	if (!r.errors || !(there || r.rooms))
		status = -1;
	else
		nn_pool_run(pool, n, run_piece, &r);
	for (size_t t = 0; r.errors && t < threads && status == 0; t++)
		if (r.errors[t].text[0])
			status = nn_fail(err, r.errors[t].code, "%s", r.errors[t].text);
	nn_free(r.errors);
	nn_free(r.rooms);
	return status;
}

void nn_piece_pack(const struct nn_weight_piece *piece, void *to)
{
	const struct nn_device *device = piece->bound->device;

	device->kernels[node_of(piece->bound, piece->param)->op]->pack(
		&piece->site, piece->param->index, piece->canonical, to);
}
