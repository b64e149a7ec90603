/* Metrics: a confusion table for classes, running sums in sample order for numbers, and the loss of training. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "predict/metrics.h"

static const char *const loss_names[] = {
	[NN_LOSS_CROSS_ENTROPY] = "cross-entropy", [NN_LOSS_MSE] = "mse", [NN_LOSS_BCE] = "bce",
	[NN_LOSS_HUBER] = "huber", [NN_LOSS_MAE] = "mae",
};
#define N_LOSSES (sizeof loss_names / sizeof *loss_names)

const char *nn_loss_name(enum nn_loss_kind kind)
{
	return loss_names[kind];
}

int nn_loss_find(const char *name)
{
	for (size_t i = 0; i < N_LOSSES; i++)
		if (strcmp(loss_names[i], name) == 0)
			return (int)i;
	return -1;
}

/* Above this many classes the table of confusions is not kept: it would be larger than the model. */
#define MAX_CONFUSION 2048

struct column_sums {
	double squared, absolute;        /* of prediction - target */
	double mean, spread;             /* Welford's running mean and sum of squared deviations of the target */
};

struct nn_metrics {
	const struct nn_target_schema *target;
	const struct nn_device *device;
	struct nn_loss_spec spec;
	size_t positions, columns, max_rows;
	bool classes;

	uint64_t rows;
	double loss, weight;             /* sums; the loss is their quotient */
	void *row_loss, *class_weights;  /* in the device's dtype */
	int32_t *masked;                 /* targets with the ignored class taken out */

	uint64_t *support, *predicted, *hit, *confusion;
	void *probability;               /* bce: sigmoid of the logits */
	struct column_sums *sums;
};

static double real_at(const struct nn_metrics *m, const void *values, size_t i)
{
	return m->device->dtype == NN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

static int take_class_weights(struct nn_metrics *m, struct nn_error *err)
{
	if (!m->spec.class_weights)
		return 0;
	m->class_weights = nn_alloc(m->columns, nn_dtype_size(m->device->dtype), err);
	if (!m->class_weights)
		return -1;
	for (size_t i = 0; i < m->columns; i++) {
		if (m->device->dtype == NN_F64)
			((double *)m->class_weights)[i] = m->spec.class_weights[i];
		else
			((float *)m->class_weights)[i] = (float)m->spec.class_weights[i];
	}
	m->spec.class_weights = NULL;    /* the caller's; ours is the copy */
	return 0;
}

static int alloc_classes(struct nn_metrics *m, struct nn_error *err)
{
	size_t c = m->columns;

	m->masked = nn_alloc(m->max_rows * m->positions, sizeof *m->masked, err);
	m->support = nn_alloc(3 * c, sizeof *m->support, err);
	if (!m->masked || !m->support)
		return -1;
	m->predicted = m->support + c;
	m->hit = m->support + 2 * c;
	if (c <= MAX_CONFUSION && !(m->confusion = nn_alloc(c * c, sizeof *m->confusion, err)))
		return -1;
	return take_class_weights(m, err);
}

static int alloc_numbers(struct nn_metrics *m, struct nn_error *err)
{
	m->sums = nn_alloc(m->columns, sizeof *m->sums, err);
	if (!m->sums)
		return -1;
	if (m->spec.kind == NN_LOSS_BCE)
		m->probability = nn_alloc(m->max_rows * m->positions * m->columns,
					  nn_dtype_size(m->device->dtype), err);
	return m->spec.kind == NN_LOSS_BCE && !m->probability ? -1 : 0;
}

int nn_metrics_new(struct nn_metrics **metrics, const struct nn_target_schema *target, const struct nn_loss_spec *loss,
		   const struct nn_device *device, size_t positions, size_t columns, size_t max_rows,
		   struct nn_error *err)
{
	struct nn_metrics *m = nn_alloc(1, sizeof *m, err);

	if (!m)
		return -1;
	m->target = target;
	m->device = device;
	m->spec = *loss;
	m->positions = positions;
	m->columns = columns;
	m->max_rows = max_rows;
	m->classes = loss->kind == NN_LOSS_CROSS_ENTROPY;
	m->row_loss = nn_alloc(max_rows, nn_dtype_size(device->dtype), err);
	if (!m->row_loss || (m->classes ? alloc_classes(m, err) : alloc_numbers(m, err)) < 0) {
		nn_metrics_free(m);
		return -1;
	}
	*metrics = m;
	return 0;
}

void nn_metrics_free(struct nn_metrics *m)
{
	if (!m)
		return;
	nn_free(m->row_loss);
	nn_free(m->class_weights);
	nn_free(m->masked);
	nn_free(m->support);
	nn_free(m->confusion);
	nn_free(m->sums);
	nn_free(m->probability);
	nn_free(m);
}

void nn_metrics_reset(struct nn_metrics *m)
{
	m->rows = 0;
	m->loss = m->weight = 0;
	if (m->support)
		memset(m->support, 0, 3 * m->columns * sizeof *m->support);
	if (m->confusion)
		memset(m->confusion, 0, m->columns * m->columns * sizeof *m->confusion);
	if (m->sums)
		memset(m->sums, 0, m->columns * sizeof *m->sums);
}

static size_t largest(const struct nn_metrics *m, const void *values, size_t at)
{
	size_t best = 0;
	double value = real_at(m, values, at);

	for (size_t c = 1; c < m->columns; c++) {
		double v = real_at(m, values, at + c);
		if (v > value || (isnan(v) && !isnan(value))) {
			best = c;
			value = v;
		}
	}
	return best;
}

static void count_class(struct nn_metrics *m, size_t truth, size_t guess)
{
	m->support[truth]++;
	m->predicted[guess]++;
	m->hit[truth] += truth == guess;
	if (m->confusion)
		m->confusion[truth * m->columns + guess]++;
}

static void add_classes(struct nn_metrics *m, const void *outputs, const int32_t *classes, size_t rows)
{
	for (size_t i = 0; i < rows * m->positions; i++) {
		int32_t truth = classes[i] == m->spec.ignore ? -1 : classes[i];

		m->masked[i] = truth;
		if (truth < 0)
			continue;
		m->weight += m->class_weights ? real_at(m, m->class_weights, (size_t)truth) : 1;
		count_class(m, (size_t)truth, largest(m, outputs, i * m->columns));
	}
}

static void add_numbers(struct nn_metrics *m, const void *outputs, const void *targets, size_t rows)
{
	if (m->probability) {
		m->device->sigmoid(outputs, m->probability, rows * m->positions * m->columns);
		outputs = m->probability;
	}
	for (size_t i = 0; i < rows * m->positions; i++) {
		uint64_t n = m->rows * m->positions + i + 1;

		for (size_t c = 0; c < m->columns; c++) {
			double sd = m->target && m->target->sd ? m->target->sd[c] : 1;
			double mean = m->target && m->target->mean ? m->target->mean[c] : 0;
			double y = real_at(m, outputs, i * m->columns + c) * sd + mean;
			double t = real_at(m, targets, i * m->columns + c) * sd + mean;
			struct column_sums *s = &m->sums[c];
			double off = t - s->mean;

			s->squared += (y - t) * (y - t);
			s->absolute += fabs(y - t);
			s->mean += off / (double)n;
			s->spread += off * (t - s->mean);
		}
	}
	m->weight += (double)(rows * m->positions);
}

/* Class probabilities as targets: the likeliest is the truth, first of equals. */
static void add_probabilities(struct nn_metrics *m, const void *outputs, const void *targets, size_t rows)
{
	for (size_t i = 0; i < rows * m->positions; i++)
		count_class(m, largest(m, targets, i * m->columns), largest(m, outputs, i * m->columns));
	m->weight += (double)(rows * m->positions);
}

void nn_metrics_add(struct nn_metrics *m, const void *outputs, const void *targets, bool probabilities, size_t rows)
{
	struct nn_loss_call call = {
		.kind = m->spec.kind, .rows = rows, .positions = m->positions, .columns = m->columns,
		.logits = outputs, .class_weights = m->class_weights, .scale = 1, .row_loss = m->row_loss,
	};

	if (m->classes && !probabilities) {
		add_classes(m, outputs, targets, rows);
		call.classes = m->masked;
	} else {
		if (m->classes)
			add_probabilities(m, outputs, targets, rows);
		else
			add_numbers(m, outputs, targets, rows);
		call.numbers = targets;
	}
	m->device->loss(&call);
	for (size_t i = 0; i < rows; i++)
		m->loss += real_at(m, m->row_loss, i);
	m->rows += rows;
}

/* ---- what is asked of them ---- */

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
	return sqrt(ratio(m->sums[c].squared, (double)m->rows * (double)m->positions));
}

static double mae_of(const struct nn_metrics *m, size_t c)
{
	return ratio(m->sums[c].absolute, (double)m->rows * (double)m->positions);
}

static double r2_of(const struct nn_metrics *m, size_t c)
{
	return m->sums[c].spread == 0 ? 0 : 1 - m->sums[c].squared / m->sums[c].spread;
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
	return (double)m->rows;
}

static double loss(const struct nn_metrics *m)
{
	return ratio(m->loss, m->weight);
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
		sum += m->sums[c].squared;
	return sqrt(ratio(sum, (double)m->rows * (double)m->positions * (double)m->columns));
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

/* The figures of an output as a whole, in the order of --score; `after` says whether they follow the figures per label. */
static const struct {
	const char *name;
	enum kind kind;
	bool count, after;
	double (*of)(const struct nn_metrics *m);
} whole[] = {
	{"samples", ANY, true, false, samples},
	{"loss", ANY, false, false, loss},
	{"accuracy", ALL_CLASSES, false, false, accuracy},
	{"f1.macro", CLASSES, false, true, f1_macro},
	{"iou.mean", MASKS, false, true, iou_mean},
	{"rmse", NUMBERS, false, false, rmse},
	{"mae", NUMBERS, false, false, mae},
	{"r2", NUMBERS, false, false, r2},
};
#define N_WHOLE (sizeof whole / sizeof *whole)

/* The figures per label or target column. */
static const struct {
	const char *name;
	enum kind kind;
	bool count;
	double (*of)(const struct nn_metrics *m, size_t c);
} each[] = {
	{"precision", CLASSES, false, precision_of},
	{"recall", CLASSES, false, recall_of},
	{"f1", CLASSES, false, f1_of},
	{"support", CLASSES, true, support_of},
	{"iou", MASKS, false, iou_of},
	{"rmse", NUMBERS, false, rmse_of},
	{"mae", NUMBERS, false, mae_of},
	{"r2", NUMBERS, false, r2_of},
};
#define N_EACH (sizeof each / sizeof *each)

static bool applies(const struct nn_metrics *m, enum kind kind)
{
	switch (kind) {
	case ANY: return true;
	case ALL_CLASSES: return m->classes;
	case CLASSES: return m->classes && m->positions == 1;
	case MASKS: return m->classes && m->positions > 1;
	case NUMBERS: return !m->classes;
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

int nn_metrics_each(const struct nn_metrics *m, int (*line)(void *arg, const char *name, double value, bool count),
		    void *arg)
{
	struct report r = { .m = m, .line = line, .arg = arg };
	int status = report_whole(&r, false);

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
	struct nn_text label = {0};
	bool found = false;

	for (size_t k = 0; k < N_WHOLE && !found; k++)
		if (applies(m, whole[k].kind) && strcmp(whole[k].name, name) == 0) {
			*value = whole[k].of(m);
			found = true;
		}
	for (size_t k = 0; k < N_EACH && !found; k++) {
		size_t n = strlen(each[k].name);

		if (!applies(m, each[k].kind) || strncmp(name, each[k].name, n) != 0 || name[n] != '.')
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
	return strcmp(name, "loss") != 0 && strncmp(name, "rmse", 4) != 0 && strncmp(name, "mae", 3) != 0;
}
