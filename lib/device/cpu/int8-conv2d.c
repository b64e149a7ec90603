/*
 * conv2d with int8 weights: a sample becomes bytes, then the taps of some pixels at a time become
 * rows of a product.
 */
#include <string.h>

#include "device/cpu/conv2d.h"
#include "device/cpu/int8.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/tail.h"

#define NN_INT8_PIXELS ((size_t)48) /* that are rows at once: multiples of a tile */

/* What lies in a call's work behind samples before pooling. */
struct room {
	uint8_t *bytes; /* of samples, `sample` each */
	size_t sample;
	struct nn_int8_row *row;
	uint8_t *taps; /* of a thread's pixels, `thread` each */
	size_t thread, size;
};

/* Depthwise convolutions read more than they multiply; training is f32's. */
static bool quantizes(const struct nn_site *site)
{
	struct nn_conv c = conv_of(site);
	return !site->training && !nn_conv_depthwise(&c) && nn_chain(&c) > 0 &&
	       nn_chain(&c) <= NN_INT8_CHAIN;
}

static struct nn_int8 shape_of(const struct nn_conv *c)
{
	return nn_int8_shape(nn_chain(c), c->cout);
}

static struct room room_of(const struct nn_site *site, void *work, size_t rows, size_t threads)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	struct nn_int8 d = shape_of(&c);
	struct room room = { .sample = nn_int8_rounded(nn_shape_count(&site->in[0])),
			     .thread = nn_int8_rounded(NN_INT8_PIXELS * d.padded) };
	size_t z = attrs->pooling.on ? rounded((size_t)(c.h.out * c.w.out) * attrs->out) : 0,
	       bytes = nn_int8_rounded(threads * z * sizeof(real)),
	       row = bytes + rows * room.sample,
	       taps = row + nn_int8_rounded(rows * sizeof *room.row);

	room.size = taps + threads * room.thread;
	if (work) {
		room.bytes = (uint8_t *)work + bytes;
		room.row = (struct nn_int8_row *)((char *)work + row);
		room.taps = (uint8_t *)work + taps;
	}
	return room;
}

/* ---- forward ---- */

struct bytes_job {
	const struct nn_call *call;
	struct room room;
	size_t x;
};

static void sample_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct bytes_job *job = arg;
	(void)thread;
	for (size_t s = begin; s < end; s++)
		NN_K(int8_row)
	((const float *)job->call->x[0] + s * job->x, job->x,
	 job->room.bytes + s * job->room.sample, job->room.row + s);
}

/* Kernel row kh of output pixel (oh, ow), group g: taps outside the image are the sample's zero. */
static void kernel_row(const struct nn_conv *c, const uint8_t *bytes, uint8_t zero, size_t g,
		       long ih, long iw, uint8_t *to)
{
	const uint8_t *from = bytes + ih * (long)c->x_row + g * c->cin;
	if (c->w.dilation == 1 && c->groups == 1 && ih >= 0 && ih < c->h.in && iw >= 0 &&
	    iw + c->w.n <= c->w.in) {
		memcpy(to, from + (size_t)iw * c->x_pixel, (size_t)c->w.n * c->cin);
		return;
	}
	for (long kw = 0; kw < c->w.n; kw++, iw += c->w.dilation, to += c->cin) {
		if (ih >= 0 && ih < c->h.in && iw >= 0 && iw < c->w.in)
			memcpy(to, from + (size_t)iw * c->x_pixel, c->cin);
		else
			memset(to, zero, c->cin);
	}
}

static void pixel_taps(const struct nn_conv *c, const struct nn_int8 *d, const uint8_t *bytes,
		       uint8_t zero, size_t g, size_t pixel, uint8_t *to)
{
	const long oh = (long)pixel / c->w.out, ow = (long)pixel % c->w.out;
	const size_t row = (size_t)c->w.n * c->cin;
	for (long kh = 0; kh < c->h.n; kh++)
		kernel_row(c, bytes, zero, g, oh * c->h.stride + kh * c->h.dilation - c->h.pad,
			   ow * c->w.stride - c->w.pad, to + (size_t)kh * row);
	memset(to + d->in, 0, d->padded - d->in); /* times weights of 0 */
}

static void product(const struct job *job, size_t sample, real *z, long oh0, long oh1, int thread)
{
	const struct nn_call *call = job->call;
	const struct nn_conv *c = &job->c;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	const struct nn_int8 d = shape_of(c);
	const struct room room = room_of(&call->site, call->work, call->rows, job->threads);
	const struct nn_int8_row *row = room.row + sample;
	const uint8_t *bytes = room.bytes + sample * room.sample,
		      zero = (uint8_t)row->zero; /* modulo 256, as bytes are */
	uint8_t *taps = room.taps + (size_t)thread * room.thread;
	const struct nn_tail tail = nn_tail_of(epilogue, NULL, NULL);
	struct nn_int8_to to = { .step = c->y_pixel, .act = tail.act, .slope = (float)tail.slope };
	const size_t begin = (size_t)(oh0 * c->w.out), end = (size_t)(oh1 * c->w.out);
	for (size_t p = begin, n; p < end; p += n) {
		n = end - p < NN_INT8_PIXELS ? end - p : NN_INT8_PIXELS;
		for (size_t g = 0; g < c->groups; g++) {
			const size_t at = p * c->y_pixel + g * c->cout;
			for (size_t i = 0; i < n; i++)
				pixel_taps(c, &d, bytes, zero, g, p + i, taps + i * d.padded);
			to.y = z + at;
			to.bias = job->attrs->bias ? (const float *)call->w[1] + g * c->cout : NULL;
			to.residual = epilogue->residual
					      ? (const float *)call->x[call->site.n_in - 1] +
							sample * job->z + at
					      : NULL;
			NN_K(int8_product)
			(&d, n, taps, row, 0, (const char *)call->derived + g * nn_int8_bytes(&d),
			 &to, 0, d.panels);
		}
	}
	if (nn_tail_rest(epilogue))
		NN_K(activate)
	(epilogue, z + begin * c->y_pixel, z + begin * c->y_pixel, (end - begin) * c->y_pixel);
}

static void forward(const struct nn_call *call)
{
	struct job job = job_of(call);
	if (!quantizes(&call->site)) {
		NN_K(conv2d).forward(call);
		return;
	}
	struct bytes_job bytes = { call, room_of(&call->site, call->work, call->rows, job.threads),
				   job.x };
	nn_cpu_split(call->pool, call->rows, 1, 2 * sizeof(float) * job.x, sample_piece, &bytes);
	job.product = product;
	NN_K(conv2d_forward)(&job);
}

/* ---- memory and packing ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	if (!quantizes(site))
		return NN_K(conv2d).work(site, max_rows, max_leaves, threads);
	return room_of(site, NULL, max_rows, (size_t)threads).size;
}

static size_t derived(const struct nn_site *site)
{
	struct nn_conv c = conv_of(site);
	struct nn_int8 d = shape_of(&c);
	return quantizes(site) ? c.groups * nn_int8_bytes(&d) : NN_K(conv2d).derived(site);
}

static void derive(const struct nn_site *site, const void *const *w, void *derived,
		   struct nn_pool *pool)
{
	struct nn_conv c = conv_of(site);
	struct nn_int8 d = shape_of(&c);
	if (!quantizes(site)) {
		NN_K(conv2d).derive(site, w, derived, pool);
		return;
	}
	for (size_t g = 0; g < c.groups; g++)
		for (size_t o = 0; o < d.panels * NN_INT8_WIDTH; o++)
			NN_K(int8_weights)
	(&d, (const float *)w[0] + (g * d.out + (o < d.out ? o : 0)) * d.in, c.cin,
	 (size_t)(c.h.n * c.w.n), o, (char *)derived + g * nn_int8_bytes(&d));
}

/* As in files, for derive alone reads it. */
static size_t packed(const struct nn_site *site, int param)
{
	return quantizes(site) ? 0 : NN_K(conv2d).packed(site, param);
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	NN_K(conv2d).pack(site, param, canonical, packed);
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	NN_K(conv2d).unpack(site, param, packed, canonical);
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	return NN_K(conv2d).saved(site, max_rows);
}

const struct nn_kernel NN_K(int8_conv2d) = {
	.forward = forward,
	.backward = NN_K(conv2d_back),
	.saved = saved,
	.work = work,
	.derived = derived,
	.derive = derive,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};
