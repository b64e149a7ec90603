/* Lines: a thread at the other end takes what comes and answers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "bench/channel.h"

#define SPINS 2000 /* before a thread that waits for a word gives its processor away */

struct nn_channel {
	const struct nn_channel_algorithm *way;
	int ends[4];
	pthread_t thread;
	bool runs, failed;
	unsigned char *here, *there; /* what is sent, and where it arrives */
	size_t bytes, most;
	uint64_t calls;
	/*
	 * memory: the number of the call asked for and answered, on lines of the cache of their own
	 */
	_Alignas(64) _Atomic uint64_t asked;
	_Alignas(64) _Atomic uint64_t answered;
	_Alignas(64) _Atomic bool ends_now;
};

/* ---- the other end ---- */

static void wait_for(_Atomic uint64_t *word, uint64_t wanted, _Atomic bool *ends)
{
	for (int i = 0; atomic_load_explicit(word, memory_order_acquire) != wanted &&
			!(ends && atomic_load(ends));
	     i++)
		if (i >= SPINS)
			sched_yield();
}

static void *answer_memory(void *arg)
{
	struct nn_channel *l = arg;

	for (uint64_t call = 1; !atomic_load(&l->ends_now); call++) {
		wait_for(&l->asked, call, &l->ends_now);
		if (l->bytes > 0)
			memcpy(l->there, l->here, l->bytes);
		atomic_store_explicit(&l->answered, call, memory_order_release);
	}
	return NULL;
}

/* A call is a size and as many bytes; its answer is the last of them. */
static void *answer_bytes(void *arg)
{
	struct nn_channel *l = arg;
	uint64_t n;

	while (nn_read_all(l->ends[2], &n, sizeof n) && n <= l->most &&
	       nn_read_all(l->ends[2], l->there, n)) {
		unsigned char last = n > 0 ? l->there[n - 1] : 0;

		if (!nn_write_all(l->ends[3], &last, 1))
			break;
	}
	return NULL;
}

/* ---- ways ---- */

static int open_pipes(int ends[4], struct nn_error *err)
{
	int there[2], back[2];

	if (pipe(there) < 0)
		return nn_fail_errno(err, NN_EFAIL, "a pipe");
	if (pipe(back) < 0) {
		close(there[0]);
		close(there[1]);
		return nn_fail_errno(err, NN_EFAIL, "a pipe");
	}
	ends[0] = there[1];
	ends[1] = back[0];
	ends[2] = there[0];
	ends[3] = back[1];
	return 0;
}

static int open_tcp(int ends[4], struct nn_error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    here = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int there = -1, on = 1, status = -1;

	if (listener >= 0 && here >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
	    connect(here, (struct sockaddr *)&address, size) == 0)
		there = accept(listener, NULL, NULL);
	if (there >= 0) {
		setsockopt(here, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		setsockopt(there, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		ends[0] = ends[1] = here;
		ends[2] = ends[3] = there;
		status = 0;
	} else {
		nn_fail_errno(err, NN_EFAIL, "a connection to 127.0.0.1");
		if (here >= 0)
			close(here);
	}
	if (listener >= 0)
		close(listener);
	return status;
}

const struct nn_channel_algorithm nn_channel_algorithms[] = {
	{ "memory", NULL },
	{ "pipe", open_pipes },
	{ "tcp", open_tcp },
	{ NULL, NULL },
};

/* ---- open, call, close ---- */

int nn_channel_open(struct nn_channel **line, const struct nn_channel_algorithm *way, size_t most,
		    struct nn_error *err)
{
	struct nn_channel *l = nn_alloc(1, sizeof *l, err);

	if (!l)
		return -1;
	for (int i = 0; i < 4; i++)
		l->ends[i] = -1;
	l->way = way;
	l->most = most;
	l->here = nn_alloc(most, 1, err);
	l->there = nn_alloc(most, 1, err);
	if (!l->here || !l->there || (way->open && way->open(l->ends, err) < 0))
		goto fail;
	memset(l->here, 1, most);
	memset(l->there, 2, most);
	if (pthread_create(&l->thread, NULL, way->open ? answer_bytes : answer_memory, l) != 0) {
		nn_fail(err, NN_EFAIL, "cannot start a thread");
		goto fail;
	}
	l->runs = true;
	*line = l;
	return 0;
fail:
	nn_channel_close(l);
	return -1;
}

void nn_channel_close(struct nn_channel *l)
{
	if (!l)
		return;
	atomic_store(&l->ends_now, true);
	if (l->ends[0] >= 0)
		l->ends[0] == l->ends[1] ? shutdown(l->ends[0], SHUT_RDWR) : close(l->ends[0]);
	if (l->runs)
		pthread_join(l->thread, NULL);
	if (l->ends[1] >= 0)
		close(l->ends[1]);
	if (l->ends[2] >= 0)
		close(l->ends[2]);
	if (l->ends[3] >= 0 && l->ends[3] != l->ends[2])
		close(l->ends[3]);
	nn_free(l->here);
	nn_free(l->there);
	nn_free(l);
}

void nn_channel_set(struct nn_channel *l, size_t bytes)
{
	l->bytes = bytes < l->most ? bytes : l->most;
}

void nn_channel_call(void *line)
{
	struct nn_channel *l = line;
	uint64_t n = l->bytes, call = ++l->calls;
	unsigned char answer = 0;

	if (l->failed)
		return;
	if (n > 0)
		l->here[n - 1] = (unsigned char)call; /* so that an answer belongs to its call */
	if (!l->way->open) {
		atomic_store_explicit(&l->asked, call, memory_order_release);
		wait_for(&l->answered, call, NULL);
		answer = n > 0 ? l->there[n - 1] : 0;
	} else if (!nn_write_all(l->ends[0], &n, sizeof n) ||
		   !nn_write_all(l->ends[0], l->here, n) || !nn_read_all(l->ends[1], &answer, 1)) {
		l->failed = true;
	}
	l->failed |= n > 0 && answer != (unsigned char)call;
}

bool nn_channel_good(const struct nn_channel *l)
{
	return !l->failed;
}
