/*
 * layernorm: rows by NN_SUM_LANES threads each; the gradients of gamma and beta by chains over
 * rows, which are fed from shared memory.
 */
#include "device/cuda/rowsum.h"

/* ---- rows ---- */

/* A thread's numbers of a row begin at `at`, its lane; it has n of them in all. */
struct line {
	struct row_lane lane;
	bool there;
	size_t at;
	real mean, inverse;
};

NN_INLINE void begin_line(const struct nn_layernorm_args *a, struct nn_spot p, struct row_sums *s,
			  struct line *r, bool back)
{
	(void)s;
	r->lane = row_lane_of(p);
	r->there = r->lane.row < a->n;
	r->at = r->lane.row * a->columns + r->lane.lane;
	if (!r->there || !back)
		return;
	r->mean = a->saved[2 * r->lane.row];
	r->inverse = a->saved[2 * r->lane.row + 1];
}

NN_INLINE real normal_of(const struct line *r, real x)
{
	return v_mul(v_sub(x, r->mean), r->inverse);
}

/* A lane of the sum of x, or of (x - mean)^2. */
NN_INLINE void sum_line(const struct nn_layernorm_args *a, struct nn_spot p, struct row_sums *s,
			struct line *r, size_t at, bool square)
{
	const unsigned n = lane_numbers(&r->lane, at, a->columns);
	const real *x = a->x + r->at + at;
	real sum = 0;
	(void)p;
	if (!r->there)
		return;
	if (square)
		r->mean = s->total[0][r->lane.slot] / (real)a->columns;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		real v[NN_RUN_AHEAD];
		ask_lane(x + i * NN_SUM_LANES, n - i, v);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++) {
			real d = v_sub(v[j], r->mean);
			if (i + j < n)
				sum = v_add(sum, square ? v_mul(d, d) : v[j]);
		}
	}
	s->value[square][r->lane.slot][r->lane.lane] = sum;
}

NN_INLINE void close_line(const struct nn_layernorm_args *a, struct nn_spot p, struct row_sums *s,
			  struct line *r, size_t at, unsigned which)
{
	(void)p;
	close_block(s, &r->lane, which, at, a->columns);
}

NN_INLINE void put_line(const struct nn_layernorm_args *a, struct nn_spot p, struct row_sums *s,
			struct line *r)
{
	const unsigned n = (unsigned)(a->columns + NN_SUM_LANES - 1 - r->lane.lane) / NN_SUM_LANES;
	const real *x = a->x + r->at, *gamma = a->gamma + r->lane.lane,
		   *beta = a->beta + r->lane.lane;
	real *y = a->y + r->at;
	(void)p;
	if (!r->there)
		return;
	r->inverse = 1 / v_sqrt(s->total[1][r->lane.slot] / (real)a->columns + a->eps);
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		const size_t k = i * NN_SUM_LANES;
		real v[NN_RUN_AHEAD], scale[NN_RUN_AHEAD], shift[NN_RUN_AHEAD];
		ask_lane(x + k, n - i, v);
		ask_lane(gamma + k, n - i, scale);
		ask_lane(beta + k, n - i, shift);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++)
			if (i + j < n)
				y[k + j * NN_SUM_LANES] =
					v_fma(normal_of(r, v[j]), scale[j], shift[j]);
	}
	if (a->saved && r->lane.lane == 0) {
		a->saved[2 * r->lane.row] = r->mean;
		a->saved[2 * r->lane.row + 1] = r->inverse;
	}
}

NN_SCRIPT(layernorm, struct nn_layernorm_args, struct row_sums, struct line, NN_SUM_THREADS)
{
	NN_PHASE(begin_line, false);
	for (size_t at = 0; at < a->columns; at += NN_SUM_BLOCK) {
		NN_PHASE(sum_line, at, false);
		NN_PHASE(close_line, at, 0);
	}
	for (size_t at = 0; at < a->columns; at += NN_SUM_BLOCK) {
		NN_PHASE(sum_line, at, true);
		NN_PHASE(close_line, at, 1);
	}
	NN_PHASE(put_line);
}

/* Lanes of the sums of g = dy * gamma, and of g * normal. */
NN_INLINE void sum_slopes(const struct nn_layernorm_args *a, struct nn_spot p, struct row_sums *s,
			  struct line *r, size_t at)
{
	const unsigned n = lane_numbers(&r->lane, at, a->columns);
	const real *x = a->x + r->at + at, *dy = a->dy + r->at + at,
		   *gamma = a->gamma + r->lane.lane + at;
	real sum = 0, product = 0;
	(void)p;
	if (!r->there)
		return;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		const size_t k = i * NN_SUM_LANES;
		real v[NN_RUN_AHEAD], d[NN_RUN_AHEAD], scale[NN_RUN_AHEAD];
		ask_lane(x + k, n - i, v);
		ask_lane(dy + k, n - i, d);
		ask_lane(gamma + k, n - i, scale);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++) {
			real g = v_mul(d[j], scale[j]);
			if (i + j < n) {
				sum = v_add(sum, g);
				product = v_add(product, v_mul(g, normal_of(r, v[j])));
			}
		}
	}
	s->value[0][r->lane.slot][r->lane.lane] = sum;
	s->value[1][r->lane.slot][r->lane.lane] = product;
}

/* dx may be dy. */
NN_INLINE void put_slopes(const struct nn_layernorm_args *a, struct nn_spot p, struct row_sums *s,
			  struct line *r)
{
	const unsigned n = (unsigned)(a->columns + NN_SUM_LANES - 1 - r->lane.lane) / NN_SUM_LANES;
	const real *x = a->x + r->at, *dy = a->dy + r->at, *gamma = a->gamma + r->lane.lane;
	real *dx = a->dx + r->at;
	const real mean_g = s->total[0][r->lane.slot] / (real)a->columns,
		   mean_gn = s->total[1][r->lane.slot] / (real)a->columns;
	(void)p;
	if (!r->there)
		return;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		const size_t k = i * NN_SUM_LANES;
		real v[NN_RUN_AHEAD], d[NN_RUN_AHEAD], scale[NN_RUN_AHEAD], before[NN_RUN_AHEAD];
		ask_lane(x + k, n - i, v);
		ask_lane(dy + k, n - i, d);
		ask_lane(gamma + k, n - i, scale);
		ask_lane(dx + k, a->add ? n - i : 0, before);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++) {
			real g = v_sub(v_mul(d[j], scale[j]), mean_g);
			g = v_mul(v_fnma(normal_of(r, v[j]), mean_gn, g), r->inverse);
			if (i + j < n)
				dx[k + j * NN_SUM_LANES] = a->add ? v_add(before[j], g) : g;
		}
	}
}

NN_SCRIPT(layernorm_back, struct nn_layernorm_args, struct row_sums, struct line, NN_SUM_THREADS)
{
	NN_PHASE(begin_line, true);
	for (size_t at = 0; at < a->columns; at += NN_SUM_BLOCK) {
		NN_PHASE(sum_slopes, at);
		NN_PHASE(close_line, at, 0);
		NN_PHASE(close_line, at, 1);
	}
	NN_PHASE(put_slopes);
}

/* ---- weights ---- */

/*
 * A block of threads has NN_NORM_COLUMNS columns of a leaf, whose rows it reads in pieces: while a
 * thread a chain goes through one piece, all have asked for the next one.
 */
#define NN_WEIGHTS_THREADS 256
#define NN_PIECE_ROWS (1024 / sizeof(real))
#define NN_ROWS_AT_ONCE (NN_WEIGHTS_THREADS / NN_NORM_COLUMNS)
#define NN_ROWS_EACH (NN_PIECE_ROWS / NN_ROWS_AT_ONCE)

struct columns {
	real normal[2][NN_NORM_COLUMNS][NN_PIECE_ROWS + NN_WIDE];
	real d[2][NN_NORM_COLUMNS][NN_PIECE_ROWS + NN_WIDE];
};

/* What a thread reads of a piece: rows `row`, row + NN_ROWS_AT_ONCE, ... of a column. */
struct piece {
	unsigned column, row;
	real x[NN_ROWS_EACH], d[NN_ROWS_EACH], mean[NN_ROWS_EACH], inverse[NN_ROWS_EACH];
	real sum;
};

/* The first threads of two warps have the chains of gamma and of beta: 2 is none. */
NN_INLINE unsigned chain_of(const struct nn_layernorm_args *a, struct nn_spot p, size_t first)
{
	const unsigned lane = p.thread % 32;
	return lane < NN_NORM_COLUMNS && first + lane < a->columns && p.thread < 64 ? p.thread / 32
										    : 2;
}

/* Where a chain's sum lies: the first leaf's apart from the others'. */
NN_INLINE real *sum_at(const struct nn_layernorm_args *a, size_t leaf, unsigned chain, size_t k)
{
	return (leaf ? a->rest[chain] + (leaf - 1) * a->columns : a->dw[chain]) + k;
}

NN_INLINE void ask_piece(const struct nn_layernorm_args *a, struct piece *r, size_t first,
			 size_t begin, size_t end)
{
	const size_t k = first + r->column;
	NN_UNROLL
	for (unsigned i = 0; i < NN_ROWS_EACH; i++) {
		const size_t q = begin + r->row + i * NN_ROWS_AT_ONCE;
		const bool there = q < end && k < a->columns;
		r->x[i] = there ? a->x[q * a->columns + k] : 0;
		r->d[i] = there ? a->dy[q * a->columns + k] : 0;
		r->mean[i] = there ? a->saved[2 * q] : 0;
		r->inverse[i] = there ? a->saved[2 * q + 1] : 0;
	}
}

NN_INLINE void put_piece(struct columns *s, struct piece *r, unsigned to)
{
	NN_UNROLL
	for (unsigned i = 0; i < NN_ROWS_EACH; i++) {
		const unsigned q = r->row + i * NN_ROWS_AT_ONCE;
		s->normal[to][r->column][q] = v_mul(v_sub(r->x[i], r->mean[i]), r->inverse[i]);
		s->d[to][r->column][q] = r->d[i];
	}
}

NN_INLINE void begin_piece(const struct nn_layernorm_args *a, struct nn_spot p, struct columns *s,
			   struct piece *r, size_t leaf, size_t first, size_t begin, size_t end)
{
	const unsigned chain = chain_of(a, p, first);
	r->column = p.thread % NN_NORM_COLUMNS;
	r->row = p.thread / NN_NORM_COLUMNS;
	r->sum = 0;
	if (chain < 2 && !a->first)
		r->sum = *sum_at(a, leaf, chain, first + r->column);
	ask_piece(a, r, first, begin, end);
	put_piece(s, r, 0);
}

/* A chain's next steps, n of which are left: most times there are more, and all are read ahead. */
#define NN_STEPS 32
NN_INLINE real sum_steps(unsigned chain, const real *d, const real *normal, size_t n, real sum)
{
	if (n < NN_STEPS) {
		for (size_t q = 0; q < n; q++)
			sum = chain == 0 ? v_fma(d[q], normal[q], sum) : v_add(sum, d[q]);
		return sum;
	}
	if (chain == 0) {
		NN_UNROLL
		for (unsigned q = 0; q < NN_STEPS; q++)
			sum = v_fma(d[q], normal[q], sum);
	} else {
		NN_UNROLL
		for (unsigned q = 0; q < NN_STEPS; q++)
			sum = v_add(sum, d[q]);
	}
	return sum;
}

NN_INLINE void sum_piece(const struct nn_layernorm_args *a, struct nn_spot p, struct columns *s,
			 struct piece *r, size_t first, size_t begin, size_t end, unsigned from)
{
	const unsigned chain = chain_of(a, p, first);
	const size_t next = begin + NN_PIECE_ROWS, rows = end < next ? end - begin : NN_PIECE_ROWS;
	const real *normal = s->normal[from][r->column], *d = s->d[from][r->column];
	if (next < end)
		ask_piece(a, r, first, next, end);
	if (chain < 2)
		for (size_t q = 0; q < rows; q += NN_STEPS)
			r->sum = sum_steps(chain, d + q, normal + q, rows - q, r->sum);
	if (next < end)
		put_piece(s, r, !from);
}

NN_INLINE void put_weights(const struct nn_layernorm_args *a, struct nn_spot p, struct columns *s,
			   struct piece *r, size_t leaf, size_t first)
{
	const unsigned chain = chain_of(a, p, first);
	(void)s;
	if (chain < 2)
		*sum_at(a, leaf, chain, first + r->column) = r->sum;
}

NN_SCRIPT(layernorm_weights, struct nn_layernorm_args, struct columns, struct piece,
	  NN_WEIGHTS_THREADS)
{
	const size_t across = (a->columns + NN_NORM_COLUMNS - 1) / NN_NORM_COLUMNS,
		     leaf = p.block / across, first = p.block % across * NN_NORM_COLUMNS,
		     begin = nn_bound_at(&a->leaf, leaf), end = nn_bound_at(&a->leaf, leaf + 1);
	unsigned from = 0;
	NN_PHASE(begin_piece, leaf, first, begin, end);
	for (size_t q = begin; q < end; q += NN_PIECE_ROWS, from = !from)
		NN_PHASE(sum_piece, first, q, end, from);
	NN_PHASE(put_weights, leaf, first);
}
