/*
 * The module nn-archive: gzip (RFC 1952) and deflate (RFC 1951) through zlib. CRC and length of
 * every gzip member are verified here: of zlib's time a tenth went there.
 */
#include "config.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "base/module.h"
#include "file/archive.h"

struct gzip {
	struct nn_archive_source source;
	z_stream z;
	uint32_t crc, length; /* of the member so far */
	unsigned char
		tail[8]; /* the last bytes that were taken: a member ends with its CRC and length */
	bool member;     /* inside a member */
	bool first;      /* no member was complete yet */
	bool ended;
};

static int gzip_open(void **stream, const struct nn_archive_source *source, struct nn_error *err)
{
	struct gzip *g = nn_alloc(1, sizeof *g, err);

	if (!g)
		return -1;
	g->source = *source;
	g->first = g->member = true;
	if (inflateInit2(&g->z, 16 + MAX_WBITS) != Z_OK) {
		nn_free(g);
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress",
			       source->name);
	}
	inflateValidate(&g->z, 0);
	*stream = g;
	return 0;
}

static void gzip_close(void *stream)
{
	struct gzip *g = stream;

	if (!g)
		return;
	inflateEnd(&g->z);
	nn_free(g);
}

/* Have input to work on, or know that there is none. */
static int gzip_feed(struct gzip *g, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t n;

	if (g->z.avail_in)
		return 0;
	if (g->source.next(g->source.arg, &bytes, &n, err) < 0)
		return -1;
	g->z.next_in = (unsigned char *)bytes; /* zlib only reads */
	g->z.avail_in = (unsigned)n;
	if (n == 0 && g->member)
		return nn_fail(err, NN_EFORMAT, "%s: the gzip data end early", g->source.name);
	g->ended = n == 0;
	return 0;
}

/* Between members: another one, the end, or bytes that are neither. */
static int gzip_next_member(struct gzip *g, struct nn_error *err)
{
	if (gzip_feed(g, err) < 0 || g->ended)
		return g->ended ? 0 : -1;
	if (*g->z.next_in != 0x1f)
		return nn_fail(err, NN_EFORMAT, "%s: other bytes follow the gzip data",
			       g->source.name);
	inflateReset(&g->z);
	inflateValidate(&g->z, 0);
	g->crc = g->length = 0;
	g->member = true;
	g->first = false;
	return 0;
}

static void gzip_taken(struct gzip *g, const unsigned char *bytes, size_t n)
{
	size_t room = sizeof g->tail, fresh = n < room ? n : room;

	memmove(g->tail, g->tail + fresh, room - fresh);
	memcpy(g->tail + room - fresh, bytes + n - fresh, fresh);
}

static uint32_t little_endian(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int gzip_verify(struct gzip *g, struct nn_error *err)
{
	const char *what = little_endian(g->tail) != g->crc          ? "data"
			   : little_endian(g->tail + 4) != g->length ? "length"
								     : NULL;

	g->member = false;
	return what ? nn_fail(err, NN_EFORMAT, "%s: the gzip data are damaged (incorrect %s check)",
			      g->source.name, what)
		    : 0;
}

static int gzip_inflate(struct gzip *g, struct nn_error *err)
{
	const unsigned char *in = g->z.next_in, *out = g->z.next_out;
	int status = inflate(&g->z, Z_NO_FLUSH);
	size_t n = (size_t)(g->z.next_out - out);

	gzip_taken(g, in, (size_t)(g->z.next_in - in));
	g->crc = nn_crc32(g->crc, out, n);
	g->length += (uint32_t)n;
	if (status == Z_STREAM_END) {
		return gzip_verify(g, err);
	} else if (status == Z_MEM_ERROR) {
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress",
			       g->source.name);
	} else if (status != Z_OK && status != Z_BUF_ERROR) {
		if (!g->first && g->z.total_out == 0)
			return nn_fail(err, NN_EFORMAT, "%s: other bytes follow the gzip data",
				       g->source.name);
		return nn_fail(err, NN_EFORMAT, "%s: the gzip data are damaged (%s)",
			       g->source.name, g->z.msg ? g->z.msg : "no reason given");
	}
	return 0;
}

static int gzip_read(void *stream, void *bytes, size_t n, size_t *got, struct nn_error *err)
{
	struct gzip *g = stream;

	*got = 0;
	if (n > UINT_MAX)
		n = UINT_MAX;
	g->z.next_out = bytes;
	g->z.avail_out = (unsigned)n;
	while (!g->ended && g->z.avail_out == n) {
		if (g->member ? gzip_feed(g, err) < 0 : gzip_next_member(g, err) < 0)
			return -1;
		if (g->member && gzip_inflate(g, err) < 0)
			return -1;
	}
	*got = n - g->z.avail_out;
	return 0;
}

/* zlib counts what is left in 32 bits. */
static int inflate_all(z_stream *z, size_t n, size_t size)
{
	int status = Z_OK;

	while (status == Z_OK) {
		z->avail_in = (unsigned)(n < UINT_MAX ? n : UINT_MAX);
		z->avail_out = (unsigned)(size < UINT_MAX ? size : UINT_MAX);
		n -= z->avail_in;
		size -= z->avail_out;
		status = inflate(z, Z_NO_FLUSH);
		n += z->avail_in;
		size += z->avail_out;
	}
	return status == Z_STREAM_END && (n || size) ? Z_DATA_ERROR : status;
}

static int damaged(const char *name, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "%s: its deflated data are damaged", name);
}

static int inflate_raw(const void *bytes, size_t n, void *to, size_t size, const char *name,
		       struct nn_error *err)
{
	z_stream z = { .next_in = (unsigned char *)bytes,
		       .next_out = to }; /* zlib only reads the one */
	int status = inflateInit2(&z, -MAX_WBITS);

	if (status == Z_OK) {
		status = inflate_all(&z, n, size);
		inflateEnd(&z);
	}
	if (status == Z_MEM_ERROR)
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress", name);
	return status == Z_STREAM_END ? 0 : damaged(name, err);
}

static int inflate_begin(const void *bytes, size_t n, void *to, size_t size, const char *name,
			 struct nn_error *err)
{
	z_stream z = { .next_in = (unsigned char *)bytes,
		       .avail_in = (unsigned)(n < UINT_MAX ? n : UINT_MAX),
		       .next_out = to,
		       .avail_out = (unsigned)size };
	int status = inflateInit2(&z, -MAX_WBITS);

	while (status == Z_OK && z.avail_out > 0)
		status = inflate(&z, Z_NO_FLUSH);
	inflateEnd(&z);
	if (status == Z_MEM_ERROR)
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress", name);
	return z.avail_out == 0 ? 0 : damaged(name, err);
}

static const struct nn_archive table = { gzip_open, gzip_read, gzip_close, inflate_raw,
					 inflate_begin };

const struct nn_module nn_module = { NN_MODULE_ABI, "archive", &table };
