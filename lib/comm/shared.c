/*
 * A window: an anonymous file that rank 0 makes and the others open through /proc, mapped by all.
 */
#include "config.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "comm/shared.h"

#define PAGE ((size_t)4096)
#define TOKEN 16
#define SPIN_S 200e-6     /* ranks that have a core each arrive within that, mostly */
#define SHORT_SPIN_S 2e-6 /* others need the core */
/*
 * Who sleeps longer looks now and then, which distinguishes it from a rank that does not even look
 * (launch-life.c).
 */
#define SLEEP_NS 200000000
#define NAP_NS 300000
/*
 * bytes of a sum that each rank shows the others at once: they stay in a cache that cores share
 */
#define PIECE ((size_t)256 << 10)

/* The first page of the file. */
struct control {
	unsigned char token[TOKEN]; /* is it the file of these ranks? */
	_Alignas(64) _Atomic unsigned arrived;
	_Alignas(64) _Atomic unsigned round; /* barriers that are over: ranks sleep on it */
	_Atomic unsigned asleep;
};

struct nn_shared {
	struct control *control;
	size_t bytes; /* with the first page */
	unsigned ranks;
	double spin_s;
	size_t turn;               /* pieces of sums so far */
	_Atomic uint32_t *waiting; /* nn_comm's */
};

/* How to find the file. */
struct window_place {
	int good;
	int pid, fd;
	unsigned char token[TOKEN];
};

static struct control *map(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes,
		MADV_HUGEPAGE); /* where the system has them for files; else as before */
	return memory;
}

/* Rank 0: the file and its place. It stays open until all have opened it. */
static void make(struct nn_shared *w, struct window_place *place)
{
	place->fd = memfd_create("nntools", MFD_CLOEXEC);
	place->pid = (int)getpid();
	if (place->fd < 0 || ftruncate(place->fd, (off_t)w->bytes) < 0 ||
	    getrandom(place->token, TOKEN, 0) != TOKEN)
		return;
	w->control = map(place->fd, w->bytes);
	if (!w->control)
		return;
	memcpy(w->control->token, place->token, TOKEN);
	place->good = nn_comm_shares_memory();
}

static bool join(struct nn_shared *w, const struct window_place *place)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", place->pid, place->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (lseek(fd, 0, SEEK_END) == (off_t)w->bytes)
		w->control = map(fd, w->bytes);
	close(fd);
	return w->control && memcmp(w->control->token, place->token, TOKEN) == 0 &&
	       nn_comm_shares_memory();
}

/* Is the window there on all ranks? */
static int agree(struct nn_shared *w, struct nn_comm *comm, bool *good, struct nn_error *err)
{
	struct window_place place = { .fd = -1 };
	char mine, *all = nn_alloc((size_t)comm->size, 1, err);
	int status = all ? 0 : -1;

	if (comm->rank == 0)
		make(w, &place);
	if (status == 0)
		status = nn_comm_broadcast(comm, 0, &place, sizeof place, err);
	mine = (char)(place.good && (comm->rank == 0 || (status == 0 && join(w, &place))));
	if (status == 0)
		status = nn_comm_all_gather(comm, &mine, all, 1, err);
	if (comm->rank == 0 && place.fd >= 0)
		close(place.fd);
	*good = status == 0;
	for (int r = 0; r < comm->size && *good; r++)
		*good = all[r];
	nn_free(all);
	return status;
}

int nn_shared_open(struct nn_shared **window, struct nn_comm *comm, size_t bytes,
		   struct nn_error *err)
{
	struct nn_shared *w = nn_alloc(1, sizeof *w, err);
	bool good;
	int status;

	*window = NULL;
	if (!w)
		return -1;
	w->bytes = PAGE + (bytes + PAGE - 1) / PAGE * PAGE;
	w->ranks = (unsigned)comm->size;
	w->waiting = comm->waiting;
	w->spin_s = sysconf(_SC_NPROCESSORS_ONLN) >= comm->size ? SPIN_S : SHORT_SPIN_S;
	status = agree(w, comm, &good, err);
	if (status < 0 || !good)
		nn_shared_close(w);
	else
		*window = w;
	return status;
}

void nn_shared_close(struct nn_shared *w)
{
	if (!w)
		return;
	if (w->control)
		munmap(w->control, w->bytes);
	nn_free(w);
}

void *nn_shared_memory(const struct nn_shared *w)
{
	return (char *)w->control + PAGE;
}

/* ---- the barrier ---- */

static bool spins(struct control *c, unsigned round, double seconds)
{
	double end = nn_now_s() + seconds;

	for (unsigned turn = 1; atomic_load_explicit(&c->round, memory_order_acquire) == round;
	     turn++) {
		nn_pause();
		if (turn % 32 == 0 && nn_now_s() > end)
			return false;
	}
	return true;
}

void nn_shared_barrier(struct nn_shared *w)
{
	struct control *c = w->control;
	unsigned round = atomic_load(&c->round);

	if (atomic_fetch_add(&c->arrived, 1) + 1 == w->ranks) {
		atomic_store(&c->arrived, 0);
		atomic_store(&c->round, round + 1);
		if (atomic_load(&c->asleep) > 0)
			syscall(SYS_futex, (unsigned *)&c->round, FUTEX_WAKE, w->ranks, NULL, NULL,
				0);
		return;
	}
	if (spins(c, round, w->spin_s))
		return;
	if (w->waiting)
		++*w->waiting;
	atomic_fetch_add(&c->asleep, 1);
	for (struct timespec rest = { .tv_nsec = SLEEP_NS }; atomic_load(&c->round) == round;
	     rest.tv_nsec = NAP_NS)
		syscall(SYS_futex, (unsigned *)&c->round, FUTEX_WAIT, round, &rest, NULL, 0);
	atomic_fetch_sub(&c->asleep, 1);
	if (w->waiting)
		--*w->waiting;
}

/* ---- sums ---- */

size_t nn_shared_sum_bytes(int ranks, size_t bytes)
{
	return 2 * (size_t)ranks * (bytes < PIECE ? (bytes / PAGE + 1) * PAGE : PIECE);
}

/* What a rank shows at once. */
static size_t piece_of(const struct nn_shared *w)
{
	return (w->bytes - PAGE) / (2 * w->ranks);
}

/*
 * Each rank shows its piece, adds up its share of what all have shown, and shows the sum in place
 * of that. Pieces take turns in two rooms: who has passed a barrier has read the piece before.
 */
static void add_up(struct nn_shared *w, int rank, const struct nn_reduce *reduce, const char *in,
		   char *out, size_t count)
{
	size_t size = nn_dtype_size(reduce->dtype), ranks = w->ranks,
	       from = count * (size_t)rank / ranks, end = count * ((size_t)rank + 1) / ranks;
	size_t piece = piece_of(w);
	char *room = (char *)nn_shared_memory(w) + w->turn++ % 2 * ranks * piece,
	     *mine = room + (size_t)rank * piece;
	const void *shares[ranks];
	struct nn_reduce_found found;

	memcpy(mine, in, from * size);
	memcpy(mine + end * size, in + end * size, (count - end) * size);
	for (size_t r = 0; r < ranks; r++)
		shares[r] = (int)r == rank ? in + from * size : room + r * piece + from * size;
	nn_shared_barrier(w);
	nn_reduce_leaves(reduce, shares, end - from, mine + from * size, NULL, &found);
	nn_shared_barrier(w);
	for (size_t r = 0; r < ranks; r++) {
		size_t first = count * r / ranks * size, last = count * (r + 1) / ranks * size;

		memcpy(out + first, room + r * piece + first, last - first);
	}
}

void nn_shared_allreduce(struct nn_shared *w, struct nn_comm *comm, const struct nn_reduce *reduce,
			 const void *in, void *out, size_t count)
{
	size_t size = nn_dtype_size(reduce->dtype), most = piece_of(w) / size, ranks = w->ranks;

	for (size_t at = 0; at < count; at += most)
		add_up(w, comm->rank, reduce, (const char *)in + at * size, (char *)out + at * size,
		       count - at < most ? count - at : most);
	nn_comm_count(comm, 4 * (ranks - 1) * count * size / ranks);
}
