/* Ops that move values: reshape, permute, transpose, concat, slice, last; and position, which adds
 * some. */
#include "device/cuda/product/product.h"

static size_t elements(const struct nn_call *call)
{
	return call->rows * nn_shape_count(&call->site.out);
}

/* ---- runs of values ---- */

static void move_runs(struct nn_queue *queue, const real *from, size_t from_run, real *to,
		      size_t to_run, size_t run, size_t runs, bool add)
{
	NN_ARGS(struct nn_move_args, a);

	a.n = run * runs;
	a.run = run;
	a.from_run = from_run;
	a.to_run = to_run;
	a.from = from;
	a.to = to;
	a.add = add;
	NN_ASK(queue, move, a);
}

static void reshape_forward(const struct nn_call *call)
{
	size_t n = elements(call);

	if (call->x[0] != call->y)
		move_runs(call->site.queue, call->x[0], n, call->y, n, n, 1, false);
}

static void reshape_backward(const struct nn_call *call)
{
	size_t n = elements(call);

	if (call->dx[0] && call->dx[0] != call->dy)
		move_runs(call->site.queue, call->dy, n, call->dx[0], n, n, 1, call->dx_add[0]);
}

const struct nn_kernel NN_CUDA(op_reshape) = { .forward = reshape_forward,
					       .backward = reshape_backward };

static void permute(const struct nn_call *call, const real *from, real *to, bool backward)
{
	const struct nn_permute *permute = call->site.attrs;
	bool by_channels = permute->to_channels_last != backward;
	NN_ARGS(struct nn_move_args, a);

	a.n = elements(call);
	a.rows = by_channels ? permute->channels : permute->positions;
	a.columns = by_channels ? permute->positions : permute->channels;
	a.from = from;
	a.to = to;
	a.add = backward && call->dx_add[0];
	NN_ASK(call->site.queue, move, a);
}

static void permute_forward(const struct nn_call *call)
{
	permute(call, call->x[0], call->y, false);
}

static void permute_backward(const struct nn_call *call)
{
	if (call->dx[0])
		permute(call, call->dy, call->dx[0], true);
}

const struct nn_kernel NN_CUDA(op_permute) = { .forward = permute_forward,
					       .backward = permute_backward };

/* ---- slice and transpose: each element of the output from a place of its own ---- */

/* Dimension `axis` in memory: C,H,W is held H,W,C. */
static int dimension(int axis, int rank)
{
	return rank == 3 ? (axis + 1) % 3 : axis;
}

/* Places of `in` that elements of `out` take one after the other; axes may then be moved. */
static struct nn_take_args take_of(const struct nn_call *call, const struct nn_shape *in,
				   const struct nn_shape *out)
{
	NN_ARGS(struct nn_take_args, a);

	a.n = call->rows * nn_shape_count(out);
	a.rank = in->rank;
	a.row = 1;
	for (int i = a.rank; i-- > 0;) {
		int d = dimension(i, a.rank);

		a.axis[i].size = out->dim[d];
		a.axis[i].in = in->dim[d];
		a.axis[i].step = a.axis[i].every = 1;
		a.axis[i].stride = a.row;
		a.row *= in->dim[d];
	}
	return a;
}

static void slice_forward(const struct nn_call *call)
{
	const struct nn_slice *slice = call->site.attrs;
	struct nn_take_args a = take_of(call, &call->site.in[0], &call->site.out);

	for (int i = 0; i < a.rank; i++) {
		int d = dimension(i, a.rank);

		a.axis[i].begin = (long)slice->begin[d];
		a.axis[i].step = (long)slice->step[d];
	}
	a.value = (real)slice->value;
	a.from = call->x[0];
	a.to = call->y;
	NN_ASK(call->site.queue, take, a);
}

static void slice_backward(const struct nn_call *call)
{
	const struct nn_slice *slice = call->site.attrs;
	struct nn_take_args a = take_of(call, &call->site.out, &call->site.in[0]);

	for (int i = 0; i < a.rank; i++) {
		int d = dimension(i, a.rank);

		a.axis[i].begin = -(long)slice->begin[d];
		a.axis[i].every = (long)slice->step[d];
	}
	a.from = call->dy;
	a.to = call->dx[0];
	a.sum = true;
	a.add = call->dx_add[0];
	if (a.to)
		NN_ASK(call->site.queue, take, a);
}

const struct nn_kernel NN_CUDA(op_slice) = { .forward = slice_forward, .backward = slice_backward };

static void transpose(const struct nn_call *call, const struct nn_shape *in,
		      const struct nn_shape *out, const real *from, real *to, bool add)
{
	const struct nn_transpose *transpose = call->site.attrs;
	struct nn_take_args a = take_of(call, in, out);
	struct nn_take_axis moved[NN_MAX_RANK];

	memcpy(moved, a.axis, sizeof moved);
	for (int i = 0; i < a.rank; i++) {
		int d = dimension(i, a.rank), other = d == transpose->dims[0]   ? transpose->dims[1]
						      : d == transpose->dims[1] ? transpose->dims[0]
										: d;
		int at = a.rank == 3 ? (other + 2) % 3 : other;

		a.axis[i].in = moved[at].in;
		a.axis[i].stride = moved[at].stride;
	}
	a.from = from;
	a.to = to;
	a.add = add;
	NN_ASK(call->site.queue, take, a);
}

static void transpose_forward(const struct nn_call *call)
{
	transpose(call, &call->site.in[0], &call->site.out, call->x[0], call->y, false);
}

static void transpose_backward(const struct nn_call *call)
{
	if (call->dx[0])
		transpose(call, &call->site.out, &call->site.in[0], call->dy, call->dx[0],
			  call->dx_add[0]);
}

const struct nn_kernel NN_CUDA(op_transpose) = { .forward = transpose_forward,
						 .backward = transpose_backward };

/* How often inputs take turns in a row; C,H,W is held H,W,C. */
static size_t turns_of(const struct nn_site *site)
{
	const struct nn_concat *concat = site->attrs;
	const size_t *dim = site->out.dim;
	size_t n = 1;

	if (site->out.rank == 3)
		return concat->dim == 0 ? dim[1] * dim[2] : concat->dim == 1 ? 1 : dim[1];
	for (int i = 0; i < concat->dim; i++)
		n *= dim[i];
	return n;
}

static void concat(const struct nn_call *call, bool backward)
{
	size_t turns = turns_of(&call->site),
	       run = nn_shape_count(&call->site.out) / (turns ? turns : 1), place = 0;

	for (int j = 0; j < call->site.n_in; j++) {
		size_t n = nn_shape_count(&call->site.in[j]) / (turns ? turns : 1);

		if (!backward)
			move_runs(call->site.queue, call->x[j], n, (real *)call->y + place, run, n,
				  call->rows * turns, false);
		else if (call->dx[j])
			move_runs(call->site.queue, (const real *)call->dy + place, run,
				  call->dx[j], n, n, call->rows * turns, call->dx_add[j]);
		place += n;
	}
}

static void concat_forward(const struct nn_call *call)
{
	concat(call, false);
}

static void concat_backward(const struct nn_call *call)
{
	concat(call, true);
}

const struct nn_kernel NN_CUDA(op_concat) = { .forward = concat_forward,
					      .backward = concat_backward };

/* ---- last ---- */

static struct nn_last_args last_of(const struct nn_call *call)
{
	NN_ARGS(struct nn_last_args, a);

	a.steps = call->site.in[0].dim[0];
	a.columns = call->site.in[0].dim[1];
	a.lengths = call->lengths;
	return a;
}

static void last_forward(const struct nn_call *call)
{
	struct nn_last_args a = last_of(call);

	a.n = call->rows * a.columns;
	a.from = call->x[0];
	a.to = call->y;
	NN_ASK(call->site.queue, last, a);
}

static void last_backward(const struct nn_call *call)
{
	struct nn_last_args a = last_of(call);

	if (!call->dx[0])
		return;
	a.n = call->rows * a.steps * a.columns;
	a.from = call->dy;
	a.to = call->dx[0];
	a.add = call->dx_add[0];
	NN_ASK(call->site.queue, last_back, a);
}

const struct nn_kernel NN_CUDA(op_last) = { .forward = last_forward, .backward = last_backward };

/* ---- position ---- */

static void position_forward(const struct nn_call *call)
{
	NN_ARGS(struct nn_position_args, a);

	a.n = elements(call);
	a.size = nn_shape_count(&call->site.out);
	a.x = call->x[0];
	a.w = (const real *)call->w[0] + call->step * a.size;
	a.y = call->y;
	NN_ASK(call->site.queue, position, a);
}

/* Gradients are a bias', of a product with an output for each value. */
static void position_backward(const struct nn_call *call)
{
	size_t size = nn_shape_count(&call->site.out);
	char *room = call->work;
	NN_ARGS(struct nn_weights_args, a);

	a.c = NN_CUDA(matrix)(1, size);
	a.dy = call->dy;
	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, 1, &room);
	NN_CUDA(gradients)(call, -1, 0, &a, &room);
	reshape_backward(call);
}

static size_t position_work(const struct nn_site *site, size_t max_rows, size_t max_leaves,
			    int threads)
{
	(void)max_rows;
	(void)threads;
	return site->training
		       ? nn_bounds_bytes(max_leaves) +
				 NN_CUDA(leaves_bytes)(nn_shape_count(&site->out), max_leaves)
		       : 0;
}

/* The number of the step says all. */
static size_t position_state(const struct nn_site *site)
{
	(void)site;
	return 0;
}

const struct nn_kernel NN_CUDA(op_position) = { .forward = position_forward,
						.backward = position_backward,
						.state = position_state,
						.work = position_work };
