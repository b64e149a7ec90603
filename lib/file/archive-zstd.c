/* The module nn-zstd: Zstandard frames (RFC 8878) through libzstd, which verifies their checksums.
 */
#include "config.h"

#include <stdbool.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/module.h"
#include "file/archive.h"

#define MAGIC 5 /* bytes that show whether a frame begins */

struct zstd {
	struct nn_archive_source source;
	ZSTD_DStream *z;
	ZSTD_inBuffer in;
	size_t taken; /* bytes of the frame so far */
	bool inside;  /* a frame has begun and not ended */
	bool later;   /* a frame was complete */
	bool ended;
};

static int zstd_open(void **stream, const struct nn_archive_source *source, struct nn_error *err)
{
	struct zstd *d = nn_alloc(1, sizeof *d, err);

	if (!d)
		return -1;
	d->source = *source;
	d->inside = true;
	d->z = ZSTD_createDStream(); /* its default limit: windows of 128 MiB */
	if (!d->z) {
		nn_free(d);
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress",
			       source->name);
	}
	*stream = d;
	return 0;
}

static void zstd_close(void *stream)
{
	struct zstd *d = stream;

	if (!d)
		return;
	ZSTD_freeDStream(d->z);
	nn_free(d);
}

static int zstd_failed(const struct zstd *d, size_t status, struct nn_error *err)
{
	const char *name = d->source.name;

	switch (ZSTD_getErrorCode(status)) {
	case ZSTD_error_memory_allocation:
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory to decompress", name);
	case ZSTD_error_frameParameter_windowTooLarge:
		return nn_fail(err, NN_EFORMAT,
			       "%s: the zstd data want a window of over 128 MiB (zstd --long)",
			       name);
	case ZSTD_error_dictionary_wrong:
		return nn_fail(err, NN_EFORMAT, "%s: the zstd data want a dictionary", name);
	case ZSTD_error_prefix_unknown:
		if (d->later)
			return nn_fail(err, NN_EFORMAT, "%s: other bytes follow the zstd data",
				       name);
		/* fall through */
	default:
		return nn_fail(err, NN_EFORMAT, "%s: the zstd data are damaged (%s)", name,
			       ZSTD_getErrorName(status));
	}
}

static int zstd_feed(struct zstd *d, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t n;

	if (d->in.pos < d->in.size)
		return 0;
	if (d->source.next(d->source.arg, &bytes, &n, err) < 0)
		return -1;
	d->in = (ZSTD_inBuffer){ bytes, n, 0 };
	d->ended = n == 0;
	if (!d->ended || !d->inside)
		return 0;
	return nn_fail(err, NN_EFORMAT,
		       d->later && d->taken < MAGIC ? "%s: other bytes follow the zstd data"
						    : "%s: the zstd data end early",
		       d->source.name);
}

/* What the decoder still holds comes out before it is fed again. */
static int zstd_read(void *stream, void *bytes, size_t n, size_t *got, struct nn_error *err)
{
	struct zstd *d = stream;
	ZSTD_outBuffer out = { bytes, n, 0 };
	bool flush = d->inside;

	*got = 0;
	while (!d->ended && out.pos == 0) {
		size_t status, before = d->in.pos;

		if (!flush && zstd_feed(d, err) < 0)
			return -1;
		flush = false;
		if (d->ended || (d->in.pos == d->in.size && !d->in.src))
			continue;
		status = ZSTD_decompressStream(d->z, &out, &d->in);
		if (ZSTD_isError(status))
			return zstd_failed(d, status, err);
		d->taken = status ? d->taken + d->in.pos - before : 0;
		d->inside = status != 0;
		d->later = d->later || status == 0;
	}
	*got = out.pos;
	return 0;
}

static const struct nn_archive table = { .open = zstd_open,
					 .read = zstd_read,
					 .close = zstd_close };

const struct nn_module nn_module = { NN_MODULE_ABI, "zstd", &table };
