/*
 * The directory of a zip file in memory (PKWARE's APPNOTE): nothing in it is believed before it was
 * compared with the file.
 *
 * A zip archive is read from memory, since its directory is at the end and numpy writes zip64
 * lengths. Only deflated members need the module nn-archive (inflate, checked against length and
 * CRC of the directory). A member's name may contain slashes: it is a name, never a path.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/zip.h"

#define LOCAL 30 /* bytes of the fixed part of each record */
#define CENTRAL 46
#define END 22
#define LOCATOR 20
#define END_64 56

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
static const unsigned char *find_end(const unsigned char *bytes, size_t n)
{
	for (size_t comment = 0; comment <= 65535 && comment + END <= n; comment++) {
		const unsigned char *b = bytes + n - END - comment;

		if (is(b, "PK\5\6") && number(b + 20, 2) == comment)
			return b;
	}
	return NULL;
}

static int find_directory(const unsigned char *bytes, size_t n, struct directory *d,
			  struct nn_error *err)
{
	const unsigned char *b = find_end(bytes, n);
	size_t end;
	uint64_t disks;

	if (!b)
		return nn_fail(err, NN_EFORMAT,
			       "the zip data end early: their directory is missing");
	end = (size_t)(b - bytes);
	disks = number(b + 4, 2) | number(b + 6, 2);
	*d = (struct directory){ number(b + 16, 4), number(b + 12, 4), number(b + 10, 2) };
	if (end >= LOCATOR && is(b - LOCATOR, "PK\6\7")) {
		uint64_t at = number(b - LOCATOR + 8, 8);

		if (end < LOCATOR + END_64 || at > end - LOCATOR - END_64 ||
		    !is(bytes + at, "PK\6\6"))
			return nn_fail(err, NN_EFORMAT,
				       "the zip directory's zip64 record is missing");
		b = bytes + at;
		end = (size_t)at;
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

/*
 * The record before a member's data repeats its name; *used counts what members take of the file.
 */
static int find_data(const unsigned char *bytes, uint64_t end, uint64_t at, struct nn_zip_member *m,
		     uint64_t *used, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	uint64_t head;

	nn_quote(quoted, m->name, m->name_length);
	if (end < LOCAL || at > end - LOCAL || !is(bytes + at, "PK\3\4"))
		return nn_fail(err, NN_EFORMAT,
			       "member '%s' does not lie where the zip directory says", quoted);
	head = LOCAL + number(bytes + at + 26, 2) + number(bytes + at + 28, 2);
	if (head > end - at || m->packed > end - at - head)
		return nn_fail(err, NN_EFORMAT, "member '%s' of %zu bytes ends early", quoted,
			       m->packed);
	if (number(bytes + at + 26, 2) != m->name_length ||
	    memcmp(bytes + at + LOCAL, m->name, m->name_length) != 0)
		return nn_fail(err, NN_EFORMAT, "member '%s' has another name before its data",
			       quoted);
	m->data = bytes + at + head;
	*used += head + m->packed;
	return *used > end ? nn_fail(err, NN_EFORMAT, "member '%s' overlaps another one", quoted)
			   : 0;
}

/* The member whose record is at *at, which moves on. `end`: where the directory begins. */
static int take_member(const unsigned char *bytes, uint64_t end, uint64_t *at, uint64_t stop,
		       struct nn_zip_member *m, uint64_t *used, struct nn_error *err)
{
	const unsigned char *b = bytes + *at;
	uint64_t size, packed, place, rest;
	char quoted[NN_QUOTED];

	if (stop - *at < CENTRAL || !is(b, "PK\1\2"))
		return nn_fail(err, NN_EFORMAT, "the zip directory is damaged");
	rest = number(b + 28, 2) + number(b + 30, 2) + number(b + 32, 2);
	if (rest > stop - *at - CENTRAL)
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
		return nn_fail(err, NN_EFORMAT, "member '%s': found %" PRIu64 " bytes for %" PRIu64,
			       quoted, packed, size);
	m->packed = (size_t)packed;
	m->size = (size_t)size;
	*at += CENTRAL + rest;
	return find_data(bytes, end, place, m, used, err);
}

int nn_zip_list(const unsigned char *bytes, size_t n, struct nn_zip_member **members,
		size_t *n_members, struct nn_error *err)
{
	struct nn_zip_member *list;
	struct directory d = { 0 };
	uint64_t at, used = 0;

	if (find_directory(bytes, n, &d, err) < 0)
		return -1;
	list = nn_alloc((size_t)d.n, sizeof *list, err);
	if (!list)
		return -1;
	at = d.at;
	for (size_t i = 0; i < d.n; i++)
		if (take_member(bytes, d.at, &at, d.at + d.size, &list[i], &used, err) < 0) {
			nn_free(list);
			return -1;
		}
	if (at != d.at + d.size) {
		nn_free(list);
		return nn_fail(err, NN_EFORMAT, "other bytes follow the zip directory");
	}
	*members = list;
	*n_members = (size_t)d.n;
	return 0;
}
