/*
 * How fast the pictures of a folder are decoded, from memory, in one thread.
 *
 * usage: pictures FOLDER PASSES SECONDS     prints pictures per second, the median of as many
 * passes
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/median.h"
#include "data/picture/decode.h"

#define MOST 4096
#define PASSES 100

static struct nn_picture_sample samples[MOST];
static struct nn_picture_job jobs[MOST];

static size_t read_folder(const char *path, struct nn_error *err)
{
	struct nn_sample_reader reader = { 0 };
	struct nn_input *input;
	size_t n = 0;
	int got = 1;

	if (nn_input_open_data(&input, path, err) < 0 ||
	    nn_sample_reader_open(&reader, input, NN_FORMAT_folder, err) < 0)
		return 0;
	while (n < MOST && got == 1) {
		got = nn_sample_reader_next(&reader, &samples[n], err);
		jobs[n].file =
			(struct nn_picture_file){ samples[n].picture.bytes.data,
						  samples[n].picture.n, samples[n].place, false };
		n += got == 1;
	}
	nn_sample_reader_close(&reader);
	nn_input_close(input);
	return got < 0 ? 0 : n;
}

int main(int argc, char **argv)
{
	struct nn_picture_rows rows = { .classes = false };
	struct nn_codecs codecs = { 0 };
	struct nn_error err = { .text = "no pictures" };
	double rate[PASSES];
	unsigned char *to;
	size_t n, passes;

	if (argc != 4)
		return fprintf(stderr, "usage: pictures FOLDER PASSES SECONDS\n"), 2;
	passes = (size_t)atoi(argv[2]) < PASSES ? (size_t)atoi(argv[2]) : PASSES;
	n = read_folder(argv[1], &err);
	if (n == 0 || nn_picture_learn(&rows, &codecs, &jobs[0].file, &err) < 0 ||
	    !(to = malloc(rows.size)))
		return fprintf(stderr, "pictures: %s\n", err.text), 1;
	for (size_t i = 0; i < n; i++)
		jobs[i].to = to;
	for (size_t p = 0; p < passes; p++) {
		double start = nn_now_s(), took = 0;
		size_t done = 0;

		for (; took < atof(argv[3]) / (double)passes; took = nn_now_s() - start, done += n)
			if (nn_picture_decode(&rows, &codecs, jobs, n, NULL, &err) < 0)
				return fprintf(stderr, "pictures: %s\n", err.text), 1;
		rate[p] = (double)done / took;
	}
	printf("%.0f\n", nn_median(rate, passes));
	for (size_t i = 0; i < n; i++)
		nn_picture_sample_free(&samples[i]);
	free(to);
	return 0;
}
