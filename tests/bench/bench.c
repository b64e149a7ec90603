/*
 * Times training steps and predictions of the nets that peers.py times in other systems: bench
 * step|late|predict NET BATCH THREADS [DEVICE]. late: a step among the first 2,000, and one after
 * 5,000, when the moments of weights whose inputs are 0 have decayed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/flush.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/random.h"
#include "file/npy.h"
#include "predict/model.h"
#include "step/made.h"
#include "step/step.h"
#include "nets.h"

static double seconds = 1.5;
static const char *device = "cpu"; /* or cpu+openblas: sums in any order */

static void check(int status, const struct nn_error *err)
{
	if (status < 0) {
		fprintf(stderr, "bench: %s\n", err->text);
		exit(1);
	}
}

static const struct net *find(const char *name)
{
	for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
		if (strcmp(nets[i].name, name) == 0)
			return &nets[i];
	fprintf(stderr, "bench: no net %s\n", name);
	exit(2);
}

/* ---- timing ---- */

/* Median seconds of a call over blocks of about 20 ms. */
static double measure(void (*call)(void *arg), void *arg)
{
	enum { MOST = 4096 };
	static double block[MOST];
	double start, once, end;
	size_t n = 0, inner;

	call(arg);
	start = nn_now_s();
	call(arg);
	once = nn_now_s() - start;
	inner = once < 0.02 ? (size_t)(0.02 / (once + 1e-8)) + 1 : 1;
	end = nn_now_s() + seconds;
	while (n < MOST && (n < 5 || nn_now_s() < end)) {
		start = nn_now_s();
		for (size_t i = 0; i < inner; i++)
			call(arg);
		block[n++] = (nn_now_s() - start) / (double)inner;
	}
	return nn_median(block, n);
}

/* ---- nets and data ---- */

static struct nn_net *make_net(const struct net *net)
{
	struct nn_shape inputs[2];
	struct nn_error err;
	struct nn_net *made;
	size_t size = 0;

	check(nn_net_parse(&made, "-m", net->text, strlen(net->text), true, &err), &err);
	for (size_t i = 0; i < nn_net_n_inputs(made); i++)
		inputs[i] = nn_net_input(made, i)->shape;
	check(nn_net_resolve(made, inputs, &size, &err), &err);
	return made;
}

/*
 * Multiplications and additions of a row, forward; in a training step the products run three times,
 * the first two (of a recurrent layer that comes first the state's run three times all the same).
 */
static double count_flops(const struct nn_program *program, bool training)
{
	double sum = 0;

	for (int i = 0; i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];
		struct nn_shape in[8];
		double flops;

		if (node->op != NN_OP_dense && node->op != NN_OP_conv2d &&
		    node->op != NN_OP_recurrent && node->op != NN_OP_attention)
			continue;
		for (int k = 0; k < node->n_in; k++)
			in[k] = program->values[node->in[k]].shape;
		flops = (double)nn_ops[node->op]->flops(node->attrs, in, node->n_in,
							&program->values[node->out].shape);
		sum += flops * (!training ? 1 : node->in[0] == program->inputs[0] ? 2 : 3);
	}
	return sum;
}

static void write_array(const char *path, enum nn_dtype dtype, const struct nn_shape *shape,
			const void *data)
{
	struct nn_output *output;
	struct nn_error err;
	size_t bytes;

	nn_shape_check(shape, nn_dtype_size(dtype), &bytes);
	check(nn_output_open(&output, path, true, &err), &err);
	check(nn_npy_write_header(output, dtype, shape, &err), &err);
	check(nn_output_write(output, data, bytes, &err), &err);
	check(nn_output_commit(output, &err), &err);
}

/*
 * The border of a picture of side x side: 0, as most of MNIST's; in the first rows it is not, so
 * that there are moments to decay.
 */
static bool is_dark(const struct net *net, size_t row, size_t column, size_t batch)
{
	size_t side = 28, margin = 3, x = column % side, y = column / side;

	return batch && row >= batch && nn_shape_count(&net->input) == side * side &&
	       (x < margin || y < margin || x >= side - margin || y >= side - margin);
}

/* batch: those of the first steps are lit at the border, 0: all. */
static struct nn_dataset *make_data(const struct net *net, size_t rows, size_t batch)
{
	static char x_path[] = "/tmp/nn-bench-x.XXXXXX", y_path[] = "/tmp/nn-bench-y.XXXXXX";
	struct nn_shape x_shape = { .rank = net->input.rank + 1, .dim = { rows } },
			y_shape = nn_shape1(rows);
	bool pixels = strcmp(net->name, "unet") == 0; /* a class for each */
	size_t size = nn_shape_count(&net->input),
	       positions = pixels ? net->input.dim[1] * net->input.dim[2] : 1;
	struct nn_want_input input = { .shaped = true, .shape = net->input };
	struct nn_want_target target = { .classes = true, .size = net->classes };
	struct nn_want want = {
		.inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32
	};
	struct nn_data_options options = { .normalize = "none" };
	struct nn_dataset *dataset;
	struct nn_error err = { 0 };
	float *x = nn_alloc(rows * size, sizeof *x, &err);
	int64_t *y = nn_alloc(rows * positions, sizeof *y, &err);
	uint64_t *all = nn_alloc(rows, sizeof *all, &err);
	uint64_t state = 1;

	memcpy(x_shape.dim + 1, net->input.dim, sizeof *net->input.dim * (size_t)net->input.rank);
	for (size_t i = 0; i < rows * size; i++) {
		x[i] = is_dark(net, i / size, i % size, batch)
			       ? 0
			       : (float)(nn_lcg(&state) >> 40) * 0x1p-24f;
	}
	for (size_t i = 0; i < rows * positions; i++)
		y[i] = (int64_t)(i * 7 % net->classes);
	for (size_t i = 0; i < rows; i++)
		all[i] = i;
	if (pixels)
		y_shape = nn_shape3(rows, net->input.dim[1], net->input.dim[2]);
	close(mkstemp(x_path));
	close(mkstemp(y_path));
	write_array(x_path, NN_F32, &x_shape, x);
	write_array(y_path, NN_I64, &y_shape, y);
	check(nn_dataset_open(&dataset, x_path, y_path, &options, &want, &err), &err);
	check(nn_dataset_measure(dataset, all, rows, &err), &err);
	unlink(x_path);
	unlink(y_path);
	nn_free(x);
	nn_free(y);
	nn_free(all);
	return dataset;
}

static void **make_params(const struct nn_net *net)
{
	struct nn_error err;
	void **params = nn_params_new(nn_net_program(net), NN_F32, &err);

	check(params ? nn_net_init(net, 1, NN_F32, params, &err) : -1, &err);
	return params;
}

/* ---- what is measured ---- */

struct training {
	struct nn_step *step;
	const struct nn_dataset *dataset;
	uint64_t *rows;
	size_t batch;
	uint64_t number;
};

static void train(void *arg)
{
	struct training *t = arg;
	struct nn_source source = nn_dataset_source(t->dataset);
	struct nn_batch batch = nn_batch_of(&source, t->rows, t->batch);
	struct nn_step_terms terms = { .lr = 0.001 };
	struct nn_step_result result;

	batch.sample = t->number * t->batch;
	terms.number = ++t->number;
	if (nn_step_whole(t->step, &batch, &terms, NULL, &result, NULL) < 0 || !result.finite) {
		fprintf(stderr, "bench: the loss is not finite\n");
		exit(1);
	}
}

static double one_step(struct training *t)
{
	double start = nn_now_s();

	train(t);
	return nn_now_s() - start;
}

/* Steps on other rows each time, whose border is dark but for the first step's. */
#define FIRST_STEPS 2000
#define LATE_FROM 5000
static double time_late(struct training *t, size_t rows)
{
	static double first[FIRST_STEPS], late[FIRST_STEPS];
	size_t batches = rows / t->batch;

	for (size_t i = 0; i < LATE_FROM + FIRST_STEPS; i++) {
		size_t from = i ? t->batch * (1 + i % (batches - 1)) : 0;
		double s;

		for (size_t k = 0; k < t->batch; k++)
			t->rows[k] = from + k;
		s = one_step(t);
		if (i < FIRST_STEPS)
			first[i] = s;
		else if (i >= LATE_FROM)
			late[i - LATE_FROM] = s;
	}
	printf("late\t-\t%.9f\t0\n", nn_median(late, FIRST_STEPS));
	return nn_median(first, FIRST_STEPS);
}

static double time_step(const struct net *net, size_t batch, int threads, bool late)
{
	struct nn_error err = { 0 };
	struct nn_net *made = make_net(net);
	struct nn_loss_spec loss = { .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 };
	struct nn_step_memory m;
	double weight = 1, s;
	size_t rows = late ? 65 * batch : batch;
	struct training t = { .batch = batch };
	struct nn_step_options options = {
		.device = nn_device_open(device, NN_F32, &err),
		.program = nn_net_program(made),
		.rows = batch,
		.batch = batch,
		.leaves = 16,
		.micro = batch,
		.losses = &loss,
		.weights = &weight,
		.seed = 1,
	};
	struct nn_dataset *dataset;
	void **params = make_params(made);

	check(options.device ? 0 : -1, &err);
	if (nn_net_n_inputs(made) > 1)
		check(nn_made_samples(&dataset, options.program, &loss, rows, NN_F32, 1, &err),
		      &err);
	else
		dataset = make_data(net, rows, late ? batch : 0);
	options.dataset = dataset;
	options.optimizer.kind = NN_OPTIMIZER_ADAM;
	options.leaves = options.device->leaves(batch, nn_program_group(options.program), 16);
	check(nn_step_plan(&options, &m, &err), &err);
	options.micro =
		nn_step_default_micro_batch(batch, batch, options.leaves, threads,
					    m.graph.activations_per_row + m.graph.input / batch);
	check(nn_pool_new(&options.pool, threads, &err), &err);
	check(nn_step_new(&t.step, &options, &err), &err);
	check(nn_graph_load(nn_step_graph(t.step), (const void *const *)params, &err), &err);
	t.dataset = options.dataset;
	t.rows = nn_alloc(batch, sizeof *t.rows, &err);
	for (size_t i = 0; i < batch; i++)
		t.rows[i] = i;
	s = late ? time_late(&t, rows) : measure(train, &t);
	nn_step_free(t.step);
	nn_pool_free(options.pool);
	printf("%s\t%s\t%.9f\t%.0f\n", strcmp(device, "cpu") == 0 ? "nntools" : "anyorder",
	       options.device->kind, s, count_flops(options.program, true) * (double)batch);
	return s;
}

struct prediction {
	struct nn_session *session;
	const float *x;
	float *y;
	size_t batch;
};

static void predict(void *arg)
{
	struct prediction *p = arg;

	nn_session_predict(p->session, &p->x, p->batch, &p->y, NULL);
}

static void time_predict(const struct net *net, size_t batch, int threads)
{
	static char path[] = "/tmp/nn-bench-m.XXXXXX";
	struct nn_error err = { 0 };
	struct nn_net *made = make_net(net);
	struct nn_session_options options = { .size = sizeof options,
					      .max_rows = batch,
					      .threads = threads };
	struct prediction p = { .batch = batch };
	struct nn_output *output;
	struct nn_model *model;
	float *x;

	if (nn_net_n_inputs(made) > 1) {
		fprintf(stderr, "bench: predictions of nets with one input are timed\n");
		exit(2);
	}
	close(mkstemp(path));
	check(nn_output_open(&output, path, true, &err), &err);
	check(nn_model_file_write(output, made, NN_F32, (const void *const *)make_params(made),
				  NULL, NULL, NULL, &err),
	      &err);
	check(nn_output_commit(output, &err), &err);
	model = nn_model_open(path, &err);
	unlink(path);
	check(model ? 0 : -1, &err);
	p.session = nn_session_open(model, &options, &err);
	check(p.session ? 0 : -1, &err);
	p.x = x = nn_alloc(batch * nn_model_inputs(model), sizeof *x, &err);
	for (size_t i = 0; i < batch * nn_model_inputs(model); i++)
		x[i] = (float)(i * 2654435761u % 1000) / 1000;
	p.y = nn_alloc(batch * nn_model_outputs(model), sizeof *p.y, &err);
	printf("nntools\t%s\t%.9f\t%.0f\n", model->device->kind, measure(predict, &p),
	       count_flops(nn_net_program(made), false) * (double)batch);
	nn_session_close(p.session);
	nn_model_close(model);
}

int main(int argc, char **argv)
{
	const char *limit = getenv("NN_BENCH_SECONDS");

	if (argc < 5 || argc > 6) {
		fprintf(stderr, "usage: bench step|late|predict NET BATCH THREADS [DEVICE]\n");
		return 2;
	}
	if (argc == 6)
		device = argv[5];
	if (limit)
		seconds = atof(limit);
	nn_flush_set(true);
	if (strcmp(argv[1], "predict") != 0)
		time_step(find(argv[2]), strtoul(argv[3], NULL, 10), atoi(argv[4]),
			  strcmp(argv[1], "late") == 0);
	else
		time_predict(find(argv[2]), strtoul(argv[3], NULL, 10), atoi(argv[4]));
	return 0;
}
