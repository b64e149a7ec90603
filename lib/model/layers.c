/* The table of layers. */
#include <string.h>
#include "base/error.h"
#include "model/layer.h"

static const struct nn_layer *const layers[] = {
#define NN_LAYER(id) &nn_layer_##id,
#include "model/layers.def"
#undef NN_LAYER
	NULL
};

const struct nn_layer *nn_layer_at(size_t i)
{
	return i < sizeof layers / sizeof layers[0] ? layers[i] : NULL;
}

const struct nn_layer *nn_layer_find(const char *name, size_t n)
{
	for (size_t i = 0; layers[i]; i++)
		if (strlen(layers[i]->name) == n && memcmp(layers[i]->name, name, n) == 0)
			return layers[i];
	return NULL;
}

void nn_layer_form(const struct nn_layer *layer, struct nn_text *text)
{
	nn_text_add(text, layer->name);
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++) {
		const char *usual = arg->like ? arg->like : arg->fallback;

		if (nn_arg_by_place(arg))
			nn_text_addf(text, usual ? " [%s]" : " %s", arg->name);
		else
			nn_text_addf(text, " [%s=%s]", arg->name,
				     usual          ? usual
				     : arg->counted ? "N"
						    : "");
	}
	if (layer->min_in > 1)
		nn_text_add(text, " from=NAME+NAME...");
}

int nn_expand_op(const struct nn_expansion *line, enum nn_op_id op, const void *attrs,
		 struct nn_error *err)
{
	return nn_program_add(line->program, op, attrs, line->in, line->n_in, line->prefix,
			      line->line, err);
}

static int add_reshape(const struct nn_expansion *line, int value, struct nn_shape shape,
		       struct nn_error *err)
{
	struct nn_reshape reshape = { .shape = shape };

	return nn_program_add(line->program, NN_OP_reshape, &reshape, &value, 1, line->prefix,
			      line->line, err);
}

int nn_expand_line(const struct nn_expansion *line, enum nn_op_id op, const void *attrs,
		   struct nn_error *err)
{
	const struct nn_program *program = line->program;
	struct nn_shape in = program->values[line->in[0]].shape, out;
	char text[NN_SHAPE_TEXT];
	int value;

	if (in.rank != 2)
		return nn_fail(err, NN_EFAIL, "wants an input CxL, got %s",
			       nn_shape_text(text, &in));
	value = add_reshape(line, line->in[0], nn_shape3(in.dim[0], 1, in.dim[1]), err);
	if (value < 0)
		return -1;
	value = nn_program_add(line->program, op, attrs, &value, 1, line->prefix, line->line, err);
	if (value < 0)
		return -1;
	out = program->values[value].shape;
	return out.rank == 3 ? add_reshape(line, value, nn_shape2(out.dim[0], out.dim[2]), err)
			     : value;
}

int nn_expand_image(const struct nn_expansion *line, enum nn_op_id op, const void *attrs,
		    struct nn_error *err)
{
	return line->program->values[line->in[0]].shape.rank == 2
		       ? nn_expand_line(line, op, attrs, err)
		       : nn_expand_op(line, op, attrs, err);
}
