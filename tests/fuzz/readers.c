/*
 * libFuzzer's door to what reads files of numbers, tables and models: `make fuzz`. --READER says
 * which; whatever the bytes are, it gives what they hold or says why not. What it gives lies in
 * memory of its own, every byte of it.
 */
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
}

/* ---- tables: CSV, TSV, JSON lines, LIBSVM ---- */

static void table_of(const uint8_t *data, size_t n, const char *target)
{
	static int fd = -1;
	struct nn_want_input input = { .vector = true };
	struct nn_want_target wanted = { 0 };
	struct nn_want want = { &input, 1, &wanted, 1, .dtype = NN_F32 };
	struct nn_data_options options = { .target = target };
	struct nn_dataset *dataset = NULL;
	char path[64];

	if (n == 0)
		return;
	options.missing = (enum nn_missing)(data[0] % 3);
	options.header = (enum nn_header)(data[0] / 4 % 3);
	wanted.classes = data[0] & 64;
	wanted.numbers = !wanted.classes && data[0] & 128;
	if (fd < 0)
		fd = memfd_create("rows", 0);
	REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 &&
		pwrite(fd, data + 1, n - 1, 0) == (ssize_t)(n - 1));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (nn_dataset_open(&dataset, path, NULL, &options, &want, &err) == 0)
		nn_dataset_free(dataset);
	else
		REQUIRE(err.text[0]);
}

static void table(const uint8_t *data, size_t n)
{
	table_of(data, n, "kind");
}

static void svm(const uint8_t *data, size_t n)
{
	table_of(data, n, NULL);
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
} readers[] = { { "--tensors", tensors },
		{ "--table", table },
		{ "--svm", svm },
		{ "--net", net } },
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
