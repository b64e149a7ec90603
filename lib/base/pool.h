/* A pool of threads that share the pieces of a job; whoever runs a graph passes one. */
#ifndef NN_BASE_POOL_H
#define NN_BASE_POOL_H

#include <stddef.h>

struct nn_error;
struct nn_pool;

/*
 * A pool of `threads` threads, the caller of nn_pool_run counted in; 1 gives *pool = NULL. 0 or -1.
 */
int nn_pool_new(struct nn_pool **pool, int threads, struct nn_error *err);
void nn_pool_free(struct nn_pool *pool);         /* NULL allowed */
int nn_pool_threads(const struct nn_pool *pool); /* NULL: 1 */

/*
 * Run piece(arg, i, thread) for i in 0..pieces-1 on all threads, the caller's too (thread
 * 0..threads-1), and wait. Thread t of T begins with pieces t * pieces / T and on, in order; a
 * thread that is done helps the others from their ends. Fewer than 2^32 pieces. Waiting threads spin
 * about 20 us, then sleep on a futex; to them subnormals are zero (base/flush.h). One run at a time;
 * not from inside a piece. pool NULL: all in the caller's thread.
 */
void nn_pool_run(struct nn_pool *pool, size_t pieces,
		 void (*piece)(void *arg, size_t i, int thread), void *arg);

/*
 * Threads this process should use: affinity, cut by the cgroup's cpu limit rounded up; at least 1.
 * Cores of all kinds count: fast ones take more pieces of a job than slow ones.
 */
int nn_cpu_count(void);

/* The processor as it calls itself, "unknown" where the system does not say. Returns the buffer. */
#define NN_CPU_NAME 128
char *nn_cpu_name(char buffer[NN_CPU_NAME]);
/* The same from another file than /proc/cpuinfo. */
char *nn_cpu_name_in(const char *path, char buffer[NN_CPU_NAME]);

#endif
