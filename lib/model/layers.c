/* The table of layers. */
#include <string.h>
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
