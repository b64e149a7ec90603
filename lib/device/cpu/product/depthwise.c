/*
 * Depthwise convolution: channels are the vector's lanes, the sums of several pixels stay in
 * registers.
 */
#include "device/cpu/product/axis.h"
#include "device/cpu/product/depthwise.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/vec/vec.h"

#define PIXELS 8 /* of a tile at most */

/*
 * Where the lanes of an input vector come from: out-channel o reads in-channel o, o / m, or
 * (towards the input) o * m + j.
 */
enum source { SAME, DIVIDED, MULTIPLIED };

/* A depthwise convolution, or a phase of its input gradient. */
struct job {
	struct nn_axis h, w;
	size_t channels, m; /* of y; out-channels of an in-channel */
	enum source source;
	size_t inner; /* steps of a tap: m towards the input, else 1 */
	size_t x_row, x_pixel, y_row, y_pixel, r_row, r_pixel;
	const real *w_first; /* of the first tap */
	const real *bias;
	enum nn_tail_act act;
	real slope;
};

/* Some pixels with the same taps, `x_step`, `y_step` and `r_step` apart. */
struct tile {
	const struct job *j;
	size_t kh, kw; /* taps */
	/* steps of a kernel row and column in x, of a kernel row and of a chain's step in w */
	size_t x_kh, x_kw, w_kh, w_step;
	size_t x_step, y_step, r_step;
};

NN_INLINE vr load_lanes(enum source source, const real *x, size_t o, size_t m, size_t inner,
			size_t n)
{
	real lanes[VL];
	if (source == SAME)
		return n >= VL ? v_load(x + o) : v_load_n(x + o, n);
	for (size_t l = 0; l < VL; l++)
		lanes[l] = l >= n ? 0 : source == DIVIDED ? x[(o + l) / m] : x[(o + l) * m + inner];
	return v_load(lanes);
}

NN_INLINE void chains(int P, enum source source, const struct tile *t, vr acc[], const real *x,
		      const real *w, size_t o, size_t n)
{
	const struct job *j = t->j;
	for (size_t kh = 0; kh < t->kh; kh++) {
		const real *xt = x + kh * t->x_kh, *wt = w + kh * t->w_kh + o;
		for (size_t kw = 0; kw < t->kw; kw++, xt += t->x_kw) {
			for (size_t inner = 0; inner < j->inner; inner++, wt += t->w_step) {
				const vr wk = v_load(wt);
				NN_UNROLL
				for (int i = 0; i < P; i++)
					acc[i] = v_fma(load_lanes(source, xt + i * t->x_step, o,
								  j->m, inner, n),
						       wk, acc[i]);
			}
		}
	}
}

/*
 * Three kernel columns side by side, pixels side by side: each input is loaded once for the columns
 * that meet it.
 */
NN_INLINE void chains_3(int P, const struct tile *t, vr acc[], const real *x, const real *w,
			size_t o, vm lanes)
{
	for (size_t kh = 0; kh < t->kh; kh++) {
		const real *xt = x + kh * t->x_kh + o, *wt = w + kh * t->w_kh + o;
		vr in[PIXELS + 2], wk[3];
		NN_UNROLL
		for (int i = 0; i < P + 2; i++)
			in[i] = v_load_m(xt + i * t->x_step, lanes);
		NN_UNROLL
		for (int k = 0; k < 3; k++)
			wk[k] = v_load(wt + k * t->w_step);
		NN_UNROLL
		for (int k = 0; k < 3; k++) {
			NN_UNROLL
			for (int i = 0; i < P; i++)
				acc[i] = v_fma(in[i + k], wk[k], acc[i]);
		}
	}
}

NN_INLINE vr finish(const struct job *j, vr v, size_t o, const real *residual, vm lanes)
{
	if (j->bias)
		v = v_add(v, v_load_m(j->bias + o, lanes));
	if (residual)
		v = v_add(v, v_load_m(residual + o, lanes));
	if (j->act == NN_TAIL_RELU)
		v = v_max(v_zero(), v);
	else if (j->act == NN_TAIL_LEAKY)
		v = v_select(v_gt(v, v_zero()), v, v_mul(v_set(j->slope), v));
	return v;
}

/* P pixels, all channels. */
NN_INLINE void tile(int P, enum source source, const struct tile *t, const real *x, const real *w,
		    real *y, const real *residual)
{
	const size_t channels = t->j->channels;
	for (size_t o = 0; o < channels; o += VL) {
		const size_t n = channels - o < VL ? channels - o : VL;
		const vm lanes = vm_first(n);
		vr acc[PIXELS];
		NN_UNROLL
		for (int i = 0; i < P; i++)
			acc[i] = v_zero();
		if (source == SAME && t->kw == 3 && t->x_kw == t->x_step)
			chains_3(P, t, acc, x, w, o, lanes);
		else
			chains(P, source, t, acc, x, w, o, n);
		NN_UNROLL
		for (int i = 0; i < P; i++) {
			const vr v = finish(t->j, acc[i], o,
					    residual ? residual + i * t->r_step : NULL, lanes);
			if (n == VL)
				v_store(y + i * t->y_step + o, v);
			else
				v_store_m(y + i * t->y_step + o, lanes, v);
		}
	}
}

#define TILE(P) \
	static void tile_##P(const struct tile *t, const real *x, const real *w, real *y, \
			     const real *residual) \
	{ \
		if (t->j->source == SAME) \
			tile(P, SAME, t, x, w, y, residual); \
		else \
			tile(P, t->j->source, t, x, w, y, residual); \
	}
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)

static void (*const tiles[PIXELS + 1])(const struct tile *, const real *, const real *, real *,
				       const real *) = {
	NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6, tile_7, tile_8,
};

/* n pixels of equal taps one step apart. */
static void line(const struct tile *t, size_t n, const real *x, const real *w, real *y,
		 const real *residual)
{
	const size_t count = (n + PIXELS - 1) / PIXELS;
	for (size_t i = 0; i < count; i++) {
		const size_t p = i * n / count, next = (i + 1) * n / count;
		tiles[next - p](t, x + p * t->x_step, w, y + p * t->y_step,
				residual ? residual + p * t->r_step : NULL);
	}
}

/*
 * Output rows [h0, h1), columns [w0, w1), which all have the same taps; tiles lie along the longer
 * side.
 */
static void rectangle(const struct job *j, const real *x, real *y, const real *residual, long h0,
		      long h1, long w0, long w1)
{
	const long kh0 = nn_axis_first_tap(&j->h, h0), kw0 = nn_axis_first_tap(&j->w, w0);
	const size_t w_step = nn_packed_channels(j->channels), w_kw = j->inner * w_step;
	struct tile t = { .j = j,
			  .kh = (size_t)(nn_axis_last_tap(&j->h, h0) - kh0),
			  .kw = (size_t)(nn_axis_last_tap(&j->w, w0) - kw0),
			  .x_kh = j->x_row * (size_t)j->h.dilation,
			  .x_kw = j->x_pixel * (size_t)j->w.dilation,
			  .w_kh = (size_t)j->w.n * w_kw,
			  .w_step = w_step };
	const size_t x_row = j->x_row * (size_t)j->h.stride,
		     x_pixel = j->x_pixel * (size_t)j->w.stride;
	const size_t height = (size_t)(h1 - h0), width = (size_t)(w1 - w0);
	const bool down = height > width;
	const real *w = j->w_first + (size_t)kh0 * t.w_kh + (size_t)kw0 * w_kw;
	if (t.kh && t.kw)
		x += nn_axis_at(&j->h, h0, kh0) * (long)j->x_row +
		     nn_axis_at(&j->w, w0, kw0) * (long)j->x_pixel;
	y += (size_t)h0 * j->y_row + (size_t)w0 * j->y_pixel;
	if (residual)
		residual += (size_t)h0 * j->r_row + (size_t)w0 * j->r_pixel;
	t.x_step = down ? x_row : x_pixel;
	t.y_step = down ? j->y_row : j->y_pixel;
	t.r_step = down ? j->r_row : j->r_pixel;
	for (size_t i = 0; i < (down ? width : height); i++)
		line(&t, down ? height : width, x + i * (down ? x_pixel : x_row), w,
		     y + i * (down ? j->y_pixel : j->y_row),
		     residual ? residual + i * (down ? j->r_pixel : j->r_row) : NULL);
}

/* The end of the run of positions from q that have the taps of q. */
static long run_end(const struct nn_axis *a, long q, long end)
{
	long e = q + 1;
	while (e < end && nn_axis_first_tap(a, e) == nn_axis_first_tap(a, q) &&
	       nn_axis_last_tap(a, e) == nn_axis_last_tap(a, q))
		e++;
	return e;
}

static void run_job(const struct job *j, const real *x, real *y, const real *residual, long oh0,
		    long oh1)
{
	for (long h = oh0, he; h < oh1; h = he) {
		he = run_end(&j->h, h, oh1);
		for (long w = 0, we; w < j->w.out; w = we) {
			we = run_end(&j->w, w, j->w.out);
			rectangle(j, x, y, residual, h, he, w, we);
		}
	}
}

void NN_K(depthwise_forward)(const struct nn_conv *c, const real *x, const real *w,
			     const struct nn_tail *tail, real *y, long oh0, long oh1)
{
	static const struct nn_tail none;
	if (!tail)
		tail = &none;
	const struct job j = {
		.h = c->h,
		.w = c->w,
		.channels = c->groups * c->cout,
		.m = c->cout,
		.source = c->cout == 1 ? SAME : DIVIDED,
		.inner = 1,
		.x_row = c->x_row,
		.x_pixel = c->x_pixel,
		.y_row = c->y_row,
		.y_pixel = c->y_pixel,
		.r_row = tail->residual_row,
		.r_pixel = tail->residual_pixel,
		.w_first = w,
		.bias = tail->bias,
		.act = tail->act,
		.slope = (real)tail->slope,
	};
	run_job(&j, x, y, tail->residual, oh0, oh1);
}

void NN_K(depthwise_input_gradient)(const struct nn_conv *c, const real *dy, const real *rotated,
				    real *dx, bool add, long h0, long h1)
{
	const long s = c->h.stride;
	struct job j = {
		.channels = c->groups,
		.m = c->cout,
		.source = c->cout == 1 ? SAME : MULTIPLIED,
		.inner = c->cout,
		.x_row = c->y_row,
		.x_pixel = c->y_pixel,
		.y_row = c->x_row * (size_t)s,
		.y_pixel = c->x_pixel * (size_t)c->w.stride,
		.w_first = rotated,
	};
	j.r_row = j.y_row;
	j.r_pixel = j.y_pixel;
	for (long fh = 0; fh < s; fh++) {
		const long q0 = nn_floor_div(h0 - fh + s - 1, s),
			   q1 = nn_floor_div(h1 - fh + s - 1, s);
		for (long fw = 0; fw < c->w.stride; fw++) {
			real *d = dx + (size_t)fh * c->x_row + (size_t)fw * c->x_pixel;
			long tap, step;
			j.h = nn_axis_phase(&c->h, fh, &tap, &step);
			j.w = nn_axis_phase(&c->w, fw, &tap, &step);
			run_job(&j, dy, d, add ? d : NULL, nn_clamp(q0, 0, j.h.out),
				nn_clamp(q1, 0, j.h.out));
			j.w_first +=
				(size_t)(j.h.n * j.w.n) * c->cout * nn_packed_channels(c->groups);
		}
	}
}
