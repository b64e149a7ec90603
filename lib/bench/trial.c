/* Trials: sessions on made rows, steps on made samples, and what both are checked against. */
#include "base/memory.h"
#include "bench/trial-inside.h"
#include "plan/layers.h"
#include "step/made.h"

#define SAMPLE_BYTES ((size_t)64 << 20)

/* ---- memory ---- */

static size_t graph_total(const struct nn_graph_memory *m)
{
	return m->parameters + m->gradients + m->activations + m->workspace + m->input + m->derived;
}

static struct nn_step_options step_options(const struct nn_trial *t, size_t micro)
{
	const struct nn_trial_options *o = &t->options;
	size_t group = nn_program_group(t->subject->program);

	return (struct nn_step_options){
		.device = o->device,
		.pool = t->pool,
		.program = t->subject->program,
		.dataset = t->dataset,
		.rows = t->n_rows,
		.batch = o->batch,
		.leaves = o->device->leaves(o->batch, group, SIZE_MAX),
		.micro = micro,
		.losses = t->subject->losses,
		.weights = t->subject->weights,
		.optimizer = t->subject->optimizer,
		.seed = 1,
		.count = true,
		.resident = true,
	};
}

/* Rows at once as nn-train would choose them. */
static int plan_step(struct nn_trial *t, size_t *micro, struct nn_error *err)
{
	struct nn_step_options o = step_options(t, t->options.batch);
	struct nn_step_memory m;

	if (nn_step_plan(&o, &m, err) < 0)
		return -1;
	*micro = nn_step_default_micro_batch(o.batch, o.batch, o.leaves, t->options.threads,
					     m.graph.activations_per_row + m.graph.input / o.batch);
	o.micro = *micro;
	if (nn_step_plan(&o, &m, err) < 0)
		return -1;
	t->bytes = m.total;
	return 0;
}

static int plan_session(struct nn_trial *t, struct nn_error *err)
{
	struct nn_graph_options g = { .device = t->options.device,
				      .pool = t->pool,
				      .max_rows = t->options.batch };
	struct nn_graph_memory m;

	if (nn_graph_plan(t->subject->program, &g, &m, err) < 0)
		return -1;
	t->bytes = graph_total(&m);
	return 0;
}

/* Rows that calls take turns with: as many bytes as no cache holds, and some calls' worth. */
static int take_rows(struct nn_trial *t, struct nn_error *err)
{
	size_t most = t->options.most_bytes ? t->options.most_bytes : SAMPLE_BYTES,
	       available = nn_memory_available();
	size_t row = nn_bench_model_input_bytes(t->subject), batch = t->options.batch, calls, need;

	calls = most / row / batch;
	calls = calls < 4 ? 4 : calls > 1024 ? 1024 : calls;
	if (!nn_mul(batch, calls, &t->n_rows) || !nn_mul(t->n_rows, row, &need) ||
	    !nn_add(need, t->bytes, &need) || need > available)
		return nn_fail(err, NN_ENOMEM,
			       "%s: a batch of %zu needs %zu bytes, and %zu for samples; %zu are "
			       "available",
			       t->subject->name, batch, t->bytes, row * batch * 4, available);
	return 0;
}

static int make_samples(struct nn_trial *t, struct nn_error *err)
{
	return nn_made_samples(&t->dataset, t->subject->program, t->subject->losses, t->n_rows,
			       t->options.device->dtype, 1, err);
}

/* ---- training ---- */

static int new_step(struct nn_trial *t, struct nn_error *err)
{
	const struct nn_device *device = t->options.device;
	struct nn_step_options o;
	size_t micro;

	t->n_rows = 4 * t->options.batch;
	if (plan_step(t, &micro, err) < 0 || take_rows(t, err) < 0 || make_samples(t, err) < 0)
		return -1;
	t->task = (struct nn_task){ .device = device,
				    .program = t->subject->program,
				    .dataset = t->dataset,
				    .n_rows = t->n_rows,
				    .window = UINT64_MAX };
	o = step_options(t, micro);
	o.target = &nn_dataset_schema(t->dataset)->targets[0];
	t->bytes += nn_step_resident_bytes(&o);
	return nn_alone_open(&t->alone, &t->task, &o, (const void *const *)t->subject->params, err);
}

/*
 * The rate is so small that values stay those of a training's beginning, however long it is
 * measured.
 */
static void train(struct nn_trial *t)
{
	struct nn_step_result result;

	t->diverged |=
		nn_alone_step(&t->alone, t->calls + 1, 1e-7, &result, NULL) < 0 || !result.finite;
}

/* ---- prediction ---- */

static int new_session(struct nn_trial *t, struct nn_error *err)
{
	struct nn_model_source source = { .path = t->subject->path,
					  .device = t->options.device,
					  .net = t->subject->net,
					  .params = (const void *const *)t->subject->params };
	struct nn_session_options o = { .size = sizeof o,
					.max_rows = t->options.batch,
					.threads = t->options.threads };
	size_t n_in = (size_t)t->subject->program->n_inputs;
	enum nn_dtype dtype = t->options.device->dtype;

	if (source.path)
		source.net = NULL, source.params = NULL;
	if (plan_session(t, err) < 0 || take_rows(t, err) < 0 ||
	    nn_model_load(&t->model, &source, err) < 0)
		return -1;
	if (!(t->session = nn_session_open(t->model, &o, err)) || make_samples(t, err) < 0)
		return -1;
	t->values = nn_bench_model_rows(t->subject, false, t->n_rows, dtype, err);
	t->out = nn_bench_model_rows(t->subject, true, t->options.batch, dtype, err);
	t->in = nn_alloc(n_in, sizeof *t->in, err);
	if (!t->values || !t->in || !t->out)
		return -1;
	for (size_t i = 0; i < n_in; i++)
		nn_dataset_fill_input(t->dataset, i, NULL, t->n_rows, false, t->values[i]);
	nn_dataset_free(t->dataset);
	t->dataset = NULL;
	return 0;
}

void nn_trial_predict(struct nn_session *session, enum nn_dtype dtype, void **in, size_t n,
		      void **out)
{
	if (dtype == NN_F64)
		nn_session_predict_f64(session, (const double *const *)(void *)in, n,
				       (double *const *)(void *)out, NULL);
	else
		nn_session_predict(session, (const float *const *)(void *)in, n,
				   (float *const *)(void *)out, NULL);
}

static void predict(struct nn_trial *t)
{
	size_t batch = t->options.batch, real = nn_dtype_size(t->options.device->dtype);

	for (int i = 0; i < t->subject->program->n_inputs; i++)
		t->in[i] = (char *)t->values[i] +
			   t->at * nn_session_input_size(t->session, (size_t)i) * real;
	nn_trial_predict(t->session, t->options.device->dtype, t->in, batch, t->out);
	t->at = t->at + 2 * batch <= t->n_rows ? t->at + batch : 0;
}

/* ---- a call ---- */

void nn_trial_call(void *trial)
{
	struct nn_trial *t = trial;

	if (t->options.mode == NN_BENCH_TRAIN)
		train(t);
	else
		predict(t);
	t->calls++;
}

void nn_trial_copies(void *trial)
{
	struct nn_trial *t = trial;

	if (!t->copies.queue)
		return;
	nn_copies_in(&t->copies);
	if (t->options.mode == NN_BENCH_PREDICT)
		nn_copies_out(&t->copies);
}

/* ---- new and free ---- */

int nn_trial_new(struct nn_trial **trial, const struct nn_trial_options *options,
		 struct nn_error *err)
{
	struct nn_trial *t = nn_alloc(1, sizeof *t, err);

	if (!t)
		return -1;
	t->options = *options;
	t->subject = options->subject;
	if ((options->threads > 1 && nn_pool_new(&t->pool, options->threads, err) < 0) ||
	    (options->mode == NN_BENCH_TRAIN ? new_step(t, err) : new_session(t, err)) < 0 ||
	    nn_copies_open(&t->copies, options->device,
			   options->batch * nn_bench_model_input_bytes(t->subject),
			   options->batch * nn_bench_model_output_bytes(t->subject), err) < 0) {
		nn_trial_free(t);
		return -1;
	}
	*trial = t;
	return 0;
}

void nn_trial_free(struct nn_trial *t)
{
	if (!t)
		return;
	nn_copies_close(&t->copies);
	nn_free(t->values);
	nn_free(t->in);
	nn_free(t->out);
	nn_session_close(t->session);
	nn_model_close(t->model);
	nn_alone_close(&t->alone);
	nn_dataset_free(t->dataset);
	nn_pool_free(t->pool);
	nn_free(t);
}

int nn_trial_pair_new(struct nn_trial *pair[2], const struct nn_trial_options ways[2],
		      struct nn_error *err)
{
	pair[0] = pair[1] = NULL;
	for (int i = 0; i < 2; i++)
		if (nn_trial_new(&pair[i], &ways[i], err) < 0) {
			nn_trial_pair_free(pair);
			return -1;
		}
	return 0;
}

void nn_trial_pair_free(struct nn_trial *pair[2])
{
	nn_trial_free(pair[0]);
	nn_trial_free(pair[1]);
}

double nn_trial_flops(const struct nn_trial *t)
{
	return (double)t->options.batch *
	       nn_layers_flops(t->subject->program, t->options.mode == NN_BENCH_TRAIN);
}

size_t nn_trial_bytes(const struct nn_trial *t)
{
	return t->bytes;
}
