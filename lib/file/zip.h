/* The directory of a zip file, in memory or read at its places. */
#ifndef NN_FILE_ZIP_H
#define NN_FILE_ZIP_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "file/bytes.h"

/*
 * Zip's own numbers: a length or place from this value on needs zip64. Tests write with a smaller
 * one.
 */
#define NN_ZIP_FAR UINT64_C(0xffffffff)

/* A member as the directory of a zip file lists it. */
struct nn_zip_member {
	const char *name; /* not terminated; borrowed from the bytes, as all */
	size_t name_length;
	int method; /* 0 stored, 8 deflated */
	uint32_t crc;
	const unsigned char *data; /* NULL: in a file, from `at` on */
	uint64_t at;
	size_t packed, size; /* bytes of data, and of what they hold */
};

/*
 * The members of the zip file bytes[n], in the order of its directory; *members is nn_freed by the
 * caller.
 */
int nn_zip_list(const unsigned char *bytes, size_t n, struct nn_zip_member **members,
		size_t *n_members, struct nn_error *err);

/*
 * The same of a file of n bytes, of which only the directory and what stands before members is read,
 * into `block`, from which names are borrowed. 1; 0: its directory is too large for that; -1.
 */
#define NN_ZIP_MOST_DIRECTORY ((uint64_t)64 << 20)
int nn_zip_list_file(int fd, uint64_t n, struct nn_block *block, struct nn_zip_member **members,
		     size_t *n_members, struct nn_error *err);

#endif
