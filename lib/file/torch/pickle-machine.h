/* Inside the pickle machine: its stack and values. Opcodes are in pickle.c. */
#ifndef NN_FILE_PICKLE_MACHINE_H
#define NN_FILE_PICKLE_MACHINE_H

#include "file/torch/pickle.h"

struct nn_pickle_machine {
	struct nn_pickle *p;
	const struct nn_pickle_name *names;
	const unsigned char *bytes, *at, *end;
	uint32_t *stack, *marks, *memo;
	uint32_t n_stack, n_marks, n_memo;
	uint32_t values_room, items_room, stack_room, marks_room, memo_room;
	struct nn_error *err;
};

/* The pickle WHAT at byte N. */
int nn_pickle_fail(const struct nn_pickle_machine *m, const char *what);
/* Room for one more of n elements of `size` bytes. */
int nn_pickle_grow(struct nn_pickle_machine *m, void *list, uint32_t n, uint32_t *room,
		   size_t size);

/* A value that there is, or a new one, onto the stack. */
int nn_pickle_push_old(struct nn_pickle_machine *m, uint32_t value);
int nn_pickle_push(struct nn_pickle_machine *m, const struct nn_pickle_value *value);
int nn_pickle_push_int(struct nn_pickle_machine *m, enum nn_pickle_kind kind, int64_t i);
/* Values above the last mark, or all there are; fail where they are fewer than n. */
uint32_t nn_pickle_above(const struct nn_pickle_machine *m);
int nn_pickle_need(const struct nn_pickle_machine *m, uint32_t n);
/* The value `depth` below the top of the stack, valid until the next push. */
struct nn_pickle_value *nn_pickle_under(struct nn_pickle_machine *m, uint32_t depth);
/* The uppermost n values become a tuple. */
int nn_pickle_tuple(struct nn_pickle_machine *m, uint32_t n);
/* The uppermost n values go into the list or, by pairs, into the dict below them. */
int nn_pickle_put(struct nn_pickle_machine *m, uint32_t n, enum nn_pickle_kind kind);
/* `size` bytes, little endian, that come next. */
int nn_pickle_number(struct nn_pickle_machine *m, int size, uint64_t *value);

#endif
