/* A rank of nn-allreduce: its file among those of the others. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "comm/peers.h"
#include "reduce/rank.h"

#define PIECE ((size_t)4 << 20) /* bytes at a time: some chunks of an all-reduce */
#define EXPLAIN_S 3 /* before a silent end, in which the rank that explains it ends all */

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

static int reduce_tensors(struct nn_rank *r, struct nn_error *err)
{
	const struct nn_st *st = r->arrays.st;
	struct nn_st_tensor *results = nn_alloc(st->n_tensors, sizeof *results, err);
	struct nn_block block = { 0 };
	size_t bytes = 0, at = 0;
	int status = results ? 0 : -1;

	for (size_t i = 0; i < st->n_tensors; i++)
		bytes += (nn_shape_count(&st->tensors[i].shape) *
				  nn_dtype_size(st->tensors[i].dtype) +
			  63) /
			 64 * 64;
	if (status == 0)
		status = nn_block_reserve(&block, bytes + 1, err);
	for (size_t i = 0; i < st->n_tensors && status == 0; i++) {
		results[i] = st->tensors[i];
		results[i].data = nn_block_at(&block, at);
		status = nn_rank_reduce(r, &st->tensors[i], (char *)nn_block_at(&block, at), err);
		at += (nn_shape_count(&st->tensors[i].shape) * nn_dtype_size(st->tensors[i].dtype) +
		       63) /
		      64 * 64;
	}
	if (status == 0 && r->output)
		status = nn_arrays_write(&r->arrays, r->output, results, err);
	nn_block_free(&block);
	nn_free(results);
	return status;
}

static int reduce_file(struct nn_rank *r, struct nn_error *err)
{
	const struct nn_st_tensor *t;

	if (nn_arrays_open(&r->arrays, r->input_name, err) < 0 ||
	    nn_arrays_compare_ranks(&r->arrays, r->comm, err) < 0)
		return nn_rank_fail(r, err);
	if (r->arrays.st)
		return reduce_tensors(r, err);
	t = &r->arrays.tensors[0];
	if (r->output && nn_npy_write_header(r->output, t->dtype, &t->shape, err) < 0)
		return -1;
	return nn_rank_reduce(r, t, NULL, err);
}

/* ---- a rank's life ---- */

static int run(struct nn_rank *r, struct nn_error *err)
{
	const struct nn_allreduce_options *options = r->job->options;
	uint64_t ranks = r->job->ranks->ranks;
	int status = -1;

	if (ranks && ranks != (uint64_t)r->comm->size)
		return nn_fail(err, NN_EUSAGE, "--ranks=%" PRIu64 ": this is a rank of %d", ranks,
			       r->comm->size);
	r->input_name = nn_allreduce_name(r->job->n ? r->job->files[0] : "-", r->comm->rank, err);
	if (!r->input_name)
		return -1;
	status = nn_rank_agree(r, err);
	if (status)
		return status;
	status = -1;
	if (options->algorithm == NN_ALGORITHM_AUTO && nn_comm_measure(r->comm, err) < 0)
		return -1;
	if (options->bench)
		return nn_allreduce_bench(r->job, r->comm, err);
	if (options->stream)
		status = nn_rank_stream(r, err);
	else if (nn_rank_open_output(r, err) == 0)
		status = reduce_file(r, err);
	if (status == 0 && r->output) {
		status = nn_output_commit(r->output, err);
		r->output = NULL;
	}
	return status;
}

static void lost(void *arg, struct nn_error *err)
{
	const struct nn_rank *r = arg;

	nn_comm_abort(r->comm, r->job->host.end(-1, err)); /* MPI ends this process, too */
}

int nn_allreduce_rank(const struct nn_allreduce *job, struct nn_error *err)
{
	struct nn_rank r = { .job = job };
	struct nn_attach *attach = NULL;
	struct nn_peers *peers = NULL;
	int status = nn_attach(&attach, err);

	job->host.attach(attach);
	r.attached = attach != NULL;
	if (status == 0)
		status = nn_attach_check_streams(attach, (const char *const *)job->files,
						 job->n > 0, job->std->output, err);
	if (status == 0)
		status = nn_comm_open(&r.comm, false, err);
	if (status == 0)
		status = nn_peers_watch(&peers, r.comm, lost, &r, err);
	if (status < 0)
		return -1;
	status = run(&r, err);
	nn_output_abort(r.output);
	nn_arrays_close(&r.arrays);
	nn_block_free(&r.result);
	nn_free(r.input_name);
	nn_free(r.output_name);
	if (status == 0 || r.comm->size == 1) {
		nn_peers_end(peers);
		nn_attach_leave(attach, r.comm, status, err);
	} else if (status > 0)
		sleep(EXPLAIN_S);
	else if (!attach) /* MPI ends this process, too */
		nn_comm_abort(r.comm, job->host.end(status, err));
	return status;
}
