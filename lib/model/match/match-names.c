/* Tensors and parameters paired by name. */
#include <stdio.h>
#include <string.h>

#include "model/match/keras.h"
#include "model/match/match.h"
#include "model/net.h"

#define MOST_STRIPPED 16 /* parts of names that all tensors share */

enum nn_weights_layout nn_match_layout(const struct nn_match *m, const struct nn_weight_name *name)
{
	return m->layout ? m->layout : name->layout ? name->layout : NN_WEIGHTS_TORCH;
}

bool nn_match_fits(const struct nn_program *program, int p, const struct nn_shape *shape,
		   enum nn_weights_layout layout)
{
	struct nn_shape plain, depthwise;

	if (layout != NN_WEIGHTS_KERAS)
		return nn_shape_equal(shape, &program->params[p].desc.shape);
	plain = nn_keras_shape(program, p, false);
	depthwise = nn_keras_shape(program, p, true);
	return nn_shape_equal(shape, &plain) || nn_shape_equal(shape, &depthwise);
}

/* Has only one layer parameters? Then they need no name of it. */
static bool alone(const struct nn_program *program)
{
	return program->n_params > 0 &&
	       program->params[0].line == program->params[program->n_params - 1].line;
}

const struct nn_weight_name *nn_match_name(const struct nn_match *m,
					   const struct nn_program *program, int p)
{
	const struct nn_weight_name *name =
		nn_weight_names_find(&m->names, program->params[p].name);

	return name || !alone(program)
		       ? name
		       : nn_weight_names_find(&m->names, program->params[p].desc.name);
}

const struct nn_weight_name *nn_match_line(const struct nn_match *m,
					   const struct nn_net_entry *line, const char *word)
{
	const struct nn_weight_name *name;
	char text[NN_NAME_LENGTH * 8 + 16];

	snprintf(text, sizeof text, "%s.%s", nn_net_entry_name(line), word);
	name = nn_weight_names_find(&m->names, text);
	return name ? name : nn_weight_names_find(&m->names, word);
}

static bool knows_line(const struct nn_match *m, const struct nn_net *net)
{
	static const char *const words[] = { "weight", "bias", "weight_ih_l0" };

	for (int i = 0; i < net->n_layers; i++)
		for (size_t k = 0; k < sizeof words / sizeof *words; k++)
			if (nn_match_line(m, &net->lines[net->layer_lines[i]], words[k]))
				return true;
	return false;
}

void nn_match_strip(struct nn_match *m, const struct nn_net *net)
{
	for (int i = 0; i < MOST_STRIPPED && !knows_line(m, net); i++)
		if (!nn_weight_names_strip(&m->names))
			return;
}

int nn_match_names(struct nn_match *m, const struct nn_program *program)
{
	if (m->names.n != (size_t)program->n_params || m->names.n == 0)
		return 0;
	for (int p = 0; p < program->n_params; p++) {
		const struct nn_weight_name *name = nn_match_name(m, program, p);

		if (!name)
			return 0;
		m->pairs[p] = (struct nn_match_pair){ name, nn_match_layout(m, name) };
		if (!nn_match_fits(program, p, &name->tensor->shape, m->pairs[p].layout))
			return 0;
	}
	return 1;
}

/* ---- what is wrong ---- */

static int fail_missing(const struct nn_match *m, const struct nn_program_param *param,
			const char *place, struct nn_error *err)
{
	struct nn_text list = { 0 };
	char shape[NN_SHAPE_TEXT];

	nn_weight_names_list(&m->names, &list);
	nn_fail(err, NN_EFORMAT, "%s: tensor '%s' (%s) is missing; the file has %s%s", place,
		param->name, nn_shape_text(shape, &param->desc.shape), list.data ? list.data : "",
		m->hint ? m->hint : "");
	nn_text_free(&list);
	return -1;
}

static int fail_shape(const struct nn_match *m, const struct nn_program *program, int p,
		      const struct nn_weight_name *name, const char *place, struct nn_error *err)
{
	enum nn_weights_layout layout = nn_match_layout(m, name);
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT], quoted[NN_QUOTED];
	struct nn_shape wanted = layout == NN_WEIGHTS_KERAS ? nn_keras_shape(program, p, false)
							    : program->params[p].desc.shape;

	return nn_fail(err, NN_EFORMAT, "%s: tensor '%s' is %s, the model wants %s%s", place,
		       nn_quote(quoted, name->tensor->name, strlen(name->tensor->name)),
		       nn_shape_text(a, &name->tensor->shape), nn_shape_text(b, &wanted),
		       m->hint ? m->hint : "");
}

/* A tensor that no parameter is called like. */
static int fail_extra(const struct nn_match *m, const struct nn_program *program, const char *place,
		      struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < m->names.n; i++) {
		const char *name = m->names.names[i].tensor->name;
		bool known = false;

		for (int p = 0; p < program->n_params && !known; p++)
			known = nn_match_name(m, program, p) == &m->names.names[i];
		if (!known)
			return nn_fail(err, NN_EFORMAT, "%s: the model has no tensor '%s'", place,
				       nn_quote(quoted, name, strlen(name)));
	}
	return 0;
}

int nn_match_names_fail(const struct nn_match *m, const struct nn_program *program,
			const char *place, struct nn_error *err)
{
	size_t n = 0;

	for (int p = 0; p < program->n_params; p++)
		n += nn_match_name(m, program, p) != NULL;
	for (int p = 0; p < program->n_params && n > 0; p++) {
		const struct nn_weight_name *name = nn_match_name(m, program, p);

		if (!name)
			return fail_missing(m, &program->params[p], place, err);
		if (!nn_match_fits(program, p, &name->tensor->shape, nn_match_layout(m, name)))
			return fail_shape(m, program, p, name, place, err);
	}
	return n > 0 ? fail_extra(m, program, place, err) : 0;
}
