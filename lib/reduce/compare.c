/* Do the arrays of two files agree, and those of all ranks? */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "reduce/arrays.h"

char *nn_tensor_label(char buffer[NN_TENSOR_LABEL], const struct nn_st_tensor *tensor)
{
	char quoted[NN_QUOTED];

	buffer[0] = '\0';
	if (*tensor->name)
		snprintf(buffer, NN_TENSOR_LABEL,
			 "tensor \"%s\": ", nn_quote(quoted, tensor->name, strlen(tensor->name)));
	return buffer;
}

static int compare_tensor(const struct nn_arrays *s, const struct nn_st_tensor *t,
			  const struct nn_arrays *first, const struct nn_st_tensor *f,
			  struct nn_error *err)
{
	char label[NN_TENSOR_LABEL], shape[NN_SHAPE_TEXT], expected[NN_SHAPE_TEXT];

	nn_tensor_label(label, t);
	if (t->dtype != f->dtype)
		return nn_fail(err, NN_EFORMAT, "%s: %sfound %s, expected %s as in %s", s->name,
			       label, nn_dtype_name(t->dtype), nn_dtype_name(f->dtype),
			       first->name);
	if (!nn_shape_equal(&t->shape, &f->shape))
		return nn_fail(err, NN_EFORMAT, "%s: %sfound shape %s, expected %s as in %s",
			       s->name, label, nn_shape_text(shape, &t->shape),
			       nn_shape_text(expected, &f->shape), first->name);
	return 0;
}

static const char *name_of(enum nn_format_id format)
{
	return format == NN_FORMAT_npy   ? ".npy"
	       : format == NN_FORMAT_zip ? ".npz"
					 : nn_format_word(format);
}

/* Both lists are sorted by name. */
int nn_arrays_compare(const struct nn_arrays *s, const struct nn_arrays *first,
		      struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (s->format != first->format)
		return nn_fail(err, NN_EFORMAT, "%s: is %s, %s is %s", s->name, name_of(s->format),
			       first->name, name_of(first->format));
	for (size_t i = 0; i < s->n_tensors || i < first->n_tensors; i++) {
		const struct nn_st_tensor *t = i < s->n_tensors ? &s->tensors[i] : NULL;
		const struct nn_st_tensor *f = i < first->n_tensors ? &first->tensors[i] : NULL;
		int order = !t ? 1 : !f ? -1 : strcmp(t->name, f->name);

		if (order > 0)
			return nn_fail(err, NN_EFORMAT, "%s: tensor \"%s\" of %s is missing",
				       s->name, nn_quote(quoted, f->name, strlen(f->name)),
				       first->name);
		if (order < 0)
			return nn_fail(err, NN_EFORMAT, "%s: tensor \"%s\" is not in %s", s->name,
				       nn_quote(quoted, t->name, strlen(t->name)), first->name);
	}
	for (size_t i = 0; i < s->n_tensors; i++)
		if (compare_tensor(s, &s->tensors[i], first, &first->tensors[i], err) < 0)
			return -1;
	return nn_metadata_compare(s, first, err);
}

/* ---- ranks ---- */

/* What a rank has, as bytes for the others: file name, metadata, format, tensors. */
static void describe(const struct nn_arrays *s, struct nn_text *text)
{
	nn_text_add_bytes(text, s->name, strlen(s->name) + 1);
	for (size_t i = 0; i < NN_N_AGREED; i++) {
		bool has = s->meta[i] != NULL;

		nn_text_add_bytes(text, (const char *)&has, sizeof has);
		if (has)
			nn_text_add_bytes(text, s->meta[i], strlen(s->meta[i]) + 1);
	}
	nn_text_add_bytes(text, (const char *)&s->format, sizeof s->format);
	nn_text_add_bytes(text, (const char *)&s->n_tensors, sizeof s->n_tensors);
	for (size_t i = 0; i < s->n_tensors; i++) {
		const struct nn_st_tensor *t = &s->tensors[i];

		nn_text_add_bytes(text, (const char *)&t->dtype, sizeof t->dtype);
		nn_text_add_bytes(text, (const char *)&t->shape, sizeof t->shape);
		nn_text_add_bytes(text, t->name, strlen(t->name) + 1);
	}
}

static const char *take(const char **at, void *to, size_t n)
{
	const char *from = *at;

	if (to)
		memcpy(to, from, n);
	*at += n;
	return from;
}

/* The same back; texts point into the bytes. */
static int undescribe(struct nn_arrays *s, const char *at, struct nn_error *err)
{
	*s = (struct nn_arrays){ .name = take(&at, NULL, strlen(at) + 1) };
	for (size_t i = 0; i < NN_N_AGREED; i++) {
		bool has;

		take(&at, &has, sizeof has);
		s->meta[i] = has ? take(&at, NULL, strlen(at) + 1) : NULL;
	}
	take(&at, &s->format, sizeof s->format);
	take(&at, &s->n_tensors, sizeof s->n_tensors);
	s->tensors = nn_alloc(s->n_tensors, sizeof *s->tensors, err);
	if (!s->tensors)
		return -1;
	for (size_t i = 0; i < s->n_tensors; i++) {
		take(&at, &s->tensors[i].dtype, sizeof s->tensors[i].dtype);
		take(&at, &s->tensors[i].shape, sizeof s->tensors[i].shape);
		s->tensors[i].name = take(&at, NULL, strlen(at) + 1);
	}
	return 0;
}

int nn_arrays_compare_ranks(const struct nn_arrays *s, struct nn_comm *comm, struct nn_error *err)
{
	struct nn_text mine = { 0 };
	struct nn_arrays me = { 0 }, first = { 0 };
	size_t bytes;
	char *all = NULL;
	int status = -1;

	describe(s, &mine);
	bytes = mine.length;
	if (mine.failed) {
		nn_fail(err, NN_ENOMEM, "cannot allocate memory to compare files");
		goto out;
	}
	if (nn_comm_broadcast(comm, 0, &bytes, sizeof bytes, err) < 0)
		goto out;
	all = nn_alloc(bytes, 1, err);
	if (!all)
		goto out;
	if (comm->rank == 0)
		memcpy(all, mine.data, bytes);
	if (nn_comm_broadcast(comm, 0, all, bytes, err) < 0 || undescribe(&first, all, err) < 0 ||
	    undescribe(&me, mine.data, err) < 0)
		goto out;
	if (strcmp(first.name, me.name) == 0)
		first.name = "the file of rank 0";
	status = nn_arrays_compare(&me, &first, err);
out:
	nn_free(me.tensors);
	nn_free(first.tensors);
	nn_text_free(&mine);
	nn_free(all);
	return status;
}
