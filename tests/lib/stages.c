/*
 * Stages of a pipeline: what each does when, against the rule of what needs what; cuts, against all
 * cuts there are.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "tap.h"
#include "step/stages.h"

#define MOST_STAGES 6
#define MOST_MICRO 20

/*
 * All stages at once, each taking a unit of time for forward and for backward: when the last is
 * done, or -1 where one waits for ever or holds more micro-batches than it has slots for. busy:
 * units of work.
 */
static int play(enum nn_pipeline_schedule schedule, int stages, size_t n, int *busy)
{
	static struct nn_pipeline_work work[MOST_STAGES][2 * MOST_MICRO];
	int forward[MOST_STAGES][MOST_MICRO], backward[MOST_STAGES][MOST_MICRO], now;
	size_t at[MOST_STAGES] = { 0 }, held[MOST_STAGES] = { 0 }, left = 2 * n * (size_t)stages;

	for (int s = 0; s < stages; s++) {
		nn_pipeline_order(schedule, s, stages, n, work[s]);
		for (size_t i = 0; i < n; i++)
			forward[s][i] = backward[s][i] = 1 << 30;
	}
	*busy = (int)left;
	for (now = 0; left > 0 && now < 10000; now++)
		for (int s = 0; s < stages; s++) {
			struct nn_pipeline_work w =
				at[s] < 2 * n ? work[s][at[s]] : (struct nn_pipeline_work){ 0 };
			int needs = !w.backward      ? (s > 0 ? forward[s - 1][w.micro] : -1)
				    : s + 1 < stages ? backward[s + 1][w.micro]
						     : forward[s][w.micro];

			if (at[s] == 2 * n || needs >= now ||
			    (w.backward && forward[s][w.micro] >= now))
				continue;
			(w.backward ? backward : forward)[s][w.micro] = now;
			held[s] += w.backward ? (size_t)-1 : 1;
			if (held[s] > nn_pipeline_slots(schedule, s, stages, n))
				return -1;
			at[s]++;
			left--;
		}
	return left > 0 ? -1 : now;
}

static void test_schedules(void)
{
	for (int k = 0; nn_pipeline_schedules[k]; k++) {
		enum nn_pipeline_schedule schedule = (enum nn_pipeline_schedule)k;
		bool good = true;

		for (int stages = 1; stages <= MOST_STAGES; stages++)
			for (size_t n = 1; n <= MOST_MICRO; n++) {
				int busy, time = play(schedule, stages, n, &busy);
				double idle =
					time < 0 ? 2 : 1 - (double)busy / (double)(time * stages);

				/*
				 * each micro-batch of the naive schedule has the pipeline for
				 * itself, as if it were the only one
				 */
				good &= fabs(idle - nn_pipeline_idle(schedule, stages, n)) < 1e-12;
			}
		ok(good,
		   "pipeline: %s ends, within its slots, and stands still as long as the formula "
		   "says",
		   nn_pipeline_schedules[k]);
	}
}

static void test_parse(void)
{
	enum nn_pipeline_schedule schedule;
	struct nn_error err;
	int stages;

	ok(nn_parse_pipeline("3", &stages, &schedule, &err) == 0 && stages == 3 &&
		   schedule == NN_SCHEDULE_1F1B,
	   "pipeline: 3 is 3 stages, 1f1b");
	ok(nn_parse_pipeline("2:gpipe", &stages, &schedule, &err) == 0 && stages == 2 &&
		   schedule == NN_SCHEDULE_GPIPE,
	   "pipeline: 2:gpipe");
	ok(nn_parse_pipeline("0", &stages, &schedule, &err) < 0 &&
		   nn_parse_pipeline("2:", &stages, &schedule, &err) < 0 &&
		   nn_parse_pipeline("2:gp", &stages, &schedule, &err) < 0 &&
		   nn_parse_pipeline("", &stages, &schedule, &err) < 0,
	   "pipeline: 0, 2:, 2:gp and nothing are refused");
}

/*
 * The least cost of the most expensive of `stages` stages over nodes from .. n - 1, by trying all.
 */
static double least(const struct nn_graph_node *nodes, const double *costs, int n, int from,
		    int stages)
{
	double best = INFINITY, sum = 0;

	for (int end = from + 1; end <= n; end++) {
		double rest;

		sum += costs[end - 1];
		if (end < n && nodes[end].line == nodes[end - 1].line)
			continue;
		if (stages == 1 ? end < n : end == n)
			continue;
		rest = stages == 1 ? 0 : least(nodes, costs, n, end, stages - 1);
		best = fmin(best, fmax(sum, rest));
	}
	return best;
}

static void test_cuts(void)
{
	struct nn_graph_node nodes[12] = { { 0 } };
	double costs[12];
	int bounds[MOST_STAGES + 1];
	bool good = true;
	unsigned seed = 1;

	for (int trial = 0; trial < 200; trial++) {
		int n = 1 + trial % 12, most;

		for (int i = 0; i < n; i++) {
			seed = seed * 1103515245u + 12345u;
			costs[i] = (double)(seed >> 16 & 1023) + 1;
			nodes[i].line = i == 0 ? 0 : nodes[i - 1].line + (seed >> 28 > 3);
		}
		most = nn_stages_most(nodes, n);
		for (int stages = 1; stages <= most && stages <= MOST_STAGES; stages++) {
			double worst = 0;

			if (nn_stages_divide(nodes, costs, n, stages, bounds, NULL) < 0)
				exit(1);
			good &= bounds[0] == 0 && bounds[stages] == n;
			for (int s = 0; s < stages; s++) {
				double sum = 0;

				good &= bounds[s] < bounds[s + 1] &&
					(s == 0 ||
					 nodes[bounds[s]].line != nodes[bounds[s] - 1].line);
				for (int i = bounds[s]; i < bounds[s + 1]; i++)
					sum += costs[i];
				worst = fmax(worst, sum);
			}
			good &= worst == least(nodes, costs, n, 0, stages);
		}
	}
	ok(good,
	   "stages: of all cuts between lines the one whose most expensive stage costs least");
}

int main(void)
{
	test_parse();
	test_schedules();
	test_cuts();
	return tap_done();
}
