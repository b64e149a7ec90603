/* Widths found in the program, changed in the canonical text. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/widen.h"

/* Lines whose product reaches an output through nothing but ops that keep what it says. */
struct ends {
	const struct nn_program *program;
	bool *line; /* [lines] */
	bool *seen; /* [values] */
};

static void mark(struct ends *e, int value)
{
	if (e->seen[value])
		return;
	e->seen[value] = true;
	for (int i = 0; i < e->program->n_nodes; i++) {
		const struct nn_node *node = &e->program->nodes[i];

		if (node->out != value)
			continue;
		if (nn_op_is_product(node->op))
			e->line[node->line] = true;
		for (int k = 0; k < node->n_in && !nn_op_is_product(node->op); k++)
			mark(e, node->in[k]);
	}
}

/* line[i]: does the width of line i count? Hidden layers' do or, where there are none, outputs'. */
static bool *wide_lines(const struct nn_net *net, struct nn_error *err)
{
	const struct nn_program *p = nn_net_program(net);
	size_t lines = (size_t)nn_net_n_lines(net);
	struct ends e = { p, nn_alloc(lines, sizeof(bool), err),
			  nn_alloc((size_t)p->n_values, sizeof(bool), err) };
	bool hidden = false;

	if (e.line && e.seen) {
		for (int o = 0; o < p->n_outputs; o++)
			mark(&e, p->outputs[o].value);
		for (int i = 0; i < p->n_nodes; i++)
			hidden |= nn_op_is_product(p->nodes[i].op) && !e.line[p->nodes[i].line];
		for (int i = 0; i < p->n_nodes && hidden; i++)
			if (nn_op_is_product(p->nodes[i].op))
				e.line[p->nodes[i].line] = !e.line[p->nodes[i].line];
	}
	nn_free(e.seen);
	if (e.seen)
		return e.line;
	nn_free(e.line);
	return NULL;
}

static size_t out_of(const struct nn_program *p, const struct nn_node *node)
{
	return nn_ops[node->op]->product(node->attrs, &p->values[node->in[0]].shape).out;
}

size_t nn_widest(const struct nn_net *net)
{
	const struct nn_program *p = nn_net_program(net);
	bool *wide = wide_lines(net, NULL);
	size_t most = 0;

	for (int i = 0; wide && i < p->n_nodes; i++)
		if (nn_op_is_product(p->nodes[i].op) && wide[p->nodes[i].line] &&
		    out_of(p, &p->nodes[i]) > most)
			most = out_of(p, &p->nodes[i]);
	nn_free(wide);
	return most;
}

/* Where OUT stands in a line "[NAME: ]LAYER OUT..."; NULL for an input line. */
static const char *find_out(const char *line, const char *end)
{
	const char *word = line, *blank = memchr(word, ' ', (size_t)(end - word));

	if (blank && blank > word && blank[-1] == ':') {
		word = blank + 1;
		blank = memchr(word, ' ', (size_t)(end - word));
	}
	if ((size_t)(end - word) > 6 && memcmp(word, "input ", 6) == 0)
		return NULL;
	return blank ? blank + 1 : end;
}

int nn_widened(const struct nn_net *net, size_t (*width)(void *arg, size_t out), void *arg,
	       struct nn_text *text, struct nn_error *err)
{
	bool *wide = wide_lines(net, err);
	const char *line = nn_net_text(net);

	if (!wide)
		return -1;
	for (int number = 0; *line;) {
		const char *end = line + strcspn(line, "\n"), *out = find_out(line, end);
		uint64_t n;

		if (out && wide[number]) {
			size_t digits = strspn(out, "0123456789");

			if (!nn_parse_u64(out, digits, &n))
				NN_BUG("no width in canonical line %d", number);
			nn_text_add_bytes(text, line, (size_t)(out - line));
			nn_text_addf(text, "%zu", width(arg, (size_t)n));
			nn_text_add_bytes(text, out + digits, (size_t)(end - out) - digits);
		} else {
			nn_text_add_bytes(text, line, (size_t)(end - line));
		}
		nn_text_add(text, "\n");
		number += out != NULL;
		line = *end ? end + 1 : end;
	}
	nn_free(wide);
	return text->failed ? nn_fail(err, NN_ENOMEM, "out of memory for a text") : 0;
}
