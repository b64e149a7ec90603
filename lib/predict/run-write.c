/* Answers: which outputs are emitted, in which format, and writing them batch by batch. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "predict/run.h"

int nn_run_find_outputs(struct nn_run *r, struct nn_error *err)
{
	const struct nn_program *program = r->model->program;
	const char *name = r->p->options.output_name;
	struct nn_text known = { 0 };
	char quoted[NN_QUOTED];

	r->n_asked = name ? 1 : nn_run_outputs(r);
	for (; name && r->asked < nn_run_outputs(r); r->asked++)
		if (program->outputs[r->asked].name &&
		    strcmp(program->outputs[r->asked].name, name) == 0)
			break;
	if (r->asked < nn_run_outputs(r))
		return 0;
	for (int o = 0; o < program->n_outputs; o++)
		nn_text_addf(&known, "%s%s", o ? ", " : "",
			     program->outputs[o].name ? program->outputs[o].name
						      : "an unnamed one");
	nn_fail(err, NN_EFAIL, "--output-name=%s: the model's outputs are %s",
		nn_quote(quoted, name, strlen(name)), known.data ? known.data : "none");
	nn_text_free(&known);
	return -1;
}

bool nn_run_has_lengths(const struct nn_run *r)
{
	const struct nn_program *program = r->model->program;

	for (int o = 0; o < program->n_outputs; o++)
		if (program->values[program->outputs[o].value].lengths)
			return true;
	return false;
}

static enum nn_to choose_format(const struct nn_run *r)
{
	if (r->p->options.to)
		return r->p->options.to;
	if (nn_rows_lines(r->rows))
		return NN_TO_JSONL;
	if (nn_rows_suit_arrays(r->rows))
		return nn_run_has_lengths(r) ? NN_TO_NPZ : NN_TO_NPY;
	return nn_rows_separator(r->rows) == '\t' ? NN_TO_TSV : NN_TO_CSV;
}

/* --emit, or of pictures a class per pixel where the model has classes. */
static const char *emitted_word(const struct nn_run *r, size_t output)
{
	const struct nn_schema *schema = r->model->schema;
	const char *word = r->p->options.emit;

	if (!word && r->p->options.to == NN_TO_PNG &&
	    (output >= schema->n_targets || schema->targets[output].labels))
		return "class";
	return word;
}

static int open_emitted(struct nn_run *r, struct nn_error *err)
{
	r->emitted = nn_alloc(r->n_asked, sizeof *r->emitted, err);
	if (!r->emitted)
		return -1;
	for (size_t i = 0; i < r->n_asked; i++)
		if (nn_emitted_open(&r->emitted[i], r->model, (int)(r->asked + i),
				    emitted_word(r, r->asked + i), r->batch, err) < 0 ||
		    (r->emitted[i].emit == NN_EMIT_CLASS && nn_run_threshold(r, r->model) > 0 &&
		     nn_emitted_set_threshold(&r->emitted[i], nn_run_threshold(r, r->model), err) <
			     0))
			return -1;
	return 0;
}

/* A column that is kept, and one of the answer or another that is kept, have names of their own. */
static int check_kept(const struct nn_run *r, const struct nn_writer_options *options,
		      struct nn_error *err)
{
	const char *name, *other, *what = NULL;
	char quoted[NN_QUOTED];

	for (size_t i = 0; !what && (name = nn_rows_kept(r->rows, i)); i++) {
		for (size_t k = 0; k < i && (other = nn_rows_kept(r->rows, k)); k++)
			if (strcmp(name, other) == 0)
				what = "is kept twice";
		if (nn_write_is_name(r->emitted, r->n_asked, options, name))
			what = "is the name of a column of the answer, too";
	}
	return what ? nn_fail(err, NN_EUSAGE, "--keep=%s: \"%s\" %s", r->p->options.keep,
			      nn_quote(quoted, name, strlen(name)), what)
		    : 0;
}

int nn_run_open_writer(struct nn_run *r, struct nn_error *err)
{
	bool table = nn_rows_separator(r->rows);
	struct nn_writer_options options = { .total = nn_rows_total(r->rows) };

	options.to = choose_format(r);
	options.header = r->p->options.to_header != NN_HEADER_AUTO
				 ? r->p->options.to_header == NN_HEADER_YES
				 : !nn_rows_none(r->rows) && (!table || nn_rows_header(r->rows));
	if (r->p->options.on_error == NN_ON_ERROR_SKIP)
		options.total = -1; /* rows may be left out */
	if (open_emitted(r, err) < 0)
		return -1;
	options.named = r->n_asked > 1;
	if (options.named && options.to != NN_TO_JSONL && options.to != NN_TO_NPZ)
		return nn_fail(
			err, NN_EFAIL,
			"%s: the model has %zu outputs; choose one with --output-name= or take all "
			"with --to=jsonl or --to=npz",
			r->p->model, r->n_asked);
	options.rows = r->rows;
	if (nn_rows_kept(r->rows, 0) && check_kept(r, &options, err) < 0)
		return -1;
	options.pictures =
		(struct nn_pictures_options){ r->p->output, r->p->data, r->output, options.total };
	if ((options.to == NN_TO_NPY || options.to >= NN_TO_NPZ) && r->output &&
	    nn_output_binary(r->output, err) < 0)
		return -1;
	return nn_writer_open(&r->writer, r->output, r->emitted, r->n_asked, &options, err);
}

int nn_run_write(struct nn_run *r, const struct nn_run_batch *b, struct nn_error *err)
{
	if (b->first == 0)
		nn_writer_keep(r->writer, b->block->kept.data);
	for (size_t i = 0; i < r->n_asked; i++)
		if (r->ensemble) {
			nn_emitted_take_lengths(&r->emitted[i], r->members[0].session, 0, b->n);
			nn_emitted_put(&r->emitted[i],
				       nn_ensemble_mean(r->ensemble, (size_t)r->emitted[i].output),
				       b->n);
		} else {
			nn_emitted_take(&r->emitted[i], r->members[0].session, 0, b->n);
		}
	return nn_writer_rows(r->writer, b->n, b->block->bad + b->first, err);
}
