/* nn-bench memory: what a training of a model takes, as nn-train --explain plans it. */
#include <string.h>

#include "bench/bench.h"
#include "train/train.h"

static const struct nn_report_column columns[] = { { "item", 24, 0 },
						   { "value", 0, 0 },
						   { NULL, 0, 0 } };

struct rows {
	struct nn_report *report;
	struct nn_error *err;
	int status;
};

static void put(void *arg, const char *name, size_t value)
{
	struct rows *rows = arg;

	nn_report_text(rows->report, "item", name);
	nn_report_count(rows->report, "value", value);
	if (rows->status == 0)
		rows->status = nn_report_row(rows->report, rows->err);
}

int nn_verb_memory(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct rows rows = { .err = err };
	struct nn_error why = { 0 };
	size_t batch;

	(void)n;
	/* nn-train takes 64 */
	if (nn_bench_batch_or(b, "memory", 64, &batch, err) < 0 ||
	    nn_bench_report(b, columns, &rows.report, err) < 0)
		return -1;
	if (nn_train_memory(words[0], batch, b->std, put, &rows, &why) < 0)
		rows.status = strncmp(why.text, "-m:", 3) == 0
				      ? nn_fail(err, why.code, "MODEL%s", why.text + 2)
				      : nn_fail(err, why.code, "%s", why.text);
	return nn_report_close(rows.report, rows.status, err);
}
