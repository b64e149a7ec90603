/* Metrics: a confusion table for classes, sums for numbers, and the loss of training. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "predict/metrics-sums.h"

/*
 * Above this many classes the table of confusions is not kept: it would be larger than the model.
 */
#define MAX_CONFUSION 2048

static int take_class_weights(struct nn_metrics *m, struct nn_error *err)
{
	if (!m->spec.class_weights)
		return 0;
	m->class_weights = nn_alloc(m->columns, nn_dtype_size(m->device->dtype), err);
	if (!m->class_weights)
		return -1;
	for (size_t i = 0; i < m->columns; i++) {
		double weight = i < m->target->n_labels ? m->spec.class_weights[i] : 1;

		nn_real_put(m->device->dtype, m->class_weights, i, weight);
	}
	m->spec.class_weights = NULL; /* the caller's; ours is the copy */
	return 0;
}

static int alloc_classes(struct nn_metrics *m, struct nn_error *err)
{
	size_t c = m->columns;

	m->masked = nn_alloc(m->max_rows * m->positions, sizeof *m->masked, err);
	m->support = nn_alloc(3 * c + (c <= MAX_CONFUSION ? c * c : 0), sizeof *m->support, err);
	if (!m->masked || !m->support)
		return -1;
	m->predicted = m->support + c;
	m->hit = m->support + 2 * c;
	m->confusion = c <= MAX_CONFUSION ? m->support + 3 * c : NULL;
	return take_class_weights(m, err);
}

static int alloc_numbers(struct nn_metrics *m, struct nn_error *err)
{
	if (m->spec.kind == NN_LOSS_BCE)
		m->probability = nn_alloc(m->max_rows * m->positions * m->columns,
					  nn_dtype_size(m->device->dtype), err);
	return m->spec.kind == NN_LOSS_BCE && !m->probability ? -1 : 0;
}

int nn_metrics_new(struct nn_metrics **metrics, const struct nn_target_schema *target,
		   const struct nn_loss_spec *loss, const struct nn_device *device,
		   size_t positions, size_t columns, size_t max_rows, struct nn_error *err)
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
	if (!m->row_loss || nn_metrics_take_sums(m, err) < 0 ||
	    (m->classes ? alloc_classes(m, err) : alloc_numbers(m, err)) < 0) {
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
	nn_metrics_free_sums(m);
	nn_free(m->probability);
	nn_free(m);
}

void nn_metrics_reset(struct nn_metrics *m)
{
	size_t n;

	nn_metrics_counts(m, &n);
	nn_metrics_clear_sums(m);
	if (m->support)
		memset(m->support, 0, n * sizeof *m->support);
}

static size_t largest(const struct nn_metrics *m, const void *values, size_t at)
{
	size_t best = 0;
	double value = nn_real_at(m->device->dtype, values, at);

	for (size_t c = 1; c < m->columns; c++) {
		double v = nn_real_at(m->device->dtype, values, at + c);
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

static void add_classes(struct nn_metrics *m, const void *outputs, const int32_t *classes,
			size_t rows)
{
	for (size_t i = 0; i < rows * m->positions; i++) {
		int32_t truth = classes[i] == m->spec.ignore ? -1 : classes[i];

		m->masked[i] = truth;
		if (truth < 0)
			continue;
		m->open->weight += m->class_weights ? nn_real_at(m->device->dtype, m->class_weights,
								 (size_t)truth)
						    : 1;
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
		double n = m->open->rows * (double)m->positions + (double)(i + 1);

		for (size_t c = 0; c < m->columns; c++) {
			double sd = m->target && m->target->sd ? m->target->sd[c] : 1;
			double mean = m->target && m->target->mean ? m->target->mean[c] : 0;
			double y = nn_real_at(m->device->dtype, outputs, i * m->columns + c) * sd +
				   mean;
			double t = nn_real_at(m->device->dtype, targets, i * m->columns + c) * sd +
				   mean;
			struct column_sums *s = &m->open->columns[c];
			double off = t - s->mean;

			s->squared += (y - t) * (y - t);
			s->absolute += fabs(y - t);
			s->mean += off / n;
			s->spread += off * (t - s->mean);
		}
	}
	m->open->weight += (double)(rows * m->positions);
}

/* Class probabilities as targets: the likeliest is the truth, first of equals. */
static void add_probabilities(struct nn_metrics *m, const void *outputs, const void *targets,
			      size_t rows)
{
	for (size_t i = 0; i < rows * m->positions; i++)
		count_class(m, largest(m, targets, i * m->columns),
			    largest(m, outputs, i * m->columns));
	m->open->weight += (double)(rows * m->positions);
}

/* Rows of one block. */
static void add_rows(struct nn_metrics *m, const void *outputs, const void *targets,
		     bool probabilities, size_t rows)
{
	struct nn_loss_call call = {
		.kind = m->spec.kind,
		.rows = rows,
		.positions = m->positions,
		.columns = m->columns,
		.logits = outputs,
		.class_weights = m->class_weights,
		.row_loss = m->row_loss,
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
		m->open->loss += nn_real_at(m->device->dtype, m->row_loss, i);
	m->open->rows += (double)rows;
}

void nn_metrics_add(struct nn_metrics *m, const void *outputs, const void *targets,
		    bool probabilities, size_t rows)
{
	size_t size = nn_dtype_size(m->device->dtype), out = m->positions * m->columns * size;
	size_t target = m->classes && !probabilities ? m->positions * sizeof(int32_t) : out, n;

	for (size_t at = 0; at < rows; at += n) {
		n = NN_METRICS_BLOCK - (size_t)m->open->rows;
		n = n < rows - at ? n : rows - at;
		add_rows(m, (const char *)outputs + at * out, (const char *)targets + at * target,
			 probabilities, n);
		if (m->open->rows == NN_METRICS_BLOCK)
			nn_metrics_close(m);
	}
}

uint64_t *nn_metrics_counts(struct nn_metrics *m, size_t *n)
{
	*n = m->support ? 3 * m->columns + (m->confusion ? m->columns * m->columns : 0) : 0;
	return m->support;
}
