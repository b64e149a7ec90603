/* Writing .npz: members stored one after another, then the directory. */
#include "config.h"
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "file/npy.h"
#include "file/npz.h"
#include "file/zip.h"

#define MOST_MEMBERS 65535u /* from here on their number needs zip64 */
#define DATE 0x21           /* 1 January 1980, the first day zip knows */

struct record {
	unsigned char bytes[128];
	size_t n;
};

static void put(struct record *r, int n, uint64_t value)
{
	for (int i = 0; i < n; i++)
		r->bytes[r->n++] = (unsigned char)(value >> (8 * i));
}

static void sign(struct record *r, const char *signature)
{
	r->n = 0;
	for (int i = 0; i < 4; i++)
		r->bytes[r->n++] = (unsigned char)signature[i];
}

struct zip_writer {
	struct nn_output *output;
	uint64_t far, at; /* bytes written so far */
};

static int write(struct zip_writer *w, const void *bytes, size_t n, struct nn_error *err)
{
	w->at += n;
	return n ? nn_output_write(w->output, bytes, n, err) : 0;
}

static uint64_t near(const struct zip_writer *w, uint64_t value)
{
	return value >= w->far ? NN_ZIP_FAR : value;
}

struct member {
	const struct nn_st_tensor *tensor;
	char head[NN_NPY_HEADER]; /* of the .npy array */
	size_t head_n;
	uint64_t size, at;
	uint32_t crc;
};

static uint64_t flags(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name > 127)
			return 0x800; /* UTF-8 */
	return 0;
}

/* What both records of a member say alike, and the length of the extra field. */
static void put_member(struct record *r, const struct zip_writer *w, const struct member *m,
		       int version, size_t extra)
{
	put(r, 2, (uint64_t)version);
	put(r, 2, flags(m->tensor->name));
	put(r, 2, 0); /* stored */
	put(r, 4, (uint64_t)DATE << 16);
	put(r, 4, m->crc);
	put(r, 4, near(w, m->size));
	put(r, 4, near(w, m->size));
	put(r, 2, strlen(m->tensor->name) + 4);
	put(r, 2, extra);
}

static int write_name(struct zip_writer *w, const struct member *m, struct nn_error *err)
{
	return write(w, m->tensor->name, strlen(m->tensor->name), err) < 0
		       ? -1
		       : write(w, ".npy", 4, err);
}

static int write_member(struct zip_writer *w, struct member *m, struct nn_error *err)
{
	size_t data = nn_shape_count(&m->tensor->shape) * nn_dtype_size(m->tensor->dtype);
	struct record r, extra = { .n = 0 };

	if (nn_npy_header(m->head, &m->head_n, m->tensor->dtype, &m->tensor->shape, err) < 0)
		return -1;
	m->at = w->at;
	m->size = m->head_n + data;
	m->crc = nn_crc32(nn_crc32(0, m->head, m->head_n), m->tensor->data, data);
	if (m->size >= w->far) {
		put(&extra, 2, 1);
		put(&extra, 2, 16);
		put(&extra, 8, m->size);
		put(&extra, 8, m->size);
	}
	sign(&r, "PK\3\4");
	put_member(&r, w, m, extra.n ? 45 : 20, extra.n);
	if (write(w, r.bytes, r.n, err) < 0 || write_name(w, m, err) < 0 ||
	    write(w, extra.bytes, extra.n, err) < 0 || write(w, m->head, m->head_n, err) < 0)
		return -1;
	return write(w, m->tensor->data, data, err);
}

static int write_entry(struct zip_writer *w, const struct member *m, struct nn_error *err)
{
	struct record r, extra = { .n = 0 };
	bool large = m->size >= w->far, late = m->at >= w->far;

	if (large || late) {
		put(&extra, 2, 1);
		put(&extra, 2, (large ? 16 : 0) + (late ? 8 : 0));
		for (int i = 0; large && i < 2; i++)
			put(&extra, 8, m->size);
		if (late)
			put(&extra, 8, m->at);
	}
	sign(&r, "PK\1\2");
	put(&r, 2, extra.n ? 45 : 20); /* made by */
	put_member(&r, w, m, extra.n ? 45 : 20, extra.n);
	put(&r, 2, 0); /* comment */
	put(&r, 4, 0); /* disk, inside: binary */
	put(&r, 4, 0);
	put(&r, 4, near(w, m->at));
	if (write(w, r.bytes, r.n, err) < 0 || write_name(w, m, err) < 0)
		return -1;
	return write(w, extra.bytes, extra.n, err);
}

static int write_end(struct zip_writer *w, uint64_t at, size_t n, struct nn_error *err)
{
	uint64_t size = w->at - at, end = w->at;
	struct record r;

	if (at >= w->far || size >= w->far || n >= MOST_MEMBERS) {
		sign(&r, "PK\6\6");
		put(&r, 8, 44);
		put(&r, 4, 45 | 45 << 16);
		put(&r, 8, 0); /* disks */
		put(&r, 8, n);
		put(&r, 8, n);
		put(&r, 8, size);
		put(&r, 8, at);
		if (write(w, r.bytes, r.n, err) < 0)
			return -1;
		sign(&r, "PK\6\7");
		put(&r, 4, 0);
		put(&r, 8, end);
		put(&r, 4, 1);
		if (write(w, r.bytes, r.n, err) < 0)
			return -1;
	}
	sign(&r, "PK\5\6");
	put(&r, 4, 0);
	put(&r, 2, n < MOST_MEMBERS ? n : MOST_MEMBERS);
	put(&r, 2, n < MOST_MEMBERS ? n : MOST_MEMBERS);
	put(&r, 4, near(w, size));
	put(&r, 4, near(w, at));
	put(&r, 2, 0);
	return write(w, r.bytes, r.n, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->tensor->name,
		      ((const struct member *)b)->tensor->name);
}

int nn_npz_write_far(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n,
		     uint64_t far, struct nn_error *err)
{
	struct zip_writer w = { output, far, 0 };
	struct member *members = nn_alloc(n, sizeof *members, err);
	int status = members ? 0 : -1;
	uint64_t at;

	for (size_t i = 0; i < n && status == 0; i++) {
		members[i].tensor = &tensors[i];
		if (strlen(tensors[i].name) > 65535 - 4)
			status = nn_fail(err, NN_EFORMAT,
					 "a tensor's name of %zu bytes is too long for .npz",
					 strlen(tensors[i].name));
	}
	if (status == 0 && n)
		qsort(members, n, sizeof *members, by_name);
	for (size_t i = 0; i < n && status == 0; i++)
		status = write_member(&w, &members[i], err);
	at = w.at;
	for (size_t i = 0; i < n && status == 0; i++)
		status = write_entry(&w, &members[i], err);
	if (status == 0)
		status = write_end(&w, at, n, err);
	nn_free(members);
	return status;
}

int nn_npz_write(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n,
		 struct nn_error *err)
{
	return nn_npz_write_far(output, tensors, n, NN_ZIP_FAR, err);
}
