/* Growing blocks: pages from the system, moved by mremap instead of copied. */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "file/bytes.h"

#define PAGE ((size_t)4096)
/* Below this nobody asks how much memory there is: the question costs more than the memory. */
#define WORTH_ASKING ((size_t)64 << 20)
/* From here on pages of 2 MiB are asked for: less time for page faults, and for rows that are gathered from anywhere. */
#define LARGE ((size_t)4 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

/* Moved, or new, to a place of its own that begins with a large page: elsewhere the kernel would have to split those there are. */
static void *move_aligned(void *old, size_t old_room, size_t room)
{
	size_t space = room + LARGE_PAGE, before;
	char *begin = mmap(NULL, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;
	void *data;

	if (begin == MAP_FAILED)
		return MAP_FAILED;
	before = (LARGE_PAGE - (uintptr_t)begin % LARGE_PAGE) % LARGE_PAGE;
	at = begin + before;
	if (old)
		data = mremap(old, old_room, room, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	else
		data = mmap(at, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (data == MAP_FAILED) {
		munmap(begin, space);
		return MAP_FAILED;
	}
	if (before)
		munmap(begin, before);
	munmap(at + room, LARGE_PAGE - before);
	return data;
}

/* In place where there is room behind it, else somewhere else. */
static void *resize(void *old, size_t old_room, size_t room)
{
	bool aligned = (uintptr_t)old % LARGE_PAGE == 0;
	void *data = MAP_FAILED;

	if (old && (aligned || room < LARGE))
		data = mremap(old, old_room, room, 0);
	if (data == MAP_FAILED && room >= LARGE)
		data = move_aligned(old, old_room, room);
	if (data != MAP_FAILED)
		return data;
	return old ? mremap(old, old_room, room, MREMAP_MAYMOVE)
		   : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int nn_block_reserve(struct nn_block *block, size_t bytes, struct nn_error *err)
{
	size_t page = bytes < LARGE ? PAGE : LARGE_PAGE, room = (bytes + page - 1) / page * page;
	size_t available;
	void *data;

	if (bytes <= block->room)
		return 0;
	if (room < bytes)
		return nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", bytes);
	if (room - block->room > WORTH_ASKING) {
		available = nn_memory_available();
		if (room - block->room > available)
			return nn_fail(err, NN_ENOMEM, "%zu bytes of data do not fit into the %zu bytes of memory that are free",
				       bytes, available);
	}
	data = resize(block->data, block->room, room);
	if (data == MAP_FAILED)
		return nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", bytes);
	block->data = data;
	block->room = room;
	if (room >= LARGE)
		madvise(data, room, MADV_HUGEPAGE);
	return 0;
}

void nn_block_free(struct nn_block *block)
{
	if (block->data)
		munmap(block->data, block->room);
	*block = (struct nn_block){0};
}
