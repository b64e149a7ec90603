/*
 * Frames of a rank: .npy arrays that follow each other, reduced step after step.
 *
 * The FIFO that is read is opened first, then the one that is written. An operand without %r is an
 * error under --ranks alone: under mpirun each machine may have a file of that name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "reduce/rank.h"

struct stream_frame {
	bool there;
	enum nn_dtype dtype;
	struct nn_shape shape;
};

/*
 * Is there a frame on all ranks (1) or on none (0)? Of those that differ from rank 0 each speaks
 * for itself.
 */
static int agree(struct nn_rank *r, const struct stream_frame *mine, struct stream_frame *all,
		 uint64_t number, struct nn_error *err)
{
	char shape[NN_SHAPE_TEXT], expected[NN_SHAPE_TEXT];
	const char *many = number == 2 ? "" : "s";
	bool differs = false;

	if (nn_comm_all_gather(r->comm, mine, all, sizeof *mine, err) < 0)
		return -1;
	if (mine->there != all[0].there)
		return mine->there
			       ? nn_fail(err, NN_EFORMAT,
					 "%s: goes on after %" PRIu64 " frame%s, rank 0 has ended",
					 r->input_name, number - 1, many)
			       : nn_fail(err, NN_EFORMAT,
					 "%s: ends after %" PRIu64 " frame%s, rank 0 goes on",
					 r->input_name, number - 1, many);
	if (mine->there && mine->dtype != all[0].dtype)
		return nn_fail(err, NN_EFORMAT,
			       "%s: frame %" PRIu64 ": found %s, expected %s as on rank 0",
			       r->input_name, number, nn_dtype_name(mine->dtype),
			       nn_dtype_name(all[0].dtype));
	if (mine->there && !nn_shape_equal(&mine->shape, &all[0].shape))
		return nn_fail(err, NN_EFORMAT,
			       "%s: frame %" PRIu64 ": found shape %s, expected %s as on rank 0",
			       r->input_name, number, nn_shape_text(shape, &mine->shape),
			       nn_shape_text(expected, &all[0].shape));
	for (int i = 1; i < r->comm->size; i++)
		differs |= memcmp(&all[i], &all[0], sizeof *all) != 0;
	return differs ? 2 : mine->there;
}

/* The first frame with NaN is reported as it comes, further ones at the end. */
static void tell_nan(const struct nn_rank *r, uint64_t number, uint64_t *frames)
{
	const struct nn_allreduce_host *host = &r->job->host;
	char text[120];

	if (r->found.nan == 0 || (*frames)++ > 0 || r->comm->rank > 0)
		return;
	snprintf(text, sizeof text, "frame %" PRIu64 ": %zu of %zu value%s of the result %s NaN",
		 number, r->found.nan, nn_shape_count(&r->arrays.one.shape),
		 nn_s(nn_shape_count(&r->arrays.one.shape)), r->found.nan == 1 ? "is" : "are");
	host->warn(host->arg, text);
}

static void tell_all_nan(const struct nn_rank *r, uint64_t number, uint64_t frames)
{
	const struct nn_allreduce_host *host = &r->job->host;
	char text[120];

	if (frames < 2 || r->comm->rank > 0)
		return;
	snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " frames of the result have NaN",
		 frames, number);
	host->warn(host->arg, text);
}

/*
 * A program at the other ends of two FIFOs is expected to open first the one that it writes: so
 * does this.
 */
int nn_rank_stream(struct nn_rank *r, struct nn_error *err)
{
	struct stream_frame *all = nn_alloc((size_t)r->comm->size, sizeof *all, err);
	uint64_t number, nan = 0;
	int status = all ? nn_arrays_open_stream(&r->arrays, r->input_name, err) : -1;

	r->found.overflow = SIZE_MAX;
	if (all && status < 0)
		nn_rank_fail(r, err);
	if (status == 0)
		status = nn_rank_open_output(r, err);
	for (number = 1; status == 0; number++) {
		struct stream_frame mine;
		int there = nn_arrays_next(&r->arrays, err);

		memset(&mine, 0, sizeof mine); /* padding is compared too */
		mine.there = there > 0;
		mine.dtype = r->arrays.one.dtype;
		mine.shape.rank = r->arrays.one.shape.rank;
		for (int i = 0; i < mine.shape.rank; i++)
			mine.shape.dim[i] = r->arrays.one.shape.dim[i];
		there = there < 0 ? -1 : agree(r, &mine, all, number, err);
		if (there < 0)
			nn_rank_fail(r, err);
		status = there < 0 ? -1 : there == 2 ? NN_EFORMAT : 0;
		if (there != 1)
			break;
		if (r->output && nn_npy_write_header(r->output, mine.dtype, &mine.shape, err) < 0)
			status = -1;
		if (status == 0)
			status = nn_rank_reduce(r, &r->arrays.one, NULL, err);
		if (status < 0 && r->found.overflow != SIZE_MAX)
			nn_fail_at(err, "frame %" PRIu64, number);
		if (status == 0)
			tell_nan(r, number, &nan);
		if (status == 0 && r->output)
			status = nn_output_flush(r->output, err);
	}
	if (status == 0)
		tell_all_nan(r, number - 1, nan);
	nn_free(all);
	return status;
}
