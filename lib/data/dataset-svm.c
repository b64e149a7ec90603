/*
 * LIBSVM into a dataset: rows as wide as the model says, else as the largest index, which are an
 * array without columns; labels as those of a column without a name.
 */
#include "base/memory.h"
#include "data/dataset.h"
#include "data/table/svm.h"

/* A model of one input and one target, neither of them by name. */
static int check_model(const struct nn_dataset *ds, const char *file,
		       const struct nn_reading *reading, struct nn_error *err)
{
	if (nn_dataset_no_columns(ds, file, reading->want, reading->targets, err) < 0)
		return -1;
	if (ds->schema->n_inputs > 1 || (reading->targets && ds->schema->n_targets > 1))
		return nn_fail(err, NN_EFORMAT,
			       "%s: LIBSVM has one input and one target, the model has %zu and %zu",
			       file, ds->schema->n_inputs, ds->schema->n_targets);
	return 0;
}

/* How wide rows are; 0: the data say it. */
static size_t known_width(const struct nn_dataset *ds, const struct nn_reading *reading)
{
	const struct nn_want *want = ds->fixed ? NULL : reading->want;

	if (!reading->inputs)
		return 0;
	if (!want)
		return nn_shape_count(&ds->schema->inputs[0].shape);
	return want->inputs[0].shaped ? nn_shape_count(&want->inputs[0].shape) : 0;
}

static int find_width(const struct nn_dataset *ds, struct nn_input *input, size_t *width,
		      struct nn_error *err)
{
	size_t rows, bytes, available = nn_memory_available();

	if (ds->files.first)
		return nn_fail(err, NN_EFORMAT,
			       "%s: how wide rows of a stream of LIBSVM are is not known before its "
			       "end; begin the network with a line `input N`",
			       nn_input_name(input));
	if (nn_svm_measure(input, !ds->rules.zero_based, width, &rows, err) < 0)
		return -1;
	if (*width == 0)
		return nn_fail(err, NN_EFORMAT, "%s: has no index:value", nn_input_name(input));
	if (!nn_mul(rows, *width * nn_dtype_size(ds->dtype), &bytes) || bytes > available)
		return nn_fail(err, NN_ENOMEM,
			       "%s: %zu rows of %zu values take more memory than there is (%zu "
			       "bytes)",
			       nn_input_name(input), rows, *width, available);
	return 0;
}

static int plan_label(struct nn_dataset *ds, struct nn_table *t, const struct nn_want *want,
		      struct nn_error *err)
{
	struct nn_target_schema *schema = &ds->schema->targets[0];
	struct nn_plan_options options = { .targets = true, .grow = !ds->lenient };
	struct nn_table_column *c = &t->columns[0];

	if (!want)
		return nn_plan_schema(&ds->target_plan, t, ds->schema, ds->coding, &options, err);
	ds->target_plan.target_slots = nn_alloc(1, sizeof *ds->target_plan.target_slots, err);
	schema->columns = nn_alloc(1, sizeof *schema->columns, err);
	if (!ds->target_plan.target_slots || !schema->columns)
		return -1;
	schema->n_columns = t->n_targets = 1;
	c->target = true;
	if (nn_dataset_closed_labels(ds, 0, c))
		return 0;
	c->grow = true;
	c->cell = want->targets[0].classes ? NN_CELL_WORD : NN_CELL_NUMBER;
	if (!(c->words = nn_coding_words(ds->coding, false, err)))
		return -1;
	return 0;
}

static int take_inputs(struct nn_dataset *ds, const char *file, const struct nn_want *want,
		       size_t rows, size_t width, struct nn_error *err)
{
	ds->inputs[0].array = (struct nn_array){ .dtype = ds->dtype,
						 .shape = nn_shape2(rows, width),
						 .data = ds->table.data };
	if (want)
		ds->schema->inputs[0].zero_based = ds->rules.zero_based;
	return nn_dataset_set_input(ds, 0, file, false, want ? &want->inputs[0] : NULL, err);
}

static int read_rows(struct nn_dataset *ds, struct nn_table *t, const struct nn_reading *reading,
		     struct nn_block *targets, struct nn_error *err)
{
	const struct nn_want *want = ds->fixed ? NULL : reading->want;
	const char *file = nn_input_name(t->csv.input);
	struct nn_block unused = { 0 };
	struct nn_block *values = reading->inputs ? &ds->table : &unused;
	size_t rows;
	int status = reading->targets ? plan_label(ds, t, want, err) : 0;

	t->first_rows = ds->files.first;
	if (status == 0)
		status = nn_table_read(t, NULL, 0, values, targets, &rows, err);
	if (status == 0)
		status = nn_dataset_set_rows(ds, file, rows, err);
	if (status == 0 && want && reading->targets)
		status = nn_dataset_settle_labels(ds, t, targets, rows, err);
	if (status == 0 && reading->inputs)
		status = take_inputs(ds, file, want, rows, t->n_values, err);
	if (status == 0 && reading->targets)
		status = nn_dataset_set_targets(ds, t, reading->want, targets, rows, err);
	nn_block_free(&unused);
	return status;
}

int nn_dataset_read_svm(struct nn_dataset *ds, struct nn_input *input,
			const struct nn_reading *reading, struct nn_error *err)
{
	bool known = !reading->want || ds->fixed;
	unsigned least = !(ds->rules.zero_based || (known && ds->schema->inputs[0].zero_based));
	size_t width = known_width(ds, reading);
	struct nn_block targets = { 0 };
	struct nn_table t = { 0 };
	int status = check_model(ds, nn_input_name(input), reading, err);

	if (status == 0 && width == 0)
		status = find_width(ds, input, &width, err);
	if (status == 0)
		status = nn_svm_open(&t, input, width, least, ds->dtype, err);
	if (status == 0)
		status = read_rows(ds, &t, reading, &targets, err);
	nn_table_close(&t);
	nn_block_free(&targets);
	return status;
}
