/*
 * Products of whole matrices by a library (blas.c): dense layers, inputs of recurrent ones, and
 * convolutions of one group, whose columns (columns.cu) are made in work memory, some lines of
 * output at a time. Of them all steps of a sum may go in any order, so there are no leaves, and
 * weights lie as their products read them: [out][tap][in].
 */
#include "device/cuda/product/product.h"

#define NN_WIDE (16 / sizeof(real))

/* Is x as it is what the product reads? */
static bool is_direct(const struct nn_conv *c)
{
	return c->h.n * c->w.n == 1 && c->h.stride * c->w.stride == 1 && c->h.pad + c->w.pad == 0;
}

size_t NN_CUDA(plain_depth)(const struct nn_conv *c)
{
	const size_t depth = (size_t)(c->h.n * c->w.n) * c->cin;

	return is_direct(c) ? depth : (depth + NN_WIDE - 1) / NN_WIDE * NN_WIDE;
}

static size_t line_of(const struct nn_conv *c)
{
	return (size_t)c->w.out * NN_CUDA(plain_depth)(c);
}

/* Kernels count elements of a line, and pixels, with 32 bits. */
bool NN_CUDA(by_library)(const struct nn_conv *c)
{
	return c->groups == 1 && c->x_row <= INT32_MAX && line_of(c) <= INT32_MAX &&
	       (size_t)(c->h.in * c->w.in) <= INT32_MAX;
}

/* ---- pieces: whole rows, or some lines of one ---- */

struct piece {
	struct nn_conv c;              /* of its lines */
	size_t row, rows, line, lines; /* line: the first, of row `row` */
	size_t at, pixels;             /* the first of all rows' output pixels, and how many */
};

/* Lines of a piece; of all rows where nothing but x is read. */
static size_t lines_of(const struct nn_conv *c, size_t rows)
{
	const size_t out = (size_t)c->h.out, pixels = (size_t)(c->h.in * c->w.in);
	size_t fit = nn_cuda_columns() / (line_of(c) * sizeof(real));

	if (is_direct(c))
		return rows * out;
	if (fit / out > INT32_MAX / pixels)
		fit = INT32_MAX / pixels * out;
	if (fit >= rows * out)
		return rows * out;
	return fit >= out ? fit / out * out : fit > 0 ? fit : 1;
}

/* The piece after *p, which is zeros before the first; false: there is none. */
static bool next_piece(const struct nn_conv *c, size_t rows, struct piece *p)
{
	const size_t out = (size_t)c->h.out, most = lines_of(c, rows),
		     begin = p->pixels ? p->at / (size_t)c->w.out + p->lines : 0,
		     line = begin % out, end = most < out ? out - line : rows * out - begin;

	if (begin == rows * out)
		return false;
	p->c = *c;
	p->row = begin / out;
	p->line = line;
	p->lines = most < end ? most : end;
	p->rows = p->lines < out ? 1 : p->lines / out;
	p->at = begin * (size_t)c->w.out;
	p->pixels = p->lines * (size_t)c->w.out;
	if (p->lines < out) {
		p->c.h.pad -= (long)line * c->h.stride;
		p->c.h.out = (long)p->lines;
	}
	return true;
}

size_t NN_CUDA(plain_work)(const struct nn_conv *c, size_t rows)
{
	return NN_CUDA_WORKSPACE +
	       (is_direct(c) ? 0 : nn_cuda_rounded(lines_of(c, rows) * line_of(c) * sizeof(real)));
}

static real *columns_in(void *work)
{
	return (real *)(void *)((char *)work + NN_CUDA_WORKSPACE);
}

static struct nn_columns_args columns_of(const struct piece *p, const real *from, real *to)
{
	NN_ARGS(struct nn_columns_args, a);

	a.depth = NN_CUDA(plain_depth)(&p->c);
	a.c = p->c;
	a.from = from;
	a.to = to;
	return a;
}

/* Do kernels read and write NN_WIDE channels of an image at once? */
static bool is_wide(const struct nn_conv *c, const real *image)
{
	return c->cin % NN_WIDE == 0 && (uintptr_t)image % 16 == 0;
}

/* What the piece's product reads of x, all rows of it. */
static const real *fill(struct nn_queue *queue, const struct piece *p, const real *x, void *work)
{
	struct nn_columns_args a;

	if (is_direct(&p->c))
		return x;
	a = columns_of(p, x + p->row * (size_t)p->c.h.in * p->c.x_row, columns_in(work));
	if (is_wide(&p->c, a.from)) {
		a.n = p->pixels * (p->c.cin / NN_WIDE);
		NN_ASK(queue, columns_wide, a);
	} else {
		a.n = p->pixels * (a.depth / NN_WIDE);
		NN_ASK(queue, columns, a);
	}
	return a.to;
}

/* The gradients of a piece's columns to dx: of lines behind a row's first they are added. */
static void empty(struct nn_queue *queue, const struct piece *p, real *dx, bool add, void *work)
{
	const struct nn_conv *c = &p->c;
	const size_t pixels = p->rows * (size_t)(c->h.in * c->w.in);
	struct nn_columns_args a =
		columns_of(p, columns_in(work), dx + p->row * (size_t)c->h.in * c->x_row);

	a.c.y_pixel = a.depth;
	a.c.y_row = line_of(c);
	a.add = add || p->line > 0;
	if (is_wide(c, a.to)) {
		a.n = pixels * (c->cin / NN_WIDE);
		NN_ASK(queue, image_wide, a);
	} else {
		a.n = pixels * c->cin;
		NN_ASK(queue, image, a);
	}
}

/* ---- products ---- */

static void finish(struct nn_queue *queue, const struct nn_product_args *a, real *y,
		   size_t channels, const real *residual)
{
	struct nn_product_args rest;

	memcpy(&rest, a, sizeof rest); /* padding, too */
	rest.y = y;
	rest.c.cout = channels;
	rest.residual = residual;
	if (rest.bias || rest.residual || rest.act)
		NN_ASK(queue, finish, rest);
}

void NN_CUDA(plain_product)(struct nn_queue *queue, const struct nn_product_args *a, void *work)
{
	const struct nn_conv *c = &a->c;
	const size_t rows = a->n / ((size_t)(c->h.out * c->w.out) * c->cout);
	const bool add = a->residual == a->y;
	struct piece p = { .pixels = 0 };

	while (next_piece(c, rows, &p)) {
		const struct nn_cuda_matmul m = { .name = "cuBLASLt, a product",
						  .tb = true,
						  .add = add,
						  .m = p.pixels,
						  .n = c->cout,
						  .k = NN_CUDA(plain_depth)(c),
						  .a = fill(queue, &p, a->x, work),
						  .b = a->w,
						  .c = a->y + p.at * c->cout,
						  .work = work };

		nn_cuda_matmul(queue, &m);
	}
	finish(queue, a, a->y, c->cout, add ? NULL : a->residual);
}

void NN_CUDA(plain_input)(struct nn_queue *queue, const struct nn_product_args *a, void *work)
{
	const struct nn_conv *c = &a->c;
	const bool direct = is_direct(c);
	const size_t rows = a->n / ((size_t)(c->h.in * c->w.in) * c->cin);
	struct piece p = { .pixels = 0 };

	while (next_piece(c, rows, &p)) {
		const struct nn_cuda_matmul m = { .name = "cuBLASLt, an input gradient",
						  .add = direct && a->add,
						  .m = p.pixels,
						  .n = NN_CUDA(plain_depth)(c),
						  .k = c->cout,
						  .a = a->dy + p.at * c->cout,
						  .b = a->w,
						  .c = direct ? a->dx : columns_in(work),
						  .work = work };

		nn_cuda_matmul(queue, &m);
		if (!direct)
			empty(queue, &p, a->dx, a->add, work);
	}
	finish(queue, a, a->dx, c->cin, a->residual);
}

void NN_CUDA(plain_weights)(const struct nn_call *call, int param, const struct nn_weights_args *a,
			    void *work)
{
	const struct nn_conv *c = &a->c;
	struct nn_queue *queue = call->site.queue;
	struct piece p = { .pixels = 0 };

	/* dw NULL: it is frozen */
	while (call->dw[param] && next_piece(c, call->rows * a->leaf.unit, &p)) {
		const struct nn_cuda_matmul m = { .name = "cuBLASLt, a weight gradient",
						  .ta = true,
						  .add = !call->first || p.at > 0,
						  .m = c->cout,
						  .n = NN_CUDA(plain_depth)(c),
						  .k = p.pixels,
						  .a = a->dy + p.at * c->cout,
						  .b = fill(queue, &p, a->x, work),
						  .c = call->dw[param],
						  .work = work };

		nn_cuda_matmul(queue, &m);
	}
}

void NN_CUDA(plain_pack)(struct nn_queue *queue, const struct nn_conv *c, size_t channels,
			 size_t positions, const void *from, void *to, bool unpack)
{
	NN_ARGS(struct nn_turn_args, a);

	a.depth = NN_CUDA(plain_depth)(c);
	a.n = a.depth * c->cout;
	a.c = *c;
	a.unpack = unpack;
	a.from = from;
	a.to = to;
	a.channels = channels;
	a.positions = positions;
	NN_ASK(queue, plain_weights, a);
}
