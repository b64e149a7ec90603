/* Inside the device of the tests: its queue, and what kernels that it runs later are told. */
#ifndef TESTS_DEVICE_APART_INSIDE_H
#define TESTS_DEVICE_APART_INSIDE_H

#include "apart.h"

struct job;

struct nn_apart_jobs {
	struct job *first, **end;
};

struct nn_apart_queue {
	struct nn_queue head;
	const struct nn_device *cpu;
	struct nn_apart_jobs jobs;
	struct nn_recording *recording; /* NULL: nothing is being noted */
	uint64_t asked, done;
	const char *failed; /* what did, since the last wait */
};

extern const struct nn_remote nn_apart_remote;

/* `bytes` of zeros that run finds when the queue comes to it. */
void *nn_apart_ask(struct nn_queue *queue, void (*run)(struct nn_apart_queue *queue, void *what),
		   size_t bytes);
/* Where kernels and copies find what a device pointer means. */
void *nn_apart_at(const void *p);
struct nn_row_list nn_apart_list(const struct nn_row_list *list);
void nn_apart_check_pinned(const void *p, size_t bytes);
__attribute__((noreturn)) void nn_apart_stop(const char *what);

/* The kernels of ops; losses, optimizers and sums. */
void nn_apart_kernels(const struct nn_device *cpu, struct nn_kernel *own,
		      const struct nn_kernel **table);
void nn_apart_functions(struct nn_device *device);

#endif
