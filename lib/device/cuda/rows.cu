/* A thread for a row of numbers: softmax, losses, and what rows say as they pass. */
#include "device/cpu/loss.h"
#include "device/cuda/wide.h"

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

/*
 * Cross-entropy of classes: NN_SUM_LANES threads a row, each with a lane of its nn_sum. The
 * bytes are row_loss's.
 */
#define NN_WIDE_LOSS_ROWS 16
#define NN_LOOK_AHEAD 16 /* logits that a thread asks for at once */
#define NN_WIDE_LOSS_THREADS (NN_WIDE_LOSS_ROWS * NN_SUM_LANES)

struct wide_loss {
	real value[NN_WIDE_LOSS_ROWS][NN_SUM_LANES], chosen[NN_WIDE_LOSS_ROWS],
		factor[NN_WIDE_LOSS_ROWS];
};

/* The logits of a thread's row; NULL: it has none, or its target is masked. */
struct wide_row {
	const real *x;
	real *d;
	size_t i;
	unsigned n; /* numbers of the thread's lane */
	int32_t truth;
	real weight;
};

NN_INLINE void find_largest(const struct nn_loss_args *a, struct nn_spot p, struct wide_loss *s,
			    struct wide_row *r)
{
	unsigned row = p.thread / NN_SUM_LANES, lane = p.thread % NN_SUM_LANES;
	const real *x;
	real most = -(real)__builtin_inff();
	r->i = p.block * NN_WIDE_LOSS_ROWS + row;
	r->x = NULL;
	r->n = (unsigned)(a->columns + NN_SUM_LANES - 1 - lane) / NN_SUM_LANES;
	if (r->i >= a->n)
		return;
	r->d = a->dlogits + r->i * a->columns;
	r->truth = a->classes[r->i];
	x = a->logits + r->i * a->columns;
	for (unsigned i = 0; i < r->n; i += NN_LOOK_AHEAD) {
		real v[NN_LOOK_AHEAD];
		ask(x + lane + i * NN_SUM_LANES, NN_SUM_LANES, r->n - i, v, NN_LOOK_AHEAD);
		NN_UNROLL
		for (unsigned j = 0; j < NN_LOOK_AHEAD; j++)
			most = i + j < r->n ? v_max(v[j], most) : most;
	}
	if (r->truth < 0) {
		for (size_t k = lane; k < a->columns; k += NN_SUM_LANES)
			r->d[k] = 0;
		return;
	}
	r->x = x;
	r->weight = a->class_weights ? a->class_weights[r->truth] : 1;
	s->value[row][lane] = most;
	if (lane == 0)
		s->chosen[row] = r->x[r->truth];
}

NN_INLINE void merge_largest(const struct nn_loss_args *a, struct nn_spot p, struct wide_loss *s,
			     struct wide_row *r)
{
	unsigned row = p.thread / NN_SUM_LANES;
	(void)a;
	if (!r->x || p.thread % NN_SUM_LANES)
		return;
	for (unsigned i = 1; i < NN_SUM_LANES; i++)
		s->value[row][0] = v_max(s->value[row][i], s->value[row][0]);
	s->factor[row] = s->value[row][0];
}

NN_INLINE void sum_exp(const struct nn_loss_args *a, struct nn_spot p, struct wide_loss *s,
		       struct wide_row *r)
{
	unsigned row = p.thread / NN_SUM_LANES, lane = p.thread % NN_SUM_LANES;
	real sum = 0;
	(void)a;
	if (!r->x)
		return;
	for (unsigned i = 0; i < r->n; i += NN_LOOK_AHEAD) {
		const size_t k = lane + i * NN_SUM_LANES;
		real v[NN_LOOK_AHEAD];
		ask(r->x + k, NN_SUM_LANES, r->n - i, v, NN_LOOK_AHEAD);
		NN_UNROLL
		for (unsigned j = 0; j < NN_LOOK_AHEAD; j++) {
			if (i + j >= r->n)
				continue;
			real e = v_exp_negative(v_sub(v[j], s->factor[row]));
			r->d[k + j * NN_SUM_LANES] = e;
			sum = v_add(sum, e);
		}
	}
	s->value[row][lane] = sum;
}

NN_INLINE void put_loss(const struct nn_loss_args *a, struct nn_spot p, struct wide_loss *s,
			struct wide_row *r)
{
	unsigned row = p.thread / NN_SUM_LANES;
	const real weight = r->i < a->n && a->row_weights ? a->row_weights[r->i] : 1;
	const real scale = a->now ? (real)a->now->scale : 1;
	real *t = s->value[row], loss = 0;
	if (r->i >= a->n || p.thread % NN_SUM_LANES)
		return;
	if (r->x) {
		for (unsigned w = 1; w < NN_SUM_LANES; w *= 2)
			for (unsigned i = 0; i < NN_SUM_LANES; i += 2 * w)
				t[i] = v_add(t[i], t[i + w]);
		loss = r->weight * (v_log_one(t[0]) - (s->chosen[row] - s->factor[row]));
		s->chosen[row] = scale * weight * r->weight;
		s->factor[row] = s->chosen[row] / t[0];
	}
	a->row_loss[r->i] = weight * (loss + 0); /* as the sum over one position is */
}

NN_INLINE void put_gradient(const struct nn_loss_args *a, struct nn_spot p, struct wide_loss *s,
			    struct wide_row *r)
{
	unsigned row = p.thread / NN_SUM_LANES, lane = p.thread % NN_SUM_LANES;
	(void)a;
	if (!r->x)
		return;
	for (unsigned i = 0; i < r->n; i += NN_LOOK_AHEAD) {
		const size_t k = lane + i * NN_SUM_LANES;
		real v[NN_LOOK_AHEAD];
		ask(r->d + k, NN_SUM_LANES, r->n - i, v, NN_LOOK_AHEAD);
		NN_UNROLL
		for (unsigned j = 0; j < NN_LOOK_AHEAD; j++) {
			const size_t c = k + j * NN_SUM_LANES;
			real d = v_mul(v[j], s->factor[row]);
			if (i + j < r->n)
				r->d[c] = (size_t)r->truth == c ? d - s->chosen[row] : d;
		}
	}
}

NN_SCRIPT(wide_loss, struct nn_loss_args, struct wide_loss, struct wide_row, NN_WIDE_LOSS_THREADS)
{
	NN_PHASE(find_largest);
	NN_PHASE(merge_largest);
	NN_PHASE(sum_exp);
	NN_PHASE(put_loss);
	NN_PHASE(put_gradient);
}

/* ---- counts ---- */

#define NN_COUNT_THREADS 256

struct counts {
	double value[NN_COUNT_THREADS], all[NN_COUNT_THREADS];
	real most[NN_COUNT_THREADS];
	uint32_t best[NN_COUNT_THREADS];
};

/* Threads that look for the largest of a position's logits. */
NN_INLINE unsigned lookers(const struct nn_count_call *c)
{
	return c->classes && c->columns > 64 ? 16 : 1;
}

/* The first of the largest among each looker's logits; a NaN is larger than nothing. */
NN_INLINE void look(const struct nn_count_args *a, struct nn_spot p, struct counts *s, char *r,
		    size_t at, size_t end)
{
	const struct nn_count_call *c = &a->call;
	const unsigned n = lookers(c), lane = p.thread % n;
	const unsigned many = (unsigned)(c->columns + n - 1 - lane) / n;
	const size_t i = at + p.thread / n;
	const real *x = (const real *)c->logits + i * c->columns + lane;
	real most = -(real)__builtin_inff();
	unsigned best = 0;
	(void)r;
	if (!c->classes || i >= end)
		return;
	for (unsigned k = 0; k < many; k += NN_LOOK_AHEAD) {
		real v[NN_LOOK_AHEAD];
		ask(x + (size_t)k * n, n, many - k, v, NN_LOOK_AHEAD);
		most = k == 0 && lane == 0 ? v[0] : most;
		NN_UNROLL
		for (unsigned j = 0; j < NN_LOOK_AHEAD; j++) {
			const bool larger = k + j < many && v[j] > most;
			best = larger ? lane + (k + j) * n : best;
			most = larger ? v[j] : most;
		}
	}
	s->most[p.thread] = most;
	s->best[p.thread] = best;
}

NN_INLINE size_t largest(const struct counts *s, unsigned from, unsigned n)
{
	size_t best = s->best[from];
	real most = s->most[from];
	for (unsigned i = from + 1; i < from + n; i++)
		if (s->most[i] > most || (s->most[i] == most && s->best[i] < best)) {
			most = s->most[i];
			best = s->best[i];
		}
	return best;
}

/* What item at + thread adds: a position of classes, or a number. */
NN_INLINE void weigh(const struct nn_count_args *a, struct nn_spot p, struct counts *s, char *r,
		     size_t at, size_t end)
{
	const struct nn_count_call *c = &a->call;
	const real *x = (const real *)c->logits, *y = (const real *)c->numbers,
		   *weights = (const real *)c->row_weights;
	const unsigned n = lookers(c);
	size_t i = at + p.thread, q = c->classes ? i : i / c->columns;
	double weight;
	(void)r;
	if (i >= end || p.thread >= NN_COUNT_THREADS / n)
		return;
	weight = weights ? (double)weights[q / c->positions] : 1;
	if (c->classes) {
		int32_t truth = c->classes[i];
		s->all[p.thread] = truth >= 0 ? weight : 0;
		s->value[p.thread] =
			truth >= 0 && largest(s, p.thread * n, n) == (size_t)truth ? weight : 0;
	} else {
		double off = ((double)x[i] - (double)y[i]) * (c->sd ? c->sd[i % c->columns] : 1);
		int masked = y[q * c->columns] != y[q * c->columns];
		s->value[p.thread] = masked ? 0 : weight * (off * off);
		s->all[p.thread] = !masked && i % c->columns == c->columns - 1
					   ? weight * (double)c->columns
					   : 0;
	}
}

/* In the order of rows. */
NN_INLINE void add_up(const struct nn_count_args *a, struct nn_spot p, struct counts *s, char *r,
		      size_t at, size_t end)
{
	size_t most = NN_COUNT_THREADS / lookers(&a->call), n = end - at < most ? end - at : most;
	double *counts = a->call.counts + p.block * a->step;
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
	size_t end = nn_bound_at(&a->leaf, p.block + 1);
	for (size_t at = nn_bound_at(&a->leaf, p.block); at < end;
	     at += NN_COUNT_THREADS / lookers(&a->call)) {
		NN_PHASE(look, at, end);
		NN_PHASE(weigh, at, end);
		NN_PHASE(add_up, at, end);
	}
}
