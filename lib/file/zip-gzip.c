/* A deflated member of a zip file as gzip would have it. */
#include "base/descriptor.h"
#include "file/zip-gzip.h"

static void little_endian(unsigned char *bytes, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
}

int nn_zip_gzip_next(void *gzip, const unsigned char **bytes, size_t *n, struct nn_error *err)
{
	static const unsigned char header[10] = { 0x1f, 0x8b, 8 };
	struct nn_zip_gzip *d = gzip;
	size_t left = d->member->packed - d->done;

	*bytes = d->began ? d->part : header;
	*n = !d->began ? sizeof header : left < sizeof d->part ? left : sizeof d->part;
	if (d->began && left > 0 && !nn_read_at(d->fd, d->part, *n, d->member->at + d->done))
		return nn_fail(err, NN_EFAIL, "%s: cannot read", d->file);
	if (d->began && left == 0 && !d->ended) {
		little_endian(d->part, d->member->crc);
		little_endian(d->part + 4, (uint32_t)d->member->size);
		*n = 8;
		d->ended = true;
	} else if (d->began) {
		d->done += *n;
	}
	d->began = true;
	return 0;
}
