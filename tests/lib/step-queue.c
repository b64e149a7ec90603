/*
 * What a step asks of a device with memory of its own: one wait, a recording that is replayed, the
 * next batch on its way meanwhile.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "device/apart.h"
#include "model/model.h"
#include "predict/session.h"
#include "step/step.h"
#include "tap.h"

#define ROWS 40
#define BATCH 16

static const struct nn_device *device;
static struct nn_apart *apart;
static struct nn_error err;
static uint64_t order[ROWS];

/* ---- what was asked, as letters of apart.h: of the step's queue, of others in small letters ----
 */

static char seen[4096];
static size_t n_seen;
static const struct nn_queue *own;

static void see(char what, const struct nn_queue *queue)
{
	if (n_seen < sizeof seen - 1)
		seen[n_seen++] = queue == own ? what : (char)(what - 'A' + 'a');
}

static size_t count(char what)
{
	size_t n = 0;

	for (size_t i = 0; i < n_seen; i++)
		n += seen[i] == what;
	return n;
}

/* ---- a step ---- */

struct trained {
	struct nn_net *net;
	struct nn_step *step;
	struct nn_dataset *dataset;
	struct nn_step_result result;
};

/* of networks with at most two outputs */
static struct nn_loss_spec losses[] = { { .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 },
					{ .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 } };
static double weights[] = { 1, 1 };

static bool resident; /* rows stay on the device */

static struct nn_step_options options(struct nn_dataset *dataset, enum nn_optimizer_kind kind)
{
	return (struct nn_step_options){
		.device = device,
		.dataset = dataset,
		.rows = ROWS,
		.batch = BATCH,
		.leaves = 4,
		.micro = 4,
		.losses = losses,
		.weights = weights,
		.count = true,
		.resident = resident,
		.optimizer = { .kind = kind, .momentum = 0.9, .clip_norm = 0.1 },
	};
}

/* Of rows of different length; NULL: they are all of one. */
static int (*lengths_of_rows)(const void *data, const uint64_t *rows, size_t n, uint32_t *to,
			      struct nn_error *e);

/* How often rows of an input were asked for. */
static size_t n_filled;
static int (*fill)(const void *data, size_t input, const uint64_t *rows, size_t n,
		   bool channels_last, void *values, struct nn_error *e);

static bool spoils; /* the first row of batches of even number is not finite */

static int count_fill(const void *data, size_t input, const uint64_t *rows, size_t n,
		      bool channels_last, void *values, struct nn_error *e)
{
	int status = fill(data, input, rows, n, channels_last, values, e);

	n_filled++;
	if (spoils && rows[0] == order[0])
		*(float *)values = INFINITY;
	return status;
}

static void give_source(struct nn_dataset *dataset)
{
	static struct nn_source_ops ops;
	struct nn_source source = nn_dataset_source(dataset);

	ops = *source.ops;
	fill = ops.fill_input;
	ops.fill_input = count_fill;
	ops.lengths = lengths_of_rows;
	source.ops = &ops;
	dataset->source = source;
}

static bool begin(struct trained *t, const char *text, size_t categories,
		  enum nn_optimizer_kind kind)
{
	struct nn_shape shape = nn_shape1(3);
	struct nn_made_target targets[] = { { 1, 2 }, { 1, 2 } };
	struct nn_made made = { ROWS, &shape, &categories, 1, targets, 2, NN_F32, 1 };
	struct nn_step_options o;
	void *params[16];

	*t = (struct trained){ 0 };
	if (nn_dataset_make(&t->dataset, &made, &err) < 0)
		return false;
	give_source(t->dataset);
	if (nn_net_parse(&t->net, "-m", text, strlen(text), false, &err) < 0 ||
	    nn_net_resolve(t->net, NULL, NULL, &err) < 0)
		return false;
	o = options(t->dataset, kind);
	o.program = nn_net_program(t->net);
	if (nn_step_new(&t->step, &o, &err) < 0)
		return false;
	for (int p = 0; p < o.program->n_params; p++) {
		size_t n = nn_graph_count(nn_step_graph(t->step), p);
		float *values = params[p] = calloc(n, sizeof *values);

		for (size_t i = 0; i < n; i++)
			values[i] = (float)sin((double)(i + 1));
	}
	nn_graph_load(nn_step_graph(t->step), (const void *const *)params, &err);
	for (int p = 0; p < o.program->n_params; p++)
		free(params[p]);
	own = nn_graph_queue(nn_step_graph(t->step));
	return true;
}

static void end(struct trained *t)
{
	nn_step_free(t->step);
	nn_net_free(t->net);
	nn_dataset_free(t->dataset);
}

/*
 * Batch `number`, from 0, with what follows it, whose terms are known or not; what was asked is in
 * seen[].
 */
static void step_before(struct trained *t, uint64_t number, bool norm,
			const struct nn_step_terms *next)
{
	const struct nn_step_terms terms = { number + 1, 0.1, norm };
	size_t at = number % 2 * BATCH;
	struct nn_source source = nn_dataset_source(t->dataset);
	struct nn_batch b = nn_batch_of(&source, order + at, BATCH);

	memset(seen, 0, sizeof seen);
	n_seen = 0;
	b.sample = number * BATCH;
	b.next = order + BATCH;
	b.n_next = number % 2 == 0 ? BATCH : 0;
	apart->asked = see;
	if (nn_step_whole(t->step, &b, &terms, next, &t->result, &err) < 0)
		note("%s", err.text);
	apart->asked = NULL;
}

static void step(struct trained *t, uint64_t number, bool norm)
{
	step_before(t, number, norm, NULL);
}

/* ---- claims ---- */

static void check_waits(const char *name, const char *text, enum nn_optimizer_kind kind)
{
	struct trained t;

	if (!ok(begin(&t, text, 0, kind), "%s: a step %s", name, err.text))
		return;
	for (uint64_t i = 0; i < 8; i++) {
		step(&t, i, i % 4 > 1);
		if (count('W') != 1 || count('w') != 0)
			break;
	}
	ok(count('W') == 1 && count('w') == 0, "%s: a step waits once, in spans, clipped: %s", name,
	   seen);
	step(&t, 8, false);
	ok(count('R') == 1 && count('K') == 0 && count('O') == 0,
	   "%s: a step is replayed, and nothing else is asked: %s", name, seen);
	ok(isfinite(t.result.loss) && t.result.counted == BATCH, "%s: its loss and counts are told",
	   name);
	step(&t, 9, true);
	ok(t.result.norm > 0, "%s: its norm is told where it was asked for", name);
	end(&t);
}

/* ---- steps that are asked for before the one under way is looked at ---- */

static const char layers[] = "input 3\ndense 8\nrelu\ndropout 0.2\ndense 2\n";

/* Losses, norms and counts of 8 steps, and the weights after them; ahead: of the second of two. */
struct course {
	double loss[8], norm[8], counted[8];
	float w[8 * 3], rest[3][32];
};

static bool take_course(struct course *c, bool ahead, size_t *n)
{
	static const double of_classes[] = { 1, 3 }; /* batches weigh different sums */
	void *params[4] = { c->w, c->rest[0], c->rest[1], c->rest[2] };
	struct trained t;

	*n = 0;
	losses[0].class_weights = of_classes;
	memset(c, 0, sizeof *c);
	if (!begin(&t, layers, 0, NN_OPTIMIZER_ADAM))
		return false;
	for (uint64_t i = 0; i < 8; i++) {
		const struct nn_step_terms next = { i + 2, 0.1, i > 3 };

		step_before(&t, i, i > 4, ahead ? &next : NULL);
		*n += nn_step_is_ahead(t.step);
		c->loss[i] = t.result.loss;
		c->norm[i] = t.result.norm;
		c->counted[i] = t.result.counted;
	}
	nn_graph_save(nn_step_graph(t.step), params);
	losses[0].class_weights = NULL;
	end(&t);
	return true;
}

static void check_ahead(void)
{
	struct course c[2];
	struct trained t;
	size_t n[2];
	bool began = take_course(&c[0], false, &n[0]) && take_course(&c[1], true, &n[1]);

	ok(began && n[0] == 0 && n[1] == 4, "ahead: the batch that is known to follow: %zu, %zu",
	   n[0], n[1]);
	ok(memcmp(c[0].loss, c[1].loss, sizeof c[0].loss) == 0 &&
		   memcmp(c[0].counted, c[1].counted, sizeof c[0].counted) == 0 &&
		   memcmp(&c[0].norm[5], &c[1].norm[5], 3 * sizeof *c[0].norm) == 0 &&
		   c[1].norm[6] > 0 && c[1].norm[6] != c[1].norm[7],
	   "ahead: each step says its own loss, norm and counts");
	ok(memcmp(c[0].w, c[1].w, sizeof c[0].w) == 0 &&
		   memcmp(c[0].rest, c[1].rest, sizeof c[0].rest) == 0,
	   "ahead: steps that overlap make the same weights");
	if (!ok(begin(&t, layers, 0, NN_OPTIMIZER_ADAM), "ahead: a step %s", err.text))
		return;
	for (uint64_t i = 0; i < 5; i++) {
		const struct nn_step_terms next = { i + 2, 0.1, false };

		step_before(&t, i, false, &next);
	}
	ok(strcmp(seen, "iiAIRiiMAIRP") == 0,
	   "ahead: the next step is asked for before the one under way is waited for: %s", seen);
	step(&t, 5, false);
	ok(strcmp(seen, "W") == 0, "ahead: and then nothing is left to be asked: %s", seen);
	end(&t);
}

/* The loss of the step under way is not finite, that of the step ahead of it would be. */
static void check_ahead_holds(void)
{
	const struct nn_step_terms next = { 2, 0.1, false };
	float before[8 * 3], after[8 * 3], rest[3][32];
	void *params[4] = { before, rest[0], rest[1], rest[2] };
	struct trained t;

	if (!ok(begin(&t, layers, 0, NN_OPTIMIZER_SGD), "ahead, hold: a step %s", err.text))
		return;
	nn_graph_save(nn_step_graph(t.step), params);
	spoils = true;
	step_before(&t, 0, false, &next);
	params[0] = after;
	nn_graph_save(nn_step_graph(t.step), params);
	ok(!t.result.finite && !nn_step_is_ahead(t.step) &&
		   memcmp(before, after, sizeof before) == 0,
	   "ahead: behind a loss that is not finite nothing is updated");
	ok(t.result.nonfinite_line == 0, "ahead: the line that went wrong is named: %d",
	   t.result.nonfinite_line);
	spoils = false;
	step(&t, 1, false);
	nn_graph_save(nn_step_graph(t.step), params);
	ok(t.result.finite && memcmp(before, after, sizeof before) != 0,
	   "ahead: a step after that updates again");
	end(&t);
}

/* Weights after some steps; whether rows were asked for in them. */
static bool train(struct trained *t, bool stay, float *w, size_t *filled)
{
	void *params[16] = { w, w + 2 * 3, w + 2 * 3 + 2 };

	resident = stay;
	if (!begin(t, "input 3\ndense 2\n", 0, NN_OPTIMIZER_ADAM))
		return false;
	n_filled = 0;
	for (uint64_t i = 0; i < 6; i++)
		step(t, i, i == 3);
	*filled = n_filled;
	nn_graph_save(nn_step_graph(t->step), params);
	end(t);
	resident = false;
	return true;
}

static void check_resident(void)
{
	struct trained t;
	float w[2][8] = { { 0 } };
	size_t filled[2];

	if (!ok(train(&t, false, w[0], &filled[0]) && train(&t, true, w[1], &filled[1]),
		"rows that stay on the device: a step %s", err.text))
		return;
	ok(filled[0] > 0 && filled[1] == 0, "rows that stay on the device are not filled again");
	ok(count('R') == 1 && count('W') == 1 && count('w') == 0,
	   "rows that stay on the device: a step is replayed, and waits once: %s", seen);
	ok(memcmp(w[0], w[1], sizeof w[0]) == 0 && w[0][0] != 0,
	   "rows that stay on the device, and rows that are sent, make the same weights");
}

/* Rows are counted on the device, so that a step of tables is as any other. */
static void check_tables(enum nn_optimizer_kind kind, bool norm)
{
	struct trained t;

	if (!ok(begin(&t, "input 3\nembedding 4 rows=5\nflatten\ndense 2\n", 5, kind),
		"embedding: a step %s", err.text))
		return;
	for (uint64_t i = 0; i < 5; i++)
		step(&t, i, norm);
	ok(count('R') == 1 && count('K') == 0 && count('W') == 1 && t.result.finite,
	   "embedding: %s: a step is replayed, and waits once: %s", nn_optimizer_names[kind], seen);
	end(&t);
}

/* ---- rows of different length: row r has r + 1 positions ---- */

static uint32_t lengths[BATCH];
static size_t n_lengths;

static int give_lengths(const void *data, const uint64_t *rows, size_t n, uint32_t *to,
			struct nn_error *e)
{
	(void)data;
	(void)e;
	for (size_t i = 0; i < n; i++)
		to[i] = (uint32_t)rows[i] + 1;
	return 0;
}

static void note_lengths(const struct nn_call *call, bool backward)
{
	for (size_t i = 0; !backward && i < call->rows && n_lengths < BATCH; i++)
		lengths[n_lengths++] = call->lengths[i];
}

static void check_lengths(void)
{
	struct trained t;
	bool same = true;

	lengths_of_rows = give_lengths;
	if (!ok(begin(&t, "input 3\ndense 2\n", 0, NN_OPTIMIZER_SGD), "lengths: a step %s",
		err.text))
		return;
	apart->called = note_lengths;
	for (uint64_t i = 0; i < 6; i++) {
		n_lengths = 0;
		step(&t, i, false);
		for (size_t r = 0; r < BATCH; r++)
			same &= lengths[r] == order[i % 2 * BATCH + r] + 1;
	}
	apart->called = NULL;
	lengths_of_rows = NULL;
	ok(same && n_lengths == BATCH, "lengths: kernels see those of their rows, replayed, too");
	ok(strcmp(seen, "AIRW") == 0, "lengths: travel with inputs and targets: %s", seen);
	end(&t);
}

static void check_prefetch(void)
{
	struct trained t;
	uint64_t other;

	if (!ok(begin(&t, "input 3\ndense 8\nrelu\ndense 2\n", 0, NN_OPTIMIZER_ADAM),
		"prefetch: a step %s", err.text))
		return;
	for (uint64_t i = 0; i < 4; i++)
		step(&t, i, false);
	step(&t, 4, false);
	ok(strcmp(seen, "iiAIRiiW") == 0,
	   "prefetch: the next batch sets out between the step and the wait for it: %s", seen);
	step(&t, 5, false);
	ok(strcmp(seen, "AIRW") == 0, "prefetch: and is there when its turn comes: %s", seen);
	step(&t, 6, false);
	other = order[BATCH];
	order[BATCH] = order[BATCH + 1];
	order[BATCH + 1] = other;
	step(&t, 7, false);
	ok(strcmp(seen, "wiiAIRW") == 0, "prefetch: a batch of other rows is not taken for it: %s",
	   seen);
	end(&t);
}

/* The loss of a batch is not finite: weights stay as they were, and the line is found. */
static void check_hold(void)
{
	struct trained t;
	float before[8 * 3], after[8 * 3];
	void *params[4] = { before };
	float rest[3][32];

	if (!ok(begin(&t, "input 3\ndense 8\nrelu\ndense 2\n", 0, NN_OPTIMIZER_SGD),
		"hold: a step %s", err.text))
		return;
	for (int p = 1; p < 4; p++)
		params[p] = rest[p - 1];
	nn_graph_save(nn_step_graph(t.step), params);
	before[0] = INFINITY;
	nn_graph_load(nn_step_graph(t.step), (const void *const *)params, &err);
	step(&t, 0, false);
	params[0] = after;
	nn_graph_save(nn_step_graph(t.step), params);
	ok(!t.result.finite && memcmp(before, after, sizeof before) == 0,
	   "hold: a loss that is not finite updates nothing");
	ok(t.result.nonfinite_line == 0, "hold: the line that went wrong is named: %d",
	   t.result.nonfinite_line);
	end(&t);
}

/* ---- a prediction ---- */

static void check_predict(void)
{
	struct trained t;
	struct nn_session *session = NULL;
	struct nn_session_setup setup = { .device = device, .max_rows = BATCH };
	const float row[3] = { 1, 2, 3 };
	float there[5];

	if (!ok(begin(&t, "input 3\ndense 5 output\nrelu\ndense 2\n", 0, NN_OPTIMIZER_SGD),
		"predict: a step %s", err.text))
		return;
	setup.program = nn_net_program(t.net);
	if (ok(nn_session_new(&session, &setup, &err) == 0, "predict: a session %s", err.text)) {
		nn_session_put(session, 0, 0, 1, row, NN_F32);
		memset(seen, 0, sizeof seen);
		n_seen = 0;
		apart->asked = see;
		nn_session_run(session, 1, &err);
		apart->asked = NULL;
		nn_session_get(session, 0, 0, 1, there, NN_F32);
		ok(strcmp(seen, "ikkkoow") == 0, "predict: all outputs are waited for once: %s",
		   seen);
	}
	nn_session_close(session);
	end(&t);
}

int main(void)
{
	const char *build = getenv("NN_BUILD");
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/device/apart/.libs", build ? build : ".");
	setenv("NN_MODULE_PATH", path, 1);
	for (uint64_t i = 0; i < ROWS; i++)
		order[i] = (i * 7 + 3) % ROWS;
	device = nn_device_open("cuda", NN_F32, &err);
	if (!ok(device && (apart = dlsym(RTLD_DEFAULT, "nn_apart")),
		"the module of the tests is loaded")) {
		note("%s", err.text);
		return tap_done();
	}
	check_waits("sgd", "input 3\ndense 8\nrelu\ndense 2\n", NN_OPTIMIZER_SGD);
	check_waits("adam", "input 3\ndense 8\nrelu\ndense 2\n", NN_OPTIMIZER_ADAM);
	check_waits("lars", "input 3\ndense 8\nrelu\ndense 2\n", NN_OPTIMIZER_LARS);
	check_waits("lamb", "input 3\ndense 8\nrelu\ndense 2\n", NN_OPTIMIZER_LAMB);
	check_waits("batchnorm",
		    "input 3\ndense 8\nbatchnorm group=4\nrelu\ndropout 0.2\ndense 2\n",
		    NN_OPTIMIZER_ADAM);
	check_ahead();
	check_ahead_holds();
	check_resident();
	check_tables(NN_OPTIMIZER_ADAM, false);
	check_tables(NN_OPTIMIZER_LARS, true);
	check_tables(NN_OPTIMIZER_LAMB, true);
	check_lengths();
	check_prefetch();
	check_hold();
	check_predict();
	return tap_done();
}
