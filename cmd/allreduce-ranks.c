/* A rank of nn-allreduce: its file among those of the others, or its frames, step after step; and the process that starts ranks. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cmd/allreduce.h"
#include "comm/launch.h"

#define PIECE ((size_t)4 << 20)        /* bytes at a time: what an all-reduce takes as one chunk */
#define EXPLAIN_S 3                    /* before a silent end, in which the rank that explains it ends all */

struct rank {
	const struct allreduce_options *options;
	struct nn_comm *comm;
	struct source source;
	struct nn_output *output;    /* NULL: this rank writes nothing */
	char *input_name, *output_name;
	struct nn_block result;      /* a piece of it */
};

/* The text with every %r replaced. */
static char *expand(const char *pattern, int rank, struct nn_error *err)
{
	struct nn_text text = {0};
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

/* Every rank writes where the name has %r; frames go where each rank's standard output leads; else rank 0 writes. */
static int open_output(struct rank *r, const char *pattern, bool attached, struct nn_error *err)
{
	bool each = pattern ? strstr(pattern, "%r") != NULL : r->options->stream && !attached;
	bool terminal_is_none = !pattern && !attached && r->comm->size > 1;     /* mpirun's end of a rank's output looks like one */

	if (!each && r->comm->rank > 0)
		return 0;
	r->output_name = pattern ? expand(pattern, r->comm->rank, err) : NULL;
	if (pattern && !r->output_name)
		return -1;
	return nn_output_open(&r->output, r->output_name, !terminal_is_none, err);
}

/* ---- do the files agree? ---- */

/* What a rank has, as bytes for the others: file name, kind, tensors, and the network as its hash. */
static void describe(const struct source *s, struct nn_text *text)
{
	struct nn_sha256 sha;
	char hex[NN_SHA256_HEX] = "";

	if (s->model) {
		nn_sha256_init(&sha);
		nn_sha256_add(&sha, s->model, strlen(s->model));
		nn_sha256_hex(&sha, hex);
	}
	nn_text_add_bytes(text, s->name, strlen(s->name) + 1);
	nn_text_add_bytes(text, hex, sizeof hex);
	nn_text_add_bytes(text, (const char *)&s->named, sizeof s->named);
	nn_text_add_bytes(text, (const char *)&s->n_tensors, sizeof s->n_tensors);
	for (size_t i = 0; i < s->n_tensors; i++) {
		const struct nn_st_tensor *t = &s->tensors[i];

		nn_text_add_bytes(text, (const char *)&t->dtype, sizeof t->dtype);
		nn_text_add_bytes(text, (const char *)&t->shape, sizeof t->shape);
		nn_text_add_bytes(text, t->name, strlen(t->name) + 1);
	}
}

static const char *take(const char **at, void *to, size_t n)
{
	const char *from = *at;

	if (to)
		memcpy(to, from, n);
	*at += n;
	return from;
}

/* The same back; names point into the bytes. */
static int undescribe(struct source *s, const char *at, struct nn_error *err)
{
	*s = (struct source){ .name = take(&at, NULL, strlen(at) + 1) };
	s->model = take(&at, NULL, NN_SHA256_HEX);
	take(&at, &s->named, sizeof s->named);
	take(&at, &s->n_tensors, sizeof s->n_tensors);
	s->tensors = nn_alloc(s->n_tensors, sizeof *s->tensors, err);
	if (!s->tensors)
		return -1;
	for (size_t i = 0; i < s->n_tensors; i++) {
		take(&at, &s->tensors[i].dtype, sizeof s->tensors[i].dtype);
		take(&at, &s->tensors[i].shape, sizeof s->tensors[i].shape);
		s->tensors[i].name = take(&at, NULL, strlen(at) + 1);
	}
	return 0;
}

/* Every rank compares itself with rank 0. */
static int compare_with_first(struct rank *r, struct nn_error *err)
{
	struct nn_text mine = {0};
	struct source me = {0}, first = {0};
	size_t bytes;
	char *all = NULL;
	int status = -1;

	describe(&r->source, &mine);
	bytes = mine.length;
	if (mine.failed) {
		nn_fail(err, NN_ENOMEM, "cannot allocate memory to compare files");
		goto out;
	}
	if (nn_comm_broadcast(r->comm, 0, &bytes, sizeof bytes, err) < 0)
		goto out;
	all = nn_alloc(bytes, 1, err);
	if (!all)
		goto out;
	if (r->comm->rank == 0)
		memcpy(all, mine.data, bytes);
	if (nn_comm_broadcast(r->comm, 0, all, bytes, err) < 0 || undescribe(&first, all, err) < 0 ||
	    undescribe(&me, mine.data, err) < 0)
		goto out;
	status = source_compare(&me, &first, err);
out:
	nn_free(me.tensors);
	nn_free(first.tensors);
	nn_text_free(&mine);
	nn_free(all);
	return status;
}

/* ---- the reduction ---- */

/* Of what all ranks know alike rank 0 speaks; the others end with the same status, silently. */
static int said_by_first(const struct rank *r, int status, struct nn_error *err)
{
	return status < 0 && r->comm->rank > 0 ? (int)err->code : status;
}

/* A tensor of all ranks, piece by piece to the output, or whole to `whole`. 0, -1, or a status that another rank explains. */
static int reduce_tensor(struct rank *r, const struct nn_st_tensor *t, char *whole, struct nn_error *err)
{
	const struct nn_reduce reduce = { t->dtype, (enum nn_reduce_op)r->options->op, (size_t)r->comm->size };
	struct nn_reduce_found all = { 0, SIZE_MAX };
	size_t size = nn_dtype_size(t->dtype), count = nn_shape_count(&t->shape), at = 0, piece;

	if (!whole && nn_block_reserve(&r->result, PIECE, err) < 0)
		return -1;
	do {
		struct nn_reduce_found found;
		const void *values;
		char *out = whole ? whole + at * size : r->result.data;

		piece = count - at < PIECE / size ? count - at : PIECE / size;
		if (source_read(&r->source, t, at, piece, &values, err) < 0)
			return -1;
		if (piece && nn_comm_allreduce(r->comm, &reduce, (enum nn_algorithm)r->options->algorithm, values, out, piece, &found,
					       err) < 0)
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
	if (r->comm->rank > 0 && all.overflow == SIZE_MAX)
		return 0;
	return said_by_first(r, check_found(&reduce, t, &all, err), err);
}

static int reduce_tensors(struct rank *r, struct nn_error *err)
{
	const struct nn_st *st = r->source.st;
	struct nn_st_tensor *results = nn_alloc(st->n_tensors, sizeof *results, err);
	struct nn_block block = {0};
	size_t bytes = 0, at = 0;
	int status = results ? 0 : -1;

	for (size_t i = 0; i < st->n_tensors; i++)
		bytes += (nn_shape_count(&st->tensors[i].shape) * nn_dtype_size(st->tensors[i].dtype) + 63) / 64 * 64;
	if (status == 0)
		status = nn_block_reserve(&block, bytes + 1, err);
	for (size_t i = 0; i < st->n_tensors && status == 0; i++) {
		results[i] = st->tensors[i];
		results[i].data = nn_block_at(&block, at);
		status = reduce_tensor(r, &st->tensors[i], (char *)nn_block_at(&block, at), err);
		at += (nn_shape_count(&st->tensors[i].shape) * nn_dtype_size(st->tensors[i].dtype) + 63) / 64 * 64;
	}
	if (status == 0 && r->output)
		status = nn_st_write(r->output, results, st->n_tensors, st->meta, st->n_meta, err);
	nn_block_free(&block);
	nn_free(results);
	return status;
}

static int reduce_file(struct rank *r, struct nn_error *err)
{
	const struct nn_st_tensor *t;

	if (source_open(&r->source, r->input_name, err) < 0 || compare_with_first(r, err) < 0)
		return -1;
	if (r->source.named)
		return reduce_tensors(r, err);
	t = &r->source.tensors[0];
	if (r->output && nn_npy_write_header(r->output, t->dtype, &t->shape, err) < 0)
		return -1;
	return reduce_tensor(r, t, NULL, err);
}

/* ---- frames ---- */

struct frame {
	bool there;
	enum nn_dtype dtype;
	struct nn_shape shape;
};

/* Is there a frame on all ranks (1) or on none (0)? Of those that differ from rank 0 each speaks for itself. */
static int agree(struct rank *r, const struct frame *mine, struct frame *all, uint64_t number, struct nn_error *err)
{
	char shape[NN_SHAPE_TEXT], expected[NN_SHAPE_TEXT];
	bool differs = false;

	if (nn_comm_gather(r->comm, mine, all, sizeof *mine, err) < 0)
		return -1;
	if (mine->there != all[0].there)
		return mine->there ? nn_fail(err, NN_EFORMAT, "%s: goes on after %" PRIu64 " frames, rank 0 has ended", r->input_name, number - 1)
				   : nn_fail(err, NN_EFORMAT, "%s: ends after %" PRIu64 " frames, rank 0 goes on", r->input_name, number - 1);
	if (mine->there && mine->dtype != all[0].dtype)
		return nn_fail(err, NN_EFORMAT, "%s: frame %" PRIu64 ": found %s, expected %s as on rank 0", r->input_name, number,
			       nn_dtype_name(mine->dtype), nn_dtype_name(all[0].dtype));
	if (mine->there && !nn_shape_equal(&mine->shape, &all[0].shape))
		return nn_fail(err, NN_EFORMAT, "%s: frame %" PRIu64 ": found shape %s, expected %s as on rank 0", r->input_name, number,
			       nn_shape_text(shape, &mine->shape), nn_shape_text(expected, &all[0].shape));
	for (int i = 1; i < r->comm->size; i++)
		differs |= memcmp(&all[i], &all[0], sizeof *all) != 0;
	return differs ? 2 : mine->there;
}

/* A program at the other ends of two FIFOs is expected to open first the one that it writes: so does this. */
static int stream(struct rank *r, const char *output, bool attached, struct nn_error *err)
{
	struct frame *all = nn_alloc((size_t)r->comm->size, sizeof *all, err);
	int status = all ? source_open_stream(&r->source, r->input_name, err) : -1;

	if (status == 0)
		status = open_output(r, output, attached, err);
	for (uint64_t number = 1; status == 0; number++) {
		struct frame mine;
		int there = source_next(&r->source, err);

		memset(&mine, 0, sizeof mine);       /* padding is compared too */
		mine.there = there > 0;
		mine.dtype = r->source.one.dtype;
		mine.shape.rank = r->source.one.shape.rank;
		for (int i = 0; i < mine.shape.rank; i++)
			mine.shape.dim[i] = r->source.one.shape.dim[i];
		there = there < 0 ? -1 : agree(r, &mine, all, number, err);
		status = there < 0 ? -1 : there == 2 ? NN_EFORMAT : 0;
		if (there != 1)
			break;
		if (r->output && nn_npy_write_header(r->output, mine.dtype, &mine.shape, err) < 0)
			status = -1;
		if (status == 0)
			status = reduce_tensor(r, &r->source.one, NULL, err);
		if (status == 0 && r->output)
			status = nn_output_flush(r->output, err);
	}
	nn_free(all);
	return status;
}

/* ---- a rank's life ---- */

static int run(struct rank *r, const char *file, const char *output, bool attached, struct nn_error *err)
{
	int status = -1;

	if (r->options->ranks && r->options->ranks != (uint64_t)r->comm->size)
		return nn_fail(err, NN_EUSAGE, "--ranks=%" PRIu64 ": this is a rank of %d", r->options->ranks, r->comm->size);
	r->input_name = expand(file, r->comm->rank, err);
	if (!r->input_name)
		return -1;
	if (r->options->algorithm == NN_AUTO && nn_comm_measure(r->comm, err) < 0)
		return -1;
	if (r->options->bench)
		return allreduce_bench(r->options, r->comm, output, err);
	if (r->options->stream)
		status = stream(r, output, attached, err);
	else if (open_output(r, output, attached, err) == 0)
		status = reduce_file(r, err);
	if (status == 0 && r->output) {
		status = nn_output_commit(r->output, err);
		r->output = NULL;
	}
	return status;
}

int allreduce_rank(const struct allreduce_options *options, const char *file, const char *output, struct nn_error *err)
{
	struct rank r = { .options = options };
	struct nn_attach *attach = NULL;
	int status = nn_attach(&attach, err);

	nn_tool_attach(attach);
	if (status == 0)
		status = nn_comm_open(&r.comm, false, err);
	if (status < 0)
		return -1;
	status = run(&r, file, output, attach != NULL, err);
	nn_output_abort(r.output);
	source_close(&r.source);
	nn_block_free(&r.result);
	nn_free(r.input_name);
	nn_free(r.output_name);
	if (status == 0)
		nn_comm_close(r.comm);
	else if (status > 0)
		sleep(EXPLAIN_S);
	else if (!attach)
		nn_comm_abort(r.comm, nn_tool_end(status, err));
	return status;
}

/* What a rank tells comes out under the tool's name. */
static void tell(void *arg, enum nn_say kind, const char *text)
{
	if (kind == NN_SAY_WARNING)
		nn_tool_warn(arg, text);
	else
		nn_tool_note(arg, text);
}

int allreduce_launch(const struct allreduce_options *options, char *const *argv, struct nn_error *err)
{
	const struct nn_launch launch = {
		.ranks = (int)options->ranks, .cores = nn_cpu_count(), .argv = argv, .say = tell, .stop = &nn_tool_stop,
	};

	nn_tool_catch_stop();
	return nn_launch_run(&launch, err);
}
