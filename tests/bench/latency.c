/*
 * One line in, one line out: what a program waits that drives nn-predict through a pair of pipes.
 *
 * usage: latency LINE COUNT COMMAND [ARGUMENT]... e.g. latency '1,2,3' 10000 nn-predict
 * m.safetensors Prints p50, p90, p99, p99.9 and the longest, in microseconds; the first 100 lines
 * are warm-up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/median.h"

#define WARM_UP 100

static pid_t start(char **command, int *to, int *from)
{
	int in[2], out[2];
	pid_t child;

	if (pipe(in) < 0 || pipe(out) < 0 || (child = fork()) < 0) {
		perror("latency");
		exit(1);
	}
	if (child == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
	return child;
}

/*
 * Seconds from the line's first byte to the answer's newline; a negative number when there is none.
 */
static double ask(int to, int from, const char *line, size_t n)
{
	double begin = nn_now_s();
	char answer[4096];
	ssize_t got;

	if (write(to, line, n) != (ssize_t)n)
		return -1;
	do
		got = read(from, answer, sizeof answer);
	while (got > 0 && answer[got - 1] != '\n');
	return got > 0 ? nn_now_s() - begin : -1;
}

static double percentile(const double *took, size_t n, double p)
{
	return took[(size_t)(p / 100 * (double)(n - 1) + 0.5)] * 1e6;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, length;
	double *took = malloc((n + 1) * sizeof *took);
	char *line;
	int to, from, status;
	pid_t child;

	if (argc < 4 || n == 0 || !took) {
		fprintf(stderr, "usage: latency LINE COUNT COMMAND [ARGUMENT]...\n");
		return 2;
	}
	length = strlen(argv[1]) + 1;
	line = malloc(length + 1);
	sprintf(line, "%s\n", argv[1]);
	child = start(argv + 3, &to, &from);
	for (size_t i = 0; i < n + WARM_UP; i++) {
		double t = ask(to, from, line, length);

		if (t < 0) {
			fprintf(stderr, "latency: no answer to line %zu\n", i + 1);
			return 1;
		}
		if (i >= WARM_UP)
			took[i - WARM_UP] = t;
	}
	close(to);
	waitpid(child, &status, 0);
	nn_sort(took, n);
	printf("%zu lines: p50 %.1f us, p90 %.1f, p99 %.1f, p99.9 %.1f, longest %.1f\n", n,
	       percentile(took, n, 50), percentile(took, n, 90), percentile(took, n, 99),
	       percentile(took, n, 99.9), took[n - 1] * 1e6);
	free(took);
	free(line);
	return status != 0;
}
