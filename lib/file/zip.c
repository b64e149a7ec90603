/*
 * The directory of a zip file (PKWARE's APPNOTE): nothing in it is believed before it was compared
 * with the file.
 *
 * A zip archive is read from memory or at its places, since its directory is at the end and numpy
 * writes zip64 lengths. Only deflated members need the module nn-archive (inflate, checked against length and
 * CRC of the directory). A member's name may contain slashes: it is a name, never a path.
 */
#include <inttypes.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/text.h"
#include "file/zip.h"

#define LOCAL 30 /* bytes of the fixed part of each record */
#define CENTRAL 46
#define END 22
#define LOCATOR 20
#define END_64 56

/* The end of a zip file, or all of it: bytes of places [from, n); others are read. */
struct view {
	const unsigned char *bytes;
	uint64_t from, n;
	int fd; /* -1: from is 0 */
};

static const unsigned char *at(const struct view *v, uint64_t place)
{
	return v->bytes + (place - v->from);
}

static uint64_t number(const unsigned char *b, int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | b[n];
	return v;
}

static bool is(const unsigned char *b, const char *signature)
{
	return memcmp(b, signature, 4) == 0;
}

/* Where the central directory lies. */
struct directory {
	uint64_t at, size, n;
};

/* Behind the record at the end may be a comment. */
static const unsigned char *find_end(const struct view *v, uint64_t *end)
{
	for (size_t comment = 0; comment <= 65535 && comment + END <= v->n - v->from; comment++) {
		const unsigned char *b = at(v, v->n - END - comment);

		*end = v->n - END - comment;
		if (is(b, "PK\5\6") && number(b + 20, 2) == comment)
			return b;
	}
	return NULL;
}

static int find_directory(const struct view *v, struct directory *d, struct nn_error *err)
{
	uint64_t disks, end;
	const unsigned char *b = find_end(v, &end);

	if (!b)
		return nn_fail(err, NN_EFORMAT,
			       "the zip data end early: their directory is missing");
	disks = number(b + 4, 2) | number(b + 6, 2);
	*d = (struct directory){ number(b + 16, 4), number(b + 12, 4), number(b + 10, 2) };
	if (end - v->from >= LOCATOR && is(b - LOCATOR, "PK\6\7")) {
		uint64_t far = number(b - LOCATOR + 8, 8);

		if (end < LOCATOR + END_64 || far > end - LOCATOR - END_64 || far < v->from ||
		    !is(at(v, far), "PK\6\6"))
			return nn_fail(err, NN_EFORMAT,
				       "the zip directory's zip64 record is missing");
		b = at(v, far);
		end = far;
		disks = number(b + 16, 4) | number(b + 20, 4);
		*d = (struct directory){ number(b + 48, 8), number(b + 40, 8), number(b + 32, 8) };
	}
	if (disks)
		return nn_fail(err, NN_EFORMAT,
			       "is one of several zip files, expected a whole one");
	if (d->at > end || d->size != end - d->at || d->n > d->size / CENTRAL)
		return nn_fail(err, NN_EFORMAT,
			       "the zip directory of %" PRIu64
			       " members does not lie where the file says",
			       d->n);
	return 0;
}

/* What did not fit into 32 bits stands, in this order, in a field of the extra bytes. */
static bool take_zip64(const unsigned char *extra, size_t n, uint64_t *const values[3])
{
	bool wanted = false;

	for (int i = 0; i < 3; i++)
		wanted |= *values[i] == NN_ZIP_FAR;
	while (wanted && n >= 4) {
		size_t length = (size_t)number(extra + 2, 2);

		if (length > n - 4)
			return false;
		if (number(extra, 2) == 1) {
			const unsigned char *at = extra + 4, *end = at + length;

			for (int i = 0; i < 3; i++)
				if (*values[i] == NN_ZIP_FAR) {
					if (end - at < 8)
						return false;
					*values[i] = number(at, 8);
					at += 8;
				}
			return true;
		}
		extra += 4 + length;
		n -= 4 + length;
	}
	return !wanted;
}

/* Bytes before the directory. */
static bool get(const struct view *v, uint64_t place, void *bytes, size_t n)
{
	if (place < v->from)
		return nn_read_at(v->fd, bytes, n, place);
	memcpy(bytes, at(v, place), n);
	return true;
}

static bool has_name(const struct view *v, uint64_t place, const struct nn_zip_member *m)
{
	char part[256];

	for (size_t done = 0, n; done < m->name_length; done += n) {
		n = m->name_length - done < sizeof part ? m->name_length - done : sizeof part;
		if (!get(v, place + done, part, n) || memcmp(part, m->name + done, n) != 0)
			return false;
	}
	return true;
}

/*
 * The record before a member's data repeats its name; *used counts what members take of the file.
 */
static int find_data(const struct view *v, uint64_t end, uint64_t place, struct nn_zip_member *m,
		     uint64_t *used, struct nn_error *err)
{
	unsigned char local[LOCAL];
	char quoted[NN_QUOTED];
	uint64_t head;

	nn_quote(quoted, m->name, m->name_length);
	if (end < LOCAL || place > end - LOCAL || !get(v, place, local, LOCAL) ||
	    !is(local, "PK\3\4"))
		return nn_fail(err, NN_EFORMAT,
			       "member '%s' does not lie where the zip directory says", quoted);
	head = LOCAL + number(local + 26, 2) + number(local + 28, 2);
	if (head > end - place || m->packed > end - place - head)
		return nn_fail(err, NN_EFORMAT, "member '%s' of %zu byte%s ends early", quoted,
			       m->packed, nn_s(m->packed));
	if (number(local + 26, 2) != m->name_length || !has_name(v, place + LOCAL, m))
		return nn_fail(err, NN_EFORMAT, "member '%s' has another name before its data",
			       quoted);
	m->at = place + head;
	m->data = v->fd < 0 ? at(v, m->at) : NULL;
	*used += head + m->packed;
	return *used > end ? nn_fail(err, NN_EFORMAT, "member '%s' overlaps another one", quoted)
			   : 0;
}

/* The member whose record is at *from, which moves on. `end`: where the directory begins. */
static int take_member(const struct view *v, uint64_t end, uint64_t *from, uint64_t stop,
		       struct nn_zip_member *m, uint64_t *used, struct nn_error *err)
{
	const unsigned char *b = at(v, *from);
	uint64_t size, packed, place, rest;
	char quoted[NN_QUOTED];

	if (stop - *from < CENTRAL || !is(b, "PK\1\2"))
		return nn_fail(err, NN_EFORMAT, "the zip directory is damaged");
	rest = number(b + 28, 2) + number(b + 30, 2) + number(b + 32, 2);
	if (rest > stop - *from - CENTRAL)
		return nn_fail(err, NN_EFORMAT, "the zip directory is damaged");
	*m = (struct nn_zip_member){ .name = (const char *)b + CENTRAL,
				     .name_length = (size_t)number(b + 28, 2),
				     .method = (int)number(b + 10, 2),
				     .crc = (uint32_t)number(b + 16, 4) };
	nn_quote(quoted, m->name, m->name_length);
	packed = number(b + 20, 4);
	size = number(b + 24, 4);
	place = number(b + 42, 4);
	if (!take_zip64(b + CENTRAL + m->name_length, (size_t)number(b + 30, 2),
			(uint64_t *const[]){ &size, &packed, &place }))
		return nn_fail(err, NN_EFORMAT, "member '%s': its zip64 lengths are missing",
			       quoted);
	if (number(b + 8, 2) & 1)
		return nn_fail(err, NN_EFORMAT, "member '%s' is encrypted", quoted);
	if (m->method != 0 && m->method != 8)
		return nn_fail(
			err, NN_EFORMAT,
			"member '%s' is compressed by method %d, expected stored or deflated",
			quoted, m->method);
	if (size > SIZE_MAX / 2 || packed > SIZE_MAX / 2 || (m->method == 0 && packed != size))
		return nn_fail(err, NN_EFORMAT,
			       "member '%s': found %" PRIu64 " byte%s for %" PRIu64, quoted, packed,
			       nn_s(packed), size);
	m->packed = (size_t)packed;
	m->size = (size_t)size;
	*from += CENTRAL + rest;
	return find_data(v, end, place, m, used, err);
}

static int list_members(const struct view *v, const struct directory *d,
			struct nn_zip_member **members, size_t *n_members, struct nn_error *err)
{
	struct nn_zip_member *list = nn_alloc((size_t)d->n, sizeof *list, err);
	uint64_t from = d->at, used = 0;

	if (!list)
		return -1;
	for (size_t i = 0; i < d->n; i++)
		if (take_member(v, d->at, &from, d->at + d->size, &list[i], &used, err) < 0) {
			nn_free(list);
			return -1;
		}
	if (from != d->at + d->size) {
		nn_free(list);
		return nn_fail(err, NN_EFORMAT, "other bytes follow the zip directory");
	}
	*members = list;
	*n_members = (size_t)d->n;
	return 0;
}

int nn_zip_list(const unsigned char *bytes, size_t n, struct nn_zip_member **members,
		size_t *n_members, struct nn_error *err)
{
	const struct view v = { bytes, 0, n, -1 };
	struct directory d = { 0 };

	return find_directory(&v, &d, err) < 0 ? -1
					       : list_members(&v, &d, members, n_members, err);
}

/* Bytes from place `from` on to the end. */
static int load_end(struct view *v, uint64_t from, struct nn_block *block, struct nn_error *err)
{
	if (nn_block_reserve(block, v->n - from + 1, err) < 0)
		return -1;
	if (!nn_read_at(v->fd, block->data, v->n - from, from))
		return nn_fail(err, NN_EFAIL, "cannot read the zip directory");
	v->bytes = block->data;
	v->from = from;
	return 0;
}

int nn_zip_list_file(int fd, uint64_t n, struct nn_block *block, struct nn_zip_member **members,
		     size_t *n_members, struct nn_error *err)
{
	const uint64_t tail = 65535 + END + LOCATOR + END_64;
	struct view v = { .n = n, .fd = fd };
	struct directory d = { 0 };

	if (load_end(&v, n > tail ? n - tail : 0, block, err) < 0 ||
	    find_directory(&v, &d, err) < 0)
		return -1;
	if (n - d.at > NN_ZIP_MOST_DIRECTORY)
		return 0;
	if (d.at < v.from && load_end(&v, d.at, block, err) < 0)
		return -1;
	return list_members(&v, &d, members, n_members, err) < 0 ? -1 : 1;
}
