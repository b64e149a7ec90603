/*
 * Opening a dataset: files into rows, rows into inputs and targets, and what stays known of the
 * files.
 */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/dataset.h"

static int take_options(struct nn_dataset *ds, const struct nn_data_options *options,
			struct nn_error *err)
{
	static const char *const words[] = { "auto", "none", "standard", "minmax" };
	const char *how = options->normalize ? options->normalize : "auto";

	ds->rules.table.header = options->header;
	ds->rules.table.separator = nn_separator_of(options->separator);
	ds->rules.missing = options->missing;
	ds->rules.zero_based = options->zero_based;
	ds->rules.window = (size_t)options->window;
	ds->rules.normalize = NN_NORMALIZE_FACTOR;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(how, words[i]) == 0)
			ds->rules.normalize = (enum nn_normalize)i;
	if (ds->rules.normalize == NN_NORMALIZE_FACTOR &&
	    !(nn_parse_f64(how, strlen(how), &ds->rules.factor) && ds->rules.factor > 0))
		return nn_fail(
			err, NN_EUSAGE,
			"--normalize=%s: expected auto, none, standard, minmax or a factor above 0",
			how);
	ds->rules.target = options->target ? nn_strdup(options->target, err) : NULL;
	ds->rules.weight = options->weight ? nn_strdup(options->weight, err) : NULL;
	ds->rules.weight_known = options->weight_known;
	return (options->target && !ds->rules.target) || (options->weight && !ds->rules.weight) ? -1
												: 0;
}

struct nn_table_form nn_dataset_form(const struct nn_table_form *given,
				     const struct nn_schema *schema, bool inputs)
{
	struct nn_table_form form = *given;

	if (form.header == NN_HEADER_AUTO && schema && nn_schema_is_headerless(schema, inputs))
		form.header = NN_HEADER_NO;
	if (!form.separator && schema && inputs && schema->n_inputs)
		form.separator = schema->inputs[0].separator;
	return form;
}

/* An input that is watched for the hash and remembered for nn_dataset_unchanged. */
static int open_file(struct nn_dataset *ds, const char *path, struct nn_input **input,
		     struct nn_error *err)
{
	struct nn_data_file *file = &ds->files.file[ds->files.n];

	file->path = nn_strdup(path, err);
	if (!file->path || nn_input_open_data(input, path, err) < 0)
		return -1;
	nn_input_stamp(*input, &file->stamp);
	ds->files.n++;
	if (nn_input_watch(*input, err) < 0)
		return -1;
	return ds->files.first && ds->files.n == 1 ? nn_input_tee(*input, 1, err) : 0;
}

/* Are rows of different length, or lines of targets of their steps? */
static bool of_sequences(const struct nn_dataset *ds, const struct nn_reading *reading)
{
	bool steps = false;

	if (reading->inputs)
		return nn_schema_lengths(ds->schema) < ds->schema->n_inputs;
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		steps |= ds->schema->targets[i].steps;
	return ds->sequences && steps && reading->format->lines;
}

/* By its format, unless rows are of different length, which few of them have. */
static int read_rows(struct nn_dataset *ds, struct nn_input *input,
		     const struct nn_reading *reading, struct nn_error *err)
{
	return (of_sequences(ds, reading) ? nn_sequences_read
					  : reading->format->read)(ds, input, reading, err);
}

/* Formats that are read as a whole have no first rows. */
static int check_stream(const struct nn_dataset *ds, const struct nn_input *input,
			const struct nn_reading *reading, struct nn_error *err)
{
	bool lengths = nn_schema_lengths(ds->schema) < ds->schema->n_inputs;

	if (!ds->files.first || (reading->format->rows && !lengths))
		return 0;
	return nn_fail(err, NN_EFORMAT,
		       "%s: %s read as a whole and cannot be a stream; CSV, JSON lines, LIBSVM, "
		       ".npy, IDX and tar can",
		       nn_input_name(input),
		       lengths ? "rows of different length are" : "its format is");
}

/* The bytes that inputs of this format may take, where they can stay in files. */
static size_t memory_of(const struct nn_dataset *ds, const struct nn_format *format)
{
	if (format->named)
		return ds->files.may_take.pictures;
	return (format->header || format->tensors) &&
			       nn_schema_lengths(ds->schema) == ds->schema->n_inputs &&
			       !ds->files.first
		       ? ds->files.may_take.arrays
		       : 0;
}

/* A file that gives the inputs, the targets or both. */
static int read_file(struct nn_dataset *ds, const char *path, struct nn_reading reading,
		     struct nn_sha256 *hash, struct nn_error *err)
{
	struct nn_input *input = NULL;
	int status = -1;

	if (open_file(ds, path, &input, err) == 0 &&
	    (reading.format = ds->rules.window || ds->schema->inputs[0].characters.n
				      ? &nn_format_characters
				      : nn_format_of(input, err)) &&
	    check_stream(ds, input, &reading, err) == 0) {
		if (reading.inputs)
			ds->files.memory = memory_of(ds, reading.format);
		ds->files.decoded |= reading.inputs && reading.format->named;
		status = read_rows(ds, input, &reading, err);
	}
	/* of a pipe how much was read of it is chance */
	if (status == 0 && !(ds->files.first && nn_input_is_pipe(input)))
		nn_input_digest(input, hash);
	if (status == 0 && ds->files.first && reading.inputs)
		ds->files.stream = input;
	else
		nn_input_close(input);
	return status;
}

/* What else counts in the hash: rows, shapes, names. */
static void hash_schema(const struct nn_dataset *ds, struct nn_sha256 *hash)
{
	nn_sha256_add(hash, &ds->rows, sizeof ds->rows);
	for (size_t i = 0; i < ds->schema->n_inputs; i++) {
		const struct nn_input_schema *input = &ds->schema->inputs[i];

		for (int d = 0; d < input->shape.rank; d++)
			nn_sha256_add(hash, &input->shape.dim[d], sizeof input->shape.dim[d]);
		for (size_t c = 0; input->columns && c < input->n_columns; c++)
			if (input->columns[c].name)
				nn_sha256_add(hash, input->columns[c].name,
					      strlen(input->columns[c].name) + 1);
	}
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		for (size_t c = 0; c < ds->schema->targets[i].n_columns; c++)
			if (ds->schema->targets[i].columns[c])
				nn_sha256_add(hash, ds->schema->targets[i].columns[c],
					      strlen(ds->schema->targets[i].columns[c]) + 1);
}

/* --classes: another list is another training. */
static void hash_classes(const struct nn_dataset *ds, struct nn_sha256 *hash)
{
	for (size_t i = 0; i < ds->coding->n_targets; i++)
		if (ds->coding->targets[i].closed)
			nn_classes_hash(ds->coding->targets[i].labels, hash);
}

/* Room for what the schema speaks of. */
static int reserve(struct nn_dataset *ds, struct nn_error *err)
{
	ds->inputs = nn_alloc(ds->schema->n_inputs, sizeof *ds->inputs, err);
	ds->targets = nn_alloc(ds->schema->n_targets, sizeof *ds->targets, err);
	return ds->inputs && ds->targets ? 0 : -1;
}

static int read_all(struct nn_dataset *ds, const char *data, const char *targets,
		    const struct nn_want *want, struct nn_error *err)
{
	struct nn_sha256 hash;

	if (targets && strcmp(data, "-") == 0 && strcmp(targets, "-") == 0)
		return nn_fail(err, NN_EUSAGE, "stdin cannot be both data and targets");
	if (reserve(ds, err) < 0)
		return -1;
	nn_sha256_init(&hash);
	if (read_file(ds, data, (struct nn_reading){ NULL, want, true, !targets }, &hash, err) <
		    0 ||
	    (targets && read_file(ds, targets, (struct nn_reading){ NULL, want, false, true },
				  &hash, err) < 0))
		return -1;
	nn_dataset_stream_files(ds);
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (nn_dataset_order_labels(ds, i, err) < 0)
			return -1;
	if (nn_coding_schema(ds->coding, ds->schema, false, err) < 0)
		return nn_fail_at(err, "%s", data);
	hash_schema(ds, &hash);
	hash_classes(ds, &hash);
	nn_sha256_hex(&hash, ds->hash);
	return nn_dataset_leave_out(ds, err) < 0 ? -1 : nn_dataset_check_weights(ds, err);
}

/* ---- schemas: a skeleton to be filled in, or a copy of the start model's ---- */

static struct nn_schema *new_schema(const struct nn_want *want, struct nn_error *err)
{
	struct nn_schema *s = nn_alloc(1, sizeof *s, err);

	if (!s)
		return NULL;
	s->inputs = nn_alloc(want->n_inputs, sizeof *s->inputs, err);
	s->targets = nn_alloc(want->n_targets, sizeof *s->targets, err);
	if (!s->inputs || !s->targets)
		goto failed;
	s->n_inputs = want->n_inputs;
	s->n_targets = want->n_targets;
	for (size_t i = 0; i < want->n_inputs; i++)
		if (want->inputs[i].name &&
		    !(s->inputs[i].name = nn_strdup(want->inputs[i].name, err)))
			goto failed;
	for (size_t i = 0; i < want->n_inputs; i++)
		if (want->inputs[i].lengths) {
			s->inputs[i].lengths = true;
			s->inputs[i].shape = want->inputs[i].shape;
			s->inputs[i].rows = want->inputs[i].rows;
		}
	for (size_t i = 0; i < want->n_targets; i++)
		if (want->targets[i].name &&
		    !(s->targets[i].name = nn_strdup(want->targets[i].name, err)))
			goto failed;
	return s;
failed:
	nn_schema_free(s);
	return NULL;
}

static struct nn_schema *copy_schema(const struct nn_schema *from, struct nn_error *err)
{
	struct nn_text input = { 0 }, target = { 0 };
	struct nn_schema *copy = NULL;

	if (nn_schema_input_json(from, &input) < 0 || nn_schema_target_json(from, &target) < 0)
		nn_fail(err, NN_ENOMEM, "cannot allocate memory for a schema");
	else
		nn_schema_parse(&copy, input.data, from->n_targets ? target.data : NULL, err);
	nn_text_free(&input);
	nn_text_free(&target);
	return copy;
}

static int check_start(const struct nn_want *want, struct nn_error *err)
{
	if (want->schema->n_inputs != want->n_inputs || want->schema->n_targets != want->n_targets)
		return nn_fail(
			err, NN_EFORMAT,
			"the start model knows %zu input%s and %zu target%s, its text has %zu "
			"and %zu",
			want->schema->n_inputs, nn_s(want->schema->n_inputs),
			want->schema->n_targets, nn_s(want->schema->n_targets), want->n_inputs,
			want->n_targets);
	for (size_t i = 0; i < want->n_inputs; i++)
		if (want->inputs[i].shaped &&
		    nn_shape_count(&want->inputs[i].shape) !=
			    nn_shape_count(&want->schema->inputs[i].shape))
			return nn_fail(err, NN_EFORMAT,
				       "the start model's nn.input has %zu value%s, its text %zu",
				       nn_shape_count(&want->schema->inputs[i].shape),
				       nn_s(nn_shape_count(&want->schema->inputs[i].shape)),
				       nn_shape_count(&want->inputs[i].shape));
	return 0;
}

/* What is known before anything is read: schema (taken) of data that were read before, or NULL. */
static int prepare(struct nn_dataset *ds, struct nn_schema *schema,
		   const struct nn_data_options *options, const struct nn_want *want,
		   struct nn_error *err)
{
	ds->dtype = want->dtype;
	ds->pool = want->pool;
	ds->files.sample = want->sample;
	ds->files.may_take.pictures = want->memory;
	ds->files.may_take.arrays = want->array_memory;
	ds->files.first = want->first;
	ds->files.share.rows = 1;
	ds->fixed = want->schema && want->schema->n_inputs && want->schema->n_targets;
	ds->schema = ds->fixed ? copy_schema(want->schema, err)
		     : schema  ? schema
			       : new_schema(want, err);
	for (size_t i = 0; ds->schema && i < ds->schema->n_targets && i < want->n_targets; i++)
		ds->schema->targets[i].steps = want->targets[i].steps;
	if (ds->schema != schema)
		nn_schema_free(schema);
	if (take_options(ds, options, err) < 0 || (ds->fixed && check_start(want, err) < 0))
		return -1;
	for (size_t i = 0; ds->fixed && ds->schema && i < want->n_inputs; i++)
		if (nn_schema_take_lengths(&ds->schema->inputs[i], want->inputs[i].lengths,
					   &want->inputs[i].shape, err) < 0)
			return nn_fail_at(err, "the start model's nn.input");
	for (size_t i = 0; ds->fixed && ds->schema && i < want->n_targets; i++)
		if (nn_schema_ignore(&ds->schema->targets[i], want->targets[i].ignored, err) < 0)
			return -1;
	if (!ds->schema || nn_coding_new(&ds->coding, ds->schema, ds->dtype, err) < 0)
		return -1;
	if (ds->fixed && nn_coding_schema(ds->coding, ds->schema, false, err) < 0)
		return -1;
	if (options->classes && nn_dataset_list_classes(ds, options->classes, want, err) < 0)
		return -1;
	if (nn_schema_lengths(ds->schema) < ds->schema->n_inputs)
		ds->files.sample = 0; /* all are needed to know the longest */
	return 0;
}

int nn_dataset_open(struct nn_dataset **dataset, const char *data, const char *targets,
		    const struct nn_data_options *options, const struct nn_want *want,
		    struct nn_error *err)
{
	struct nn_dataset *ds = nn_alloc(1, sizeof *ds, err);

	if (!ds)
		return -1;
	if (prepare(ds, NULL, options, want, err) < 0 ||
	    read_all(ds, data, targets, want, err) < 0) {
		nn_dataset_free(ds);
		return -1;
	}
	*dataset = ds;
	return 0;
}

int nn_dataset_new_of(struct nn_dataset **dataset, struct nn_schema *schema,
		      const struct nn_data_options *options, const struct nn_want *want,
		      struct nn_error *err)
{
	struct nn_dataset *ds = *dataset = nn_alloc(1, sizeof *ds, err);

	if (!ds) {
		nn_schema_free(schema);
		return -1;
	}
	return prepare(ds, schema, options, want, err) < 0 ? -1 : reserve(ds, err);
}

static struct nn_dataset *new_like(struct nn_dataset *training, struct nn_error *err)
{
	struct nn_dataset *ds = nn_alloc(1, sizeof *ds, err);

	if (!ds)
		return NULL;
	ds->training = training;
	ds->files.sample = training->files.sample;
	ds->files.may_take = training->files.may_take;
	ds->files.share.rows = 1;
	ds->dtype = training->dtype;
	ds->pool = training->pool;
	ds->schema = training->schema;
	ds->coding = training->coding;
	ds->rules.table = training->rules.table;
	ds->rules.missing = training->rules.missing;
	ds->rules.zero_based = training->rules.zero_based;
	ds->rules.window = training->rules.window;
	if ((training->rules.target &&
	     !(ds->rules.target = nn_strdup(training->rules.target, err))) ||
	    (training->rules.weight &&
	     !(ds->rules.weight = nn_strdup(training->rules.weight, err)))) {
		nn_dataset_free(ds);
		return NULL;
	}
	return ds;
}

int nn_dataset_open_like(struct nn_dataset **dataset, const char *data, const char *targets,
			 struct nn_dataset *training, struct nn_error *err)
{
	struct nn_dataset *ds = new_like(training, err);

	if (ds && read_all(ds, data, targets, NULL, err) == 0) {
		*dataset = ds;
		return 0;
	}
	nn_dataset_free(ds);
	return -1;
}

int nn_dataset_new_like(struct nn_dataset **dataset, struct nn_dataset *training,
			struct nn_error *err)
{
	*dataset = new_like(training, err);
	return *dataset ? reserve(*dataset, err) : -1;
}

struct nn_dataset *nn_dataset_new_known(const struct nn_known *known, struct nn_error *err)
{
	struct nn_dataset *ds = nn_alloc(1, sizeof *ds, err);

	if (!ds)
		return NULL;
	ds->fixed = ds->borrowed = ds->lenient = true;
	ds->dtype = known->dtype;
	ds->schema = known->schema;
	ds->coding = known->coding;
	ds->rules.table = known->table;
	ds->passes = known->passes;
	if ((!known->target || (ds->rules.target = nn_strdup(known->target, err))) &&
	    (!known->weight || (ds->rules.weight = nn_strdup(known->weight, err))) &&
	    reserve(ds, err) == 0)
		return ds;
	nn_dataset_free(ds);
	return NULL;
}

/* What was read, or nothing. */
static int give(struct nn_dataset **dataset, struct nn_dataset *ds, int status)
{
	if (status < 0)
		nn_dataset_free(ds);
	else
		*dataset = ds;
	return status;
}

static int read_targets(struct nn_dataset *ds, const char *path, struct nn_error *err)
{
	struct nn_sha256 unused;

	nn_sha256_init(&unused);
	return read_file(ds, path, (struct nn_reading){ .targets = true }, &unused, err);
}

int nn_dataset_open_targets(struct nn_dataset **dataset, const char *path,
			    const struct nn_known *known, struct nn_error *err)
{
	struct nn_dataset *ds = nn_dataset_new_known(known, err);

	return ds ? give(dataset, ds, read_targets(ds, path, err)) : -1;
}

int nn_dataset_add_targets(struct nn_dataset *ds, const char *path, const struct nn_known *known,
			   struct nn_error *err)
{
	ds->rules.table = known->table;
	if (known->target && !ds->rules.target &&
	    !(ds->rules.target = nn_strdup(known->target, err)))
		return -1;
	return read_targets(ds, path, err);
}

int nn_dataset_open_whole(struct nn_dataset **dataset, struct nn_input *input,
			  const struct nn_format *format, bool targets,
			  const struct nn_known *known, struct nn_error *err)
{
	struct nn_dataset *ds = nn_dataset_new_known(known, err);
	struct nn_reading reading = { format, NULL, true, targets };

	/* rows are taken once and in order: large arrays may as well stay where they are */
	if (ds && format->tensors && nn_schema_lengths(ds->schema) == ds->schema->n_inputs)
		ds->files.memory = 1;
	if (!ds || give(dataset, ds, read_rows(ds, input, &reading, err)) < 0)
		return -1;
	nn_dataset_stream_files(ds);
	return 0;
}
