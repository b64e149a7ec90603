/*
 * .npz member after member where it lies, and large arrays stay there (part->later): those that are
 * deflated or have to be turned go by once, into a file without a name in TMPDIR.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/text.h"
#include "file/archive.h"
#include "file/npy.h"
#include "file/npz-inside.h"
#include "file/turn.h"
#include "file/zip-gzip.h"

#define TURNED ((size_t)4 << 20) /* bytes of rows that are turned at once */

struct waiting {
	struct nn_st *st;
	int fd, kept; /* of st; kept: arrays that were inflated, -1: none yet */
	const char *file;
	uint64_t *at; /* [n] in the order of the directory; 0: it was read */
};

static int cannot_read(const char *place, struct nn_error *err)
{
	return errno ? nn_fail_errno(err, NN_EFAIL, "%s: cannot read", place)
		     : nn_fail(err, NN_EFORMAT, "%s: was cut while it was read", place);
}

/* In pieces: what is large stays where it is. */
static int check_crc(const struct waiting *w, const struct nn_zip_member *m, const char *place,
		     struct nn_error *err)
{
	unsigned char part[16384];
	uint32_t crc = 0;

	for (size_t done = 0, n; done < m->size; done += n) {
		n = m->size - done < sizeof part ? m->size - done : sizeof part;
		if (!nn_read_at(w->fd, part, n, m->at + done))
			return cannot_read(place, err);
		crc = nn_crc32(crc, part, n);
	}
	return nn_npz_check_sum(crc, m, place, err);
}

/* The .npy header of a member that begins so: *skip bytes. 1; 0: it has to be read to say what is
 * wrong. */
static int look_at(const struct nn_zip_member *m, const unsigned char begin[NN_NPY_MOST_HEADER],
		   const char *place, struct nn_npy_header *header, size_t *skip,
		   struct nn_error *err)
{
	struct nn_input *input;
	struct nn_error why;
	size_t left;
	int status;

	if (nn_input_open_memory(&input, place, err) < 0)
		return -1;
	nn_input_give(input, begin, NN_NPY_MOST_HEADER);
	status = nn_npy_header_only(input, header, &why);
	nn_input_held(input, &left);
	nn_input_close(input);
	*skip = NN_NPY_MOST_HEADER - left;
	return status == 1 && header->bytes == m->size - *skip;
}

static void tell_tensor(const struct nn_npy_header *header, struct nn_st_tensor *tensor)
{
	tensor->dtype = header->dtype;
	tensor->shape = header->shape;
}

/* Does it lie in another order than it is given? */
static bool has_to_turn(const struct nn_npy_header *header)
{
	return header->swap || (header->fortran && header->shape.rank > 1);
}

/* ---- members that go by once ---- */

/* Exactly n bytes of what was deflated. */
static bool read_exactly(const struct nn_archive *archive, void *stream, unsigned char *to,
			 size_t n)
{
	struct nn_error why;
	size_t got = 1;

	for (; n > 0 && got > 0; to += got, n -= got)
		if (archive->read(stream, to, n, &got, &why) < 0)
			return false;
	return n == 0;
}

/* What follows `begin` up to the end, whose checksum is right, into the file of arrays. */
static bool keep_values(const struct waiting *w, const struct nn_zip_member *m,
			const struct nn_archive *archive, void *stream, const unsigned char *begin,
			size_t n)
{
	unsigned char part[65536];
	size_t left = m->size - NN_NPY_MOST_HEADER, some, got;
	struct nn_error why;

	if (!nn_write_all(w->kept, begin, n))
		return false;
	for (; left > 0; left -= some) {
		some = left < sizeof part ? left : sizeof part;
		if (!read_exactly(archive, stream, part, some) ||
		    !nn_write_all(w->kept, part, some))
			return false;
	}
	return archive->read(stream, part, 1, &got, &why) == 0 && got == 0;
}

/* The file begins with bytes that are none, so that no place is 0. */
static bool open_kept(struct waiting *w)
{
	struct nn_error why;

	if (w->kept >= 0)
		return true;
	if ((w->kept = nn_unnamed_file(w->file, "arrays", &why)) < 0)
		return false;
	nn_st_later_keep(w->st, w->kept);
	return lseek(w->kept, 64, SEEK_SET) == 64;
}

/* Values that lie in the file of fd at `from`. */
struct turning {
	int fd, kept;
	uint64_t from;
	size_t size; /* of a value */
};

static int read_lying(void *arg, uint64_t at, void *bytes, size_t n, struct nn_error *err)
{
	const struct turning *t = arg;

	(void)err;
	return nn_read_at(t->fd, bytes, n, t->from + at) ? 0 : -1;
}

static int keep_rows(void *arg, const void *values, size_t first, size_t n, struct nn_error *err)
{
	const struct turning *t = arg;

	(void)first;
	(void)err;
	return nn_write_all(t->kept, values, n * t->size) ? 0 : -1;
}

/* They go behind those that are kept, in order. */
static bool keep_turned(struct waiting *w, int fd, uint64_t from,
			const struct nn_npy_header *header, uint64_t *at)
{
	struct turning t = { fd, w->kept, from, nn_dtype_size(header->dtype) };
	const struct nn_turn turn = { read_lying, keep_rows, &t };
	off_t end = lseek(w->kept, 0, SEEK_CUR);
	struct nn_error why;

	*at = (uint64_t)end | NN_ST_KEPT;
	return end > 0 && nn_turn_rows(header, TURNED, &turn, &why) == 0;
}

/* As leave_member; whatever fails, also for want of room in TMPDIR, it is read as a whole. */
static int keep_member(struct waiting *w, const struct nn_zip_member *m, const char *place,
		       struct nn_st_tensor *tensor, uint64_t *at, struct nn_error *err)
{
	struct nn_error why;
	const struct nn_archive *archive = nn_module_open("archive", &why);
	struct nn_zip_gzip *d = nn_alloc(1, sizeof *d, err);
	struct nn_archive_source source = { nn_zip_gzip_next, d, place };
	unsigned char begin[NN_NPY_MOST_HEADER];
	struct nn_npy_header header;
	void *stream = NULL;
	size_t skip;
	off_t from = 0;
	int status = d ? 0 : -1;

	if (d)
		*d = (struct nn_zip_gzip){ .fd = w->fd, .member = m, .file = w->file };
	if (d && archive && m->size / NN_DEFLATE_RATIO <= m->packed &&
	    archive->open(&stream, &source, &why) == 0 &&
	    read_exactly(archive, stream, begin, sizeof begin))
		status = look_at(m, begin, place, &header, &skip, err);
	if (status == 1 && (!open_kept(w) || (from = lseek(w->kept, 0, SEEK_CUR)) < 0 ||
			    !keep_values(w, m, archive, stream, begin + skip, sizeof begin - skip)))
		status = 0;
	else if (status == 1)
		*at = (uint64_t)from | NN_ST_KEPT;
	if (status == 1 && has_to_turn(&header))
		status = keep_turned(w, w->kept, (uint64_t)from, &header, at);
	if (status == 1)
		tell_tensor(&header, tensor);
	else
		*at = 0;
	if (stream)
		archive->close(stream);
	nn_free(d);
	return status;
}

/* The type and shape of a large array, and where it lies as it is given. 1; 0: it has to be read.
 */
static int leave_member(struct waiting *w, const struct nn_zip_member *m, const char *place,
			struct nn_st_tensor *tensor, uint64_t *at, struct nn_error *err)
{
	unsigned char begin[NN_NPY_MOST_HEADER];
	struct nn_npy_header header;
	size_t skip;
	int status;

	if (m->size < NN_ST_LATER)
		return 0;
	if (m->method != 0)
		return keep_member(w, m, place, tensor, at, err);
	if (!nn_read_at(w->fd, begin, sizeof begin, m->at))
		return 0;
	status = look_at(m, begin, place, &header, &skip, err);
	if (status == 1 && check_crc(w, m, place, err) < 0)
		return -1;
	*at = m->at + skip;
	if (status == 1 && has_to_turn(&header))
		status = open_kept(w) && keep_turned(w, w->fd, m->at + skip, &header, at);
	if (status == 1)
		tell_tensor(&header, tensor);
	else
		*at = 0;
	return status;
}

static int read_place(struct waiting *w, struct nn_zip_member *m, size_t i, struct nn_error *err)
{
	struct nn_st_tensor *tensor = &w->st->tensors[i];
	char quoted[NN_QUOTED], place[300];
	struct nn_block packed = { 0 };
	int status;

	nn_quote(quoted, m->name, m->name_length);
	snprintf(place, sizeof place, "%.100s: %s", w->file, quoted);
	if (nn_npz_check_name(m, w->file, err) < 0)
		return -1;
	if ((status = leave_member(w, m, place, tensor, &w->at[i], err)) < 0)
		return -1;
	if (status == 1) {
		w->st->names[i] = nn_strndup(m->name, m->name_length - strlen(NN_NPZ_SUFFIX), err);
		return (tensor->name = w->st->names[i]) ? 0 : -1;
	}
	if (nn_block_reserve(&packed, m->packed + 1, err) < 0)
		return nn_fail_at(err, "%s", place);
	m->data = packed.data;
	status = nn_read_at(w->fd, packed.data, m->packed, m->at)
			 ? nn_npz_read_member(m, w->file, &w->st->names[i], tensor,
					      &w->st->arrays[i], err)
			 : cannot_read(place, err);
	nn_block_free(&packed);
	return status;
}

/* Members are in order now: where each waits is found by its name's address. */
static void set_places(const struct waiting *w)
{
	for (size_t k = 0; k < w->st->n_tensors; k++)
		for (size_t i = 0; w->at[k] && i < w->st->n_tensors; i++)
			if (w->st->tensors[i].name == w->st->names[k])
				nn_st_later_set(w->st, i, w->at[k]);
}

static int read_places(struct waiting *w, struct nn_zip_member *members, size_t n,
		       struct nn_error *err)
{
	if (nn_st_reserve(w->st, n, err) < 0)
		return -1;
	w->st->n_tensors = n;
	if (!(w->at = nn_alloc(n, sizeof *w->at, err)) ||
	    nn_st_later_open(w->st, fcntl(w->fd, F_DUPFD_CLOEXEC, 3), w->file, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (read_place(w, &members[i], i, err) < 0)
			return -1;
	if (nn_npz_sort(w->st, w->file, err) < 0)
		return -1;
	set_places(w);
	return 0;
}

int nn_npz_read_later(struct nn_st **result, struct nn_input *input, uint64_t beyond,
		      struct nn_error *err)
{
	struct waiting w = { .kept = -1, .file = nn_input_name(input) };
	struct nn_zip_member *members = NULL;
	struct nn_block directory = { 0 };
	int64_t left = nn_input_left(input);
	uint64_t at = 0, bytes = 0;
	size_t n = 0;
	int status;

	if ((w.fd = nn_input_reopen(input, &at)) < 0)
		return 0;
	status = at > 0 ? 0 : nn_zip_list_file(w.fd, (uint64_t)left, &directory, &members, &n, err);
	if (status < 0)
		nn_fail_at(err, "%s", w.file);
	for (size_t i = 0; status == 1 && i < n; i++)
		bytes += members[i].size;
	if (status == 1 && bytes <= beyond)
		status = 0;
	if (status == 1 &&
	    (!(w.st = nn_alloc(1, sizeof *w.st, err)) || read_places(&w, members, n, err) < 0 ||
	     nn_input_pass(input, (size_t)left, err) < 0))
		status = -1;
	if (status == 1)
		*result = w.st;
	else
		nn_st_free(w.st);
	close(w.fd);
	nn_free(w.at);
	nn_free(members);
	nn_block_free(&directory);
	return status;
}
