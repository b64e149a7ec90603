/*
 * CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky, 2009): a byte with the class, or two
 * with the coarse and the fine one, then 3x32x32 bytes, record after record. There is no magic:
 * records are told by their length and by labels where labels have to be.
 */
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"

#define PIXELS ((size_t)3 * 32 * 32)

/* Bytes of labels: 1 of CIFAR-10, 2 of CIFAR-100. */
static bool is_record(const unsigned char *b, size_t labels)
{
	return labels == 1 ? b[0] < 10 : b[0] < 20 && b[1] < 100;
}

/* Is it no text: a control byte is in it? */
static bool has_control(const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i] < '\t' || (b[i] > '\r' && b[i] < 27))
			return true;
	return false;
}

/* 1 or 2 bytes of labels; 0: it is something else. */
static int find_labels(struct nn_input *input, struct nn_error *err)
{
	const unsigned char *b;
	size_t got;

	if (nn_input_some(input, &b, &got, err) < 0)
		return -1;
	if (got == 0 || b[0] >= 20 || !has_control(b, got))
		return 0;
	for (size_t labels = 1; labels <= 2; labels++) {
		size_t record = PIXELS + labels;
		int64_t left = nn_input_left(input);

		if (nn_input_peek(input, &b, 2 * record, &got, err) < 0)
			return -1;
		if (left >= 0 ? (uint64_t)left % record == 0 && is_record(b, labels)
			      : (got == record ||
				 (got == 2 * record && is_record(b + record, labels))) &&
					is_record(b, labels))
			return (int)labels;
	}
	return 0;
}

static int fits(struct nn_input *input, struct nn_error *err)
{
	int labels = find_labels(input, err);

	return labels > 0 ? 1 : labels;
}

static int load(struct nn_input *input, struct nn_block *block, size_t *n, struct nn_error *err)
{
	size_t got = 1;

	for (*n = 0; got > 0; *n += got) {
		int64_t left = nn_input_left(input);
		size_t room = left >= 0 ? *n + (size_t)left + 1 : *n + *n / 4 + ((size_t)4 << 20);

		if (nn_block_reserve(block, room, err) < 0)
			return nn_fail_at(err, "%s", nn_input_name(input));
		if (nn_input_read(input, nn_block_at(block, *n), room - *n, &got, err) < 0)
			return -1;
	}
	return 0;
}

/* Labels out of the pixels' way. */
static int part(struct nn_block *block, size_t rows, size_t labels, struct nn_array *target,
		const char *file, struct nn_error *err)
{
	size_t record = PIXELS + labels;

	if (nn_block_reserve(&target->block, rows, err) < 0)
		return nn_fail_at(err, "%s", file);
	target->data = target->block.data;
	target->dtype = NN_U8;
	target->shape = nn_shape1(rows);
	for (size_t i = 0; i < rows; i++) {
		const unsigned char *from = nn_block_at(block, i * record);

		if (!is_record(from, labels))
			return nn_fail(err, NN_EFORMAT,
				       "%s: record %zu: found the label %d, expected one below %d",
				       file, i + 1, from[labels - 1], labels == 1 ? 10 : 100);
		*nn_block_at(&target->block, i) = from[labels - 1];
		memmove(nn_block_at(block, i * PIXELS), from + labels, PIXELS);
	}
	return 0;
}

static int check(const struct nn_dataset *ds, const char *file, const struct nn_reading *reading,
		 struct nn_error *err)
{
	if (!reading->inputs)
		return nn_fail(err, NN_EFORMAT, "%s: is CIFAR, expected targets alone", file);
	if (nn_dataset_no_columns(ds, file, reading->want, reading->targets, err) < 0)
		return -1;
	if (ds->schema->n_inputs > 1 || (reading->targets && ds->schema->n_targets > 1))
		return nn_fail(err, NN_EFORMAT,
			       "%s: CIFAR has one input and one target, the model has %zu and %zu",
			       file, ds->schema->n_inputs, ds->schema->n_targets);
	return 0;
}

/* Of a sample the first rows, at least one. */
static size_t rows_wanted(struct nn_dataset *ds, size_t rows)
{
	size_t most = ds->files.sample / PIXELS + 1;

	if (!ds->files.sample || most >= rows)
		return rows;
	nn_dataset_set_share(ds, (double)rows / (double)most, rows);
	return most;
}

static int read_cifar(struct nn_dataset *ds, struct nn_input *input,
		      const struct nn_reading *reading, struct nn_error *err)
{
	const struct nn_want *want = ds->fixed ? NULL : reading->want;
	const char *file = nn_input_name(input);
	struct nn_array *pictures = &ds->inputs[0].array;
	struct nn_raw_target raw = { .place = file };
	size_t bytes, rows;
	int labels, status;

	if (check(ds, file, reading, err) < 0 || (labels = find_labels(input, err)) < 0 ||
	    load(input, &pictures->block, &bytes, err) < 0)
		return -1;
	rows = bytes / (PIXELS + (size_t)labels);
	if (bytes % (PIXELS + (size_t)labels))
		return nn_fail(err, NN_EFORMAT, "%s: ends early, in record %zu of %zu bytes", file,
			       rows + 1, PIXELS + (size_t)labels);
	rows = rows_wanted(ds, rows);
	status = part(&pictures->block, rows, (size_t)labels, &raw.array, file, err);
	pictures->data = pictures->block.data;
	pictures->dtype = NN_U8;
	pictures->shape = nn_shape4(rows, 3, 32, 32);
	pictures->picture = true;
	raw.rows = rows;
	if (status == 0)
		status = nn_dataset_set_input(ds, 0, file, true, want ? want->inputs : NULL, err);
	if (status == 0 && reading->targets)
		status = nn_dataset_set_target(ds, 0, want ? want->targets : NULL, &raw, err);
	nn_array_free(&raw.array);
	return status;
}

const struct nn_format nn_format_cifar = {
	.id = NN_FORMAT_cifar,
	.name = "CIFAR",
	.fits = fits,
	.read = read_cifar,
	.pictures = true,
};
