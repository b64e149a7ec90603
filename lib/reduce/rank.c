/* A rank of nn-allreduce: its output, its errors, and a tensor of all ranks. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "reduce/rank.h"

#define PIECE ((size_t)4 << 20) /* bytes at a time: some chunks of an all-reduce */

char *nn_allreduce_name(const char *pattern, int rank, struct nn_error *err)
{
	struct nn_text text = { 0 };
	const char *at;
	char *result;

	for (; (at = strstr(pattern, "%r")); pattern = at + 2) {
		nn_text_add_bytes(&text, pattern, (size_t)(at - pattern));
		nn_text_addf(&text, "%d", rank);
	}
	nn_text_add(&text, pattern);
	result = text.failed ? NULL : nn_strdup(text.data, err);
	if (text.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate memory for a name");
	nn_text_free(&text);
	return result;
}

int nn_rank_open_output(struct nn_rank *r, struct nn_error *err)
{
	const char *pattern = r->job->std->output;
	bool each =
		pattern ? strstr(pattern, "%r") != NULL : r->job->options->stream && !r->attached;
	bool terminal_is_none =
		!pattern && !r->attached &&
		r->comm->size > 1; /* mpirun's end of a rank's output looks like one */

	if (!each && r->comm->rank > 0)
		return 0;
	r->output_name = pattern ? nn_allreduce_name(pattern, r->comm->rank, err) : NULL;
	if (pattern && !r->output_name)
		return -1;
	return nn_output_open(&r->output, r->output_name, !terminal_is_none, err);
}

/* ---- the reduction ---- */

int nn_rank_said_by_first(const struct nn_rank *r, int status, struct nn_error *err)
{
	return status < 0 && r->comm->rank > 0 ? (int)err->code : status;
}

int nn_rank_fail(const struct nn_rank *r, struct nn_error *err)
{
	const char *pattern = r->job->n ? r->job->files[0] : "-";

	return r->comm->size > 1 && !strstr(pattern, "%r")
		       ? nn_fail_at(err, "rank %d", r->comm->rank)
		       : -1;
}

int nn_rank_reduce(struct nn_rank *r, const struct nn_st_tensor *t, char *whole,
		   struct nn_error *err)
{
	const struct nn_reduce reduce = { t->dtype, (enum nn_reduce_op)r->job->options->op,
					  (size_t)r->comm->size };
	struct nn_reduce_found all = { 0, SIZE_MAX };
	size_t size = nn_dtype_size(t->dtype), count = nn_shape_count(&t->shape), at = 0, piece;

	if (!whole && nn_block_reserve(&r->result, PIECE, err) < 0)
		return -1;
	do {
		struct nn_reduce_found found;
		const void *values;
		char *out = whole ? whole + at * size : r->result.data;

		piece = count - at < PIECE / size ? count - at : PIECE / size;
		if (nn_arrays_read(&r->arrays, t, at, piece, &values, err) < 0)
			return nn_rank_fail(r, err);
		if (piece && nn_comm_allreduce(r->comm, &reduce,
					       (enum nn_algorithm)r->job->options->algorithm,
					       values, out, piece, &found, err) < 0)
			return -1;
		all.nan += piece ? found.nan : 0;
		if (piece && found.overflow != SIZE_MAX) {
			all.overflow = at + found.overflow;
			break;
		}
		if (!whole && r->output && nn_output_write(r->output, out, piece * size, err) < 0)
			return -1;
		at += piece;
	} while (at < count);
	r->found = all;
	if (all.overflow == SIZE_MAX &&
	    (r->comm->rank > 0 || r->job->options->stream)) /* frames are counted together */
		return 0;
	return nn_rank_said_by_first(r, nn_arrays_found(&r->job->host, &reduce, t, &all, err), err);
}
