/* The figures of --score: what each is made of, in the order in which they are printed. */
#include <math.h>

#include "predict/score/metrics-sums.h"

static double ratio(double a, double b)
{
	return b == 0 ? 0 : a / b;
}

static double precision_of(const struct nn_metrics *m, size_t c)
{
	return ratio(m->hit[c], m->predicted[c]);
}

static double recall_of(const struct nn_metrics *m, size_t c)
{
	return ratio(m->hit[c], m->support[c]);
}

static double f1_of(const struct nn_metrics *m, size_t c)
{
	return ratio(2 * m->hit[c], m->predicted[c] + m->support[c]);
}

static double support_of(const struct nn_metrics *m, size_t c)
{
	return m->support[c];
}

static double iou_of(const struct nn_metrics *m, size_t c)
{
	return ratio(m->hit[c], m->predicted[c] + m->support[c] - m->hit[c]);
}

static double rmse_of(const struct nn_metrics *m, size_t c)
{
	return sqrt(ratio(m->total->columns[c].squared, m->total->weight));
}

static double mae_of(const struct nn_metrics *m, size_t c)
{
	return ratio(m->total->columns[c].absolute, m->total->weight);
}

static double r2_of(const struct nn_metrics *m, size_t c)
{
	return m->total->columns[c].spread == 0
		       ? 0
		       : 1 - m->total->columns[c].squared / m->total->columns[c].spread;
}

static double mean_of(const struct nn_metrics *m, double (*of)(const struct nn_metrics *, size_t))
{
	double sum = 0;
	size_t n = 0;

	for (size_t c = 0; c < m->columns; c++) {
		if (nn_metrics_ignore(m, c))
			continue;
		sum += of(m, c);
		n++;
	}
	return ratio(sum, (double)n);
}

static double samples(const struct nn_metrics *m)
{
	return m->total->rows;
}

static double loss(const struct nn_metrics *m)
{
	return ratio(m->total->loss, m->total->weight);
}

static double accuracy(const struct nn_metrics *m)
{
	double hit = 0, all = *m->unknown;

	for (size_t c = 0; c < m->columns; c++) {
		hit += m->hit[c];
		all += m->support[c];
	}
	return ratio(hit, all);
}

static double f1_macro(const struct nn_metrics *m)
{
	return mean_of(m, f1_of);
}

static double auc(const struct nn_metrics *m)
{
	return nn_auc_area((struct nn_auc *)&m->auc); /* which sorts what it keeps */
}

static double iou_mean(const struct nn_metrics *m)
{
	return mean_of(m, iou_of);
}

static double rmse(const struct nn_metrics *m)
{
	double sum = 0;

	for (size_t c = 0; c < m->columns; c++)
		sum += m->total->columns[c].squared;
	return sqrt(ratio(sum, m->total->weight * (double)m->columns));
}

static double mae(const struct nn_metrics *m)
{
	return mean_of(m, mae_of);
}

static double r2(const struct nn_metrics *m)
{
	return mean_of(m, r2_of);
}

static bool any(const struct nn_metrics *m)
{
	(void)m;
	return true;
}

static bool all_classes(const struct nn_metrics *m)
{
	return m->classes;
}

static bool classes(const struct nn_metrics *m)
{
	return m->classes && m->positions == 1;
}

static bool two_classes(const struct nn_metrics *m)
{
	return nn_metrics_has_auc(m);
}

static bool masks(const struct nn_metrics *m)
{
	return m->classes && m->map;
}

static bool numbers(const struct nn_metrics *m)
{
	return !m->classes;
}

const struct nn_figure nn_figures[] = {
	{ "samples", any, true, false, samples, NULL },
	{ "loss", any, false, false, loss, NULL },
	{ "accuracy", all_classes, false, false, accuracy, NULL },
	{ "precision", classes, false, false, NULL, precision_of },
	{ "recall", classes, false, false, NULL, recall_of },
	{ "f1", classes, false, false, NULL, f1_of },
	{ "support", classes, true, false, NULL, support_of },
	{ "f1.macro", classes, false, true, f1_macro, NULL },
	{ "auc", two_classes, false, true, auc, NULL },
	{ "iou", masks, false, false, NULL, iou_of },
	{ "iou.mean", masks, false, true, iou_mean, NULL },
	{ "rmse", numbers, false, false, rmse, rmse_of },
	{ "mae", numbers, false, false, mae, mae_of },
	{ "r2", numbers, false, false, r2, r2_of },
	{ 0 },
};
