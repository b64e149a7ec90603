/* Opening a model to measure it, and what can be told of it without running it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench/model.h"
#include "data/data.h"
#include "file/json/json.h"

/* ---- text or a file ---- */

/* There is no -m here: its place in messages is MODEL, and an unknown file is its own place. */
static int rename_place(struct nn_error *err)
{
	char text[sizeof err->text];

	if (!err || strncmp(err->text, "-m:", 3) != 0)
		return -1;
	snprintf(text, sizeof text, "%s%s", err->text[3] == ' ' ? "" : "MODEL",
		 err->text + (err->text[3] == ' ' ? 4 : 2));
	memcpy(err->text, text, sizeof text);
	return -1;
}

static int check_text(const struct nn_bench_model *s, enum nn_code code, struct nn_error *err)
{
	for (size_t i = 0; i < nn_net_n_inputs(s->text); i++) {
		const struct nn_net_input *input = nn_net_input(s->text, i);

		if (!input->shaped)
			return nn_fail(err, code,
				       "%s: the shape of the samples is not given; begin with an "
				       "input line, such as "
				       "'input 784'",
				       code == NN_EUSAGE ? "MODEL" : s->name);
		if (input->lengths && input->shape.dim[0] == 0)
			return nn_fail(err, code,
				       "%s: how long the longest row may be is not known; write "
				       "max=N in the input line",
				       code == NN_EUSAGE ? "MODEL" : s->name);
	}
	for (size_t i = 0; i < nn_net_n_outputs(s->text); i++)
		if (nn_net_output(s->text, i)->open)
			return nn_fail(err, code,
				       "%s: the size of an output is '?'; nn-bench has no data "
				       "that say it, write a number",
				       code == NN_EUSAGE ? "MODEL" : s->name);
	return 0;
}

static int open_net(struct nn_bench_model *s, const char *operand, struct nn_error *err)
{
	struct stat status;
	enum nn_code code = access(operand, F_OK) == 0 ? NN_EFAIL : NN_EUSAGE;

	if (nn_net_open(&s->text, &s->file, operand, err) < 0)
		return rename_place(err);
	if (s->text &&
	    (check_text(s, code, err) < 0 || nn_net_resolve(s->text, NULL, NULL, err) < 0))
		return rename_place(err);
	s->net = s->file ? s->file->net : s->text;
	s->program = nn_net_program(s->net);
	if (s->file && stat(operand, &status) == 0 && S_ISREG(status.st_mode))
		s->path = operand;
	return 0;
}

/* ---- what nn.train says ---- */

static enum nn_optimizer_kind find_optimizer(const char *name)
{
	enum nn_optimizer_kind kind = name ? nn_optimizer_find(name) : NN_N_OPTIMIZERS;

	return kind < NN_N_OPTIMIZERS ? kind : NN_OPTIMIZER_USUAL;
}

static int take_train(struct nn_bench_model *s, enum nn_loss_kind *loss, struct nn_error *err)
{
	struct nn_json *train;
	const char *name;

	*loss = NN_LOSS_AUTO;
	s->batch = 64;
	s->optimizer.kind = NN_OPTIMIZER_USUAL;
	if (!s->file || !s->file->train_json)
		return 0;
	train = nn_json_parse(s->file->train_json, strlen(s->file->train_json), err);
	if (!train)
		return nn_fail_at(err, "%s: nn.train", s->name);
	if (nn_json_number(nn_json_get(train, "batch")) >= 1)
		s->batch = (size_t)nn_json_number(nn_json_get(train, "batch"));
	s->optimizer.kind = find_optimizer(nn_json_string(nn_json_get(train, "optimizer"), NULL));
	s->optimizer.momentum = nn_json_number(nn_json_get(train, "momentum"));
	s->optimizer.weight_decay = nn_json_number(nn_json_get(train, "weight-decay"));
	s->optimizer.clip_norm = nn_json_number(nn_json_get(train, "clip-norm"));
	name = nn_json_string(nn_json_get(train, "loss"), NULL);
	*loss = name ? nn_loss_find(name) : NN_LOSS_AUTO;
	nn_json_free(train);
	return 0;
}

/* Classes are the channels of C,H,W, else the last dimension. */
static int take_targets(struct nn_bench_model *s, enum nn_loss_kind loss, struct nn_error *err)
{
	size_t n = (size_t)s->program->n_outputs;

	s->losses = nn_alloc(n, sizeof *s->losses, err);
	s->weights = nn_alloc(n, sizeof *s->weights, err);
	if (!s->losses || !s->weights)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct nn_shape *shape =
			&s->program->values[s->program->outputs[i].value].shape;

		s->losses[i] = (struct nn_loss_spec){ .ignore = -1 };
		s->losses[i].kind = loss != NN_LOSS_AUTO && n == 1 ? loss
				    : nn_shape_columns(shape) > 1  ? NN_LOSS_CROSS_ENTROPY
								   : NN_LOSS_MSE;
		s->weights[i] = nn_net_output(s->net, i)->weight;
	}
	return 0;
}

/* ---- parameters ---- */

/* Two copies at least: as files have them, and packed for the kernels. */
static int take_params(struct nn_bench_model *s, uint64_t seed, struct nn_error *err)
{
	double bytes = 2.0 * (double)nn_program_parameters(s->program, false) *
		       (double)nn_dtype_size(s->dtype),
	       available = (double)nn_memory_available();

	if (bytes > available)
		return nn_fail(err, NN_ENOMEM,
			       "%s: its parameters alone need %.0f bytes, %.0f are available",
			       s->name, bytes, available);
	s->params = nn_params_new(s->program, s->dtype, err);
	if (!s->params)
		return -1;
	return s->file ? nn_model_file_params(s->file, s->dtype, s->params, err)
		       : nn_net_init(s->net, seed, s->dtype, s->params, err);
}

static int open_subject(struct nn_bench_model *s, int precision, uint64_t seed,
			struct nn_error *err)
{
	enum nn_loss_kind loss;

	if (open_net(s, s->name, err) < 0)
		return -1;
	s->dtype = precision ? (enum nn_dtype)(precision - 1) : s->file ? s->file->dtype : NN_F32;
	s->int8 = !precision && s->file && s->file->stored == NN_I8;
	if (take_train(s, &loss, err) < 0 || take_targets(s, loss, err) < 0)
		return -1;
	return take_params(s, seed, err);
}

int nn_bench_model_open(struct nn_bench_model **subject, const char *operand, int precision,
			uint64_t seed, struct nn_error *err)
{
	struct nn_bench_model *s = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	s->name = operand;
	if (open_subject(s, precision, seed, err) < 0) {
		nn_bench_model_free(s);
		return -1;
	}
	*subject = s;
	return 0;
}

int nn_bench_model_check(const char *operand, struct nn_error *err)
{
	struct nn_bench_model s = { .name = operand };
	int status;

	if (access(operand, F_OK) == 0)
		return 0;
	status = open_net(&s, operand, err);
	nn_net_free(s.text);
	nn_model_file_free(s.file);
	return status;
}

void nn_bench_model_free(struct nn_bench_model *s)
{
	if (!s)
		return;
	nn_free(s->params);
	nn_free(s->losses);
	nn_free(s->weights);
	nn_net_free(s->text);
	nn_model_file_free(s->file);
	nn_free(s);
}

/* ---- figures ---- */

size_t nn_bench_model_parameters(const struct nn_bench_model *s)
{
	return nn_program_parameters(s->program, true);
}

static size_t row_size(const struct nn_program *p, bool outputs, int i)
{
	return nn_shape_count(&p->values[outputs ? p->outputs[i].value : p->inputs[i]].shape);
}

/* Numbers of a row of all inputs, or of all outputs. */
static size_t all_sizes(const struct nn_bench_model *s, bool outputs)
{
	size_t n = 0;

	for (int i = 0; i < (outputs ? s->program->n_outputs : s->program->n_inputs); i++)
		n += row_size(s->program, outputs, i);
	return n;
}

size_t nn_bench_model_input_bytes(const struct nn_bench_model *s)
{
	return all_sizes(s, false) * nn_dtype_size(s->dtype);
}

size_t nn_bench_model_output_bytes(const struct nn_bench_model *s)
{
	return all_sizes(s, true) * nn_dtype_size(s->dtype);
}

void **nn_bench_model_rows(const struct nn_bench_model *s, bool outputs, size_t n,
			   enum nn_dtype dtype, struct nn_error *err)
{
	size_t arrays = (size_t)(outputs ? s->program->n_outputs : s->program->n_inputs),
	       row = nn_dtype_size(dtype) * all_sizes(s, outputs), head = 64 * (1 + arrays), bytes;
	void **rows = NULL;
	char *at;

	if (!nn_mul(n, row, &bytes) || !nn_add(bytes, 2 * head, &bytes))
		nn_fail(err, NN_ENOMEM, "%zu rows are more than memory can be", n);
	else
		rows = nn_alloc(bytes, 1, err);
	at = (char *)rows + head;
	for (size_t i = 0; rows && i < arrays; i++) {
		rows[i] = at;
		at += (n * nn_dtype_size(dtype) * row_size(s->program, outputs, (int)i) + 63) / 64 *
		      64;
	}
	return rows;
}
