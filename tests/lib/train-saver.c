/*
 * The checkpoint writer: its owner goes on while a slow write is under way, and gets each result
 * once.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "lib/tap.h"
#include "train/state/saver.h"

/* An output as slow as the test wants: a write waits for `go`. */
struct slow {
	sem_t begun, go;
	atomic_int writes;
	int full; /* writes from this one on fail, 0: none does */
	pthread_t thread;
};

static int write_slowly(void *arg, struct nn_error *err)
{
	struct slow *slow = arg;
	int n = atomic_fetch_add(&slow->writes, 1) + 1;

	slow->thread = pthread_self();
	sem_post(&slow->begun);
	sem_wait(&slow->go);
	return slow->full && n >= slow->full ? nn_fail(err, NN_EFAIL, "write %d: disk full", n) : 0;
}

static void test_slow_output(void)
{
	struct slow slow = { 0 };
	struct nn_saver *saver = NULL;
	struct nn_saved saved = { 0 };
	struct nn_error err;

	sem_init(&slow.begun, 0, 0);
	sem_init(&slow.go, 0, 0);
	slow.full = 2;
	if (!ok(nn_saver_new(&saver, write_slowly, &slow, &err) == 0, "saver: the thread starts"))
		return;
	ok(!nn_saver_busy(saver) && !nn_saver_take(saver, false, &saved) &&
		   !nn_saver_take(saver, true, &saved),
	   "saver: without a write there is no result, and none is waited for");
	nn_saver_start(saver);
	sem_wait(&slow.begun);
	ok(nn_saver_busy(saver) && !nn_saver_take(saver, false, &saved),
	   "saver: while a write is under way its owner goes on");
	ok(!pthread_equal(slow.thread, pthread_self()), "saver: a thread of its own writes");
	sem_post(&slow.go);
	ok(nn_saver_take(saver, true, &saved) && saved.status == 0 && saved.end_s > 0,
	   "saver: who waits gets the result");
	ok(!nn_saver_busy(saver) && !nn_saver_take(saver, false, &saved),
	   "saver: a result is given once");

	nn_saver_start(saver);
	sem_post(&slow.go);
	ok(nn_saver_take(saver, true, &saved) && saved.status < 0 &&
		   strcmp(saved.why.text, "write 2: disk full") == 0,
	   "saver: a write that failed says why");

	nn_saver_start(saver);
	sem_post(&slow.go);
	nn_saver_free(saver);
	ok(atomic_load(&slow.writes) == 3,
	   "saver: a write that was started is ended before the thread goes");
	sem_destroy(&slow.begun);
	sem_destroy(&slow.go);
}

static int add_one(void *arg, struct nn_error *err)
{
	(void)err;
	++*(long *)arg;
	return 0;
}

static void test_many(void)
{
	struct nn_saver *saver = NULL;
	struct nn_saved saved;
	long sum = 0, polls = 0;
	bool good = true;

	if (nn_saver_new(&saver, add_one, &sum, NULL) < 0)
		return;
	for (long i = 1; i <= 20000 && good; i++) {
		nn_saver_start(saver);
		if (i % 2)
			good = nn_saver_take(saver, true, &saved);
		else
			while (!nn_saver_take(saver, false, &saved))
				polls++;
		good = good && saved.status == 0 && sum == i;
	}
	nn_saver_free(saver);
	ok(good, "saver: 20000 writes, each seen whole by its owner, waited for or asked after");
	note("%ld times asked in vain", polls);
	nn_saver_free(NULL);
}

int main(void)
{
	test_slow_output();
	test_many();
	return tap_done();
}
