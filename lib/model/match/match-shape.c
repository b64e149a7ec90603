/*
 * Tensors and parameters paired by shape, where they fit one way only.
 *
 * Names that end in numbers (arr_0, arr_1; dense, dense_1) say an order, which decides among equal
 * shapes. Where all tensors say their role (weight, kernel, bias), those of a layer go together; of
 * recurrent layers, which are several under one name, each alone by its role.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/match/keras.h"
#include "model/match/match.h"

/* What is paired: a tensor, or all of a layer, by the form they have in the file. */
struct unit {
	char *form;       /* "2x3", "bias 2;", or "bias 2;weight 2x3;" */
	const char *stem; /* its name without the number at its end; of parameters "" */
	size_t n_stem;
	uint64_t number;
	size_t first, n; /* of names, or of parameters */
};

struct units {
	struct unit *unit;
	size_t n;
};

static void units_free(struct units *u)
{
	for (size_t i = 0; u->unit && i < u->n; i++)
		nn_free(u->unit[i].form);
	nn_free(u->unit);
}

static int compare(const void *pa, const void *pb)
{
	const struct unit *a = pa, *b = pb;
	int order = strcmp(a->form, b->form);

	if (order == 0 && a->number != b->number)
		order = a->number < b->number ? -1 : 1;
	return order ? order : a->first < b->first ? -1 : a->first > b->first;
}

/* Takes the text of its form. */
static int add_unit(struct units *u, const struct unit *unit, struct nn_text *form,
		    struct nn_error *err)
{
	char *text = form->failed ? NULL : nn_strdup(form->data ? form->data : "", err);

	nn_text_clear(form);
	if (!text)
		return nn_fail(err, NN_ENOMEM, "out of memory for forms of tensors");
	u->unit[u->n] = *unit;
	u->unit[u->n++].form = text;
	return 0;
}

static void add_form(struct nn_text *form, const char *role, const struct nn_shape *shape)
{
	char text[NN_SHAPE_TEXT];

	nn_text_addf(form, "%s %s;", role, nn_shape_text(text, shape));
}

/* The number at the end of the prefix, and what stands before it. */
static void take_number(struct unit *unit, const char *prefix, size_t n)
{
	size_t digits = n;

	while (digits > 0 && prefix[digits - 1] >= '0' && prefix[digits - 1] <= '9')
		digits--;
	unit->stem = prefix;
	unit->n_stem = digits < n && digits > 0 && prefix[digits - 1] == '_' ? digits - 1 : digits;
	if (digits == n || !nn_parse_u64(prefix + digits, n - digits, &unit->number))
		unit->number = 0;
	else
		unit->number++; /* dense comes before dense_0 */
}

/* ---- the file's side ---- */

enum said { NOTHING, ROLES, LAYERS }; /* what all names say of their tensors */

/* Several may be of one layer: those of a recurrent layer's steps and states, ways and layers. */
static bool of_cell(const struct nn_weight_name *name)
{
	return name->role && strstr(name->role, "_l0");
}

static enum said what_names_say(const struct nn_weight_names *names)
{
	enum said said = LAYERS;

	for (size_t i = 0; i < names->n; i++) {
		if (!names->names[i].role)
			return NOTHING;
		said = of_cell(&names->names[i]) ? ROLES : said;
	}
	return said;
}

static bool same_prefix(const struct nn_weight_name *a, const struct nn_weight_name *b)
{
	return a->prefix == b->prefix && strncmp(a->text, b->text, a->prefix) == 0;
}

/* Names stand in order of their texts, so those of a layer follow each other by role. */
static int file_units(struct units *u, const struct nn_weight_names *names, enum said said,
		      struct nn_error *err)
{
	struct nn_text form = { 0 };
	int status = 0;

	u->unit = nn_alloc(names->n, sizeof *u->unit, err);
	if (!u->unit)
		return -1;
	for (size_t i = 0; i < names->n && status == 0;) {
		const struct nn_weight_name *name = &names->names[i];
		struct unit unit = { .first = i };

		take_number(&unit, name->text, name->prefix);
		/* the two biases of an array without a name */
		unit.number = 2 * unit.number + (of_cell(name) && strstr(name->role, "_hh_"));
		do {
			add_form(&form, said ? names->names[i].role : "",
				 &names->names[i].tensor->shape);
			i++;
		} while (said == LAYERS && i < names->n && same_prefix(name, &names->names[i]));
		unit.n = i - unit.first;
		status = add_unit(u, &unit, &form, err);
	}
	nn_text_free(&form);
	return status;
}

/* ---- the program's side ---- */

/* The parameters of a layer in the order of their words. */
static void order_by_role(const struct nn_program *program, int first, int n, int *order)
{
	for (int i = 0; i < n; i++) {
		int at = i;

		while (at > 0 && strcmp(program->params[order[at - 1]].desc.name,
					program->params[first + i].desc.name) > 0) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = first + i;
	}
}

static struct nn_shape shape_of(const struct nn_program *program, int p,
				enum nn_weights_layout layout, bool depthwise)
{
	return layout == NN_WEIGHTS_KERAS ? nn_keras_shape(program, p, depthwise)
					  : program->params[p].desc.shape;
}

static int program_units(struct units *u, const struct nn_program *program, enum said said,
			 enum nn_weights_layout layout, bool depthwise, struct nn_error *err)
{
	struct nn_text form = { 0 };
	int status = 0, order[NN_MAX_PARAMS];

	u->unit = nn_alloc((size_t)program->n_params, sizeof *u->unit, err);
	if (!u->unit)
		return -1;
	for (int p = 0; p < program->n_params && status == 0;) {
		struct unit unit = { .stem = "", .first = (size_t)p };
		int n = said == LAYERS ? program->nodes[program->params[p].node].n_params : 1;

		order_by_role(program, p, n, order);
		for (int i = 0; i < n; i++) {
			struct nn_shape shape = shape_of(program, order[i], layout, depthwise);

			add_form(&form, said ? program->params[order[i]].desc.name : "", &shape);
		}
		unit.n = (size_t)n;
		p += n;
		status = add_unit(u, &unit, &form, err);
	}
	nn_text_free(&form);
	return status;
}

/* ---- side by side ---- */

/* Do names tell a and its neighbour b, which are of one form, apart? */
static bool ordered(const struct unit *a, const struct unit *b)
{
	return a->number != b->number && a->n_stem == b->n_stem &&
	       strncmp(a->stem, b->stem, a->n_stem) == 0;
}

/* How many ways: 0, 1, 2 (m->either). */
static int pair_units(struct nn_match *m, const struct nn_program *program,
		      const struct units *file, const struct units *wanted,
		      enum nn_weights_layout layout)
{
	int order[NN_MAX_PARAMS], ways = 1;

	if (file->n != wanted->n)
		return 0;
	for (size_t i = 0; i < file->n; i++) {
		const struct unit *f = &file->unit[i], *w = &wanted->unit[i];

		if (strcmp(f->form, w->form) != 0)
			return 0;
		if (i > 0 && strcmp(f->form, f[-1].form) == 0 && !ordered(f, f - 1)) {
			m->either[0] = &m->names.names[f[-1].first];
			m->either[1] = &m->names.names[f->first];
			ways = 2;
		}
		order_by_role(program, (int)w->first, (int)w->n, order);
		for (size_t k = 0; k < w->n; k++)
			m->pairs[order[k]] =
				(struct nn_match_pair){ &m->names.names[f->first + k], layout };
	}
	return ways;
}

static int pair_as(struct nn_match *m, const struct nn_program *program, enum said said,
		   enum nn_weights_layout layout, bool depthwise, struct nn_error *err)
{
	struct units file = { 0 }, wanted = { 0 };
	int ways = -1;

	if (file_units(&file, &m->names, said, err) == 0 &&
	    program_units(&wanted, program, said, layout, depthwise, err) == 0) {
		qsort(file.unit, file.n, sizeof *file.unit, compare);
		qsort(wanted.unit, wanted.n, sizeof *wanted.unit, compare);
		ways = pair_units(m, program, &file, &wanted, layout);
	}
	units_free(&file);
	units_free(&wanted);
	return ways;
}

/* Does the layout make a difference to a tensor? */
static bool differs(const struct nn_program *program)
{
	for (int p = 0; p < program->n_params; p++) {
		const struct nn_op_param *desc = &program->params[p].desc;

		if (desc->role == NN_WEIGHT && desc->shape.rank >= 2 &&
		    nn_shape_count(&desc->shape) > 1)
			return true;
	}
	return false;
}

/* The layout that names imply; AUTO: none does. */
static enum nn_weights_layout named_layout(const struct nn_match *m)
{
	enum nn_weights_layout layout = NN_WEIGHTS_AUTO;

	for (size_t i = 0; i < m->names.n; i++)
		if (m->names.names[i].layout != NN_WEIGHTS_AUTO)
			layout = m->names.names[i].layout;
	return layout;
}

/* As Keras lays them out; with the kernels of DepthwiseConv2D where those of Conv2D do not fit. */
static int pair_keras(struct nn_match *m, const struct nn_program *program, enum said said,
		      struct nn_error *err)
{
	int ways = pair_as(m, program, said, NN_WEIGHTS_KERAS, false, err);

	return ways == 0 ? pair_as(m, program, said, NN_WEIGHTS_KERAS, true, err) : ways;
}

int nn_match_shapes(struct nn_match *m, const struct nn_program *program, struct nn_error *err)
{
	enum nn_weights_layout layout = m->layout ? m->layout : named_layout(m);
	enum said said = what_names_say(&m->names);
	int keras, torch;

	m->either[0] = m->either[1] = NULL;
	if (m->names.n != (size_t)program->n_params || m->names.n == 0)
		return 0;
	if (layout == NN_WEIGHTS_KERAS)
		return pair_keras(m, program, said, err);
	torch = pair_as(m, program, said, NN_WEIGHTS_TORCH, false, err);
	if (torch < 0 || layout == NN_WEIGHTS_TORCH || !differs(program))
		return torch;
	keras = pair_keras(m, program, said, err);
	if (keras > 0 && torch > 0)
		m->either[0] = m->either[1] = NULL;
	else if (torch > 0)
		return pair_as(m, program, said, NN_WEIGHTS_TORCH, false, err);
	return keras > 0 && torch > 0 ? 2 : keras;
}
