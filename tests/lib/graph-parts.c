/*
 * Parts of a program, each a graph of its own, against the one graph of all of it: the same bytes.
 */
#include "graph-plain.h"
#include "graph-spoil.h"
#include "graph-trial.h"
#include "tap.h"

#define LEAF_ROWS 6
#define SPANS (ROWS / LEAF_ROWS)
#define MOST_PARTS 4

static void fail(const struct nn_error *err)
{
	note("%s", err->text);
	exit(1);
}

/* Span number i: one leaf, one group. */
static struct nn_span leaf_span(size_t i)
{
	static const size_t bounds[] = { 0, LEAF_ROWS };

	return (struct nn_span){ .rows = LEAF_ROWS,
				 .sample = 100 + i * LEAF_ROWS,
				 .leaf = bounds,
				 .n_leaves = 1,
				 .first = true,
				 .group = bounds,
				 .n_groups = 1 };
}

static struct nn_graph *bind_part(const struct trial *t, const struct nn_device *device, int first,
				  int last, size_t slots)
{
	struct nn_graph_options options = {
		.device = device,
		.max_rows = LEAF_ROWS,
		.max_leaves = 1,
		.training = true,
		.seed = 7,
		.first = first,
		.last = last,
		.slots = slots,
	};
	struct nn_error err = { 0 };
	struct nn_graph *graph;

	if (nn_graph_bind(&graph, t->program, &options, &err) < 0 ||
	    nn_graph_load(graph, (const void *const *)t->params, &err) < 0)
		fail(&err);
	return graph;
}

/*
 * What span i's backward leaves of every parameter's gradient, in canonical order, one after
 * another.
 */
static size_t collect(const struct trial *t, struct nn_graph *graph, double *to)
{
	size_t n = 0, offset, packed;

	for (int p = 0; p < t->program->n_params; p++) {
		size_t count = nn_shape_count(&t->program->params[p].desc.shape);

		if (nn_graph_place(graph, p, &offset, &packed))
			nn_graph_unpack(graph, p, nn_graph_gradients(graph), to + n);
		n += count;
	}
	return n;
}

static void whole(const struct trial *t, const struct nn_device *device, size_t n,
		  double *gradients, double **params)
{
	struct nn_graph *graph = bind_part(t, device, 0, 0, 0);

	for (size_t i = 0; i < SPANS; i++) {
		struct nn_span span = leaf_span(i);

		feed(t, graph, i * LEAF_ROWS, LEAF_ROWS);
		nn_graph_forward(graph, &span);
		put_loss_gradient(t, graph, i * LEAF_ROWS, LEAF_ROWS);
		nn_graph_backward(graph, &span, NULL, NULL);
		collect(t, graph, gradients + i * n);
	}
	nn_graph_save(graph, (void *const *)params);
	nn_graph_free(graph);
}

static void pass(struct nn_graph *from, struct nn_graph *to, enum nn_graph_side side)
{
	enum nn_graph_side other = side == NN_SIDE_GOING ? NN_SIDE_COMING : NN_SIDE_GOING;
	size_t n = nn_graph_edges(from, side);

	if (n != nn_graph_edges(to, other))
		NN_BUG("%zu edges against %zu", n, nn_graph_edges(to, other));
	for (size_t i = 0; i < n; i++) {
		struct nn_graph_edge a = nn_graph_edge(from, side, i),
				     b = nn_graph_edge(to, other, i);

		if (side == NN_SIDE_GOING)
			memcpy(b.value, a.value, LEAF_ROWS * a.row_bytes);
		else if (a.gradient)
			memcpy(b.gradient, a.gradient, LEAF_ROWS * a.row_bytes);
		if (a.row_bytes != b.row_bytes || !a.gradient != !b.gradient)
			NN_BUG("edge %zu is not the same on both sides", i);
	}
}

/* All spans forward through the parts, then all of them backward. */
static void in_parts(const struct trial *t, const struct nn_device *device, const int *bounds,
		     int n_parts, size_t n, double *gradients, double **params)
{
	struct nn_graph *parts[MOST_PARTS];

	for (int p = 0; p < n_parts; p++)
		parts[p] = bind_part(t, device, bounds[p], bounds[p + 1], SPANS);
	for (size_t i = 0; i < SPANS; i++) {
		struct nn_span span = leaf_span(i);

		for (int p = 0; p < n_parts; p++) {
			nn_graph_use(parts[p], i);
			feed(t, parts[p], i * LEAF_ROWS, LEAF_ROWS);
			if (p > 0)
				pass(parts[p - 1], parts[p], NN_SIDE_GOING);
			nn_graph_forward(parts[p], &span);
		}
		put_loss_gradient(t, parts[n_parts - 1], i * LEAF_ROWS, LEAF_ROWS);
	}
	for (size_t i = 0; i < SPANS; i++) {
		struct nn_span span = leaf_span(i);

		for (int p = n_parts; p-- > 0;) {
			nn_graph_use(parts[p], i);
			if (p + 1 < n_parts)
				pass(parts[p + 1], parts[p], NN_SIDE_COMING);
			nn_graph_backward(parts[p], &span, NULL, NULL);
			collect(t, parts[p], gradients + i * n);
		}
	}
	for (int p = 0; p < n_parts; p++) {
		nn_graph_save(parts[p], (void *const *)params);
		nn_graph_free(parts[p]);
	}
}

/* Bounds of n_parts parts of n_nodes nodes, by the dice. */
static void roll_bounds(struct dice *dice, int n_nodes, int n_parts, int *bounds)
{
	bounds[0] = 0;
	for (int p = 1; p <= n_parts; p++) {
		int left = n_parts - p, most = n_nodes - left - bounds[p - 1];

		bounds[p] = p == n_parts ? n_nodes
					 : bounds[p - 1] + 1 + (int)roll(dice, (uint64_t)most);
	}
}

static size_t count_params(const struct trial *t)
{
	size_t n = 0;

	for (int p = 0; p < t->program->n_params; p++)
		n += nn_shape_count(&t->program->params[p].desc.shape);
	return n;
}

/* -1: as in one graph; else how many parts differed. */
static int trial_differs(const struct nn_device *device, int number, bool every_op)
{
	struct trial t = trial_new((uint64_t)number, 4 + number % 14, every_op, true,
				   every_op && number % 2 ? LEAF_ROWS : 0);
	struct nn_graph_options options = { .device = device, .training = true };
	struct nn_graph_node *nodes;
	size_t n = count_params(&t);
	struct nn_error err = { 0 };
	int n_nodes = nn_graph_nodes(t.program, &options, &nodes, &err), bounds[MOST_PARTS + 1],
	    differs = -1;
	double *wanted = calloc(SPANS * n, sizeof *wanted),
	       *found = calloc(SPANS * n, sizeof *found);
	double **params = random_params(t.program, &t.dice),
	       **values = random_params(t.program, &t.dice);

	if (n_nodes < 0)
		fail(&err);
	whole(&t, device, n, wanted, params);
	for (int parts = 1; parts <= MOST_PARTS && parts <= n_nodes && differs < 0; parts++) {
		roll_bounds(&t.dice, n_nodes, parts, bounds);
		memset(found, 0, SPANS * n * sizeof *found);
		for (int p = 0; p < t.program->n_params; p++)
			memset(values[p], 0,
			       nn_shape_count(&t.program->params[p].desc.shape) * sizeof(double));
		in_parts(&t, device, bounds, parts, n, found, values);
		if (memcmp(wanted, found, SPANS * n * sizeof *found) != 0)
			differs = parts;
		for (int p = 0; p < t.program->n_params; p++)
			if (memcmp(params[p], values[p],
				   nn_shape_count(&t.program->params[p].desc.shape) *
					   sizeof(double)) != 0)
				differs = parts;
	}
	nn_free(params);
	nn_free(values);
	free(wanted);
	free(found);
	nn_free(nodes);
	trial_free(&t);
	return differs;
}

static void parts_are_whole(const struct nn_device *device, bool every_op, int n_trials)
{
	struct nn_device spoiler = spoiling(device);
	int bad = -1, parts = -1;

	for (int i = 0; i < n_trials && bad < 0; i++)
		if ((parts = trial_differs(&spoiler, i, every_op)) >= 0)
			bad = i;
	if (!ok(bad < 0,
		"parts, %s: gradients and buffers of %d networks in up to %d parts are those of "
		"one graph",
		device->name, n_trials, MOST_PARTS))
		note("network %d differs in %d parts", bad, parts);
}

/* ---- prediction ---- */

static struct nn_graph *bind_predicting(const struct trial *t, const struct nn_device *device,
					int first, int last)
{
	struct nn_graph_options options = {
		.device = device, .max_rows = LEAF_ROWS, .first = first, .last = last
	};
	struct nn_error err = { 0 };
	struct nn_graph *graph;

	if (nn_graph_bind(&graph, t->program, &options, &err) < 0 ||
	    nn_graph_load(graph, (const void *const *)t->params, &err) < 0)
		fail(&err);
	return graph;
}

/* Outputs of the last part against those of the whole; the first alone has inputs. */
static bool predicts_alike(const struct trial *t, const struct nn_device *device,
			   struct nn_graph *one, const int *bounds, int n_parts)
{
	struct nn_graph *parts[MOST_PARTS];
	struct nn_span span = { .rows = LEAF_ROWS };
	bool alike = true;

	for (int p = 0; p < n_parts; p++) {
		parts[p] = bind_predicting(t, device, bounds[p], bounds[p + 1]);
		if (p == 0)
			feed(t, parts[p], 0, LEAF_ROWS);
		else
			pass(parts[p - 1], parts[p], NN_SIDE_GOING);
		nn_graph_forward(parts[p], &span);
	}
	for (int o = 0; o < t->program->n_outputs; o++) {
		size_t positions, columns;
		const double *wanted = nn_graph_output(one, o, &positions, &columns),
			     *found = nn_graph_output(parts[n_parts - 1], o, &positions, &columns);

		alike &= memcmp(wanted, found, LEAF_ROWS * positions * columns * sizeof *wanted) ==
			 0;
	}
	for (int p = 0; p < n_parts; p++)
		nn_graph_free(parts[p]);
	return alike;
}

static void parts_predict(const struct nn_device *device, int n_trials)
{
	struct nn_device spoiler = spoiling(device);
	struct nn_graph_options options = { .device = &spoiler };
	struct nn_span span = { .rows = LEAF_ROWS };
	int bad = -1, parts;

	for (int i = 0; i < n_trials && bad < 0; i++) {
		struct trial t = trial_new((uint64_t)i, 4 + i % 14, true, true, 0);
		struct nn_error err = { 0 };
		struct nn_graph_node *nodes;
		int n_nodes = nn_graph_nodes(t.program, &options, &nodes, &err),
		    bounds[MOST_PARTS + 1];
		struct nn_graph *one = bind_predicting(&t, &spoiler, 0, 0);

		feed(&t, one, 0, LEAF_ROWS);
		nn_graph_forward(one, &span);
		for (parts = 1; parts <= MOST_PARTS && parts <= n_nodes; parts++) {
			roll_bounds(&t.dice, n_nodes, parts, bounds);
			if (!predicts_alike(&t, &spoiler, one, bounds, parts))
				bad = i;
		}
		nn_graph_free(one);
		nn_free(nodes);
		trial_free(&t);
	}
	if (!ok(bad < 0, "parts, %s: %d networks predict in up to %d parts what one graph does",
		device->name, n_trials, MOST_PARTS))
		note("network %d", bad);
}

/*
 * The parameters of all parts together take what those of the whole take, and each has its own
 * alone.
 */
static void parts_share_nothing(const struct nn_device *device)
{
	struct trial t = trial_new(5, 12, false, false, 0);
	struct nn_graph_options options = {
		.device = device, .max_rows = ROWS, .max_leaves = LEAVES, .training = true
	};
	struct nn_graph_memory all, part;
	struct nn_graph_node *nodes;
	struct nn_error err = { 0 };
	size_t parameters = 0, most = 0;
	int n = nn_graph_nodes(t.program, &options, &nodes, &err);

	if (n < 0 || nn_graph_plan(t.program, &options, &all, &err) < 0)
		fail(&err);
	for (int i = 0; i < n; i++) {
		options.first = i;
		options.last = i + 1;
		if (nn_graph_plan(t.program, &options, &part, &err) < 0)
			fail(&err);
		parameters += part.parameters;
		most = part.parameters > most ? part.parameters : most;
	}
	ok(parameters == all.parameters && most < all.parameters,
	   "parts: parameters are planned for the part alone");
	options.slots = 3;
	if (nn_graph_plan(t.program, &options, &part, &err) < 0)
		fail(&err);
	all = part;
	options.slots = 1;
	if (nn_graph_plan(t.program, &options, &part, &err) < 0)
		fail(&err);
	ok(all.activations == 3 * part.activations && all.workspace == part.workspace,
	   "parts: three slots take three times the activations, and nothing else");
	nn_free(nodes);
	trial_free(&t);
}

int main(void)
{
	struct nn_error err = { 0 };
	const struct nn_device *cpu = nn_device_open("cpu", NN_F64, &err);

	parts_are_whole(&plain_device, false, 100);
	parts_share_nothing(&plain_device);
	if (!ok(cpu, "parts: the cpu device opens")) {
		note("%s", err.text);
		return tap_done();
	}
	parts_are_whole(cpu, true, 200);
	parts_predict(cpu, 200);
	return tap_done();
}
