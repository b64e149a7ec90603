/*
 * Folding: a batchnorm that predicts is y = (x - mean) * gamma / sqrt(var + eps) + beta by channel,
 * which the dense layer or convolution before it can do with other weights and another bias.
 *
 * The line of the batchnorm is taken out of the canonical text; its name, if it has one, goes to
 * the line before, whose own name nobody else uses. Numbers are f64, rounded once.
 */
#include "config.h"
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "model/fold.h"

struct line {
	const char *text;
	size_t n;
	int into; /* of a batchnorm: the node that it goes into; -1 */
	int gets; /* of that node's line: the line of the batchnorm; -1 */
};

struct fold {
	const struct nn_net *net;
	const struct nn_program *program;
	struct line *lines; /* by canonical number */
	int n;              /* batchnorm lines that are folded */
};

/* ---- the text ---- */

/* Length of "NAME: "; 0: there is no name. */
static size_t name_length(const char *line, size_t n)
{
	const char *blank = memchr(line, ' ', n);

	return blank && blank > line && blank[-1] == ':' ? (size_t)(blank + 1 - line) : 0;
}

static bool is_input(const char *line, size_t n)
{
	size_t name = name_length(line, n);

	return n - name >= 5 && memcmp(line + name, "input", 5) == 0 &&
	       (n - name == 5 || line[name + 5] == ' ');
}

static void find_lines(struct fold *f)
{
	int number = 0;

	for (const char *at = nn_net_text(f->net); *at;) {
		size_t n = strcspn(at, "\n");

		if (!is_input(at, n))
			f->lines[number++] = (struct line){ at, n, -1, -1 };
		at += n + (at[n] == '\n');
	}
}

static void add_product(struct nn_text *text, const struct fold *f, const struct line *line)
{
	static const char none[] = " bias=no";
	const struct line *norm = &f->lines[line->gets];
	size_t own = name_length(line->text, line->n), name = name_length(norm->text, norm->n);
	const char *rest = line->text + own;
	size_t n = line->n - own;
	const char *bias = memmem(rest, n, none, sizeof none - 1);

	nn_text_add_bytes(text, name ? norm->text : line->text, name ? name : own);
	if (bias) {
		nn_text_add_bytes(text, rest, (size_t)(bias - rest));
		n -= (size_t)(bias - rest) + sizeof none - 1;
		rest = bias + sizeof none - 1;
	}
	nn_text_add_bytes(text, rest, n);
}

static void add_lines(struct nn_text *text, const struct fold *f)
{
	int number = 0;

	for (const char *at = nn_net_text(f->net); *at;) {
		size_t n = strcspn(at, "\n");
		const struct line *line = is_input(at, n) ? NULL : &f->lines[number++];

		if (line && line->gets >= 0)
			add_product(text, f, line);
		else if (!line || line->into < 0)
			nn_text_add_bytes(text, at, n);
		if (!line || line->into < 0)
			nn_text_add(text, "\n");
		at += n + (at[n] == '\n');
	}
}

/* ---- what can be folded ---- */

static int users_of(const struct nn_program *p, int value)
{
	int n = 0;

	for (int i = 0; i < p->n_nodes; i++)
		for (int k = 0; k < p->nodes[i].n_in; k++)
			n += p->nodes[i].in[k] == value;
	for (int o = 0; o < p->n_outputs; o++)
		n += p->outputs[o].value == value;
	return n;
}

static int maker_of(const struct nn_program *p, int value)
{
	int i = p->n_nodes - 1;

	while (i >= 0 && p->nodes[i].out != value)
		i--;
	return i;
}

/* Lines without from= take the line before: so the two have to stand together. */
static void try_norm(struct fold *f, const struct nn_node *norm)
{
	int made = maker_of(f->program, norm->in[0]);
	const struct nn_node *product = made < 0 ? NULL : &f->program->nodes[made];
	struct line *line = product ? &f->lines[product->line] : NULL, *at = &f->lines[norm->line];

	if (!product || (product->op != NN_OP_dense && product->op != NN_OP_conv2d) ||
	    users_of(f->program, norm->in[0]) > 1 || at->text != line->text + line->n + 1)
		return;
	at->into = made;
	line->gets = norm->line;
	f->n++;
}

static int find_norms(struct fold *f, struct nn_error *err)
{
	f->lines = nn_alloc((size_t)nn_net_n_lines(f->net), sizeof *f->lines, err);
	if (!f->lines)
		return -1;
	find_lines(f);
	for (int i = 0; i < f->program->n_nodes; i++)
		if (f->program->nodes[i].op == NN_OP_batchnorm)
			try_norm(f, &f->program->nodes[i]);
	return f->n > 0 ? 0
			: nn_fail(err, NN_EFAIL,
				  "no batchnorm stands behind a dense layer or convolution whose "
				  "output it alone takes");
}

static int make_net(struct nn_net **net, const struct fold *f, struct nn_error *err)
{
	const struct nn_program_output *old = f->program->outputs;
	struct nn_text text = { 0 };
	int status;

	*net = NULL;
	add_lines(&text, f);
	status = text.failed ? nn_fail(err, NN_ENOMEM, "out of memory for a text")
			     : nn_net_parse(net, "nn.model", text.data, text.length, false, err);
	nn_text_free(&text);
	if (status == 0)
		status = nn_net_resolve(*net, NULL, NULL, err);
	for (int o = 0; status == 0 && o < f->program->n_outputs; o++)
		if (old[o].name && strcmp(old[o].name, nn_net_program(*net)->outputs[o].name) != 0)
			status = nn_fail(err, NN_EFAIL,
					 "output %s has no name of its own, and its number changes",
					 old[o].name);
	return status;
}

/* ---- the numbers ---- */

struct numbers {
	enum nn_dtype dtype;
	void *const *from;
	void **to;
};

static void copy_params(const struct nn_program *p, const struct nn_node *old,
			const struct nn_node *new, const struct numbers *x)
{
	for (int k = 0; k < old->n_params; k++)
		memcpy(x->to[new->param + k], x->from[old->param + k],
		       nn_shape_count(&p->params[old->param + k].desc.shape) *
			       nn_dtype_size(x->dtype));
}

static void fold_params(const struct nn_program *p, const struct nn_node *product,
			const struct nn_node *norm, const struct nn_node *new,
			const struct numbers *x)
{
	const struct nn_shape *shape = &p->params[product->param].desc.shape;
	size_t out = shape->dim[0], row = nn_shape_count(shape) / out;
	void *const *from = x->from + product->param, *const *of = x->from + norm->param;
	enum nn_dtype d = x->dtype;

	for (size_t o = 0; o < out; o++) {
		double bias = product->n_params > 1 ? nn_real_at(d, from[1], o) : 0,
		       scale = nn_real_at(d, of[0], o) /
			       sqrt(nn_real_at(d, of[3], o) +
				    ((const struct nn_batchnorm *)norm->attrs)->eps);

		for (size_t i = o * row; i < (o + 1) * row; i++)
			nn_real_put(d, x->to[new->param], i, nn_real_at(d, from[0], i) * scale);
		nn_real_put(d, x->to[new->param + 1], o,
			    nn_real_at(d, of[1], o) + (bias - nn_real_at(d, of[2], o)) * scale);
	}
}

/* Nodes keep their order; folded ones are left out. */
static void make_params(const struct fold *f, const struct nn_program *new, const struct numbers *x)
{
	const struct nn_program *p = f->program;
	const struct nn_node *to = new->nodes;

	for (int i = 0; i < p->n_nodes; i++) {
		const struct nn_node *node = &p->nodes[i];
		int gets = f->lines[node->line].gets;
		bool product = gets >= 0 && f->lines[gets].into == i;

		if (node->op == NN_OP_batchnorm && f->lines[node->line].into >= 0)
			continue;
		if (to == new->nodes + new->n_nodes || to->op != node->op)
			NN_BUG("a folded net has another node %d", i);
		if (!product)
			copy_params(p, node, to, x);
		for (int k = i; product && k < p->n_nodes; k++)
			if (p->nodes[k].op == NN_OP_batchnorm && p->nodes[k].line == gets)
				fold_params(p, node, &p->nodes[k], to, x);
		to++;
	}
}

int nn_net_fold(struct nn_net **folded, void ***params, const struct nn_net *net,
		enum nn_dtype dtype, void *const *from, struct nn_error *err)
{
	struct fold f = { .net = net, .program = nn_net_program(net) };
	struct numbers x = { .dtype = dtype, .from = from };
	int status = find_norms(&f, err);

	*folded = NULL;
	if (status == 0)
		status = make_net(folded, &f, err);
	if (status == 0 && !(x.to = nn_params_new(nn_net_program(*folded), dtype, err)))
		status = -1;
	if (status == 0)
		make_params(&f, nn_net_program(*folded), &x);
	nn_free(f.lines);
	if (status < 0) {
		nn_net_free(*folded);
		*folded = NULL;
	}
	*params = x.to;
	return status;
}
