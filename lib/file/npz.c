/*
 * Reading .npz: the file as a whole, since its directory stands at the end, then member after
 * member; or member after member where it lies, and large arrays stay there (part->later): those
 * that are deflated or have to be turned go by once, into a file without a name in TMPDIR.
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
#include "file/npz.h"
#include "file/torch/torch.h"
#include "file/turn.h"

#define STEP ((size_t)1 << 20)
#define DEFLATE_RATIO 1100 /* bytes out for one in: more than deflate can */

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

static int check_sum(uint32_t crc, const struct nn_zip_member *m, const char *place,
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
		if (m->size / DEFLATE_RATIO > m->packed)
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
	return check_sum(nn_crc32(0, *bytes, m->size), m, place, err);
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

#define SUFFIX ".npy"

static int check_name(const struct nn_zip_member *m, const char *file, struct nn_error *err)
{
	size_t n = m->name_length, s = strlen(SUFFIX);
	char quoted[NN_QUOTED];

	nn_quote(quoted, m->name, n);
	if (n <= s || memcmp(m->name + n - s, SUFFIX, s) != 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: member '%s' is not an .npy array: the file is not an .npz",
			       file, quoted);
	if (memchr(m->name, 0, n) || nn_utf8_prefix(m->name, n) < n)
		return nn_fail(err, NN_EFORMAT, "%s: the name of member '%s' is not UTF-8", file,
			       quoted);
	return 0;
}

static int read_member(const struct nn_zip_member *m, const char *file, char **name,
		       struct nn_st_tensor *tensor, struct nn_block *block, struct nn_error *err)
{
	struct nn_block unpacked = { 0 };
	const unsigned char *bytes;
	char quoted[NN_QUOTED], place[300];
	int status;

	if (check_name(m, file, err) < 0)
		return -1;
	*name = nn_strndup(m->name, m->name_length - strlen(SUFFIX), err);
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

static int sort_members(struct nn_st *st, const char *file, struct nn_error *err)
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

		if (read_member(&members[i], file, &st->names[i], &st->tensors[i], &st->arrays[i],
				err) < 0)
			return -1;
	}
	return sort_members(st, file, err);
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

/* ---- members that stay in the file ---- */

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
	return check_sum(crc, m, place, err);
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

/* ---- deflated members: as gzip has them, between a header and a checksum ---- */

struct deflated {
	const struct waiting *w;
	const struct nn_zip_member *m;
	size_t done; /* packed bytes */
	bool began, ended;
	unsigned char part[65536];
};

static void little_endian(unsigned char *bytes, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
}

static int next_part(void *arg, const unsigned char **bytes, size_t *n, struct nn_error *err)
{
	static const unsigned char header[10] = { 0x1f, 0x8b, 8 };
	struct deflated *d = arg;
	size_t left = d->m->packed - d->done;

	*bytes = d->began ? d->part : header;
	*n = !d->began ? sizeof header : left < sizeof d->part ? left : sizeof d->part;
	if (d->began && left > 0 && !nn_read_at(d->w->fd, d->part, *n, d->m->at + d->done))
		return nn_fail(err, NN_EFAIL, "%s: cannot read", d->w->file);
	if (d->began && left == 0 && !d->ended) {
		little_endian(d->part, d->m->crc);
		little_endian(d->part + 4, (uint32_t)d->m->size);
		*n = 8;
		d->ended = true;
	} else if (d->began) {
		d->done += *n;
	}
	d->began = true;
	return 0;
}

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

/* Values that lie in the file of fd at `from` go behind those that are kept, in order. */
static bool keep_turned(struct waiting *w, int fd, uint64_t from,
			const struct nn_npy_header *header, uint64_t *at)
{
	off_t end = lseek(w->kept, 0, SEEK_CUR);

	*at = (uint64_t)end | NN_ST_KEPT;
	return end > 0 && nn_turn_file(fd, from, header, w->kept);
}

/* As leave_member; whatever fails, also for want of room in TMPDIR, it is read as a whole. */
static int keep_member(struct waiting *w, const struct nn_zip_member *m, const char *place,
		       struct nn_st_tensor *tensor, uint64_t *at, struct nn_error *err)
{
	struct nn_error why;
	const struct nn_archive *archive = nn_module_open("archive", &why);
	struct deflated *d = nn_alloc(1, sizeof *d, err);
	struct nn_archive_source source = { next_part, d, place };
	unsigned char begin[NN_NPY_MOST_HEADER];
	struct nn_npy_header header;
	void *stream = NULL;
	size_t skip;
	off_t from = 0;
	int status = d ? 0 : -1;

	if (d)
		*d = (struct deflated){ .w = w, .m = m };
	if (d && archive && m->size / DEFLATE_RATIO <= m->packed &&
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
	if (check_name(m, w->file, err) < 0)
		return -1;
	if ((status = leave_member(w, m, place, tensor, &w->at[i], err)) < 0)
		return -1;
	if (status == 1) {
		w->st->names[i] = nn_strndup(m->name, m->name_length - strlen(SUFFIX), err);
		return (tensor->name = w->st->names[i]) ? 0 : -1;
	}
	if (nn_block_reserve(&packed, m->packed + 1, err) < 0)
		return nn_fail_at(err, "%s", place);
	m->data = packed.data;
	status = nn_read_at(w->fd, packed.data, m->packed, m->at)
			 ? read_member(m, w->file, &w->st->names[i], tensor, &w->st->arrays[i], err)
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
	if (sort_members(w->st, w->file, err) < 0)
		return -1;
	set_places(w);
	return 0;
}

/* 1: *result has all, of which large arrays wait in the file; 0: it has to be read as a whole. */
static int read_later(struct nn_st **result, struct nn_input *input, uint64_t beyond,
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
	status = at > 0 ? 0
			: nn_zip_list_file(w.fd, (uint64_t)left, &directory, &members, &n, err);
	if (status < 0)
		nn_fail_at(err, "%s", w.file);
	for (size_t i = 0; status == 1 && i < n; i++)
		bytes += members[i].size;
	if (status == 1 && bytes <= beyond)
		status = 0;
	if (status == 1 && (!(w.st = nn_alloc(1, sizeof *w.st, err)) ||
			    read_places(&w, members, n, err) < 0 ||
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
	int status = part->later && !part->most ? read_later(st, input, part->beyond, err) : 0;

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
