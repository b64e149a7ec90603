/*
 * The memory of the device of the tests lies where the host cannot touch it: one file mapped twice,
 * of which device pointers mean the view that nobody may read or write, and kernels and copies add
 * the distance to the other. Addresses are given once, and what was freed nobody may touch.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apart-inside.h"
#include "base/memory.h"

#define PAGE 4096

struct nn_apart_region nn_apart_there, nn_apart_pinned;
static ptrdiff_t distance;
static pthread_mutex_t taking =
	PTHREAD_MUTEX_INITIALIZER; /* a thread may have a queue of its own */

void nn_apart_stop(const char *what)
{
	fprintf(stderr, "device of the tests: %s\n", what);
	abort();
}

int nn_apart_map(struct nn_error *err)
{
	int file = memfd_create("apart", MFD_CLOEXEC);
	char *real;

	if (nn_apart_there.begin) {
		close(file);
		return 0;
	}
	if (file < 0 || ftruncate(file, (off_t)NN_APART_MEMORY) < 0)
		return nn_fail_errno(err, NN_ENODEV, "memory of the device");
	real = mmap(NULL, NN_APART_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
		    0);
	nn_apart_there.begin =
		mmap(NULL, NN_APART_MEMORY, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
	nn_apart_pinned.begin = mmap(NULL, NN_APART_MEMORY, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	close(file);
	if (real == MAP_FAILED || nn_apart_there.begin == MAP_FAILED ||
	    nn_apart_pinned.begin == MAP_FAILED)
		return nn_fail_errno(err, NN_ENODEV, "memory of the device");
	madvise(real, NN_APART_MEMORY, MADV_DONTDUMP);
	distance = real - nn_apart_there.begin;
	return 0;
}

/* ---- blocks ---- */

/* With a page behind it that is nobody's. */
static size_t pages(size_t bytes)
{
	return (bytes + 2 * PAGE - 1) / PAGE * PAGE;
}

void *nn_apart_take(struct nn_apart_region *r, size_t bytes, struct nn_error *err)
{
	struct nn_apart_block *block;
	char *at;

	pthread_mutex_lock(&taking);
	if (pages(bytes) < bytes || pages(bytes) > NN_APART_MEMORY - r->used) {
		pthread_mutex_unlock(&taking);
		nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes on the device", bytes);
		return NULL;
	}
	if (r->n == r->room) {
		r->room = 2 * r->room + 64;
		r->blocks = realloc(r->blocks, r->room * sizeof *r->blocks);
		if (!r->blocks)
			nn_apart_stop("no memory for a list of memory");
	}
	block = &r->blocks[r->n++];
	*block = (struct nn_apart_block){ r->begin + r->used, bytes };
	r->used += pages(bytes);
	r->held += bytes;
	r->most = r->held > r->most ? r->held : r->most;
	at = block->at;
	pthread_mutex_unlock(&taking);
	return at;
}

struct nn_apart_block nn_apart_give(struct nn_apart_region *r, void *memory)
{
	struct nn_apart_block block;
	size_t i;

	pthread_mutex_lock(&taking);
	i = r->n;
	while (i > 0 && r->blocks[i - 1].at != memory)
		i--;
	if (i == 0)
		nn_apart_stop("memory is freed that was not taken, or twice");
	block = r->blocks[i - 1];
	r->blocks[i - 1] = r->blocks[--r->n];
	r->held -= block.bytes;
	pthread_mutex_unlock(&taking);
	return block;
}

bool nn_apart_lies_in(const struct nn_apart_region *r, const void *p, size_t bytes)
{
	const char *at = p;

	return at >= r->begin && at < r->begin + r->used &&
	       bytes <= (size_t)(r->begin + r->used - at);
}

void nn_apart_close(const struct nn_apart_block *block)
{
	bool there = nn_apart_lies_in(&nn_apart_there, block->at, block->bytes);
	char *at = there ? nn_apart_at(block->at) : block->at;

	madvise(at, pages(block->bytes), there ? MADV_REMOVE : MADV_DONTNEED);
	mprotect(at, pages(block->bytes), PROT_NONE);
}

/* ---- addresses ---- */

void *nn_apart_at(const void *p)
{
	if (!p)
		return NULL;
	if (!nn_apart_lies_in(&nn_apart_there, p, 1))
		nn_apart_stop("a kernel was given memory of the host");
	return (char *)(uintptr_t)p + distance;
}

void nn_apart_check_pinned(const void *p, size_t bytes)
{
	if (bytes && !nn_apart_lies_in(&nn_apart_pinned, p, bytes))
		nn_apart_stop("a copy was given memory of the host that is not pinned");
}

/* The most that was taken at once, there and of pinned memory, as a line of the file NN_APART_PEAK.
 */
__attribute__((destructor)) static void tell_peak(void)
{
	const char *name = getenv("NN_APART_PEAK");
	FILE *file = name && nn_apart_there.most ? fopen(name, "a") : NULL;

	if (file) {
		fprintf(file, "%zu %zu\n", nn_apart_there.most, nn_apart_pinned.most);
		fclose(file);
	}
}
