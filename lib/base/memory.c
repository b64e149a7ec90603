/* Allocation with checked sizes, and how much memory there is. */
#include "config.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/memory.h"
#include "base/number.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * A block is an aligned part of one from calloc, whose address stands before it: large ones come
 * zeroed from the kernel, page by page as they are used, which posix_memalign and memset would
 * undo.
 */
static void *aligned(void *raw, size_t to)
{
	return (void *)(((uintptr_t)raw + sizeof raw + to - 1) & ~(uintptr_t)(to - 1));
}

#define EXTRA (NN_ALIGN + sizeof(void *))

#define RETURNED (64 << 10)

void nn_memory_returns(void)
{
#ifdef M_MMAP_THRESHOLD /* of the GNU C library, which raises both as blocks are freed */
	mallopt(M_MMAP_THRESHOLD, RETURNED);
	mallopt(M_TRIM_THRESHOLD, RETURNED);
	mallopt(M_TOP_PAD, RETURNED / 4);
#endif
}

/*
 * Large weights are walked with strides of pages: with huge ones a product of 2048 columns misses
 * the TLB less. Blocks begin with one, so that what is touched of them can be planned.
 */
#define HUGE_FROM ((size_t)4 << 20)

#define HUGE_PAGE ((size_t)2 << 20)

/* Does the system give huge pages on request? Asked once: 1 no, 2 yes. */
static bool has_huge_pages(void)
{
	static _Atomic int known;

	if (known == 0) {
		char text[64] = "[never]";
		FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");

		if (file && !fgets(text, sizeof text, file))
			strcpy(text, "[never]");
		if (file)
			fclose(file);
		known = strstr(text, "[never]") ? 1 : 2;
	}
	return known == 2;
}

size_t nn_memory_page(size_t bytes)
{
	return bytes >= HUGE_FROM && has_huge_pages() ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
}

void nn_memory_sparse(void *memory, size_t bytes, bool sparse)
{
	uintptr_t page, begin;

	if (bytes < HUGE_FROM)
		return;
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	begin = ((uintptr_t)memory + page - 1) / page * page;
	madvise((void *)begin, ((uintptr_t)memory + bytes - begin) / page * page,
		sparse ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

void *nn_alloc(size_t n, size_t size, struct nn_error *err)
{
	size_t bytes, align = NN_ALIGN;
	void *raw = NULL, *memory;

	if (!nn_mul(n, size, &bytes)) {
		nn_fail(err, NN_ENOMEM, "cannot allocate %zu x %zu bytes", n, size);
		return NULL;
	}
	if (bytes >= HUGE_FROM)
		align = HUGE_PAGE;
	if (bytes <= PTRDIFF_MAX - align - sizeof(void *))
		raw = calloc(1, bytes + align + sizeof(void *));
	if (!raw) {
		nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", bytes);
		return NULL;
	}
	memory = aligned(raw, align);
	((void **)memory)[-1] = raw;
	nn_memory_sparse(memory, bytes, false);
	return memory;
}

void *nn_realloc(void *old, size_t old_bytes, size_t new_bytes, struct nn_error *err)
{
	void *old_raw = old ? ((void **)old)[-1] : NULL, *raw = NULL, *memory;
	size_t offset = old ? (size_t)((char *)old - (char *)old_raw) : 0;

	/* large blocks are moved by page tables, not copied */
	if (new_bytes <= PTRDIFF_MAX - EXTRA - offset)
		raw = realloc(old_raw, new_bytes + EXTRA + offset);
	if (!raw) {
		nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", new_bytes);
		return NULL;
	}
	memory = aligned(raw, NN_ALIGN);
	if (old && (char *)memory - (char *)raw != (ptrdiff_t)offset)
		memmove(memory, (char *)raw + offset,
			old_bytes < new_bytes ? old_bytes : new_bytes);
	((void **)memory)[-1] = raw;
	return memory;
}

void nn_free(void *memory)
{
	if (memory)
		free(((void **)memory)[-1]);
}

char *nn_strndup(const char *text, size_t n, struct nn_error *err)
{
	char *copy = nn_alloc(n + 1, 1, err);

	if (copy)
		memcpy(copy, text, n);
	return copy;
}

char *nn_strdup(const char *text, struct nn_error *err)
{
	return nn_strndup(text, strlen(text), err);
}

/* What the process keeps, in sight of leak checkers. */
struct kept {
	struct kept *next;
	char text[];
};
static _Atomic(struct kept *) kept;

const char *nn_keep(const char *text, struct nn_error *err)
{
	struct kept *k = nn_alloc(1, sizeof *k + strlen(text) + 1, err);

	if (!k)
		return NULL;
	strcpy(k->text, text);
	k->next = atomic_load(&kept);
	while (!atomic_compare_exchange_weak(&kept, &k->next, k))
		;
	return k->text;
}

/* ---- what there is ---- */

/*
 * The number in the line of /proc/FILE that begins with key, in bytes (lines say kB); 0 if there is
 * none.
 */
static size_t proc_bytes(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[256];
	size_t bytes = 0, n = strlen(key);
	uint64_t kilobytes;

	while (file && fgets(line, sizeof line, file)) {
		const char *digits = line + n;

		if (strncmp(line, key, n) != 0)
			continue;
		digits += strspn(digits, ": \t");
		if (nn_parse_u64(digits, strspn(digits, "0123456789"), &kilobytes))
			bytes = (size_t)kilobytes * 1024;
		break;
	}
	if (file)
		fclose(file);
	return bytes;
}

size_t nn_memory_available(void)
{
	size_t least = proc_bytes("/proc/meminfo", "MemAvailable"), left;
	struct rlimit limit;

	if (least == 0)
		least = SIZE_MAX;
	left = nn_cgroup_memory_left();
	least = left < least ? left : least;
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
		size_t used = proc_bytes("/proc/self/status", "VmSize");

		left = limit.rlim_cur > used ? (size_t)limit.rlim_cur - used : 0;
		least = left < least ? left : least;
	}
	return least;
}

size_t nn_memory_peak(void)
{
	return proc_bytes("/proc/self/status", "VmHWM");
}

size_t nn_memory_resident(void)
{
	return proc_bytes("/proc/self/status", "VmRSS");
}

size_t nn_memory_files(void)
{
	return proc_bytes("/proc/self/status", "RssFile");
}

size_t nn_memory_share(void)
{
	size_t all = proc_bytes("/proc/self/smaps_rollup", "Pss:"),
	       files = proc_bytes("/proc/self/smaps_rollup", "Pss_File:");

	return all > files ? all - files : 0;
}

/* ---- copies ---- */

void nn_copy_away(void *to, const void *from, size_t bytes)
{
	size_t at = 0;

#ifdef __SSE2__
	for (; at + 64 <= bytes; at += 64) {
		const __m128i *source = (const __m128i *)(const void *)((const char *)from + at);
		__m128i *target = (__m128i *)(void *)((char *)to + at);

		_mm_stream_si128(target, _mm_loadu_si128(source));
		_mm_stream_si128(target + 1, _mm_loadu_si128(source + 1));
		_mm_stream_si128(target + 2, _mm_loadu_si128(source + 2));
		_mm_stream_si128(target + 3, _mm_loadu_si128(source + 3));
	}
	_mm_sfence();
#endif
	memcpy((char *)to + at, (const char *)from + at, bytes - at);
}
