/* Notes about a pipeline: its grid and stages, and at the end their idle share. */
#include <math.h>

#include "base/text.h"
#include "model/model.h"
#include "parallel/pipeline.h"
#include "parallel/worker.h"

/* The lines of the model that a stage has: the first and the last. */
static void lines_of(const struct nn_pipe *p, int stage, int *first, int *last)
{
	*first = *last = -1;
	for (int i = p->bounds[stage]; i < p->bounds[stage + 1]; i++) {
		if (p->nodes[i].line < 0)
			continue;
		*first = *first < 0 ? p->nodes[i].line : *first;
		*last = p->nodes[i].line;
	}
}

void nn_pipe_note(struct nn_worker *w)
{
	const struct nn_pipe *p = w->layout->pipe;
	double all = 0;

	if (w->layout->comm->rank > 0)
		return;
	for (int i = 0; i < p->n_nodes; i++)
		all += p->costs[i];
	if (w->layout->tensor)
		nn_worker_note(w,
			       "%d ranks = %d pipeline%s of %d stages of %d that share columns "
			       "(rank (d x %d + s) x %d + t has the t-th part of "
			       "stage s in pipeline d), %s",
			       w->layout->comm->size, p->side->size, nn_s(p->side->size), p->stages,
			       nn_tensor_ranks(w->layout), p->stages, nn_tensor_ranks(w->layout),
			       nn_pipeline_schedules[p->schedule]);
	else
		nn_worker_note(w,
			       "%d ranks = %d pipeline%s of %d stages (rank d x %d + s is stage s "
			       "of pipeline d), %s",
			       w->layout->comm->size, p->side->size, nn_s(p->side->size), p->stages,
			       p->stages, nn_pipeline_schedules[p->schedule]);
	for (int s = 0; s < p->stages; s++) {
		int first, last;
		double cost = 0;
		size_t parameters = 0;

		lines_of(p, s, &first, &last);
		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		for (int i = 0; i < w->task->program->n_params; i++)
			parameters +=
				p->owner[i] == s
					? nn_shape_count(&w->task->program->params[i].desc.shape)
					: 0;
		nn_worker_note(w,
			       "stage %d: %s (%s) to %s (%s), %.0f %% of the work, %zu parameters",
			       s, nn_net_line(w->task->net, first).layer,
			       nn_net_line(w->task->net, first).name,
			       nn_net_line(w->task->net, last).layer,
			       nn_net_line(w->task->net, last).name, 100 * cost / all, parameters);
	}
}

int nn_pipe_end(struct nn_worker *w, struct nn_error *err)
{
	const struct nn_pipe *p = w->layout->pipe;
	struct nn_pipe_flow *f = w->flow;
	double mine[2] = { f->idle_s, f->total_s }, all[2 * w->layout->comm->size], idle = 0,
	       total = 0;

	if (nn_comm_all_gather(w->layout->comm, mine, all, sizeof mine, err) < 0)
		return -1;
	for (int r = 0; r < w->layout->comm->size; r++) {
		idle += all[2 * r];
		total += all[2 * r + 1];
	}
	f->idle = total > 0 ? idle / total : NAN;
	f->formula = nn_pipeline_idle(p->schedule, p->stages, f->most);
	if (w->layout->comm->rank > 0 || total == 0)
		return 0;
	nn_worker_note(w,
		       "the %d stages were idle %.1f %% of the time; %s is %.1f %%, for %s of %zu "
		       "micro-batches",
		       p->stages, 100 * f->idle,
		       p->schedule == NN_SCHEDULE_NAIVE ? "(P-1)/P" : "(P-1)/(M+P-1)",
		       100 * f->formula, nn_pipeline_schedules[p->schedule], f->most);
	return 0;
}
