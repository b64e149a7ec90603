/*
 * A device with memory of its own: its queue of work, its memory, and the doors by which the host
 * reaches it. All functions take a queue; NULL is the CPU, whose memory is the host's and whose
 * calls return when their work is done.
 */
#ifndef NN_DEVICE_QUEUE_H
#define NN_DEVICE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct nn_device;
struct nn_count_call;
struct nn_now;

/*
 * Work in the order of its calls. A module's own struct begins with this one. One thread at a time.
 * A call never fails: nn_queue_wait reports the failures.
 */
struct nn_queue {
	const struct nn_remote *remote;
	uint64_t turn;    /* number of marks and waits: what is asked now is of the next turn */
	uint64_t reached; /* turns up to this one are known to be done */
	uint64_t marks[2];
	void *bounce; /* pinned memory of nn_queue_read and nn_queue_write; NULL: not needed yet */
	struct nn_error error; /* the first failure not yet reported */
	bool failed;
};

/* Work noted once, a step with its cut into leaves, and asked for again as one. */
struct nn_recording;

/*
 * Losses summed leaf by leaf: nn_sum of the rows leaf[i] to leaf[i + 1] - 1 of row_loss, real, goes
 * to losses[i * step]; leaf alone is host memory. now: as nn_device.hold of all of them; NULL: not.
 */
struct nn_losses_call {
	const struct nn_device *device;
	const void *row_loss;
	const size_t *leaf; /* [n + 1] */
	size_t n, step;
	double *losses;
	struct nn_now *now;
	struct nn_queue *queue;
};

#define NN_MOMENTS 4

/* What a device with memory of its own offers beside kernels. */
struct nn_remote {
	/* Bytes of the device's memory that can be taken now. */
	int (*room)(const struct nn_device *device, size_t *bytes, struct nn_error *err);
	/* The first queue makes the device's context; nn_device_open must not. */
	struct nn_queue *(*open)(const struct nn_device *device, struct nn_error *err);
	void (*close)(struct nn_queue *queue);
	/* Device memory, zeroed in the queue's order, aligned to 256. */
	void *(*alloc)(struct nn_queue *queue, size_t bytes, struct nn_error *err);
	void (*free)(struct nn_queue *queue, void *memory);
	/* Pinned host memory, zeroed: the host's side of every copy. */
	void *(*alloc_host)(struct nn_queue *queue, size_t bytes, struct nn_error *err);
	void (*free_host)(struct nn_queue *queue, void *memory);
	/* In the queue's order; the host's side must stay as it is until it was waited for. */
	void (*copy_in)(struct nn_queue *queue, void *to, const void *from, size_t bytes);
	void (*copy_out)(struct nn_queue *queue, void *to, const void *from, size_t bytes);
	/* Within the device; copy_lines: lines of `bytes`, their beginnings a stride apart. */
	void (*copy)(struct nn_queue *queue, void *to, const void *from, size_t bytes);
	void (*copy_lines)(struct nn_queue *queue, void *to, size_t to_line, const void *from,
			   size_t from_line, size_t bytes, size_t lines);
	void (*clear)(struct nn_queue *queue, void *memory, size_t bytes);
	/* What is asked of queue from now on happens after what was asked of other until now. */
	void (*after)(struct nn_queue *queue, struct nn_queue *other);
	/*
	 * Until all is done. -1: what failed first since the last wait, with the kernel's name; of
	 * a device that is lost every wait fails (NN_ENODEV).
	 */
	int (*wait)(struct nn_queue *queue, struct nn_error *err);
	/*
	 * Until what was asked before a mark, one of two, is done; what was asked since may go on.
	 * reach reports as wait does. Both NULL, or neither.
	 */
	void (*mark)(struct nn_queue *queue, int which);
	int (*reach)(struct nn_queue *queue, int which, struct nn_error *err);
	/*
	 * By the device's own clock: moment `which`, of NN_MOMENTS, is when what was asked before
	 * it is done. Seconds from one to another, after a wait.
	 */
	void (*moment)(struct nn_queue *queue, int which);
	double (*between)(struct nn_queue *queue, int from, int to);
	/* Lines of `bytes`, a multiple of 4, by number: n of them; rows in device memory, too. */
	void (*gather)(struct nn_queue *queue, void *to, const void *from, const uint32_t *rows,
		       size_t bytes, size_t n);
	/*
	 * From record on, work is noted and not done, until recorded gives it; in between nothing
	 * may be allocated, waited for or read. replay asks for it again: arrays are read where
	 * they were, struct nn_now with the values of that time. record NULL: the device cannot.
	 */
	int (*record)(struct nn_queue *queue, struct nn_error *err);
	struct nn_recording *(*recorded)(struct nn_queue *queue, struct nn_error *err);
	void (*replay)(struct nn_queue *queue, const struct nn_recording *recording);
	void (*forget)(struct nn_recording *recording);
	/*
	 * What nn_device has for a leaf, for all of them at once; NULL: it is asked for each leaf.
	 * Counts of the rows leaf[i] to leaf[i + 1] - 1 of the call's go `step` doubles after those
	 * of leaf i - 1.
	 */
	void (*sum_losses)(const struct nn_losses_call *call);
	void (*count_leaves)(const struct nn_device *device, const struct nn_count_call *call,
			     const size_t *leaf, size_t n, size_t step);
	/*
	 * What all of the device can do; NULL: it cannot say. fma: rounds of multiply-adds in
	 * registers alone, in the device's type; the FLOP asked for. read: `bytes`, a multiple of
	 * 16 and aligned to as many, so many times.
	 */
	double (*fma)(const struct nn_device *device, struct nn_queue *queue, size_t rounds);
	void (*read)(struct nn_queue *queue, const void *memory, size_t bytes, size_t rounds);
};

/* *queue is NULL for a device whose memory is the host's. */
int nn_queue_open(struct nn_queue **queue, const struct nn_device *device, struct nn_error *err);
void nn_queue_close(struct nn_queue *queue);
/* err NULL: a failure is kept for the next wait that can tell it. */
int nn_queue_wait(struct nn_queue *queue, struct nn_error *err);
/* nn_remote.mark and reach, of a device that has them. */
void nn_queue_mark(struct nn_queue *queue, int which);
int nn_queue_reach(struct nn_queue *queue, int which, struct nn_error *err);

/* Memory of the queue's device, zeroed. */
void *nn_memory_new(struct nn_queue *queue, size_t bytes, struct nn_error *err);
void nn_memory_free(struct nn_queue *queue, void *memory);
/* Host memory that copies may use, zeroed. */
void *nn_pinned_new(struct nn_queue *queue, size_t bytes, struct nn_error *err);
void nn_pinned_free(struct nn_queue *queue, void *memory);

/* Within the device's memory, in the queue's order. */
void nn_queue_copy(struct nn_queue *queue, void *to, const void *from, size_t bytes);
void nn_queue_copy_lines(struct nn_queue *queue, void *to, size_t to_line, const void *from,
			 size_t from_line, size_t bytes, size_t lines);
void nn_queue_clear(struct nn_queue *queue, void *memory, size_t bytes);
/*
 * Between device memory and any memory of the host, done on return: for what is rare, such as
 * checkpoints. What is moved in every step has a mirror.
 */
void nn_queue_read(struct nn_queue *queue, void *to, const void *from, size_t bytes);
void nn_queue_write(struct nn_queue *queue, void *to, const void *from, size_t bytes);

/*
 * Device memory and the host's copy of it; on the CPU the two are the same memory, and send and
 * fetch do nothing.
 */
struct nn_mirror {
	void *host, *there;
	uint64_t sent; /* the queue's turn in which it was last sent; 0: never */
	bool lent;     /* `there` is another's memory */
	/* the host side that is not in use, number !side, and when it was sent; NULL: none */
	void *other;
	uint64_t other_sent;
	int side;
};

int nn_mirror_new(struct nn_mirror *mirror, struct nn_queue *queue, size_t bytes,
		  struct nn_error *err);
/*
 * Of memory that is there already; there NULL: pinned memory alone, for blocks that are named when
 * they are read (nn_mirror_read).
 */
int nn_mirror_of(struct nn_mirror *mirror, struct nn_queue *queue, void *there, size_t bytes,
		 struct nn_error *err);
void nn_mirror_free(struct nn_mirror *mirror, struct nn_queue *queue);
/*
 * A second host side, for work of which one turn is asked while that before it is under way: from
 * nn_mirror_use on the host's side is number `side`, 0 or 1. Of the host's own memory there is one.
 */
int nn_mirror_double(struct nn_mirror *mirror, struct nn_queue *queue, size_t bytes,
		     struct nn_error *err);
void nn_mirror_use(struct nn_mirror *mirror, int side);
/* The host's side, to be written: waits where it is on its way. */
void *nn_mirror_write(struct nn_mirror *mirror, struct nn_queue *queue);
/* `bytes` from byte `at` on, in the queue's order; what was fetched is there after a wait. */
void nn_mirror_send(struct nn_mirror *mirror, struct nn_queue *queue, size_t at, size_t bytes);
void nn_mirror_fetch(const struct nn_mirror *mirror, struct nn_queue *queue, size_t at,
		     size_t bytes);
/*
 * From now on the mirror is of `there`; the host's side, to be written, or with the first `bytes`
 * bytes of what is there.
 */
void *nn_mirror_move(struct nn_mirror *mirror, struct nn_queue *queue, void *there);
void *nn_mirror_read(struct nn_mirror *mirror, struct nn_queue *queue, void *there, size_t bytes);

#endif
