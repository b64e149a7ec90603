/*
 * Opening a model: its file, what it knows of its data, and one packed copy of the weights for all
 * sessions.
 */
#include <string.h>

#include "base/flush.h"
#include "base/memory.h"
#include "base/text.h"
#include "file/json/json.h"
#include "predict/encode.h"
#include "predict/idle.h"
#include "predict/model.h"

static int take_class_weights(struct nn_model *model, size_t i, const struct nn_json *weights,
			      struct nn_error *err)
{
	const struct nn_target_schema *target = &model->schema->targets[i];
	size_t n = nn_json_size(weights);

	if (nn_json_type(weights) != NN_JSON_ARRAY ||
	    (!target->labels && model->schema->n_targets > 1))
		return 0;
	if (!target->labels || n != target->n_labels)
		return nn_fail(err, NN_EFORMAT,
			       "nn.train: class-weight: found %zu weight%s, expected %zu", n,
			       nn_s(n), target->n_labels);
	model->class_weights[i] = nn_alloc(n, sizeof(double), err);
	if (!model->class_weights[i])
		return -1;
	for (size_t c = 0; c < n; c++)
		model->class_weights[i][c] = nn_json_number(nn_json_at(weights, c));
	model->losses[i].class_weights = model->class_weights[i];
	return 0;
}

/*
 * What nn.train says of an output: the value itself, or where outputs differ the one of that name.
 */
static const struct nn_json *of_output(const struct nn_model *model, const struct nn_json *train,
				       const char *key, size_t i)
{
	const struct nn_json *value = nn_json_get(train, key);
	const char *name = model->schema->targets[i].name;

	return nn_json_type(value) == NN_JSON_OBJECT ? name ? nn_json_get(value, name) : NULL
						     : value;
}

static int take_loss(struct nn_model *model, size_t i, const struct nn_json *train,
		     struct nn_error *err)
{
	struct nn_target_schema *target = &model->schema->targets[i];
	bool numbers = !target->labels;
	struct nn_loss_spec *loss = &model->losses[i];
	const char *name = train ? nn_json_string(of_output(model, train, "loss", i), NULL) : NULL;
	const char *ignored = train ? nn_json_string(nn_json_get(train, "ignore"), NULL) : NULL;
	enum nn_loss_kind kind = name ? nn_loss_find(name) : NN_LOSS_AUTO;

	*loss = (struct nn_loss_spec){ .ignore = NN_CLASS_UNKNOWN,
				       .kind = numbers ? NN_LOSS_MSE : NN_LOSS_CROSS_ENTROPY };
	if (kind != NN_LOSS_AUTO && (kind == NN_LOSS_CROSS_ENTROPY) != numbers)
		loss->kind = kind;
	if (!train)
		return 0;
	if (nn_schema_ignore(target, ignored, err) < 0)
		return -1;
	loss->ignore = nn_schema_ignored(target, ignored);
	return take_class_weights(model, i, of_output(model, train, "class-weight", i), err);
}

static int take_weight(struct nn_model *model, const char *column, struct nn_error *err)
{
	model->weight = column ? nn_strdup(column, err) : NULL;
	return column && !model->weight ? -1 : 0;
}

static int take_threshold(struct nn_model *model, const struct nn_json *train, struct nn_error *err)
{
	const struct nn_json *threshold = nn_json_get(train, "threshold"),
			     *value = nn_json_get(threshold, "value");
	const struct nn_target_schema *target = model->schema->targets;

	if (!threshold)
		return 0;
	model->threshold = nn_json_number(value);
	if (nn_json_type(value) != NN_JSON_NUMBER ||
	    !(model->threshold > 0 && model->threshold <= 1))
		return nn_fail(err, NN_EFORMAT,
			       "nn.train: threshold: expected a value above 0, at most 1");
	if (model->schema->n_targets != 1 || target->n_labels != 2)
		return nn_fail(err, NN_EFORMAT, "nn.train: threshold: needs two classes");
	return 0;
}

/* The losses that --score reports: those of the training, or what fits the targets. */
static int take_losses(struct nn_model *model, struct nn_error *err)
{
	const char *text = model->file ? model->file->train_json : NULL;
	size_t n = model->schema->n_targets;
	struct nn_json *train = NULL;
	int status = 0;

	model->losses = nn_alloc(n, sizeof *model->losses, err);
	model->class_weights = nn_alloc(n, sizeof *model->class_weights, err);
	if (!model->losses || !model->class_weights)
		return -1;
	if (text && n > 0 && !(train = nn_json_parse(text, strlen(text), err)))
		return nn_fail_at(err, "nn.train");
	if (train)
		status =
			take_weight(model, nn_json_string(nn_json_get(train, "weight"), NULL), err);
	if (train && status == 0)
		status = take_threshold(model, train, err);
	for (size_t i = 0; i < n && status == 0; i++)
		status = take_loss(model, i, train, err);
	nn_json_free(train);
	return status;
}

/* nn.input and nn.target have to agree with the shapes of the text. */
static int check_schema(const struct nn_model *model, struct nn_error *err)
{
	const struct nn_schema *schema = model->schema;
	const struct nn_program *program = model->program;

	if (schema->n_targets && schema->n_targets != (size_t)program->n_outputs)
		return nn_fail(err, NN_EFORMAT, "nn.target: found %zu target%s, expected %d",
			       schema->n_targets, nn_s(schema->n_targets), program->n_outputs);
	for (size_t i = 0; i < schema->n_targets; i++) {
		const struct nn_target_schema *t = &schema->targets[i];
		const struct nn_shape *shape = &program->values[program->outputs[i].value].shape;
		size_t found = t->labels ? t->n_labels : t->n_columns;
		size_t wanted = nn_shape_columns(shape);

		schema->targets[i].steps = program->values[program->outputs[i].value].lengths;
		if (t->labels ? found > wanted : found != wanted && found != nn_shape_count(shape))
			return nn_fail(err, NN_EFORMAT, "nn.target: found %zu %s, expected %zu",
				       found, t->labels ? "labels" : "columns", wanted);
	}
	return 0;
}

/* A file from elsewhere, without nn.input: its rows are arrays of the shapes in its text. */
static int make_inputs(struct nn_model *model, struct nn_error *err)
{
	struct nn_schema *schema = model->schema;
	const struct nn_program *program = model->program;

	nn_free(schema->inputs); /* of an empty nn.input */
	schema->inputs = nn_alloc((size_t)program->n_inputs, sizeof *schema->inputs, err);
	if (!schema->inputs)
		return -1;
	schema->n_inputs = (size_t)program->n_inputs;
	for (size_t i = 0; i < schema->n_inputs; i++) {
		const char *name = nn_net_input(model->net, i)->name;

		schema->inputs[i].shape = program->values[program->inputs[i]].shape;
		schema->inputs[i].rows = nn_program_categories(program, (int)i);
		if (name && !(schema->inputs[i].name = nn_strdup(name, err)))
			return -1;
	}
	return 0;
}

static int complete_schema(struct nn_model *model, struct nn_error *err)
{
	struct nn_schema *schema = model->schema;
	const struct nn_program *program = model->program;

	if (schema->n_inputs == 0 && make_inputs(model, err) < 0)
		return -1;
	if (schema->n_inputs != (size_t)program->n_inputs)
		return nn_fail(err, NN_EFORMAT, "nn.input: found %zu input%s, expected %d",
			       schema->n_inputs, nn_s(schema->n_inputs), program->n_inputs);
	for (size_t i = 0; i < schema->n_inputs; i++) {
		const struct nn_value *value = &program->values[program->inputs[i]];
		size_t found = nn_shape_count(&schema->inputs[i].shape);
		size_t wanted = nn_shape_count(&value->shape);

		if (found != wanted)
			return nn_fail(err, NN_EFORMAT,
				       "nn.input: found a shape of %zu value%s, nn.model has %zu",
				       found, nn_s(found), wanted);
		if (nn_schema_take_lengths(&schema->inputs[i], value->lengths, &value->shape, err) <
		    0)
			return nn_fail_at(err, "nn.input");
	}
	return 0;
}

static size_t count_values(const struct nn_program *program, const int *values, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += nn_shape_count(&program->values[values[i]].shape);
	return sum;
}

static const struct nn_device *open_device(struct nn_model *model,
					   const struct nn_model_source *source,
					   enum nn_dtype dtype, struct nn_error *err)
{
	const char *name = source->device_name ? source->device_name : "cpu";
	char stored[NN_DEVICE_NAME], full[NN_PRODUCTS_NAME];

	if (strcmp(name, "auto") == 0) {
		struct nn_use use = { nn_net_text(model->net), false,
				      source->batch ? source->batch : 1, nn_dtype_computed(dtype) };

		nn_device_stored(&use, stored, model->note);
		name = stored;
	}
	return nn_device_open(nn_products_device(full, name, source->products), dtype, err);
}

/* int8 weights are multiplied as such, unless a type was asked for or the device cannot. */
static int take_device(struct nn_model *model, const struct nn_model_source *source,
		       struct nn_error *err)
{
	bool asked = source->precision > 0;
	enum nn_dtype dtype = asked         ? (enum nn_dtype)(source->precision - 1)
			      : model->file ? model->file->dtype
					    : NN_F32;
	struct nn_error absent;

	model->device = source->device;
	if (!model->device && !asked && model->file && model->file->stored == NN_I8)
		model->device = open_device(model, source, NN_I8, &absent);
	if (!model->device)
		model->device = open_device(model, source, dtype, err);
	model->host = model->device ? nn_device_host(model->device) : NULL;
	return model->host ? 0 : -1;
}

static int load_net(struct nn_model *model, const struct nn_model_source *source,
		    struct nn_error *err)
{
	model->net = source->net;
	if (!model->net) {
		if (nn_model_read_file(model, source, err) < 0)
			return -1;
		model->net = model->file->net;
	}
	model->program = nn_net_program(model->net);
	return take_device(model, source, err);
}

static int load(struct nn_model *model, const struct nn_model_source *source, struct nn_error *err)
{
	if (load_net(model, source, err) < 0)
		return -1;
	if (nn_schema_parse(&model->schema, model->file ? model->file->input_json : NULL,
			    model->file ? model->file->target_json : NULL, err) < 0 ||
	    complete_schema(model, err) < 0 || check_schema(model, err) < 0 ||
	    take_losses(model, err) < 0)
		return nn_fail_at(err, "%s", source->path ? source->path : "-m");
	if (source->fields && nn_encoder_new(&model->encoder, model->schema, err) < 0)
		return nn_fail_at(err, "%s", source->path ? source->path : "-m");
	model->inputs =
		count_values(model->program, model->program->inputs, model->program->n_inputs);
	for (int i = 0; i < model->program->n_outputs; i++)
		model->outputs +=
			count_values(model->program, &model->program->outputs[i].value, 1);
	model->idle = nn_idle_new(err);
	return model->idle ? nn_model_load_weights(model, source, err) : -1;
}

int nn_model_load(struct nn_model **model, const struct nn_model_source *source,
		  struct nn_error *err)
{
	struct nn_model *m = nn_alloc(1, sizeof *m, err);

	if (!m)
		return -1;
	if (load(m, source, err) < 0) {
		nn_model_close(m);
		return -1;
	}
	*model = m;
	return 0;
}

struct nn_model *nn_model_open(const char *path, struct nn_error *err)
{
	struct nn_model_source source = { .path = path, .fields = true };
	struct nn_model *model = NULL;
	uint64_t before = nn_flush_set(true);

	nn_model_load(&model, &source, err);
	nn_flush_restore(before);
	return model;
}

void nn_model_close(struct nn_model *model)
{
	if (!model)
		return;
	nn_idle_free(model->idle);
	nn_encoder_free(model->encoder);
	nn_graph_free(model->weights);
	for (size_t i = 0; model->class_weights && i < model->schema->n_targets; i++)
		nn_free(model->class_weights[i]);
	nn_free(model->class_weights);
	nn_free(model->weight);
	nn_free(model->losses);
	nn_schema_free(model->schema);
	nn_model_file_free(model->file);
	nn_free(model);
}

size_t nn_model_inputs(const struct nn_model *model)
{
	return model->inputs;
}

size_t nn_model_outputs(const struct nn_model *model)
{
	return model->outputs;
}

const char *nn_model_label(const struct nn_model *model, size_t i)
{
	for (int o = 0; o < model->program->n_outputs; o++) {
		const struct nn_shape *shape =
			&model->program->values[model->program->outputs[o].value].shape;
		const struct nn_target_schema *target;
		size_t n = nn_shape_count(shape), columns = nn_shape_columns(shape);

		if (i >= n) {
			i -= n;
			continue;
		}
		if ((size_t)o >= model->schema->n_targets)
			return NULL;
		target = &model->schema->targets[o];
		i = shape->rank == 3 ? i / nn_shape_positions(shape) : i % columns;
		if (target->labels)
			return i < target->n_labels ? target->labels[i] : NULL;
		return target->columns && i < target->n_columns ? target->columns[i] : NULL;
	}
	return NULL;
}

const char *nn_model_column(const struct nn_model *model, size_t i)
{
	return model->encoder ? nn_encoder_field(model->encoder, i) : NULL;
}

int nn_model_encode(const struct nn_model *model, const char *const *fields, float *row,
		    struct nn_error *err)
{
	if (!model->encoder)
		return nn_fail(err, NN_EUSAGE, "the model was not opened for fields");
	return nn_encoder_row(model->encoder, fields, row, NULL, err);
}

int nn_model_encode_counting(const struct nn_model *model, const char *const *fields, float *row,
			     struct nn_encoder_unseen *unseen, struct nn_error *err)
{
	return nn_encoder_row(model->encoder, fields, row, unseen, err);
}
