/*
 * Members of a tar as they come: POSIX ustar and pax, with GNU's long names and large sizes.
 *
 * Several may follow each other. Only names and sizes are taken from headers, whose checksums are
 * verified; a tar without the zeros at its end was cut.
 */
#include <inttypes.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "base/number.h"
#include "file/members/members-inside.h"

#define BLOCK ((size_t)512)
#define MOST_EXTENSION 65536 /* bytes of a long name, or of pax records */

struct header {
	const char *name, *size, *sum, *prefix;
	char type;
	bool ustar;
};

static struct header fields(const unsigned char *block)
{
	const char *b = (const char *)block;

	return (struct header){ b,       b + 124, b + 148,
				b + 345, b[156],  memcmp(b + 257, "ustar", 6) == 0 };
}

/* Octal digits between blanks, or GNU's binary number; -1: neither. */
static int64_t number(const char *field, size_t n)
{
	int64_t value = 0;
	size_t i = 0;

	if ((field[0] & 0xff) == 0x80) {
		for (i = 1; i < n; i++) {
			if (value >> 54)
				return -1;
			value = value << 8 | (field[i] & 0xff);
		}
		return value;
	}
	while (i < n && field[i] == ' ')
		i++;
	for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
		value = value << 3 | (field[i] - '0');
	return i < n && field[i] && field[i] != ' ' ? -1 : value;
}

static bool checksum_holds(const unsigned char *block, int64_t wanted)
{
	int64_t sum = 8 * ' ';

	for (size_t i = 0; i < BLOCK; i++)
		sum += i < 148 || i >= 156 ? block[i] : 0;
	return sum == wanted;
}

static bool is_zero(const unsigned char *block)
{
	for (size_t i = 0; i < BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

/* The next header; *zeros: some were in front of it. 1, 0 at the end, -1. */
static int next_header(struct nn_members *m, unsigned char *block, bool *zeros,
		       struct nn_error *err)
{
	const char *file = nn_input_name(m->input);
	size_t got;

	do {
		if (nn_input_read(m->input, block, BLOCK, &got, err) < 0)
			return -1;
		if (got == 0)
			return 0;
		if (got < BLOCK)
			return nn_fail(err, NN_EFORMAT, "%s: the tar ends early, in a header",
				       file);
		m->place += BLOCK;
		*zeros = is_zero(block) || *zeros;
	} while (is_zero(block));
	if (!checksum_holds(block, number(fields(block).sum, 8)))
		return nn_fail(err, NN_EFORMAT,
			       "%s: the tar is damaged: no header at byte %" PRIu64, file,
			       m->place - BLOCK);
	return 1;
}

/* Leave out what is left of a member and fills its last block. */
static int skip(struct nn_members *m, uint64_t n, struct nn_error *err)
{
	unsigned char piece[16 * BLOCK];

	m->place += n;
	if (nn_input_left(m->input) >= 0)
		return nn_input_skip(m->input, (size_t)n, err);
	while (n > 0) {
		size_t take = n < sizeof piece ? (size_t)n : sizeof piece, got;

		if (nn_input_read(m->input, piece, take, &got, err) < 0)
			return -1;
		if (got < take)
			return nn_fail(err, NN_EFORMAT, "%s: the tar ends early, in a member",
				       nn_input_name(m->input));
		n -= take;
	}
	return 0;
}

static uint64_t padding(uint64_t size)
{
	return (BLOCK - size % BLOCK) % BLOCK;
}

static int read_extension(struct nn_members *m, int64_t size, struct nn_block *block,
			  struct nn_error *err)
{
	if (size > MOST_EXTENSION)
		return nn_fail(err, NN_EFORMAT,
			       "%s: the tar has a header of %" PRId64
			       " bytes, expected at most %d (a fixed limit)",
			       nn_input_name(m->input), size, MOST_EXTENSION);
	if (nn_input_load(m->input, block, 0, (size_t)size, "the tar", err) < 0)
		return -1;
	m->place += (uint64_t)size;
	return skip(m, padding((uint64_t)size), err);
}

static void set_name(struct nn_members *m, const char *name, size_t n)
{
	nn_text_clear(&m->name);
	nn_text_add_bytes(&m->name, name, strnlen(name, n));
}

/* Records `LENGTH KEY=VALUE\n` of pax: path and size count. */
static int take_records(struct nn_members *m, const char *text, size_t n, struct nn_error *err)
{
	while (n > 0) {
		const char *blank = memchr(text, ' ', n), *equals;
		int64_t length = 0;
		size_t digits = blank ? (size_t)(blank - text) : 0, key;

		if (!digits || !nn_parse_i64(text, digits, &length) || length < 0 ||
		    (uint64_t)length > n || (uint64_t)length < digits + 2 ||
		    !(equals = memchr(blank, '=', (size_t)length - digits)))
			return nn_fail(err, NN_EFORMAT, "%s: the tar has damaged pax records",
				       nn_input_name(m->input));
		key = (size_t)(equals - blank - 1);
		if (key == 4 && memcmp(blank + 1, "path", 4) == 0)
			set_name(m, equals + 1, (size_t)(text + length - 1 - (equals + 1)));
		if (key == 4 && memcmp(blank + 1, "size", 4) == 0 &&
		    (!nn_parse_i64(equals + 1, (size_t)(text + length - 1 - (equals + 1)),
				   &m->size) ||
		     m->size < 0))
			return nn_fail(err, NN_EFORMAT, "%s: the tar has damaged pax records",
				       nn_input_name(m->input));
		text += length;
		n -= (size_t)length;
	}
	return 0;
}

/* A header that says something of the next one. */
static int take_extension(struct nn_members *m, char type, int64_t size, struct nn_error *err)
{
	struct nn_block block = { 0 };
	int status = read_extension(m, size, &block, err);

	if (status == 0 && type == 'x')
		status = take_records(m, block.data, (size_t)size, err);
	else if (status == 0 && type == 'L')
		set_name(m, block.data, (size_t)size);
	nn_block_free(&block);
	return status;
}

static bool has_dots(const char *name)
{
	for (const char *at = name; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
			return true;
	}
	return false;
}

/* Does it, or a folder that it lies in, begin with a point? Of a folder they are left out, too. */
static bool is_hidden(const char *name)
{
	for (const char *at = name; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' && at[1] != '/' && at[1] && !(at[1] == '.' && at[2] == '/'))
			return true;
	}
	return false;
}

/* The name that counts: of a header before, else of this one, its prefix in front. */
static int take_name(struct nn_members *m, const struct header *h, struct nn_error *err)
{
	if (!m->name.length) {
		if (h->ustar && h->prefix[0]) {
			nn_text_add_bytes(&m->name, h->prefix, strnlen(h->prefix, 155));
			nn_text_add(&m->name, "/");
		}
		nn_text_add_bytes(&m->name, h->name, strnlen(h->name, 100));
	}
	nn_text_add(&m->name, "");
	if (m->name.failed)
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for a name",
			       nn_input_name(m->input));
	return 0;
}

static int check_member(struct nn_members *m, char type, int64_t size, struct nn_error *err)
{
	const char *file = nn_input_name(m->input);
	char quoted[NN_QUOTED], said[NN_LIMIT_TEXT];

	nn_quote(quoted, m->name.data, m->name.length);
	if (has_dots(m->name.data))
		return nn_fail(err, NN_EFORMAT, "%s: member %s has .. in its name", file, quoted);
	if (type == '1' || type == '2')
		return nn_fail(err, NN_EFORMAT, "%s: member %s is a link, expected a file", file,
			       quoted);
	if (type != '0' && type != '\0' && type != '7')
		return nn_fail(err, NN_EFORMAT, "%s: member %s is not a regular file", file,
			       quoted);
	if ((uint64_t)size > nn_limit(NN_LIMIT_MEMBER))
		return nn_fail(err, NN_EFORMAT,
			       "%s: member %s has %" PRId64 " bytes, expected at most %s", file,
			       quoted, size, nn_limit_said(NN_LIMIT_MEMBER, (uint64_t)size, said));
	return 0;
}

/* The bytes of a member whose header was read. 1, 0: it is not wanted, -1. */
static int take_member(struct nn_members *m, const struct header *h, int64_t size,
		       struct nn_member *member, struct nn_error *err)
{
	char what[NN_QUOTED + 10] = "member ";
	uint64_t left;

	if (take_name(m, h, err) < 0)
		return -1;
	left = h->type == '1' || h->type == '2' ? 0 : (uint64_t)size;
	if (h->type == '5' || is_hidden(m->name.data) || !m->wanted(m->name.data))
		return skip(m, left + padding(left), err);
	if (check_member(m, h->type, size, err) < 0)
		return -1;
	nn_quote(what + 7, m->name.data, m->name.length);
	if (nn_input_load(m->input, &member->bytes, 0, (size_t)size, what, err) < 0)
		return -1;
	member->at = m->place;
	m->place += (uint64_t)size;
	member->name = m->name.data;
	member->n = (size_t)size;
	return skip(m, padding((uint64_t)size), err) < 0 ? -1 : 1;
}

int nn_members_next_tar(struct nn_members *m, struct nn_member *member, struct nn_error *err)
{
	unsigned char block[BLOCK];
	bool zeros = false;
	int got;

	nn_text_clear(&m->name);
	m->size = -1;
	while ((got = next_header(m, block, &zeros, err)) == 1) {
		struct header h = fields(block);
		int64_t size = m->size >= 0 ? m->size : number(h.size, 12);

		if (size < 0 || size > INT64_MAX / 2)
			return nn_fail(err, NN_EFORMAT,
				       "%s: the tar is damaged: no size at byte %" PRIu64,
				       nn_input_name(m->input), m->place - BLOCK);
		if (h.type == 'x' || h.type == 'L' || h.type == 'g' || h.type == 'K') {
			if (take_extension(m, h.type, size, err) < 0)
				return -1;
			continue;
		}
		got = take_member(m, &h, size, member, err);
		if (got)
			return got;
		nn_text_clear(&m->name);
		m->size = -1;
		zeros = false;
	}
	if (got == 0 && !zeros)
		return nn_fail(err, NN_EFORMAT,
			       "%s: the tar ends early, without the zeros at its end",
			       nn_input_name(m->input));
	return got;
}
