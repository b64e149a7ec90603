/* Augmentation: what becomes of pictures, masks and classes, and that it depends on epoch and sample alone. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/augment/augment-inside.h"
#include "data/loader.h"
#include "tap.h"

#define ROWS 24
#define H 9
#define W 12
#define C 3
#define N (C * H * W)
#define CLASSES 4

/* ---- a source: value of a pixel, its class in a mask, the class of a sample ---- */

static double value(uint64_t row, int c, int y, int x)
{
	return (double)((row * 31 + (uint64_t)(c * 97 + y * 17 + x * 5)) % 251) / 251 + 0.01;
}

static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n, bool last,
		      void *values, struct nn_error *err)
{
	float *to = values;

	(void)input;
	(void)err;
	for (size_t r = 0; r < n; r++, to += N)
		for (int c = 0; c < C; c++)
			for (int y = 0; y < H; y++)
				for (int x = 0; x < W; x++)
					to[last ? (y * W + x) * C + c : (c * H + y) * W + x] =
						data ? (float)x + 1
						     : (float)value(rows[r], c, y, x);
	return 0;
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n, void *values,
		       struct nn_error *err)
{
	int32_t *to = values;

	(void)data;
	(void)err;
	for (size_t r = 0; r < n; r++)
		if (target == 0)
			*to++ = (int32_t)(rows[r] % CLASSES);
		else if (target == 1)
			for (int i = 0; i < H * W; i++)
				*to++ = data ? i % W + 1
					     : (int32_t)lrint(value(rows[r], 0, i / W, i % W) * 1e6);
		else
			fill_input(data, 0, &rows[r], 1, true, (float *)values + r * N, err);
	return 0;
}

static const struct nn_source_ops ops = { .fill_input = fill_input, .fill_target = fill_target };

/* ---- a batch of all rows ---- */

static uint64_t rows[ROWS];
static float whole[ROWS][N], other[ROWS][N];
static int32_t masks[ROWS][H * W];
static struct nn_batch batch;

static struct nn_augment *open(const char *list, enum nn_dtype dtype)
{
	static struct nn_input_schema input = { .shape = { .rank = 3, .dim = { C, H, W } } };
	const struct nn_augment_target targets[] = {
		{ { .rank = 1, .dim = { CLASSES } }, true, 1 },
		{ { .rank = 3, .dim = { 2, H, W } }, true, H * W },
		{ { .rank = 3, .dim = { C, H, W } }, false, N },
	};
	bool mixes = strstr(list, "mixup") != NULL;
	const struct nn_augment_options options = { .list = list,
						    .inputs = &input,
						    .n_inputs = 1,
						    .targets = targets,
						    .n_targets = mixes ? 1 : 3,
						    .dtype = dtype,
						    .seed = 5 };
	struct nn_augment *a = NULL;
	struct nn_error err;

	if (nn_augment_new(&a, &options, &err) < 0)
		note("%s", err.text);
	for (uint64_t i = 0; i < ROWS; i++)
		rows[i] = (i * 7 + 3) % ROWS;
	batch = (struct nn_batch){ .source = { &ops, NULL, ROWS }, .augment = a, .epoch = 2, .rows = rows, .n = ROWS };
	return a;
}

static void fill(bool last, size_t piece, float (*to)[N])
{
	struct nn_error err;
	struct nn_place place = { .row_bytes = sizeof *to, .copies = 1, .channels_last = last };

	for (size_t at = 0; at < ROWS; at += piece) {
		place.values = to[at];
		nn_batch_input(&batch, 0, at, ROWS - at < piece ? ROWS - at : piece, &place, NULL, &err);
	}
}

static float at(const float *row, bool last, int c, int y, int x)
{
	return row[last ? (y * W + x) * C + c : (c * H + y) * W + x];
}

/* ---- places ---- */

static bool is_moved(size_t r, int dy, int dx, bool flip)
{
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) {
			int v = y + dy, u = x + dx;
			bool inside = v >= 0 && v < H && u >= 0 && u < W;

			u = flip ? W - 1 - u : u;
			if (masks[r][y * W + x] !=
			    (inside ? (int32_t)lrint(value(rows[r], 0, v, u) * 1e6) : NN_CLASS_IGNORED))
				return false;
			for (int c = 0; c < C; c++)
				if (at(whole[r], true, c, y, x) !=
				    (inside ? (float)value(rows[r], c, v, u) : 0))
					return false;
		}
	return true;
}

static void test_places(void)
{
	struct nn_augment *a = open("flip,crop=2", NN_F32);
	struct nn_error err;
	int moves[5][5][2] = { { { 0 } } }, found = 0, different = 0;
	bool alike = true;

	fill(true, ROWS, whole);
	nn_batch_target(&batch, 1, 0, ROWS, masks, &err);
	for (size_t r = 0; r < ROWS; r++)
		for (int k = 0; k < 50; k++)
			if (is_moved(r, k / 10 - 2, k / 2 % 5 - 2, k % 2)) {
				different += moves[k / 10][k / 2 % 5][k % 2]++ == 0;
				found++;
			}
	ok(found == ROWS, "flip,crop=2: a picture and its mask are shifted by up to 2 and flipped alike, outside is 0 and ignored");
	ok(different > 15, "they are so in many ways (%d of 50)", different);
	nn_batch_target(&batch, 2, 0, ROWS, other, &err);
	ok(memcmp(whole, other, sizeof whole) == 0, "a picture that is a target moves as its input");
	fill(false, 5, other);
	for (size_t r = 0; r < ROWS; r++)
		for (int i = 0; i < N; i++)
			alike &= at(whole[r], true, i % C, i / C / W, i / C % W) ==
				 at(other[r], false, i % C, i / C / W, i / C % W);
	ok(alike, "channels first and last, all at once and in pieces are the same");
	batch.epoch = 3;
	fill(true, ROWS, other);
	ok(memcmp(whole, other, sizeof whole) != 0, "another epoch is another way");
	ok(nn_augment_masks(a, 1) && !nn_augment_masks(a, 0), "masks get pixels without a class");
	nn_augment_free(a);
}

/* Where each pixel tells its column the picture and the mask say the same place. */
static void test_turns(void)
{
	struct nn_augment *a = open("flip,rotate=30,scale=0.3,crop=1", NN_F32);
	struct nn_error err;
	int inside = 0, wrong = 0;

	batch.source.data = "columns";
	fill(true, 7, whole);
	nn_batch_target(&batch, 1, 0, ROWS, masks, &err);
	for (size_t r = 0; r < ROWS; r++)
		for (int i = 0; i < H * W; i++)
			if (masks[r][i] > 1 && masks[r][i] < W) {
				float v = whole[r][i * C], down = fabsf(v - (float)masks[r][i]);

				inside++;
				/* at the upper and lower border a part is outside */
				wrong += down > 0.501f && v > (float)masks[r][i];
				wrong += v != whole[r][i * C + 1];
			}
	ok(wrong == 0 && inside > ROWS * H * W / 2, "rotate, scale: picture and mask come from the same place (%d wrong of %d)", wrong, inside);
	nn_augment_free(a);
}

/* ---- colours ---- */

static void test_colours(void)
{
	struct nn_augment *a = open("brightness=0.3", NN_F32);
	double least = 2, most = 0, off = 0, sum = 0, squares = 0;
	bool even = true;

	fill(true, ROWS, whole);
	for (size_t r = 0; r < ROWS; r++) {
		double factor = whole[r][0] / value(rows[r], 0, 0, 0);

		for (int i = 0; i < H * W; i++)
			even &= fabs(whole[r][i * C] / value(rows[r], 0, i / W, i % W) - factor) < 1e-5;
		least = factor < least ? factor : least;
		most = factor > most ? factor : most;
	}
	ok(even && least > 0.7 && most < 1.3 && most - least > 0.3, "brightness=0.3: values times 0.7 to 1.3 (%.3f to %.3f)", least, most);
	nn_augment_free(a);
	a = open("contrast=0.5", NN_F32);
	fill(true, ROWS, whole);
	batch.augment = NULL;
	fill(true, ROWS, other);
	for (size_t r = 0; r < ROWS; r++) {
		double mean = 0;

		for (int i = 0; i < N; i++)
			mean += (whole[r][i] - other[r][i]) / N;
		off = fabs(mean) > off ? fabs(mean) : off;
		even &= whole[r][0] != other[r][0];
	}
	ok(even && off < 1e-4, "contrast=0.5: each mean stays (%.2g off)", off);
	nn_augment_free(a);
	a = open("noise=0.25", NN_F32);
	fill(true, ROWS, whole);
	for (size_t r = 0; r < ROWS; r++)
		for (int i = 0; i < N; i++) {
			double d = whole[r][i] - other[r][i];

			sum += d;
			squares += d * d;
		}
	sum /= ROWS * N;
	squares = sqrt(squares / (ROWS * N));
	ok(fabs(sum) < 0.01 && fabs(squares - 0.25) < 0.01, "noise=0.25: mean %.4f, deviation %.4f", sum, squares);
	nn_augment_free(a);
	a = open("cutout=4", NN_F32);
	fill(true, ROWS, whole);
	off = 0;
	for (size_t r = 0; r < ROWS; r++) {
		int cut = 0;

		for (int i = 0; i < N; i++)
			cut += whole[r][i] != other[r][i];
		off += cut == 16 * C;
		even &= cut > 0 && cut <= 16 * C;
	}
	ok(even && off > ROWS / 4, "cutout=4: a square of at most 4x4 is 0");
	nn_augment_free(a);
}

/* ---- mixtures ---- */

static void test_mixup(void)
{
	struct nn_augment *a = open("mixup=0.5", NN_F32);
	float classes[ROWS][CLASSES];
	struct nn_error err;
	bool sums = true, mixed = true;
	double area = 0, far = 0;

	fill(true, 1, whole);
	nn_batch_target(&batch, 0, 0, 11, classes, &err);
	nn_batch_target(&batch, 0, 11, ROWS - 11, classes + 11, &err);
	batch.augment = NULL;
	fill(true, ROWS, other);
	for (size_t r = 0; r < ROWS; r++) {
		struct nn_drawn d = nn_augment_draw(a, 2, rows[r]);
		size_t with = (size_t)(d.partner * ROWS);
		float sum = 0;

		for (int c = 0; c < CLASSES; c++)
			sum += classes[r][c];
		sums &= fabsf(sum - 1) < 1e-6f && classes[r][rows[r] % CLASSES] >= 0.5f &&
			fabs(classes[r][rows[with] % CLASSES] -
			     (rows[with] % CLASSES == rows[r] % CLASSES ? 1 : 1 - d.share)) < 1e-6;
		for (int i = 0; i < N; i++)
			mixed &= fabs(whole[r][i] - d.share * other[r][i] - (1 - d.share) * other[with][i]) < 1e-6;
	}
	ok(mixed, "mixup: pictures are the sum of their shares");
	ok(sums, "mixup: classes are probabilities, at least half of which is the own");
	for (double u = 0.003; u < 1; u += 0.01)
		for (double b = 0.1; b < 5; b *= 1.7) {
			double off = nn_augment_root(u, b) / pow(u, 1 / b) - 1;

			far = fabs(off) > far ? fabs(off) : far;
		}
	ok(far < 1e-12, "roots are those of libm (%.2g off)", far);
	nn_augment_free(a);
	a = open("mixup=1", NN_F32);
	for (uint64_t i = 0; i < 4000; i++)
		area += nn_augment_draw(a, 1, i).share / 4000;
	ok(fabs(area - 0.75) < 0.01, "mixup=1: shares are even between a half and 1 (mean %.4f)", area);
	nn_augment_free(a);
}

int main(void)
{
	test_places();
	test_turns();
	test_colours();
	test_mixup();
	return tap_done();
}
