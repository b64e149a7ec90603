/* One descriptor, several readers, and the bytes between the first of them and the last. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "file/bytes.h"
#include "file/tee.h"

struct nn_tee {
	int fd;
	size_t n, joined;
	uint64_t *at;   /* [n] how many bytes each reader has taken */
	uint64_t begin; /* place of the first byte that is kept */
	struct nn_block bytes;
	size_t have;
};

int nn_tee_new(struct nn_tee **tee, int fd, size_t readers, struct nn_error *err)
{
	struct nn_tee *t = nn_alloc(1, sizeof *t, err);

	if (!t)
		return -1;
	t->fd = fd;
	t->n = readers;
	t->at = nn_alloc(readers, sizeof *t->at, err);
	if (!t->at) {
		nn_tee_free(t);
		return -1;
	}
	*tee = t;
	return 0;
}

void nn_tee_free(struct nn_tee *t)
{
	if (!t)
		return;
	nn_block_free(&t->bytes);
	nn_free(t->at);
	nn_free(t);
}

size_t nn_tee_join(struct nn_tee *t)
{
	if (t->joined == t->n)
		NN_BUG("a tee of %zu readers has no room for another", t->n);
	return t->joined++;
}

/* Forget what all have taken; what is left moves when it is no more than was forgotten. */
static void drop(struct nn_tee *t)
{
	uint64_t least = t->at[0];
	size_t taken;

	for (size_t i = 1; i < t->n; i++)
		least = t->at[i] < least ? t->at[i] : least;
	taken = (size_t)(least - t->begin);
	if (taken < t->have - taken)
		return;
	if (t->have > taken)
		memcpy(t->bytes.data, nn_block_at(&t->bytes, taken), t->have - taken);
	t->begin = least;
	t->have -= taken;
}

static ssize_t read_more(struct nn_tee *t, void *bytes, size_t room)
{
	struct nn_error err;
	ssize_t n = nn_read_some(t->fd, bytes, room);

	if (n <= 0)
		return n;
	if (nn_block_reserve(&t->bytes, t->have + (size_t)n, &err) < 0) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(nn_block_at(&t->bytes, t->have), bytes, (size_t)n);
	t->have += (size_t)n;
	return n;
}

void nn_tee_leave(struct nn_tee *t, size_t reader)
{
	t->at[reader] = UINT64_MAX;
	drop(t);
}

bool nn_tee_holds(const struct nn_tee *t, size_t reader)
{
	return t->at[reader] < t->begin + t->have;
}

ssize_t nn_tee_read(struct nn_tee *t, size_t reader, void *bytes, size_t room)
{
	size_t from = (size_t)(t->at[reader] - t->begin), n = t->have - from;
	ssize_t got;

	if (n == 0) {
		got = read_more(t, bytes, room);
		if (got <= 0)
			return got;
		n = (size_t)got;
	} else {
		n = n < room ? n : room;
		memcpy(bytes, nn_block_at(&t->bytes, from), n);
	}
	t->at[reader] += n;
	drop(t);
	return (ssize_t)n;
}
