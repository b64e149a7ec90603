/*
 * embedding: rows of a table by number; backward lists what each number adds to the gradient of its
 * row.
 */
#include <string.h>
#include "base/error.h"
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

/* rows asked for before they are needed: a large table lies in memory, not in a cache */
#define NN_AHEAD 8

/* Numbers of a sample, and how many of them make one output row. */
static size_t numbers(const struct nn_site *site)
{
	return nn_shape_count(site->in);
}

static size_t together(const struct nn_site *site)
{
	const struct nn_embedding *e = site->attrs;
	return e->sum ? site->in->dim[site->in->rank - 1] : 1;
}

/* The row that a number means, NN_LIST_NO_ROW where it is none: NaN, too. */
NN_INLINE uint32_t row_of(const struct nn_embedding *e, real x)
{
	return x >= 0 && x < (real)e->rows ? (uint32_t)x : NN_LIST_NO_ROW;
}

/* The same for where padding counts for nothing. */
NN_INLINE uint32_t counted_row(const struct nn_embedding *e, real x)
{
	uint32_t row = row_of(e, x);
	return row == e->padding ? NN_LIST_NO_ROW : row;
}

NN_INLINE void ask_for(const struct nn_embedding *e, const real *table, real x)
{
	uint32_t row = row_of(e, x);
	const char *p = (const char *)(table + (row == NN_LIST_NO_ROW ? 0 : row) * e->size);
	for (size_t at = 0; at < e->size * sizeof(real) && at < 512; at += 64)
		__builtin_prefetch(p + at);
}

/* ---- forward ---- */

static void put_row(const struct nn_embedding *e, const real *table, real x, real *y)
{
	uint32_t row = row_of(e, x);
	if (row == NN_LIST_NO_ROW)
		memset(y, 0, e->size * sizeof(real));
	else
		memcpy(y, table + row * e->size, e->size * sizeof(real));
}

/* y = the rows of x[0..n-1], added from the first on. */
static void add_rows(const struct nn_embedding *e, const real *table, const real *x, size_t n,
		     real *y)
{
	memset(y, 0, e->size * sizeof(real));
	for (size_t i = 0; i < n; i++) {
		uint32_t row = counted_row(e, x[i]);
		const real *from = table + (row == NN_LIST_NO_ROW ? 0 : row) * e->size;
		if (row == NN_LIST_NO_ROW)
			continue;
		NN_EACH(j, k, e->size,
			{ v_put(y + j, k, v_add(v_get(y + j, k), v_get(from + j, k))); });
	}
}

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_embedding *e = call->site.attrs;
	const real *x = call->x[0], *table = call->w[0];
	size_t n = together(&call->site), last = end * n;
	real *y = call->y;
	(void)thread;
	for (size_t i = begin; i < end; i++) {
		for (size_t k = i * n + NN_AHEAD; k < (i + 1) * n + NN_AHEAD && k < last; k++)
			ask_for(e, table, x[k]);
		if (e->sum)
			add_rows(e, table, x + i * n, n, y + i * e->size);
		else
			put_row(e, table, x[i], y + i * e->size);
	}
}

static void forward(const struct nn_call *call)
{
	const struct nn_embedding *e = call->site.attrs;
	size_t n = together(&call->site);
	if (n == 0)
		memset(call->y, 0, call->rows * nn_shape_count(&call->site.out) * sizeof(real));
	else
		nn_cpu_split(call->pool, call->rows * numbers(&call->site) / n, 1,
			     3 * n * e->size * sizeof(real), forward_piece, (void *)call);
}

/* ---- backward ---- */

static void list_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_embedding *e = call->site.attrs;
	const struct nn_row_list *list = call->dw[0];
	const real *x = call->x[0], *dy = call->dy;
	size_t n = numbers(&call->site), group = together(&call->site), leaf = 0;
	(void)thread;
	for (size_t i = begin; i < end; i++) {
		size_t at = *list->n + i;
		while (call->leaf[leaf + 1] * n <= i)
			leaf++;
		list->row[at] = counted_row(e, x[i]);
		list->leaf[at] = (uint32_t)(call->leaf_number + leaf);
		memcpy((real *)list->value + at * e->size, dy + i / group * e->size,
		       e->size * sizeof(real));
	}
}

static void backward(const struct nn_call *call)
{
	const struct nn_embedding *e = call->site.attrs;
	struct nn_row_list *list = call->dw[0];
	size_t n = call->rows * numbers(&call->site);
	if (n > list->room - *list->n)
		NN_BUG("%zu entries of a table after %zu, there is room for %zu", n, *list->n,
		       list->room);
	nn_cpu_split(call->pool, n, 1, 2 * e->size * sizeof(real), list_piece, (void *)call);
	*list->n += n;
}

const struct nn_kernel NN_K(embedding) = { .forward = forward, .backward = backward };
