/* A thread for a row of numbers: softmax, layernorm, losses, and what rows say as they pass. */
#include "device/cpu/loss.h"
#include "device/cuda/phase.h"

NN_MAP(softmax, struct nn_softmax_args)
{
	size_t n = a->columns;
	if (a->log)
		log_softmax_row(a->x + i * n, a->to + i * n, n);
	else
		v_softmax(a->x + i * n, a->to + i * n, n);
}

NN_MAP(softmax_back, struct nn_softmax_args)
{
	size_t n = a->columns;
	if (a->log)
		log_softmax_back_row(a->y + i * n, a->dy + i * n, a->to + i * n, n, a->add);
	else
		v_softmax_back(a->y + i * n, a->dy + i * n, a->to + i * n, n, a->add);
}

NN_MAP(loss, struct nn_loss_args)
{
	const struct nn_loss_call call = {
		.kind = (enum nn_loss_kind)a->kind,
		.rows = a->n,
		.positions = a->positions,
		.columns = a->columns,
		.logits = a->logits,
		.classes = a->classes,
		.numbers = a->numbers,
		.class_weights = a->class_weights,
		.row_weights = a->row_weights,
		.now = a->now,
		.row_loss = a->row_loss,
		.dlogits = a->dlogits,
	};
	row_loss(&call, i);
}

/* ---- layernorm ---- */

struct centered {
	const real *x, *dy, *gamma;
	real mean, inverse;
};

NN_INLINE real term_square(const void *arg, size_t i, size_t k)
{
	const struct centered *c = (const struct centered *)arg;
	real d = v_sub(c->x[i], c->mean);
	(void)k;
	return v_mul(d, d);
}

NN_INLINE real term_g(const void *arg, size_t i, size_t k)
{
	const struct centered *c = (const struct centered *)arg;
	(void)k;
	return v_mul(c->dy[i], c->gamma[i]);
}

NN_INLINE real normal_at(const struct centered *c, size_t i)
{
	return v_mul(v_sub(c->x[i], c->mean), c->inverse);
}

NN_INLINE real term_g_normal(const void *arg, size_t i, size_t k)
{
	return v_mul(term_g(arg, i, k), normal_at((const struct centered *)arg, i));
}

NN_MAP(layernorm, struct nn_layernorm_args)
{
	size_t n = a->columns;
	struct centered c = { a->x + i * n, NULL, NULL, 0, 0 };
	struct nn_sum_pair pair = { c.x, c.x };
	c.mean = v_sum(v_term_value, &pair, n) / (real)n;
	c.inverse = 1 / v_sqrt(v_sum(term_square, &c, n) / (real)n + a->eps);
	for (size_t k = 0; k < n; k++)
		a->y[i * n + k] = v_fma(normal_at(&c, k), a->gamma[k], a->beta[k]);
	if (a->saved) {
		a->saved[2 * i] = c.mean;
		a->saved[2 * i + 1] = c.inverse;
	}
}

NN_MAP(layernorm_back, struct nn_layernorm_args)
{
	size_t n = a->columns;
	struct centered c = { a->x + i * n, a->dy + i * n, a->gamma, a->saved[2 * i],
			      a->saved[2 * i + 1] };
	real mean_g = v_sum(term_g, &c, n) / (real)n, mean_gn = v_sum(term_g_normal, &c, n) / (real)n;
	for (size_t k = 0; k < n; k++) {
		real d = v_fnma(normal_at(&c, k), mean_gn, v_sub(term_g(&c, k, 1), mean_g));
		nn_put(a->dx + i * n + k, v_mul(d, c.inverse), a->add);
	}
}

/* Column i % columns of a leaf: gamma's and beta's chains over its positions. */
NN_MAP(layernorm_weights, struct nn_layernorm_args)
{
	size_t n = a->columns, leaf = i / n, k = i % n;
	real *to[2], sum[2];
	for (int w = 0; w < 2; w++) {
		to[w] = (leaf ? a->rest[w] + (leaf - 1) * n : a->dw[w]) + k;
		sum[w] = a->first ? 0 : *to[w];
	}
	for (size_t q = nn_bound_at(&a->leaf, leaf); q < nn_bound_at(&a->leaf, leaf + 1); q++) {
		struct centered c = { a->x + q * n, NULL, NULL, a->saved[2 * q],
				      a->saved[2 * q + 1] };
		real d = a->dy[q * n + k];
		sum[0] = v_fma(d, normal_at(&c, k), sum[0]);
		sum[1] = v_add(sum[1], d);
	}
	*to[0] = sum[0];
	*to[1] = sum[1];
}

/* ---- counts ---- */

#define NN_COUNT_THREADS 256

struct counts {
	double value[NN_COUNT_THREADS], all[NN_COUNT_THREADS];
};

NN_INLINE size_t largest(const real *x, size_t n)
{
	size_t best = 0;
	for (size_t c = 1; c < n; c++)
		if (x[c] > x[best])
			best = c;
	return best;
}

/* What item at + thread adds: a position of classes, or a number. */
NN_INLINE void weigh(const struct nn_count_args *a, struct nn_spot p, struct counts *s, char *r,
		     size_t at)
{
	const struct nn_count_call *c = &a->call;
	const real *x = (const real *)c->logits, *y = (const real *)c->numbers,
		   *weights = (const real *)c->row_weights;
	size_t i = at + p.thread, q = c->classes ? i : i / c->columns;
	double weight;
	(void)r;
	if (i >= a->n)
		return;
	weight = weights ? (double)weights[q / c->positions] : 1;
	if (c->classes) {
		int32_t truth = c->classes[i];
		s->all[p.thread] = truth >= 0 ? weight : 0;
		s->value[p.thread] =
			truth >= 0 && largest(x + i * c->columns, c->columns) == (size_t)truth
				? weight
				: 0;
	} else {
		double off = ((double)x[i] - (double)y[i]) * (c->sd ? c->sd[i % c->columns] : 1);
		s->value[p.thread] = weight * (off * off);
		s->all[p.thread] = i % c->columns == c->columns - 1 ? weight * (double)c->columns : 0;
	}
}

/* In the order of rows. */
NN_INLINE void add_up(const struct nn_count_args *a, struct nn_spot p, struct counts *s, char *r,
		      size_t at)
{
	size_t n = a->n - at < NN_COUNT_THREADS ? a->n - at : NN_COUNT_THREADS;
	double *counts = a->call.counts;
	int which = a->call.classes ? NN_COUNT_HITS : NN_COUNT_SQUARES;
	double value = counts[which], all = counts[NN_COUNT_ALL];
	(void)r;
	if (p.thread > 0)
		return;
	for (size_t i = 0; i < n; i++) {
		value += s->value[i];
		all += s->all[i];
	}
	counts[which] = value;
	counts[NN_COUNT_ALL] = all;
}

NN_SCRIPT(count, struct nn_count_args, struct counts, char, NN_COUNT_THREADS)
{
	for (size_t at = 0; at < a->n; at += NN_COUNT_THREADS) {
		NN_PHASE(weigh, at);
		NN_PHASE(add_up, at);
	}
}
