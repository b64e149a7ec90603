/*
 * Values that stay in their file until they are wanted, so that large weights go from there to where
 * they are packed, and lie nowhere else.
 *
 * They are read, not mapped: a file that is cut must not become a SIGBUS. Another file that takes
 * its name does no harm.
 */
#include <errno.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "file/convert.h"
#include "file/safetensors.h"

#define HERE UINT64_MAX

struct nn_st_later {
	int fd, kept; /* kept: values that do not lie in the file as they are; -1 */
	char *name;
	uint64_t *at; /* [n_tensors], HERE: in memory; with NN_ST_KEPT of `kept` */
};

int nn_st_later_open(struct nn_st *st, int fd, const char *name, struct nn_error *err)
{
	struct nn_st_later *later = st->later = nn_alloc(1, sizeof *later, err);

	if (!later) {
		close(fd);
		return -1;
	}
	later->fd = fd;
	later->kept = -1;
	later->name = nn_strdup(name, err);
	later->at = nn_alloc(st->n_tensors, sizeof *later->at, err);
	for (size_t i = 0; later->at && i < st->n_tensors; i++)
		later->at[i] = HERE;
	return later->name && later->at ? 0 : -1;
}

void nn_st_later_set(struct nn_st *st, size_t i, uint64_t at)
{
	st->later->at[i] = at;
	st->tensors[i].data = NULL;
}

void nn_st_later_keep(struct nn_st *st, int fd)
{
	st->later->kept = fd;
}

void nn_st_later_close(struct nn_st *st)
{
	struct nn_st_later *later = st->later;

	st->later = NULL;
	if (!later)
		return;
	close(later->fd);
	if (later->kept >= 0)
		close(later->kept);
	nn_free(later->name);
	nn_free(later->at);
	nn_free(later);
}

bool nn_st_later_place(const struct nn_st *st, const struct nn_st_tensor *tensor, int *fd,
		       uint64_t *at)
{
	size_t i = (size_t)(tensor - st->tensors);

	if (!st->later || st->later->at[i] == HERE)
		return false;
	*fd = st->later->at[i] & NN_ST_KEPT ? st->later->kept : st->later->fd;
	*at = st->later->at[i] & ~NN_ST_KEPT;
	return true;
}

static int read_at(const struct nn_st_later *later, uint64_t at, char *bytes, size_t n,
		   struct nn_error *err)
{
	if (nn_read_at(at & NN_ST_KEPT ? later->kept : later->fd, bytes, n, at & ~NN_ST_KEPT))
		return 0;
	return errno ? nn_fail_errno(err, NN_EFAIL, "%s: cannot read", later->name)
		     : nn_fail(err, NN_EFORMAT, "%s: ends early, it was cut while it was read",
			       later->name);
}

int nn_st_values(const struct nn_st *st, const struct nn_st_tensor *tensor, const void **values,
		 void **read, struct nn_error *err)
{
	size_t i = (size_t)(tensor - st->tensors), n = nn_shape_count(&tensor->shape),
	       size = nn_dtype_size(tensor->dtype);

	*values = tensor->data;
	*read = NULL;
	if (!st->later || st->later->at[i] == HERE)
		return 0;
	*values = *read = nn_alloc(n, size, err);
	if (*read && read_at(st->later, st->later->at[i], *read, n * size, err) == 0)
		return 0;
	nn_free(*read);
	return -1;
}

/* Values of another type come through a small buffer. */
static int read_values(const struct nn_st_later *later, uint64_t at, enum nn_dtype from, size_t n,
		       enum nn_dtype dtype, char *values, struct nn_error *err)
{
	size_t size = nn_dtype_size(from), some;
	_Alignas(NN_ALIGN) char part[16384];

	if (from == dtype)
		return read_at(later, at, values, n * size, err);
	for (size_t done = 0; done < n; done += some) {
		some = n - done < sizeof part / size ? n - done : sizeof part / size;
		if (read_at(later, at + done * size, part, some * size, err) < 0)
			return -1;
		nn_convert(from, part, some, dtype, values + done * nn_dtype_size(dtype));
	}
	return 0;
}

int nn_st_some(const struct nn_st *st, const struct nn_st_tensor *tensor, enum nn_dtype dtype,
	       size_t first, size_t n, void *values, struct nn_error *err)
{
	size_t i = (size_t)(tensor - st->tensors), before = first * nn_dtype_size(tensor->dtype);
	struct nn_st_tensor some = *tensor;

	if (st->later && st->later->at[i] != HERE)
		return read_values(st->later, st->later->at[i] + before, tensor->dtype, n, dtype,
				   values, err);
	some.shape = nn_shape1(n);
	some.data = (const char *)tensor->data + before;
	return nn_st_get(&some, dtype, values, err);
}
