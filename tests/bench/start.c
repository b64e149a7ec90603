/*
 * How long processes take from spawn to exit, taken in turns, beside the first.
 *
 * usage: start COUNT COMMAND [ARGUMENT]... [-- COMMAND [ARGUMENT]...]...
 * e.g. start 1000 tests/bench/start -- nn-predict m.safetensors row.csv
 *
 * Prints for each the tenth percentile of its time by the clock and of its processor time, in
 * microseconds and as a multiple of the first one's, and its page faults. Without arguments it is
 * the empty process.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 16

struct command {
	char **argv;
	double *clock, *cpu; /* microseconds */
	long faults;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double used_us(const struct rusage *r)
{
	return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1e6 +
	       (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What it prints goes nowhere. */
static void run(struct command *c, size_t i, const posix_spawn_file_actions_t *actions)
{
	double begin = now_us();
	struct rusage used;
	int status;
	pid_t child;

	if (posix_spawnp(&child, c->argv[0], actions, NULL, c->argv, environ) != 0 ||
	    wait4(child, &status, 0, &used) != child || status != 0) {
		fprintf(stderr, "start: %s failed\n", c->argv[0]);
		exit(1);
	}
	c->clock[i] = now_us() - begin;
	c->cpu[i] = used_us(&used);
	c->faults = used.ru_minflt;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, n_commands = 0;
	struct command commands[MOST];
	posix_spawn_file_actions_t actions;

	if (argc == 1)
		return 0;
	for (int i = 1; i < argc && n_commands < MOST; i++)
		if (i == 1 || strcmp(argv[i], "--") == 0) {
			argv[i] = NULL;
			commands[n_commands++] =
				(struct command){ argv + i + 1, calloc(n + 1, sizeof(double)),
						  calloc(n + 1, sizeof(double)), 0 };
		}
	if (n == 0 || !commands[n_commands - 1].argv[0]) {
		fprintf(stderr, "usage: start COUNT COMMAND [ARGUMENT]... [-- COMMAND...]...\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < n_commands; c++)
			run(&commands[c], i, &actions);
	for (size_t c = 0; c < n_commands; c++) {
		qsort(commands[c].clock, n, sizeof(double), compare);
		qsort(commands[c].cpu, n, sizeof(double), compare);
		printf("%s: %.0f us (%.2f), processor time %.0f us (%.2f), %ld page faults\n",
		       commands[c].argv[0], commands[c].clock[n / 10],
		       commands[c].clock[n / 10] / commands[0].clock[n / 10],
		       commands[c].cpu[n / 10], commands[c].cpu[n / 10] / commands[0].cpu[n / 10],
		       commands[c].faults);
	}
	return 0;
}
