/* Metrics: a confusion table for classes, sums for numbers, and the loss of training. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "predict/score/metrics-sums.h"

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
	m->masked = nn_alloc(m->max_rows * m->positions, sizeof *m->masked, err);
	if (!m->masked || nn_metrics_take_counts(m, err) < 0)
		return -1;
	return take_class_weights(m, err);
}

/* Of bce and of two classes. */
static int alloc_probability(struct nn_metrics *m, struct nn_error *err)
{
	if (m->spec.kind != NN_LOSS_BCE && !nn_metrics_has_auc(m))
		return 0;
	m->probability = nn_alloc(m->max_rows * m->positions * m->columns,
				  nn_dtype_size(m->device->dtype), err);
	return m->probability ? 0 : -1;
}

int nn_metrics_new(struct nn_metrics **metrics, const struct nn_target_schema *target,
		   const struct nn_loss_spec *loss, const struct nn_device *device,
		   const struct nn_shape *shape, size_t max_rows, struct nn_error *err)
{
	struct nn_metrics *m = nn_alloc(1, sizeof *m, err);

	if (!m)
		return -1;
	m->target = target;
	m->device = device;
	m->spec = *loss;
	m->positions = nn_shape_positions(shape);
	m->columns = nn_shape_columns(shape);
	m->map = m->positions > 1 && shape->rank == 3;
	m->max_rows = max_rows;
	m->classes = loss->kind == NN_LOSS_CROSS_ENTROPY;
	m->row_loss = nn_alloc(max_rows, nn_dtype_size(device->dtype), err);
	if (!m->row_loss || nn_metrics_take_sums(m, err) < 0 || alloc_probability(m, err) < 0 ||
	    (m->classes && alloc_classes(m, err) < 0)) {
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
	nn_auc_free(&m->auc);
	nn_free(m->probability);
	nn_free(m);
}

int nn_threshold_misplaced(size_t classes, struct nn_error *err)
{
	return nn_fail(err, NN_EFAIL,
		       "--threshold: needs a model of two classes, this one has %zu %s", classes,
		       classes == 1 ? "output" : "outputs");
}

int nn_metrics_set_threshold(struct nn_metrics *m, double threshold, struct nn_error *err)
{
	if (!nn_metrics_has_auc(m))
		return nn_threshold_misplaced(m->columns, err);
	m->rules.threshold = threshold;
	return 0;
}

bool nn_metrics_find_threshold(const struct nn_metrics *m, enum nn_threshold_by by,
			       struct nn_threshold *found)
{
	*found = (struct nn_threshold){ 0 };
	return nn_metrics_has_auc(m) &&
	       nn_threshold_find((struct nn_auc *)&m->auc, by, found); /* which sorts it */
}

int nn_metrics_take_probabilities(struct nn_metrics *m, struct nn_error *err)
{
	m->rules.probabilities = m->classes || m->spec.kind == NN_LOSS_BCE;
	if (m->probability || !m->rules.probabilities)
		return 0;
	m->probability = nn_alloc(m->max_rows * m->positions * m->columns,
				  nn_dtype_size(m->device->dtype), err);
	return m->probability ? 0 : -1;
}

void nn_metrics_reset(struct nn_metrics *m)
{
	nn_metrics_clear_sums(m);
	nn_metrics_clear_counts(m);
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

void nn_metrics_find_classes(const struct nn_metrics *m, const void *outputs, size_t rows,
			     int32_t *classes)
{
	for (size_t i = 0; i < rows * m->positions; i++)
		classes[i] = (int32_t)largest(m, outputs, i * m->columns);
}

/* Rows of one block, and what each weighs: of --weight; NULL: 1. */
struct piece {
	const void *outputs, *targets;
	const double *weights;
	size_t rows;
};

static double weight_of(const struct piece *p, size_t row)
{
	return p->weights ? p->weights[row] : 1;
}

/* truth: a class or NN_CLASS_UNKNOWN. */
static void add_answer(struct nn_metrics *m, const struct piece *p, size_t i, int32_t truth)
{
	size_t row = i / m->positions, guess;
	double score =
		nn_metrics_has_auc(m) ? nn_real_at(m->device->dtype, m->probability, 2 * i + 1) : 0;

	guess = m->rules.threshold > 0 ? score >= m->rules.threshold
				       : largest(m, p->outputs, i * m->columns);
	if (!nn_metrics_by_row(m)) {
		nn_metrics_count(m, truth, guess, weight_of(p, row));
		return;
	}
	nn_metrics_rows(m)[(size_t)m->open->rows * m->positions + i] =
		(struct nn_metric_row){ weight_of(p, row), score, truth, (int32_t)guess };
}

static void add_classes(struct nn_metrics *m, const struct piece *p)
{
	const int32_t *classes = p->targets;

	for (size_t i = 0; i < p->rows * m->positions; i++) {
		int32_t truth = classes[i] >= 0 && classes[i] == m->spec.ignore ? NN_CLASS_IGNORED
										: classes[i];

		m->masked[i] = truth;
		add_answer(m, p, i, truth);
		if (truth >= 0)
			m->open->weight +=
				weight_of(p, i / m->positions) *
				(m->class_weights ? nn_real_at(m->device->dtype, m->class_weights,
							       (size_t)truth)
						  : 1);
	}
}

/* Are its numbers those of no step? (nn_loss_call) */
static bool is_masked(const struct nn_metrics *m, const struct piece *p, size_t place)
{
	return isnan(nn_real_at(m->device->dtype, p->targets, place * m->columns));
}

/* Running means by West 1979, "Updating mean and variance estimates". */
static void add_numbers(struct nn_metrics *m, const struct piece *p)
{
	enum nn_dtype dtype = m->device->dtype;
	const void *outputs = m->probability ? m->probability : p->outputs;

	for (size_t i = 0; i < p->rows * m->positions; i++) {
		double w = is_masked(m, p, i) ? 0 : weight_of(p, i / m->positions);

		m->open->weight += w;
		for (size_t c = 0; c < m->columns && w > 0; c++) {
			double sd = m->target && m->target->sd ? m->target->sd[c] : 1;
			double mean = m->target && m->target->mean ? m->target->mean[c] : 0;
			double y = nn_real_at(dtype, outputs, i * m->columns + c) * sd + mean;
			double t = nn_real_at(dtype, p->targets, i * m->columns + c) * sd + mean;
			struct column_sums *s = &m->open->columns[c];
			double off = t - s->mean;

			s->squared += w * ((y - t) * (y - t));
			s->absolute += w * fabs(y - t);
			s->mean += off * w / m->open->weight;
			s->spread += w * (off * (t - s->mean));
		}
	}
}

/* Class probabilities as targets: the likeliest is the truth, first of equals. */
static void add_probabilities(struct nn_metrics *m, const struct piece *p)
{
	for (size_t i = 0; i < p->rows * m->positions; i++) {
		bool masked = is_masked(m, p, i);

		add_answer(m, p, i,
			   masked ? NN_CLASS_IGNORED
				  : (int32_t)largest(m, p->targets, i * m->columns));
		m->open->weight += masked ? 0 : weight_of(p, i / m->positions);
	}
}

static void add_piece(struct nn_metrics *m, const struct piece *p, bool probabilities)
{
	struct nn_loss_call call = {
		.kind = m->spec.kind,
		.rows = p->rows,
		.positions = m->positions,
		.columns = m->columns,
		.logits = p->outputs,
		.class_weights = m->class_weights,
		.row_loss = m->row_loss,
	};

	if (m->probability && m->rules.probabilities)
		memcpy(m->probability, p->outputs,
		       p->rows * m->positions * m->columns * nn_dtype_size(m->device->dtype));
	else if (m->probability && m->classes)
		m->device->softmax(p->outputs, m->probability, p->rows, m->columns);
	else if (m->probability)
		m->device->sigmoid(p->outputs, m->probability, p->rows * m->positions * m->columns);
	if (!m->classes)
		add_numbers(m, p);
	else
		(probabilities ? add_probabilities : add_classes)(m, p);
	if (m->classes && !probabilities)
		call.classes = m->masked;
	else
		call.numbers = p->targets;
	if (m->rules.probabilities)
		nn_probability_loss(&call, m->device->dtype);
	else
		m->device->loss(&call);
	for (size_t i = 0; i < p->rows; i++)
		m->open->loss += weight_of(p, i) * nn_real_at(m->device->dtype, m->row_loss, i);
	m->open->rows += (double)p->rows;
}

void nn_metrics_add(struct nn_metrics *m, const void *outputs, const void *targets,
		    const double *weights, bool probabilities, size_t rows)
{
	size_t size = nn_dtype_size(m->device->dtype), out = m->positions * m->columns * size;
	size_t target = m->classes && !probabilities ? m->positions * sizeof(int32_t) : out;
	struct piece p;

	for (size_t at = 0; at < rows; at += p.rows) {
		p = (struct piece){ (const char *)outputs + at * out,
				    (const char *)targets + at * target,
				    weights ? weights + at : NULL,
				    NN_METRICS_BLOCK - (size_t)m->open->rows };
		p.rows = p.rows < rows - at ? p.rows : rows - at;
		add_piece(m, &p, probabilities);
		if (m->open->rows == NN_METRICS_BLOCK)
			nn_metrics_close(m);
	}
}
