/* Arrays from files and pipes: .npy in pieces, safetensors by name, and whether two files agree. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/allreduce.h"

/* After an array that is alone nothing may follow. */
static int end_array(struct source *s, struct nn_error *err)
{
	return s->stream ? 0 : nn_input_end(s->input, "the array", err);
}

/* 1, 0 at the end, -1 */
static int open_npy(struct source *s, struct nn_error *err)
{
	int there = nn_npy_next(s->input, &s->header, err);

	if (there <= 0)
		return there;
	s->one = (struct nn_st_tensor){ .name = "", .dtype = s->header.dtype, .shape = s->header.shape };
	s->tensors = &s->one;
	s->n_tensors = 1;
	if (!s->header.fortran || s->header.shape.rank < 2)
		return 1;
	if (nn_npy_read(s->input, &s->header, &s->block, err) < 0)
		return -1;
	s->one.data = s->block.data;
	return end_array(s, err) < 0 ? -1 : 1;
}

static int open_tensors(struct source *s, struct nn_error *err)
{
	if (nn_st_read_input(&s->st, s->input, err) < 0)
		return -1;
	s->named = true;
	s->tensors = s->st->tensors;
	s->n_tensors = s->st->n_tensors;
	s->model = nn_st_meta(s->st, "nn.model");
	return 0;
}

static int check_types(const struct source *s, struct nn_error *err)
{
	char label[TENSOR_LABEL];

	for (size_t i = 0; i < s->n_tensors; i++)
		if (s->tensors[i].dtype == NN_BOOL)
			return nn_fail(err, NN_EFORMAT, "%s: %sholds bool, expected numbers", s->name,
				       tensor_label(label, &s->tensors[i]));
	return 0;
}

int source_open(struct source *s, const char *path, struct nn_error *err)
{
	const char *kind;

	s->name = path;
	if (nn_input_open(&s->input, path, err) < 0 || nn_input_sniff(s->input, &kind, err) < 0)
		return -1;
	if (strcmp(kind, "empty") == 0)
		return nn_fail(err, NN_EFORMAT, "%s: is empty, expected .npy or safetensors", path);
	if (strcmp(kind, "npy") != 0 && strcmp(kind, "safetensors") != 0)
		return nn_fail(err, NN_EFORMAT, "%s: looks like %s, expected .npy or safetensors", path, kind);
	if ((kind[0] == 'n' ? open_npy(s, err) : open_tensors(s, err)) < 0)
		return -1;
	return check_types(s, err);
}

int source_open_stream(struct source *s, const char *path, struct nn_error *err)
{
	s->name = path;
	s->stream = true;
	return nn_input_open(&s->input, path, err);
}

int source_next(struct source *s, struct nn_error *err)
{
	int there = open_npy(s, err);

	return there > 0 && check_types(s, err) < 0 ? -1 : there;
}

void source_close(struct source *s)
{
	nn_st_free(s->st);
	nn_input_close(s->input);
	nn_block_free(&s->block);
	*s = (struct source){0};
}

int source_read(struct source *s, const struct nn_st_tensor *t, size_t at, size_t count, const void **values,
		struct nn_error *err)
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

char *tensor_label(char buffer[TENSOR_LABEL], const struct nn_st_tensor *tensor)
{
	char quoted[NN_QUOTED];

	buffer[0] = '\0';
	if (*tensor->name)
		snprintf(buffer, TENSOR_LABEL, "tensor \"%s\": ", nn_quote(quoted, tensor->name, strlen(tensor->name)));
	return buffer;
}

static int compare_tensor(const struct source *s, const struct nn_st_tensor *t, const struct source *first,
			  const struct nn_st_tensor *f, struct nn_error *err)
{
	char label[TENSOR_LABEL], shape[NN_SHAPE_TEXT], expected[NN_SHAPE_TEXT];

	tensor_label(label, t);
	if (t->dtype != f->dtype)
		return nn_fail(err, NN_EFORMAT, "%s: %sfound %s, expected %s as in %s", s->name, label, nn_dtype_name(t->dtype),
			       nn_dtype_name(f->dtype), first->name);
	if (!nn_shape_equal(&t->shape, &f->shape))
		return nn_fail(err, NN_EFORMAT, "%s: %sfound shape %s, expected %s as in %s", s->name, label,
			       nn_shape_text(shape, &t->shape), nn_shape_text(expected, &f->shape), first->name);
	return 0;
}

/* Both lists are sorted by name. */
int source_compare(const struct source *s, const struct source *first, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (s->named != first->named)
		return nn_fail(err, NN_EFORMAT, "%s: is %s, %s is %s", s->name, s->named ? "safetensors" : ".npy", first->name,
			       first->named ? "safetensors" : ".npy");
	for (size_t i = 0; i < s->n_tensors || i < first->n_tensors; i++) {
		const struct nn_st_tensor *t = i < s->n_tensors ? &s->tensors[i] : NULL;
		const struct nn_st_tensor *f = i < first->n_tensors ? &first->tensors[i] : NULL;
		int order = !t ? 1 : !f ? -1 : strcmp(t->name, f->name);

		if (order > 0)
			return nn_fail(err, NN_EFORMAT, "%s: tensor \"%s\" of %s is missing", s->name,
				       nn_quote(quoted, f->name, strlen(f->name)), first->name);
		if (order < 0)
			return nn_fail(err, NN_EFORMAT, "%s: tensor \"%s\" is not in %s", s->name,
				       nn_quote(quoted, t->name, strlen(t->name)), first->name);
	}
	for (size_t i = 0; i < s->n_tensors; i++)
		if (compare_tensor(s, &s->tensors[i], first, &first->tensors[i], err) < 0)
			return -1;
	if (!s->model != !first->model || (s->model && strcmp(s->model, first->model) != 0))
		return nn_fail(err, NN_EFORMAT, "%s: nn.model is another network than in %s", s->name, first->name);
	return 0;
}

/* A place as numpy writes it: [2,5]. */
static void place_text(char *buffer, size_t room, const struct nn_shape *shape, size_t index)
{
	size_t place[NN_MAX_RANK], at = 1;

	for (int i = shape->rank - 1; i >= 0; i--) {
		place[i] = index % shape->dim[i];
		index /= shape->dim[i];
	}
	snprintf(buffer, room, "[]");
	for (int i = 0; i < shape->rank; i++)
		at += (size_t)snprintf(buffer + at, room - at, "%zu%c", place[i], i + 1 < shape->rank ? ',' : ']');
}

int check_found(const struct nn_reduce *reduce, const struct nn_st_tensor *tensor, const struct nn_reduce_found *found,
		struct nn_error *err)
{
	char label[TENSOR_LABEL], place[NN_MAX_RANK * 21 + 2], text[TENSOR_LABEL + 80];

	tensor_label(label, tensor);
	if (found->overflow != SIZE_MAX) {
		place_text(place, sizeof place, &tensor->shape, found->overflow);
		return nn_fail(err, NN_EFAIL, "--op=%s: %svalue %s does not fit into %s; use --op=mean or files of a wider type",
			       nn_reduce_ops[reduce->op], label, place, nn_dtype_name(tensor->dtype));
	}
	if (found->nan) {
		snprintf(text, sizeof text, "%s%zu of %zu values of the result are NaN", label, found->nan,
			 nn_shape_count(&tensor->shape));
		nn_tool_warn(NULL, text);
	}
	return 0;
}
