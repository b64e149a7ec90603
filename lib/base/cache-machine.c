/* What a measured answer holds for: this processor and this build. */
#include "config.h"
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/pool.h"

#define ID_BYTES 6 /* of the linker's build id: enough to tell builds apart */

struct cache_search {
	uintptr_t here; /* an address in the object that is looked for */
	char id[2 * ID_BYTES + 1];
};

/* The notes of a segment; sizes are rounded up to words. */
static void find_note(struct cache_search *s, const unsigned char *at, size_t n)
{
	const unsigned char *end = at + n;

	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		size_t name, size;

		memcpy(&note, at, sizeof note);
		name = ((size_t)note.n_namesz + 3) / 4 * 4;
		size = ((size_t)note.n_descsz + 3) / 4 * 4;
		at += sizeof note;
		if (name + size > (size_t)(end - at))
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= ID_BYTES && name == 4 &&
		    memcmp(at, "GNU", 4) == 0)
			for (int i = 0; i < ID_BYTES; i++)
				snprintf(s->id + 2 * i, 3, "%02x", at[name + (size_t)i]);
		at += name + size;
	}
}

static int look_at(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct cache_search *s = arg;
	bool ours = false;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		ours |= segment->p_type == PT_LOAD &&
			s->here - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz;
	}
	for (int i = 0; ours && i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_NOTE)
			find_note(s,
				  (const unsigned char *)(object->dlpi_addr +
							  object->dlpi_phdr[i].p_vaddr),
				  object->dlpi_phdr[i].p_memsz);
	return ours;
}

const char *nn_cache_machine(char buffer[NN_CACHE_MACHINE])
{
	struct cache_search s = { .here = (uintptr_t)nn_cache_machine };
	const char *wanted = getenv("NN_CPU");
	char cpu[NN_CPU_NAME];

	dl_iterate_phdr(look_at, &s);
	snprintf(buffer, NN_CACHE_MACHINE, "%s%s%.16s, %s %s", nn_cpu_name(cpu), wanted ? ", " : "",
		 wanted ? wanted : "", PACKAGE_VERSION, s.id);
	return buffer;
}
