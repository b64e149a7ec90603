/*
 * libFuzzer's door to what reads files of numbers, tables and models: `make fuzz`. --READER says
 * which; whatever the bytes are, it gives what they hold or says why not. What it gives lies in
 * memory of its own, every byte of it.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/data.h"
#include "file/npz.h"
#include "file/safetensors.h"
#include "file/sniff.h"
#include "model/model.h"

#define REQUIRE(claim) ((claim) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct nn_error err;

/* ---- safetensors, .npy, .npz, .pt ---- */

static unsigned sum_of(const struct nn_st *st)
{
	unsigned sum = 0;

	for (size_t i = 0; i < st->n_tensors; i++) {
		const struct nn_st_tensor *t = &st->tensors[i];
		size_t bytes = nn_shape_count(&t->shape) * nn_dtype_size(t->dtype);

		REQUIRE(t->name);
		for (size_t k = 0; k < bytes; k++)
			sum += ((const unsigned char *)t->data)[k];
	}
	return sum;
}

static const char *file_of(int i, const uint8_t *data, size_t n);

/* Members that are read where they lie are what they are in a file that is read whole. */
static void members(const uint8_t *data, size_t n)
{
	struct nn_st_part part = { .later = true }, all = { 0 };
	struct nn_st *st[2] = { NULL, NULL };
	struct nn_input *input;
	int status[2];

	for (int i = 0; i < 2; i++) {
		REQUIRE(nn_input_open(&input, file_of(0, data, n), &err) == 0);
		nn_input_plain(input);
		err.text[0] = '\0';
		status[i] = nn_npz_read_part(&st[i], input, i ? &part : &all, &err);
		REQUIRE(status[i] == 0 || err.text[0]);
		nn_input_close(input);
	}
	REQUIRE(status[0] == status[1]);
	if (status[0] == 0) {
		REQUIRE(st[0]->n_tensors == st[1]->n_tensors && sum_of(st[0]) == sum_of(st[1]));
		nn_st_free(st[0]);
		nn_st_free(st[1]);
	}
}

static void tensors(const uint8_t *data, size_t n)
{
	static volatile unsigned sum;
	enum nn_format_id id = nn_sniff(data, n);
	struct nn_input *input;
	struct nn_st *st = NULL;
	int status;

	REQUIRE(nn_input_open_memory(&input, "file", &err) == 0);
	nn_input_give(input, data, n);
	if (nn_is_tensors(id))
		status = nn_tensors_read(&st, input, id, &err);
	else
		status = nn_npy_read_set(&st, input, &err);
	REQUIRE(status == 0 ? st != NULL : err.text[0] != '\0');
	if (status == 0) {
		sum = sum_of(st);
		nn_st_free(st);
	}
	nn_input_close(input);
	if (id == NN_FORMAT_zip)
		members(data, n);
}

/* ---- samples: CSV, TSV, JSON lines, LIBSVM, IDX, CIFAR, text ---- */

/* The bytes as a file, one for DATA and one for TARGETS. */
static const char *file_of(int i, const uint8_t *data, size_t n)
{
	static int fd[2] = { -1, -1 };
	static char path[2][64];

	if (fd[i] < 0)
		fd[i] = memfd_create("rows", 0);
	REQUIRE(fd[i] >= 0 && ftruncate(fd[i], 0) == 0 && pwrite(fd[i], data, n, 0) == (ssize_t)n);
	snprintf(path[i], sizeof path[i], "/proc/self/fd/%d", fd[i]);
	return path[i];
}

static size_t row_values(struct nn_dataset *dataset)
{
	return nn_shape_count(&nn_dataset_schema(dataset)->inputs[0].shape);
}

/* Every row, as a training is given it. */
static void fill_all(struct nn_dataset *dataset)
{
	uint64_t all[64];
	size_t n = 0, rows = nn_dataset_rows(dataset), size = row_values(dataset) * sizeof(float),
	       wide = nn_dataset_target_size(dataset, 0) * sizeof(double);
	struct nn_source source = nn_dataset_source(dataset);
	void *input = malloc(size + 1), *target = malloc(wide + 1);

	for (size_t i = 0; i < rows && n < 64; i++)
		if (!nn_dataset_left_out(dataset, i))
			all[n++] = i;
	REQUIRE(input && target);
	if (n > 0 && nn_dataset_measure(dataset, all, n, &err) == 0)
		for (size_t i = 0; i < n; i++) {
			source.ops->fill_input(source.data, 0, &all[i], 1, i & 1, input, &err);
			source.ops->fill_target(source.data, 0, &all[i], 1, target, &err);
		}
	free(input);
	free(target);
}

static void open_rows(const char *data, const char *targets, const struct nn_data_options *options,
		      struct nn_want_input *input, struct nn_want_target *target)
{
	struct nn_want want = { input, 1, target, 1, .dtype = NN_F32 };
	struct nn_dataset *dataset = NULL;

	if (nn_dataset_open(&dataset, data, targets, options, &want, &err) < 0) {
		REQUIRE(err.text[0]);
		return;
	}
	fill_all(dataset);
	nn_dataset_free(dataset);
}

static void table_of(const uint8_t *data, size_t n, const char *target)
{
	struct nn_want_input input = { .vector = true };
	struct nn_want_target wanted = { 0 };
	struct nn_data_options options = { .target = target };

	if (n == 0)
		return;
	options.missing = (enum nn_missing)(data[0] % 3);
	options.header = (enum nn_header)(data[0] / 4 % 3);
	wanted.classes = data[0] & 64;
	wanted.numbers = !wanted.classes && data[0] & 128;
	open_rows(file_of(0, data + 1, n - 1), NULL, &options, &input, &wanted);
}

static void table(const uint8_t *data, size_t n)
{
	table_of(data, n, "kind");
}

static void svm(const uint8_t *data, size_t n)
{
	table_of(data, n, NULL);
}

/* Samples beside good labels, or labels beside good samples. */
static void idx(const uint8_t *data, size_t n)
{
	static const uint8_t samples[16 + 12] = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2 },
					  labels[8 + 3] = { 0, 0, 8, 1, 0, 0, 0, 3, 1, 0, 1 };
	struct nn_data_options options = { 0 };
	struct nn_want_input input = { 0 };
	struct nn_want_target target = { 0 };

	if (n == 0)
		return;
	input.vector = data[0] & 1;
	target.classes = data[0] & 64;
	target.numbers = !target.classes && data[0] & 128;
	if (data[0] & 2)
		open_rows(file_of(0, samples, sizeof samples), file_of(1, data + 1, n - 1),
			  &options, &input, &target);
	else
		open_rows(file_of(0, data + 1, n - 1), file_of(1, labels, sizeof labels), &options,
			  &input, &target);
}

static void cifar(const uint8_t *data, size_t n)
{
	struct nn_data_options options = { 0 };
	struct nn_want_input input = { 0 };
	struct nn_want_target target = { .classes = true };

	open_rows(file_of(0, data, n), NULL, &options, &input, &target);
}

static void text(const uint8_t *data, size_t n)
{
	struct nn_data_options options = { 0 };
	struct nn_want_input input = { .categories = true };
	struct nn_want_target target = { .classes = true };

	if (n == 0)
		return;
	options.window = 1 + data[0] % 32;
	open_rows(file_of(0, data + 1, n - 1), NULL, &options, &input, &target);
}

/* ---- the model language ---- */

static struct nn_net *net_of(const char *text, size_t n, bool is_inline)
{
	struct nn_net *net = NULL;

	if (nn_net_parse(&net, "text", text, n, is_inline, &err) == 0 &&
	    nn_net_resolve(net, NULL, NULL, &err) == 0)
		return net;
	REQUIRE(err.text[0]);
	nn_net_free(net);
	return NULL;
}

/* The canonical text of a text is its own. */
static void net(const uint8_t *data, size_t n)
{
	struct nn_net *first, *second;

	if (n == 0 || !(first = net_of((const char *)data + 1, n - 1, data[0] & 1)))
		return;
	second = net_of(nn_net_text(first), strlen(nn_net_text(first)), false);
	REQUIRE(second && strcmp(nn_net_text(first), nn_net_text(second)) == 0);
	nn_net_free(first);
	nn_net_free(second);
}

/* ---- which ---- */

static const struct reader {
	const char *option;
	void (*read)(const uint8_t *data, size_t n);
} readers[] = { { "--tensors", tensors }, { "--table", table }, { "--svm", svm }, { "--idx", idx },
		{ "--cifar", cifar },     { "--text", text },   { "--net", net } },
  *reader;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++)
		for (size_t k = 0; k < sizeof readers / sizeof *readers; k++)
			if (strcmp((*argv)[i], readers[k].option) == 0)
				reader = &readers[k];
	REQUIRE(reader);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	err.text[0] = '\0';
	reader->read(data, n);
	return 0;
}
