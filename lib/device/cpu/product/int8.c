/* Rows and weights as bytes, and their products. */
#include <string.h>

#include "base/int8.h"
#include "device/cpu/int8.h"

#define WIDTH NN_INT8_WIDTH
#define STEP NN_INT8_STEP

/* ---- rows ---- */

/* The order of floats as that of integers; its own inverse. */
NN_INLINE int32_t key_of(int32_t bits)
{
	return bits ^ (bits < 0 ? 0x7fffffff : 0);
}

NN_INLINE float value_of(int32_t key)
{
	int32_t bits = key_of(key);
	float value;
	memcpy(&value, &bits, 4);
	return value;
}

void NN_K(int8_row)(const float *x, size_t n, uint8_t *bytes, struct nn_int8_row *row)
{
	int32_t low = 0, high = 0, zero;
	for (size_t i = 0; i < n; i++) {
		int32_t key;
		memcpy(&key, x + i, 4);
		key = key_of(key);
		low = key < low ? key : low;
		high = key > high ? key : high;
	}
	*row = (struct nn_int8_row){ .zero = -NN_INT8_LESS };
	const float least = value_of(low), scale = value_of(high) / 255 - least / 255;
	const bool finite = high < 0x7f800000 && low > key_of((int32_t)0xff800000);
	if (!finite || scale < NN_CUT) {
		memset(bytes, NN_INT8_LESS, n);
		row->scale = finite ? 0 : __builtin_nanf("");
		return;
	}
	const float inverse = 1 / scale, middle = 0x1.8p23f;
	float shifted = -least * inverse + middle;
	memcpy(&zero, &shifted, 4);
	zero -= NN_MAGIC_BITS;
	shifted = middle + (float)zero;
	for (size_t i = 0; i < n; i++) {
		float value = x[i] * inverse + shifted;
		int32_t byte;
		memcpy(&byte, &value, 4);
		byte -= NN_MAGIC_BITS;
		byte = byte > 255 ? 255 : byte < 0 ? 0 : byte;
		bytes[i] = (uint8_t)(byte ^ NN_INT8_LESS);
	}
	row->scale = scale;
	row->zero = zero - NN_INT8_LESS;
}

/* ---- weights ---- */

void NN_K(int8_weights)(const struct nn_int8 *d, const float *values, size_t inner, size_t outer,
			size_t o, void *weights)
{
	const size_t all = d->panels * WIDTH;
	int8_t *const q = (int8_t *)weights + o / WIDTH * WIDTH * d->padded + o % WIDTH * STEP;
	float *const scales = (float *)((char *)weights + all * d->padded);
	int32_t *const sums = (int32_t *)(scales + all), total = 0;
	float scale = o < d->out ? nn_int8_scale(values, d->in) : 0;
	for (size_t k = 0; o < d->out && k < d->in; k++)
		if (!(values[k] - values[k] == 0))
			scale = __builtin_nanf("");
	for (size_t k = 0; k < d->padded; k++) {
		int8_t value = 0;
		if (o < d->out && k < d->in && scale > 0)
			value = nn_int8_of(values[inner ? k % inner * outer + k / inner : k],
					   scale);
		q[k / STEP * STEP * WIDTH + k % STEP] = value;
		total += value;
	}
	scales[o] = scale;
	sums[o] = total;
}

/* ---- the machine's products ---- */

/*
 * i8v: int32 of I8_LANES out-channels; byte_dot: each plus the sum of four products of bytes of x
 * and q.
 */
#if defined NN_ISA_avx512
#define I8_LANES 16
#define I8_ROWS 6
#define I8_PANELS 4
#define I8_TARGET __attribute__((target("avx512vnni")))
typedef __m512i i8v;
typedef __m512i i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return _mm512_set1_epi32(four);
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	return _mm512_loadu_si512(w);
}
#define byte_dot _mm512_dpbusd_epi32
#define byte_store(to, a) _mm512_storeu_si512(to, a)

#elif defined NN_ISA_avx2
/*
 * |x| and q with the sign of x: pairs of products are at most 2 * 128 * 127, which 16 bits hold; so
 * nothing saturates.
 */
#define I8_LANES 8
#define I8_ROWS 4
#define I8_PANELS 1
#define I8_TARGET
typedef __m256i i8v;
typedef __m256i i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return _mm256_set1_epi32(four);
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	return _mm256_loadu_si256((const __m256i *)w);
}
NN_INLINE i8v byte_dot(i8v sum, i8x x, i8v w)
{
	const i8v pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(w, x));
	return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#define byte_store(to, a) _mm256_storeu_si256((__m256i *)(to), a)

#elif defined NN_ISA_neon
#define I8_LANES 4
#define I8_ROWS 4
#define I8_PANELS 1
#define I8_TARGET
typedef int32x4_t i8v;
typedef int8x16_t i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	return vreinterpretq_s32_s8(vld1q_s8(w));
}
NN_INLINE i8v byte_dot(i8v sum, i8x x, i8v weights)
{
	const int8x16_t w = vreinterpretq_s8_s32(weights);
#ifdef __ARM_FEATURE_DOTPROD
	return vdotq_s32(sum, w, x);
#else
	const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_high_s8(w, x);
	return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}
#define byte_store(to, a) vst1q_s32(to, a)

#else
#define I8_LANES 1
#define I8_ROWS 1
#define I8_PANELS 1
#define I8_TARGET
typedef int32_t i8v;
typedef int32_t i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return four;
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	i8v four;
	memcpy(&four, w, 4);
	return four;
}
NN_INLINE i8v byte_dot(i8v sum, i8x x, i8v w)
{
	int8_t a[4], b[4];
	memcpy(a, &x, 4);
	memcpy(b, &w, 4);
	return sum + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
#define byte_store(to, a) (*(to) = (a))
#endif

#define I8_VECTORS ((int)NN_INT8_WIDTH / I8_LANES) /* of a panel */

/* ---- a tile: rows times panels ---- */

struct tile {
	size_t steps, x_row, panel; /* bytes from row to row, from panel to panel */
	const uint8_t *x;
	const int8_t *w;
	int32_t *sums; /* [rows][panels][16] */
};

I8_TARGET static inline __attribute__((always_inline)) void
products(const struct tile *t, const int rows, const int panels)
{
	i8v sum[I8_ROWS * I8_PANELS * I8_VECTORS] = { 0 };
	const int n = panels * I8_VECTORS;
	for (size_t k = 0; k < t->steps; k++) {
		i8v w[I8_PANELS * I8_VECTORS];
		NN_UNROLL
		for (int v = 0; v < n; v++)
			w[v] = byte_load(t->w + (size_t)(v / I8_VECTORS) * t->panel +
					 k * WIDTH * STEP +
					 (size_t)(v % I8_VECTORS) * I8_LANES * STEP);
		NN_UNROLL
		for (int i = 0; i < rows; i++) {
			int32_t four;
			memcpy(&four, t->x + (size_t)i * t->x_row + k * STEP, STEP);
			const i8x x = byte_x(four);
			NN_UNROLL
			for (int v = 0; v < n; v++)
				sum[i * n + v] = byte_dot(sum[i * n + v], x, w[v]);
		}
	}
	NN_UNROLL
	for (int v = 0; v < rows * n; v++)
		byte_store(t->sums + v * I8_LANES, sum[v]);
}

#define TILE(rows, panels) \
	I8_TARGET static void tile_##rows##_##panels(const struct tile *t) \
	{ \
		products(t, rows, panels); \
	}
#if I8_ROWS == 6
#define TILES(T, panels) \
	T(1, panels) T(2, panels) T(3, panels) T(4, panels) T(5, panels) T(6, panels)
#elif I8_ROWS == 4
#define TILES(T, panels) T(1, panels) T(2, panels) T(3, panels) T(4, panels)
#else
#define TILES(T, panels) T(1, panels)
#endif
#define NAME(rows, panels) [rows] = tile_##rows##_##panels,
TILES(TILE, 1)
#if I8_PANELS == 4
TILES(TILE, 2)
TILES(TILE, 4)
#endif

typedef void tile_function(const struct tile *t);
static tile_function *const tiles[I8_PANELS + 1][I8_ROWS + 1] = {
	[1] = { TILES(NAME, 1) },
#if I8_PANELS == 4
	[2] = { TILES(NAME, 2) },
	[4] = { TILES(NAME, 4) },
#endif
};

/* ---- what follows a sum ---- */

NN_INLINE void finish(const int32_t *sums, const struct nn_int8_row *row, const float *scales,
		      const int32_t *totals, const struct nn_int8_to *to, size_t at, size_t o,
		      const size_t n)
{
	float values[WIDTH];
	for (size_t c = 0; c < n; c++) {
		const uint32_t sum = (uint32_t)sums[c] - (uint32_t)row->zero * (uint32_t)totals[c];
		values[c] = (float)(int32_t)sum * scales[c] * row->scale;
	}
	if (to->bias)
		for (size_t c = 0; c < n; c++)
			values[c] += to->bias[o + c];
	if (to->residual)
		for (size_t c = 0; c < n; c++)
			values[c] += to->residual[at + c];
	if (to->act == NN_TAIL_RELU)
		for (size_t c = 0; c < n; c++)
			values[c] = values[c] <= 0 ? 0 : values[c];
	else if (to->act == NN_TAIL_LEAKY)
		for (size_t c = 0; c < n; c++)
			values[c] = values[c] > 0 ? values[c] : to->slope * values[c];
	memcpy(to->y + at, values, n * sizeof *values);
}

void NN_K(int8_product)(const struct nn_int8 *d, size_t rows, const uint8_t *x,
			const struct nn_int8_row *row, size_t row_step, const void *weights,
			const struct nn_int8_to *to, size_t p0, size_t p1)
{
	const size_t all = d->panels * WIDTH;
	const float *const scales = (const float *)((const char *)weights + all * d->padded);
	const int32_t *const totals = (const int32_t *)(scales + all);
	int32_t sums[I8_ROWS * I8_PANELS * WIDTH];
	struct tile t = { .steps = d->padded / STEP,
			  .x_row = d->padded,
			  .panel = WIDTH * d->padded,
			  .sums = sums };
	for (size_t p = p0, wide; p < p1; p += wide) {
		for (wide = I8_PANELS; wide > p1 - p;)
			wide /= 2;
		t.w = (const int8_t *)weights + p * t.panel;
		for (size_t r = 0, n; r < rows; r += n) {
			n = rows - r < I8_ROWS ? rows - r : I8_ROWS;
			t.x = x + r * d->padded;
			tiles[wide][n](&t);
			for (size_t i = 0; i < n * wide; i++) {
				const size_t o = (p + i % wide) * WIDTH, line = r + i / wide;
				const struct nn_int8_row *own = row + line * row_step;
				const size_t at = line * to->step + o;
				if (d->out - o >= WIDTH)
					finish(sums + i * WIDTH, own, scales + o, totals + o, to,
					       at, o, WIDTH);
				else
					finish(sums + i * WIDTH, own, scales + o, totals + o, to,
					       at, o, d->out - o);
			}
		}
	}
}
