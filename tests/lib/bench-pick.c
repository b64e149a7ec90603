/*
 * nn-bench with a second device and a clock of known costs: pick finds the one that wins, stores
 * it, and --device=auto uses it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "device/fake.h"
#include "device/stored.h"
#include "tap.h"

static struct nn_fake *fake;
static char folder[] = "/tmp/nn-bench-pick.XXXXXX";
static char notes[4096];

static double fake_now(void *arg)
{
	(void)arg;
	return fake->clock;
}

static void take_note(void *arg, const char *text)
{
	(void)arg;
	snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", text);
}

/*
 * What `nn-bench WORD...` prints with the fake's clock and both devices; "" and the status where it
 * fails.
 */
static const char *bench(int *status, int n, const char **words)
{
	static char printed[4096];
	static const struct nn_clock clock = { fake_now, NULL };
	const struct nn_device *devices[] = { NULL, NULL, NULL };
	struct nn_bench_options options = { 0 };
	struct nn_std_options std = { 0 };
	uint64_t given[2] = { 0 };
	struct nn_opt_table tables[] = { { "", nn_bench_opts, &options, &given[0] },
					 { "", nn_std_opts, &std, &given[1] },
					 { NULL, NULL, NULL, NULL } };
	struct nn_opt_list list = {
		.tool = "nn-bench", .usage = "", .brief = "", .tables = tables
	};
	struct nn_bench_setup setup = { .list = &list,
					.bench = &options,
					.std = &std,
					.host = { take_note, take_note, NULL, NULL, NULL },
					.clock = &clock,
					.devices = devices };
	struct nn_error err = { 0 };
	char path[64], *argv[16] = { "nn-bench", "-o", path };
	bool done;
	int operands;
	FILE *file;

	snprintf(path, sizeof path, "%s/out", folder);
	remove(path);
	notes[0] = printed[0] = '\0';
	for (int i = 0; i < n; i++)
		argv[3 + i] = (char *)words[i];
	devices[0] = fake->open_cpu(NN_F32, &err);
	devices[1] = nn_device_open("cuda", NN_F32, &err);
	*status = 0;
	if (!devices[0] || !devices[1] ||
	    nn_opt_parse(&list, 3 + n, argv, &operands, &done, &err) < 0 ||
	    nn_bench_check(&setup, operands, argv + 1, &err) < 0 ||
	    nn_bench_run(&setup, operands, argv + 1, &err) < 0) {
		note("%s", err.text);
		*status = (int)err.code;
		return "";
	}
	file = fopen(path, "r");
	if (file) {
		printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
		fclose(file);
	}
	return printed;
}

#define BENCH(status, ...) \
	bench(status, (int)(sizeof(const char *[]){ __VA_ARGS__ } / sizeof(char *)), \
	      (const char *[]){ __VA_ARGS__ })

static bool picks(const char *device, const char *batch, const char *mode)
{
	char wanted[40], b[32], m[32];
	const char *found;
	int status;

	snprintf(wanted, sizeof wanted, "%s\n", device);
	snprintf(b, sizeof b, "--batch=%s", batch);
	snprintf(m, sizeof m, "--mode=%s", mode);
	found = BENCH(&status, "pick", "input 20, dense 10, relu, dense 2", b, m);
	if (status == 0 && strcmp(found, wanted) == 0)
		return true;
	note("%s instead of %s", found, device);
	return false;
}

/*
 * Per kernel the CPU takes 1 us + 0.1 us a row, the other device 20 us + 0.01 us a row: it wins
 * from 212 rows on. The network has two kernels forward (relu is part of the first), so copies of
 * 10 us and 0.5 ns a byte add 20 us, 88 rows' worth 44 ns more: from about 335.
 */
static void set_costs(bool copies)
{
	fake->cpu = (struct nn_fake_cost){ .launch = 1e-6, .row = 1e-7 };
	fake->cuda = (struct nn_fake_cost){ .launch = 20e-6, .row = 1e-8, .first = 2 };
	if (copies) {
		fake->cuda.copy = 10e-6;
		fake->cuda.byte = 0.5e-9;
	}
}

static void check_pick(void)
{
	set_costs(false);
	ok(picks("cpu", "1", "predict") && picks("cpu", "200", "predict"),
	   "pick: the CPU below the batch where the other device wins");
	set_costs(false);
	ok(picks("cuda", "220", "predict") && picks("cuda", "1000", "predict"),
	   "pick: the other device above it, whatever its first call took");
	set_costs(true);
	ok(picks("cpu", "220", "predict") && picks("cuda", "600", "predict"), "pick: copies count");
	ok(fake->copied_in > 0 && fake->copied_out > 0, "pick: predictions copy in and out");
	set_costs(false);
	ok(picks("cpu", "64", "train") && picks("cuda", "1024", "train"),
	   "pick: training steps likewise");
	fake->wrong = true;
	ok(picks("cpu", "1000", "predict") &&
		   strstr(notes, "cuda is left out: its results are wrong"),
	   "pick: a wrong result never wins");
	fake->wrong = false;
}

static void check_run(void)
{
	const char *rows;
	int status;

	set_costs(false);
	rows = BENCH(&status, "run", "input 20, dense 10, relu, dense 2", "--mode=predict",
		     "--batch=100", "--to=csv");
	ok(status == 0 && strstr(rows, ",predict,cpu,f32,100,") &&
		   strstr(rows, ",predict,cuda,f32,100,"),
	   "run: a row for each device");
	ok(strstr(rows, ",device of the tests,"), "run: rows say what the device calls itself");
	/* 2 kernels of 1 us + 100 * 0.1 us; of 20 us + 100 * 0.01 us */
	ok(strstr(rows, ",0.000022,") && strstr(rows, ",0.000042,"),
	   "run: the times are those of the cost model");
	fake->wrong = true;
	BENCH(&status, "run", "input 20, dense 10, relu, dense 2", "--mode=predict", "--batch=100",
	      "--to=csv");
	ok(status == NN_EFAIL, "run: a wrong result is status 1");
	fake->wrong = false;
}

/* ---- stored answers ---- */

static bool stored_is(const char *model, bool training, size_t batch, const char *wanted,
		      bool noted)
{
	struct nn_use use = { model, training, batch, NN_F32 };
	char name[NN_DEVICE_NAME], said[NN_STORED_NOTE];

	nn_device_stored(&use, name, said);
	if (strcmp(name, wanted) == 0 && (*said != '\0') == noted)
		return true;
	note("%s '%s'", name, said);
	return false;
}

static void check_stored(void)
{
	static const char model[] = "input 20\ndense 10\nrelu\ndense 2\n";
	char *path = getenv("NN_MODULE_PATH");
	int status;

	set_costs(false);
	ok(stored_is(model, false, 1000, "cpu", false), "auto: cpu where nothing is stored");
	BENCH(&status, "pick", "input 20, dense 10, relu, dense 2", "--batch=1000",
	      "--mode=predict", "--store");
	ok(status == 0 && stored_is(model, false, 1000, "cuda", false),
	   "auto: the device that pick stored");
	ok(strstr(BENCH(&status, "run", "input 20, dense 10, relu, dense 2", "--batch=1,1000",
			"--mode=predict", "--device=auto", "--to=csv"),
		  ",predict,cpu,f32,1,") &&
		   strstr(BENCH(&status, "run", "input 20, dense 10, relu, dense 2",
				"--batch=1,1000", "--mode=predict", "--device=auto", "--to=csv"),
			  ",predict,cuda,f32,1000,"),
	   "auto: run takes it too");
	ok(stored_is(model, false, 512, "cuda", false) &&
		   stored_is(model, false, 1024, "cpu", false),
	   "auto: batches count by powers of two");
	ok(stored_is(model, true, 1000, "cpu", false), "auto: training is another use");
	ok(stored_is("input 20\ndense 11\nrelu\ndense 2\n", false, 1000, "cpu", false),
	   "auto: another model has no answer");
	setenv("NN_CPU", "generic", 1);
	ok(stored_is(model, false, 1000, "cpu", true),
	   "auto: an answer of another machine or build is not used, and it is said");
	unsetenv("NN_CPU");
	path = strdup(path);
	setenv("NN_MODULE_PATH", "/nowhere", 1);
	ok(stored_is(model, false, 1000, "cpu", true),
	   "auto: nor one that was measured with other devices");
	setenv("NN_MODULE_PATH", path, 1);
	free(path);
}

/* The command's status; its output in the folder's file out. */
static int run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	return system(command);
}

static void check_tools(void)
{
	static const char train[] = "cd %s && nn-train -q -m 'input 20, dense 10, relu, dense 2' "
				    "--target=y,z --loss=mse --epochs=1 -b 1000 "
				    "--device=%s --log=log rows.csv -o %s.safetensors 2>err";
	int status;

	ok(run("cd %s && awk 'BEGIN { for (c = 1; c < 21; c++) printf \"x%%d,\", c; print \"y,z\"; "
	       "for (r = 0; r < 40; r++) { "
	       "for (c = 1; c < 22; c++) printf \"%%.2f,\", (r * c %% 17) / 7; print 0.5 } }' "
	       ">rows.csv",
	       folder) == 0,
	   "data for the tools");
	set_costs(false);
	BENCH(&status, "pick", "input 20, dense 10, relu, dense 2", "--batch=1000", "--mode=train",
	      "--store");
	ok(status == 0 && run(train, folder, "auto", "auto") == 0 &&
		   run("grep -q '\"device\":\"cuda\"' %s/log", folder) == 0,
	   "auto: nn-train uses what pick stored");
	ok(run(train, folder, "cpu", "cpu") == 0 &&
		   run("grep -q '\"device\":\"cpu\"' %s/log", folder) == 0,
	   "nn-train: --device=cpu is the CPU");
	ok(run(train, folder, "cuda", "cuda") == 0 &&
		   run("grep -q '\"device\":\"cuda\"' %s/log", folder) == 0,
	   "nn-train: --device=cuda is the module's");
	ok(run("cd %s && for d in cpu auto cuda; do nn-predict --device=$d -b 1000 cpu.safetensors "
	       "rows.csv >$d.csv || exit; done; "
	       "cmp cpu.csv auto.csv && cmp cpu.csv cuda.csv",
	       folder) == 0,
	   "nn-predict: takes each of them");
	ok(run("cd %s && nn-predict --device=$(nn-bench pick cpu.safetensors) cpu.safetensors "
	       "rows.csv | cmp - cpu.csv",
	       folder) == 0,
	   "nn-predict: --device=$(nn-bench pick MODEL)");
	ok(run("cd %s && NN_CPU=generic nn-train -q --dry-run -m 'input 20, dense 10, relu, dense "
	       "2' --target=y,z rows.csv && "
	       "NN_CPU=generic nn-train -m 'input 20, dense 10, relu, dense 2' --target=y,z "
	       "--loss=mse --epochs=1 -b 1000 --device=auto "
	       "rows.csv -o m.safetensors 2>&1 | grep -q 'note: --device=auto: what is stored for "
	       "this model is of another machine'",
	       folder) == 0,
	   "nn-train: says that an answer of another build is not used");
	ok(run("cd %s && nn-bench pick cpu.safetensors -o word && [ \"$(cat word)\" = cpu -o "
	       "\"$(cat word)\" = cuda ]",
	       folder) == 0,
	   "pick: prints one word");
	ok(run("cd %s && NN_MODULE_PATH= nn-bench pick cpu.safetensors --batch=1,2 2>/dev/null; [ "
	       "$? = 2 ]",
	       folder) == 0,
	   "pick: several batches are status 2");
}

int main(void)
{
	const char *build = getenv("NN_BUILD");
	char path[4096], cache[64];
	struct nn_error err;

	snprintf(path, sizeof path, "%s/tests/device/.libs", build ? build : ".");
	setenv("NN_MODULE_PATH", path, 1);
	if (!mkdtemp(folder))
		return 1;
	snprintf(cache, sizeof cache, "%s/cache", folder);
	setenv("XDG_CACHE_HOME", cache, 1);
	if (!ok(nn_device_open("cuda", NN_F32, &err) && (fake = dlsym(RTLD_DEFAULT, "nn_fake")),
		"the module of the tests is loaded")) {
		note("%s", err.text);
		return tap_done();
	}
	check_pick();
	check_run();
	check_stored();
	check_tools();
	run("rm -r %s", folder);
	return tap_done();
}
