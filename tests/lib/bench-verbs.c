/*
 * Verbs of nn-bench with devices whose kernels alone advance the clock: what they find is what the
 * cost model says.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "device/near.h"
#include "bench/padding.h"
#include "bench/phases.h"
#include "device/device.h"
#include "tap.h"

/*
 * A dense layer of n rows takes fixed + n * row + out * wide seconds; on the second device rows and
 * answers are copied, which takes COPY each way, and the first call of all takes FIRST more. It can
 * be told to compute something else.
 */
#define UNIT 20e-6 /* s: long enough for few calls to make a measurement */
#define COPY (10 * UNIT)
#define FIRST 0.5

struct cost {
	double fixed, row, wide;
};
static const struct cost cpu_cost = { 1 * UNIT, 1 * UNIT, 0.02 * UNIT },
			 gpu_cost = { 30 * UNIT, 0.1 * UNIT, 0.001 * UNIT };

static double now_s;
static bool gpu_ready, gpu_wrong;
static const struct nn_device *real;

static double now(void *arg)
{
	(void)arg;
	return now_s;
}

static void spend(const struct cost *cost, const struct nn_call *call)
{
	now_s += cost->fixed + (double)call->rows * cost->row +
		 (double)nn_shape_count(&call->site.out) * cost->wide;
}

static void cpu_forward(const struct nn_call *call)
{
	spend(&cpu_cost, call);
	real->kernels[NN_OP_dense]->forward(call);
}

static void gpu_forward(const struct nn_call *call)
{
	now_s += gpu_ready ? 0 : FIRST;
	gpu_ready = true;
	spend(&gpu_cost, call);
	real->kernels[NN_OP_dense]->forward(call);
	if (gpu_wrong)
		((float *)call->y)[0] += 1;
}

static void near_moved(bool in, size_t bytes)
{
	(void)in;
	(void)bytes;
	now_s += COPY;
}

static double near_clock(void)
{
	return now_s;
}

static struct nn_kernel kernels[2];
static const struct nn_kernel *tables[2][NN_N_OPS];
static struct nn_device devices[2];
static const struct nn_device *all[] = { &devices[0], &devices[1], NULL };

static void make_devices(void)
{
	struct nn_error err;

	real = nn_device_open("cpu", NN_F32, &err);
	for (int i = 0; i < 2; i++) {
		kernels[i] = *real->kernels[NN_OP_dense];
		kernels[i].forward = i ? gpu_forward : cpu_forward;
		memcpy(tables[i], real->kernels, sizeof tables[i]);
		tables[i][NN_OP_dense] = &kernels[i];
		devices[i] = *real;
		devices[i].kernels = tables[i];
	}
	devices[1].name = "cuda";
	devices[1].remote = &near_remote;
	devices[1].host = real;
}

/* ---- a run ---- */

static char rows[65536], notes[8192];
static bool real_clock;

static void keep_note(void *arg, const char *text)
{
	(void)arg;
	strncat(notes, text, sizeof notes - strlen(notes) - 2);
	strcat(notes, "\n");
}

/*
 * nn-bench with these words; its csv is in rows[], its notes in notes[]. The code of the error, 0:
 * none.
 */
static int run(char **words)
{
	struct nn_bench_options options = { 0 };
	struct nn_std_options std = { 0 };
	uint64_t given[2] = { 0 };
	const struct nn_opt_table opts[] = { { "", nn_bench_opts, &options, &given[0] },
					     { "", nn_std_opts, &std, &given[1] },
					     { 0 } };
	const struct nn_opt_list list = {
		.tool = "nn-bench", .usage = "", .brief = "", .tables = opts
	};
	static const struct nn_clock clock = { now, NULL };
	struct nn_bench_setup setup = { .list = &list,
					.bench = &options,
					.std = &std,
					.host = { keep_note, keep_note, NULL, NULL, NULL },
					.clock = real_clock ? NULL : &clock,
					.devices = all };
	char path[] = "/tmp/bench-verbs.XXXXXX", output[64],
	     *argv[16] = { "nn-bench", "--to=csv", "--threads=1", output };
	int argc = 4, n, status, fd = mkstemp(path);
	struct nn_error err = { 0 };
	FILE *file;
	bool ended;

	snprintf(output, sizeof output, "--output=%s", path);
	for (; *words; words++)
		argv[argc++] = *words;
	argv[argc] = NULL;
	*rows = *notes = '\0';
	gpu_ready = false;
	status = nn_opt_parse(&list, argc, argv, &n, &ended, &err);
	if (status == 0)
		status = nn_bench_check(&setup, n, argv + 1, &err);
	if (status == 0)
		status = nn_bench_run(&setup, n, argv + 1, &err);
	if (fd >= 0)
		close(fd);
	file = fopen(path, "r");
	if (file) {
		rows[fread(rows, 1, sizeof rows - 1, file)] = '\0';
		fclose(file);
	}
	unlink(path);
	if (status < 0)
		printf("# %s\n", err.text);
	return status < 0 ? (int)err.code : 0;
}

/*
 * Field `field` (from 0) of the row that begins with `start`; NAN where it is empty or not there.
 */
static double field_of(const char *start, int field)
{
	const char *at = rows;
	char *end;
	double value;

	while (at && strncmp(at, start, strlen(start)) != 0)
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	for (; at && field > 0; field--)
		at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
	if (!at)
		return NAN;
	value = strtod(at, &end);
	return end == at ? NAN : value;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 2e-5 * fabs(b);
}

static bool has_row(const char *start, const char *winner)
{
	const char *at = strstr(rows, start), *end = at ? strchr(at + 1, '\n') : NULL,
		   *found = at ? strstr(at, winner) : NULL;

	return found && found < end;
}

/* ---- claims ---- */

static void check_crossover(void)
{
	/* 1 + n + 0.08 > 50 + 0.1 n + 0.004 from n = 55 on; without copies from 33 on */
	char *batch[] = { "crossover", "input 8, dense 4", "--batch=1000", "--time=1", NULL };
	char *never[] = { "crossover", "input 8, dense 4", "--batch=54", "--time=1", NULL };
	/* 2 layers of 1 row: 4 + 0.02 (w + 2) > 80.2 + 0.001 (w + 2) from w = 4009 on */
	char *width[] = { "crossover", "input 8, dense 16, relu, dense 2", "--batch=1", "--time=1",
			  NULL };
	char *wrong[] = { "crossover", "input 8, dense 4", "--batch=0", NULL };

	ok(run(batch) == 0 && has_row("\nbatch,54,cpu,cuda,", ",cpu,ok,1,") &&
		   has_row("\nbatch,55,cpu,cuda,", ",cuda,ok,1,"),
	   "crossover: the batch from which on the second device wins, to the row");
	ok(has_row("\nbatch_nocopy,32,", ",cpu,ok,1,") &&
		   has_row("\nbatch_nocopy,33,", ",cuda,ok,1,"),
	   "crossover: and without the copies");
	ok(near(field_of("batch,55,", 4), 56.08 * UNIT) &&
		   near(field_of("batch,55,", 5), 55.504 * UNIT) &&
		   near(field_of("batch,55,", 6), 35.504 * UNIT),
	   "crossover: the times of both, and of the second without copies");
	ok(near(field_of("batch,55,", 7), 55.504 * UNIT), "crossover: the first call stands apart");
	ok(strstr(notes, "batch: cuda wins from 55 on") != NULL, "crossover: a note says it");
	ok(run(never) == 0 && has_row("\nbatch,54,", ",cpu,ok,1,") && !strstr(rows, "batch,55,") &&
		   strstr(notes, "does not win up to 54"),
	   "crossover: --batch bounds the search");
	ok(run(width) == 0 && has_row("\nwidth,4008,", ",cpu,ok,1,") &&
		   has_row("\nwidth,4009,", ",cuda,ok,1,"),
	   "crossover: the width from which on it wins, hidden layers scaled alone");
	ok(has_row("\nwidth,4009,", ",cuda,ok,1,"),
	   "crossover: results are compared with the reference");
	ok(run(wrong) == NN_EUSAGE, "crossover: a batch of 0 is a mistake of the command line");
}

static void check_explain(void)
{
	char *words[] = { "explain", "input 8, dense 4", "--batch=100", "--time=1", NULL };
	char *cpu[] = { "explain",  "input 8, dense 4", "--batch=100",
			"--time=1", "--device=cpu",     NULL };

	ok(run(words) == 0, "explain: with a second device it is the one that is explained");
	ok(near(field_of("first,", 1), FIRST), "explain: first is what the first call takes more");
	ok(near(field_of("compute,", 1), 40.004 * UNIT) && near(field_of("copy_in,", 1), COPY) &&
		   near(field_of("copy_out,", 1), COPY),
	   "explain: copies stand apart from the computation");
	ok(field_of("total,", 1) >= FIRST && near(field_of("total,", 2), 1) &&
		   field_of("first,", 2) > 0.9,
	   "explain: the shares are of the total");
	ok(strstr(notes, "first takes ") && strstr(notes, "computing 100 rows takes 800 us (0.16 "
							  "%), of which the device works 800 us"),
	   "explain: one sentence says what dominates");
	ok(run(cpu) == 0 && isnan(field_of("copy_in,", 1)) &&
		   near(field_of("compute,", 1), 101.08 * UNIT),
	   "explain: the CPU has no copies, their rows are empty");
}

/*
 * A device that cannot be opened is only found out here where its module is there, so the phases
 * are asked directly.
 */
static void check_absent(void)
{
	struct nn_bench_options options = { .time_s = 1 };
	struct nn_std_options std = { .reproducible = true, .device = "auto" };
	struct nn_bench b = { .options = &options, .std = &std, .threads = 1 };
	struct nn_phases p = { .rows = 3, .device_name = "cuda:3" };
	struct nn_bench_model *subject;
	struct nn_error err;

	if (nn_bench_model_open(&subject, "input 8, dense 4", 0, 1, &err) < 0 ||
	    nn_phases_measure(&b, subject, 1, &p, &err) < 0) {
		ok(false, "explain: %s", err.text);
		return;
	}
	ok(p.absent && isnan(p.s[NN_PHASE_DEVICE]) && isnan(p.s[NN_PHASE_FIRST]) &&
		   isnan(p.s[NN_PHASE_COMPUTE]) && isnan(p.s[NN_PHASE_COPY_IN]) &&
		   p.s[NN_PHASE_LOAD] > 0 && p.s[NN_PHASE_INPUT] > 0,
	   "explain: the phases of a device that is not here are not known, the others are");
	nn_bench_model_free(subject);
}

static void check_advise(void)
{
	char *words[] = { "advise", "input 8, dense 4", "--mode=predict", "--time=1", NULL };

	ok(run(words) == 0, "advise: every rule has its row");
	ok(has_row("\ngpu,", ",holds,ok,1,") &&
		   strstr(rows, "36 parameters, not more than 10000: the CPU is faster"),
	   "advise: a small net is not for the second device, as the rule says");
	ok(has_row("\nbatch-1024,", ",does not hold,ok,1,") &&
		   has_row("\nbatch-32,", ",does not hold,ok,1,"),
	   "advise: a device whose rows all cost the same does not care for the batch");
	ok(has_row("\nthreads,", ",,depends,,1,"),
	   "advise: with one thread nothing is said of more");
	ok(has_row("\nmultiple-of-8,predict", ",0.962963,does not hold,ok,1,") &&
		   has_row("\nmultiple-of-128,\"layer 0 dense: M,N,K 1,4,8 padded to 128,128,128 "
			   "is faster\"",
			   ",does not hold,ok,1,"),
	   "advise: padding is measured by padding, of the model and of each layer");
	ok(!strstr(rows, "train: "), "advise: --mode says which rows there are");
}

/*
 * A device that computes something else has rows that say so, no figure that counts, and status 1.
 */
static void check_wrong(void)
{
	char *crossover[] = { "crossover", "input 8, dense 4", "--batch=100", "--time=1", NULL };
	char *advise[] = { "advise", "input 8, dense 4", "--mode=predict", "--time=1", NULL };
	const char *gpu;

	gpu_wrong = true;
	ok(run(crossover) == NN_EFAIL && !strstr(rows, ",ok,") &&
		   field_of("batch,1,cpu,cuda,", 9) > 0.1 &&
		   isnan(field_of("batch,1,cpu,cuda,", 8)),
	   "crossover: a wrong result is a row without a winner, status 1");
	ok(run(advise) == NN_EFAIL && (gpu = strstr(rows, "\ngpu,")) && strstr(gpu, ",,depends,") &&
		   !strstr(gpu, ",,depends,ok") && has_row("\nbatch-32,", ",does not hold,ok,1,"),
	   "advise: a wrong result is a row without a figure, the others stay");
	gpu_wrong = false;
}

/* M = rows * positions, N = channels out, K = channels in * taps, counted by hand. */
static void check_padding(void)
{
	static const struct {
		const char *net;
		size_t rows, multiple, m, n, k, to_m, to_n, to_k;
	} pads[] = {
		{ "input 3x8x8, conv2d 6 3x3", 5, 8, 180, 6, 27, 216, 8, 72 },
		{ "input 3x8x8, conv2d 6 3x3", 5, 16, 180, 6, 27, 288, 16, 144 },
		{ "input 3x8x8, conv2d 6 3x3", 5, 128, 180, 6, 27, 1152, 128, 1152 },
		{ "input 4x9x9, conv2d 16 2x2 stride=2", 1, 16, 16, 16, 16, 0, 0, 0 },
		{ "input 4x9x9, conv2d 16 2x2 stride=2 pad=1", 1, 16, 25, 16, 16, 400, 16, 16 },
		{ "input 7, dense 5", 3, 8, 3, 5, 7, 8, 8, 8 },
		{ "input 3x7, dense 5", 3, 8, 9, 5, 7, 24, 8, 8 },
		{ "input 16, dense 8", 8, 8, 8, 8, 16, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof pads / sizeof *pads; i++) {
		struct nn_bench_model *subject = NULL;
		struct nn_product p, q;
		struct nn_error err = { 0 };
		bool is = nn_bench_model_open(&subject, pads[i].net, 0, 1, &err) == 0 &&
			  nn_product_of(&p, subject->program, &subject->program->nodes[0],
					pads[i].rows) &&
			  p.m == pads[i].m && p.n == pads[i].n && p.k == pads[i].k;

		is = is && nn_product_pad(&q, &p, pads[i].multiple) == (pads[i].to_m > 0) &&
		     (!pads[i].to_m ||
		      (q.m == pads[i].to_m && q.n == pads[i].to_n && q.k == pads[i].to_k));
		ok(is, "padding: %s, %zu rows, to multiples of %zu", pads[i].net, pads[i].rows,
		   pads[i].multiple);
		nn_bench_model_free(subject);
	}
}

/*
 * Padded and as it is: both are run on the device, so that what is padded has to be a convolution
 * that runs.
 */
static void check_padded_layers(void)
{
	char *words[] = {
		"advise",
		"input 3x8x8, conv2d 6 3x3, relu, conv2d 6 3x3 groups=2, flatten, dense 4",
		"--mode=predict",
		"--time=0.02",
		"--device=cpu",
		NULL
	};

	real_clock = true;
	ok(run(words) == 0 &&
		   has_row("\nmultiple-of-16,\"layer 0 conv2d: M,N,K 36,6,27 padded to 144,16,144 "
			   "is faster\"",
			   ",ok,1,") &&
		   has_row("\nmultiple-of-128,\"layer 0 conv2d: M,N,K 36,6,27 padded to "
			   "1152,128,1152 is faster\"",
			   ",ok,1,"),
	   "advise: a convolution is padded and measured");
	ok(!strstr(rows, "layer 2 conv2d"), "advise: one of groups is not");
	real_clock = false;
}

int main(void)
{
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	make_devices();
	check_crossover();
	check_explain();
	check_absent();
	check_advise();
	check_wrong();
	check_padding();
	check_padded_layers();
	return tap_done();
}
