/* The figures of --score from what was counted: each has a name, in the order in which they are
 * printed. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "predict/metrics-sums.h"

static double ratio(double a, double b)
{
	return b == 0 ? 0 : a / b;
}

static double precision_of(const struct nn_metrics *m, size_t c)
{
	return ratio((double)m->hit[c], (double)m->predicted[c]);
}

static double recall_of(const struct nn_metrics *m, size_t c)
{
	return ratio((double)m->hit[c], (double)m->support[c]);
}

static double f1_of(const struct nn_metrics *m, size_t c)
{
	return ratio(2 * (double)m->hit[c], (double)(m->predicted[c] + m->support[c]));
}

static double support_of(const struct nn_metrics *m, size_t c)
{
	return (double)m->support[c];
}

static double iou_of(const struct nn_metrics *m, size_t c)
{
	return ratio((double)m->hit[c], (double)(m->predicted[c] + m->support[c] - m->hit[c]));
}

static double rmse_of(const struct nn_metrics *m, size_t c)
{
	return sqrt(ratio(m->total->columns[c].squared, m->total->rows * (double)m->positions));
}

static double mae_of(const struct nn_metrics *m, size_t c)
{
	return ratio(m->total->columns[c].absolute, m->total->rows * (double)m->positions);
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

	for (size_t c = 0; c < m->columns; c++)
		sum += of(m, c);
	return ratio(sum, (double)m->columns);
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
	uint64_t hit = 0, all = 0;

	for (size_t c = 0; c < m->columns; c++) {
		hit += m->hit[c];
		all += m->support[c];
	}
	return ratio((double)hit, (double)all);
}

static double f1_macro(const struct nn_metrics *m)
{
	return mean_of(m, f1_of);
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
	return sqrt(ratio(sum, m->total->rows * (double)m->positions * (double)m->columns));
}

static double mae(const struct nn_metrics *m)
{
	return mean_of(m, mae_of);
}

static double r2(const struct nn_metrics *m)
{
	return mean_of(m, r2_of);
}

enum kind { ANY, CLASSES, MASKS, ALL_CLASSES, NUMBERS };

/* The figures of an output as a whole, in the order of --score; `after` says whether they follow
 * the figures per label. */
static const struct {
	const char *name;
	enum kind kind;
	bool count, after;
	double (*of)(const struct nn_metrics *m);
} whole[] = {
	{ "samples", ANY, true, false, samples },
	{ "loss", ANY, false, false, loss },
	{ "accuracy", ALL_CLASSES, false, false, accuracy },
	{ "f1.macro", CLASSES, false, true, f1_macro },
	{ "iou.mean", MASKS, false, true, iou_mean },
	{ "rmse", NUMBERS, false, false, rmse },
	{ "mae", NUMBERS, false, false, mae },
	{ "r2", NUMBERS, false, false, r2 },
};
#define N_WHOLE (sizeof whole / sizeof *whole)

/* The figures per label or target column. */
static const struct {
	const char *name;
	enum kind kind;
	bool count;
	double (*of)(const struct nn_metrics *m, size_t c);
} each[] = {
	{ "precision", CLASSES, false, precision_of },
	{ "recall", CLASSES, false, recall_of },
	{ "f1", CLASSES, false, f1_of },
	{ "support", CLASSES, true, support_of },
	{ "iou", MASKS, false, iou_of },
	{ "rmse", NUMBERS, false, rmse_of },
	{ "mae", NUMBERS, false, mae_of },
	{ "r2", NUMBERS, false, r2_of },
};
#define N_EACH (sizeof each / sizeof *each)

static bool applies(const struct nn_metrics *m, enum kind kind)
{
	switch (kind) {
	case ANY:
		return true;
	case ALL_CLASSES:
		return m->classes;
	case CLASSES:
		return m->classes && m->positions == 1;
	case MASKS:
		return m->classes && m->positions > 1;
	case NUMBERS:
		return !m->classes;
	}
	return false;
}

static void add_label(const struct nn_metrics *m, size_t c, struct nn_text *name)
{
	const struct nn_target_schema *t = m->target;

	if (m->classes && t && t->labels && c < t->n_labels)
		nn_text_add(name, t->labels[c]);
	else if (!m->classes && t && t->columns && c < t->n_columns && t->columns[c])
		nn_text_add(name, t->columns[c]);
	else if (m->classes)
		nn_text_addf(name, "%zu", c);
	else
		nn_text_addf(name, "y%zu", c + 1);
}

struct report {
	const struct nn_metrics *m;
	int (*line)(void *arg, const char *name, double value, bool count);
	void *arg;
	struct nn_text name;
};

static int report_whole(struct report *r, bool after)
{
	int status = 0;

	for (size_t k = 0; k < N_WHOLE && status == 0; k++)
		if (whole[k].after == after && applies(r->m, whole[k].kind))
			status = r->line(r->arg, whole[k].name, whole[k].of(r->m), whole[k].count);
	return status;
}

static int report_each(struct report *r)
{
	int status = 0;

	if (!r->m->classes && r->m->columns == 1)
		return 0;
	for (size_t c = 0; c < r->m->columns; c++)
		for (size_t k = 0; k < N_EACH && status == 0; k++) {
			if (!applies(r->m, each[k].kind))
				continue;
			nn_text_clear(&r->name);
			nn_text_addf(&r->name, "%s.", each[k].name);
			add_label(r->m, c, &r->name);
			status = r->line(r->arg, r->name.data, each[k].of(r->m, c), each[k].count);
		}
	return status;
}

static int report_confusion(struct report *r)
{
	const struct nn_metrics *m = r->m;
	int status = 0;

	if (!m->confusion || m->positions > 1)
		return 0;
	for (size_t k = 0; k < m->columns * m->columns && status == 0; k++) {
		if (m->confusion[k] == 0)
			continue;
		nn_text_clear(&r->name);
		nn_text_add(&r->name, "confusion.");
		add_label(m, k / m->columns, &r->name);
		nn_text_add(&r->name, ".");
		add_label(m, k % m->columns, &r->name);
		status = r->line(r->arg, r->name.data, (double)m->confusion[k], true);
	}
	return status;
}

int nn_metrics_each(const struct nn_metrics *m,
		    int (*line)(void *arg, const char *name, double value, bool count), void *arg)
{
	struct report r = { .m = m, .line = line, .arg = arg };
	int status;

	nn_metrics_sum_up(m);
	status = report_whole(&r, false);
	if (status == 0)
		status = report_each(&r);
	if (status == 0)
		status = report_whole(&r, true);
	if (status == 0)
		status = report_confusion(&r);
	nn_text_free(&r.name);
	return status;
}

bool nn_metrics_get(const struct nn_metrics *m, const char *name, double *value)
{
	struct nn_text label = { 0 };
	bool found = false;

	nn_metrics_sum_up(m);
	for (size_t k = 0; k < N_WHOLE && !found; k++)
		if (applies(m, whole[k].kind) && strcmp(whole[k].name, name) == 0) {
			*value = whole[k].of(m);
			found = true;
		}
	for (size_t k = 0; k < N_EACH && !found; k++) {
		size_t n = strlen(each[k].name);

		if (!applies(m, each[k].kind) || strncmp(name, each[k].name, n) != 0 ||
		    name[n] != '.')
			continue;
		for (size_t c = 0; c < m->columns && !found; c++) {
			nn_text_clear(&label);
			add_label(m, c, &label);
			if (label.data && strcmp(label.data, name + n + 1) == 0) {
				*value = each[k].of(m, c);
				found = true;
			}
		}
	}
	nn_text_free(&label);
	return found;
}

const char *nn_metrics_default(const struct nn_metrics *m)
{
	return !m->classes ? "rmse" : m->positions > 1 ? "iou.mean" : "accuracy";
}

bool nn_metric_rises(const char *name)
{
	return strcmp(name, "loss") != 0 && strncmp(name, "rmse", 4) != 0 &&
	       strncmp(name, "mae", 3) != 0;
}
