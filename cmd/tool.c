/* What all mains share. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/module.h"
#include "base/output.h"
#include "base/pool.h"
#include "base/terminal.h"
#include "cmd/tool.h"
#include "comm/launch.h"
#include "device/device.h"

static const char *tool = "nntools";
static bool quiet;
static int error = STDERR_FILENO;
static struct nn_attach *attached;
volatile sig_atomic_t nn_tool_stop, nn_tool_stops;

/* ---- messages ---- */

void nn_tool_quiet(bool is_quiet)
{
	quiet = is_quiet;
}

/* "TOOL: KIND: TEXT", one line whatever stands in names. */
static void say(const char *kind, const char *text)
{
	char line[2048];

	dprintf(error, "%s: %s%s\n", tool, kind, nn_one_line(line, sizeof line, text));
}

/* Rank 0 has standard error itself, so that its messages and progress come in order. */
static bool told(enum nn_launch_kind kind, const char *text)
{
	if (attached && error == STDERR_FILENO)
		nn_attach_say(attached, kind, 0, text);
	return quiet || (attached && error == STDERR_FILENO);
}

int nn_tool_usage(const char *format, ...)
{
	char text[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	say("", text);
	return NN_EUSAGE;
}

void nn_tool_warn(void *arg, const char *text)
{
	(void)arg;
	if (!told(NN_SAY_WARNING, text))
		say("warning: ", text);
}

void nn_tool_note(void *arg, const char *text)
{
	(void)arg;
	if (!told(NN_SAY_NOTE, text))
		say("note: ", text);
}

void nn_tool_doing(void *arg, const char *text)
{
	(void)arg;
	if (!quiet && nn_terminal_redraws(error))
		dprintf(error, "\r\033[K%.*s%s", nn_terminal_columns(error) - 5, text,
			*text ? " ..." : "");
}

void nn_tool_attach(struct nn_attach *attach)
{
	attached = attach;
	if (attach && nn_attach_stderr(attach) >= 0)
		error = nn_attach_stderr(attach);
}

/* ---- signals ---- */

/* Die of the signal itself, so that a shell sees 128+n and the right cause. */
static void end_at_once(int number)
{
	nn_output_abort_all();
	signal(number, SIG_DFL);
	raise(number);
}

/*
 * A rank may get the same signal from whoever sent it to all, from mpirun and from the process that
 * watches, which alone ends it at once.
 */
static void catch_stop(int number)
{
	if (nn_tool_stop && !attached)
		end_at_once(number);
	nn_tool_stop = number;
}

static void install(int number, void (*handler)(int))
{
	struct sigaction old, action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	/* A signal ignored by whoever started us (nohup) stays ignored. */
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void nn_tool_catch_stop(void)
{
	install(SIGINT, catch_stop);
	install(SIGTERM, catch_stop);
}

static void count_stop(int number)
{
	if (++nn_tool_stops > 2)
		end_at_once(number);
	nn_tool_stop = number;
}

void nn_tool_count_stops(void)
{
	install(SIGINT, count_stop);
	install(SIGTERM, count_stop);
}

static void start_signals(void)
{
	/* that a user, a timer or a limit ends a process by */
	static const int ends[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,  SIGALRM,
				    SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore,
		  NULL); /* a file that gets too large for ulimit -f is an error of write */
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		install(ends[i], end_at_once);
}

/* ---- start and end ---- */

static void open_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
			_exit(NN_EFAIL);
}

/* version: "none" where it was not built; what was built may be in a package of its own. */
static void say_module(const char *what, const char *version, const char *module)
{
	if (strcmp(version, "none") == 0 || nn_module_installed(module))
		printf("%s: %s\n", what, version);
	else
		printf("%s: nn-%s.so is not installed\n", what, module);
}

static void more_version(void)
{
	const char *blas = getenv("OPENBLAS_CORETYPE"), *wanted = getenv("NN_CPU");
	struct nn_error err = { 0 };
	const struct nn_device *cpu = nn_device_open("cpu", NN_F32, &err);
	bool other = nn_module_installed("openblas");
	char name[NN_CPU_NAME];

	printf("BLAS: own kernels; %s%s%s%s\n", other ? "OpenBLAS through " : "",
	       other ? "nn-openblas.so with --reproducible=no" : "nn-openblas.so is not installed",
	       blas ? ", OPENBLAS_CORETYPE=" : "", blas ? blas : "");
	say_module("MPI", NN_MPI_VERSION, "mpi");
	say_module("ONNX", NN_ONNX_VERSION, "onnx");
	say_module("CUDA", NN_CUDA_VERSION, "cuda");
	printf("CPU: %s, %s%s%s\n", nn_cpu_name(name), cpu ? cpu->kind : err.text,
	       cpu && wanted ? ", NN_CPU=" : "", cpu && wanted ? wanted : "");
}

/* device points to where parsing found it. */
static int fail_device(const char *device, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail_at(err, "%s=%s", device == getenv("NN_DEVICE") ? "NN_DEVICE" : "--device",
			  nn_quote(quoted, device, strlen(device)));
}

int nn_tool_check_devices(const char *device, enum nn_tool_devices devices, struct nn_error *err)
{
	if (devices != NN_TOOL_SEVERAL && strchr(device, ',')) {
		nn_fail(err, NN_EUSAGE, "expected one device; nn-serve alone takes several");
		return fail_device(device, err);
	}
	/* also where no device is opened in the end */
	if (getenv("NN_CPU") && !nn_device_open("cpu", NN_F32, err))
		return -1;
	return devices != NN_TOOL_ABSENT && strstr(device, "cuda") && !nn_module_open("cuda", err)
		       ? fail_device(device, err)
		       : 0;
}

int nn_tool_start(struct nn_opt_list *list, const struct nn_opt_list *from,
		  const struct nn_tool_values *values, struct nn_opt_table tables[NN_OPT_TABLES],
		  int argc, char **argv)
{
	struct nn_error err = { 0 };
	bool done = false;
	int n = 0, status;

	open_standard_descriptors();
	start_signals();
	tool = from->tool;
	for (size_t i = 0; i < NN_OPT_TABLES; i++) {
		tables[i] = from->tables[i];
		if (!tables[i].rows)
			break;
		tables[i].values = values[i].values;
		tables[i].given = values[i].given;
	}
	*list = *from;
	list->tables = tables;
	list->more_version = more_version;
	status = nn_opt_parse(list, argc, argv, &n, &done, &err);
	if (status < 0 || done)
		exit(nn_tool_end(status, &err));
	for (int i = 1; i <= n; i++) {
		const char *example = nn_installed_example(argv[i]);

		argv[i] = example ? (char *)example : argv[i];
	}
	return n;
}

int nn_tool_end(int status, const struct nn_error *err)
{
	bool flushed = fflush(stdout) == 0 && !ferror(stdout);

	if (attached) {
		error = STDERR_FILENO; /* notes from now on go the same way, after it */
		return nn_attach_end(attached, status, err);
	}
	if (nn_output_broken_pipe() || (!flushed && errno == EPIPE))
		return 128 + SIGPIPE;
	if (status < 0) {
		say("", err && *err->text ? err->text : "failed");
		return err && err->code ? (int)err->code : NN_EFAIL;
	}
	if (!flushed) {
		fprintf(stderr, "%s: stdout: cannot write: %s\n", tool, strerror(errno));
		return NN_EFAIL;
	}
	return status;
}
