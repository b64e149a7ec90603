/*
 * A block of rows for each member of an ensemble: the first takes rows that lie ready, the others
 * the same ones. A row that one of them cannot read is bad for all.
 */
#include <string.h>

#include "base/memory.h"
#include "predict/run.h"

int nn_run_alloc_why(struct nn_run_block *block, struct nn_error *err)
{
	block->why = nn_alloc(block->max, sizeof *block->why, err);
	return block->why ? 0 : -1;
}

static void forget_why(struct nn_run_block *block)
{
	for (size_t i = 0; i < block->max; i++) {
		nn_free(block->why[i]);
		block->why[i] = NULL;
	}
}

void nn_run_free_why(struct nn_run_block *block)
{
	if (block->why)
		forget_why(block);
	nn_free(block->why);
}

/* What ends the run, once the rows before are answered. */
static void end_after(struct nn_run *r, struct nn_run_block *block, size_t rows,
		      const struct nn_error *why)
{
	r->failed = *why;
	block->n = rows;
	block->array_end = false;
}

/* Texts of a member's reader last until it goes on: the block keeps its own. */
static int take_bad(struct nn_run_block *block, size_t first, size_t n, const char *const *bad,
		    struct nn_error *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t row = first + i;

		if (!bad[i] || block->bad[row])
			continue;
		if (!(block->why[row] = nn_strdup(bad[i], err)))
			return -1;
		block->bad[row] = block->why[row];
	}
	return 0;
}

/* Rows at + ... of the block for member k; *n of them, and whether their array has ended. */
static int read_some(struct nn_run *r, size_t k, struct nn_run_block *block, size_t at, size_t *n,
		     bool *end, struct nn_error *err)
{
	const struct nn_run_member *m = &r->members[k];
	size_t n_inputs = (size_t)m->model->program->n_inputs, want = block->n - at;
	void **inputs = nn_alloc(n_inputs, sizeof *inputs, err);
	const char **bad = nn_alloc(want, sizeof *bad, err);
	int status = inputs && bad ? 0 : -1;

	for (size_t i = 0; status == 0 && i < n_inputs; i++)
		inputs[i] = (char *)block->inputs[m->first_input + i] +
			    at * nn_run_input_bytes(r, m->first_input + i);
	if (status == 0)
		status = nn_rows_next(m->rows, want, inputs, NULL, bad, n, end, err);
	if (status == 0)
		status = take_bad(block, at, *n, bad, err);
	nn_free(bad);
	nn_free(inputs);
	return status;
}

static void read_member(struct nn_run *r, size_t k, struct nn_run_block *block)
{
	struct nn_error err = { 0 };
	size_t at = 0, n = 0;
	bool end = false;

	do {
		if (read_some(r, k, block, at, &n, &end, &err) < 0) {
			end_after(r, block, at, &err);
			return;
		}
		at += n;
	} while (at < block->n && n > 0 && !end);
	if (at < block->n || (block->array_end && !end)) {
		nn_fail(&err, NN_EFORMAT, "%s: found other rows in the data than %s",
			r->members[k].path, r->members[0].path);
		end_after(r, block, at, &err);
	}
}

/* ---- rows that are left out ---- */

static void move_row(const struct nn_run *r, struct nn_run_block *block, size_t from, size_t to)
{
	for (size_t i = 0; i < nn_run_inputs(r); i++) {
		size_t bytes = nn_run_input_bytes(r, i);
		char *rows = block->inputs[i];

		memmove(rows + to * bytes, rows + from * bytes, bytes);
	}
	for (size_t o = 0; block->targets && o < nn_run_outputs(r); o++) {
		size_t bytes = nn_rows_target_size(r->rows, o) *
			       (nn_rows_target_classes(r->rows, o)
					? sizeof(int32_t)
					: nn_dtype_size(r->model->device->dtype));
		char *rows = block->targets[o];

		memmove(rows + to * bytes, rows + from * bytes, bytes);
	}
	if (block->beside.weights)
		block->beside.weights[to] = block->beside.weights[from];
}

/* Kept fields of a row, each with its NUL. */
static size_t kept_bytes(const struct nn_run *r, const char *kept)
{
	const char *at = kept;

	for (size_t i = 0; nn_rows_kept(r->rows, i); i++)
		at += strlen(at) + 1;
	return (size_t)(at - kept);
}

static void leave_out_bad(const struct nn_run *r, struct nn_run_block *block)
{
	char *from = block->beside.kept ? block->kept.data : NULL, *to = from;
	size_t n = 0;

	for (size_t i = 0; i < block->n; i++) {
		size_t bytes = from ? kept_bytes(r, from) : 0;

		if (!block->bad[i]) {
			if (bytes)
				memmove(to, from, bytes);
			to += bytes;
			move_row(r, block, i, n++);
		}
		from += bytes;
	}
	if (to)
		block->kept.length = (size_t)(to - block->kept.data);
	memset(block->bad, 0, block->n * sizeof *block->bad);
	block->n = n;
}

static void count_bad(struct nn_run *r, struct nn_run_block *block)
{
	uint64_t before = r->n_bad;

	for (size_t i = 0; i < block->n; i++)
		r->n_bad += block->bad[i] != NULL;
	if (r->n_bad > before &&
	    (r->p->options.score || r->p->options.on_error == NN_ON_ERROR_SKIP))
		leave_out_bad(r, block);
}

/* *more: all rows of the block were left out, and others may come. */
static int read_all(struct nn_run *r, struct nn_run_block *block, bool *more)
{
	forget_why(block);
	nn_text_clear(&block->kept);
	if (nn_rows_next_beside(r->rows, block->max, block->inputs, block->targets, &block->beside,
				block->bad, &block->n, &block->array_end, &block->err) < 0)
		return -1;
	*more = block->n > 0 && !block->array_end && !block->kept.failed;
	for (size_t k = 1; k < r->n_members && (block->n || block->array_end); k++)
		read_member(r, k, block);
	if (!block->kept.failed)
		count_bad(r, block);
	if (block->n == 0 && !block->array_end && r->failed.code) {
		block->err = r->failed;
		return -1;
	}
	*more = *more && block->n == 0;
	return 0;
}

void nn_run_read_members(struct nn_run *r, struct nn_run_block *block)
{
	bool more = true;

	block->status = 0;
	if (r->failed.code) {
		block->err = r->failed;
		block->status = -1;
	}
	while (block->status == 0 && more)
		block->status = read_all(r, block, &more);
}
