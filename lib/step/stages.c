/* Where a network is cut into stages, and what each stage does when. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "step/stages.h"

const char *const nn_pipeline_schedules[] = {
	[NN_SCHEDULE_1F1B] = "1f1b",
	[NN_SCHEDULE_GPIPE] = "gpipe",
	[NN_SCHEDULE_NAIVE] = "naive",
	NULL,
};

int nn_parse_pipeline(const char *text, int *stages, enum nn_pipeline_schedule *schedule,
		      struct nn_error *err)
{
	size_t n = text ? strcspn(text, ":") : 0;
	uint64_t number;

	*stages = 1;
	*schedule = NN_SCHEDULE_1F1B;
	if (!text)
		return 0;
	if (!nn_parse_u64(text, n, &number) || number < 1 || number > 1000)
		return nn_fail(err, NN_EUSAGE, "expected a number of stages, as in 2 or 2:gpipe");
	*stages = (int)number;
	for (int i = 0; text[n] && nn_pipeline_schedules[i]; i++)
		if (strcmp(text + n + 1, nn_pipeline_schedules[i]) == 0) {
			*schedule = (enum nn_pipeline_schedule)i;
			return 0;
		}
	return text[n] ? nn_fail(err, NN_EUSAGE, "expected 1f1b, gpipe or naive behind the colon")
		       : 0;
}

/* ---- schedules ---- */

/* Micro-batches that a stage takes in before its first backward. */
static size_t ahead(enum nn_pipeline_schedule schedule, int stage, int stages, size_t n)
{
	size_t behind = (size_t)(stages - stage);

	if (schedule == NN_SCHEDULE_NAIVE)
		return 1;
	return schedule == NN_SCHEDULE_GPIPE || n < behind ? n : behind;
}

void nn_pipeline_order(enum nn_pipeline_schedule schedule, int stage, int stages, size_t n,
		       struct nn_pipeline_work *work)
{
	size_t lead = ahead(schedule, stage, stages, n), at = 0;

	for (size_t i = 0; i < n + lead; i++) {
		if (i >= lead)
			work[at++] = (struct nn_pipeline_work){ true, i - lead };
		if (i < n)
			work[at++] = (struct nn_pipeline_work){ false, i };
	}
}

size_t nn_pipeline_slots(enum nn_pipeline_schedule schedule, int stage, int stages, size_t n)
{
	return ahead(schedule, stage, stages, n);
}

double nn_pipeline_idle(enum nn_pipeline_schedule schedule, int stages, size_t n)
{
	double wait = stages - 1;

	return wait / ((schedule == NN_SCHEDULE_NAIVE ? 1 : (double)n) + wait);
}

/* ---- stages ---- */

/* May a stage begin with node i? Not within a line of the model. */
static bool may_begin(const struct nn_graph_node *nodes, int i)
{
	return i == 0 || (nodes[i].line >= 0 && nodes[i].line != nodes[i - 1].line);
}

int nn_stages_most(const struct nn_graph_node *nodes, int n)
{
	int most = 0;

	for (int i = 0; i < n; i++)
		most += may_begin(nodes, i);
	return most;
}

/*
 * best[s][i]: the least that the most expensive of s + 1 stages over nodes 0 .. i - 1 costs;
 * from[s][i]: where the last of them begins.
 */
int nn_stages_divide(const struct nn_graph_node *nodes, const double *costs, int n, int stages,
		     int *bounds, struct nn_error *err)
{
	size_t width = (size_t)n + 1;
	double *best = nn_alloc((size_t)stages * width, sizeof *best, err);
	int *from = nn_alloc((size_t)stages * width, sizeof *from, err);
	int status = -1;

	if (!best || !from)
		goto out;
	best[0] = INFINITY;
	for (int end = 1; end <= n; end++)
		best[end] = (end > 1 ? best[end - 1] : 0) + costs[end - 1];
	for (int s = 1; s < stages; s++)
		for (int end = 0; end <= n; end++) {
			double sum = 0, *found = &best[(size_t)s * width + (size_t)end];

			*found = INFINITY;
			for (int begin = end; begin-- > 0;) {
				double before = best[(size_t)(s - 1) * width + (size_t)begin],
				       worst;

				sum += costs[begin];
				if (sum >= *found) /* and grows */
					break;
				worst = before > sum ? before : sum;
				if (may_begin(nodes, begin) && worst < *found) {
					*found = worst;
					from[(size_t)s * width + (size_t)end] = begin;
				}
			}
		}
	bounds[stages] = n;
	for (int s = stages; s-- > 0;)
		bounds[s] = from[(size_t)s * width + (size_t)bounds[s + 1]];
	status = 0;
out:
	nn_free(best);
	nn_free(from);
	return status;
}

/* ---- costs ---- */

void nn_stages_guess(const struct nn_graph_node *nodes, int n, double *costs)
{
	for (int i = 0; i < n; i++)
		costs[i] = (double)nodes[i].flops + 1;
}

#define TRIES 3       /* the least of them, after a first that touches the memory ... */
#define ENOUGH_S 1e-3 /* and as many more as fit into that: a core that slept is slow at first */
#define MOST_TRIES 64

int nn_stages_measure(const struct nn_program *program, const struct nn_graph_options *options,
		      const struct nn_span *span, int n, double *costs, struct nn_error *err)
{
	for (int i = 0; i < n; i++) {
		struct nn_graph_options o = *options;
		struct nn_graph *graph;
		double begin;

		o.first = i;
		o.last = i + 1;
		o.slots = 1;
		if (nn_graph_bind(&graph, program, &o, err) < 0)
			return -1;
		costs[i] = INFINITY;
		begin = nn_now_s();
		for (int k = 0; k <= TRIES || (k < MOST_TRIES && nn_now_s() - begin < ENOUGH_S);
		     k++) {
			double start = nn_now_s(), seconds;

			nn_graph_begin(graph);
			nn_graph_forward(graph, span);
			nn_graph_backward(graph, span, NULL, NULL);
			nn_queue_wait(nn_graph_queue(graph), NULL);
			seconds = nn_now_s() - start;
			if (k > 0 && seconds < costs[i])
				costs[i] = seconds;
		}
		nn_graph_free(graph);
	}
	return 0;
}
