/*
 * Sums over blocks of rows, added along a tree whose shape follows from the number of rows alone.
 */
#include <string.h>

#include "base/memory.h"
#include "predict/score/metrics-sums.h"

int nn_metrics_take_sums(struct nn_metrics *m, struct nn_error *err)
{
	m->sums_bytes = sizeof *m->open + (m->classes ? 0 : m->columns * sizeof *m->open->columns);
	m->block_bytes = m->sums_bytes +
			 (nn_metrics_by_row(m)
				  ? NN_METRICS_BLOCK * m->positions * sizeof(struct nn_metric_row)
				  : 0);
	m->open = nn_alloc(1, m->block_bytes, err);
	m->total = nn_alloc(1, m->sums_bytes, err);
	m->waiting = nn_alloc(NN_METRICS_LEVELS, m->sums_bytes, err);
	return m->open && m->total && m->waiting ? 0 : -1;
}

int nn_metrics_take_weights(struct nn_metrics *m, struct nn_error *err)
{
	if (!m->classes || m->positions == 1)
		return 0;
	m->weighed = true;
	nn_metrics_free_sums(m);
	return nn_metrics_take_sums(m, err);
}

void nn_metrics_free_sums(struct nn_metrics *m)
{
	nn_free(m->open);
	nn_free(m->total);
	nn_free(m->waiting);
}

void nn_metrics_clear_sums(struct nn_metrics *m)
{
	memset(m->open, 0, m->sums_bytes);
	m->blocks = 0;
	m->kept = NULL;
}

size_t nn_metrics_bytes(const struct nn_metrics *m)
{
	return m->block_bytes;
}

static size_t n_columns(const struct nn_metrics *m)
{
	return m->classes ? 0 : m->columns;
}

/*
 * The rows of b follow those of a; the result is in b. Mean and squared deviations: Chan, Golub,
 * LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances".
 */
static void join(const struct nn_metrics *m, const struct nn_metric_sums *a,
		 struct nn_metric_sums *b)
{
	double all = a->weight + b->weight, share = all > 0 ? b->weight / all : 0,
	       weight = a->weight * share;

	for (size_t c = 0; c < n_columns(m); c++) {
		const struct column_sums *left = &a->columns[c];
		struct column_sums *right = &b->columns[c];
		double off = right->mean - left->mean;

		right->squared = left->squared + right->squared;
		right->absolute = left->absolute + right->absolute;
		right->mean = left->mean + off * share;
		right->spread = left->spread + right->spread + off * off * weight;
	}
	b->rows = a->rows + b->rows;
	b->loss = a->loss + b->loss;
	b->weight = all;
}

/* The n-th of those that wait, from the left. */
static struct nn_metric_sums *waiting(const struct nn_metrics *m, int n)
{
	return (struct nn_metric_sums *)(void *)(m->waiting + (size_t)n * m->sums_bytes);
}

void nn_metrics_add_block(struct nn_metrics *m, const void *block)
{
	int n = __builtin_popcountll(m->blocks);
	const struct nn_metric_sums *sums = block;

	if (nn_metrics_by_row(m))
		nn_metrics_count_rows(m, (const void *)((const char *)block + m->sums_bytes),
				      (size_t)sums->rows * m->positions);
	memcpy(waiting(m, n), block, m->sums_bytes);
	for (uint64_t number = m->blocks++; number & 1; number >>= 1, n--) {
		struct nn_metric_sums *left = waiting(m, n - 1);

		join(m, left, waiting(m, n));
		memcpy(left, waiting(m, n), m->sums_bytes);
	}
}

void nn_metrics_keep(struct nn_metrics *m, void *blocks)
{
	m->kept = blocks;
}

void nn_metrics_close(struct nn_metrics *m)
{
	if (m->open->rows == 0)
		return;
	if (m->kept) {
		memcpy(m->kept, m->open, m->block_bytes);
		m->kept += m->block_bytes;
	} else {
		nn_metrics_add_block(m, m->open);
	}
	memset(m->open, 0, m->sums_bytes);
}

void nn_metrics_sum_up(const struct nn_metrics *m)
{
	int n = __builtin_popcountll(m->blocks);

	if (n == 0)
		memset(m->total, 0, m->sums_bytes);
	else
		memcpy(m->total, waiting(m, --n), m->sums_bytes);
	while (n-- > 0)
		join(m, waiting(m, n), m->total);
}
