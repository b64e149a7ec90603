/* Growing blocks: pages from the system, moved by mremap instead of copied. */
#include "config.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "file/bytes.h"

#define PAGE ((size_t)4096)
/* Blocks below this size are not checked against free memory: the check would cost more. */
#define WORTH_ASKING ((size_t)64 << 20)
/*
 * From here on pages of 2 MiB are asked for: less time for page faults, and for rows that are
 * gathered from anywhere.
 */
#define LARGE ((size_t)4 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

/*
 * Moved, or new, to a place that begins with a large page and has room behind it: elsewhere the
 * kernel would have to split the large pages there are. It grows there in a second call: memcheck
 * takes new bytes of one that moves and grows for nobody's.
 */
static void *move_aligned(void *old, size_t old_room, size_t room)
{
	size_t space = room + LARGE_PAGE, used = old ? old_room : room, before;
	char *begin = mmap(NULL, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0),
	     *at;
	void *data;

	if (begin == MAP_FAILED)
		return MAP_FAILED;
	before = (LARGE_PAGE - (uintptr_t)begin % LARGE_PAGE) % LARGE_PAGE;
	at = begin + before;
	if (old)
		data = mremap(old, old_room, old_room, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	else
		data = mmap(at, room, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (data == MAP_FAILED) {
		munmap(begin, space);
		return MAP_FAILED;
	}
	if (before)
		munmap(begin, before);
	munmap(at + used, space - before - used);
	return data;
}

/* *data is where the block lies, also where it could not grow. */
static int resize(void **data, size_t old_room, size_t room)
{
	void *at = room >= LARGE ? move_aligned(*data, old_room, room) : MAP_FAILED;

	if (at != MAP_FAILED && !*data) {
		*data = at;
		return 0;
	}
	if (at != MAP_FAILED)
		*data = at;
	at = *data ? mremap(*data, old_room, room, MREMAP_MAYMOVE)
		   : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -1;
	*data = at;
	return 0;
}

int nn_block_reserve(struct nn_block *block, size_t bytes, struct nn_error *err)
{
	size_t page = bytes < LARGE ? PAGE : LARGE_PAGE, room = (bytes + page - 1) / page * page;
	size_t available;

	if (bytes <= block->room)
		return 0;
	if (room < bytes)
		return nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", bytes);
	if (room - block->room > WORTH_ASKING) {
		available = nn_memory_available();
		if (room - block->room > available)
			return nn_fail(err, NN_ENOMEM,
				       "%zu bytes of data do not fit into the %zu bytes of memory "
				       "that are free",
				       bytes, available);
	}
	if (resize(&block->data, block->room, room) < 0)
		return nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", bytes);
	block->room = room;
	if (room >= LARGE)
		madvise(block->data, room, MADV_HUGEPAGE);
	return 0;
}

void nn_block_free(struct nn_block *block)
{
	if (block->data)
		munmap(block->data, block->room);
	*block = (struct nn_block){ 0 };
}
