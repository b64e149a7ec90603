/*
 * The types of a model file: f16 and bf16 beside the nearest value found by comparison, int8 with
 * its scales, and what no type holds.
 */
#include "config.h"
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "file/convert.h"
#include "files.h"
#include "model/model.h"
#include "model/stored.h"
#include "nn.h"

#define TEXT \
	"input 2x5x5\nconv2d 4 3x3 groups=2\nbatchnorm group=32\nrelu\nflatten\ndense 6\nrelu\n" \
	"dense 3\n"
#define VALUES 3000 /* of a dense weight whose values are chosen */

static struct nn_net *net_of(const char *text)
{
	struct nn_error err;
	struct nn_net *net;

	if (nn_net_parse(&net, "net.nn", text, strlen(text), false, &err) < 0 ||
	    nn_net_resolve(net, NULL, NULL, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	return net;
}

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

/* ---- f16 and bf16 ---- */

static double half_value(enum nn_dtype dtype, uint16_t h)
{
	return (double)(dtype == NN_F16 ? nn_f16_to_f32(h) : nn_bf16_to_f32(h));
}

/* Is h the nearest one, of two the even one? Neighbours in magnitude are h - 1 and h + 1. */
static bool is_nearest(enum nn_dtype dtype, float value, uint16_t h)
{
	uint16_t infinite = dtype == NN_F16 ? 0x7c00 : 0x7f80, low = h & 0x7fff;
	double far = fabs((double)value - half_value(dtype, h));

	if (!signbit(value) != !(h & 0x8000) || low > infinite)
		return false;
	for (int side = -1; side <= 1; side += 2) {
		uint16_t other = (uint16_t)(h + side);
		double d;

		if ((low == 0 && side < 0) || (low >= infinite - 1 && side > 0))
			continue;
		d = fabs((double)value - half_value(dtype, other));
		if (d < far || (d == far && h & 1))
			return false;
	}
	return true;
}

/* Values where rounding is decided: on, just below and just above the middle of two halves. */
static void fill_middles(enum nn_dtype dtype, float *values)
{
	uint32_t random[4];

	for (size_t i = 0; i < VALUES; i++) {
		uint32_t most = dtype == NN_F16 ? 0x7bff : 0x7f7f, bits;
		float low, high, middle;
		uint16_t h;

		nn_philox(1, i, 2, 3, random);
		h = (uint16_t)(random[0] % most);
		low = (float)half_value(dtype, h);
		high = (float)half_value(dtype, (uint16_t)(h + 1));
		middle = low / 2 + high / 2;
		memcpy(&bits, &middle, 4);
		if (middle >= 0x1p-126f)
			middle = float_of(bits + random[1] % 3 - 1);
		values[i] = random[2] & 1 ? -middle : middle;
	}
}

static void halves(enum nn_dtype dtype)
{
	struct nn_net *net = net_of("input 1000\ndense 3 bias=no\n");
	float *values = nn_alloc(VALUES, sizeof *values, NULL);
	const void *params[] = { values };
	struct nn_error err = { 0 };
	struct nn_st *st = NULL;
	char claim[100];
	size_t wrong = 0;

	fill_middles(dtype, values);
	snprintf(claim, sizeof claim, "stored: %s is the nearest value, the even one of two",
		 nn_dtype_name(dtype));
	if (nn_stored_tensors(&st, nn_net_program(net), dtype, params, &err) == 0) {
		for (size_t i = 0; i < VALUES; i++)
			wrong += !is_nearest(dtype, values[i],
					     ((const uint16_t *)st->tensors[0].data)[i]);
		ok(st->tensors[0].dtype == dtype && wrong == 0, claim);
	} else {
		text_is(err.text, "", claim);
	}
	nn_st_free(st);
	nn_free(values);
	nn_net_free(net);
}

/* One value among the parameters of a small net. */
static int store_one(enum nn_dtype dtype, float value, uint16_t *half, struct nn_error *err)
{
	struct nn_net *net = net_of("input 2\ndense 1 bias=no\n");
	const float values[] = { value, 1 };
	const void *params[] = { values };
	struct nn_st *st;
	int status = nn_stored_tensors(&st, nn_net_program(net), dtype, params, err);

	if (status == 0) {
		if (half)
			*half = *(const uint16_t *)st->tensors[0].data;
		nn_st_free(st);
	}
	nn_net_free(net);
	return status;
}

static void ranges(void)
{
	struct nn_error err = { 0 };
	uint16_t h = 0;

	ok(store_one(NN_F16, 65519.99f, &h, &err) == 0 && h == 0x7bff &&
		   store_one(NN_F16, -65519.99f, &h, &err) == 0 && h == 0xfbff,
	   "stored: what rounds to the largest f16 is that");
	fails_as(store_one(NN_F16, 65520, NULL, &err), &err, NN_EFAIL,
		 "--precision=f16: tensor '0.weight': found 65520, the largest f16 is 65504; bf16 "
		 "has the range of f32",
		 "stored: the least f32 beyond f16 is refused");
	fails_as(store_one(NN_BF16, -3.4e38f, NULL, &err), &err, NN_EFAIL,
		 "--precision=bf16: tensor '0.weight': found -3.4e38, which rounds to no finite "
		 "bf16",
		 "stored: what rounds to no finite bf16 is refused");
	ok(store_one(NN_F16, INFINITY, &h, &err) == 0 && h == 0x7c00 &&
		   store_one(NN_BF16, -INFINITY, &h, &err) == 0 && h == 0xff80,
	   "stored: an infinite weight stays infinite");
	ok(store_one(NN_F16, NAN, &h, &err) == 0 && h == 0x7e00 &&
		   store_one(NN_BF16, NAN, &h, &err) == 0 && h == 0x7fc0,
	   "stored: NaN stays NaN");
	ok(store_one(NN_F16, 0x1p-25f, &h, &err) == 0 && h == 0 &&
		   store_one(NN_F16, 0x1.8p-24f, &h, &err) == 0 && h == 2,
	   "stored: the smallest f16 are subnormal, and rounded to even");
	fails_as(store_one(NN_I8, NAN, NULL, &err), &err, NN_EFAIL,
		 "--precision=int8: tensor '0.weight': found values that are not finite, for which "
		 "there is no scale",
		 "stored: NaN has no int8");
}

/* ---- int8 ---- */

/* A row of values, their scale and q: every q is a nearest one, and q * scale is exact. */
static bool row_is_right(const float *values, const int8_t *q, float scale, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		double far = fabs((double)values[i] - (double)q[i] * (double)scale);

		most = fabs((double)values[i]) > most ? fabs((double)values[i]) : most;
		if (q[i] == -128 || (double)((float)q[i] * scale) != (double)q[i] * (double)scale)
			return false;
		if (scale == 0 ? q[i] != 0 : far > (double)scale * 0.5001 && abs(q[i]) != 127)
			return false;
	}
	return most < 127 * 0x1p-126 ? scale == 0 : fabs((double)scale * 127 / most - 1) < 0x1p-17;
}

static void scaled(void)
{
	struct nn_net *net = net_of("input 100\ndense 30 bias=no\n");
	float *values = nn_alloc(VALUES, sizeof *values, NULL);
	const void *params[] = { values };
	struct nn_error err = { 0 };
	struct nn_st *st = NULL;
	uint32_t random[4];
	bool good;

	for (size_t i = 0; i < VALUES; i++) {
		nn_philox(4, i, 5, 6, random);
		values[i] = ldexpf((float)(int32_t)random[0], (int)(i / 100) * 8 - 150);
	}
	for (size_t i = 0; i < 100; i++)
		values[700 + i] = 0;
	good = nn_stored_tensors(&st, nn_net_program(net), NN_I8, params, &err) == 0 &&
	       st->n_tensors == 2 && strcmp(st->tensors[1].name, "0.weight_scale") == 0 &&
	       st->tensors[1].shape.rank == 2 && st->tensors[1].shape.dim[0] == 30 &&
	       st->tensors[1].shape.dim[1] == 1;
	for (size_t r = 0; good && r < 30; r++)
		good = row_is_right(values + 100 * r, (const int8_t *)st->tensors[0].data + 100 * r,
				    ((const float *)st->tensors[1].data)[r], 100);
	ok(good,
	   "stored: int8 is the nearest multiple of a scale of each output, and exact in f32");
	nn_st_free(st);
	nn_free(values);
	nn_net_free(net);
}

/* ---- files ---- */

static int write_as(const char *path, const struct nn_net *net, enum nn_dtype dtype,
		    void *const *params)
{
	struct nn_error err;
	struct nn_output *output;

	if (nn_output_open(&output, path, true, &err) < 0)
		return -1;
	if (nn_model_file_write(output, net, dtype, (const void *const *)params, NULL, NULL, NULL,
				&err) < 0) {
		nn_output_abort(output);
		return -1;
	}
	return nn_output_commit(output, &err);
}

/* Which tensors of the net above have which type. */
static bool types_are(const char *path, const char *wanted)
{
	char found[400] = "";
	struct nn_error err;
	struct nn_st *st;

	if (nn_st_read(&st, path, &err) < 0)
		return false;
	for (size_t i = 0; i < st->n_tensors; i++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s %s,",
			 st->tensors[i].name, nn_dtype_name(st->tensors[i].dtype));
	nn_st_free(st);
	if (strcmp(found, wanted) != 0)
		printf("# found: %s\n", found);
	return strcmp(found, wanted) == 0;
}

/* Rows become whole numbers too where weights are int8, so answers are near those of f32 values. */
static bool agree(enum nn_dtype dtype, const float *a, const float *b, size_t n)
{
	float gap = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		gap = fmaxf(gap, fabsf(a[i] - b[i]));
		most = fmaxf(most, fabsf(b[i]));
	}
	return dtype == NN_I8 ? gap > 0 && gap < 0.05f * most : memcmp(a, b, n * sizeof *a) == 0;
}

/* What a file of the type predicts is what its values as f32 predict. */
static void predicts(const struct nn_net *net, enum nn_dtype dtype, void **params)
{
	struct nn_model_file *file = NULL;
	struct nn_error err = { 0 };
	struct nn_model *small = NULL, *wide = NULL;
	float row[50], a[3], b[3];
	char claim[100];
	bool good;

	for (int i = 0; i < 50; i++)
		row[i] = (float)(i % 7) / 4 - 0.5f;
	snprintf(claim, sizeof claim, "stored: %s: nn.h computes with its values, %s",
		 nn_dtype_name(dtype), dtype == NN_I8 ? "and whole numbers" : "exactly");
	good = write_as("small", net, dtype, params) == 0 &&
	       nn_model_file_read(&file, "small", NULL, &err) == 0 && file->stored == dtype &&
	       file->dtype == NN_F32 && nn_model_file_params(file, NN_F32, params, &err) == 0 &&
	       write_as("wide", net, NN_F32, params) == 0 &&
	       (small = nn_model_open("small", &err)) && (wide = nn_model_open("wide", &err)) &&
	       nn_model_predict(small, row, 1, a, &err) == 0 &&
	       nn_model_predict(wide, row, 1, b, &err) == 0;
	ok(good && agree(dtype, a, b, 3), claim);
	snprintf(claim, sizeof claim, "stored: %s: written again it has the same bytes",
		 nn_dtype_name(dtype));
	ok(good && write_as("again", net, dtype, params) == 0 && system("cmp small again") == 0,
	   claim);
	nn_model_close(small);
	nn_model_close(wide);
	nn_model_file_free(file);
}

static void files(void)
{
	static const enum nn_dtype types[] = { NN_F16, NN_BF16, NN_I8 };
	struct nn_net *net = net_of(TEXT);
	struct nn_error err;

	for (size_t i = 0; i < 3; i++) {
		void **params = nn_params_new(nn_net_program(net), NN_F32, &err);

		if (nn_net_init(net, 7, NN_F32, params, &err) == 0)
			predicts(net, types[i], params);
		if (types[i] == NN_BF16)
			ok(types_are("small", "0.bias bf16,0.weight bf16,1.bias bf16,"
					      "1.running_mean f32,1.running_var f32,1.weight bf16,"
					      "4.bias bf16,4.weight bf16,6.bias bf16,"
					      "6.weight bf16,"),
			   "stored: bf16 leaves the statistics as they are");
		nn_free(params);
	}
	ok(types_are("small",
		     "0.bias f32,0.weight i8,0.weight_scale f32,1.bias f32,1.running_mean f32,"
		     "1.running_var f32,1.weight f32,4.bias f32,4.weight i8,4.weight_scale f32,"
		     "6.bias f32,6.weight i8,6.weight_scale f32,"),
	   "stored: int8 are weights of dense layers and convolutions alone");
	nn_net_free(net);
}

int main(void)
{
	go_to_tmp();
	halves(NN_F16);
	halves(NN_BF16);
	ranges();
	scaled();
	files();
	printf("1..%d\n", n_tests);
	leave_tmp();
	return n_failed != 0;
}
