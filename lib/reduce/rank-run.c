/* A rank's life in nn-allreduce: what is checked, its file or stream, and its end. */
#include <inttypes.h>
#include <unistd.h>

#include "base/memory.h"
#include "comm/peers.h"
#include "reduce/rank.h"

#define EXPLAIN_S 3 /* before a silent end, in which the rank that explains it ends all */

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
