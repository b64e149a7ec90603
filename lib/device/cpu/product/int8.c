/* Rows and weights as bytes, and their products. */
#include <string.h>

#include "base/int8.h"
#include "device/cpu/int8.h"
#include "device/cpu/product/bytes.h"

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

/* ---- a tile: rows times panels ---- */

struct tile {
	size_t steps, x_row, panel; /* bytes from row to row, from panel to panel */
	const uint8_t *x;
	const int8_t *w;
	int32_t *sums; /* [rows][panels][16] */
};

I8_TARGET static inline __attribute__((always_inline)) void
products(const struct tile *t, const int rows, const int panels, const int way)
{
	(void)way;
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
				sum[i * n + v] = byte_dot(sum[i * n + v], x, w[v], way);
		}
	}
	NN_UNROLL
	for (int v = 0; v < rows * n; v++)
		byte_store(t->sums + v * I8_LANES, sum[v]);
}

#ifdef NN_ISA_neon
/* Two steps, or the last one alone, of a panel by pairs of rows; without a partner a row is its
 * own. */
static inline __attribute__((always_inline)) void
step_of_pairs(const struct tile *t, size_t k, const size_t steps, const int rows, i8v *sum)
{
	const int8_t *const from = t->w + k * WIDTH * STEP;
	int8x16_t w[2 * I8_VECTORS];
	NN_UNROLL
	for (int v = 0; v < I8_VECTORS; v++) {
		const i8v a = byte_load(from + v * I8_LANES * (int)STEP);
		const i8v b = steps == 1
				      ? vdupq_n_s32(0)
				      : byte_load(from + (v + I8_VECTORS) * I8_LANES * (int)STEP);
		w[2 * v] = vreinterpretq_s8_s32(vzip1q_s32(a, b));
		w[2 * v + 1] = vreinterpretq_s8_s32(vzip2q_s32(a, b));
	}
	NN_UNROLL
	for (int i = 0; i < rows; i += 2) {
		const uint8_t *const at = t->x + (size_t)i * t->x_row + k * STEP;
		uint64_t two[2] = { 0 };
		memcpy(&two[0], at, steps * STEP);
		memcpy(&two[1], at + (i + 1 < rows ? t->x_row : 0), steps * STEP);
		const int8x16_t x = vcombine_s8(vcreate_s8(two[0]), vcreate_s8(two[1]));
		NN_UNROLL
		for (int v = 0; v < 2 * I8_VECTORS; v++)
			sum[i * I8_VECTORS + v] = byte_pairs(sum[i * I8_VECTORS + v], x, w[v]);
	}
}

static inline __attribute__((always_inline)) void products_of_pairs(const struct tile *t,
								    const int rows)
{
	i8v sum[(I8_ROWS + 1) / 2 * 2 * I8_VECTORS] = { 0 }; /* [pairs][out-channels / 2] */
	size_t k = 0;
	for (; k + 2 <= t->steps; k += 2)
		step_of_pairs(t, k, 2, rows, sum);
	if (k < t->steps)
		step_of_pairs(t, k, 1, rows, sum);
	NN_UNROLL
	for (int i = 0; i < rows * I8_VECTORS; i++) {
		const int first = i / (2 * I8_VECTORS) * 2 * I8_VECTORS + i % I8_VECTORS * 2;
		const int64x2_t a = vreinterpretq_s64_s32(sum[first]),
				b = vreinterpretq_s64_s32(sum[first + 1]);
		byte_store(t->sums + i * I8_LANES,
			   vreinterpretq_s32_s64(i / I8_VECTORS % 2 ? vzip2q_s64(a, b)
								    : vzip1q_s64(a, b)));
	}
}
#endif

#define TILE(rows, panels, way) \
	I8_TARGET static void tile_##rows##_##panels##_##way(const struct tile *t) \
	{ \
		products(t, rows, panels, way); \
	}
#if I8_ROWS == 6
#define TILES(T, panels, way) \
	T(1, panels, way) \
	T(2, panels, way) T(3, panels, way) T(4, panels, way) T(5, panels, way) T(6, panels, way)
#elif I8_ROWS == 4
#define TILES(T, panels, way) \
	T(1, panels, way) T(2, panels, way) T(3, panels, way) T(4, panels, way)
#else
#define TILES(T, panels, way) T(1, panels, way)
#endif
#define NAME(rows, panels, way) [rows] = tile_##rows##_##panels##_##way,
TILES(TILE, 1, 0)
#if I8_PANELS == 4
TILES(TILE, 2, 0)
TILES(TILE, 4, 0)
#endif
#if I8_WAYS == 3
TILES(TILE, 1, 1)
#define PAIRS(rows) \
	static void tile_##rows##_1_2(const struct tile *t) \
	{ \
		products_of_pairs(t, rows); \
	}
PAIRS(2)
PAIRS(3)
PAIRS(4)
#endif

typedef void tile_function(const struct tile *t);
static tile_function *const tiles[I8_WAYS][I8_PANELS + 1][I8_ROWS + 1] = {
	[0][1] = { TILES(NAME, 1, 0) },
#if I8_PANELS == 4
	[0][2] = { TILES(NAME, 2, 0) },
	[0][4] = { TILES(NAME, 4, 0) },
#endif
#if I8_WAYS == 3
	[1][1] = { TILES(NAME, 1, 1) },
	[2][1] = { NAME(1, 1, 1) NAME(2, 1, 2) NAME(3, 1, 2) NAME(4, 1, 2) },
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
	tile_function *const(*const tile)[I8_ROWS + 1] = tiles[i8_way()];
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
			tile[wide][n](&t);
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
