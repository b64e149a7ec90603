/* Threads of our own beside those of a pool. */
#ifndef NN_BASE_THREAD_H
#define NN_BASE_THREAD_H

#include <pthread.h>
#include "base/error.h"

/*
 * A thread that takes no signals: those are for who started it. stack: bytes, 0: as usual. what:
 * the thread, in the error.
 */
int nn_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *arg), void *arg,
		    const char *what, struct nn_error *err);

#endif
