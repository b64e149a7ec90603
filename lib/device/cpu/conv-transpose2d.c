/*
 * conv-transpose2d through the kernels of the convolution that it mirrors: forward is that one's
 * input gradient, the gradients towards input and weight are its forward and weight gradient.
 */
#include <string.h>
#include "device/cpu/conv2d.h"
#include "device/cpu/leaf.h"
#include "device/cpu/split.h"
#include "device/cpu/tail.h"

/* The mirrored convolution at a site: its input is our output. */
struct mirror {
	struct nn_conv2d attrs;
	struct nn_site site;
	struct nn_conv c;
};

static void reflect(struct mirror *m, const struct nn_site *site)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	m->attrs = nn_op_mirrored(attrs, site->in[0].dim[0]);
	m->site = *site;
	m->site.attrs = &m->attrs;
	m->site.in = &site->out;
	m->site.n_in = 1;
	m->site.out = site->in[0];
	m->site.want_dx = true;
	m->c = conv_of(&m->site);
}

struct transposed {
	const struct nn_call *call;
	const struct nn_conv_transpose2d *attrs;
	struct nn_conv c;  /* mirrored */
	struct nn_conv to; /* from our output to itself: whose bias gradient is ours */
	size_t x, y;       /* reals of a sample */
	size_t sample;
};

static struct transposed transposed_of(const struct nn_call *call, const struct mirror *m)
{
	static const size_t one[2] = { 1, 1 }, zero[2] = { 0, 0 };
	const struct nn_shape *out = &call->site.out;
	struct transposed t = { .call = call,
				.attrs = call->site.attrs,
				.c = m->c,
				.x = nn_shape_count(&call->site.in[0]),
				.y = nn_shape_count(out) };
	nn_conv_init(&t.to, one, one, zero, one, 1, out->dim[0], out->dim[0], out->dim[1],
		     out->dim[2]);
	return t;
}

/* ---- forward ---- */

/* y = from + bias + residual: the kernel by depth knows no tail. */
static void add_tail(const struct transposed *t, const real *from, const real *residual, real *y,
		     size_t pixels)
{
	size_t channels = t->attrs->out;
	const real *bias = t->attrs->bias ? t->call->w[1] : NULL;
	for (size_t p = 0; p < pixels; p++)
		NN_EACH(i, k, channels, {
			vr v = v_get(from + p * channels + i, k);
			v = bias ? v_add(v, v_get(bias + i, k)) : v;
			v = residual ? v_add(v, v_get(residual + p * channels + i, k)) : v;
			v_put(y + p * channels + i, k, v);
		});
}

/* Output rows [h0, h1) of a sample. */
static void product(const struct transposed *t, size_t sample, long h0, long h1, int thread)
{
	const struct nn_call *call = t->call;
	const struct nn_epilogue *e = &t->attrs->epilogue;
	const real *x = (const real *)call->x[0] + sample * t->x;
	const real *residual =
		e->residual ? (const real *)call->x[call->site.n_in - 1] + sample * t->y : NULL;
	size_t at = (size_t)h0 * t->c.x_row, n = (size_t)(h1 - h0) * t->c.x_row;
	real *y = (real *)call->y + sample * t->y;
	struct nn_tail tail = nn_tail_of(e, t->attrs->bias ? call->w[1] : NULL, residual);
	tail.residual_row = t->c.x_row;
	tail.residual_pixel = t->c.x_pixel;
	if (nn_conv_depthwise(&t->c)) {
		real *z = (real *)call->work + (size_t)thread * rounded(t->y);
		NN_K(conv_input_gradient)(&t->c, x, call->derived, z, false, h0, h1);
		add_tail(t, z + at, residual ? residual + at : NULL, y + at, n / t->attrs->out);
	} else {
		NN_K(conv_transposed)(&t->c, x, call->derived, &tail, y, h0, h1);
	}
	if (nn_tail_rest(e) || (nn_conv_depthwise(&t->c) && e->activation != NN_ACT_NONE))
		NN_K(activate)(e, y + at, y + at, n);
}

static void forward_samples(void *arg, size_t begin, size_t end, int thread)
{
	const struct transposed *t = arg;
	for (size_t s = begin; s < end; s++)
		product(t, s, 0, t->c.h.in, thread);
}

/* Rows of the sample t->sample. */
static void forward_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct transposed *t = arg;
	product(t, t->sample, (long)begin, (long)end, thread);
}

/* Bytes for nn_cpu_split: a multiplication and addition is about a byte's time. */
static size_t sample_cost(const struct transposed *t)
{
	return t->x * t->c.cin * (size_t)(t->c.h.n * t->c.w.n);
}

static void forward(const struct nn_call *call)
{
	struct mirror m;
	struct transposed t;
	size_t threads = (size_t)nn_pool_threads(call->pool), height;
	reflect(&m, &call->site);
	t = transposed_of(call, &m);
	height = (size_t)t.c.h.in;
	if (call->rows >= threads || threads == 1)
		nn_cpu_split(call->pool, call->rows, 1, sample_cost(&t), forward_samples, &t);
	else
		for (t.sample = 0; t.sample < call->rows; t.sample++)
			nn_cpu_split(call->pool, height, 1, sample_cost(&t) / height, forward_rows,
				     &t);
}

/* ---- backward ---- */

/* dy becomes the gradient before the epilogue. */
static void epilogue_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct transposed *t = arg;
	const struct nn_call *call = t->call;
	const struct nn_epilogue *e = &t->attrs->epilogue;
	int residual = call->site.n_in - 1;
	size_t at = begin * t->y, n = (end - begin) * t->y;
	real *d = (real *)call->dy + at;
	(void)thread;
	if (e->activation != NN_ACT_NONE)
		NN_K(activate_back)(e, (const real *)call->y + at, d, d, n);
	if (e->residual && call->dx[residual] && call->dx[residual] != call->dy) {
		real *dx = (real *)call->dx[residual] + at;
		NN_EACH(i, k, n,
			{ v_put_gradient(dx + i, k, v_get(d + i, k), call->dx_add[residual]); });
	}
}

static void bias_piece(void *arg, size_t leaf, int thread)
{
	const struct transposed *t = arg;
	const struct nn_call *call = t->call;
	real *db = nn_leaf_buffer(call, 1, leaf, t->attrs->out, call->work);
	(void)thread;
	if (call->leaf[leaf] == call->leaf[leaf + 1] && call->first)
		memset(db, 0, t->attrs->out * sizeof(real));
	for (size_t s = call->leaf[leaf]; s < call->leaf[leaf + 1]; s++)
		NN_K(conv_bias_gradient)
	(&t->to, (const real *)call->dy + s * t->y, db, call->first && s == call->leaf[leaf], 0,
	 t->to.h.out);
}

/* The mirrored convolution of dy, added to what is there as a residual is. */
static void input_gradient(const struct nn_call *call, struct mirror *m)
{
	const struct nn_shape in[2] = { call->site.out, call->site.in[0] };
	const void *const x[2] = { call->dy, call->dx[0] }, *const w[1] = { call->w[0] };
	struct nn_call conv = *call;
	m->attrs.epilogue.residual = call->dx_add[0];
	conv.site = m->site;
	conv.site.in = in;
	conv.site.n_in = 1 + call->dx_add[0];
	conv.x = x;
	conv.y = call->dx[0];
	conv.w = (void *const *)w;
	NN_K(conv2d).forward(&conv);
	m->attrs.epilogue.residual = false;
}

/* Its input is dy, and the gradient of its output is x, which is not changed. */
static void weight_gradient(const struct nn_call *call, const struct mirror *m)
{
	const void *const x[1] = { call->dy };
	void *const dx[1] = { NULL };
	const bool add[1] = { false };
	struct nn_call conv = *call;
	conv.site = m->site;
	conv.x = x;
	conv.y = NULL;
	conv.dy = (void *)(uintptr_t)call->x[0];
	conv.dx = dx;
	conv.dx_add = add;
	NN_K(conv2d_back)(&conv);
}

static void backward(const struct nn_call *call)
{
	struct mirror m;
	struct transposed t;
	reflect(&m, &call->site);
	t = transposed_of(call, &m);
	nn_cpu_split(call->pool, call->rows, 1, 3 * t.y * sizeof(real), epilogue_piece, &t);
	if (call->dw[0] && t.attrs->bias) {
		nn_cpu_pieces(call->pool, call->n_leaves, call->rows * t.y * sizeof(real),
			      bias_piece, &t);
		NN_K(leaf_tree)(call, 1, t.attrs->out, call->work);
	}
	if (call->dw[0]) /* else it is frozen */
		weight_gradient(call, &m);
	if (call->dx[0])
		input_gradient(call, &m);
}

/* ---- memory and packing: those of the mirrored convolution ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	struct mirror m;
	size_t most, own;
	reflect(&m, site);
	most = NN_K(conv2d).work(&m.site, max_rows, max_leaves, threads);
	own = nn_leaf_reals(site->training ? max_leaves : 0, attrs->out) * sizeof(real);
	most = own > most ? own : most;
	own = nn_conv_depthwise(&m.c)
		      ? (size_t)threads * rounded(nn_shape_count(&site->out)) * sizeof(real)
		      : 0;
	return own > most ? own : most;
}

static size_t derived(const struct nn_site *site)
{
	struct mirror m;
	reflect(&m, site);
	return NN_K(conv_rotated)(&m.c) * sizeof(real);
}

static void derive(const struct nn_site *site, const void *const *w, void *derived,
		   struct nn_pool *pool)
{
	struct mirror m;
	reflect(&m, site);
	m.site.training = true;
	NN_K(conv2d).derive(&m.site, w, derived, pool);
}

static size_t packed(const struct nn_site *site, int param)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	struct mirror m;
	reflect(&m, site);
	return param == 0 ? NN_K(conv_packed)(&m.c) : attrs->out;
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	struct mirror m;
	reflect(&m, site);
	if (param == 0)
		NN_K(conv_pack)(&m.c, canonical, packed);
	else
		memcpy(packed, canonical, attrs->out * sizeof(real));
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	const struct nn_conv_transpose2d *attrs = site->attrs;
	struct mirror m;
	reflect(&m, site);
	if (param == 0)
		NN_K(conv_unpack)(&m.c, packed, canonical);
	else
		memcpy(canonical, packed, attrs->out * sizeof(real));
}

const struct nn_kernel NN_K(conv_transpose2d) = {
	.forward = forward,
	.backward = backward,
	.work = work,
	.derived = derived,
	.derive = derive,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};
