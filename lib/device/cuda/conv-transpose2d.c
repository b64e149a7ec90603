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

/* plain: products are a library's (plain.c), where it has such. */
static bool is_plain(const struct nn_conv *c, bool plain)
{
	return plain && NN_CUDA(by_library)(c);
}

static void forward(const struct nn_call *call, bool plain)
{
	const struct nn_conv_transpose2d *attrs = call->site.attrs;
	const struct nn_tail tail =
		nn_tail_of(&attrs->epilogue, attrs->bias ? call->w[1] : NULL,
			   attrs->epilogue.residual ? call->x[call->site.n_in - 1] : NULL);
	NN_ARGS(struct nn_product_args, a);

	a.n = call->rows * nn_shape_count(&call->site.out);
	a.c = mirror(&call->site);
	a.depthwise = nn_conv_depthwise(&a.c);
	plain = is_plain(&a.c, plain);
	a.turned = !plain;
	a.w = plain ? call->w[0] : call->derived;
	a.bias = tail.bias;
	a.residual = tail.residual;
	a.dy = call->x[0];
	a.dx = call->y;
	a.act = (int)tail.act;
	a.slope = (real)tail.slope;
	if (plain)
		NN_CUDA(plain_input)(call->site.queue, &a, call->work);
	else
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

static void weight_gradients(const struct nn_call *call, const struct nn_conv *c, bool plain)
{
	const struct nn_conv_transpose2d *attrs = call->site.attrs;
	char *room = (char *)call->work + (plain ? NN_CUDA(plain_work)(c, call->rows) : 0);
	NN_ARGS(struct nn_weights_args, a);

	a.c = *c;
	a.x = call->dy;
	a.dy = call->x[0];
	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, 1, &room);
	if (plain)
		NN_CUDA(plain_weights)(call, 0, &a, call->work);
	else
		NN_CUDA(gradients)(call, 0, -1, &a, &room);
	if (!attrs->bias)
		return;
	a.leaf.unit = (size_t)(c->h.in * c->w.in); /* positions of the output */
	a.c = NN_CUDA(matrix)(1, attrs->out);
	a.dy = call->dy;
	NN_CUDA(gradients)(call, -1, 1, &a, &room);
}

static void backward(const struct nn_call *call, bool plain)
{
	const struct nn_conv_transpose2d *attrs = call->site.attrs;
	NN_ARGS(struct nn_product_args, a);

	a.c = mirror(&call->site);
	plain = is_plain(&a.c, plain);
	before_epilogue(call, &attrs->epilogue);
	weight_gradients(call, &a.c, plain);
	if (!call->dx[0])
		return;
	a.n = call->rows * nn_shape_count(&call->site.in[0]);
	a.depthwise = nn_conv_depthwise(&a.c);
	a.x = call->dy;
	a.w = call->w[0];
	a.residual = call->dx_add[0] ? call->dx[0] : NULL;
	a.y = call->dx[0];
	if (plain)
		NN_CUDA(plain_product)(call->site.queue, &a, call->work);
	else
		NN_CUDA(product)(call->site.queue, &a);
}

/* ---- memory and packing ---- */

static size_t work_of(const struct nn_site *site, size_t max_rows, size_t max_leaves, bool plain)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const struct nn_conv c = mirror(site);
	size_t weights = NN_CUDA(leaves_bytes)(NN_CUDA(packed)(&c), max_leaves), library = 0;

	if (is_plain(&c, plain)) {
		weights = 0;
		library = NN_CUDA(plain_work)(&c, max_rows);
	}
	return library + (site->training ? nn_bounds_bytes(max_leaves) + weights +
						   NN_CUDA(leaves_bytes)(attrs->out, max_leaves)
					 : 0);
}

static size_t derived_of(const struct nn_site *site, bool plain)
{
	const struct nn_conv c = mirror(site);

	return is_plain(&c, plain) ? 0 : NN_CUDA(turned)(&c);
}

static void derive(const struct nn_site *site, const void *const *w, void *turned,
		   struct nn_pool *pool)
{
	const struct nn_conv c = mirror(site);

	(void)pool;
	NN_CUDA(turn)(site->queue, &c, w[0], turned);
}

static size_t packed_of(const struct nn_site *site, int param, bool plain)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const struct nn_conv c = mirror(site);

	if (param > 0)
		return attrs->out;
	return is_plain(&c, plain) ? c.cout * NN_CUDA(plain_depth)(&c) : NN_CUDA(packed)(&c);
}

static void pack_any(const struct nn_site *site, int param, const void *from, void *to, bool unpack,
		     bool plain)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	const struct nn_conv c = mirror(site);

	if (param == 0)
		(is_plain(&c, plain) ? NN_CUDA(plain_pack) : NN_CUDA(pack))(site->queue, &c, 0, 0,
									    from, to, unpack);
	else
		nn_queue_copy(site->queue, to, from, attrs->out * sizeof(real));
}

#define NN_TRANSPOSE(name, plain) \
	NN_KERNEL_FUNCTIONS(name, plain) \
	static size_t name##_derived(const struct nn_site *site) \
	{ \
		return derived_of(site, plain); \
	} \
	const struct nn_kernel NN_CUDA(op_##name) = { .forward = name##_forward, \
						      .backward = name##_backward, \
						      .work = name##_work, \
						      .derived = name##_derived, \
						      .derive = derive, \
						      .packed = name##_packed, \
						      .pack = name##_pack, \
						      .unpack = name##_unpack };

NN_TRANSPOSE(conv_transpose2d, false)
NN_TRANSPOSE(conv_transpose2d_plain, true)
