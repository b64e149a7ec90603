/* Arrays from files and pipes: .npy in pieces, .npz and safetensors by name. */
#include <string.h>

#include "base/memory.h"
#include "file/json/json.h"
#include "reduce/arrays.h"

/* After an array that is alone nothing may follow. */
static int end_array(struct nn_arrays *s, struct nn_error *err)
{
	return s->stream ? 0 : nn_input_end(s->input, "the array", err);
}

/* 1, 0 at the end, -1 */
static int open_npy(struct nn_arrays *s, struct nn_error *err)
{
	int there = nn_npy_next(s->input, &s->header, err);

	if (there <= 0)
		return there;
	s->one = (struct nn_st_tensor){ .name = "",
					.dtype = s->header.dtype,
					.shape = s->header.shape };
	s->tensors = &s->one;
	s->n_tensors = 1;
	if (!s->header.fortran || s->header.shape.rank < 2)
		return 1;
	if (nn_npy_read(s->input, &s->header, &s->block, err) < 0)
		return -1;
	s->one.data = s->block.data;
	return end_array(s, err) < 0 ? -1 : 1;
}

static int open_tensors(struct nn_arrays *s, struct nn_error *err)
{
	if (nn_tensors_read(&s->st, s->input, s->format, err) < 0)
		return -1;
	s->tensors = s->st->tensors;
	s->n_tensors = s->st->n_tensors;
	for (size_t i = 0; i < NN_N_AGREED; i++)
		s->meta[i] = nn_st_meta(s->st, nn_agreed[i]);
	return 0;
}

static int check_types(const struct nn_arrays *s, struct nn_error *err)
{
	char label[NN_TENSOR_LABEL];

	for (size_t i = 0; i < s->n_tensors; i++)
		if (s->tensors[i].dtype == NN_BOOL)
			return nn_fail(err, NN_EFORMAT, "%s: %sholds bool, expected numbers",
				       s->name, nn_tensor_label(label, &s->tensors[i]));
		else if (nn_st_scales(s->tensors, s->n_tensors, i))
			return nn_fail(err, NN_EFORMAT,
				       "%s: %sis int8 with scales of its own, expected numbers; "
				       "models are averaged before they are made smaller",
				       s->name, nn_tensor_label(label, &s->tensors[i]));
	return 0;
}

int nn_arrays_open(struct nn_arrays *s, const char *path, struct nn_error *err)
{
	bool npy;

	s->name = path;
	if (nn_input_open(&s->input, path, err) < 0 ||
	    nn_input_sniff(s->input, &s->format, err) < 0)
		return -1;
	npy = s->format == NN_FORMAT_npy;
	if (s->format == NN_FORMAT_empty)
		return nn_fail(err, NN_EFORMAT, "%s: is empty, expected .npy, .npz or safetensors",
			       path);
	if (!npy && !nn_is_tensors(s->format))
		return nn_fail(err, NN_EFORMAT,
			       "%s: looks like %s, expected .npy, .npz or safetensors", path,
			       nn_format_word(s->format));
	if ((npy ? open_npy(s, err) : open_tensors(s, err)) < 0)
		return -1;
	return check_types(s, err);
}

int nn_arrays_open_stream(struct nn_arrays *s, const char *path, struct nn_error *err)
{
	s->name = path;
	s->stream = true;
	return nn_input_open(&s->input, path, err);
}

int nn_arrays_next(struct nn_arrays *s, struct nn_error *err)
{
	int there = open_npy(s, err);

	return there > 0 && check_types(s, err) < 0 ? -1 : there;
}

void nn_arrays_close(struct nn_arrays *s)
{
	nn_st_free(s->st);
	nn_input_close(s->input);
	nn_block_free(&s->block);
	*s = (struct nn_arrays){ 0 };
}

int nn_arrays_read(struct nn_arrays *s, const struct nn_st_tensor *t, size_t at, size_t count,
		   const void **values, struct nn_error *err)
{
	size_t size = nn_dtype_size(t->dtype);

	if (t->data || count == 0) {
		*values = t->data ? (const char *)t->data + at * size : NULL;
		return t->data || at + count < nn_shape_count(&t->shape) ? 0 : end_array(s, err);
	}
	if (nn_block_reserve(&s->block, count * size, err) < 0)
		return nn_fail_at(err, "%s", s->name);
	if (nn_npy_read_values(s->input, &s->header, count, s->block.data, err) < 0)
		return -1;
	*values = s->block.data;
	return at + count == nn_shape_count(&t->shape) ? end_array(s, err) : 0;
}

/* nn.train without what was found by the model that it describes: metrics and threshold. */
static int omit_found(const struct nn_arrays *s, const char *train, struct nn_text *rest,
		      struct nn_error *err)
{
	struct nn_text some = { 0 };
	bool failed, good = nn_json_omit(&some, train, "metrics");

	good = good && !some.failed && nn_json_omit(rest, some.data, "threshold");
	failed = some.failed || rest->failed;
	nn_text_free(&some);
	if (!good && !failed)
		return nn_fail(err, NN_EFORMAT, "%s: nn.train: expected an object of JSON",
			       s->name);
	return failed ? nn_fail(err, NN_ENOMEM, "cannot allocate memory for metadata") : 0;
}

int nn_arrays_write(const struct nn_arrays *s, struct nn_output *output,
		    const struct nn_st_tensor *results, struct nn_error *err)
{
	struct nn_text train = { 0 };
	struct nn_st_meta *meta;
	int status = 0;

	if (s->format == NN_FORMAT_zip)
		return nn_npz_write(output, results, s->n_tensors, err);
	meta = nn_alloc(s->st->n_meta, sizeof *meta, err);
	if (!meta)
		return -1;
	for (size_t i = 0; i < s->st->n_meta && status == 0; i++) {
		meta[i] = s->st->meta[i];
		if (strcmp(meta[i].key, "nn.train") != 0)
			continue;
		status = omit_found(s, meta[i].value, &train, err);
		meta[i].value = train.data;
	}
	if (status == 0)
		status = nn_st_write(output, results, s->n_tensors, meta, s->st->n_meta, err);
	nn_text_free(&train);
	nn_free(meta);
	return status;
}
