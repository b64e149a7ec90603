/* --score: metrics of what comes by in place of answers. */
#include <stdio.h>
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "predict/run.h"

static void warn_of_weights(struct nn_run *r)
{
	char text[NN_QUOTED + 120], quoted[NN_QUOTED];

	snprintf(text, sizeof text,
		 "the data have no column \"%s\" with the weights of the training: each row weighs "
		 "1",
		 nn_quote(quoted, r->model->weight, strlen(r->model->weight)));
	nn_run_warn(r, text);
}

static int open_one(const struct nn_run *r, const struct nn_model *model, size_t o,
		    struct nn_metrics **metrics, struct nn_error *err)
{
	const struct nn_program *program = model->program;
	const struct nn_shape *shape = &program->values[program->outputs[o].value].shape;
	size_t columns = nn_shape_columns(shape), positions = nn_shape_positions(shape);
	size_t found = nn_rows_target_size(r->rows, o), wanted;

	wanted = nn_rows_target_classes(r->rows, o) ? positions : positions * columns;
	if (found != wanted && !nn_rows_none(r->rows))
		return nn_fail(err, NN_EFORMAT,
			       "--score: found %zu target values per row, the model has %zu", found,
			       wanted);
	if (nn_metrics_new(metrics, &model->schema->targets[o], &model->losses[o], model->host,
			   shape, r->batch, err) < 0 ||
	    (r->ensemble && nn_metrics_take_probabilities(*metrics, err) < 0))
		return -1;
	return nn_run_threshold(r, model) > 0
		       ? nn_metrics_set_threshold(*metrics, nn_run_threshold(r, model), err)
		       : 0;
}

static int open_all(const struct nn_run *r, const struct nn_model *model,
		    struct nn_metrics ***metrics, struct nn_error *err)
{
	*metrics = nn_alloc(nn_run_outputs(r), sizeof **metrics, err);
	if (!*metrics)
		return -1;
	for (size_t o = 0; o < nn_run_outputs(r); o++)
		if (open_one(r, model, o, &(*metrics)[o], err) < 0)
			return -1;
	return 0;
}

int nn_run_open_score(struct nn_run *r, struct nn_error *err)
{
	const struct nn_program *program = r->model->program;

	for (size_t o = 0; o < nn_run_outputs(r); o++)
		nn_rows_set_output(r->rows, o, &program->values[program->outputs[o].value].shape);
	if (r->model->weight && !nn_rows_weighs(r->rows) && !nn_rows_none(r->rows))
		warn_of_weights(r);
	if (open_all(r, r->model, &r->metrics, err) < 0)
		return -1;
	return r->p->options.against ? open_all(r, r->members[1].model, &r->against, err) : 0;
}

static int score_output(const struct nn_run *r, const struct nn_run_batch *b,
			const struct nn_run_member *member, size_t o, struct nn_metrics *metrics,
			struct nn_error *err)
{
	const double *weights = b->block->beside.weights;
	bool classes = nn_rows_target_classes(r->rows, o);
	enum nn_loss_kind kind = member->model->losses[o].kind;
	enum nn_dtype dtype = r->model->device->dtype;
	size_t size = nn_rows_target_size(r->rows, o),
	       row = size * (classes ? sizeof(int32_t) : nn_dtype_size(dtype));
	const void *targets = (const char *)b->block->targets[o] + b->first * row;
	const char *data = r->p->data ? r->p->data : "-", *apart = r->p->options.score_targets;
	struct nn_loss_rows rows = { apart ? apart : data, NULL, r->n_rows, b->n, size };

	if (kind == NN_LOSS_BCE && nn_loss_check_bce(&rows, dtype, targets, err) < 0)
		return -1;
	nn_metrics_add(metrics,
		       r->ensemble ? nn_ensemble_raw(r->ensemble, o)
				   : nn_session_raw(member->session, o, 0),
		       targets, weights ? weights + b->first : NULL,
		       kind == NN_LOSS_CROSS_ENTROPY && !classes, b->n);
	return 0;
}

int nn_run_score(struct nn_run *r, const struct nn_run_batch *b, struct nn_error *err)
{
	for (size_t o = 0; o < nn_run_outputs(r); o++)
		if (score_output(r, b, &r->members[0], o, r->metrics[o], err) < 0 ||
		    (r->against && score_output(r, b, &r->members[1], o, r->against[o], err) < 0))
			return -1;
	return 0;
}

/* ---- figures as they are printed ---- */

struct lines {
	enum nn_to to;
	const char *prefix; /* of several outputs: the name of one */
	struct nn_text name, text;
};

static bool has_controls(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return true;
	return false;
}

static void add_line(struct lines *l, const char *number)
{
	/* a label may hold anything, a line break too: such a name is written as a JSON string */
	if (l->to == NN_TO_AUTO && has_controls(l->name.data))
		nn_text_add_json(&l->text, l->name.data, l->name.length);
	else if (l->to == NN_TO_AUTO)
		nn_text_add(&l->text, l->name.data);
	else
		nn_write_field(&l->text, l->name.data, l->to == NN_TO_TSV ? '\t' : ',');
	nn_text_addf(&l->text, "%s%s\n",
		     l->to == NN_TO_AUTO  ? " "
		     : l->to == NN_TO_TSV ? "\t"
					  : ",",
		     number);
}

static int take_figure(void *arg, const char *name, double value, bool count)
{
	struct lines *l = arg;
	char number[NN_NUMBER];

	nn_text_clear(&l->name);
	nn_text_addf(&l->name, "%s%s%s", l->prefix, *l->prefix ? "." : "", name);
	if (l->name.failed)
		return 0; /* and so has the text */
	if (l->to == NN_TO_JSON || l->to == NN_TO_JSONL) {
		nn_json_add_key(&l->text, l->name.data);
		if (count)
			nn_json_put_count(&l->text, (uint64_t)value);
		else
			nn_json_put_real(&l->text, value);
		return 0;
	}
	if (count)
		snprintf(number, sizeof number, "%.0f", value);
	else
		nn_format_f64(number, value);
	add_line(l, number);
	return 0;
}

int nn_run_print_score(struct nn_run *r, struct nn_error *err)
{
	struct lines l = { .to = r->p->options.to };
	bool object = l.to == NN_TO_JSON || l.to == NN_TO_JSONL, table = l.to && !object;
	int status;

	if (object)
		nn_text_add(&l.text, "{");
	if (table && r->p->options.to_header != NN_HEADER_NO)
		nn_text_add(&l.text, l.to == NN_TO_TSV ? "name\tvalue\n" : "name,value\n");
	for (size_t o = r->asked; o < r->asked + r->n_asked; o++) {
		const char *name = r->model->program->outputs[o].name;

		l.prefix = r->n_asked > 1 && name ? name : "";
		nn_run_each_figure(r, o, take_figure, &l);
	}
	if (object)
		nn_text_add(&l.text, "}\n");
	if (l.text.failed || l.name.failed)
		status = nn_fail(err, NN_ENOMEM, "cannot allocate memory for the figures");
	else
		status = nn_output_write(r->output, l.text.data, l.text.length, err);
	nn_text_free(&l.name);
	nn_text_free(&l.text);
	return status;
}
