/* Memory: checked sizes, 64-byte alignment, and what this machine has to give. */
#ifndef NN_BASE_MEMORY_H
#define NN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define NN_ALIGN 64

/* *result = a * b, or a + b; false on overflow. */
static inline bool nn_mul(size_t a, size_t b, size_t *result)
{
	return !__builtin_mul_overflow(a, b, result);
}
static inline bool nn_add(size_t a, size_t b, size_t *result)
{
	return !__builtin_add_overflow(a, b, result);
}

/*
 * n * size bytes, zeroed, aligned to 64; NULL with NN_ENOMEM ("cannot allocate N bytes"). n or size
 * 0: a valid pointer.
 */
void *nn_alloc(size_t n, size_t size, struct nn_error *err);
/* As realloc for memory from nn_alloc; the old block stays on failure. New bytes are not zeroed. */
void *nn_realloc(void *old, size_t old_bytes, size_t new_bytes, struct nn_error *err);
void nn_free(void *memory); /* NULL allowed */
/*
 * From now on blocks of 64 KiB and more return to the system when they are freed, so that the peak
 * of a long run does not include memory that was needed only to read its data.
 */
void nn_memory_returns(void);
/*
 * From now on a block has small pages, because it is used here and there alone, or huge ones again,
 * each of which the system clears first. Only large blocks have these.
 */
void nn_memory_sparse(void *memory, size_t bytes, bool sparse);
/* Bytes that become resident at once where a block of this size is touched. */
size_t nn_memory_page(size_t bytes);
char *nn_strdup(const char *text, struct nn_error *err);
char *nn_strndup(const char *text, size_t n, struct nn_error *err);
/* A copy that lasts as long as the process, as argv does; NULL: memory is out. */
const char *nn_keep(const char *text, struct nn_error *err);

/*
 * Bytes this process may still take: the least of MemAvailable, RLIMIT_AS and the cgroup's limit.
 */
size_t nn_memory_available(void);
/* VmHWM of this process in bytes, 0 if unknown. */
size_t nn_memory_peak(void);
/* VmRSS of this process in bytes, 0 if unknown. */
size_t nn_memory_resident(void);
/* Resident pages of files, which processes share. */
size_t nn_memory_files(void);
/* Resident bytes without files; memory shared by n processes counts 1/n. */
size_t nn_memory_share(void);

/*
 * memcpy to memory that another core will read and this one not again: past the caches, so that its
 * lines need not be fetched from the other core first. to is aligned to 16 bytes.
 */
void nn_copy_away(void *to, const void *from, size_t bytes);

#endif
