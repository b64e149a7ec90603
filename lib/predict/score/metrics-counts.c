/*
 * What is counted of classes. Counts are f64: whole numbers, which are exact in any order, or sums
 * of the weights of rows, which are added in the order of rows whatever rank had them.
 */
#include <string.h>

#include "base/memory.h"
#include "predict/score/metrics-sums.h"

/*
 * Above this many classes the table of confusions is not kept: it would be larger than the model.
 */
#define MAX_CONFUSION 2048

/* Labels, predictions and hits of each class, unknown labels, confusions. */
static size_t n_counts(const struct nn_metrics *m)
{
	return 3 * m->columns + 1 + (m->columns <= MAX_CONFUSION ? m->columns * m->columns : 0);
}

int nn_metrics_take_counts(struct nn_metrics *m, struct nn_error *err)
{
	size_t c = m->columns;

	m->support = nn_alloc(n_counts(m), sizeof *m->support, err);
	if (!m->support)
		return -1;
	m->predicted = m->support + c;
	m->hit = m->support + 2 * c;
	m->unknown = m->support + 3 * c;
	m->confusion = c <= MAX_CONFUSION ? m->unknown + 1 : NULL;
	return 0;
}

void nn_metrics_clear_counts(struct nn_metrics *m)
{
	if (m->support)
		memset(m->support, 0, n_counts(m) * sizeof *m->support);
	nn_auc_reset(&m->auc);
}

void nn_metrics_count(struct nn_metrics *m, int32_t truth, size_t guess, double weight)
{
	if (truth == NN_CLASS_IGNORED)
		return;
	m->predicted[guess] += weight;
	if (truth == NN_CLASS_UNKNOWN) {
		*m->unknown += weight;
		return;
	}
	m->support[truth] += weight;
	m->hit[truth] += (size_t)truth == guess ? weight : 0;
	if (m->confusion)
		m->confusion[(size_t)truth * m->columns + guess] += weight;
}

void nn_metrics_count_rows(struct nn_metrics *m, const struct nn_metric_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		nn_metrics_count(m, rows[i].truth, (size_t)rows[i].guess, rows[i].weight);
		if (nn_metrics_has_auc(m) && rows[i].truth >= 0 && rows[i].weight > 0)
			nn_auc_add(&m->auc, rows[i].score, rows[i].truth == 1, rows[i].weight);
	}
}

double *nn_metrics_counts(struct nn_metrics *m, size_t *n)
{
	*n = m->support && !nn_metrics_by_row(m) ? n_counts(m) : 0;
	return m->support;
}

const double *nn_metrics_confusion(const struct nn_metrics *m)
{
	return m->classes ? m->confusion : NULL;
}

bool nn_metrics_ignored(const struct nn_metrics *m, size_t column)
{
	return nn_metrics_ignore(m, column);
}
