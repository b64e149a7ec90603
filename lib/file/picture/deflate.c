/* Matches by a table of where three bytes were last, and the codes that need no table in the stream. */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "file/picture/deflate.h"

#define WINDOW 32768
#define LONGEST 258
#define SLOTS 32768

struct stream {
	unsigned char *to;
	size_t n;
	uint64_t held; /* bits that are no byte yet */
	int bits;
};

static void put_bits(struct stream *s, unsigned value, int bits)
{
	s->held |= (uint64_t)value << s->bits;
	for (s->bits += bits; s->bits >= 8; s->bits -= 8, s->held >>= 8)
		s->to[s->n++] = (unsigned char)s->held;
}

/* Codes of Huffman begin with their highest bit, all else with its lowest. */
static void put_code(struct stream *s, unsigned code, int bits)
{
	unsigned turned = 0;

	for (int i = 0; i < bits; i++)
		turned |= (code >> i & 1) << (bits - 1 - i);
	put_bits(s, turned, bits);
}

static void put_symbol(struct stream *s, unsigned symbol)
{
	if (symbol < 144)
		put_code(s, 0x30 + symbol, 8);
	else if (symbol < 256)
		put_code(s, 0x190 + symbol - 144, 9);
	else if (symbol < 280)
		put_code(s, symbol - 256, 7);
	else
		put_code(s, 0xc0 + symbol - 280, 8);
}

/*
 * Lengths and distances are a code and further bits. Both lists go on evenly: 2^group values a step (of lengths
 * four steps to each group, of distances two), after a first group of single ones.
 */
static void put_stepped(struct stream *s, unsigned value, int steps, unsigned first, int code_bits)
{
	unsigned base = 0, code = 0;
	int extra = 0;

	for (;; code++) {
		if (code >= 2u * (unsigned)steps && code % (unsigned)steps == 0)
			extra++;
		if (value < base + (1u << extra))
			break;
		base += 1u << extra;
	}
	if (code_bits)
		put_code(s, first + code, code_bits);
	else
		put_symbol(s, first + code);
	put_bits(s, value - base, extra);
}

static void put_match(struct stream *s, size_t length, size_t distance)
{
	if (length == LONGEST)
		put_symbol(s, 285);
	else
		put_stepped(s, (unsigned)length - 3, 4, 257, 0);
	put_stepped(s, (unsigned)distance - 1, 2, 0, 5);
}

static uint32_t adler32(const unsigned char *bytes, size_t n)
{
	uint32_t a = 1, b = 0;

	while (n > 0) {
		size_t part = n < 5552 ? n : 5552; /* as many as 32 bits hold */

		for (size_t i = 0; i < part; i++)
			b += a += bytes[i];
		a %= 65521;
		b %= 65521;
		bytes += part;
		n -= part;
	}
	return b << 16 | a;
}

static uint32_t slot_of(const unsigned char *at)
{
	return ((uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2]) * 2654435761u >> 17;
}

/* Bytes at `at` that are as those at `before`. */
static size_t match(const unsigned char *bytes, size_t before, size_t at, size_t n)
{
	size_t most = n - at < LONGEST ? n - at : LONGEST, length = 0;

	while (length < most && bytes[before + length] == bytes[at + length])
		length++;
	return length;
}

/* last[slot]: where three bytes were, + 1. */
static void put_all(struct stream *s, const unsigned char *bytes, size_t n, uint32_t *last)
{
	for (size_t i = 0, next; i < n; i = next) {
		size_t length = 0, distance = 0;

		if (n - i >= 3) {
			uint32_t slot = slot_of(bytes + i), before = last[slot];

			distance = i + 1 - before;
			if (before && distance <= WINDOW)
				length = match(bytes, before - 1, i, n);
		}
		next = i + (length >= 3 ? length : 1);
		if (length >= 3)
			put_match(s, length, distance);
		else
			put_symbol(s, bytes[i]);
		for (size_t k = i; k < next && n - k >= 3; k++)
			last[slot_of(bytes + k)] = (uint32_t)k + 1;
	}
}

size_t nn_deflate(const unsigned char *bytes, size_t n, unsigned char *out, struct nn_error *err)
{
	uint32_t *last = nn_alloc(SLOTS, sizeof *last, err), sum;
	struct stream s = { .to = out };

	if (!last)
		return 0;
	put_bits(&s, 0x0178, 16); /* deflate, a window of 32 KiB */
	put_bits(&s, 3, 3);       /* the last block, of fixed codes */
	put_all(&s, bytes, n, last);
	put_symbol(&s, 256);
	put_bits(&s, 0, (8 - s.bits) & 7);
	sum = adler32(bytes, n);
	for (int i = 24; i >= 0; i -= 8)
		put_bits(&s, sum >> i & 255, 8);
	nn_free(last);
	return s.n;
}
