/*
 * --folds: cross-validation, a training for each fold and a table of what the rows held out said.
 *
 * The table has the metrics that --score prints without a label. --time-limit holds for each fold.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "parallel/ranks.h"
#include "step/evaluate.h"
#include "train/figures.h"
#include "train/prepare.h"
#include "base/log.h"
#include "train/tell/ending.h"
#include "train/tell/progress.h"

/* A metric and its value in each fold. */
struct figure {
	char name[NN_METRIC_NAME];
	double *values;
};

struct fold_table {
	struct nn_train *train;
	struct figure *figures;
	size_t n;
	bool people; /* on a terminal a line for each metric, at the end */
	struct nn_error *err;
	int status;
	uint64_t unconverged; /* folds */
	const char *reason;   /* what ended them */
};

static void table_free(struct fold_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		nn_free(table->figures[i].values);
	nn_free(table->figures);
}

static struct figure *find(const struct fold_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->figures[i].name, name) == 0)
			return &table->figures[i];
	return NULL;
}

/* Values of folds that are not known yet are NaN. */
static struct figure *add(struct fold_table *table, const char *name)
{
	size_t bytes = table->n * sizeof *table->figures, folds = table->train->options->folds;
	struct figure *figures = nn_realloc(table->figures, bytes, bytes + sizeof *figures,
					    table->err),
		      *figure;

	if (!figures)
		return NULL;
	table->figures = figures;
	figure = &figures[table->n];
	*figure = (struct figure){ .values = nn_alloc(folds, sizeof(double), table->err) };
	if (!figure->values)
		return NULL;
	for (size_t k = 0; k < folds; k++)
		figure->values[k] = NAN;
	snprintf(figure->name, sizeof figure->name, "%s", name);
	table->n++;
	return figure;
}

static void take(void *arg, const char *name, double value)
{
	struct fold_table *table = arg;
	struct figure *figure = find(table, name);

	if (table->status == 0 && !figure && !(figure = add(table, name)))
		table->status = -1;
	if (table->status == 0)
		figure->values[table->train->source.fold - 1] = value;
}

static int print(struct fold_table *table, const char *first, const char *name, double value)
{
	char digits[NN_NUMBER];

	if (!nn_layout_first(&table->train->layout) || table->people)
		return 0;
	nn_format_f64(digits, value);
	return nn_output_printf(table->train->output, table->err, "%s\t%s\t%s\n", first, name,
				digits);
}

static void count_unconverged(struct fold_table *table)
{
	if (!table->train->found.unconverged)
		return;
	table->unconverged++;
	table->reason = table->train->found.unconverged;
}

/* The figures of --score without a label, the loss first, and --metric where it is none of them. */
static int print_fold(struct fold_table *table)
{
	struct nn_train *t = table->train;
	char fold[24];
	double value;

	if (nn_evaluator_get(t->evaluator, "loss", &value))
		take(table, "loss", value);
	nn_evaluator_figures(t->evaluator, t->task.program, take, table);
	if (nn_evaluator_get(t->evaluator, t->metric, &value))
		take(table, t->metric, value);
	snprintf(fold, sizeof fold, "%llu", (unsigned long long)t->source.fold);
	for (size_t i = 0; table->status == 0 && i < table->n; i++)
		table->status = print(table, fold, table->figures[i].name,
				      table->figures[i].values[t->source.fold - 1]);
	if (table->status < 0 || !nn_layout_first(&t->layout))
		return table->status;
	return nn_output_flush(t->output, table->err);
}

static double mean_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += values[k];
	return sum / (double)n;
}

/* of a sample of n: n - 1 below the sum */
static double deviation_of(const double *values, size_t n)
{
	double mean = mean_of(values, n), sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += (values[k] - mean) * (values[k] - mean);
	return sqrt(sum / (double)(n - 1));
}

/* "accuracy 0.816 ± 0.014": as many decimals as the deviation has, with two digits of it. */
static int print_line(const struct fold_table *table, const struct figure *figure)
{
	size_t folds = table->train->options->folds;
	double mean = mean_of(figure->values, folds), sd = deviation_of(figure->values, folds);
	int decimals = sd > 0 ? 1 - (int)floor(log10(sd)) : 3;

	decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
	return nn_output_printf(table->train->output, table->err, "%s %.*f ± %.*f\n", figure->name,
				decimals, mean, decimals, sd);
}

static int print_summary(struct fold_table *table)
{
	struct nn_train *t = table->train;
	size_t folds = t->options->folds;
	int status = 0;

	for (size_t i = 0; status == 0 && table->people && i < table->n; i++)
		status = print_line(table, &table->figures[i]);
	for (size_t i = 0; status == 0 && i < table->n; i++)
		status = print(table, "mean", table->figures[i].name,
			       mean_of(table->figures[i].values, folds));
	for (size_t i = 0; status == 0 && i < table->n; i++)
		status = print(table, "sd", table->figures[i].name,
			       deviation_of(table->figures[i].values, folds));
	if (status < 0 || !nn_layout_first(&t->layout))
		return status;
	status = nn_output_commit(t->output, table->err);
	t->output = NULL;
	return status;
}

int nn_train_run_folds(struct nn_train *t, int *stopped, struct nn_error *err)
{
	/* a rank's standard output looks like a terminal whatever it is */
	struct fold_table table = { .train = t,
				    .err = err,
				    .people = t->layout.comm->size == 1 && isatty(STDOUT_FILENO) };
	int status = 0;

	if (!t->source.fold)
		return nn_train_run(t, stopped, err);
	if (nn_layout_first(&t->layout) && !table.people &&
	    nn_output_printf(t->output, err, "fold\tmetric\tvalue\n") < 0)
		return -1;
	for (;;) {
		nn_log_fold(t->told.log, t->source.fold);
		nn_progress_fold(t->told.progress, t->source.fold, t->options->folds);
		status = nn_train_run(t, stopped, err);
		if (status < 0 || *stopped)
			break;
		count_unconverged(&table);
		status = print_fold(&table);
		if (status < 0 || t->source.fold == t->options->folds)
			break;
		status = nn_train_next_fold(t, err);
		if (status < 0)
			break;
	}
	if (status == 0 && !*stopped)
		status = print_summary(&table);
	if (status == 0 && !*stopped && table.unconverged)
		nn_ending_note(t, table.reason, table.unconverged, t->options->folds);
	table_free(&table);
	return status;
}
