/*
 * Sums that are told of while backward goes on: the gradients of a layer are final once nothing
 * waits to be added to them.
 */
#include <string.h>

#include "base/memory.h"
#include "step/step-inside.h"

int nn_step_final_init(struct nn_step *s, struct nn_error *err)
{
	struct nn_step_final *t = &s->final_sums;
	size_t n = (size_t)s->options.program->n_params, packed;

	t->offsets = nn_alloc(n, sizeof *t->offsets, err);
	t->finished = nn_alloc(n, sizeof *t->finished, err);
	if (!t->offsets || !t->finished)
		return -1;
	for (size_t p = 0; p < n; p++)
		if (!nn_graph_place(s->graph, (int)p, &t->offsets[p], &packed))
			t->offsets[p] = SIZE_MAX;
	return 0;
}

void nn_step_final_fini(struct nn_step *s)
{
	nn_free(s->final_sums.offsets);
	nn_free(s->final_sums.finished);
}

void nn_step_on_final_gradient(struct nn_step *s, void (*final)(void *arg, size_t sum, size_t from),
			       void *arg)
{
	s->final_sums.final = final;
	s->final_sums.arg = arg;
}

void nn_step_report_whole(const struct nn_step *s, size_t sum)
{
	if (s->final_sums.final)
		s->final_sums.final(s->final_sums.arg, sum, 0);
}

/*
 * Elements from `from` on have the gradients of the last span: what waits at the levels above is
 * added, and they are final.
 */
static void tell_from(struct nn_step *s, size_t from)
{
	struct nn_step_final *t = &s->final_sums;
	size_t size = nn_dtype_size(s->options.device->dtype), n = t->from - from;

	if (n == 0)
		return;
	for (unsigned level = t->low; level < t->high; level++)
		s->options.device->add(s->queue, (char *)nn_graph_gradients(s->graph) + from * size,
				       s->sums.waiting[level] + from * size, n, s->options.pool);
	t->from = from;
	t->final(t->arg, s->sums.n, from);
}

/*
 * The graph's: layers are finished last first, which is the order of the block but where fusion has
 * changed it.
 */
static void finished(void *arg, int param)
{
	struct nn_step *s = arg;
	struct nn_step_final *t = &s->final_sums;
	size_t from = t->from;

	t->finished[param] = true;
	while (t->next > 0 && (t->offsets[t->next - 1] == SIZE_MAX || t->finished[t->next - 1])) {
		t->next--;
		if (t->offsets[t->next] < from)
			from = t->offsets[t->next];
	}
	tell_from(s, from);
}

void nn_step_backward_telling(struct nn_step *s, const struct nn_cut_span *at,
			      const struct nn_span *span)
{
	struct nn_step_final *t = &s->final_sums;
	struct nn_cut_node node;

	nn_cut_waits_at(s->cut->run, at, &node);
	t->low = at->level;
	t->high = node.level;
	t->next = s->options.program->n_params;
	t->from = nn_graph_block(s->graph);
	memset(t->finished, 0, (size_t)t->next * sizeof *t->finished);
	nn_graph_backward(s->graph, span, finished, s);
	if (nn_graph_check(s->graph, NULL) == 0)
		tell_from(s, 0);
}
