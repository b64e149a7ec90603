/* conv-transpose2d: the convolution that it mirrors, whose input is its output. */
#include "device/cpu/product/pack.h"
#include "device/cpu/tail.h"
#include "device/cuda/product/product.h"

static struct nn_conv mirror(const struct nn_site *site)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const size_t *out = site->out.dim;
	const struct nn_conv2d m = nn_op_mirrored(attrs, site->in[0].dim[0]);
	struct nn_conv c;

	nn_conv_init(&c, m.kernel, m.stride, m.pad, m.dilation, m.groups, out[0], m.out, out[1],
		     out[2]);
	return c;
}

static void forward(const struct nn_call *call)
{
	const struct nn_conv_transpose2d *attrs = call->site.attrs;
	const struct nn_tail tail =
		nn_tail_of(&attrs->epilogue, attrs->bias ? call->w[1] : NULL,
			   attrs->epilogue.residual ? call->x[call->site.n_in - 1] : NULL);
	NN_ARGS(struct nn_product_args, a);

	a.n = call->rows * nn_shape_count(&call->site.out);
	a.c = mirror(&call->site);
	a.depthwise = nn_conv_depthwise(&a.c);
	a.turned = true;
	a.w = call->derived;
	a.bias = tail.bias;
	a.residual = tail.residual;
	a.dy = call->x[0];
	a.dx = call->y;
	a.act = (int)tail.act;
	a.slope = (real)tail.slope;
	NN_CUDA(input_gradient)(call->site.queue, &a);
	if (nn_tail_rest(&attrs->epilogue))
		NN_CUDA(activate)(call->site.queue, &attrs->epilogue, call->y, a.n);
}

/* dy becomes the gradient before the epilogue, which the residual gets. */
static void before_epilogue(const struct nn_call *call, const struct nn_epilogue *e)
{
	real *residual = e->residual ? call->dx[call->site.n_in - 1] : NULL;

	residual = residual != call->dy ? residual : NULL;
	if (e->activation != NN_ACT_NONE || residual)
		NN_CUDA(activate_back)
		(call, e, e->activation != NN_ACT_NONE ? call->dy : NULL, residual,
		 call->rows * nn_shape_count(&call->site.out));
}

static void weight_gradients(const struct nn_call *call, const struct nn_conv *c)
{
	const struct nn_conv_transpose2d *attrs = call->site.attrs;
	char *room = call->work;
	NN_ARGS(struct nn_weights_args, a);

	a.c = *c;
	a.x = call->dy;
	a.dy = call->x[0];
	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, 1, &room);
	NN_CUDA(weight_gradient)(call, 0, &a, &room);
	if (!attrs->bias)
		return;
	a.leaf.unit = (size_t)(c->h.in * c->w.in); /* positions of the output */
	a.c = NN_CUDA(matrix)(1, attrs->out);
	a.dy = call->dy;
	NN_CUDA(bias_gradient)(call, 1, &a, &room);
}

static void backward(const struct nn_call *call)
{
	const struct nn_conv_transpose2d *attrs = call->site.attrs;
	NN_ARGS(struct nn_product_args, a);

	a.c = mirror(&call->site);
	before_epilogue(call, &attrs->epilogue);
	weight_gradients(call, &a.c);
	if (!call->dx[0])
		return;
	a.n = call->rows * nn_shape_count(&call->site.in[0]);
	a.depthwise = nn_conv_depthwise(&a.c);
	a.x = call->dy;
	a.w = call->w[0];
	a.residual = call->dx_add[0] ? call->dx[0] : NULL;
	a.y = call->dx[0];
	NN_CUDA(product)(call->site.queue, &a);
}

/* ---- memory and packing ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const struct nn_conv c = mirror(site);

	(void)max_rows;
	(void)threads;
	return site->training ? nn_bounds_bytes(max_leaves) +
					NN_CUDA(leaves_bytes)(NN_CUDA(packed)(&c), max_leaves) +
					NN_CUDA(leaves_bytes)(attrs->out, max_leaves)
			      : 0;
}

static size_t derived(const struct nn_site *site)
{
	const struct nn_conv c = mirror(site);

	return NN_CUDA(turned)(&c);
}

static void derive(const struct nn_site *site, const void *const *w, void *turned,
		   struct nn_pool *pool)
{
	const struct nn_conv c = mirror(site);

	(void)pool;
	NN_CUDA(turn)(site->queue, &c, w[0], turned);
}

static size_t packed(const struct nn_site *site, int param)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const struct nn_conv c = mirror(site);

	return param == 0 ? NN_CUDA(packed)(&c) : attrs->out;
}

static void pack_any(const struct nn_site *site, int param, const void *from, void *to, bool unpack)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const struct nn_conv c = mirror(site);

	if (param == 0)
		NN_CUDA(pack)(site->queue, &c, 0, 0, from, to, unpack);
	else
		nn_queue_copy(site->queue, to, from, attrs->out * sizeof(real));
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	pack_any(site, param, canonical, packed, false);
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	pack_any(site, param, packed, canonical, true);
}

const struct nn_kernel NN_CUDA(op_conv_transpose2d) = { .forward = forward,
							.backward = backward,
							.work = work,
							.derived = derived,
							.derive = derive,
							.packed = packed,
							.pack = pack,
							.unpack = unpack };
