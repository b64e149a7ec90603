/*
 * The weights by which ranks make their channels of an input's gradient (sharded.c): after an
 * update every rank sends what it has of others' channels, piece by piece.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"
#include "graph/sharded/node.h"
#include "graph/sharded/steps.h"

/*
 * Input channels of each rank that travel at once: whole panels of packed weights, so that a piece
 * is packed alone. All of the weight would be four times the memory that a rank has of it.
 */
#define PIECE_CHANNELS ((size_t)64)
#define PIECE_BYTES ((size_t)1 << 20)

static size_t piece_of(const struct nn_bound *b, const struct nn_sharded_node *s)
{
	size_t ranks = (size_t)b->columns->ranks, most = (s->in + ranks - 1) / ranks;
	size_t n = PIECE_BYTES / (s->out * s->taps * nn_dtype_size(b->device->dtype)) /
		   PIECE_CHANNELS * PIECE_CHANNELS;

	n = n > PIECE_CHANNELS ? n : PIECE_CHANNELS;
	return n < most ? n : most;
}

/*
 * Where a piece is on its way: lists of pointers and sizes, [ranks] each; what goes, what comes,
 * canonical, and what that becomes.
 */
struct parcels {
	void **send, **receive;
	size_t *send_bytes, *receive_bytes;
	unsigned char *out, *in, *made;
};

static struct parcels parcels_at(const struct nn_bound *b, const struct nn_sharded_node *s,
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
static struct nn_site channels_site(const struct nn_bound *b, const struct nn_bound_node *node,
				    size_t n, struct nn_shape *in)
{
	struct nn_site site = nn_sharded_back_site(b, node);

	*in = node->sharded->back_part;
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

	if (node->sharded->turned)
		return node->sharded->out * n;
	site = channels_site(b, node, n, &in);
	return kernel->packed(&site, 0);
}

static size_t parcels_bytes(const struct nn_bound *b, const struct nn_bound_node *node)
{
	size_t ranks = (size_t)b->columns->ranks, piece = piece_of(b, node->sharded);

	return 2 * ranks * (sizeof(void *) + sizeof(size_t)) +
	       ((2 * node->sharded->out + ranks) * piece * node->sharded->taps +
		made_of(b, node, piece)) *
		       nn_dtype_size(b->device->dtype);
}

static size_t weights_bytes(const struct nn_bound *b, const struct nn_bound_node *node)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_sharded_back_site(b, node);
	size_t elements;

	if (!node->sharded->turned)
		return kernel->derived(&site);
	elements = kernel->packed ? kernel->packed(&site, 0) : 0;
	return (elements ? elements : node->sharded->in_width * node->sharded->out) *
	       nn_dtype_size(b->device->dtype);
}

/* Where the input channel that lies `at`-th in memory stands in the canonical weight. */
static size_t canonical_in(const struct nn_op_product *p, size_t at)
{
	return at % p->channels * p->positions + at / p->channels;
}

/*
 * own [width][in][taps], canonical: input channels first .. last - 1, as they lie in memory, of
 * this rank's out-channels.
 */
static size_t fill_parcel(const struct nn_bound *b, const struct nn_bound_node *node,
			  const unsigned char *own, size_t first, size_t last, unsigned char *to)
{
	const struct nn_sharded_node *s = node->sharded;
	struct nn_op_product p = nn_ops[node->op]->product(node->attrs, &node->shapes[0]);
	size_t bytes = s->taps * nn_dtype_size(b->device->dtype), n = last - first;

	for (size_t o = 0; o < s->width; o++, to += n * bytes, own += s->in * bytes) {
		if (p.channels == 0)
			memcpy(to, own + first * bytes, n * bytes);
		else
			for (size_t i = 0; i < n; i++)
				memcpy(to + i * bytes, own + canonical_in(&p, first + i) * bytes,
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

/* Where kernels find what was made on the host: `there` has its place, of the device. */
static const void *sent(const struct nn_graph *graph, unsigned char *there, const void *from,
			size_t bytes)
{
	if (!graph->bound.queue)
		return from;
	nn_queue_write(graph->bound.queue, there, from, bytes);
	return there;
}

/* A turned product's inputs at .. at + n - 1, [out][n], to where they are packed. */
static void pack_turned(struct nn_graph *graph, const struct nn_bound_node *node, size_t at,
			size_t n, const struct parcels *p, const struct parcels *there)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_sharded_node *s = node->sharded;
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	const void *made;
	struct nn_site site = nn_sharded_back_site(b, node);
	union nn_op_attrs part = s->back;
	size_t before = at * s->out, size = nn_dtype_size(graph->bound.device->dtype);
	bool packs;

	if (size == sizeof(uint32_t))
		turn_32((const uint32_t *)p->in, s->out, n, (uint32_t *)p->made);
	else
		turn_64((const uint64_t *)p->in, s->out, n, (uint64_t *)p->made);
	site.attrs = &part;
	nn_ops[node->op]->narrow(&part, at, 1);
	packs = kernel->packed && kernel->packed(&site, 0);
	if (at > 0 && packs)
		before = kernel->packed(&site, 0);
	nn_ops[node->op]->narrow(&part, n, 1);
	packs = kernel->packed && kernel->packed(&site, 0);
	made = sent(graph, there->made, p->made, n * s->out * size);
	if (packs)
		kernel->pack(&site, 0, made,
			     (unsigned char *)nn_graph_at(graph, s->weights) + before * size);
	else
		nn_queue_copy(b->queue,
			      (unsigned char *)nn_graph_at(graph, s->weights) + before * size, made,
			      n * s->out * size);
}

/* Input channels at .. at + n - 1, [out][n][taps], to what is derived from them. */
static void derive(struct nn_graph *graph, const struct nn_bound_node *node, size_t at, size_t n,
		   const struct parcels *p, const struct parcels *there)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_sharded_node *s = node->sharded;
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	const void *in_there = sent(graph, there->in, p->in,
				    n * s->out * s->taps * nn_dtype_size(b->device->dtype));
	unsigned char *to = nn_graph_at(graph, node->sharded->weights);
	struct nn_shape in;
	struct nn_site site = channels_site(b, node, at, &in);

	if (at > 0)
		to += kernel->derived(&site);
	site = channels_site(b, node, n, &in);
	kernel->pack(&site, 0, in_there, there->made);
	kernel->derive(&site, (const void *const[]){ there->made }, to, graph->pool);
}

/* The j-th piece of every rank's input channels. */
static void send_piece(struct nn_graph *graph, const struct nn_bound_node *node, size_t j,
		       const struct parcels *p, const struct parcels *there,
		       const unsigned char *own)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_column_shard *c = b->columns;
	const struct nn_sharded_node *s = node->sharded;
	size_t piece = piece_of(b, s), size = nn_dtype_size(b->device->dtype), mine = 0, at = 0,
	       to = 0;

	for (int r = 0; r < c->ranks; r++) {
		size_t first = nn_sharded_first(s->in, r, c->ranks) + j * piece,
		       last = nn_sharded_first(s->in, r + 1, c->ranks);

		first = first < last ? first : last;
		last = last - first < piece ? last : first + piece;
		mine = r == c->rank ? last - first : mine;
		p->send[r] = p->out + at;
		at += p->send_bytes[r] = fill_parcel(b, node, own, first, last, p->send[r]);
	}
	for (int r = 0; r < c->ranks; r++) {
		p->receive[r] = p->in + to;
		p->receive_bytes[r] = (nn_sharded_first(s->out, r + 1, c->ranks) -
				       nn_sharded_first(s->out, r, c->ranks)) *
				      mine * s->taps * size;
		to += p->receive_bytes[r];
	}
	memcpy(p->receive[c->rank], p->send[c->rank], p->receive_bytes[c->rank]);
	c->exchange(c->arg, p->send, p->send_bytes, p->receive, p->receive_bytes);
	if (mine > 0)
		(s->turned ? pack_turned : derive)(graph, node, j * piece, mine, p, there);
}

struct refresh_call {
	struct nn_call call;
	struct nn_graph *graph;
	const struct nn_bound_node *node;
	unsigned char *host; /* parcels and the rank's weight; NULL: those of the graph's memory */
};

/* Between steps gradients are free: the rank's weight lies there in canonical order. */
static void run_refresh(const struct nn_call *call)
{
	const struct refresh_call *c = (const struct refresh_call *)call;
	struct nn_graph *graph = c->graph;
	const struct nn_bound_node *node = c->node;
	const struct nn_bound *b = &graph->bound;
	const struct nn_sharded_node *s = node->sharded;
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	const struct nn_bound_param *weight = &b->params[node->param];
	struct nn_site site = nn_bound_site(b, node);
	size_t size = nn_dtype_size(b->device->dtype), ranks = (size_t)b->columns->ranks,
	       piece = piece_of(b, s), bytes = s->width * s->in * s->taps * size;
	struct parcels there = parcels_at(
			       b, s, nn_graph_at(graph, graph->plan.scratch[NN_SCRATCH_PARCELS])),
		       p = c->host ? parcels_at(b, s, c->host) : there;
	const unsigned char *packed = (unsigned char *)graph->weights + weight->offset * size;
	unsigned char *own = (unsigned char *)graph->gradients + weight->offset * size;

	if (kernel->packed && kernel->packed(&site, 0))
		kernel->unpack(&site, 0, packed, own);
	else
		nn_queue_copy(b->queue, own, packed, bytes);
	if (c->host) {
		nn_queue_read(b->queue, c->host + parcels_bytes(b, node), own, bytes);
		own = c->host + parcels_bytes(b, node);
	}
	for (size_t j = 0; j * piece < (s->in + ranks - 1) / ranks; j++)
		send_piece(graph, node, j, &p, &there, own);
}

static int fill(struct nn_graph *graph, const struct nn_planned_step *step,
		struct nn_graph_step *made, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_node *node = &b->nodes[step->node];
	const struct nn_sharded_node *s = node->sharded;
	size_t host = b->queue ? parcels_bytes(b, node) + s->width * s->in * s->taps *
								  nn_dtype_size(b->device->dtype)
			       : 0;
	struct refresh_call *own = made->owned = nn_alloc(1, sizeof *own + host, err);

	if (!own)
		return -1;
	own->graph = graph;
	own->node = node;
	own->host = b->queue ? (unsigned char *)(own + 1) : NULL;
	made->call = &own->call;
	made->run = run_refresh;
	return 0;
}

static void add_exchange(struct nn_steps *to, const struct nn_bound *b, int i)
{
	struct nn_bound_node *node = &b->nodes[i];
	struct nn_planned_step step = { .fill = fill, .node = i, .event = -1 };

	if (!node->sharded || !node->sharded->want_dx || node->sharded->grouped)
		return;
	step.scratch[NN_SCRATCH_PARCELS] = parcels_bytes(b, node);
	step.keeps = weights_bytes(b, node);
	step.kept = &node->sharded->weights;
	nn_steps_add(to, &step);
}

/* Behind what else is made of a node's weights. */
int nn_sharded_weights_steps(struct nn_steps *after, struct nn_bound *b, struct nn_error *err)
{
	struct nn_steps to = { 0 };

	for (int i = 0, k = 0; i < b->n_nodes; i++) {
		for (; k < after->n && after->step[k].node == i; k++)
			nn_steps_add(&to, &after->step[k]);
		add_exchange(&to, b, i);
	}
	nn_steps_fini(after);
	*after = to;
	return nn_steps_check(after, err);
}
