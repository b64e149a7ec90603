/*
 * --score --against=MODEL: the figures of a second model for the same rows. Each model reads them
 * with its own columns and scales; what they are compared with has to be the same.
 */
#include <string.h>

#include "base/memory.h"
#include "predict/run.h"

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static int differs(const struct nn_run *r, const char *what, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "%s: has %s than %s, so their figures are not of the same",
		       r->members[1].path, what, r->members[0].path);
}

int nn_run_check_against(const struct nn_run *r, struct nn_error *err)
{
	const struct nn_model *a = r->members[0].model, *b = r->members[1].model;

	if (a->program->n_outputs != b->program->n_outputs ||
	    !same(a->file->target_json, b->file->target_json))
		return differs(r, "other targets (nn.target)", err);
	if (!same(a->weight, b->weight))
		return differs(r, "other weights of rows", err);
	for (size_t o = 0; o < a->schema->n_targets; o++)
		if (a->losses[o].ignore != b->losses[o].ignore)
			return differs(r, "another class to ignore", err);
	return 0;
}

struct beside {
	const struct nn_metrics *against;
	int (*line)(void *arg, const char *name, double value, bool count);
	void *arg;
	struct nn_text name;
};

static int add_difference(void *arg, const char *name, double value, bool count)
{
	struct beside *b = arg;
	double other;
	int status = b->line(b->arg, name, value, count);

	if (status || count || !b->against || !nn_metrics_get(b->against, name, &other))
		return status;
	nn_text_clear(&b->name);
	nn_text_addf(&b->name, "%s.difference", name);
	return b->name.failed ? 0 : b->line(b->arg, b->name.data, value - other, false);
}

void nn_run_each_figure(const struct nn_run *r, size_t output,
			int (*line)(void *arg, const char *name, double value, bool count),
			void *arg)
{
	struct beside b = { .against = r->against ? r->against[output] : NULL,
			    .line = line,
			    .arg = arg };

	nn_metrics_each(r->metrics[output], add_difference, &b);
	nn_text_free(&b.name);
}
