/*
 * The longest way through a network: where its layers come from, and what each takes.
 *
 * Branches are not run on a thread each: layers run one after another, each on all threads. Of two
 * threads that is as fast from four rows on, below one thread alone is faster than either
 * (share/measurements, "Branches"); and no layer has to wait for a branch that is longer.
 */
#include "base/json-text.h"
#include "base/memory.h"
#include "base/number.h"
#include "plan/critical.h"

/* A layer as the search goes by: FLOP before it on the longest way to it, and the layer there. */
struct visit {
	double before;
	int from; /* -1: none */
};

static double end_of(const struct visit *visit, const struct nn_layers *l, int line)
{
	return visit[line].before + (double)l->layer[line].train_flops;
}

/* maker [n_values]: the line whose layer makes a value, -1: none. Nodes are in an order to run. */
static void search(struct visit *visit, int *maker, const struct nn_layers *l,
		   const struct nn_program *program)
{
	for (int v = 0; v < program->n_values; v++)
		maker[v] = -1;
	for (int i = 0; i < l->n; i++)
		visit[i].from = -1;
	for (int i = 0; i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];

		maker[node->out] = node->line < l->n ? node->line : -1;
		for (int k = 0; k < node->n_in && maker[node->out] >= 0; k++) {
			int from = maker[node->in[k]];
			struct visit *to = &visit[node->line];

			if (from < 0 || from == node->line || end_of(visit, l, from) < to->before)
				continue;
			to->before = end_of(visit, l, from);
			to->from = from;
		}
	}
}

static void trace(struct nn_critical *c, const struct visit *visit, const struct nn_layers *l)
{
	int last = 0;

	for (int i = 0; i < l->n; i++) {
		c->all_flops += (double)l->layer[i].train_flops;
		if (end_of(visit, l, i) >= end_of(visit, l, last))
			last = i;
	}
	c->flops = l->n ? end_of(visit, l, last) : 0;
	for (int i = l->n ? last : -1; i >= 0; i = visit[i].from)
		c->layer[i] = true;
}

int nn_critical_make(struct nn_critical *c, const struct nn_layers *l,
		     const struct nn_program *program, struct nn_error *err)
{
	struct visit *visit = nn_alloc((size_t)l->n + 1, sizeof *visit, err);
	int *maker = nn_alloc((size_t)program->n_values + 1, sizeof *maker, err);

	*c = (struct nn_critical){ .n = l->n };
	if (visit && maker)
		c->layer = nn_alloc((size_t)l->n + 1, sizeof *c->layer, err);
	if (c->layer) {
		search(visit, maker, l, program);
		trace(c, visit, l);
	}
	nn_free(visit);
	nn_free(maker);
	return c->layer ? 0 : -1;
}

void nn_critical_free(struct nn_critical *c)
{
	nn_free(c->layer);
}

/* Layers that follow each other in the text are named by the first and the last. */
void nn_critical_text(const struct nn_critical *c, const struct nn_layers *l, struct nn_text *text)
{
	const char *comma = "critical path:";

	if (!(c->flops < c->all_flops))
		return;
	for (int first = 0, end; first < c->n; first = end + 1) {
		for (end = first; end < c->n && c->layer[end]; end++)
			;
		if (end == first)
			continue;
		nn_text_addf(text, "%s %s", comma, l->layer[first].name);
		if (end - 1 > first)
			nn_text_addf(text, " to %s", l->layer[end - 1].name);
		comma = ",";
	}
	nn_text_addf(text, "; %.0f %% of the train FLOP\n", 100 * c->flops / c->all_flops);
}

void nn_critical_json(const struct nn_critical *c, const struct nn_layers *l, struct nn_text *json)
{
	nn_json_add(json, "critical_path", "{");
	nn_json_add(json, "layers", "[");
	for (int i = 0; i < c->n; i++)
		if (c->layer[i])
			nn_json_put_string(json, l->layer[i].name);
	nn_text_add(json, "]");
	nn_json_add_real(json, "train_flops", c->flops);
	nn_text_add(json, "}");
}
