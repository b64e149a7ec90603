/*
 * nn-bench input: the way of samples from DATA into batches, as nn-train goes it, with nothing
 * behind that would take time: what is read once at the start, then batches of epoch after epoch.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/input/file.h"
#include "bench/input/stages.h"
#include "data/ahead/verdict.h"
#include "data/augment/augment.h"
#include "data/loader.h"

#define BATCHES_S 3.0 /* of batches, where --time does not say */

struct input {
	struct nn_bench *b;
	const char *path, *targets;
	struct nn_bench_work w;
	struct nn_dataset *ds;
	struct nn_augment *augment; /* NULL: none */
	struct nn_loader loader;
	uint64_t *rows, n_rows;
	size_t batch, row_values; /* rows of one; values of a row */
	enum nn_dtype dtype;
	void *values, *answers; /* of a batch: of its inputs and of its targets */
	double began_s, ordered_s, filled_s, changed_s; /* changed_s: by --augment */
	struct nn_input_stages stages;
};

/* ---- opening ---- */

static int open_data(struct input *in, struct nn_error *err)
{
	const struct nn_bench *b = in->b;
	/* characters of a text are categories */
	const struct nn_want_input input = { .categories = b->setup.data->window > 0 };
	const struct nn_want_target target = { .columns = b->setup.data->target, .any = true };
	const struct nn_want want = {
		.inputs = &input,
		.n_inputs = 1,
		.targets = &target,
		.n_targets = 1,
		.dtype = in->dtype,
		.pool = b->pool,
		.memory = b->options->input_memory ? (size_t)b->options->input_memory : 1,
		.array_memory = (size_t)b->options->input_memory,
	};

	return nn_dataset_open(&in->ds, in->path, in->targets, b->setup.data, &want, err);
}

/* All rows are measured, as for a training on all. */
static int take_rows(struct input *in, struct nn_error *err)
{
	size_t n = nn_dataset_rows(in->ds);

	if (!(in->rows = nn_alloc(n, sizeof *in->rows, err)))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!nn_dataset_left_out(in->ds, i))
			in->rows[in->n_rows++] = i;
	if (in->n_rows == 0)
		return nn_fail(err, NN_EFAIL, "%s: no samples", in->path);
	return nn_dataset_measure(in->ds, in->rows, in->n_rows, err);
}

/* What a network for the data would have at its output. */
static struct nn_shape output_of(const struct input *in, const struct nn_shape *input)
{
	const struct nn_target_schema *target = &nn_dataset_schema(in->ds)->targets[0];
	size_t size = nn_dataset_target_size(in->ds, 0);
	bool classes = nn_dataset_target_classes(in->ds, 0),
	     picture = input->rank == 3 && size == input->dim[1] * input->dim[2];

	if (classes && picture)
		return (struct nn_shape){ 3, { target->n_labels, input->dim[1], input->dim[2] } };
	if (classes)
		return nn_shape1(target->n_labels);
	return size == nn_shape_count(input) ? *input : nn_shape1(size);
}

static int open_augment(struct input *in, struct nn_error *err)
{
	const struct nn_schema *schema = nn_dataset_schema(in->ds);
	const struct nn_augment_target target = { output_of(in, &schema->inputs[0].shape),
						  nn_dataset_target_classes(in->ds, 0),
						  nn_dataset_target_size(in->ds, 0) };
	const struct nn_augment_options options = { .list = in->b->options->augment,
						    .inputs = schema->inputs,
						    .n_inputs = 1,
						    .targets = &target,
						    .n_targets = 1,
						    .dtype = in->dtype,
						    .seed = in->b->std->seed };

	nn_dataset_set_output(in->ds, 0, &target.output);
	return options.list ? nn_augment_new(&in->augment, &options, err) : 0;
}

static int open_loader(struct input *in, struct nn_error *err)
{
	const struct nn_bench *b = in->b;
	size_t size = nn_augment_target_size(in->augment, in->ds, 0), value;
	const struct nn_loader_options options = {
		.source = nn_dataset_source(in->ds),
		.augment = in->augment,
		.rows = in->rows,
		.n = in->n_rows,
		.batch = in->batch < in->n_rows ? in->batch : in->n_rows,
		.seed = b->std->seed,
		.window = UINT64_MAX,
		.prefetch = true,
		.ahead = b->options->input_memory ? (size_t)b->options->input_memory
						  : nn_memory_available() / 2,
		.threads = b->threads,
		.whole = true,
	};

	in->batch = in->batch < in->n_rows ? in->batch : in->n_rows;
	in->row_values = nn_shape_count(&nn_dataset_schema(in->ds)->inputs[0].shape);
	value = nn_dtype_size(in->dtype);
	in->values = nn_alloc(in->batch, in->row_values * value, err);
	in->answers = nn_alloc(in->batch,
			       size * (value > sizeof(int32_t) ? value : sizeof(int32_t)), err);
	return in->values && in->answers ? nn_loader_init(&in->loader, &options, err) : -1;
}

static int open_all(struct input *in, struct nn_error *err)
{
	struct nn_file_times times;
	double start;

	if (nn_file_times(&times, in->b, in->path, err) < 0)
		return -1;
	start = nn_now_s();
	if (open_data(in, err) < 0 || take_rows(in, err) < 0)
		return -1;
	nn_input_stages_start(&in->stages, "read", in->n_rows, times.read_s);
	nn_input_stages_start(&in->stages, "decompress", in->n_rows, times.decompress_s);
	nn_input_stages_start(&in->stages, "load", in->n_rows, nn_now_s() - start);
	return open_augment(in, err) < 0 ? -1 : open_loader(in, err);
}

static void close_all(struct input *in)
{
	nn_loader_fini(&in->loader);
	nn_augment_free(in->augment);
	nn_dataset_free(in->ds);
	nn_free(in->rows);
	nn_free(in->values);
	nn_free(in->answers);
}

/* ---- batches ---- */

struct change {
	const struct input *in;
	const struct nn_batch *batch;
	size_t piece; /* rows */
	_Atomic bool failed;
};

static void change_piece(void *arg, size_t i, int thread)
{
	struct change *c = arg;
	size_t at = i * c->piece, left = c->batch->n - at;
	char *rows = (char *)c->in->values + at * c->in->row_values * nn_dtype_size(c->in->dtype);
	struct nn_error error;

	(void)thread;
	if (nn_augment_input(c->batch, 0, at, left < c->piece ? left : c->piece, false, rows,
			     &error) < 0)
		c->failed = true;
}

/* A training does this piece by piece while it fills: here it has a time of its own. */
static int change(const struct input *in, const struct nn_batch *batch, struct nn_error *err)
{
	struct change c = { .in = in, .batch = batch, .piece = 1 + (batch->n - 1) / 64 };

	nn_pool_run(in->b->pool, (batch->n + c.piece - 1) / c.piece, change_piece, &c);
	return c.failed ? nn_fail(err, NN_ENOMEM, "--augment: cannot allocate memory for a sample")
			: 0;
}

static int make_batch(struct input *in, uint64_t number, struct nn_error *err)
{
	const struct nn_place place = { .values = in->values,
					.row_bytes = in->row_values * nn_dtype_size(in->dtype),
					.copies = 1,
					.fetch = true };
	double start = nn_now_s(), waited = nn_loader_waited(&in->loader), filled;
	struct nn_batch batch, plain;

	if (nn_loader_draw(&in->loader, number, &batch, err) < 0)
		return -1;
	in->ordered_s += nn_now_s() - start - (nn_loader_waited(&in->loader) - waited);
	plain = batch;
	plain.augment = NULL;
	start = nn_now_s();
	if (nn_batch_input(&plain, 0, 0, batch.n, &place, in->b->pool, err) < 0 ||
	    nn_batch_target(&batch, 0, 0, batch.n, in->answers, err) < 0)
		return -1;
	filled = nn_now_s();
	in->filled_s += filled - start;
	if (in->augment && change(in, &batch, err) < 0)
		return -1;
	in->changed_s += in->augment ? nn_now_s() - filled : 0;
	in->stages.samples += batch.n;
	return 0;
}

/* ---- what was seen ---- */

/* A stage that these threads do together, batch by batch. */
static void add_own(struct input *in, const char *name, int threads, double seconds, double passed)
{
	struct nn_stage_figures f = { .name = name,
				      .workers = threads,
				      .most = threads,
				      .rows = in->stages.samples,
				      .busy = seconds / passed,
				      .queue = NAN,
				      .row_s = seconds * threads / (double)in->stages.samples,
				      .rows_per_s = (double)in->stages.samples / seconds };

	nn_input_stages_add(&in->stages, "epoch", &f);
}

/*
 * Stages that work beside batches: the slowest says how many samples there can be, and of all that
 * compute the processors, which they share with batches.
 */
static double predict(const struct input *in, struct nn_ahead *ahead)
{
	const struct nn_source_stages *does = in->loader.options.source.ops->stages;
	double own_s = (in->ordered_s + in->filled_s + in->changed_s) / (double)in->stages.samples,
	       all_s = own_s * in->b->threads, most = 1 / own_s;

	for (size_t i = 0; ahead && i < nn_stages_count(nn_ahead_stages(ahead)); i++) {
		struct nn_stage_figures f = nn_stages_figures(nn_ahead_stages(ahead), i);

		most = fmin(most, f.rows_per_s);
		all_s += does->stage[i].waits || isnan(f.row_s) ? 0 : f.row_s;
	}
	return ahead ? fmin(most, nn_cpu_count() / all_s) : most;
}

static void see(struct input *in)
{
	struct nn_input_stages *s = &in->stages;
	struct nn_ahead *ahead = in->loader.ahead;
	double passed = nn_now_s() - in->began_s;

	for (size_t i = 0; ahead && i < nn_stages_count(nn_ahead_stages(ahead)); i++) {
		struct nn_stage_figures f = nn_stages_figures(nn_ahead_stages(ahead), i);

		nn_input_stages_add(s, "epoch", &f);
	}
	add_own(in, "order", 1, in->ordered_s, passed);
	add_own(in, "batch", in->b->threads, in->filled_s, passed);
	if (in->augment)
		add_own(in, "augment", in->b->threads, in->changed_s, passed);
	s->achieved = (double)s->samples / passed;
	s->predicted = predict(in, ahead);
	s->bytes = ahead ? nn_ahead_figures(ahead).bytes : 0;
}

/* The sentence of nn-train; behind it there are no steps, so that it is the input in any case. */
static void tell(const struct input *in)
{
	const struct nn_stage_figures *slowest = nn_input_stages_slowest(&in->stages);
	struct nn_text text = { 0 };

	if (in->loader.ahead && nn_ahead_judge(in->loader.ahead).input_bound)
		nn_ahead_sentence(in->loader.ahead, &text);
	else
		nn_text_addf(&text, "input-bound: %s, %d of %d worker%s busy %.0f %%",
			     slowest->name, slowest->workers, slowest->most, nn_s(slowest->most),
			     100 * slowest->busy);
	if (!text.failed)
		nn_bench_note(in->b, "%s; predicted %.4g samples/s, achieved %.4g", text.data,
			      in->stages.predicted, in->stages.achieved);
	nn_text_free(&text);
}

static int run(void *arg, struct nn_error *err)
{
	struct input *in = arg;
	uint64_t number = 0;
	char title[400], name[300];

	if (open_all(in, err) < 0)
		return -1;
	in->began_s = nn_now_s();
	do
		if (make_batch(in, number++, err) < 0)
			return -1;
	while (!nn_bench_stopped(in->b) && nn_now_s() - in->began_s < in->b->options->time_s);
	if (nn_dataset_unchanged(in->ds, err) < 0)
		return -1;
	see(in);
	tell(in);
	if (nn_input_stages_put(&in->stages, in->w.report, err) < 0)
		return -1;
	if (!in->w.plot)
		return 0;
	snprintf(title, sizeof title, "input of %s, batch %zu",
		 nn_one_line(name, sizeof name, in->path), in->batch);
	return nn_input_stages_plot(&in->stages, title, in->b->machine.cpu, in->w.plot, err);
}

int nn_verb_input(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct input in = { .b = b, .path = words[0], .targets = n > 1 ? words[1] : NULL };
	int status = -1;

	if (!nn_opt_given(b->setup.list, "time"))
		b->options->time_s = BATCHES_S;
	in.dtype = nn_dtype_computed(nn_std_dtype(b->std));
	/* nn-train takes 64 */
	if (nn_bench_batch_or(b, "input", 64, &in.batch, err) == 0)
		status = nn_bench_on_model(b, NULL, nn_input_columns, &in.w, run, &in, err);
	close_all(&in);
	return status;
}
