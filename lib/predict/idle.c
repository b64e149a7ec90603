/* A stack with a lock: the session that was given back last is warm. */
#include <pthread.h>

#include "base/memory.h"
#include "base/pool.h"
#include "predict/idle.h"

struct nn_idle {
	pthread_mutex_t lock;
	struct nn_session **sessions;
	size_t n, room;
};

struct nn_idle *nn_idle_new(struct nn_error *err)
{
	struct nn_idle *idle = nn_alloc(1, sizeof *idle, err);

	if (idle)
		pthread_mutex_init(&idle->lock, NULL);
	return idle;
}

void nn_idle_free(struct nn_idle *idle)
{
	if (!idle)
		return;
	while (idle->n > 0)
		nn_session_close(idle->sessions[--idle->n]);
	nn_free(idle->sessions);
	pthread_mutex_destroy(&idle->lock);
	nn_free(idle);
}

struct nn_session *nn_idle_take(struct nn_idle *idle)
{
	struct nn_session *session = NULL;

	pthread_mutex_lock(&idle->lock);
	if (idle->n > 0)
		session = idle->sessions[--idle->n];
	pthread_mutex_unlock(&idle->lock);
	return session;
}

/* Counting processors costs some reads of /proc: not before a session comes back. */
static void take_room(struct nn_idle *idle)
{
	size_t room = (size_t)nn_cpu_count();

	idle->sessions = nn_alloc(room, sizeof(*idle->sessions), NULL);
	idle->room = idle->sessions ? room : 0;
}

void nn_idle_give(struct nn_idle *idle, struct nn_session *session)
{
	pthread_mutex_lock(&idle->lock);
	if (idle->room == 0)
		take_room(idle);
	if (idle->n < idle->room) {
		idle->sessions[idle->n++] = session;
		session = NULL;
	}
	pthread_mutex_unlock(&idle->lock);
	nn_session_close(session);
}
