/*
 * Statements into lines: repeats written out, names of rounds, and what each line takes its input
 * from.
 *
 * Names in nested repeats count from the outside: NAME_outer_inner. A name inside a repeat may not
 * hide one outside.
 */
#include <stdio.h>
#include <string.h>
#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/net.h"

/* A repeat that is being written out. */
struct frame {
	size_t statement;
	size_t round;
};

struct expansion {
	struct nn_net *net;
	struct nn_names *
		names; /* as written (of a repeat: the last round's) and as in the canonical text */
	struct frame frames[NN_MAX_DEPTH];
	int depth;
};

static struct nn_net_entry *add_line(struct nn_net *net, const struct nn_statement *statement,
				     struct nn_error *err)
{
	struct nn_net_entry *line;

	if (net->n_lines == net->lines_room) {
		size_t room = net->lines_room ? 2 * (size_t)net->lines_room : 32;
		void *grown = nn_realloc(net->lines, (size_t)net->n_lines * sizeof *net->lines,
					 room * sizeof *net->lines, err);

		if (!grown)
			return NULL;
		net->lines = grown;
		net->lines_room = (int)room;
	}
	line = &net->lines[net->n_lines++];
	*line = (struct nn_net_entry){ .statement = statement, .number = -1, .output = -1 };
	return line;
}

static int define(struct expansion *x, struct nn_net_entry *line, const char *name, bool alias,
		  struct nn_error *err)
{
	int other = nn_names_find(x->names, name);

	if (other >= 0 && !(alias && x->net->lines[other].statement == line->statement))
		return nn_statement_fail(x->net, line->statement, err,
					 "the name '%s' stands on line %d too", name,
					 x->net->lines[other].statement->source);
	return nn_names_set(x->names, name, (int)(line - x->net->lines), err);
}

/*
 * NAME; in round k of a repeat NAME_k, and NAME for what follows in the same round and after the
 * last. A name that is not yet there in a round was an error in the first one, so a round never
 * sees the names of the one before ("input" would be the sample first and then that line).
 */
static int name_line(struct expansion *x, struct nn_net_entry *line, struct nn_error *err)
{
	const char *name = line->statement->name;
	size_t size, n;

	if (!name)
		return 0;
	if (x->depth > 0 && strcmp(name, "input") == 0)
		return nn_statement_fail(x->net, line->statement, err,
					 "a line in a repeat cannot have the name 'input'");
	size = strlen(name) + 7 * (size_t)x->depth + 1;
	line->name = nn_alloc(size, 1, err);
	if (!line->name)
		return -1;
	n = (size_t)snprintf(line->name, size, "%s", name);
	for (int i = 0; i < x->depth; i++)
		n += (size_t)snprintf(line->name + n, size - n, "_%zu", x->frames[i].round);
	if (define(x, line, line->name, false, err))
		return -1;
	return x->depth > 0 ? define(x, line, name, true, err) : 0;
}

/* from=input where no line has that name: the sample. */
static int find_sample(const struct expansion *x, const struct nn_net_entry *line,
		       struct nn_error *err)
{
	const struct nn_net *net = x->net;
	int found = -1;

	for (int i = 0; i < net->n_lines; i++) {
		if (net->lines[i].statement->kind != NN_STATEMENT_INPUT)
			continue;
		if (found >= 0)
			return nn_statement_fail(net, line->statement, err,
						 "from=input: there are several inputs, name one");
		found = i;
	}
	if (found < 0)
		return nn_statement_fail(net, line->statement, err,
					 "from=input: no input line stands before this one");
	return found;
}

static int find_source(const struct expansion *x, const struct nn_net_entry *line, const char *name,
		       struct nn_error *err)
{
	int found = nn_names_find(x->names, name);
	const char *near;

	if (found >= 0)
		return found;
	if (strcmp(name, "input") == 0)
		return find_sample(x, line, err);
	near = nn_did_you_mean(name, nn_names_next, x->names);
	if (near)
		return nn_statement_fail(
			x->net, line->statement, err,
			"from=: no line before this one has the name '%s', did you mean '%s'?",
			name, near);
	return nn_statement_fail(x->net, line->statement, err,
				 "from=: no line before this one has the name '%s'", name);
}

static int connect(struct expansion *x, struct nn_net_entry *line, struct nn_error *err)
{
	const struct nn_statement *statement = line->statement;
	const struct nn_layer *layer = statement->layer;
	struct nn_net *net = x->net;
	int n = statement->from ? statement->n_from : 1, at = (int)(line - net->lines);

	if (n < layer->min_in)
		return nn_statement_fail(net, statement, err,
					 "wants at least %d input%s (from=NAME+NAME), got %d",
					 layer->min_in, nn_s(layer->min_in), n);
	if (layer->max_in && n > layer->max_in)
		return nn_statement_fail(net, statement, err, "wants %d input, got %d",
					 layer->max_in, n);
	if (!statement->from && at == 0)
		return nn_statement_fail(net, statement, err,
					 "no input line stands before this one");
	net->n_links += (size_t)n;
	if (net->n_links > NN_MAX_LINKS)
		return nn_statement_fail(net, statement, err,
					 "the lines have more than %d inputs (a fixed limit)",
					 NN_MAX_LINKS);
	line->from = nn_alloc((size_t)n, sizeof *line->from, err);
	if (!line->from)
		return -1;
	for (line->n_from = 0; line->n_from < n; line->n_from++) {
		int found = statement->from
				    ? find_source(x, line, statement->from[line->n_from], err)
				    : at - 1;

		if (found < 0)
			return -1;
		line->from[line->n_from] = found;
		net->lines[found].used = true;
	}
	return 0;
}

static int take_line(struct expansion *x, const struct nn_statement *statement,
		     struct nn_error *err)
{
	struct nn_net_entry *line = add_line(x->net, statement, err);
	char said[NN_LIMIT_TEXT];

	if (!line)
		return -1;
	if (statement->kind == NN_STATEMENT_LAYER) {
		line->number = x->net->n_layers++;
		if ((size_t)x->net->n_layers > nn_limit(NN_LIMIT_LAYERS))
			return nn_statement_fail(x->net, statement, err, "the model has more than %s",
						 nn_limit_said(NN_LIMIT_LAYERS, 0, said));
		if (connect(x, line, err))
			return -1;
	}
	return name_line(x, line, err);
}

/* Walk the statements; a closing brace jumps back until its rounds are done. */
static int walk(struct expansion *x, struct nn_error *err)
{
	struct nn_net *net = x->net;

	for (size_t i = 0; i < net->n_statements; i++) {
		const struct nn_statement *statement = &net->statements[i];
		struct frame *top = x->depth > 0 ? &x->frames[x->depth - 1] : NULL;

		if (statement->kind == NN_STATEMENT_REPEAT) {
			x->frames[x->depth++] = (struct frame){ i, 0 };
		} else if (statement->kind != NN_STATEMENT_END) {
			if (take_line(x, statement, err))
				return -1;
		} else if (++top->round < net->statements[top->statement].rounds) {
			i = top->statement;
		} else {
			x->depth--;
		}
	}
	return 0;
}

/* Where no input line is written, the canonical text has one at its top. */
static int add_implied_input(struct expansion *x, struct nn_error *err)
{
	for (size_t i = 0; i < x->net->n_statements; i++)
		if (x->net->statements[i].kind == NN_STATEMENT_INPUT)
			return 0;
	x->net->implied.kind = NN_STATEMENT_INPUT;
	return take_line(x, &x->net->implied, err);
}

int nn_net_expand(struct nn_net *net, struct nn_error *err)
{
	struct expansion *x = nn_alloc(1, sizeof *x, err);
	int failed = -1;

	if (!x)
		return -1;
	x->net = net;
	if (nn_names_new(&x->names, err) == 0)
		failed = add_implied_input(x, err) || walk(x, err) ? -1 : 0;
	nn_names_free(x->names);
	nn_free(x);
	return failed;
}
