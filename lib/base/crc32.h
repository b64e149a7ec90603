/* The checksum of zip and gzip (ITU-T V.42). */
#ifndef NN_BASE_CRC32_H
#define NN_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Of the bytes after those that gave `crc`; 0 at first. */
uint32_t nn_crc32(uint32_t crc, const void *bytes, size_t n);

#endif
