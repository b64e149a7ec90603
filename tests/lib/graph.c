/* Graphs: forward against the network evaluated alone, gradients against differences, spans, sharing, the memory plan. */
#include <math.h>
#include <malloc.h>

#include "graph-plain.h"
#include "graph-random.h"
#include "graph-reference.h"
#include "graph-spoil.h"
#include "graph/graph.h"
#include "tap.h"

/* graph-long.c runs the same with more networks, and others. */
#ifndef TIMES
#define TIMES 1
#define FIRST_SEED 0
#endif
#include "graph-trial.h"

/* ---- a batch through a graph ---- */

static const size_t leaves[LEAVES + 1] = { 0, 6, 12, 18, 24 };
static const size_t whole_groups[LEAVES + 1] = { 0, 6, 12, 18, 24 };

static struct nn_graph *bind_with(const struct trial *t, const struct nn_device *device, bool training,
				  size_t max_rows, struct nn_pool *pool, const struct nn_graph *share)
{
	struct nn_graph_options options = {
		.device = device, .pool = pool, .max_rows = max_rows, .max_leaves = LEAVES, .training = training,
		.seed = 7, .share = share,
	};
	struct nn_error err = { 0 };
	struct nn_graph *graph;

	if (nn_graph_bind(&graph, t->program, &options, &err) ||
	    (!share && nn_graph_load(graph, (const void *const *)t->params, &err))) {
		note("bind: %s", err.text);
		exit(1);
	}
	return graph;
}

static struct nn_span span_of(size_t rows)
{
	return (struct nn_span){ .rows = rows, .leaf = leaves, .n_leaves = LEAVES, .first = true,
				 .group = whole_groups, .n_groups = LEAVES };
}

static void forward_all(const struct trial *t, struct nn_graph *graph)
{
	struct nn_span span = span_of(ROWS);

	feed(t, graph, 0, ROWS);
	nn_graph_forward(graph, &span);
}

/* Sum of outputs times fixed numbers; a row's numbers depend on its place in the batch. */
static double loss_of(const struct trial *t, const struct nn_graph *graph, size_t rows)
{
	double loss = 0;

	for (int o = 0; o < t->program->n_outputs; o++) {
		size_t positions, columns;
		const double *y = nn_graph_output(graph, o, &positions, &columns);

		for (size_t i = 0; i < rows * positions * columns; i++)
			loss += y[i] * weight_of_output(i);
	}
	return loss;
}

/* ---- forward ---- */

static double difference(double a, double b)
{
	return fabs(a - b) / (1 + fabs(b));
}

/* The larger; what is not a number is the largest. */
static double worse(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

static double forward_error(const struct trial *t, struct nn_graph *graph, bool training)
{
	struct reference r = { .program = t->program, .params = (const double *const *)t->params, .rows = ROWS,
			       .training = training, .group = whole_groups, .n_groups = LEAVES };
	double worst = 0;

	reference_run(&r, (const double *const *)t->inputs);
	forward_all(t, graph);
	for (int o = 0; o < t->program->n_outputs; o++) {
		int value = t->program->outputs[o].value;
		size_t n = ROWS * nn_shape_count(&t->program->values[value].shape);
		double *y = calloc(n, sizeof *y);

		nn_graph_read(graph, o, ROWS, y);
		for (size_t i = 0; i < n; i++) {
			worst = worse(worst, difference(y[i], r.values[value][i]));
		}
		free(y);
	}
	reference_fini(&r);
	return worst;
}

static void forward_is_right(const struct nn_device *device, bool every_op, int n_trials, bool training)
{
	struct nn_device spoiler = spoiling(device);
	double worst = 0;
	int bad = -1;

	for (int i = 0; i < n_trials; i++) {
		struct trial t = trial_new((uint64_t)i, 4 + i % 14, every_op, !training, every_op && i % 2 ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, &spoiler, training, ROWS, NULL, NULL);
		double e = forward_error(&t, graph, training);

		bad = worse(worst, e) > worst || isnan(e) ? i : bad;
		worst = worse(worst, e);
		nn_graph_free(graph);
		trial_free(&t);
	}
	/* f64 sums in another order; activations of the device to 2 ulp. */
	if (!ok(worst < 1e-10, "graph: %s: %d random networks give what their ops give one by one, %s", device->name, n_trials,
		training ? "training" : "prediction"))
		note("network %d: relative error %g", bad, worst);
}

/* ---- backward ---- */

static double difference_quotient(struct trial *t, struct nn_graph *graph, double *parameter, double h)
{
	double old = *parameter, up, down;

	*parameter = old + h;
	nn_graph_load(graph, (const void *const *)t->params, NULL);
	forward_all(t, graph);
	up = loss_of(t, graph, ROWS);
	*parameter = old - h;
	nn_graph_load(graph, (const void *const *)t->params, NULL);
	forward_all(t, graph);
	down = loss_of(t, graph, ROWS);
	*parameter = old;
	return (up - down) / (2 * h);
}

/* How far a gradient is from the difference quotient; 0 where that shows a kink (of relu, of a maximum) within its step. */
static double element_error(struct trial *t, struct nn_graph *graph, double *parameter, double gradient)
{
	double wide = difference_quotient(t, graph, parameter, 1e-6), narrow, e = difference(gradient, wide);

	if (e < 1e-6)
		return e;
	narrow = difference_quotient(t, graph, parameter, 2e-7);
	return difference(wide, narrow) > e / 10 ? 0 : e;
}

static double gradient_error(struct trial *t, struct nn_graph *graph)
{
	struct nn_span span = span_of(ROWS);
	double worst = 0, *block = calloc(nn_graph_block(graph) + 1, sizeof *block);

	nn_graph_load(graph, (const void *const *)t->params, NULL);
	forward_all(t, graph);
	put_loss_gradient(t, graph, 0, ROWS);
	nn_graph_backward(graph, &span, NULL, NULL);
	memcpy(block, nn_graph_gradients(graph), nn_graph_block(graph) * sizeof *block);
	for (int p = 0; p < t->program->n_params; p++) {
		size_t n = nn_shape_count(&t->program->params[p].desc.shape), offset, packed;
		double *gradient = calloc(n, sizeof *gradient);

		if (nn_graph_place(graph, p, &offset, &packed)) {
			nn_graph_unpack(graph, p, block, gradient);
			for (int tries = 0; tries < 4; tries++) {
				size_t at = roll(&t->dice, n);

				worst = worse(worst, element_error(t, graph, &t->params[p][at], gradient[at]));
			}
		}
		free(gradient);
	}
	free(block);
	return worst;
}

static void gradients_are_right(const struct nn_device *device, bool every_op, int n_trials)
{
	struct nn_device spoiler = spoiling(device);
	double worst = 0;
	int bad = -1;

	for (int i = 0; i < n_trials; i++) {
		struct trial t = trial_new((uint64_t)i + 1000000, 4 + i % 14, every_op, true, every_op && i % 2 ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, &spoiler, true, ROWS, NULL, NULL);
		double e = gradient_error(&t, graph);

		bad = worse(worst, e) > worst || isnan(e) ? i : bad;
		worst = worse(worst, e);
		nn_graph_free(graph);
		trial_free(&t);
	}
	/* Central differences with a step of 1e-6 are good to about 1e-9 times the curvature and the loss. */
	if (!ok(worst < 1e-5, "graph: %s: gradients of %d random networks are their difference quotients", device->name, n_trials))
		note("network %d: relative error %g", bad, worst);
}

/* ---- spans ---- */

struct block {
	double *values;
	size_t n;
};

/* One span of leaves first..first + n - 1, in pieces of at most `most` rows where it is one leaf. */
static struct block span_gradient(const struct trial *t, struct nn_graph *graph, size_t first, size_t n, size_t most)
{
	struct block block = { calloc(nn_graph_block(graph) + 1, sizeof(double)), nn_graph_block(graph) };
	size_t begin = leaves[first], end = leaves[first + n];

	for (size_t at = begin; at < end;) {
		size_t rows = n == 1 && end - at > most ? most : end - at, leaf[LEAVES + 1], groups = 0, group[LEAVES + 1] = { 0 };
		struct nn_span span = { .rows = rows, .sample = at, .leaf = leaf, .n_leaves = n, .first = at == begin,
					.group = group };

		for (size_t i = 0; i <= n; i++)
			leaf[i] = n == 1 ? i * rows : leaves[first + i] - begin;
		for (size_t i = 0; i < LEAVES; i++)
			if (whole_groups[i] >= at && whole_groups[i + 1] <= at + rows)
				group[++groups] = whole_groups[i + 1] - at;
		span.n_groups = groups;
		feed(t, graph, at, rows);
		nn_graph_forward(graph, &span);
		put_loss_gradient(t, graph, at, rows);
		nn_graph_backward(graph, &span, NULL, NULL);
		at += rows;
	}
	memcpy(block.values, nn_graph_gradients(graph), block.n * sizeof(double));
	return block;
}

/* Leaves first..first + n - 1, cut into spans of at most `most_leaves`, added along the tree. */
static struct block tree_gradient(const struct trial *t, struct nn_graph *graph, size_t first, size_t n,
				  size_t most_leaves, size_t most_rows)
{
	struct block left, right;

	if (n <= most_leaves)
		return span_gradient(t, graph, first, n, most_rows);
	left = tree_gradient(t, graph, first, n / 2, most_leaves, most_rows);
	right = tree_gradient(t, graph, first + n / 2, n / 2, most_leaves, most_rows);
	for (size_t i = 0; i < left.n; i++)
		left.values[i] += right.values[i];
	free(right.values);
	return left;
}

static bool same_gradients(const struct trial *t, const struct nn_device *device, const struct block *want, int threads,
			   size_t most_leaves, size_t most_rows)
{
	struct nn_pool *pool = NULL;
	struct nn_graph *graph;
	struct block got;
	bool same;

	nn_pool_new(&pool, threads, NULL);
	graph = bind_with(t, device, true, most_leaves == LEAVES ? ROWS : 6 * most_leaves, pool, NULL);
	got = tree_gradient(t, graph, 0, LEAVES, most_leaves, most_rows);
	same = got.n == want->n && memcmp(got.values, want->values, got.n * sizeof(double)) == 0;
	free(got.values);
	nn_graph_free(graph);
	nn_pool_free(pool);
	return same;
}

static void spans_are_free(const struct nn_device *device, bool every_op, int n_trials)
{
	bool halves = true, single = true, pieces = true, threads = true;

	for (int i = 0; i < n_trials; i++) {
		size_t group = every_op && i % 2 ? 6 : 0;
		struct trial t = trial_new((uint64_t)i + 2000000, 4 + i % 14, every_op, true, group);
		struct nn_graph *graph = bind_with(&t, device, true, ROWS, NULL, NULL);
		struct block want = tree_gradient(&t, graph, 0, LEAVES, LEAVES, ROWS);

		halves &= same_gradients(&t, device, &want, 1, 2, ROWS);
		single &= same_gradients(&t, device, &want, 1, 1, ROWS);
		for (size_t rows = 1; rows < 6 && group == 0; rows++)
			pieces &= same_gradients(&t, device, &want, 1, 1, rows);
		for (int n = 2; n <= 4; n++)
			threads &= same_gradients(&t, device, &want, n, (size_t)1 << (n - 2), 5 + group);
		free(want.values);
		nn_graph_free(graph);
		trial_free(&t);
	}
	ok(halves, "graph: %s: half a batch at a time gives the same gradient bytes", device->name);
	ok(single, "graph: %s: a leaf at a time gives the same gradient bytes", device->name);
	ok(pieces, "graph: %s: pieces of a leaf give the same gradient bytes", device->name);
	ok(threads, "graph: %s: 2, 3 and 4 threads give the same gradient bytes", device->name);
}

/* ---- prediction ---- */

static size_t output_size(const struct trial *t, int o)
{
	return nn_shape_count(&t->program->values[t->program->outputs[o].value].shape);
}

/* Outputs of rows first..first + n - 1, one output after the other. */
static double *predict(const struct trial *t, struct nn_graph *graph, size_t first, size_t n, size_t *count)
{
	struct nn_span span = { .rows = n };
	double *y, *at;

	*count = 0;
	for (int o = 0; o < t->program->n_outputs; o++)
		*count += n * output_size(t, o);
	at = y = calloc(*count + 1, sizeof *y);
	feed(t, graph, first, n);
	nn_graph_forward(graph, &span);
	for (int o = 0; o < t->program->n_outputs; at += n * output_size(t, o++))
		nn_graph_read(graph, o, n, at);
	return y;
}

static bool row_alone(const struct trial *t, const struct nn_device *device, struct nn_graph *graph, size_t row)
{
	struct nn_graph *single = bind_with(t, device, false, 1, NULL, graph);
	size_t n_one, n_all;
	double *one = predict(t, single, row, 1, &n_one), *all = predict(t, graph, 0, ROWS, &n_all), *at = one, *from = all;
	bool same = true;

	for (int o = 0; o < t->program->n_outputs; o++) {
		size_t size = output_size(t, o);

		same &= memcmp(at, from + row * size, size * sizeof *at) == 0;
		at += size;
		from += ROWS * size;
	}
	free(one);
	free(all);
	nn_graph_free(single);
	return same;
}

static void rows_are_rows(const struct nn_device *device, bool every_op, int n_trials)
{
	bool alone = true, shared = true;
	double fold = 0;

	for (int i = 0; i < n_trials; i++) {
		struct trial t = trial_new((uint64_t)i + 3000000, 4 + i % 14, every_op, true, every_op ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, device, false, ROWS, NULL, NULL);
		struct nn_graph *training = bind_with(&t, device, true, ROWS, NULL, NULL);
		struct nn_graph *valid = bind_with(&t, device, false, ROWS, NULL, training);
		struct nn_graph *twin = bind_with(&t, device, false, ROWS - 1, NULL, graph);
		size_t n, m;
		double *a = predict(&t, graph, 0, ROWS - 1, &n), *b = predict(&t, valid, 0, ROWS - 1, &m);
		double *c = predict(&t, twin, 0, ROWS - 1, &m);

		alone &= row_alone(&t, device, graph, 0) && row_alone(&t, device, graph, (size_t)i % ROWS);
		shared &= n == m && memcmp(a, c, n * sizeof *a) == 0;
		for (size_t k = 0; k < n; k++)
			fold = worse(fold, difference(a[k], b[k]));
		free(a);
		free(b);
		free(c);
		nn_graph_free(twin);
		nn_graph_free(valid);
		nn_graph_free(training);
		nn_graph_free(graph);
		trial_free(&t);
	}
	ok(alone, "graph: %s: a row predicted alone has the bytes it has in a batch", device->name);
	ok(shared, "graph: %s: shared weights predict the same bytes", device->name);
	ok(fold < 1e-10, "graph: %s: prediction on a training graph's weights agrees with folded ones", device->name);
}

/* ---- f32 ---- */

static float *narrowed(const double *values, size_t n)
{
	float *result = calloc(n + 1, sizeof *result);

	for (size_t i = 0; i < n; i++)
		result[i] = (float)values[i];
	return result;
}

/* The same network bound in f32, its parameters and input rounded. */
static struct nn_graph *bind_f32(const struct trial *t, const struct nn_device *device)
{
	struct nn_graph_options options = { .device = device, .max_rows = ROWS };
	const void **params = calloc((size_t)t->program->n_params + 1, sizeof *params);
	struct nn_graph *graph = NULL;

	for (int p = 0; p < t->program->n_params; p++)
		params[p] = narrowed(t->params[p], nn_shape_count(&t->program->params[p].desc.shape));
	if (nn_graph_bind(&graph, t->program, &options, NULL) || nn_graph_load(graph, params, NULL))
		exit(1);
	for (int p = 0; p < t->program->n_params; p++)
		free((void *)(uintptr_t)params[p]);
	free(params);
	return graph;
}

static double f32_error(const struct trial *t, struct nn_graph *wide, struct nn_graph *narrow)
{
	struct nn_span span = { .rows = ROWS };
	size_t size, n;
	bool channels_last;
	double worst = 0, *want;

	/* Both graphs want their input in the same order. */
	want = predict(t, wide, 0, ROWS, &n);
	for (int i = 0; i < t->program->n_inputs; i++) {
		const double *from = nn_graph_input(wide, i, &size, &channels_last);
		float *to = nn_graph_input(narrow, i, &size, &channels_last);

		for (size_t k = 0; k < ROWS * size; k++)
			to[k] = (float)from[k];
	}
	nn_graph_forward(narrow, &span);
	for (int o = 0, at = 0; o < t->program->n_outputs; o++) {
		size_t count = ROWS * output_size(t, o);
		float *y = calloc(count + 1, sizeof *y);

		nn_graph_read(narrow, o, ROWS, y);
		for (size_t k = 0; k < count; k++)
			worst = worse(worst, difference(y[k], want[at++]));
		free(y);
	}
	free(want);
	return worst;
}

static void single_precision_agrees(const struct nn_device *wide, const struct nn_device *narrow)
{
	double worst = 0;

	for (int i = 0; i < 50; i++) {
		struct trial t = trial_new((uint64_t)i + 6000000, 4 + i % 10, true, true, 6);
		struct nn_graph *a = bind_with(&t, wide, false, ROWS, NULL, NULL), *b = bind_f32(&t, narrow);

		worst = worse(worst, f32_error(&t, a, b));
		nn_graph_free(a);
		nn_graph_free(b);
		trial_free(&t);
	}
	/* 2^-24 times a thousand or so of roundings, some of them amplified by layernorm. */
	ok(worst < 1e-4, "graph: f32 predicts what f64 does, but for its rounding");
	note("worst relative difference %g", worst);
}

/* ---- parameters ---- */

static void parameters_come_back(const struct nn_device *device, bool every_op, int n_trials)
{
	bool back = true, moved = true;

	for (int i = 0; i < n_trials; i++) {
		struct trial t = trial_new((uint64_t)i + 4000000, 12, every_op, true, every_op ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, device, true, ROWS, NULL, NULL);
		struct dice other = { 99 };
		double **saved = random_params(t.program, &other);
		double *block = calloc(nn_graph_block(graph) + 1, sizeof *block);

		nn_graph_save(graph, (void *const *)saved);
		for (int p = 0; p < t.program->n_params; p++) {
			size_t n = nn_shape_count(&t.program->params[p].desc.shape), offset, packed;
			double *copy = calloc(n, sizeof *copy);

			back &= memcmp(saved[p], t.params[p], n * sizeof *copy) == 0;
			if (nn_graph_place(graph, p, &offset, &packed)) {
				moved &= packed >= n && offset + packed <= nn_graph_block(graph);
				nn_graph_pack(graph, p, t.params[p], block);
				nn_graph_unpack(graph, p, block, copy);
				moved &= memcmp(copy, t.params[p], n * sizeof *copy) == 0;
			}
			free(copy);
		}
		moved &= memcmp(block, nn_graph_weights(graph), nn_graph_block(graph) * sizeof *block) == 0;
		free(block);
		nn_free(saved);
		nn_graph_free(graph);
		trial_free(&t);
	}
	ok(back, "graph: %s: parameters are saved as they were loaded", device->name);
	ok(moved, "graph: %s: packing one parameter after the other gives the block of weights", device->name);
}

struct order {
	int n, last;
	bool descending;
};

static void note_ready(void *arg, int param)
{
	struct order *order = arg;

	order->descending &= order->n == 0 || param < order->last;
	order->last = param;
	order->n++;
}

/* input 8, dense, relu, dense, relu, ... */
static struct nn_program *chain(int n, size_t width)
{
	struct nn_program *program = nn_program_new(NULL);
	struct nn_shape shape = nn_shape1(width);
	struct nn_dense dense = { .out = width, .bias = true };
	struct nn_activation_attrs relu = { NN_ACT_RELU, 0 };
	int value = nn_program_input(program, &shape, NULL);

	for (int i = 0; i < n; i++) {
		value = nn_program_add(program, NN_OP_dense, &dense, &value, 1, "d", 2 * i, NULL);
		if (i + 1 < n)
			value = nn_program_add(program, NN_OP_activation, &relu, &value, 1, "a", 2 * i + 1, NULL);
	}
	nn_program_output(program, value, NULL, NULL);
	return program;
}

static struct trial trial_of(struct nn_program *program)
{
	struct trial t = { .program = program, .dice = { 5 } };

	t.params = random_params(program, &t.dice);
	t.inputs = random_inputs(program, ROWS, &t.dice);
	return t;
}

static void backward_reports(const struct nn_device *device)
{
	struct trial t = trial_of(chain(5, 8));
	struct nn_graph *graph = bind_with(&t, device, true, ROWS, NULL, NULL);
	struct nn_span span = span_of(ROWS);
	struct order order = { .descending = true };

	forward_all(&t, graph);
	put_loss_gradient(&t, graph, 0, ROWS);
	nn_graph_backward(graph, &span, note_ready, &order);
	ok(order.n == 10 && order.descending, "graph: every parameter is reported ready once, last layer first");
	ok(nn_graph_first_bad(graph, ROWS) == -1, "graph: finite values have no first bad layer");
	t.params[4][3] = INFINITY;
	nn_graph_load(graph, (const void *const *)t.params, NULL);
	forward_all(&t, graph);
	ok(nn_graph_first_bad(graph, ROWS) == 4, "graph: the first layer with a value that is not finite is found");
	nn_graph_free(graph);
	trial_free(&t);
}

/* ---- memory ---- */

static size_t total(const struct nn_graph_memory *m)
{
	return m->parameters + m->gradients + m->activations + m->workspace + m->input + m->derived;
}

static void plan_is_kept(const struct nn_device *device, bool every_op)
{
	struct nn_device counter = spoiling(device);
	bool same = true;

	for (int i = 0; i < 40; i++) {
		struct trial t = trial_new((uint64_t)i + 5000000, 14, every_op, true, every_op ? 6 : 0);
		struct nn_graph_options options = { .device = &counter, .max_rows = ROWS, .max_leaves = LEAVES,
						    .training = i % 2 };
		struct nn_graph_memory memory;
		struct nn_graph *graph;

		nn_graph_plan(t.program, &options, &memory, NULL);
		n_bytes = 0;
		graph = bind_with(&t, &counter, i % 2, ROWS, NULL, NULL);
		same &= n_bytes == total(&memory);
		nn_graph_free(graph);
		trial_free(&t);
	}
	ok(same, "graph: %s: the plan says to the byte what binding takes", device->name);
}

static void memory_is_reused(const struct nn_device *device)
{
	struct nn_program *program = chain(10, 8);
	struct nn_graph_options options = { .device = device, .max_rows = ROWS, .max_leaves = LEAVES };
	struct nn_graph_memory predict, train;
	struct nn_error err = { 0 };
	size_t value = ROWS * 8 * sizeof(double);

	nn_graph_plan(program, &options, &predict, NULL);
	options.training = true;
	nn_graph_plan(program, &options, &train, NULL);
	ok(predict.activations == 2 * value, "graph: prediction through a chain needs two values at a time");
	/* Ten values, and the gradients of the output and of the value before it; later ones lie where values were. */
	ok(train.activations == 12 * value, "graph: training keeps a chain's values, and gradients take the place of those done with");
	options.max_rows = SIZE_MAX / 100;
	ok(nn_graph_plan(program, &options, &train, &err) == -1 && err.code == NN_ENOMEM,
	   "graph: a batch that no memory can hold is refused");
	note("%s", err.text);
	nn_program_free(program);
}

static void calls_are_few(const struct nn_device *device)
{
	struct nn_device counter = spoiling(device);
	struct trial t = trial_of(chain(5, 8));
	struct nn_graph *graph = bind_with(&t, &counter, true, ROWS, NULL, NULL);
	struct nn_span span = span_of(ROWS);
	struct mallinfo2 before, after;

	n_calls = 0;
	forward_all(&t, graph);
	ok(n_calls == 5, "graph: an activation is done by the layer before it");
	put_loss_gradient(&t, graph, 0, ROWS);
	before = mallinfo2();
	for (int i = 0; i < 3; i++) {
		nn_graph_forward(graph, &span);
		put_loss_gradient(&t, graph, 0, ROWS);
		nn_graph_backward(graph, &span, NULL, NULL);
	}
	after = mallinfo2();
	ok(before.uordblks == after.uordblks, "graph: forward and backward allocate nothing");
	nn_graph_free(graph);
	trial_free(&t);
}

/* Where fusion must hold back: each of these would be wrong with batchnorm or pooling in the product. */
static void views_are_seen(const struct nn_device *device)
{
	struct nn_conv2d conv = { .out = 1, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1 };
	struct nn_reshape flat = { nn_shape1(30) }, other = { nn_shape3(1, 5, 6) };
	struct nn_activation_attrs relu = { NN_ACT_RELU, 0 };
	struct nn_pool2d pool = { { { 2, 2 }, { 2, 2 }, { 0, 0 } } };
	struct nn_batchnorm norm = { .group = 6, .eps = 1e-5, .momentum = 0.1 };
	struct nn_dense dense = { .out = 4, .bias = true };
	struct nn_shape in = nn_shape3(3, 6, 5);
	struct nn_program *p = nn_program_new(NULL);
	int x = nn_program_input(p, &in, NULL), v;
	struct nn_graph *graph;
	struct trial t;

	v = nn_program_add(p, NN_OP_conv2d, &conv, &x, 1, "0", 0, NULL);
	v = nn_program_add(p, NN_OP_reshape, &flat, &v, 1, "1", 1, NULL);
	nn_program_output(p, nn_program_add(p, NN_OP_batchnorm, &norm, &v, 1, "2", 2, NULL), "a", NULL);
	v = nn_program_add(p, NN_OP_conv2d, &conv, &x, 1, "3", 3, NULL);
	v = nn_program_add(p, NN_OP_reshape, &other, &v, 1, "4", 4, NULL);
	v = nn_program_add(p, NN_OP_activation, &relu, &v, 1, "5", 5, NULL);
	nn_program_output(p, nn_program_add(p, NN_OP_maxpool2d, &pool, &v, 1, "6", 6, NULL), "b", NULL);
	v = nn_program_add(p, NN_OP_dense, &dense, &x, 1, "7", 7, NULL);
	nn_program_output(p, nn_program_add(p, NN_OP_batchnorm, &norm, &v, 1, "8", 8, NULL), "c", NULL);
	t = trial_of(p);
	graph = bind_with(&t, device, false, ROWS, NULL, NULL);
	ok(forward_error(&t, graph, false) < 1e-12, "graph: batchnorm and pooling of a view are not fused into what made it");
	nn_graph_free(graph);
	trial_free(&t);
}

static void fusions_are_made(const struct nn_device *device)
{
	struct nn_device counter = spoiling(device);
	struct nn_conv2d conv = { .out = 3, .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 }, .dilation = { 1, 1 },
				  .groups = 1 };
	struct nn_batchnorm norm = { .group = 6, .eps = 1e-5, .momentum = 0.1 };
	struct nn_activation_attrs relu = { NN_ACT_RELU, 0 };
	struct nn_pool2d pool = { { { 2, 2 }, { 2, 2 }, { 0, 0 } } };
	struct nn_shape in = nn_shape3(3, 6, 6);
	struct nn_program *p = nn_program_new(NULL);
	int x = nn_program_input(p, &in, NULL), v[2] = { x, 0 };
	size_t n[2];
	struct trial t;

	v[0] = nn_program_add(p, NN_OP_conv2d, &conv, v, 1, "0", 0, NULL);
	v[0] = nn_program_add(p, NN_OP_activation, &relu, v, 1, "1", 1, NULL);
	v[0] = v[1] = nn_program_add(p, NN_OP_maxpool2d, &pool, v, 1, "2", 2, NULL);
	v[1] = nn_program_add(p, NN_OP_conv2d, &conv, v + 1, 1, "3", 3, NULL);
	v[1] = nn_program_add(p, NN_OP_batchnorm, &norm, v + 1, 1, "4", 4, NULL);
	v[0] = nn_program_add(p, NN_OP_add, NULL, v, 2, "5", 5, NULL);
	v[0] = nn_program_add(p, NN_OP_activation, &relu, v, 1, "6", 6, NULL);
	nn_program_output(p, v[0], NULL, NULL);
	t = trial_of(p);
	for (int training = 0; training < 2; training++) {
		struct nn_graph *graph = bind_with(&t, &counter, training, ROWS, NULL, NULL);

		n_calls = 0;
		forward_all(&t, graph);
		n[training] = n_calls;
		nn_graph_free(graph);
	}
	ok(n[1] == 3, "graph: in training conv+relu+pool is one kernel, batchnorm+add+relu another");
	ok(n[0] == 2, "graph: at prediction conv+batchnorm+add+relu is one kernel");
	trial_free(&t);
}

/* ---- refusals ---- */

static void refusals(void)
{
	struct nn_graph_options options = { .device = &plain_device, .max_rows = 4, .max_leaves = 1, .training = true };
	struct nn_program *program = nn_program_new(NULL);
	struct nn_shape shape = nn_shape3(2, 4, 4);
	struct nn_layernorm norm = { 1e-5 };
	struct nn_softmax softmax = { false };
	struct nn_graph *graph;
	struct nn_error err = { 0 };
	int v = nn_program_input(program, &shape, NULL), w;

	w = nn_program_add(program, NN_OP_layernorm, &norm, &v, 1, "0", 0, NULL);
	w = nn_program_add(program, NN_OP_softmax, &softmax, &w, 1, "1", 1, NULL);
	nn_program_output(program, w, NULL, NULL);
	ok(nn_graph_bind(&graph, program, &options, &err) == -1 && err.code == NN_ENODEV && !graph &&
	   strcmp(err.text, "device plain cannot compute layernorm, softmax") == 0,
	   "graph: all ops that a device lacks are named at once");
	note("%s", err.text);
	nn_program_add(program, NN_OP_layernorm, &norm, &v, 1, "2", 2, NULL);
	ok(nn_graph_bind(&graph, program, &options, &err) == -1 &&
	   strcmp(err.text, "layer 2: layernorm: nobody uses its output") == 0, "graph: an output that nobody uses is refused");
	note("%s", err.text);
	nn_program_free(program);
}

/* What holds for any device, with all ops or those that plain_device has. */
static void graph_holds(const struct nn_device *device, bool every_op)
{
	forward_is_right(device, every_op, 200 * TIMES, false);
	forward_is_right(device, every_op, 200 * TIMES, true);
	gradients_are_right(device, every_op, 100 * TIMES);
	spans_are_free(device, every_op, 30 * TIMES);
	rows_are_rows(device, every_op, 50 * TIMES);
	parameters_come_back(device, every_op, 20);
	plan_is_kept(device, every_op);
}

int main(void)
{
	struct nn_error err = { 0 };
	const struct nn_device *cpu = nn_device_open("cpu", NN_F64, &err);

	graph_holds(&plain_device, false);
	backward_reports(&plain_device);
	memory_is_reused(&plain_device);
	calls_are_few(&plain_device);
	refusals();
	if (!ok(cpu, "graph: the cpu device opens")) {
		note("%s", err.text);
		return tap_done();
	}
	graph_holds(cpu, true);
	views_are_seen(cpu);
	fusions_are_made(cpu);
	single_precision_agrees(cpu, nn_device_open("cpu", NN_F32, NULL));
	return tap_done();
}
