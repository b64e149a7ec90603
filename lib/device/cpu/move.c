/* Ops that only move values: reshape, permute, transpose, concat. */
#include <string.h>
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

static void copy(const real *from, real *to, size_t n, bool add)
{
	if (!add)
		memcpy(to, from, n * sizeof(real));
	else
		NN_EACH(i, k, n,
			{ v_put(to + i, k, v_add(v_get(to + i, k), v_get(from + i, k))); });
}

/*
 * ---- reshape: the same values; graphs let input and output share memory, then there is nothing to
 * do ----
 */

static void reshape_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	(void)thread;
	copy((const real *)call->x[0] + begin, (real *)call->y + begin, end - begin, false);
}

static void reshape_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	(void)thread;
	copy((const real *)call->dy + begin, (real *)call->dx[0] + begin, end - begin,
	     call->dx_add[0]);
}

static void reshape_forward(const struct nn_call *call)
{
	if (call->x[0] != call->y)
		nn_cpu_split(call->pool, call->rows * nn_shape_count(&call->site.out), 64,
			     2 * sizeof(real), reshape_piece, (void *)call);
}

static void reshape_backward(const struct nn_call *call)
{
	if (call->dx[0] && call->dx[0] != call->dy)
		nn_cpu_split(call->pool, call->rows * nn_shape_count(&call->site.out), 64,
			     2 * sizeof(real), reshape_back_piece, (void *)call);
}

const struct nn_kernel NN_K(reshape) = { .forward = reshape_forward, .backward = reshape_backward };

/* ---- permute: per row a transposition, in squares of VL x VL ---- */

/* to[c][r] = from[r][c], or added to it; a row of each is so many reals after the one before */
static void transpose(const real *from, size_t from_step, real *to, size_t to_step, size_t rows,
		      size_t columns, bool add)
{
	for (size_t r = 0; r < rows; r += VL)
		for (size_t c = 0; c < columns; c += VL) {
			size_t nr = rows - r < VL ? rows - r : VL,
			       nc = columns - c < VL ? columns - c : VL;
			vr square[VL];
			for (size_t i = 0; i < VL; i++)
				square[i] = i < nr ? v_get(from + (r + i) * from_step + c, nc)
						   : v_zero();
			v_transpose(square);
			for (size_t i = 0; i < nc; i++)
				v_put_gradient(to + (c + i) * to_step + r, nr, square[i], add);
		}
}

static void permute_rows(const struct nn_call *call, const real *from, real *to, bool backward,
			 size_t begin, size_t end)
{
	const struct nn_permute *permute = call->site.attrs;
	size_t channels = permute->channels, positions = permute->positions,
	       n = channels * positions;
	size_t rows = permute->to_channels_last != backward ? channels : positions,
	       columns = n ? n / rows : 0;
	for (size_t r = begin; r < end; r++)
		transpose(from + r * n, columns, to + r * n, rows, rows, columns,
			  backward && call->dx_add[0]);
}

static void permute_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	(void)thread;
	permute_rows(call, call->x[0], call->y, false, begin, end);
}

static void permute_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	(void)thread;
	permute_rows(call, call->dy, call->dx[0], true, begin, end);
}

static void permute_forward(const struct nn_call *call)
{
	nn_cpu_split(call->pool, call->rows, 1, 2 * sizeof(real) * nn_shape_count(&call->site.out),
		     permute_piece, (void *)call);
}

static void permute_backward(const struct nn_call *call)
{
	if (call->dx[0])
		nn_cpu_split(call->pool, call->rows, 1,
			     2 * sizeof(real) * nn_shape_count(&call->site.out), permute_back_piece,
			     (void *)call);
}

const struct nn_kernel NN_K(permute) = { .forward = permute_forward, .backward = permute_backward };

/* ---- transpose: two dimensions of a row change places ---- */

/* A row in memory: [outer][a][between][b][inner] becomes [outer][b][between][a][inner]. */
struct turn {
	size_t outer, a, between, b, inner;
};

/* C,H,W is held H,W,C. */
static struct turn turn_of(const struct nn_site *site)
{
	const struct nn_transpose *transpose = site->attrs;
	const struct nn_shape *shape = &site->in[0];
	int first = transpose->dims[0], second = transpose->dims[1];
	struct turn t = { 1, 1, 1, 1, 1 };
	if (shape->rank == 3) {
		first = (first + 2) % 3;
		second = (second + 2) % 3;
	}
	if (first > second) {
		int swap = first;
		first = second;
		second = swap;
	}
	for (int i = 0; i < shape->rank; i++)
		*(i < first                       ? &t.outer
		  : i == first && first != second ? &t.a
		  : i < second                    ? &t.between
		  : i == second                   ? &t.b
				: &t.inner) *= shape->dim[shape->rank == 3 ? (i + 1) % 3 : i];
	return t;
}

static void turn(const struct turn *t, const real *from, real *to, bool add)
{
	size_t n = t->a * t->between * t->b * t->inner;
	for (size_t o = 0; o < t->outer; o++, from += n, to += n)
		for (size_t m = 0; m < t->between; m++)
			if (t->inner == 1)
				transpose(from + m * t->b, t->between * t->b, to + m * t->a,
					  t->between * t->a, t->a, t->b, add);
			else
				for (size_t a = 0; a < t->a; a++)
					for (size_t b = 0; b < t->b; b++)
						copy(from + ((a * t->between + m) * t->b + b) *
								     t->inner,
						     to + ((b * t->between + m) * t->a + a) *
								     t->inner,
						     t->inner, add);
}

static void turn_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct turn t = turn_of(&call->site);
	size_t n = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		turn(&t, (const real *)call->x[0] + r * n, (real *)call->y + r * n, false);
}

static void turn_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct turn t = turn_of(&call->site);
	const struct turn back = { t.outer, t.b, t.between, t.a, t.inner };
	size_t n = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		turn(&back, (const real *)call->dy + r * n, (real *)call->dx[0] + r * n,
		     call->dx_add[0]);
}

static void transpose_forward(const struct nn_call *call)
{
	nn_cpu_split(call->pool, call->rows, 1, 2 * sizeof(real) * nn_shape_count(&call->site.out),
		     turn_piece, (void *)call);
}

static void transpose_backward(const struct nn_call *call)
{
	if (call->dx[0])
		nn_cpu_split(call->pool, call->rows, 1,
			     2 * sizeof(real) * nn_shape_count(&call->site.out), turn_back_piece,
			     (void *)call);
}

const struct nn_kernel NN_K(transpose) = { .forward = transpose_forward,
					   .backward = transpose_backward };

/* ---- concat: per row `outer` runs of each input in turn ---- */

/*
 * How often inputs take turns in a row; C,H,W is held H,W,C, so that its dimensions in memory are
 * 1, 2, 0.
 */
static size_t outer(const struct nn_site *site)
{
	const struct nn_concat *concat = site->attrs;
	const struct nn_shape *shape = &site->out;
	size_t n = 1;
	if (shape->rank == 3)
		return concat->dim == 0   ? shape->dim[1] * shape->dim[2]
		       : concat->dim == 1 ? 1
					  : shape->dim[1];
	for (int i = 0; i < concat->dim; i++)
		n *= shape->dim[i];
	return n;
}

/* Runs begin..end-1 of all rows: out of x into y, or back. */
static void concat_runs(const struct nn_call *call, bool backward, size_t begin, size_t end)
{
	size_t turns = outer(&call->site), run = nn_shape_count(&call->site.out) / turns, place = 0;
	for (int j = 0; j < call->site.n_in; j++) {
		size_t n = nn_shape_count(&call->site.in[j]) / turns;
		for (size_t r = begin; r < end; r++)
			if (!backward)
				copy((const real *)call->x[j] + r * n,
				     (real *)call->y + r * run + place, n, false);
			else if (call->dx[j])
				copy((const real *)call->dy + r * run + place,
				     (real *)call->dx[j] + r * n, n, call->dx_add[j]);
		place += n;
	}
}

static void concat_piece(void *arg, size_t begin, size_t end, int thread)
{
	(void)thread;
	concat_runs(arg, false, begin, end);
}

static void concat_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	(void)thread;
	concat_runs(arg, true, begin, end);
}

static void concat_split(const struct nn_call *call,
			 void (*piece)(void *arg, size_t begin, size_t end, int thread))
{
	size_t turns = outer(&call->site), n = nn_shape_count(&call->site.out);
	if (n > 0)
		nn_cpu_split(call->pool, call->rows * turns, 1, 2 * sizeof(real) * n / turns, piece,
			     (void *)call);
}

static void concat_forward(const struct nn_call *call)
{
	concat_split(call, concat_piece);
}
static void concat_backward(const struct nn_call *call)
{
	concat_split(call, concat_back_piece);
}

const struct nn_kernel NN_K(concat) = { .forward = concat_forward, .backward = concat_backward };
