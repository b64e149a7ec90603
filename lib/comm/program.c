/* Which program this is: ranks of different builds must not work together. */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

#include "comm/comm.h"

/* The address sanitizer keeps unreadable gaps between constants. */
__attribute__((no_sanitize("address"))) static uint64_t mix(uint64_t hash,
							    const unsigned char *bytes, size_t n)
{
	uint64_t word;

	for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
		memcpy(&word, bytes, sizeof word);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	while (n--)
		hash = (hash ^ *bytes++) * UINT64_C(1099511628211);
	return hash;
}

/* Code and constants of the program and of libnn, which no loader changes. */
static int add_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	uint64_t *hash = arg;

	(void)size;
	if (*object->dlpi_name && !strstr(object->dlpi_name, "libnn"))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && !(part->p_flags & PF_W))
			*hash = mix(*hash,
				    (const unsigned char *)(uintptr_t)(object->dlpi_addr +
								       part->p_vaddr),
				    part->p_filesz);
	}
	return 0;
}

uint64_t nn_comm_program(void)
{
	uint64_t hash = 0;

	dl_iterate_phdr(add_object, &hash);
	return hash;
}
