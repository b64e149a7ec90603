/*
 * Graphs: what binding makes of a program, its memory, calls and fusions, what backward reports,
 * and what is refused.
 */
#include <malloc.h>

#include "graph-batch.h"
#include "graph-plain.h"
#include "graph-spoil.h"

/* ---- a chain ---- */

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
			value = nn_program_add(program, NN_OP_activation, &relu, &value, 1, "a",
					       2 * i + 1, NULL);
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
	ok(order.n == 10 && order.descending,
	   "graph: every parameter is reported ready once, last layer first");
	ok(nn_graph_first_nonfinite(graph, ROWS) == -1,
	   "graph: finite values have no first bad layer");
	t.params[4][3] = INFINITY;
	nn_graph_load(graph, (const void *const *)t.params, NULL);
	forward_all(&t, graph);
	ok(nn_graph_first_nonfinite(graph, ROWS) == 4,
	   "graph: the first layer with a value that is not finite is found");
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
		struct trial t =
			trial_new((uint64_t)i + 5000000, 14, every_op, true, every_op ? 6 : 0);
		struct nn_graph_options options = { .device = &counter,
						    .max_rows = ROWS,
						    .max_leaves = LEAVES,
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
	struct nn_graph_options options = { .device = device,
					    .max_rows = ROWS,
					    .max_leaves = LEAVES };
	struct nn_graph_memory predict, train;
	struct nn_error err = { 0 };
	size_t value = ROWS * 8 * sizeof(double);

	nn_graph_plan(program, &options, &predict, NULL);
	options.training = true;
	nn_graph_plan(program, &options, &train, NULL);
	ok(predict.activations == 2 * value,
	   "graph: prediction through a chain needs two values at a time");
	/*
	 * Ten values, and the gradients of the output and of the value before it; later ones lie
	 * where values were.
	 */
	ok(train.activations == 12 * value, "graph: training keeps a chain's values, and gradients "
					    "take the place of those done with");
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

/*
 * Where fusion must hold back: each of these would be wrong with batchnorm or pooling in the
 * product.
 */
static void views_are_seen(const struct nn_device *device)
{
	struct nn_conv2d conv = {
		.out = 1, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1
	};
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
	nn_program_output(p, nn_program_add(p, NN_OP_batchnorm, &norm, &v, 1, "2", 2, NULL), "a",
			  NULL);
	v = nn_program_add(p, NN_OP_conv2d, &conv, &x, 1, "3", 3, NULL);
	v = nn_program_add(p, NN_OP_reshape, &other, &v, 1, "4", 4, NULL);
	v = nn_program_add(p, NN_OP_activation, &relu, &v, 1, "5", 5, NULL);
	nn_program_output(p, nn_program_add(p, NN_OP_maxpool2d, &pool, &v, 1, "6", 6, NULL), "b",
			  NULL);
	v = nn_program_add(p, NN_OP_dense, &dense, &x, 1, "7", 7, NULL);
	nn_program_output(p, nn_program_add(p, NN_OP_batchnorm, &norm, &v, 1, "8", 8, NULL), "c",
			  NULL);
	t = trial_of(p);
	graph = bind_with(&t, device, false, ROWS, NULL, NULL);
	ok(forward_error(&t, graph, false) < 1e-12,
	   "graph: batchnorm and pooling of a view are not fused into what made it");
	nn_graph_free(graph);
	trial_free(&t);
}

static void fusions_are_made(const struct nn_device *device)
{
	struct nn_device counter = spoiling(device);
	struct nn_conv2d conv = { .out = 3,
				  .kernel = { 3, 3 },
				  .stride = { 1, 1 },
				  .pad = { 1, 1 },
				  .dilation = { 1, 1 },
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
	ok(n[1] == 3,
	   "graph: in training conv+relu+pool is one kernel, batchnorm+add+relu another");
	ok(n[0] == 2, "graph: at prediction conv+batchnorm+add+relu is one kernel");
	trial_free(&t);
}

/* ---- refusals ---- */

static void refusals(void)
{
	struct nn_graph_options options = {
		.device = &plain_device, .max_rows = 4, .max_leaves = 1, .training = true
	};
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
	ok(nn_graph_bind(&graph, program, &options, &err) == -1 && err.code == NN_ENODEV &&
		   !graph &&
		   strcmp(err.text, "device plain cannot compute layernorm, softmax") == 0,
	   "graph: all ops that a device lacks are named at once");
	note("%s", err.text);
	nn_program_add(program, NN_OP_layernorm, &norm, &v, 1, "2", 2, NULL);
	ok(nn_graph_bind(&graph, program, &options, &err) == -1 &&
		   strcmp(err.text, "layer 2: layernorm: nobody uses its output") == 0,
	   "graph: an output that nobody uses is refused");
	note("%s", err.text);
	nn_program_free(program);
}

int main(void)
{
	struct nn_error err = { 0 };
	const struct nn_device *cpu = nn_device_open("cpu", NN_F64, &err);

	plan_is_kept(&plain_device, false);
	backward_reports(&plain_device);
	memory_is_reused(&plain_device);
	calls_are_few(&plain_device);
	refusals();
	if (!ok(cpu, "graph: the cpu device opens")) {
		note("%s", err.text);
		return tap_done();
	}
	plan_is_kept(cpu, true);
	views_are_seen(cpu);
	fusions_are_made(cpu);
	return tap_done();
}
