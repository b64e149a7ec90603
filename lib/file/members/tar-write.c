/* Headers of members: regular files without an owner, of 1 January 1970, readable by all. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "file/members/tar-write.h"

#define BLOCK ((size_t)512)
#define MOST_NAME 100

static int write_padded(struct nn_output *output, const void *bytes, size_t n, struct nn_error *err)
{
	static const char zeros[BLOCK];

	return nn_output_write(output, bytes, n, err) < 0
		       ? -1
		       : nn_output_write(output, zeros, (BLOCK - n % BLOCK) % BLOCK, err);
}

static int write_member(struct nn_output *output, char type, const char *name, const void *bytes,
			size_t n, struct nn_error *err)
{
	char block[BLOCK] = { 0 };
	unsigned sum = 0;
	size_t length = strlen(name);

	memcpy(block, name, length < MOST_NAME ? length : MOST_NAME);
	memcpy(block + 100, "0000644\0" "0000000\0" "0000000", 24);
	snprintf(block + 124, 12, "%011llo", (unsigned long long)n & 077777777777);
	memcpy(block + 136, "00000000000\0" "        ", 20);
	block[156] = type;
	memcpy(block + 257, "ustar\0" "00", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum & 0777777u);
	return nn_output_write(output, block, BLOCK, err) < 0 ? -1
							     : write_padded(output, bytes, n, err);
}

/* A record of pax says its own length, in digits that are a part of it. */
static int write_long_name(struct nn_output *output, const char *name, struct nn_error *err)
{
	char record[8192];
	int n = 0, before;

	do {
		before = n;
		n = snprintf(record, sizeof record, "%d path=%s\n", before, name);
	} while (n != before);
	if (n >= (int)sizeof record)
		return nn_fail(err, NN_EFAIL, "a name of %zu bytes is too long for a tar", strlen(name));
	return write_member(output, 'x', "././@PaxHeader", record, (size_t)n, err);
}

int nn_tar_write(struct nn_output *output, const char *name, const void *bytes, size_t n,
		 struct nn_error *err)
{
	if (strlen(name) > MOST_NAME && write_long_name(output, name, err) < 0)
		return -1;
	return write_member(output, '0', name, bytes, n, err);
}

int nn_tar_write_end(struct nn_output *output, struct nn_error *err)
{
	static const char zeros[2 * BLOCK];

	return nn_output_write(output, zeros, sizeof zeros, err);
}
