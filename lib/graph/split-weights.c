/*
 * The weights by which ranks make their channels of an input's gradient (split.c): after an update
 * every rank sends what it has of others' channels, piece by piece.
 */
#include <string.h>

#include "graph/bound.h"

/*
 * Input channels of each rank that travel at once: whole panels of packed weights, so that a piece
 * is packed alone. All of the weight would be four times the memory that a rank has of it.
 */
#define PIECE_CHANNELS ((size_t)64)
#define PIECE_BYTES ((size_t)1 << 20)

static size_t piece_of(const struct nn_bound *b, const struct nn_split *s)
{
	size_t ranks = (size_t)b->columns->ranks, most = (s->in + ranks - 1) / ranks;
	size_t n = PIECE_BYTES / (s->out * s->taps * nn_dtype_size(b->device->dtype)) /
		   PIECE_CHANNELS * PIECE_CHANNELS;

	n = n > PIECE_CHANNELS ? n : PIECE_CHANNELS;
	return n < most ? n : most;
}

/* Where a piece is on its way: lists of pointers and sizes, [ranks] each; what goes, what comes,
 * canonical, and what that becomes. */
struct parcels {
	void **send, **receive;
	size_t *send_bytes, *receive_bytes;
	unsigned char *out, *in, *made;
};

static struct parcels parcels_at(const struct nn_bound *b, const struct nn_split *s,
				 unsigned char *at)
{
	size_t ranks = (size_t)b->columns->ranks,
	       line = piece_of(b, s) * s->taps * nn_dtype_size(b->device->dtype);
	struct parcels p = { .send = (void **)at };

	p.receive = p.send + ranks;
	p.send_bytes = (size_t *)(p.receive + ranks);
	p.receive_bytes = p.send_bytes + ranks;
	p.out = (unsigned char *)(p.receive_bytes + ranks);
	p.in = p.out + (s->out + ranks) * line;
	p.made = p.in + s->out * line;
	return p;
}

/* A convolution's site for n of this rank's input channels; in: room for their shape. */
static struct nn_site channels_site(const struct nn_bound_node *node, size_t n, struct nn_shape *in)
{
	struct nn_site site = nn_split_back_site(node);

	*in = node->split->back_part;
	in->dim[0] = n;
	site.in = in;
	return site;
}

/* Elements of n input channels: turned, or packed as what a kernel derives from. */
static size_t made_of(const struct nn_bound *b, const struct nn_bound_node *node, size_t n)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_shape in;
	struct nn_site site;

	if (node->op == NN_OP_dense)
		return node->split->out * n;
	site = channels_site(node, n, &in);
	return kernel->packed(&site, 0);
}

size_t nn_split_parcels(const struct nn_bound *b, const struct nn_bound_node *node)
{
	size_t ranks = (size_t)b->columns->ranks, piece;

	if (!node->want_dx || node->split->grouped)
		return 0;
	piece = piece_of(b, node->split);
	return 2 * ranks * (sizeof(void *) + sizeof(size_t)) +
	       ((2 * node->split->out + ranks) * piece * node->split->taps +
		made_of(b, node, piece)) *
		       nn_dtype_size(b->device->dtype);
}

size_t nn_split_weights(const struct nn_bound *b, const struct nn_bound_node *node)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_split_back_site(node);
	size_t elements;

	if (node->split->grouped)
		return 0;
	if (node->op == NN_OP_conv2d)
		return kernel->derived(&site);
	elements = kernel->packed ? kernel->packed(&site, 0) : 0;
	return (elements ? elements : node->split->in_width * node->split->out) *
	       nn_dtype_size(b->device->dtype);
}

/* Where the input channel that lies `at`-th in memory stands in the canonical weight. */
static size_t canonical_in(const struct nn_dense *dense, size_t at)
{
	return at % dense->channels * dense->positions + at / dense->channels;
}

/* own [width][in][taps], canonical: input channels first .. last - 1, as they lie in memory, of
 * this rank's out-channels. */
static size_t fill_parcel(const struct nn_bound *b, const struct nn_bound_node *node,
			  const unsigned char *own, size_t first, size_t last, unsigned char *to)
{
	const struct nn_split *s = node->split;
	const struct nn_dense *dense = node->op == NN_OP_dense ? node->attrs : NULL;
	size_t bytes = s->taps * nn_dtype_size(b->device->dtype), n = last - first;

	for (size_t o = 0; o < s->width; o++, to += n * bytes, own += s->in * bytes) {
		if (!dense || dense->channels == 0)
			memcpy(to, own + first * bytes, n * bytes);
		else
			for (size_t i = 0; i < n; i++)
				memcpy(to + i * bytes, own + canonical_in(dense, first + i) * bytes,
				       bytes);
	}
	return s->width * n * bytes;
}

#define TILE 16 /* input channels whose lines stay in the cache */

#define DEFINE_TURN(NAME, TYPE) \
	static void NAME(const TYPE *from, size_t outs, size_t ins, TYPE *to) \
	{ \
		for (size_t tile = 0; tile < ins; tile += TILE) \
			for (size_t o = 0; o < outs; o++) \
				for (size_t i = tile; i < ins && i < tile + TILE; i++) \
					to[i * outs + o] = from[o * ins + i]; \
	}

/* from [outs][ins] to [ins][outs] */
DEFINE_TURN(turn_32, uint32_t)
DEFINE_TURN(turn_64, uint64_t)

/* A dense layer's inputs at .. at + n - 1, [out][n], to where they are packed. */
static void pack_turned(struct nn_graph *graph, const struct nn_bound_node *node, size_t at,
			size_t n, const struct parcels *p)
{
	const struct nn_split *s = node->split;
	const struct nn_kernel *kernel = graph->bound.device->kernels[node->op];
	struct nn_site site = nn_split_back_site(node);
	union nn_product part = s->back;
	size_t before = at * s->out, size = nn_dtype_size(graph->bound.device->dtype);
	bool packs;

	if (size == sizeof(uint32_t))
		turn_32((const uint32_t *)p->in, s->out, n, (uint32_t *)p->made);
	else
		turn_64((const uint64_t *)p->in, s->out, n, (uint64_t *)p->made);
	site.attrs = &part;
	part.dense.out = at;
	packs = kernel->packed && kernel->packed(&site, 0);
	if (at > 0 && packs)
		before = kernel->packed(&site, 0);
	part.dense.out = n;
	packs = kernel->packed && kernel->packed(&site, 0);
	if (packs)
		kernel->pack(&site, 0, p->made,
			     (unsigned char *)nn_graph_at(graph, s->weights) + before * size);
	else
		memcpy((unsigned char *)nn_graph_at(graph, s->weights) + before * size, p->made,
		       n * s->out * size);
}

/* A convolution's input channels at .. at + n - 1, [out][n][taps], to what is derived from them. */
static void derive(struct nn_graph *graph, const struct nn_bound_node *node, size_t at, size_t n,
		   const struct parcels *p)
{
	const struct nn_kernel *kernel = graph->bound.device->kernels[node->op];
	unsigned char *to = nn_graph_at(graph, node->split->weights);
	struct nn_shape in;
	struct nn_site site = channels_site(node, at, &in);

	if (at > 0)
		to += kernel->derived(&site);
	site = channels_site(node, n, &in);
	kernel->pack(&site, 0, p->in, p->made);
	kernel->derive(&site, (const void *const[]){ p->made }, to, graph->pool);
}

/* The j-th piece of every rank's input channels. */
static void send_piece(struct nn_graph *graph, const struct nn_bound_node *node, size_t j,
		       const struct parcels *p, const unsigned char *own)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_columns *c = b->columns;
	const struct nn_split *s = node->split;
	size_t piece = piece_of(b, s), size = nn_dtype_size(b->device->dtype), mine = 0, at = 0,
	       to = 0;

	for (int r = 0; r < c->ranks; r++) {
		size_t first = nn_split_first(s->in, r, c->ranks) + j * piece,
		       last = nn_split_first(s->in, r + 1, c->ranks);

		first = first < last ? first : last;
		last = last - first < piece ? last : first + piece;
		mine = r == c->rank ? last - first : mine;
		p->send[r] = p->out + at;
		at += p->send_bytes[r] = fill_parcel(b, node, own, first, last, p->send[r]);
	}
	for (int r = 0; r < c->ranks; r++) {
		p->receive[r] = p->in + to;
		p->receive_bytes[r] = (nn_split_first(s->out, r + 1, c->ranks) -
				       nn_split_first(s->out, r, c->ranks)) *
				      mine * s->taps * size;
		to += p->receive_bytes[r];
	}
	memcpy(p->receive[c->rank], p->send[c->rank], p->receive_bytes[c->rank]);
	c->exchange(c->arg, p->send, p->send_bytes, p->receive, p->receive_bytes);
	if (mine > 0)
		(node->op == NN_OP_dense ? pack_turned : derive)(graph, node, j * piece, mine, p);
}

/* Between steps gradients are free: the rank's weight lies there in canonical order. */
void nn_split_refresh(struct nn_graph *graph, const struct nn_bound_node *node)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_split *s = node->split;
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	const struct nn_bound_param *weight = &b->params[node->param];
	struct nn_site site = nn_bound_site(b, node);
	size_t size = nn_dtype_size(b->device->dtype), ranks = (size_t)b->columns->ranks,
	       piece = piece_of(b, s);
	struct parcels p = parcels_at(b, s, nn_graph_at(graph, graph->plan.parcels));
	const unsigned char *packed = (unsigned char *)graph->weights + weight->offset * size;
	unsigned char *own = (unsigned char *)graph->gradients + weight->offset * size;

	if (kernel->packed && kernel->packed(&site, 0))
		kernel->unpack(&site, 0, packed, own);
	else
		memcpy(own, packed, s->width * s->in * s->taps * size);
	for (size_t j = 0; j * piece < (s->in + ranks - 1) / ranks; j++)
		send_piece(graph, node, j, &p, own);
}
