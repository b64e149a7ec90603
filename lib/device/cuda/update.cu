/* Optimizers, sums, and the numbers of an update that follow from others. */
#include "device/cpu/sum.h"
#include "device/cuda/step.h"

/* ---- optimizers ---- */

NN_INLINE void make_ready(const struct nn_update_args *a, struct nn_spot p, struct step *s, char *r)
{
	(void)r;
	if (p.thread == 0)
		step_ready(s, &a->u, a->direction);
}

/* The first of the list that is not before row r. */
NN_INLINE size_t find_row(const struct nn_row_list *rows, size_t r)
{
	size_t low = 0, high = *rows->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows->row[middle] < r)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Element i of the weights, or of a table's listed rows. */
NN_INLINE void step_one(const struct nn_update_args *a, struct nn_spot p, struct step *s, char *r)
{
	size_t i = p.block * NN_MAP_THREADS + p.thread, width = a->rows.width;
	const real *value = (const real *)a->rows.value;
	real zero = 0;
	(void)r;
	if (i >= a->n)
		return;
	if (!a->listed) {
		step_at(s, &a->u, i, (const real *)a->u.g + i);
	} else if (a->u.every) {
		size_t row = i / width, j = find_row(&a->rows, row);
		bool there = j < *a->rows.n && a->rows.row[j] == row;
		step_at(s, &a->u, i, there ? value + j * width + i % width : &zero);
	} else if (i / width < *a->rows.n) {
		step_at(s, &a->u, a->rows.row[i / width] * width + i % width, value + i);
	}
}

NN_SCRIPT(update, struct nn_update_args, struct step, char, NN_MAP_THREADS)
{
	NN_PHASE(make_ready);
	NN_PHASE(step_one);
}

/* ---- sums ---- */

NN_INLINE size_t numbers_of(const struct nn_sum_args *a)
{
	return a->rows ? *a->rows * a->n : a->n;
}

#define NN_SUM_THREADS 256

struct chains {
	real value[NN_SUM_THREADS];
};

/* 16 chains of each of 16 blocks of numbers. */
NN_INLINE void sum_chain(const struct nn_sum_args *a, struct nn_spot p, struct chains *s, char *r)
{
	size_t n = numbers_of(a), lane = p.thread % NN_SUM_LANES;
	size_t begin = (p.block * (NN_SUM_THREADS / NN_SUM_LANES) + p.thread / NN_SUM_LANES) *
		       NN_SUM_BLOCK;
	size_t end = n - begin < NN_SUM_BLOCK ? n : begin + NN_SUM_BLOCK;
	real sum = 0;
	(void)r;
	for (size_t i = begin + lane; begin < n && i < end; i += NN_SUM_LANES) {
		real v = a->values[i];
		sum = v_add(sum, a->squares ? v_mul(v, v) : v);
	}
	s->value[p.thread] = sum;
}

NN_INLINE void sum_pairs(const struct nn_sum_args *a, struct nn_spot p, struct chains *s, char *r,
			 unsigned w)
{
	(void)a;
	(void)r;
	if (p.thread % (2 * w) == 0)
		s->value[p.thread] = v_add(s->value[p.thread], s->value[p.thread + w]);
}

NN_INLINE void sum_put(const struct nn_sum_args *a, struct nn_spot p, struct chains *s, char *r)
{
	size_t block = p.block * (NN_SUM_THREADS / NN_SUM_LANES) + p.thread / NN_SUM_LANES;
	(void)r;
	if (p.thread % NN_SUM_LANES == 0 &&
	    (block == 0 || block * NN_SUM_BLOCK < numbers_of(a)))
		a->partial[block] = s->value[p.thread];
	if (p.block == 0 &&
	    p.thread == 0) /* sum_tree adds the other blocks, if there may be some */
		*a->result = (double)s->value[0];
}

NN_SCRIPT(sum_blocks, struct nn_sum_args, struct chains, char, NN_SUM_THREADS)
{
	NN_PHASE(sum_chain);
	for (unsigned w = 1; w < NN_SUM_LANES; w *= 2)
		NN_PHASE(sum_pairs, w);
	NN_PHASE(sum_put);
}

struct tree_of_blocks {
	real next[NN_SUM_THREADS];
};

/* Neighbours at + thread of n sums; the last of an odd number stays as it is. */
NN_INLINE void add_neighbours(const struct nn_sum_args *a, struct nn_spot p,
			      struct tree_of_blocks *s, char *r, size_t at, size_t n)
{
	size_t i = 2 * (at + p.thread);
	(void)r;
	if (i < n)
		s->next[p.thread] = i + 1 < n ? v_add(a->partial[i], a->partial[i + 1])
					      : a->partial[i];
}

NN_INLINE void put_neighbours(const struct nn_sum_args *a, struct nn_spot p,
			      struct tree_of_blocks *s, char *r, size_t at, size_t n)
{
	(void)r;
	if (2 * (at + p.thread) < n)
		a->partial[at + p.thread] = s->next[p.thread];
}

NN_INLINE void put_result(const struct nn_sum_args *a, struct nn_spot p, struct tree_of_blocks *s,
			  char *r)
{
	(void)s;
	(void)r;
	if (p.thread == 0)
		*a->result = (double)a->partial[0];
}

/* Blocks pairwise, neighbours first, level by level. */
NN_SCRIPT(sum_tree, struct nn_sum_args, struct tree_of_blocks, char, NN_SUM_THREADS)
{
	size_t n = (numbers_of(a) + NN_SUM_BLOCK - 1) / NN_SUM_BLOCK;
	for (; n > 1; n = (n + 1) / 2)
		for (size_t at = 0; 2 * at < n; at += NN_SUM_THREADS) {
			NN_PHASE(add_neighbours, at, n);
			NN_PHASE(put_neighbours, at, n);
		}
	NN_PHASE(put_result);
}

/* ---- losses ---- */

/* 16 chains of each leaf's rows. */
NN_INLINE void loss_chain(const struct nn_losses_args *a, struct nn_spot p, struct chains *s,
			  char *r)
{
	size_t leaf = p.thread / NN_SUM_LANES, end;
	real sum = 0;
	(void)r;
	if (leaf >= a->leaf.n)
		return;
	end = nn_bound_at(&a->leaf, leaf + 1);
	for (size_t i = nn_bound_at(&a->leaf, leaf) + p.thread % NN_SUM_LANES; i < end;
	     i += NN_SUM_LANES)
		sum = v_add(sum, a->row_loss[i]);
	s->value[p.thread] = sum;
}

/* Neighbours w apart: of chains, and of leaves where w is more than a leaf has. */
NN_INLINE void loss_pairs(const struct nn_losses_args *a, struct nn_spot p, struct chains *s,
			  char *r, unsigned w)
{
	(void)r;
	if (p.thread % (2 * w) == 0 && (p.thread + w) / NN_SUM_LANES < a->leaf.n)
		s->value[p.thread] = v_add(s->value[p.thread], s->value[p.thread + w]);
}

NN_INLINE void put_losses(const struct nn_losses_args *a, struct nn_spot p, struct chains *s,
			  char *r)
{
	(void)r;
	if (p.thread < a->leaf.n)
		a->losses[p.thread * a->step] = (double)s->value[p.thread * NN_SUM_LANES];
}

NN_INLINE void hold_losses(const struct nn_losses_args *a, struct nn_spot p, struct chains *s,
			   char *r)
{
	(void)r;
	if (p.thread == 0 && a->now && !(v_abs(s->value[0]) < (real)__builtin_inff()))
		a->now->hold = 1;
}

NN_SCRIPT(sum_losses, struct nn_losses_args, struct chains, char, NN_SUM_THREADS)
{
	NN_PHASE(loss_chain);
	for (unsigned w = 1; w < NN_SUM_LANES; w *= 2)
		NN_PHASE(loss_pairs, w);
	NN_PHASE(put_losses);
	for (unsigned w = NN_SUM_LANES; w < NN_SUM_THREADS; w *= 2)
		NN_PHASE(loss_pairs, w);
	NN_PHASE(hold_losses);
}

/* ---- numbers of an update ---- */

NN_MAP(clip, struct nn_clip_args)
{
	const struct nn_clip_call *c = &a->call;
	real *squares = (real *)c->work;
	struct nn_sum_pair pair = { squares, squares };
	size_t n = 0;
	double clip, norm;
	(void)i;
	for (size_t p = 0; p < c->n; p++)
		if (c->role[p] != NN_BUFFER)
			squares[n++] = (real)c->squares[p];
	norm = (double)v_sum(v_term_value, &pair, n);
	*c->norm = norm = sqrt(norm) * c->now->clip; /* which undoes the scale of losses */
	clip = c->most / (norm + 1e-6);
	if (c->most > 0 && clip < 1)
		c->now->clip *= clip;
}

/* What device/ratio.h says, on the device. */
NN_INLINE double ratio_of(enum nn_optimizer_kind kind, double w, double g, double decay)
{
	const double coefficient = 0.001;
	if (!(w > 0) || !(g > 0))
		return 1;
	return kind == NN_OPTIMIZER_LARS ? coefficient * w / (g + decay * w) : w / g;
}

NN_MAP(ratio, struct nn_ratio_args)
{
	const struct nn_ratio_call *c = &a->call;
	double w = sqrt(c->w[i]), g = sqrt(c->g[i]);
	bool scaled = c->role[i] == NN_WEIGHT || c->role[i] == NN_ROW_TABLE;
	if (!c->along)
		g *= c->now->clip;
	c->ratio[i] = scaled ? ratio_of(c->kind, w, g, c->weight_decay) : 1;
}

NN_MAP(hold, struct nn_hold_args)
{
	real stack[48];
	int depth = 0;
	for (size_t leaf = 0; leaf < a->leaves; leaf++) {
		real sum = (real)a->losses[leaf * a->step];
		for (size_t node = leaf; node & 1; node >>= 1)
			sum = stack[--depth] + sum;
		stack[depth++] = sum;
	}
	(void)i;
	if (!(v_abs(stack[0]) < (real)__builtin_inff()))
		a->now->hold = 1;
}
