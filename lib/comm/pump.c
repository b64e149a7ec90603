/*
 * The pump: a call of the transport, a nap, and so on; what the system buffers lasts over a nap.
 * Without it messages move only while someone waits for them: of two hosts at 1 Gbit/s with 33 MB
 * of gradients, on busy cores, a step took 0.47 s in place of 0.38.
 */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "comm/pump.h"

/*
 * A nap is at least NAP_S, so that links of 10 GB/s find room in the system's buffers, and long
 * enough that the thread takes a small share of a core, which may be busy computing.
 */
#define NAP_S 2e-4
#define SHARE 0.05

struct nn_pump {
	const struct nn_comm *comm;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool runs, ends;
};

/* Until there is something to do; false: the end. */
static bool awake(struct nn_pump *p)
{
	bool ends;

	pthread_mutex_lock(&p->lock);
	while (!p->runs && !p->ends)
		pthread_cond_wait(&p->changed, &p->lock);
	ends = p->ends;
	pthread_mutex_unlock(&p->lock);
	return !ends;
}

static void *pump(void *arg)
{
	struct nn_pump *p = arg;

	while (awake(p)) {
		double start = nn_now_s(), s;

		p->comm->transport->progress(p->comm->state);
		s = (nn_now_s() - start) / SHARE;
		s = s < NAP_S ? NAP_S : s < 0.01 ? s : 0.01;
		nanosleep(&(struct timespec){ .tv_nsec = (long)(s * 1e9) }, NULL);
	}
	return NULL;
}

int nn_pump_new(struct nn_pump **result, const struct nn_comm *comm, struct nn_error *err)
{
	struct nn_pump *p = nn_alloc(1, sizeof *p, err);

	if (!p)
		return -1;
	p->comm = comm;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (nn_thread_start(&p->thread, 0, pump, p, "a thread for messages", err) < 0) {
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
		nn_free(p);
		return -1;
	}
	*result = p;
	return 0;
}

static void set(struct nn_pump *p, bool runs, bool ends)
{
	pthread_mutex_lock(&p->lock);
	p->runs = runs;
	p->ends = ends;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void nn_pump_run(struct nn_pump *p, bool runs)
{
	set(p, runs, false);
}

void nn_pump_free(struct nn_pump *p)
{
	if (!p)
		return;
	set(p, false, true);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	nn_free(p);
}
