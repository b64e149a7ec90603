/* A net given the shapes of its inputs: lines into ops, sizes in place of `?`. */
#include <string.h>
#include "base/memory.h"
#include "base/text.h"
#include "model/net.h"

#define TRIED 256 /* steps of a row that may have any number of them */

/* The longest row where the text does not say it: as the data do; any: some length. */
static int set_longest(const struct nn_net *net, const struct nn_statement *statement,
		       const struct nn_shape *given, bool any, struct nn_shape *shape,
		       struct nn_error *err)
{
	size_t bytes;

	if (!statement->lengths || shape->dim[0])
		return 0;
	shape->dim[0] = given ? given->dim[0] : any ? TRIED : 0;
	if (!shape->dim[0])
		return nn_statement_fail(
			net, statement, err,
			"how long the longest row may be is not known (max=N says it)");
	return nn_shape_check(shape, sizeof(double), &bytes)
		       ? 0
		       : nn_statement_fail(net, statement, err, "rows of %zu steps are too large",
					   shape->dim[0]);
}

/*
 * The shape that an input line gives to samples of shape `given` (NULL: not known). any: of rows of
 * different length one may be as long as it likes.
 */
static int input_shape(const struct nn_net *net, size_t i, const struct nn_shape *given, bool any,
		       struct nn_shape *shape, struct nn_error *err)
{
	const struct nn_net_input *input = &net->inputs[i];
	const struct nn_statement *statement = net->lines[net->input_lines[i]].statement;
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];
	size_t bytes;

	if (!given && !statement->shaped)
		return nn_statement_fail(net, statement, err,
					 "the text does not say its shape (input AxBxC)");
	*shape = statement->shaped ? statement->shape : *given;
	if (set_longest(net, statement, given, any, shape, err))
		return -1;
	if (!given)
		return 0;
	if (!nn_shape_check(given, sizeof(double), &bytes))
		return nn_statement_fail(net, statement, err, "samples of %s are too large",
					 nn_shape_text(a, given));
	if (input->vector)
		*shape = nn_shape1(nn_shape_count(given));
	if (nn_shape_count(shape) == nn_shape_count(given))
		return 0;
	return nn_statement_fail(
		net, statement, err, "%s (%zu value%s) does not fit samples of %s (%zu value%s)",
		nn_shape_text(a, shape), nn_shape_count(shape), nn_s(nn_shape_count(shape)),
		nn_shape_text(b, given), nn_shape_count(given), nn_s(nn_shape_count(given)));
}

/* Sizes in place of `?`. */
static int set_sizes(struct nn_net *net, const size_t *sizes, struct nn_error *err)
{
	for (size_t o = 0; o < net->n_outputs; o++) {
		struct nn_net_entry *line = &net->lines[net->output_lines[o]];

		if (!line->statement->open)
			continue;
		line->size = sizes ? sizes[o] : 0;
		if (line->size == 0)
			return nn_statement_fail(net, line->statement, err,
						 "? needs data that say how many there are, or a "
						 "number in its place");
		if ((double)line->size > NN_ARG_MAX)
			return nn_statement_fail(net, line->statement, err,
						 "%zu is too large for ?", line->size);
	}
	return 0;
}

/*
 * An output is the output of a node of its own: what is an input or another output gets a reshape
 * to its own shape.
 */
static int own_value(const struct nn_net *net, const struct nn_net_entry *line, int value,
		     struct nn_error *err)
{
	struct nn_program *program = net->program;
	struct nn_reshape same = { .shape = program->values[value].shape };
	bool taken = false;

	for (int i = 0; i < program->n_inputs; i++)
		taken |= program->inputs[i] == value;
	for (int i = 0; i < program->n_outputs; i++)
		taken |= program->outputs[i].value == value;
	return taken ? nn_program_add(program, nn_op_of(NN_ROLE_RESHAPE), &same, &value, 1, "",
				      line->number, err)
		     : value;
}

static int add_output(struct nn_net *net, const struct nn_net_entry *line, struct nn_error *err)
{
	int value = own_value(net, line, line->value, err);

	if (value < 0)
		return -1;
	net->outputs[line->output].shape = net->program->values[value].shape;
	net->outputs[line->output].steps = net->program->values[value].lengths;
	return nn_program_output(net->program, value, net->outputs[line->output].name, err);
}

static int add_layer(struct nn_net *net, struct nn_net_entry *line, struct nn_error *err)
{
	const struct nn_layer *layer = line->statement->layer;
	int *in = nn_alloc((size_t)line->n_from, sizeof *in, err);
	void *values = in ? nn_net_entry_values(line, err) : NULL;
	struct nn_expansion x = { net->program, in, line->n_from, nn_net_entry_name(line),
				  line->number };
	struct nn_error below;

	line->value = -1;
	if (values) {
		for (int i = 0; i < line->n_from; i++)
			in[i] = net->lines[line->from[i]].value;
		line->value = layer->expand(&x, values, &below);
		if (line->value < 0)
			nn_statement_fail_below(net, line->statement, err, &below);
	}
	nn_free(values);
	nn_free(in);
	if (line->value < 0)
		return -1;
	line->shape = net->program->values[line->value].shape;
	return 0;
}

/* any: tables without rows= may have any number of rows. */
static int add_lines(struct nn_net *net, const struct nn_shape *inputs, bool any,
		     struct nn_error *err)
{
	size_t input = 0;

	for (int i = 0; i < net->n_lines; i++) {
		struct nn_net_entry *line = &net->lines[i];

		if (line->statement->kind == NN_STATEMENT_LAYER) {
			if (nn_net_entry_count(net, line, any, err) || add_layer(net, line, err))
				return -1;
			continue;
		}
		if (input_shape(net, input, inputs ? &inputs[input] : NULL, any, &line->shape, err))
			return -1;
		line->value = nn_program_input(net->program, &line->shape, err);
		if (line->value < 0)
			return -1;
		net->program->values[line->value].lengths = line->statement->lengths;
		if (!any || !line->statement->lengths) /* what was tried is not how long rows are */
			net->inputs[input].shape = line->shape;
		input++;
	}
	for (size_t o = 0; o < net->n_outputs; o++)
		if (add_output(net, &net->lines[net->output_lines[o]], err))
			return -1;
	return 0;
}

static void forget(struct nn_net *net)
{
	nn_program_free(net->program);
	net->program = NULL;
	nn_text_clear(&net->text);
}

static int build(struct nn_net *net, const struct nn_shape *inputs, const size_t *sizes, bool any,
		 struct nn_error *err)
{
	forget(net);
	net->program = nn_program_new(err);
	if (net->program && set_sizes(net, sizes, err) == 0 &&
	    add_lines(net, inputs, any, err) == 0 && nn_net_print(net, err) == 0)
		return 0;
	forget(net);
	return -1;
}

int nn_net_resolve(struct nn_net *net, const struct nn_shape *inputs, const size_t *sizes,
		   struct nn_error *err)
{
	enum nn_code code = net->code;
	int failed;

	/*
	 * What the text alone could tell has been told by nn_net_try: now it is the data that do
	 * not fit.
	 */
	net->code = NN_EFORMAT;
	failed = build(net, inputs, sizes, false, err);
	net->code = code;
	return failed;
}

/* ---- what the text alone tells ---- */

static bool all_shaped(const struct nn_net *net)
{
	for (size_t i = 0; i < net->n_inputs; i++)
		if (!net->inputs[i].shaped)
			return false;
	return true;
}

/* With every input of that shape where the text names none. *line: the layer it fails at, or -1. */
static int probe(struct nn_net *net, const struct nn_shape *shape, const size_t *sizes, int *line,
		 struct nn_error *err)
{
	struct nn_shape *shapes = nn_alloc(net->n_inputs, sizeof *shapes, err);
	int status = -1;

	*line = -1;
	for (int i = 0; i < net->n_lines; i++)
		net->lines[i].value = -1;
	for (size_t i = 0; shapes && i < net->n_inputs; i++)
		shapes[i] = *shape;
	if (shapes)
		status = build(net, shapes, sizes, true, err);
	forget(net);
	for (int i = 0; status < 0 && *line < 0 && i < net->n_lines; i++)
		if (net->lines[i].statement->kind == NN_STATEMENT_LAYER && net->lines[i].value < 0)
			*line = i;
	nn_free(shapes);
	return status;
}

/* The shapes of what a layer reads; false: an input is among it. */
static bool read_shapes(const struct nn_net *net, int line, struct nn_shape *shapes, int most)
{
	const struct nn_net_entry *at = &net->lines[line];

	for (int i = 0; i < at->n_from; i++) {
		const struct nn_net_entry *from = &net->lines[at->from[i]];

		if (i == most || from->statement->kind != NN_STATEMENT_LAYER)
			return false;
		shapes[i] = from->shape;
	}
	return true;
}

#define MOST_READ 64 /* inputs of a layer that are compared */

/*
 * Where the shape of an input is not known, a mistake is the text's if it shows for vectors of any
 * length, at a layer that reads the same shapes each time, and samples of more dimensions do not
 * come through either.
 */
static int try_unshaped(struct nn_net *net, const size_t *sizes, struct nn_error *err)
{
	static const struct nn_shape vectors[] = { { 1, { 1009 } }, { 1, { 2003 } } };
	static const struct nn_shape others[] = {
		{ 2, { 7, 5 } }, { 2, { 11, 96 } }, { 3, { 1, 8, 8 } }, { 3, { 3, 256, 256 } }
	};
	struct nn_shape read[2][MOST_READ] = { 0 };
	struct nn_error found, ignored;
	int line[2], at;

	for (int i = 0; i < 2; i++)
		if (probe(net, &vectors[i], sizes, &line[i], &found) == 0 || line[i] < 0 ||
		    !read_shapes(net, line[i], read[i], MOST_READ))
			return 0;
	for (int i = 0; i < MOST_READ; i++)
		if (!nn_shape_equal(&read[0][i], &read[1][i]))
			return 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (probe(net, &others[i], sizes, &at, &ignored) == 0)
			return 0;
	return line[0] == line[1] ? nn_fail(err, found.code, "%s", found.text) : 0;
}

int nn_net_try(struct nn_net *net, struct nn_error *err)
{
	size_t *sizes;
	int failed;

	for (size_t o = 0; o < net->n_outputs; o++)
		if (net->outputs[o].open && net->lines[net->output_lines[o]].used)
			return 0;
	sizes = nn_alloc(net->n_outputs, sizeof *sizes, err);
	if (!sizes)
		return -1;
	for (size_t o = 0; o < net->n_outputs; o++)
		sizes[o] = net->outputs[o].open;
	failed = all_shaped(net) ? build(net, NULL, sizes, true, err)
				 : try_unshaped(net, sizes, err);
	forget(net);
	nn_free(sizes);
	return failed;
}

struct nn_net_line nn_net_line(const struct nn_net *net, int line)
{
	const struct nn_net_entry *at = &net->lines[net->layer_lines[line]];

	return (struct nn_net_line){
		.name = nn_net_entry_name(at),
		.layer = at->statement->layer->name,
		.source = at->statement->source,
		.shape = at->shape,
		.value = at->value,
	};
}
