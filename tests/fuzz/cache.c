/*
 * libFuzzer's door to caches of data (--cache): `make fuzz-cache`. The first byte says how it is
 * opened, two more how long the JSON is, which follows; the rest are the bytes of rows. Checksums are
 * 0 here, so that damage goes further than those let it: whatever the bytes are, the cache gives its
 * rows or says why not.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32.h"
#include "data/cache/cache.h"

#define REQUIRE(claim) ((claim) ? (void)0 : abort())
#define MOST_ROW ((size_t)1 << 22) /* values of a row that are looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* In place of base/crc32.c: the Makefile gives it another name. */
uint32_t nn_crc32(uint32_t crc, const void *bytes, size_t n)
{
	(void)crc;
	(void)bytes;
	(void)n;
	return 0;
}

static const char *write_cache(const uint8_t *json, size_t length, const uint8_t *rows, size_t n)
{
	static int fd = -1;
	static char path[64];
	uint64_t tail[3] = { length, 0, 0 };

	if (fd < 0)
		fd = memfd_create("cache", 0);
	memcpy(&tail[2], NN_CACHE_END, 8);
	REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
		write(fd, NN_CACHE_MAGIC, 8) == 8 && write(fd, rows, n) == (ssize_t)n &&
		write(fd, json, length) == (ssize_t)length && write(fd, tail, 24) == 24);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return path;
}

/* Every row, as a training is given it. */
static void fill_all(struct nn_dataset *ds)
{
	struct nn_error err;
	uint64_t all[32];
	uint32_t lengths[32];
	size_t n = 0, size = nn_shape_count(&nn_dataset_schema(ds)->inputs[0].shape),
	       wide = nn_dataset_target_size(ds, 0);
	struct nn_source source = nn_dataset_source(ds);
	double *input, *target, weight;

	for (size_t i = 0; i < nn_dataset_rows(ds) && n < 32; i++)
		if (!nn_dataset_left_out(ds, i))
			all[n++] = i;
	if (n == 0 || size > MOST_ROW || wide > MOST_ROW ||
	    nn_dataset_measure(ds, all, n, &err) < 0)
		return;
	input = malloc(size * sizeof(float) + 1);
	target = malloc(wide * sizeof(float) + 1);
	REQUIRE(input && target);
	for (size_t i = 0; i < n; i++) {
		source.ops->fill_input(source.data, 0, &all[i], 1, i & 1, input, &err);
		source.ops->fill_target(source.data, 0, &all[i], 1, target, &err);
		if (source.ops->fill_weights)
			source.ops->fill_weights(source.data, &all[i], 1, &weight, &err);
	}
	if (source.ops->lengths)
		source.ops->lengths(source.data, all, n, lengths, &err);
	free(input);
	free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct nn_cache_sources sources = { "/dev/null", NULL,
						  n && data[0] & 1 ? "/dev/null" : NULL, NULL };
	const struct nn_want_input input = { .lengths = n && data[0] & 2,
					     .shape = nn_shape2(0, 1),
					     .categories = n && data[0] & 4 };
	const struct nn_want_target target = { .any = true };
	const struct nn_data_options options = { .missing = n ? (data[0] >> 4) % 3 : 0,
						 .weight = n && data[0] & 8 ? "w" : NULL };
	struct nn_want want = { &input, 1, &target, 1, .dtype = NN_F32 };
	struct nn_dataset *training, *held_out;
	struct nn_error why, err = { 0 };
	size_t length;
	int status;

	if (n < 3)
		return 0;
	want.memory = data[0] & 64 ? 1 : 0;
	length = data[1] | (size_t)data[2] << 8;
	length = length < n - 3 ? length : n - 3;
	status = nn_cache_read(write_cache(data + 3, length, data + 3 + length, n - 3 - length), "k",
			       &sources, &options, &want, &training, &held_out, &why, &err);
	REQUIRE(status == 1 ? training && !sources.held_out == !held_out : !training && !held_out);
	REQUIRE(status == 1 || (status == 0 ? why.text : err.text)[0]);
	if (status == 1) {
		fill_all(training);
		if (held_out)
			fill_all(held_out);
	}
	nn_dataset_free(held_out);
	nn_dataset_free(training);
	return 0;
}
