/* Growing blocks: pages from the system, moved by mremap instead of copied. */
#include "config.h"

#include <sys/mman.h>

#include "base/memory.h"
#include "file/bytes.h"

#define PAGE ((size_t)4096)
/* Below this nobody asks how much memory there is: the question costs more than the memory. */
#define WORTH_ASKING ((size_t)64 << 20)
/* From here on pages of 2 MiB are asked for: less time for page faults, and for rows that are gathered from anywhere. */
#define LARGE ((size_t)16 << 20)

int nn_block_reserve(struct nn_block *block, size_t bytes, struct nn_error *err)
{
	size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
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
	if (block->data)
		data = mremap(block->data, block->room, room, MREMAP_MAYMOVE);
	else
		data = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
