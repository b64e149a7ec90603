/*
 * Reading .npz: the file as a whole, since its directory stands at the end, then member after
 * member.
 */
#include <stdio.h>
#include <string.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/text.h"
#include "file/archive.h"
#include "file/npy.h"
#include "file/npz-inside.h"
#include "file/torch/torch.h"

#define STEP ((size_t)1 << 20)

/* All bytes that come. */
static int load(struct nn_input *input, struct nn_block *block, size_t *n, struct nn_error *err)
{
	const unsigned char *b;
	size_t got = 1;

	if (nn_input_peek(input, &b, 1, &got, err) < 0)
		return -1;
	if (nn_input_left(input) >= 0) {
		*n = (size_t)nn_input_left(input);
		return nn_input_load(input, block, 0, *n, "the file", err);
	}
	for (*n = 0; got > 0; *n += got) {
		if (nn_block_reserve(block, *n + *n / 4 + STEP, err) < 0)
			return nn_fail_at(err, "%s", nn_input_name(input));
		if (nn_input_read(input, nn_block_at(block, *n), block->room - *n, &got, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * The beginning of a deflated member alone says what it has to hold: what a header does not promise
 * is not inflated.
 */
static int check_begin(const struct nn_archive *archive, const struct nn_zip_member *m,
		       const char *place, struct nn_error *err)
{
	unsigned char begin[NN_NPY_MOST_HEADER];
	size_t n = sizeof begin, left, held;
	struct nn_npy_header header;
	struct nn_input *input;
	int status;

	if (archive->begin(m->data, m->packed, begin, n, place, err) < 0 ||
	    nn_input_open_memory(&input, place, err) < 0)
		return -1;
	nn_input_give(input, begin, n);
	status = nn_npy_header_only(input, &header, err);
	nn_input_held(input, &left);
	held = m->size - (n - left);
	if (status == 1 && header.bytes != held)
		status = nn_fail(err, NN_EFORMAT,
				 "%s: holds %zu byte%s of data, its .npy header promises %zu",
				 place, held, nn_s(held), header.bytes);
	nn_input_close(input);
	return status < 0 ? -1 : 0;
}

int nn_npz_check_sum(uint32_t crc, const struct nn_zip_member *m, const char *place,
		     struct nn_error *err)
{
	return crc == m->crc
		       ? 0
		       : nn_fail(err, NN_EFORMAT, "%s: is damaged: its checksum is wrong", place);
}

/* What a member holds: its data where it is stored, else decompressed into a block. */
static int unpack(const struct nn_zip_member *m, const char *place, struct nn_block *block,
		  const unsigned char **bytes, struct nn_error *err)
{
	*bytes = m->data;
	if (m->method != 0) {
		const struct nn_archive *archive = nn_module_open("archive", err);

		if (!archive)
			return nn_fail_at(err, "%s: is deflated", place);
		if (m->size / NN_DEFLATE_RATIO > m->packed)
			return nn_fail(err, NN_EFORMAT,
				       "%s: promises %zu bytes in %zu, more than deflate can",
				       place, m->size, m->packed);
		if (m->size > NN_NPY_MOST_HEADER && check_begin(archive, m, place, err) < 0)
			return -1;
		if (nn_block_reserve(block, m->size + 1, err) < 0)
			return nn_fail_at(err, "%s", place);
		if (archive->inflate(m->data, m->packed, block->data, m->size, place, err) < 0)
			return -1;
		*bytes = block->data;
	}
	return nn_npz_check_sum(nn_crc32(0, *bytes, m->size), m, place, err);
}

static int read_array(const unsigned char *bytes, size_t n, const char *place,
		      struct nn_st_tensor *tensor, struct nn_block *block, struct nn_error *err)
{
	struct nn_input *input;
	int status;

	if (nn_input_open_memory(&input, place, err) < 0)
		return -1;
	nn_input_give(input, bytes, n);
	status = nn_npy_read_tensor(input, tensor, block, err);
	nn_input_close(input);
	return status;
}

int nn_npz_check_name(const struct nn_zip_member *m, const char *file, struct nn_error *err)
{
	size_t n = m->name_length, s = strlen(NN_NPZ_SUFFIX);
	char quoted[NN_QUOTED];

	nn_quote(quoted, m->name, n);
	if (n <= s || memcmp(m->name + n - s, NN_NPZ_SUFFIX, s) != 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: member '%s' is not an .npy array: the file is not an .npz",
			       file, quoted);
	if (memchr(m->name, 0, n) || nn_utf8_prefix(m->name, n) < n)
		return nn_fail(err, NN_EFORMAT, "%s: the name of member '%s' is not UTF-8", file,
			       quoted);
	return 0;
}

int nn_npz_read_member(const struct nn_zip_member *m, const char *file, char **name,
		       struct nn_st_tensor *tensor, struct nn_block *block, struct nn_error *err)
{
	struct nn_block unpacked = { 0 };
	const unsigned char *bytes;
	char quoted[NN_QUOTED], place[300];
	int status;

	if (nn_npz_check_name(m, file, err) < 0)
		return -1;
	*name = nn_strndup(m->name, m->name_length - strlen(NN_NPZ_SUFFIX), err);
	if (!*name)
		return -1;
	tensor->name = *name;
	nn_quote(quoted, m->name, m->name_length);
	snprintf(place, sizeof place, "%.100s: %s", file, quoted);
	status = unpack(m, place, &unpacked, &bytes, err);
	if (status == 0)
		status = read_array(bytes, m->size, place, tensor, block, err);
	nn_block_free(&unpacked);
	return status;
}

int nn_npz_sort(struct nn_st *st, const char *file, struct nn_error *err)
{
	const char *twice = nn_st_sort(st->tensors, st->n_tensors);
	char quoted[NN_QUOTED];

	return twice ? nn_fail(err, NN_EFORMAT, "%s: member '%s.npy' is there twice", file,
			       nn_quote(quoted, twice, strlen(twice)))
		     : 0;
}

static int read_members(struct nn_st *st, const struct nn_zip_member *members, size_t n,
			const char *file, struct nn_error *err)
{
	if (nn_st_reserve(st, n, err) < 0)
		return -1;
	while (st->n_tensors < n) {
		size_t i =
			st->n_tensors++; /* what a member that fails has is freed with the others */

		if (nn_npz_read_member(&members[i], file, &st->names[i], &st->tensors[i],
				       &st->arrays[i], err) < 0)
			return -1;
	}
	return nn_npz_sort(st, file, err);
}

/* st borrows from the file's bytes, which become its own. */
static int keep_file(struct nn_st *st, struct nn_block *file, struct nn_error *err)
{
	st->base = nn_alloc(1, sizeof *st->base, err);
	if (!st->base || nn_st_reserve(st->base, 1, err) < 0)
		return -1;
	st->base->n_tensors = 1;
	st->base->arrays[0] = *file;
	*file = (struct nn_block){ 0 };
	return 0;
}

/* A model of Keras is a zip file around one of HDF5. */
static bool is_keras(const struct nn_zip_member *members, size_t n)
{
	static const char name[] = "model.weights.h5";

	for (size_t i = 0; i < n; i++)
		if (members[i].name_length == strlen(name) &&
		    memcmp(members[i].name, name, strlen(name)) == 0)
			return true;
	return false;
}

/* Bytes in memory are a request's: a few of them must not become many. */
static int check_stored(const struct nn_zip_member *members, size_t n, const char *file,
			struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < n; i++)
		if (members[i].method != 0)
			return nn_fail(err, NN_EFORMAT,
				       "%s: %s: is deflated, expected an array as it is "
				       "(numpy.savez)",
				       file,
				       nn_quote(quoted, members[i].name, members[i].name_length));
	return 0;
}

/* ---- a file ---- */

static int read_zip(struct nn_st **result, struct nn_input *input, bool weights,
		    struct nn_error *err)
{
	struct nn_st *st = nn_alloc(1, sizeof *st, err);
	const char *name = nn_input_name(input);
	struct nn_zip_member *members = NULL;
	struct nn_block file = { 0 };
	size_t bytes = 0, n = 0;
	int status = -1;

	if (!st || load(input, &file, &bytes, err) < 0)
		goto out;
	if (nn_zip_list(file.data, bytes, &members, &n, err) < 0)
		nn_fail_at(err, "%s", name);
	else if (weights && is_keras(members, n))
		nn_fail(err, NN_EFORMAT, "%s: is a model of Keras; " NN_KERAS_SAVES, name);
	else if (weights && nn_torch_find(members, n) < n)
		status = nn_torch_read(st, members, n, name, err) < 0 ? -1
								      : keep_file(st, &file, err);
	else if (!nn_input_in_memory(input) || check_stored(members, n, name, err) == 0)
		status = read_members(st, members, n, name, err);
out:
	nn_free(members);
	nn_block_free(&file);
	if (status < 0)
		nn_st_free(st);
	else
		*result = st;
	return status;
}

int nn_npz_read(struct nn_st **st, struct nn_input *input, struct nn_error *err)
{
	return read_zip(st, input, false, err);
}

int nn_zip_read_weights(struct nn_st **st, struct nn_input *input, struct nn_error *err)
{
	return read_zip(st, input, true, err);
}

int nn_npz_read_part(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
		     struct nn_error *err)
{
	int status =
		part->later && !part->most ? nn_npz_read_later(st, input, part->beyond, err) : 0;

	if (status != 0)
		return status < 0 ? -1 : 0;
	if (nn_npz_read(st, input, err) < 0)
		return -1;
	nn_st_part(*st, part);
	for (size_t i = 0; i < (*st)->n_tensors; i++)
		nn_st_cut(&(*st)->tensors[i], part);
	return 0;
}

bool nn_is_tensors(enum nn_format_id format)
{
	return format == NN_FORMAT_safetensors || format == NN_FORMAT_zip;
}

int nn_tensors_read(struct nn_st **st, struct nn_input *input, enum nn_format_id format,
		    struct nn_error *err)
{
	return format == NN_FORMAT_zip ? nn_npz_read(st, input, err)
				       : nn_st_read_input(st, input, err);
}
