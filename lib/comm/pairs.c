/* Pairs of ranks: each shows a page, and tries to open those of all others. */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "comm/pairs.h"

#define TOKEN 16

/* A rank shows here a value that a peer can read only by opening its memory. */
struct page {
	uint64_t host; /* its name, hashed: another one's processes have numbers of their own */
	int pid, fd;
	char token[TOKEN];
	char device;
};

static void show(struct page *page)
{
	char host[256] = "";

	if (gethostname(host, sizeof host - 1) == 0)
		page->host = nn_fnv1a(NN_FNV1A, host, strlen(host));
	page->pid = (int)getpid();
	page->fd = memfd_create("nntools", MFD_CLOEXEC);
	if (page->fd < 0)
		return;
	if (getrandom(page->token, TOKEN, 0) != TOKEN ||
	    pwrite(page->fd, page->token, TOKEN, 0) != TOKEN) {
		close(page->fd);
		page->fd = -1;
	}
}

static bool sees(const struct page *mine, const struct page *page)
{
	char path[64], token[TOKEN];
	bool same;
	int fd;

	if (page->fd < 0 || page->host != mine->host || !nn_comm_shares_memory())
		return false;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", page->pid, page->fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	same = pread(fd, token, TOKEN, 0) == TOKEN && memcmp(token, page->token, TOKEN) == 0;
	close(fd);
	return same;
}

bool nn_pairs_shared_here(void)
{
	struct page page = { 0 };
	bool seen;

	show(&page);
	seen = sees(&page, &page);
	if (page.fd >= 0)
		close(page.fd);
	return seen;
}

int nn_pairs_open(struct nn_pairs *pairs, struct nn_comm *comm, bool device, struct nn_error *err)
{
	size_t n = (size_t)comm->size;
	struct page mine = { .device = device }, *all = nn_alloc(n, sizeof *all, err);
	bool *row = nn_alloc(n, sizeof *row, err);
	int status = -1;

	*pairs = (struct nn_pairs){ .ranks = comm->size };
	pairs->shared = nn_alloc(n * n, sizeof *pairs->shared, err);
	pairs->devices = nn_alloc(n, sizeof *pairs->devices, err);
	show(&mine);
	if (all && row && pairs->shared && pairs->devices &&
	    nn_comm_all_gather(comm, &mine, all, sizeof mine, err) == 0) {
		for (size_t r = 0; r < n; r++)
			row[r] = sees(&mine, &all[r]);
		/* no page is closed before all have looked */
		status = nn_comm_all_gather(comm, row, pairs->shared, n * sizeof *row, err);
		for (size_t r = 0; r < n; r++)
			pairs->devices[r] = all[r].device;
	}
	if (mine.fd >= 0)
		close(mine.fd);
	nn_free(all);
	nn_free(row);
	return status;
}

void nn_pairs_close(struct nn_pairs *pairs)
{
	nn_free(pairs->shared);
	nn_free(pairs->devices);
	*pairs = (struct nn_pairs){ 0 };
}

/* Of two ranks, as bits. */
enum { SHARED = 1, STAGED = 2, WAYS = 4 };

static int way(const struct nn_pairs *p, int a, int b)
{
	bool shared = p->shared[a * p->ranks + b] && p->shared[b * p->ranks + a];

	return (shared ? SHARED : 0) | (p->devices[a] || p->devices[b] ? STAGED : 0);
}

/* " 1, 3-5": the ranks with which this one has that way. */
static void add_ranks(const struct nn_pairs *p, int rank, int which, struct nn_text *text)
{
	const char *before = " ";

	for (int r = 0, last; r < p->ranks; r = last + 1) {
		last = r;
		if (r == rank || way(p, rank, r) != which)
			continue;
		while (last + 1 < p->ranks && last + 1 != rank && way(p, rank, last + 1) == which)
			last++;
		nn_text_addf(text, last > r ? "%s%d-%d" : "%s%d", before, r, last);
		before = ", ";
	}
}

void nn_pairs_row(const struct nn_pairs *p, int rank, struct nn_text *text)
{
	const char *before = "";

	nn_text_addf(text, "rank %d: ", rank);
	for (int which = WAYS - 1; which >= 0; which--) {
		bool any = false;

		for (int r = 0; r < p->ranks; r++)
			any |= r != rank && way(p, rank, r) == which;
		if (!any)
			continue;
		nn_text_addf(text, "%s%s%s with", before,
			     which & STAGED ? "through the host by " : "",
			     which & SHARED ? "shared memory" : "TCP");
		add_ranks(p, rank, which, text);
		before = "; ";
	}
}
