/* Lines of the text as they come, and the values that they give. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "onnx/graph.h"

/* ---- names ---- */

/* The part of an ONNX name up to n becomes the next part of a line's name. */
static void add_part(struct nn_text *name, const char *part, size_t n)
{
	if (name->length > 0 && n > 0)
		nn_text_add(name, "_");
	for (size_t i = 0; i < n; i++) {
		char c = part[i];

		if (c >= 'A' && c <= 'Z')
			c += 'a' - 'A';
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
			c = '_';
		nn_text_add_bytes(name, &c, 1);
	}
}

/*
 * "/layer1/layer1.0/conv1/Conv" is layer1_0_conv1: folders but for the op; one that the next
 * repeats is left out.
 */
static void add_path(struct nn_text *name, const char *path)
{
	for (const char *at = path; *at;) {
		size_t n = strcspn(at, "/"), m;
		const char *next = at[n] ? at + n + 1 : at + n;

		m = strcspn(next, "/");
		if (!(m > n && next[n] == '.' && strncmp(at, next, n) == 0) &&
		    (*next || at == path))
			add_part(name, at, n);
		at = next;
	}
}

/* Of a tensor "conv1.weight" conv1, unless its name was made by an exporter. */
static bool add_prefix(struct nn_text *name, const char *tensor)
{
	const char *dot = tensor ? strrchr(tensor, '.') : NULL;

	if (!dot || dot == tensor || strchr(tensor, ':') || strchr(tensor, '/'))
		return false;
	add_part(name, tensor, (size_t)(dot - tensor));
	return true;
}

/* A line has a name that begins with a letter; none where numbers are names. */
static char *take_name(struct nn_text *name, struct nn_error *err)
{
	const char *from = name->data ? name->data : "";
	size_t n;
	char *copy = NULL;

	from += strspn(from, "_");
	n = strnlen(from, NN_NAME_LENGTH - 12);
	while (n > 0 && from[n - 1] == '_')
		n--;
	if (n > 0 && strspn(from, "0123456789") < n) {
		bool letter = *from >= 'a' && *from <= 'z';
		struct nn_text whole = { 0 };

		nn_text_add(&whole, letter ? "" : "n");
		nn_text_add_bytes(&whole, from, n);
		if (!whole.failed)
			copy = nn_strdup(strcmp(whole.data, "input") == 0 ? "input_1" : whole.data,
					 err);
		nn_text_free(&whole);
	}
	nn_text_free(name);
	return copy;
}

/*
 * Named after its parameter, else after a node whose name could be a line's; a path names lines
 * with parameters alone. NULL: no name.
 */
static int name_line(char **result, const char *parameter, const Onnx__Node *node,
		     struct nn_error *err)
{
	const char *own = node && node->name ? node->name : "";
	struct nn_text name = { 0 };

	if (!add_prefix(&name, parameter) && (parameter || nn_is_name(own, strlen(own))))
		add_path(&name, own);
	if (name.failed) {
		nn_text_free(&name);
		return nn_fail(err, NN_ENOMEM, "cannot allocate a name");
	}
	*result = take_name(&name, err);
	return 0;
}

/* ---- lines ---- */

static int grow_lines(struct nn_onnx_graph *g, struct nn_error *err)
{
	size_t room = (size_t)(g->lines_room ? 2 * g->lines_room : 64), size = sizeof *g->lines;
	char said[NN_LIMIT_TEXT];
	struct nn_onnx_line *lines;

	if (g->n_lines < g->lines_room)
		return 0;
	if ((size_t)g->n_lines >= nn_limit(NN_LIMIT_LAYERS))
		return nn_fail(err, NN_EFORMAT, "the graph has more than %s",
			       nn_limit_said(NN_LIMIT_LAYERS, 0, said));
	lines = nn_realloc(g->lines, (size_t)g->lines_room * size, room * size, err);
	if (!lines)
		return -1;
	g->lines = lines;
	g->lines_room = (int)room;
	return 0;
}

/* A line without text; its number. */
static int begin_line(struct nn_onnx_graph *g, const int *from, int n_from, struct nn_error *err)
{
	struct nn_onnx_line *line;

	if (grow_lines(g, err) < 0)
		return -1;
	line = &g->lines[g->n_lines];
	*line = (struct nn_onnx_line){ .input = -1, .number = -1, .n_from = n_from };
	g->n_lines++;
	line->from = nn_alloc((size_t)n_from, sizeof *line->from, err);
	if (!line->from)
		return -1;
	for (int i = 0; i < n_from; i++) {
		line->from[i] = from[i];
		g->lines[from[i]].n_uses++;
	}
	return g->n_lines - 1;
}

int nn_onnx_add_line(struct nn_onnx_graph *g, const int *from, int n_from, const char *parameter,
		     const Onnx__Node *node, struct nn_error *err, const char *format, ...)
{
	int at = begin_line(g, from, n_from, err);
	struct nn_onnx_line *line = &g->lines[at];
	char text[512];
	va_list args;

	if (at < 0)
		return -1;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	line->number = g->n_layers++;
	line->text = nn_strdup(text, err);
	if (!line->text || name_line(&line->name, parameter, node, err) < 0)
		return -1;
	return at;
}

int nn_onnx_add_input(struct nn_onnx_graph *g, int input, struct nn_onnx_value *v, bool only,
		      struct nn_error *err)
{
	struct nn_text name = { 0 };
	char text[NN_SHAPE_TEXT];
	int at = begin_line(g, NULL, 0, err);

	if (at < 0)
		return -1;
	v->held = v->shape.rank > 0 ? v->shape : nn_shape1(1);
	v->line = at;
	g->lines[at].input = input;
	g->lines[at].text = nn_strdup(nn_shape_text(text, &v->held), err);
	if (!g->lines[at].text)
		return -1;
	if (!only) {
		add_part(&name, v->name, strlen(v->name));
		g->lines[at].name = take_name(&name, err);
	}
	return 0;
}

int nn_onnx_add_parameter(struct nn_onnx_graph *g, int line, const char *name,
			  const struct nn_onnx_constant *constant, const struct nn_shape *shape,
			  struct nn_error *err)
{
	size_t room = g->parameters_room ? 2 * g->parameters_room : 64,
	       size = sizeof *g->parameters;

	if (g->n_parameters == g->parameters_room) {
		struct nn_onnx_parameter *more =
			nn_realloc(g->parameters, g->parameters_room * size, room * size, err);

		if (!more)
			return -1;
		g->parameters = more;
		g->parameters_room = room;
	}
	g->parameters[g->n_parameters++] =
		(struct nn_onnx_parameter){ line, name, constant, *shape };
	return 0;
}

/* ---- values ---- */

static struct nn_onnx_value *output_of(struct nn_onnx_graph *g, const struct nn_onnx_node *node)
{
	return node->proto->n_output > 0 && node->out[0] >= 0 ? &g->values[node->out[0]] : NULL;
}

void nn_onnx_give(struct nn_onnx_graph *g, const struct nn_onnx_node *node, int line,
		  const struct nn_shape *shape)
{
	struct nn_onnx_value *v = output_of(g, node);

	if (!v)
		return;
	v->known = true;
	v->line = line;
	v->shape = v->held = *shape;
	if (shape->rank == 0)
		v->held = nn_shape1(1);
}

void nn_onnx_give_held(struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t k, int line,
		       const struct nn_shape *shape, const struct nn_shape *held)
{
	struct nn_onnx_value *v =
		k < node->proto->n_output && node->out[k] >= 0 ? &g->values[node->out[k]] : NULL;

	if (!v)
		return;
	v->known = true;
	v->line = line;
	v->shape = *shape;
	v->held = *held;
}

int nn_onnx_scaled(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err)
{
	const struct nn_onnx_line *line = &g->lines[v->line];
	bool same = false;

	if (line->input >= 0 && !v->matched &&
	    nn_onnx_input_scale(g, line->input, v, &same, err) < 0)
		return -1;
	if (same) {
		v->affine.n = 0;
		v->matched = true;
	}
	return v->affine.n > 0 ? nn_onnx_affine_settle(g, v, err) : 0;
}

int nn_onnx_pass(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		 struct nn_onnx_value *from, const struct nn_shape *shape, struct nn_error *err)
{
	struct nn_onnx_value *v = output_of(g, node);

	if (!v)
		return 0;
	if (!nn_shape_equal(shape, &from->shape) && nn_onnx_scaled(g, from, err) < 0)
		return -1;
	v->known = true;
	v->line = from->line;
	v->shape = *shape;
	v->rows = from->rows;
	v->held = from->held;
	v->matched = from->matched;
	if (from->affine.n == 0)
		return 0;
	v->affine.scale = nn_alloc(from->affine.n, sizeof(double), err);
	v->affine.shift = nn_alloc(from->affine.n, sizeof(double), err);
	if (!v->affine.scale || !v->affine.shift)
		return -1;
	v->affine.n = from->affine.n;
	memcpy(v->affine.scale, from->affine.scale, from->affine.n * sizeof(double));
	memcpy(v->affine.shift, from->affine.shift, from->affine.n * sizeof(double));
	return 0;
}

int nn_onnx_line_of(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];
	int line;

	if (nn_onnx_scaled(g, v, err) < 0)
		return -1;
	if (v->shape.rank == 0 || nn_shape_equal(&v->shape, &v->held))
		return v->line;
	line = v->shape.rank == 1 ? nn_onnx_add_line(g, &v->line, 1, NULL, NULL, err, "flatten")
				  : nn_onnx_add_line(g, &v->line, 1, NULL, NULL, err, "reshape %s",
						     nn_shape_text(text, &v->shape));
	if (line < 0)
		return -1;
	v->line = line;
	v->held = v->shape;
	return line;
}

int nn_onnx_layer(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		  struct nn_onnx_value *from, const struct nn_shape *shape, struct nn_error *err,
		  const char *text)
{
	int in = nn_onnx_line_of(g, from, err), line;

	if (in < 0)
		return -1;
	line = nn_onnx_add_line(g, &in, 1, NULL, node->proto, err, "%s", text);
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, shape);
	return 0;
}
