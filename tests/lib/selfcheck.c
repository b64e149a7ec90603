/*
 * --selfcheck finds what is wrong, and only that: devices that are broken in one way each are
 * handed in.
 */
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "files.h"
#include "train/options.h"
#include "train/selfcheck/selfcheck.h"

/* ---- devices with one fault ---- */

static const struct nn_device *right;
static struct nn_device wrong;
static const struct nn_kernel *kernels[NN_N_OPS];
static struct nn_kernel dense;
static int hidden;

static const struct nn_device *broken(enum nn_dtype dtype)
{
	right = nn_device_open("cpu", dtype, NULL);
	wrong = *right;
	memcpy(kernels, right->kernels, sizeof kernels);
	dense = *kernels[NN_OP_dense];
	kernels[NN_OP_dense] = &dense;
	wrong.kernels = kernels;
	return &wrong;
}

static void gradient_one_percent_off(const struct nn_call *call)
{
	size_t n = dense.packed(&call->site, 0);

	right->kernels[NN_OP_dense]->backward(call);
	for (size_t i = 0; i < n; i++)
		((double *)call->dw[0])[i] *= 1.01;
}

static void forward_and_add(const struct nn_call *call, bool fault)
{
	right->kernels[NN_OP_dense]->forward(call);
	if (fault)
		((float *)call->y)[0] += 0.25f;
}

static void wrong_for_threads(const struct nn_call *call)
{
	forward_and_add(call, nn_pool_threads(call->pool) > 1);
}

static void wrong_for_one_row(const struct nn_call *call)
{
	forward_and_add(call, call->rows == 1);
}

static void wrong_always(const struct nn_call *call)
{
	forward_and_add(call, true);
}

/* What the optimizer remembers outside of its slots no state can bring back. */
static void *forgetful_alloc(size_t bytes, struct nn_error *err)
{
	hidden = 0;
	return right->alloc(bytes, err);
}

static void forgetful_update(const struct nn_update *update)
{
	struct nn_update other = *update;
	struct nn_now now = *update->now;

	now.lr *= 1 + ++hidden;
	other.now = &now;
	right->update(&other);
}

/* ---- a run ---- */

static char found[20000];
static unsigned checks, failed;

static int check(const struct nn_selfcheck_devices *devices, const char *model)
{
	static struct nn_train_options options;
	static struct nn_data_options data;
	static struct nn_std_options std;
	uint64_t given[5] = { 0 };
	struct nn_opt_table tables[] = {
		{ "", nn_train_opts, &options, &given[0] },
		{ "", nn_train_run_opts, &options, &given[4] },
		{ "", nn_parallel_opts, &options.ranks, &given[3] },
		{ "", nn_data_opts, &data, &given[1] },
		{ "", nn_std_opts, &std, &given[2] },
		{ NULL, NULL, NULL, NULL },
	};
	struct nn_opt_list list = { .tool = "test", .tables = tables };
	char *argv[] = { "test", "-q", "--target=y", "--loss=mse", "-m", (char *)model, NULL };
	volatile sig_atomic_t none = 0;
	struct nn_train_setup setup = { .list = &list,
					.train = &options,
					.data = &data,
					.std = &std,
					.data_path = "t.csv",
					.host = { .progress = -1, .stop = &none, .save = &none } };
	struct nn_output *table = NULL;
	struct nn_error err = { 0 };
	int n, stopped, status;
	bool done;
	FILE *file;

	if (nn_opt_parse(&list, 6, argv, &n, &done, &err) < 0 ||
	    nn_output_open(&table, "table", false, &err) < 0) {
		printf("# %s\n", err.text);
		return -1;
	}
	status = nn_train_selfcheck_on(&setup, devices, table, &stopped, &checks, &failed, &err);
	if (status < 0)
		printf("# %s\n", err.text);
	nn_output_commit(table, NULL);
	file = fopen("table", "r");
	found[file ? fread(found, 1, sizeof found - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
	return status;
}

/* Do rows of the check say fail, and no others? */
static bool fails_alone(const char *name)
{
	unsigned fails = 0;

	for (char *line = strchr(found, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
		char *end = strchr(line + 1, '\n');

		if (!end || strncmp(end - 4, "fail", 4) != 0)
			continue;
		if (strncmp(line + 1, name, strlen(name)) != 0)
			return false;
		fails++;
	}
	return fails > 0 && fails == failed;
}

static void finds(const char *name, const struct nn_device *first, const struct nn_device *second,
		  const char *claim)
{
	const struct nn_device *kinds[] = { first, second };
	struct nn_selfcheck_devices devices = { nn_device_open("cpu", NN_F64, NULL), kinds,
						second ? 2 : 1 };

	if (!ok(check(&devices, "dense 6, tanh, dense 1") == 0 && fails_alone(name), claim))
		printf("# %u of %u failed\n%s", failed, checks, found);
}

int main(void)
{
	const struct nn_device *f32 = nn_device_open("cpu", NN_F32, NULL), *bad;
	struct nn_text csv = { 0 };

	go_to_tmp();
	nn_text_add(&csv, "a,b,y\n");
	for (int i = 0; i < 300; i++)
		nn_text_addf(&csv, "%d.5,%d,%d.25\n", i % 17, i * i % 31,
			     (i % 17) * 2 - i * i % 31);
	put("t.csv", csv.data);
	nn_text_free(&csv);

	ok(check(NULL, "dense 6, tanh, dense 1") == 0 && failed == 0 && checks >= 9,
	   "selfcheck: all is right with the machine's own kernels");
	ok(check(NULL, "dense 8, batchnorm group=8, relu, dropout 0.3, layernorm, dense 6, "
		       "leaky-relu, reshape 1x2x3, conv2d 2 2x2, "
		       "maxpool2d 1x2 stride=1, gelu, flatten, dense 1") == 0 &&
		   failed == 0,
	   "selfcheck: kinks, groups and dropout are no faults");
	bad = broken(NN_F64);
	dense.backward = gradient_one_percent_off;
	{
		const struct nn_device *kinds[] = { f32 };
		struct nn_selfcheck_devices devices = { bad, kinds, 1 };

		ok(check(&devices, "dense 6, tanh, dense 1") == 0 && failed == 2 &&
			   fails_alone("gradient"),
		   "selfcheck: a weight's gradient that is one percent off is found in both "
		   "layers");
	}
	bad = broken(NN_F32);
	dense.forward = wrong_for_threads;
	finds("threads", bad, NULL,
	      "selfcheck: a sum that depends on the threads is found, and nothing else");
	bad = broken(NN_F32);
	dense.forward = wrong_for_one_row;
	finds("micro-batch", bad, NULL,
	      "selfcheck: rows that depend on how many go through at once are found");
	bad = broken(NN_F32);
	dense.forward = wrong_always;
	finds("kernels", f32, bad, "selfcheck: another instruction set with other values is found");
	bad = broken(NN_F32);
	wrong.alloc = forgetful_alloc;
	wrong.update = forgetful_update;
	finds("resume", bad, NULL, "selfcheck: what a state does not bring back is found");
	return tests_done();
}
