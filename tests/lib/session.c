/*
 * Sessions and models of nn.h: the same bytes alone, in batches, from sessions of any size, from
 * many threads at once.
 */
#include "config.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/pool.h"
#include "base/text.h"
#include "model/model.h"
#include "predict/emit.h"
#include "predict/idle.h"
#include "tap.h"

#define ROWS 37
#define IN (3 * 9 * 9)
#define OUT 5

static float rows[ROWS * IN], whole[ROWS * OUT];

/* The same weights each time; nn.input and nn.target, or NULL. */
static struct nn_model *make_of(const char *text, const char *input_json, const char *target_json)
{
	struct nn_shape input = nn_shape3(3, 9, 9);
	struct nn_error err;
	struct nn_net *net;
	struct nn_output *output;
	struct nn_model *model;
	char path[] = "/tmp/nn-session.XXXXXX";
	size_t open = 0;
	void **params;

	if (nn_net_parse(&net, "-m", text, strlen(text), true, &err) < 0 ||
	    nn_net_resolve(net, &input, &open, &err) < 0)
		return NULL;
	params = nn_params_new(nn_net_program(net), NN_F32, &err);
	close(mkstemp(path));
	if (!params || nn_net_init(net, 7, NN_F32, params, &err) < 0 ||
	    nn_output_open(&output, path, true, &err) < 0 ||
	    nn_model_file_write(output, net, NN_F32, (const void *const *)params, input_json,
				target_json, NULL, &err) < 0 ||
	    nn_output_commit(output, &err) < 0)
		return NULL;
	model = nn_model_open(path, &err);
	unlink(path);
	nn_free(params);
	nn_net_free(net);
	return model;
}

static struct nn_model *make_model(const char *input_json, const char *target_json)
{
	return make_of("input 3x9x9, conv2d 8 3x3 pad=1, batchnorm, relu, maxpool2d 2, flatten, "
		       "dense 17, gelu, dense 5",
		       input_json, target_json);
}

static bool one_by_one(const struct nn_model *model)
{
	float out[OUT];

	for (int r = 0; r < ROWS; r++)
		if (nn_model_predict(model, rows + r * IN, 1, out, NULL) < 0 ||
		    memcmp(out, whole + r * OUT, sizeof out) != 0)
			return false;
	return true;
}

static bool session_agrees(const struct nn_model *model, size_t max_rows, int threads)
{
	struct nn_session_options options = { .size = sizeof options,
					      .max_rows = max_rows,
					      .threads = threads };
	struct nn_session *s = nn_session_open(model, &options, NULL);
	float out[ROWS * OUT], *to = out;
	const float *from = rows;
	bool same = s && nn_session_predict(s, &from, ROWS, &to, NULL) == 0 &&
		    memcmp(out, whole, sizeof out) == 0;

	nn_session_close(s);
	return same;
}

static void *in_thread(void *argument)
{
	const struct nn_model *model = argument;

	for (int i = 0; i < 20; i++)
		if (!one_by_one(model))
			return NULL;
	return argument;
}

/* (x 4 + m - m) / 4 is x but for roundings. */
static bool agree(const float *a, const float *b)
{
	for (int i = 0; i < ROWS * OUT; i++)
		if (!(fabsf(a[i] - b[i]) <= 1e-5f))
			return false;
	return true;
}

static bool many_threads(struct nn_model *model)
{
	pthread_t threads[4];
	bool same = true;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, in_thread, model);
	for (int i = 0; i < 4; i++) {
		void *result;

		pthread_join(threads[i], &result);
		same &= result != NULL;
	}
	return same;
}

static bool doubles_agree(const struct nn_model *model)
{
	struct nn_session_options options = { .size = sizeof options };
	struct nn_session *s = nn_session_open(model, &options, NULL);
	static double in[ROWS * IN], out[ROWS * OUT];
	const double *from = in;
	double *to = out;
	bool same = s != NULL;

	for (int i = 0; i < ROWS * IN; i++)
		in[i] = rows[i];
	same = same && nn_session_predict_f64(s, &from, ROWS, &to, NULL) == 0;
	for (int i = 0; i < ROWS * OUT; i++)
		same &= (float)out[i] == whole[i];
	nn_session_close(s);
	return same;
}

/* Numbers come in the units of the target: value * sd + mean, column by column. */
static bool units_agree(void)
{
	struct nn_model *model =
		make_model(NULL, "{\"columns\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"labels\":null,"
				 "\"mean\":[1,2,3,4,5],\"sd\":[2,4,8,16,32]}");
	float out[ROWS * OUT];
	bool same = model && nn_model_predict(model, rows, ROWS, out, NULL) == 0;

	for (int i = 0; i < ROWS * OUT && same; i++)
		same = out[i] == whole[i] * (float)(2 << i % OUT) + (float)(1 + i % OUT);
	nn_model_close(model);
	return same;
}

/* nn.input of 3x9x9 numbers, value i with mean i % 7 and deviation 4, filled with i % 5. */
static void columns_json(struct nn_text *json)
{
	nn_text_add(json, "{\"columns\":[");
	for (int i = 0; i < IN; i++)
		nn_text_addf(json, "%s{\"kind\":\"number\",\"mean\":%d,\"missing\":%d,\"sd\":4}",
			     i ? "," : "", i % 7, i % 5);
	nn_text_add(json, "],\"shape\":[3,9,9]}");
}

/*
 * Columns with means and deviations: rows in units of the data, channels last inside; what is nan
 * is filled before.
 */
static void columns_agree(void)
{
	struct nn_text json = { 0 };
	struct nn_model *model = (columns_json(&json), make_model(json.data, NULL));
	struct nn_session_options options = { .size = sizeof options };
	struct nn_session *s = model ? nn_session_open(model, &options, NULL) : NULL;
	static float in[ROWS * IN], out[ROWS * OUT], again[ROWS * OUT];
	static double doubles[ROWS * IN], results[ROWS * OUT];
	const double *from = doubles;
	double *to = results;
	bool same = s != NULL;

	for (int i = 0; i < ROWS * IN; i++)
		in[i] = rows[i] * 4 + (float)(i % IN % 7);
	ok(same && nn_model_predict(model, in, ROWS, out, NULL) == 0 && agree(out, whole),
	   "session: columns are scaled, in images too");
	for (int i = 0; i < ROWS * IN; i += 3)
		in[i] = (float)(i % IN % 5);
	same = same && nn_model_predict(model, in, ROWS, out, NULL) == 0;
	for (int i = 0; i < ROWS * IN; i++)
		doubles[i] = i % 3 ? in[i] : NAN;
	for (int i = 0; i < ROWS * IN; i += 3)
		in[i] = NAN;
	ok(same && nn_model_predict(model, in, ROWS, again, NULL) == 0 &&
		   memcmp(out, again, sizeof out) == 0,
	   "session: nan becomes what the model fills a missing number with");
	same = same && nn_session_predict_f64(s, &from, ROWS, &to, NULL) == 0;
	for (int i = 0; i < ROWS * OUT; i++)
		same &= (float)results[i] == out[i];
	ok(same, "session: nan in float64 too");
	nn_session_close(s);
	nn_model_close(model);
	nn_text_free(&json);
}

/* ---- batches of several callers ---- */

static struct nn_session *batch_session(const struct nn_model *model, size_t max_rows)
{
	struct nn_session_setup setup = { .model = model, .max_rows = max_rows };
	struct nn_session *s = NULL;

	return nn_session_new(&s, &setup, NULL) == 0 ? s : NULL;
}

/* Row `row` as a graph holds it: channels last. */
static void place_row(struct nn_session *s, size_t at, int row)
{
	bool channels_last;
	float *to = nn_session_place(s, 0, at, &channels_last);

	for (int i = 0; i < IN; i++)
		to[channels_last ? i % 81 * 3 + i / 81 : i] = rows[row * IN + i];
}

/* Are results at..at + n - 1 of the last run those of rows from..? */
static bool has(const struct nn_session *s, size_t at, size_t n, int from)
{
	float out[ROWS * OUT];
	double doubles[ROWS * OUT];
	bool same;

	nn_session_get(s, 0, at, n, out, NN_F32);
	nn_session_get(s, 0, at, n, doubles, NN_F64);
	same = memcmp(out, whole + from * OUT, n * OUT * sizeof *out) == 0;
	for (size_t i = 0; i < n * OUT; i++)
		same &= doubles[i] == whole[(size_t)from * OUT + i];
	return same;
}

static void batches_agree(const struct nn_model *model)
{
	struct nn_session *s = batch_session(model, 12);
	static double doubles[4 * IN];

	for (int i = 0; i < 4 * IN; i++)
		doubles[i] = rows[7 * IN + i];
	if (s) {
		nn_session_put(s, 0, 5, 4, doubles, NN_F64);
		nn_session_put(s, 0, 0, 5, rows + 20 * IN, NN_F32);
		place_row(s, 9, 3);
		place_row(s, 10, 30);
		nn_session_run(s, 11, NULL);
	}
	ok(s && has(s, 0, 5, 20) && has(s, 5, 4, 7) && has(s, 9, 1, 3) && has(s, 10, 1, 30),
	   "session: rows that several callers put into one batch have the bytes they have alone");
	nn_session_close(s);
}

/* What is emitted of rows in the middle of a batch. */
static void emitted_agrees(const struct nn_model *model)
{
	struct nn_session *s = batch_session(model, ROWS);
	struct nn_emitted logits, probabilities;
	bool same = s && nn_emitted_open(&logits, model, 0, "logits", ROWS, NULL) == 0 &&
		    nn_emitted_open(&probabilities, model, 0, "probs", ROWS, NULL) == 0;

	if (same) {
		nn_session_lend(s, 0, ROWS, rows, NN_F32);
		nn_session_run(s, ROWS, NULL);
		nn_emitted_take(&logits, s, 11, 4);
		nn_emitted_take(&probabilities, s, 11, 4);
	}
	for (size_t r = 0; r < 4 && same; r++) {
		double sum = 0;

		for (size_t c = 0; c < OUT; c++) {
			same &= nn_emitted_value(&logits, r, 0, c) == whole[(11 + r) * OUT + c];
			sum += nn_emitted_value(&probabilities, r, 0, c);
		}
		same &= fabs(sum - 1) < 1e-6;
		same &= nn_emitted_best(&logits, r, 0) == nn_emitted_best(&probabilities, r, 0);
	}
	ok(same, "session: what is emitted can be some rows of a batch");
	if (s) {
		nn_emitted_close(&logits);
		nn_emitted_close(&probabilities);
	}
	nn_session_close(s);
}

/* A net that takes rows as they are, so that they can be read where they lie. */
static void lent_rows_agree(void)
{
	static const char text[] = "input 7, dense 3";
	struct nn_net *net = NULL;
	struct nn_error err;
	void **params = NULL;
	struct nn_model_source source = { 0 };
	struct nn_model *model = NULL;
	struct nn_session *s = NULL;
	float in[4 * 7], out[12], again[12];

	for (int i = 0; i < 28; i++)
		in[i] = (float)(i * i % 11);
	if (nn_net_parse(&net, "-m", text, strlen(text), true, &err) == 0 &&
	    nn_net_resolve(net, NULL, NULL, &err) == 0 &&
	    (params = nn_params_new(nn_net_program(net), NN_F32, &err)) &&
	    nn_net_init(net, 3, NN_F32, params, &err) == 0) {
		source.net = net;
		source.params = (const void *const *)params;
		if (nn_model_load(&model, &source, &err) == 0)
			s = batch_session(model, 4);
	}
	if (s) {
		nn_session_lend(s, 0, 4, in, NN_F32);
		nn_session_run(s, 4, NULL);
		nn_session_get(s, 0, 0, 4, out, NN_F32);
		nn_session_put(s, 0, 0, 4, in, NN_F32);
		memset(in, 0, sizeof in);
		nn_session_run(s, 4, NULL);
		nn_session_get(s, 0, 0, 4, again, NN_F32);
	}
	ok(s && memcmp(out, again, sizeof out) == 0,
	   "session: rows lent for one run are not those of the next");
	nn_session_close(s);
	nn_model_close(model);
	nn_free(params);
	nn_net_free(net);
}

static void idle_sessions_are_bounded(const struct nn_model *model)
{
	int most = nn_cpu_count(), given = 2 * most + 3, n = 0;
	struct nn_session *s;

	while (given-- > 0)
		if ((s = nn_session_open(model, NULL, NULL)))
			nn_idle_give(model->idle, s);
	while ((s = nn_idle_take(model->idle))) {
		nn_session_close(s);
		n++;
	}
	ok(n == most, "session: no more sessions wait for callers than there are processors");
}

/* Of subnormal rows, which a caller may have whose unit flushes none: zeros, and its mode is back.
 */
static bool subnormals_are_zeros(void)
{
	enum { CHANNELS = 3 };
	static float in[IN];
	static volatile float least = 0x1p-126f;
	struct nn_session_options options = { .size = sizeof options };
	struct nn_model *model = make_of("input 3x9x9, maxpool2d 9, flatten", NULL, NULL);
	struct nn_session *s = model ? nn_session_open(model, &options, NULL) : NULL;
	const float *from = in;
	float alone[CHANNELS] = { 2, 2, 2 }, given[CHANNELS] = { 2, 2, 2 }, *to = given;
	bool good;

	for (int i = 0; i < IN; i++)
		in[i] = i < 2 * 81 ? 0x1p-127f / (float)(i + 1) : 1;
	good = s && nn_model_predict(model, in, 1, alone, NULL) == 0 && least / 2 > 0 &&
	       nn_session_predict(s, &from, 1, &to, NULL) == 0 && least / 2 > 0;
	for (int i = 0; i < CHANNELS; i++)
		good &= alone[i] == (i == 2) && given[i] == (i == 2);
	nn_session_close(s);
	nn_model_close(model);
	return good;
}

int main(void)
{
	struct nn_model *model = make_model(NULL, NULL);
	struct nn_session_options unset = { 0 };
	struct nn_error err = { 0 };

	for (int i = 0; i < ROWS * IN; i++)
		rows[i] = (float)((unsigned)i * 2654435761u >> 8 & 0xffff) / 65536 - 0.5f;
	ok(model != NULL, "session: a model file opens");
	if (!model)
		return tap_done();
	ok(nn_model_inputs(model) == IN && nn_model_outputs(model) == OUT,
	   "session: values per row are those of the text");
	ok(nn_model_predict(model, rows, ROWS, whole, &err) == 0,
	   "session: rows are predicted without a session");
	ok(one_by_one(model), "session: a row alone has the bytes it has among others");
	for (size_t max = 1; max <= 64; max = max * 3 + 1)
		ok(session_agrees(model, max, 1) && session_agrees(model, max, 3),
		   "session: %zu rows at once, with one thread and three, give the same bytes",
		   max);
	ok(many_threads(model), "session: four threads of the caller's own give the same bytes");
	ok(doubles_agree(model), "session: float64 in and out gives the same values");
	columns_agree();
	batches_agree(model);
	emitted_agrees(model);
	lent_rows_agree();
	idle_sessions_are_bounded(model);
	ok(units_agree(), "session: numbers come in the units of the target");
	ok(subnormals_are_zeros(),
	   "session: subnormal numbers are zeros, and the caller's are not");
	ok(nn_session_open(model, &unset, &err) == NULL && err.code == NN_EUSAGE,
	   "session: options without their size are refused");
	ok(nn_model_open("/nonexistent", &err) == NULL && err.code == NN_EFAIL,
	   "session: a missing file is an error");
	nn_session_close(NULL);
	nn_model_close(NULL);
	nn_model_close(model);
	return tap_done();
}
