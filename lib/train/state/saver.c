/*
 * A thread, a lock and one word that says whose turn it is: the owner asks, the thread writes, the
 * owner takes the result.
 */
#include <pthread.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "train/state/saver.h"

#define STACK_BYTES ((size_t)1 << 20)

struct nn_saver {
	int (*write)(void *arg, struct nn_error *err);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum { IDLE, ASKED, WRITTEN, QUIT } turn;
	bool busy; /* the owner's: started, and not yet taken */
	struct nn_saved saved;
};

static void turn_to(struct nn_saver *s, int turn)
{
	s->turn = turn;
	pthread_cond_broadcast(&s->changed);
}

static void *work(void *arg)
{
	struct nn_saver *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (s->turn != ASKED && s->turn != QUIT)
			pthread_cond_wait(&s->changed, &s->lock);
		if (s->turn == QUIT)
			break;
		pthread_mutex_unlock(&s->lock);
		s->saved.status = s->write(s->arg, &s->saved.why);
		s->saved.end_s = nn_now_s();
		pthread_mutex_lock(&s->lock);
		turn_to(s, WRITTEN);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int nn_saver_new(struct nn_saver **saver, int (*write)(void *arg, struct nn_error *err), void *arg,
		 struct nn_error *err)
{
	struct nn_saver *s = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	s->write = write;
	s->arg = arg;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (nn_thread_start(&s->thread, STACK_BYTES, work, s, "the thread that writes states",
			    err) < 0) {
		nn_free(s);
		return -1;
	}
	*saver = s;
	return 0;
}

void nn_saver_start(struct nn_saver *s)
{
	pthread_mutex_lock(&s->lock);
	s->busy = true;
	turn_to(s, ASKED);
	pthread_mutex_unlock(&s->lock);
}

bool nn_saver_busy(const struct nn_saver *s)
{
	return s->busy;
}

bool nn_saver_take(struct nn_saver *s, bool wait, struct nn_saved *saved)
{
	if (!s->busy)
		return false;
	pthread_mutex_lock(&s->lock);
	while (wait && s->turn != WRITTEN)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->turn == WRITTEN) {
		*saved = s->saved;
		s->turn = IDLE;
		s->busy = false;
	}
	pthread_mutex_unlock(&s->lock);
	return !s->busy;
}

void nn_saver_free(struct nn_saver *s)
{
	struct nn_saved saved;

	if (!s)
		return;
	nn_saver_take(s, true, &saved);
	pthread_mutex_lock(&s->lock);
	turn_to(s, QUIT);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	nn_free(s);
}
