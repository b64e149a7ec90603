/*
 * How fast a table becomes a tensor: MB of text per second, from the page cache.
 *
 * usage: csv make FILE MB KIND        write a table of 32 columns: g6 (6 digits), repr (f32 in
 * full), f64 (17 digits), text (8 of 32 columns are quoted categories) csv FILE THREADS [SECONDS]
 * read it, target: the last column
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/number.h"
#include "base/random.h"
#include "data/data.h"

#define COLUMNS 32

static double normal(void)
{
	static uint64_t state = 1;
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)(nn_lcg(&state) >> 11) * 0x1p-53;
	return sum;
}

static size_t put_number(char *to, const char *kind, double v)
{
	if (strcmp(kind, "repr") == 0)
		return nn_format_f32(to, (float)v);
	return (size_t)sprintf(to, strcmp(kind, "f64") == 0 ? "%.17g" : "%.6g", v);
}

static int make(const char *path, double mb, const char *kind)
{
	FILE *file = fopen(path, "w");
	char line[COLUMNS * 32];
	double left = mb * 1e6;

	for (int i = 1; file && i <= COLUMNS; i++)
		fprintf(file, "c%d%c", i, i < COLUMNS ? ',' : '\n');
	while (file && left > 0) {
		size_t at = 0;

		for (int i = 0; i < COLUMNS; i++) {
			double v = normal();

			if (strcmp(kind, "text") == 0 && i % 4 == 0)
				at += (size_t)sprintf(line + at, "\"word, %d\"",
						      (int)(fabs(v) * 4));
			else
				at += put_number(line + at, kind, v);
			line[at++] = i < COLUMNS - 1 ? ',' : '\n';
		}
		fwrite(line, 1, at, file);
		left -= (double)at;
	}
	if (!file || fclose(file) != 0) {
		perror(path);
		return 1;
	}
	return 0;
}

static double read_once(const char *path, struct nn_pool *pool, size_t *rows)
{
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .columns = "c32", .numbers = true };
	struct nn_want want = { .inputs = &input,
				.n_inputs = 1,
				.targets = &target,
				.n_targets = 1,
				.dtype = NN_F32,
				.pool = pool };
	struct nn_data_options options = { .normalize = "none" };
	struct nn_dataset *dataset;
	struct nn_error err;
	double start = nn_now_s(), took;

	if (nn_dataset_open(&dataset, path, NULL, &options, &want, &err) < 0) {
		fprintf(stderr, "csv: %s\n", err.text);
		exit(1);
	}
	took = nn_now_s() - start;
	*rows = nn_dataset_rows(dataset);
	nn_dataset_free(dataset);
	return took;
}

static int measure(const char *path, int threads, double seconds)
{
	double took[100], median, end = nn_now_s() + seconds;
	struct nn_pool *pool;
	struct nn_error err;
	struct stat st;
	size_t rows, n = 0;

	if (stat(path, &st) < 0 || nn_pool_new(&pool, threads, &err) < 0) {
		perror(path);
		return 1;
	}
	read_once(path, pool, &rows);
	while (n < 3 || (n < 100 && nn_now_s() < end))
		took[n++] = read_once(path, pool, &rows);
	median = nn_median(took, n);
	printf("nntools\t%d\t%.3f\t%.0f\t%zu rows, best %.0f\n", threads, median,
	       (double)st.st_size / 1e6 / median, rows, (double)st.st_size / 1e6 / took[0]);
	nn_pool_free(pool);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "make") == 0)
		return make(argv[2], atof(argv[3]), argv[4]);
	if (argc >= 3)
		return measure(argv[1], atoi(argv[2]), argc > 3 ? atof(argv[3]) : 2);
	fprintf(stderr,
		"usage: csv make FILE MB g6|repr|f64|text, or csv FILE THREADS [SECONDS]\n");
	return 2;
}
