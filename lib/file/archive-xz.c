/* The module nn-xz: .xz files (The .xz File Format 1.1) through liblzma, which verifies their
 * checks. */
#include "config.h"

#include <lzma.h>
#include <stdbool.h>

#include "base/limit.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/text.h"
#include "file/archive.h"

struct xz {
	struct nn_archive_source source;
	lzma_stream z;
	bool member; /* inside a stream */
	bool later;  /* a stream was complete */
	bool ended;  /* the source has no more */
	size_t zeros; /* behind the last stream */
};

static int xz_open(void **stream, const struct nn_archive_source *source, struct nn_error *err)
{
	struct xz *x = nn_alloc(1, sizeof *x, err);

	if (!x)
		return -1;
	x->source = *source;
	x->member = true;
	x->z = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&x->z, nn_limit(NN_LIMIT_XZ_MEMORY), 0) != LZMA_OK) {
		nn_free(x);
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress",
			       source->name);
	}
	*stream = x;
	return 0;
}

static void xz_close(void *stream)
{
	struct xz *x = stream;

	if (!x)
		return;
	lzma_end(&x->z);
	nn_free(x);
}

static int xz_failed(const struct xz *x, lzma_ret status, struct nn_error *err)
{
	const char *name = x->source.name;
	char said[NN_LIMIT_TEXT];

	switch (status) {
	case LZMA_MEM_ERROR:
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress", name);
	case LZMA_MEMLIMIT_ERROR:
		return nn_fail(err, NN_EFORMAT,
			       "%s: the xz data want %llu MiB of memory, expected at most %s", name,
			       (unsigned long long)(lzma_memusage(&x->z) >> 20),
			       nn_limit_said(NN_LIMIT_XZ_MEMORY, lzma_memusage(&x->z), said));
	case LZMA_OPTIONS_ERROR:
		return nn_fail(err, NN_EFORMAT, "%s: the xz data use a filter that is not known",
			       name);
	default:
		if (status == LZMA_FORMAT_ERROR && x->later)
			return nn_fail(err, NN_EFORMAT, "%s: other bytes follow the xz data", name);
		return nn_fail(err, NN_EFORMAT, "%s: the xz data are damaged", name);
	}
}

/* Have input to work on, or know that there is none. */
static int xz_feed(struct xz *x, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t n;

	if (x->z.avail_in)
		return 0;
	if (x->source.next(x->source.arg, &bytes, &n, err) < 0)
		return -1;
	x->z.next_in = bytes;
	x->z.avail_in = n;
	x->ended = n == 0;
	if (x->ended && x->member)
		return nn_fail(err, NN_EFORMAT, "%s: the xz data end early", x->source.name);
	return 0;
}

/* Between streams: zeros that pad, another one, the end, or bytes that are neither. */
static int xz_next_member(struct xz *x, struct nn_error *err)
{
	if (xz_feed(x, err) < 0)
		return -1;
	for (; x->z.avail_in && *x->z.next_in == 0; x->zeros++) {
		x->z.next_in++;
		x->z.avail_in--;
	}
	if (!x->z.avail_in && !x->ended)
		return 0;
	if (!x->ended && *x->z.next_in != 0xfd)
		return nn_fail(err, NN_EFORMAT, "%s: other bytes follow the xz data",
			       x->source.name);
	if (x->zeros % 4)
		return nn_fail(err, NN_EFORMAT,
			       "%s: %zu zero%s follow the xz data, expected a multiple of 4",
			       x->source.name, x->zeros, nn_s(x->zeros));
	if (x->ended)
		return 0;
	x->zeros = 0;
	x->member = true;
	return lzma_stream_decoder(&x->z, nn_limit(NN_LIMIT_XZ_MEMORY), 0) == LZMA_OK
		       ? 0
		       : xz_failed(x, LZMA_MEM_ERROR, err);
}

static int xz_read(void *stream, void *bytes, size_t n, size_t *got, struct nn_error *err)
{
	struct xz *x = stream;

	*got = 0;
	x->z.next_out = bytes;
	x->z.avail_out = n;
	while (!x->ended && x->z.avail_out == n) {
		lzma_ret status;

		if (x->member ? xz_feed(x, err) < 0 : xz_next_member(x, err) < 0)
			return -1;
		if (!x->member || x->ended)
			continue;
		status = lzma_code(&x->z, LZMA_RUN);
		x->member = status != LZMA_STREAM_END;
		x->later = x->later || !x->member;
		if (x->member && status != LZMA_OK)
			return xz_failed(x, status, err);
	}
	*got = n - x->z.avail_out;
	return 0;
}

static const struct nn_archive table = { .open = xz_open, .read = xz_read, .close = xz_close };

const struct nn_module nn_module = { NN_MODULE_ABI, "xz", &table };
