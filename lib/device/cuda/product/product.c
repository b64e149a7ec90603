/* dense and conv2d: products, their gradients, packing. A dense layer is a 1x1 convolution. */
#include "device/cpu/pooling.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/tail.h"
#include "device/cuda/product/product.h"
#include "device/cuda/windows.h"

struct product {
	struct nn_conv c;
	bool dense, plain; /* plain: products are a library's (plain.c) */
	const struct nn_epilogue *epilogue;
	bool bias;
	size_t positions; /* rows of a sample: a dense layer's leading dimensions */
	size_t out;       /* channels */
	size_t image;     /* reals of a row's product: before pooling */
	size_t packed;    /* weights */
	bool pooled;
	size_t channels, flat; /* of a flattened image */
};

struct nn_conv NN_CUDA(matrix)(size_t in, size_t out)
{
	static const size_t one[2] = { 1, 1 }, none[2] = { 0, 0 };
	struct nn_conv c;

	nn_conv_init(&c, one, one, none, one, 1, in, out, 1, 1);
	return c;
}

size_t NN_CUDA(packed)(const struct nn_conv *c)
{
	if (nn_conv_depthwise(c))
		return (size_t)(c->h.n * c->w.n) * nn_packed_channels(c->groups * c->cout);
	return c->groups * nn_chain(c) * nn_packed_channels(c->cout);
}

static struct product dense_of(const struct nn_site *site)
{
	const struct nn_dense *a = site->attrs;
	size_t in = site->in[0].dim[site->in[0].rank - 1];
	struct product p = { .dense = true,
			     .epilogue = &a->epilogue,
			     .bias = a->bias,
			     .positions = nn_shape_count(&site->in[0]) / in,
			     .out = a->out,
			     .image = a->out,
			     .channels = a->channels,
			     .flat = a->positions };

	p.c = NN_CUDA(matrix)(in, a->out);
	p.packed = NN_CUDA(packed)(&p.c);
	return p;
}

/* A library's products, where it has such. */
static void make_plain(struct product *p)
{
	p->plain = NN_CUDA(by_library)(&p->c);
	if (p->plain)
		p->packed = p->c.cout * NN_CUDA(plain_depth)(&p->c);
}

static struct product plain_of(const struct nn_site *site)
{
	struct product p = dense_of(site);

	make_plain(&p);
	return p;
}

static struct product conv_of(const struct nn_site *site)
{
	const struct nn_conv2d *a = site->attrs;
	const struct nn_shape *in = &site->in[0];
	struct product p = { .epilogue = &a->epilogue,
			     .bias = a->bias,
			     .positions = 1,
			     .out = a->out,
			     .pooled = a->pooling.on };

	nn_conv_init(&p.c, a->kernel, a->stride, a->pad, a->dilation, a->groups, in->dim[0], a->out,
		     in->dim[1], in->dim[2]);
	p.image = (size_t)(p.c.h.out * p.c.w.out) * a->out;
	p.packed = NN_CUDA(packed)(&p.c);
	return p;
}

static struct product plain_conv_of(const struct nn_site *site)
{
	struct product p = conv_of(site);

	make_plain(&p);
	return p;
}

/* Bytes of work that the library takes, before all else that lies there. */
static size_t library_work(const struct product *p, size_t rows)
{
	return p->plain ? NN_CUDA(plain_work)(&p->c, rows * p->positions) : 0;
}

static struct nn_pooling pooling_of(const struct nn_site *site, const struct product *p)
{
	const struct nn_conv2d *a = site->attrs;

	return nn_pooling_of(&a->pooling.window, a->out, (size_t)p->c.h.out, (size_t)p->c.w.out);
}

/* Of a kind of layer. */
typedef struct product product_of(const struct nn_site *site);

/* ---- forward ---- */

void NN_CUDA(product)(struct nn_queue *queue, const struct nn_product_args *a)
{
	if (!NN_CUDA(in_tiles)(queue, a, false))
		NN_ASK(queue, product, *a);
}

static void forward(const struct nn_call *call, product_of *of)
{
	const struct product made = of(&call->site), *p = &made;
	struct nn_queue *queue = call->site.queue;
	const struct nn_tail tail =
		nn_tail_of(p->epilogue, p->bias ? call->w[1] : NULL,
			   p->epilogue->residual ? call->x[call->site.n_in - 1] : NULL);
	char *room = (char *)call->work + library_work(p, call->rows);
	NN_ARGS(struct nn_product_args, a);

	a.n = call->rows * p->positions * p->image;
	a.c = p->c;
	a.depthwise = nn_conv_depthwise(&p->c);
	a.x = call->x[0];
	a.w = call->w[0];
	a.bias = tail.bias;
	a.residual = tail.residual;
	a.y = p->pooled ? (real *)(void *)room : call->y;
	a.act = (int)tail.act;
	a.slope = (real)tail.slope;
	if (p->plain)
		NN_CUDA(plain_product)(queue, &a, call->work);
	else
		NN_CUDA(product)(queue, &a);
	if (nn_tail_rest(p->epilogue))
		NN_CUDA(activate)(queue, p->epilogue, a.y, a.n);
	if (p->pooled) {
		struct nn_pooling pool = pooling_of(&call->site, p);

		NN_CUDA(max_pool)(queue, &pool, call->rows, a.y, call->y, call->saved);
	}
}

/* ---- backward ---- */

/* The gradient before the epilogue, and before pooling; the residual gets it. */
static real *before_epilogue(const struct nn_call *call, const struct product *p, char **room)
{
	const struct nn_epilogue *e = p->epilogue;
	size_t n = call->rows * nn_shape_count(&call->site.out);
	real *residual = e->residual ? call->dx[call->site.n_in - 1] : NULL, *z;

	if (!p->pooled) {
		real *other = residual != call->dy ? residual : NULL;

		if (e->activation != NN_ACT_NONE || other)
			NN_CUDA(activate_back)
		(call, e, e->activation != NN_ACT_NONE ? call->dy : NULL, other, n);
		return call->dy;
	}
	if (e->activation != NN_ACT_NONE)
		NN_CUDA(activate_back)(call, e, call->dy, NULL, n);
	z = (real *)(void *)*room;
	*room += nn_cuda_rounded(call->rows * p->image * sizeof(real));
	struct nn_pooling pool = pooling_of(&call->site, p);
	NN_CUDA(max_pool_back)
	(call->site.queue, &pool, call->rows, call->dy, call->saved, z, false);
	if (residual) {
		NN_ARGS(struct nn_activation_args, a);

		a.n = call->rows * p->image;
		a.kind = NN_ACT_NONE;
		a.dy = z;
		a.residual = residual;
		a.residual_add = call->dx_add[call->site.n_in - 1];
		NN_ASK(call->site.queue, activation, a);
	}
	return z;
}

void NN_CUDA(input_gradient)(struct nn_queue *queue, const struct nn_product_args *a)
{
	if (!NN_CUDA(in_tiles)(queue, a, true))
		NN_ASK(queue, product_input, *a);
}

static void input_gradient(const struct nn_call *call, const struct product *p, const real *d,
			   void *work)
{
	NN_ARGS(struct nn_product_args, a);

	if (!call->dx[0])
		return;
	a.n = call->rows * nn_shape_count(&call->site.in[0]);
	a.c = p->c;
	a.depthwise = nn_conv_depthwise(&p->c);
	a.turned = !p->dense && !p->plain;
	a.w = a.turned ? call->derived : call->w[0];
	a.dy = d;
	a.dx = call->dx[0];
	a.add = call->dx_add[0];
	if (p->plain)
		NN_CUDA(plain_input)(call->site.queue, &a, work);
	else
		NN_CUDA(input_gradient)(call->site.queue, &a);
}

static void weight_gradients(const struct nn_call *call, const struct product *p, const real *d,
			     void *work, char *room)
{
	NN_ARGS(struct nn_weights_args, a);

	a.c = p->c;
	a.x = call->x[0];
	a.dy = d;
	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, p->positions, &room);
	if (!p->plain && NN_CUDA(few_gradients)(call, p->bias, &a, NULL))
		return;
	if (p->plain)
		NN_CUDA(plain_weights)(call, 0, &a, work);
	NN_CUDA(gradients)(call, p->plain ? -1 : 0, p->bias ? 1 : -1, &a, &room);
}

/* Of a first layer with relu and few rows in one launch, which reads dy alone; false: it is not. */
static bool relu_gradients(const struct nn_call *call, const struct product *p)
{
	const struct nn_epilogue *e = p->epilogue;
	NN_ARGS(struct nn_weights_args, a);

	if (call->dx[0] || p->plain || p->pooled || e->residual || e->activation != NN_ACT_RELU ||
	    call->n_leaves > NN_BOUNDS)
		return false;
	a.c = p->c;
	a.x = call->x[0];
	a.dy = call->dy;
	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, p->positions, NULL);
	return NN_CUDA(few_gradients)(call, p->bias, &a, call->y);
}

static void backward(const struct nn_call *call, product_of *of)
{
	const struct product made = of(&call->site), *p = &made;
	char *work = call->work, *room = work + library_work(p, call->rows);
	const real *d;

	if (relu_gradients(call, p))
		return;
	d = before_epilogue(call, p, &room);
	input_gradient(call, p, d, work);
	if (p->dense || call->dw[0])
		weight_gradients(call, p, d, work, room);
}

/* ---- memory and packing ---- */

static size_t work_of(const struct nn_site *site, size_t max_rows, size_t max_leaves,
		      product_of *of)
{
	const struct product made = of(site), *p = &made;
	size_t z = library_work(p, max_rows);

	if (p->pooled)
		z += nn_cuda_rounded(max_rows * p->image * sizeof(real));
	if (!site->training)
		return z;
	/* a call may have fewer leaves, whose buffers are fewer */
	return z + nn_bounds_bytes(max_leaves) + NN_CUDA(leaves_bytes)(p->out, max_leaves) +
	       (p->plain ? 0 : NN_CUDA(leaves_bytes)(p->packed, max_leaves));
}

void NN_CUDA(pack)(struct nn_queue *queue, const struct nn_conv *c, size_t channels,
		   size_t positions, const void *from, void *to, bool unpack)
{
	NN_ARGS(struct nn_turn_args, a);

	a.n = NN_CUDA(packed)(c);
	a.c = *c;
	a.depthwise = nn_conv_depthwise(c);
	a.unpack = unpack;
	a.from = from;
	a.to = to;
	a.channels = channels;
	a.positions = positions;
	NN_ASK(queue, pack_weights, a);
}

static size_t packed_of(const struct nn_site *site, int param, product_of *of)
{
	const struct product p = of(site);

	return param == 0 ? p.packed : p.out;
}

static void pack_any(const struct nn_site *site, int param, const void *from, void *to, bool unpack,
		     product_of *of)
{
	const struct product made = of(site), *p = &made;

	if (param == 0)
		(p->plain ? NN_CUDA(plain_pack) : NN_CUDA(pack))(site->queue, &p->c, p->channels,
								 p->flat, from, to, unpack);
	else
		nn_queue_copy(site->queue, to, from, p->out * sizeof(real));
}

#define NN_UPDATES(name, of) \
	static bool name##_updates(const struct nn_site *site) \
	{ \
		const struct product p = of(site); \
		return NN_CUDA(updates)(&p.c); \
	}

NN_KERNEL_FUNCTIONS(dense, dense_of)
NN_KERNEL_FUNCTIONS(plain, plain_of)
NN_KERNEL_FUNCTIONS(conv2d, conv_of)
NN_KERNEL_FUNCTIONS(plain_conv2d, plain_conv_of)
NN_UPDATES(dense, dense_of)
NN_UPDATES(conv2d, conv_of)

const struct nn_kernel NN_CUDA(op_dense) = { .forward = dense_forward,
					     .backward = dense_backward,
					     .updates = dense_updates,
					     .work = dense_work,
					     .packed = dense_packed,
					     .pack = dense_pack,
					     .unpack = dense_unpack };

const struct nn_kernel NN_CUDA(op_dense_plain) = { .forward = plain_forward,
						   .backward = plain_backward,
						   .work = plain_work,
						   .packed = plain_packed,
						   .pack = plain_pack,
						   .unpack = plain_unpack };

static size_t conv2d_saved(const struct nn_site *site, size_t max_rows)
{
	const struct product p = conv_of(site);
	struct nn_pooling pool;

	if (!p.pooled || !site->training)
		return 0;
	pool = pooling_of(site, &p);
	return max_rows * nn_pooling_places(&pool);
}

size_t NN_CUDA(turned)(const struct nn_conv *c)
{
	size_t taps = (size_t)(c->h.n * c->w.n) * c->cout;

	return (nn_conv_depthwise(c) ? taps * nn_packed_channels(c->groups)
				     : c->groups * taps * nn_packed_channels(c->cin)) *
	       sizeof(real);
}

void NN_CUDA(turn)(struct nn_queue *queue, const struct nn_conv *c, const real *w, real *turned)
{
	NN_ARGS(struct nn_turn_args, a);

	a.n = NN_CUDA(packed)(c);
	a.c = *c;
	a.depthwise = nn_conv_depthwise(c);
	a.from = w;
	a.to = turned;
	NN_ASK(queue, turn_weights, a);
}

static size_t conv2d_derived(const struct nn_site *site)
{
	const struct product p = conv_of(site);

	return site->training && site->want_dx ? NN_CUDA(turned)(&p.c) : 0;
}

/* What products of a library read are the weights themselves. */
static size_t plain_conv2d_derived(const struct nn_site *site)
{
	return plain_conv_of(site).plain ? 0 : conv2d_derived(site);
}

static void conv2d_derive(const struct nn_site *site, const void *const *w, void *derived,
			  struct nn_pool *pool)
{
	const struct product p = conv_of(site);

	(void)pool;
	if (site->training && site->want_dx)
		NN_CUDA(turn)(site->queue, &p.c, w[0], derived);
}

const struct nn_kernel NN_CUDA(op_conv2d) = { .forward = conv2d_forward,
					      .backward = conv2d_backward,
					      .updates = conv2d_updates,
					      .saved = conv2d_saved,
					      .work = conv2d_work,
					      .derived = conv2d_derived,
					      .derive = conv2d_derive,
					      .packed = conv2d_packed,
					      .pack = conv2d_pack,
					      .unpack = conv2d_unpack };

const struct nn_kernel NN_CUDA(op_conv2d_plain) = { .forward = plain_conv2d_forward,
						    .backward = plain_conv2d_backward,
						    .saved = conv2d_saved,
						    .work = plain_conv2d_work,
						    .derived = plain_conv2d_derived,
						    .derive = conv2d_derive,
						    .packed = plain_conv2d_packed,
						    .pack = plain_conv2d_pack,
						    .unpack = plain_conv2d_unpack };
