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

/* The linker's mark of a program's bytes, or NULL: where it is, nothing else need be read. */
static const ElfW(Nhdr) * build_id(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		const char *at = (const char *)(uintptr_t)(object->dlpi_addr + part->p_vaddr),
			   *end = at + part->p_filesz;

		while (part->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof "GNU" &&
			    memcmp(note + 1, "GNU", sizeof "GNU") == 0)
				return note;
			at += sizeof *note + (note->n_namesz + 3) / 4 * 4 +
			      (note->n_descsz + 3) / 4 * 4;
		}
	}
	return NULL;
}

/* The mark of the program and of libnn, or their code and constants, which no loader changes. */
static int add_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	uint64_t *hash = arg;
	const ElfW(Nhdr) * id;

	(void)size;
	if (*object->dlpi_name && !strstr(object->dlpi_name, "libnn"))
		return 0;
	id = build_id(object);
	if (id) {
		*hash = mix(*hash, (const unsigned char *)(id + 1), id->n_namesz + id->n_descsz);
		return 0;
	}
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
