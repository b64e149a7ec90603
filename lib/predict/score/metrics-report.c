/* Figures by name: the lines of --score, and one that is asked for. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "predict/score/metrics-sums.h"

void nn_metrics_name(const struct nn_metrics *m, size_t c, struct nn_text *name)
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

/* Sums of weights are counts too, and print as such where they are whole. */
static int report_line(struct report *r, const char *name, double value, bool count)
{
	return r->line(r->arg, name, value, count && value == floor(value));
}

static int report_whole(struct report *r, bool after)
{
	int status = 0;

	for (const struct nn_figure *f = nn_figures; f->name && status == 0; f++)
		if (f->whole && f->after == after && f->applies(r->m))
			status = report_line(r, f->name, f->whole(r->m), f->count);
	return status;
}

static int report_each(struct report *r)
{
	int status = 0;

	if (!r->m->classes && r->m->columns == 1)
		return 0;
	for (size_t c = 0; c < r->m->columns; c++)
		for (const struct nn_figure *f = nn_figures; f->name && status == 0; f++) {
			if (!f->each || !f->applies(r->m) || nn_metrics_ignore(r->m, c))
				continue;
			nn_text_clear(&r->name);
			nn_text_addf(&r->name, "%s.", f->name);
			nn_metrics_name(r->m, c, &r->name);
			status = report_line(r, r->name.data, f->each(r->m, c), f->count);
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
		nn_metrics_name(m, k / m->columns, &r->name);
		nn_text_add(&r->name, ".");
		nn_metrics_name(m, k % m->columns, &r->name);
		status = report_line(r, r->name.data, m->confusion[k], true);
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

/* The figure of a label or column, NAME.LABEL. */
static bool find_each(const struct nn_metrics *m, const struct nn_figure *f, const char *name,
		      double *value)
{
	struct nn_text label = { 0 };
	size_t n = strlen(f->name);
	bool found = false;

	if (strncmp(name, f->name, n) != 0 || name[n] != '.')
		return false;
	for (size_t c = 0; c < m->columns && !found; c++) {
		nn_text_clear(&label);
		nn_metrics_name(m, c, &label);
		found = label.data && strcmp(label.data, name + n + 1) == 0;
		if (found)
			*value = f->each(m, c);
	}
	nn_text_free(&label);
	return found;
}

bool nn_metrics_get(const struct nn_metrics *m, const char *name, double *value)
{
	nn_metrics_sum_up(m);
	for (const struct nn_figure *f = nn_figures; f->name; f++)
		if (f->whole && f->applies(m) && strcmp(f->name, name) == 0) {
			*value = f->whole(m);
			return true;
		}
	for (const struct nn_figure *f = nn_figures; f->name; f++)
		if (f->each && f->applies(m) && find_each(m, f, name, value))
			return true;
	return false;
}

const char *nn_metrics_default(const struct nn_metrics *m)
{
	return !m->classes ? "rmse" : m->map ? "iou.mean" : "accuracy";
}

bool nn_metric_rises(const char *name)
{
	return strcmp(name, "loss") != 0 && strncmp(name, "rmse", 4) != 0 &&
	       strncmp(name, "mae", 3) != 0;
}

bool nn_metric_is_share(const char *name)
{
	static const char *const shares[] = { "accuracy", "precision", "recall",
					      "f1",       "auc",       "iou" };
	size_t n = strcspn(name, ".");

	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		if (strlen(shares[i]) == n && memcmp(shares[i], name, n) == 0)
			return true;
	return false;
}
