/* The table of classes of a plot: of the first output that has classes, without the ignored one. */
#include <string.h>

#include "base/memory.h"
#include "step/evaluate.h"
#include "train/job.h"
#include "train/tell/examples.h"

struct nn_confused {
	struct nn_chart_confusion chart;
	double *counts;
	char **labels; /* [chart.n] */
};

/* The metrics of the output that is shown, or NULL. */
static const struct nn_metrics *metrics_of(const struct nn_train *t, size_t *columns)
{
	const struct nn_program *p = t->task.program;

	for (int o = 0; o < p->n_outputs; o++) {
		const struct nn_metrics *m = nn_evaluator_metrics(t->evaluator, o);

		*columns = nn_shape_columns(&p->values[p->outputs[o].value].shape);
		if (nn_metrics_confusion(m))
			return *columns <= NN_CHART_CLASSES + 1 ? m : NULL;
	}
	return NULL;
}

static char *label_of(const struct nn_metrics *m, size_t column, struct nn_error *err)
{
	struct nn_text name = { 0 };
	char *label;

	nn_metrics_name(m, column, &name);
	label = name.failed ? NULL : nn_strdup(name.data ? name.data : "", err);
	if (name.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate a label of a chart");
	nn_text_free(&name);
	return label;
}

static int fill(struct nn_confused *c, const struct nn_metrics *m, size_t columns,
		struct nn_error *err)
{
	const double *all = nn_metrics_confusion(m);
	size_t shown[NN_CHART_CLASSES + 1], n = 0;

	for (size_t i = 0; i < columns; i++)
		if (!nn_metrics_ignored(m, i))
			shown[n++] = i;
	c->counts = nn_alloc(n * n, sizeof *c->counts, err);
	c->labels = nn_alloc(n, sizeof *c->labels, err);
	if (!c->counts || !c->labels)
		return -1;
	c->chart = (struct nn_chart_confusion){ (const char *const *)c->labels, c->counts, n };
	for (size_t i = 0; i < n; i++) {
		if (!(c->labels[i] = label_of(m, shown[i], err)))
			return -1;
		for (size_t k = 0; k < n; k++)
			c->counts[i * n + k] = all[shown[i] * columns + shown[k]];
	}
	return 0;
}

int nn_confused_new(struct nn_confused **confused, const struct nn_train *t, struct nn_error *err)
{
	bool ran = t->evaluator && nn_evaluator_ran(t->evaluator);
	size_t columns;
	const struct nn_metrics *m = ran ? metrics_of(t, &columns) : NULL;
	struct nn_confused *c;

	*confused = NULL;
	if (!m)
		return 0;
	if (!(c = nn_alloc(1, sizeof *c, err)))
		return -1;
	if (fill(c, m, columns, err) < 0) {
		nn_confused_free(c);
		return -1;
	}
	*confused = c;
	return 0;
}

void nn_confused_free(struct nn_confused *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->labels && i < c->chart.n; i++)
		nn_free(c->labels[i]);
	nn_free(c->labels);
	nn_free(c->counts);
	nn_free(c);
}

const struct nn_chart_confusion *nn_confused_chart(const struct nn_confused *c)
{
	return c && c->chart.n <= NN_CHART_CLASSES ? &c->chart : NULL;
}
