/*
 * Graphs: forward against the network evaluated alone, gradients against differences, spans,
 * prediction, parameters.
 */
#include <math.h>

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
#include "graph-batch.h"

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

static void forward_is_right(const struct nn_device *device, bool every_op, int n_trials,
			     bool training)
{
	struct nn_device spoiler = spoiling(device);
	double worst = 0;
	int bad = -1;

	for (int i = 0; i < n_trials; i++) {
		struct trial t = trial_new((uint64_t)i, 4 + i % 14, every_op, !training,
					   every_op && i % 2 ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, &spoiler, training, ROWS, NULL, NULL);
		double e = forward_error(&t, graph, training);

		bad = worse(worst, e) > worst || isnan(e) ? i : bad;
		worst = worse(worst, e);
		nn_graph_free(graph);
		trial_free(&t);
	}
	/* f64 sums in another order; activations of the device to 2 ulp. */
	if (!ok(worst < 1e-10,
		"graph: %s: %d random networks give what their ops give one by one, %s",
		device->name, n_trials, training ? "training" : "prediction"))
		note("network %d: relative error %g", bad, worst);
}

/* ---- backward ---- */

static double difference_quotient(struct trial *t, struct nn_graph *graph, double *parameter,
				  double h)
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

/*
 * How far a gradient is from the difference quotient; 0 where that shows a kink (of relu, of a
 * maximum) within its step.
 */
static double element_error(struct trial *t, struct nn_graph *graph, double *parameter,
			    double gradient)
{
	double wide = difference_quotient(t, graph, parameter, 1e-6), narrow,
	       e = difference(gradient, wide);

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

				worst = worse(worst, element_error(t, graph, &t->params[p][at],
								   gradient[at]));
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
		struct trial t = trial_new((uint64_t)i + 1000000, 4 + i % 14, every_op, true,
					   every_op && i % 2 ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, &spoiler, true, ROWS, NULL, NULL);
		double e = gradient_error(&t, graph);

		bad = worse(worst, e) > worst || isnan(e) ? i : bad;
		worst = worse(worst, e);
		nn_graph_free(graph);
		trial_free(&t);
	}
	/*
	 * Central differences with a step of 1e-6 are good to about 1e-9 times the curvature and
	 * the loss.
	 */
	if (!ok(worst < 1e-5,
		"graph: %s: gradients of %d random networks are their difference quotients",
		device->name, n_trials))
		note("network %d: relative error %g", bad, worst);
}

/* ---- spans ---- */

struct graph_block {
	double *values;
	size_t n;
};

/*
 * One span of leaves first..first + n - 1, in pieces of at most `most` rows where it is one leaf.
 */
static struct graph_block span_gradient(const struct trial *t, struct nn_graph *graph, size_t first,
					size_t n, size_t most)
{
	struct graph_block block = { calloc(nn_graph_block(graph) + 1, sizeof(double)),
				     nn_graph_block(graph) };
	size_t begin = leaves[first], end = leaves[first + n];

	for (size_t at = begin; at < end;) {
		size_t rows = n == 1 && end - at > most ? most : end - at, leaf[LEAVES + 1],
		       groups = 0, group[LEAVES + 1] = { 0 };
		struct nn_span span = { .rows = rows,
					.sample = at,
					.leaf = leaf,
					.n_leaves = n,
					.first = at == begin,
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
static struct graph_block tree_gradient(const struct trial *t, struct nn_graph *graph, size_t first,
					size_t n, size_t most_leaves, size_t most_rows)
{
	struct graph_block left, right;

	if (n <= most_leaves)
		return span_gradient(t, graph, first, n, most_rows);
	left = tree_gradient(t, graph, first, n / 2, most_leaves, most_rows);
	right = tree_gradient(t, graph, first + n / 2, n / 2, most_leaves, most_rows);
	for (size_t i = 0; i < left.n; i++)
		left.values[i] += right.values[i];
	free(right.values);
	return left;
}

static bool same_gradients(const struct trial *t, const struct nn_device *device,
			   const struct graph_block *want, int threads, size_t most_leaves,
			   size_t most_rows)
{
	struct nn_pool *pool = NULL;
	struct nn_graph *graph;
	struct graph_block got;
	bool same;

	nn_pool_new(&pool, threads, NULL);
	graph = bind_with(t, device, true, most_leaves == LEAVES ? ROWS : 6 * most_leaves, pool,
			  NULL);
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
		struct trial t =
			trial_new((uint64_t)i + 2000000, 4 + i % 14, every_op, true, group);
		struct nn_graph *graph = bind_with(&t, device, true, ROWS, NULL, NULL);
		struct graph_block want = tree_gradient(&t, graph, 0, LEAVES, LEAVES, ROWS);

		halves &= same_gradients(&t, device, &want, 1, 2, ROWS);
		single &= same_gradients(&t, device, &want, 1, 1, ROWS);
		for (size_t rows = 1; rows < 6 && group == 0; rows++)
			pieces &= same_gradients(&t, device, &want, 1, 1, rows);
		for (int n = 2; n <= 4; n++)
			threads &= same_gradients(&t, device, &want, n, (size_t)1 << (n - 2),
						  5 + group);
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
static double *predict(const struct trial *t, struct nn_graph *graph, size_t first, size_t n,
		       size_t *count)
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
		read_output(graph, t->program, o, n, sizeof *at, at);
	return y;
}

static bool row_alone(const struct trial *t, const struct nn_device *device, struct nn_graph *graph,
		      size_t row)
{
	struct nn_graph *single = bind_with(t, device, false, 1, NULL, graph);
	size_t n_one, n_all;
	double *one = predict(t, single, row, 1, &n_one), *all = predict(t, graph, 0, ROWS, &n_all),
	       *at = one, *from = all;
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
		struct trial t = trial_new((uint64_t)i + 3000000, 4 + i % 14, every_op, true,
					   every_op ? 6 : 0);
		struct nn_graph *graph = bind_with(&t, device, false, ROWS, NULL, NULL);
		struct nn_graph *training = bind_with(&t, device, true, ROWS, NULL, NULL);
		struct nn_graph *valid = bind_with(&t, device, false, ROWS, NULL, training);
		struct nn_graph *twin = bind_with(&t, device, false, ROWS - 1, NULL, graph);
		size_t n, m;
		double *a = predict(&t, graph, 0, ROWS - 1, &n),
		       *b = predict(&t, valid, 0, ROWS - 1, &m);
		double *c = predict(&t, twin, 0, ROWS - 1, &m);

		alone &= row_alone(&t, device, graph, 0) &&
			 row_alone(&t, device, graph, (size_t)i % ROWS);
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
	ok(fold < 1e-10,
	   "graph: %s: prediction on a training graph's weights agrees with folded ones",
	   device->name);
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
		params[p] =
			narrowed(t->params[p], nn_shape_count(&t->program->params[p].desc.shape));
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

		read_output(narrow, t->program, o, ROWS, sizeof *y, y);
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
		struct nn_graph *a = bind_with(&t, wide, false, ROWS, NULL, NULL),
				*b = bind_f32(&t, narrow);

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
		struct trial t =
			trial_new((uint64_t)i + 4000000, 12, every_op, true, every_op ? 6 : 0);
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
		moved &= memcmp(block, nn_graph_weights(graph),
				nn_graph_block(graph) * sizeof *block) == 0;
		free(block);
		nn_free(saved);
		nn_graph_free(graph);
		trial_free(&t);
	}
	ok(back, "graph: %s: parameters are saved as they were loaded", device->name);
	ok(moved, "graph: %s: packing one parameter after the other gives the block of weights",
	   device->name);
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
}

int main(void)
{
	struct nn_error err = { 0 };
	const struct nn_device *cpu = nn_device_open("cpu", NN_F64, &err);

	graph_holds(&plain_device, false);
	if (!ok(cpu, "graph: the cpu device opens")) {
		note("%s", err.text);
		return tap_done();
	}
	graph_holds(cpu, true);
	single_precision_agrees(cpu, nn_device_open("cpu", NN_F32, NULL));
	return tap_done();
}
