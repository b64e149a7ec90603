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
	uint64_t marks[2];  /* asked, when they were made */
	double moments[NN_MOMENTS];
	const char *failed; /* what did, since the last wait */
	void *sums;         /* cuda-host.c */
};

extern const struct nn_remote nn_apart_remote;

/* `bytes` of zeros that run finds when the queue comes to it. */
void *nn_apart_ask(struct nn_queue *queue, void (*run)(struct nn_apart_queue *queue, void *what),
		   size_t bytes);

/* ---- apart-memory.c ---- */

#define NN_APART_MEMORY ((size_t)1 << 37)

struct nn_apart_block {
	char *at;
	size_t bytes;
};

/* The device's memory, and what of the host's is pinned. */
struct nn_apart_region {
	char *begin;
	size_t used;
	struct nn_apart_block *blocks; /* [n] that are taken; room for more */
	size_t n, room;
	size_t held, most; /* bytes of these, now and at most */
};
extern struct nn_apart_region nn_apart_there, nn_apart_pinned;

int nn_apart_map(struct nn_error *err);
void *nn_apart_take(struct nn_apart_region *region, size_t bytes, struct nn_error *err);
bool nn_apart_lies_in(const struct nn_apart_region *region, const void *p, size_t bytes);
/* It is no longer taken; and nobody may touch it any more. */
struct nn_apart_block nn_apart_give(struct nn_apart_region *region, void *memory);
void nn_apart_close(const struct nn_apart_block *block);
/* Where kernels and copies find what a device pointer means. */
void *nn_apart_at(const void *p);
void nn_apart_check_pinned(const void *p, size_t bytes);
__attribute__((noreturn)) void nn_apart_stop(const char *what);

/* ---- apart-ops.c, apart-functions.c ---- */

struct nn_row_list nn_apart_list(const struct nn_row_list *list);

/* The kernels of ops; losses, optimizers and sums. */
void nn_apart_kernels(const struct nn_device *cpu, struct nn_kernel *own,
		      const struct nn_kernel **table);
void nn_apart_functions(struct nn_device *device);

#endif
