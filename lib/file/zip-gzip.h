/*
 * A deflated member of a zip file as gzip would have it, between a header and a checksum: a source
 * for a stream that decompresses.
 */
#ifndef NN_FILE_ZIP_GZIP_H
#define NN_FILE_ZIP_GZIP_H

#include <stdbool.h>
#include "file/zip.h"

struct nn_zip_gzip {
	int fd;
	const struct nn_zip_member *member;
	const char *file; /* for messages */
	size_t done;      /* packed bytes */
	bool began, ended;
	unsigned char part[65536];
};

/* nn_archive_source.next. */
int nn_zip_gzip_next(void *gzip, const unsigned char **bytes, size_t *n, struct nn_error *err);

#endif
