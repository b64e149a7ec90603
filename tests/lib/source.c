/* A source that fails, a picture that is broken: whoever asks for its rows passes the error on. */
#include "base/memory.h"
#include "base/text.h"
#include "data/rows/rows.h"
#include "files.h"
#include "model/model.h"
#include "step/evaluate.h"
#include "step/step.h"
#include "train/job.h"
#include "train/options.h"

#define ROWS 300
#define SIZE 300 /* values of a row, so that a batch is filled in pieces */

static struct nn_source data; /* where its values come from */
/* what fails, of which row: SIZE_MAX: none */
static uint64_t bad_input, worse_input, bad_target, bad_length;

static int fail_at(uint64_t row, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "x.tar: row %d: is broken", (int)row + 1);
}

static int fill_input(const void *arg, size_t input, const uint64_t *rows, size_t n, bool last,
		      void *values, struct nn_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i] == bad_input || rows[i] == worse_input)
			return fail_at(rows[i], err);
	return data.ops->fill_input(arg, input, rows, n, last, values, err);
}

static int fill_target(const void *arg, size_t target, const uint64_t *rows, size_t n, void *values,
		       struct nn_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i] == bad_target)
			return fail_at(rows[i], err);
	return data.ops->fill_target(arg, target, rows, n, values, err);
}

static int lengths(const void *arg, const uint64_t *rows, size_t n, uint32_t *to,
		   struct nn_error *err)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		if (rows[i] == bad_length)
			return fail_at(rows[i], err);
		else
			to[i] = 1;
	return 0;
}

static const struct nn_source_ops failing = { .fill_input = fill_input,
					      .fill_target = fill_target },
				  of_lengths = { .fill_input = fill_input,
						 .fill_target = fill_target,
						 .lengths = lengths };

/* The dataset's rows from here on; none of them fails yet. */
static void take_over(struct nn_dataset *dataset)
{
	dataset->source = (struct nn_source){ 0 };
	dataset->source = data = nn_dataset_source(dataset);
	dataset->source.ops = &failing;
	bad_input = worse_input = bad_target = bad_length = SIZE_MAX;
}

static bool fails(int status, const struct nn_error *err, const char *text)
{
	if (status < 0 && err->code == NN_EFORMAT && strcmp(err->text, text) == 0)
		return true;
	printf("# %d %s\n", status, err->text);
	return false;
}

/* ---- batches and steps ---- */

static void batches(const struct nn_dataset *dataset, const uint64_t *all)
{
	struct nn_source source = nn_dataset_source(dataset);
	float *values = nn_alloc(2 * ROWS * SIZE, sizeof *values, NULL);
	struct nn_place place = { values, SIZE * sizeof *values,
				  2,      ROWS * SIZE * sizeof *values,
				  false,  false };
	struct nn_batch b = nn_batch_of(&source, all, ROWS);
	struct nn_pool *pool;
	struct nn_error err = { 0 };
	bool first = true;

	bad_input = 250;
	worse_input = 120;
	if (nn_pool_new(&pool, 3, &err) < 0)
		return;
	for (int i = 0; i < 50; i++) {
		place.copies = 1 + i % 2;
		first &= fails(nn_batch_input(&b, 0, 0, ROWS, &place, pool, &err), &err,
			       "x.tar: row 121: is broken");
	}
	ok(first, "source: of several threads that fail the first row is told");
	nn_pool_free(pool);
	nn_free(values);
}

static void steps(struct nn_dataset *dataset, const struct nn_net *net, const uint64_t *all)
{
	const struct nn_device *device = nn_device_open("cpu", NN_F32, NULL);
	struct nn_loss_spec loss = { .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 };
	double weight = 1;
	struct nn_step_options o = { .device = device,
				     .dataset = dataset,
				     .program = nn_net_program(net),
				     .rows = ROWS,
				     .batch = 100,
				     .leaves = 4,
				     .micro = 25,
				     .losses = &loss,
				     .weights = &weight };
	struct nn_loader_options drawn = { .rows = all, .n = ROWS, .batch = 100 };
	struct nn_step_result result;
	struct nn_loader loader;
	struct nn_batch batch;
	struct nn_error err = { 0 };
	struct nn_step *step;
	bool inputs, targets;

	take_over(dataset);
	drawn.source = nn_dataset_source(dataset);
	drawn.source.ops = &of_lengths;
	if (nn_step_new(&step, &o, &err) < 0 || nn_loader_init(&loader, &drawn, &err) < 0)
		return;
	bad_input = bad_target = bad_length = 180;
	ok(fails(nn_loader_draw(&loader, 1, &batch, &err), &err, "x.tar: row 181: is broken"),
	   "source: a loader says that lengths fail");
	bad_length = SIZE_MAX;
	nn_loader_draw(&loader, 1, &batch, &err);
	targets = fails(nn_step_gradient(step, &batch, &result, &err), &err,
			"x.tar: row 181: is broken");
	bad_target = SIZE_MAX;
	inputs = fails(nn_step_gradient(step, &batch, &result, &err), &err,
		       "x.tar: row 181: is broken");
	ok(targets && inputs, "source: a step says that targets or inputs fail");
	bad_input = SIZE_MAX;
	ok(nn_step_gradient(step, &batch, &result, &err) == 0 && result.finite,
	   "source: and goes on with rows that do not");
	nn_loader_fini(&loader);
	nn_step_free(step);
}

/* ---- held-out rows and folds ---- */

static void evaluates(struct nn_dataset *dataset, const struct nn_net *net, const uint64_t *all)
{
	struct nn_loss_spec loss = { .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 };
	double weight = 1;
	struct nn_evaluator_options o = { .device = nn_device_open("cpu", NN_F32, NULL),
					  .program = nn_net_program(net),
					  .dataset = dataset,
					  .schema = nn_dataset_schema(dataset),
					  .rows = all,
					  .n_rows = ROWS,
					  .losses = &loss,
					  .weights = &weight };
	struct nn_error err = { 0 };
	void **params = nn_params_new(o.program, NN_F32, &err);
	struct nn_evaluator *e;
	bool inputs, targets;

	take_over(dataset);
	if (!params || nn_evaluator_new(&e, &o, &err) < 0)
		return;
	bad_input = 299;
	inputs = fails(nn_evaluator_run(e, (const void *const *)params, &err), &err,
		       "x.tar: row 300: is broken");
	bad_input = SIZE_MAX;
	bad_target = 5;
	targets = fails(nn_evaluator_run(e, (const void *const *)params, &err), &err,
			"x.tar: row 6: is broken");
	ok(inputs && targets, "source: an evaluation says that inputs or targets fail");
	nn_evaluator_free(e);
	nn_free(params);
}

static void divides(struct nn_dataset *dataset)
{
	static bool held[ROWS];
	static uint32_t fold[ROWS];
	struct nn_error err = { 0 };
	bool split;

	take_over(dataset);
	bad_target = 41;
	split = fails(nn_split(dataset, 0.1, 1, held, &err), &err, "x.tar: row 42: is broken");
	ok(fails(nn_fold(dataset, 5, 1, fold, &err), &err, "x.tar: row 42: is broken") && split,
	   "source: held-out rows and folds by class say that targets fail");
}

/* ---- a training ---- */

static int train(struct nn_train *t, struct nn_error *err)
{
	int stopped;

	return nn_train_run(t, &stopped, err);
}

/* With this strategy, row 42 of 60 being broken once all was opened. */
static bool training_fails(const char *strategy)
{
	static struct nn_train_options options;
	static struct nn_data_options data_options;
	static struct nn_std_options std;
	uint64_t given[5] = { 0 };
	struct nn_opt_table tables[] = {
		{ "", nn_train_opts, &options, &given[0] },
		{ "", nn_train_run_opts, &options, &given[4] },
		{ "", nn_parallel_opts, &options.ranks, &given[3] },
		{ "", nn_data_opts, &data_options, &given[1] },
		{ "", nn_std_opts, &std, &given[2] },
		{ NULL, NULL, NULL, NULL },
	};
	struct nn_opt_list list = { .tool = "test", .tables = tables };
	char *argv[] = { "test", "-q",      "--target=y",     "--batch=20",
			 "-m",   "dense 1", (char *)strategy, NULL };
	volatile sig_atomic_t no = 0;
	struct nn_train_setup setup = { .list = &list,
					.train = &options,
					.data = &data_options,
					.std = &std,
					.data_path = "t.csv",
					.host = { .progress = -1, .stop = &no, .save = &no } };
	struct nn_train *t;
	struct nn_error err = { 0 };
	bool done, failed;
	int n;

	if (nn_opt_parse(&list, 7, argv, &n, &done, &err) < 0 ||
	    nn_comm_open(&setup.comm, false, &err) < 0 || nn_train_open(&t, &setup, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	take_over(t->task.dataset);
	t->loader.options.source = nn_dataset_source(t->task.dataset);
	bad_input = 41;
	failed = fails(train(t, &err), &err, "x.tar: row 42: is broken");
	nn_train_free(t);
	nn_comm_close(setup.comm);
	return failed;
}

static void trains(void)
{
	struct nn_text csv = { 0 };

	nn_text_add(&csv, "a,y\n");
	for (int i = 0; i < 60; i++)
		nn_text_addf(&csv, "%d.5,%d.25\n", i % 17, i % 5);
	put("t.csv", csv.data);
	nn_text_free(&csv);
	ok(training_fails("--strategy=sync") && training_fails("--strategy=async") &&
		   training_fails("--strategy=local:2"),
	   "source: a training ends with what its data say");
}

int main(void)
{
	struct nn_shape shape = nn_shape1(SIZE);
	struct nn_made_target target = { 1, 2 };
	size_t none = 0;
	struct nn_made made = { ROWS, &shape, &none, 1, &target, 1, NN_F32, 1 };
	static uint64_t all[ROWS];
	struct nn_error err = { 0 };
	struct nn_dataset *dataset;
	struct nn_net *net;
	const char text[] = "input 300\ndense 2\n";

	go_to_tmp();
	for (uint64_t i = 0; i < ROWS; i++)
		all[i] = i;
	if (nn_dataset_make(&dataset, &made, &err) < 0 ||
	    nn_net_parse(&net, "-m", text, strlen(text), false, &err) < 0 ||
	    nn_net_resolve(net, NULL, NULL, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	take_over(dataset);
	batches(dataset, all);
	steps(dataset, net, all);
	evaluates(dataset, net, all);
	divides(dataset);
	trains();
	nn_dataset_free(dataset);
	nn_net_free(net);
	return tests_done();
}
