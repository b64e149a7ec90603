/* PNG: rows filtered by what makes their values smallest, deflated into one chunk. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "file/picture/deflate.h"
#include "file/picture/write.h"

void nn_mask_colour(unsigned c, unsigned char rgb[3])
{
	rgb[0] = rgb[1] = rgb[2] = 0;
	for (int bit = 7; c && bit >= 0; bit--, c >>= 3)
		for (int k = 0; k < 3; k++)
			rgb[k] |= (unsigned char)((c >> k & 1) << bit);
}

static void put_u32(unsigned char *to, size_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void add_chunk(struct nn_text *text, const char *kind, const unsigned char *bytes, size_t n)
{
	unsigned char number[4];

	put_u32(number, n);
	nn_text_add_bytes(text, (const char *)number, 4);
	nn_text_add_bytes(text, kind, 4);
	nn_text_add_bytes(text, (const char *)bytes, n);
	put_u32(number, nn_crc32(nn_crc32(0, kind, 4), bytes, n));
	nn_text_add_bytes(text, (const char *)number, 4);
}

/* ---- filters: a byte less what it is expected to be from those to its left, above and between ---- */

static unsigned char paeth(int left, int above, int between)
{
	int p = left + above - between, a = abs(p - left), b = abs(p - above), c = abs(p - between);

	return (unsigned char)(a <= b && a <= c ? left : b <= c ? above : between);
}

static unsigned char expected(int filter, unsigned char left, unsigned char above, unsigned char between)
{
	switch (filter) {
	case 1:
		return left;
	case 2:
		return above;
	case 4:
		return paeth(left, above, between);
	default:
		return 0;
	}
}

/* A row behind the number of its filter; the sum of its values, as signed ones. */
static size_t filter_row(int filter, const unsigned char *row, const unsigned char *above, size_t n,
			 size_t channels, unsigned char *to)
{
	size_t sum = 0;

	to[0] = (unsigned char)filter;
	for (size_t i = 0; i < n; i++) {
		unsigned char left = i < channels ? 0 : row[i - channels], up = above ? above[i] : 0,
			      between = i < channels || !above ? 0 : above[i - channels],
			      v = (unsigned char)(row[i] - expected(filter, left, up, between));

		to[1 + i] = v;
		sum += v < 128 ? v : 256u - v;
	}
	return sum;
}

/* Numbers of colours are no quantities: they stay as they are. */
static void filter_all(const struct nn_drawing *d, unsigned char *to)
{
	static const int filters[] = { 0, 1, 2, 4 };
	size_t n = d->shape.width * d->shape.channels;

	for (size_t y = 0; y < d->shape.height; y++, to += 1 + n) {
		const unsigned char *row = d->pixels + y * n, *above = y ? row - n : NULL;
		size_t least = SIZE_MAX;
		int best = 0;

		for (int i = 0; !d->palette && i < 4; i++) {
			size_t sum = filter_row(filters[i], row, above, n, d->shape.channels, to);

			if (sum < least) {
				least = sum;
				best = filters[i];
			}
		}
		filter_row(best, row, above, n, d->shape.channels, to);
	}
}

static int add_pixels(const struct nn_drawing *d, struct nn_text *text, struct nn_error *err)
{
	size_t n = d->shape.height * (1 + d->shape.width * d->shape.channels), packed = 0;
	unsigned char *rows = nn_alloc(n, 1, err),
		      *out = rows ? nn_alloc(NN_DEFLATE_MOST(n), 1, err) : NULL;

	if (out) {
		filter_all(d, rows);
		packed = nn_deflate(rows, n, out, err);
		add_chunk(text, "IDAT", out, packed);
	}
	nn_free(rows);
	nn_free(out);
	return packed ? 0 : -1;
}

int nn_png_write(const struct nn_drawing *d, struct nn_text *text, struct nn_error *err)
{
	static const unsigned char kinds[] = { 0, 0, 4, 2, 6 };
	unsigned char header[13] = { 0 };

	put_u32(header, d->shape.width);
	put_u32(header + 4, d->shape.height);
	header[8] = 8; /* bits of a value */
	header[9] = d->palette ? 3 : kinds[d->shape.channels];
	nn_text_clear(text);
	nn_text_add_bytes(text, "\x89PNG\r\n\x1a\n", 8);
	add_chunk(text, "IHDR", header, sizeof header);
	if (d->palette)
		add_chunk(text, "PLTE", d->palette, 3 * d->n_colours);
	if (add_pixels(d, text, err) < 0)
		return -1;
	add_chunk(text, "IEND", (const unsigned char *)"", 0);
	return text->failed ? nn_fail(err, NN_ENOMEM, "cannot allocate memory for a picture") : 0;
}
