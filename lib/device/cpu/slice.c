/*
 * slice: parts of a row and paddings, dimension by dimension in the order in memory; the innermost
 * part that is taken whole or without steps is copied in one run.
 */
#include <string.h>
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

struct axis {
	ptrdiff_t begin;
	size_t in, out, step;
	size_t x, y; /* reals from one element to the next */
};

struct parts {
	struct axis axis[NN_MAX_RANK];
	int n; /* axes; at least one */
	real value;
};

/* Dimension `axis` in memory: C,H,W is held H,W,C. */
static int dimension(int axis, int rank)
{
	return rank == 3 ? (axis + 1) % 3 : axis;
}

static struct parts parts_of(const struct nn_site *site)
{
	const struct nn_slice *slice = site->attrs;
	struct parts p = { .n = slice->rank, .value = (real)slice->value };
	size_t x = 1, y = 1;
	for (int i = p.n; i-- > 0;) {
		int d = dimension(i, slice->rank);
		p.axis[i] = (struct axis){
			slice->begin[d], site->in[0].dim[d], slice->size[d], slice->step[d], x, y
		};
		x *= site->in[0].dim[d];
		y *= slice->size[d];
	}
	while (p.n > 1 && p.axis[p.n - 1].begin == 0 && p.axis[p.n - 1].step == 1 &&
	       p.axis[p.n - 1].in == p.axis[p.n - 1].out)
		p.n--;
	return p;
}

static void fill(real *y, size_t n, real value)
{
	NN_EACH(i, k, n, { v_put(y + i, k, v_set(value)); });
}

static void copy(const real *from, real *to, size_t n)
{
	NN_EACH(i, k, n, { v_put(to + i, k, v_get(from + i, k)); });
}

static void add(const real *from, real *to, size_t n)
{
	NN_EACH(i, k, n, { v_put(to + i, k, v_add(v_get(to + i, k), v_get(from + i, k))); });
}

/* The elements first..end-1 of the output that are of the input; in a row where step is 1. */
static void inside(const struct axis *a, size_t *first, size_t *end)
{
	size_t before = a->begin < 0 ? ((size_t)-a->begin + a->step - 1) / a->step : 0,
	       left = a->begin < (ptrdiff_t)a->in ? (size_t)((ptrdiff_t)a->in - a->begin) : 0,
	       n = (left + a->step - 1) / a->step;
	*end = n < a->out ? n : a->out;
	*first = before < *end ? before : *end;
}

static size_t position(const struct axis *a, size_t i)
{
	return (size_t)(a->begin + (ptrdiff_t)(i * a->step)) * a->x;
}

static void take(const struct parts *p, int k, const real *x, real *y)
{
	const struct axis *a = &p->axis[k];
	size_t first, end;
	inside(a, &first, &end);
	fill(y, first * a->y, p->value);
	if (k == p->n - 1 && a->step == 1 && first < end)
		copy(x + position(a, first), y + first * a->y, (end - first) * a->y);
	else
		for (size_t i = first; i < end; i++)
			if (k == p->n - 1)
				copy(x + position(a, i), y + i * a->y, a->y);
			else
				take(p, k + 1, x + position(a, i), y + i * a->y);
	fill(y + end * a->y, (a->out - end) * a->y, p->value);
}

/* An element of the input is in the output once at most. */
static void give(const struct parts *p, int k, const real *dy, real *dx)
{
	const struct axis *a = &p->axis[k];
	size_t first, end;
	inside(a, &first, &end);
	if (k == p->n - 1 && a->step == 1 && first < end)
		add(dy + first * a->y, dx + position(a, first), (end - first) * a->y);
	else
		for (size_t i = first; i < end; i++)
			if (k == p->n - 1)
				add(dy + i * a->y, dx + position(a, i), a->y);
			else
				give(p, k + 1, dy + i * a->y, dx + position(a, i));
}

static void take_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct parts p = parts_of(&call->site);
	size_t in = nn_shape_count(&call->site.in[0]), out = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		take(&p, 0, (const real *)call->x[0] + r * in, (real *)call->y + r * out);
}

static void give_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct parts p = parts_of(&call->site);
	size_t in = nn_shape_count(&call->site.in[0]), out = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		real *dx = (real *)call->dx[0] + r * in;
		if (!call->dx_add[0])
			memset(dx, 0, in * sizeof(real));
		give(&p, 0, (const real *)call->dy + r * out, dx);
	}
}

static void split(const struct nn_call *call,
		  void (*piece)(void *arg, size_t begin, size_t end, int thread))
{
	size_t n = nn_shape_count(&call->site.in[0]) + nn_shape_count(&call->site.out);
	nn_cpu_split(call->pool, call->rows, 1, n * sizeof(real), piece, (void *)call);
}

static void forward(const struct nn_call *call)
{
	split(call, take_piece);
}

static void backward(const struct nn_call *call)
{
	if (call->dx[0])
		split(call, give_piece);
}

const struct nn_kernel NN_K(slice) = { .forward = forward, .backward = backward };
