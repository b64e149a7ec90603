/* Threads that take no signals. */
#include <signal.h>

#include "base/thread.h"

int nn_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *arg), void *arg,
		    const char *what, struct nn_error *err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int status = pthread_attr_init(&attributes);

	if (status == 0) {
		if (stack > 0)
			pthread_attr_setstacksize(&attributes, stack);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		status = pthread_create(thread, &attributes, run, arg);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_attr_destroy(&attributes);
	}
	return status == 0 ? 0 : nn_fail(err, NN_EFAIL, "cannot start %s", what);
}
