/*
 * Ranks that share the out-channels of products, as threads, against the one graph that has all of
 * them: the same bytes.
 */
#include "graph-plain.h"
#include "graph-ranks.h"
#include "graph-trial.h"
#include "tap.h"

#define SPANS 2
#define SPAN_ROWS (ROWS / SPANS)

static void fail(const struct nn_error *err)
{
	note("%s", err->text);
	exit(1);
}

static struct nn_span span_at(size_t i)
{
	static const size_t bounds[] = { 0, SPAN_ROWS / 2, SPAN_ROWS };

	return (struct nn_span){ .rows = SPAN_ROWS,
				 .sample = 100 + i * SPAN_ROWS,
				 .leaf = bounds,
				 .n_leaves = 2,
				 .first = true,
				 .group = bounds,
				 .n_groups = 2 };
}

/* ---- ranks that are threads ---- */

struct split_rank {
	struct nn_column_shard columns;
	const struct trial *t;
	const struct nn_device *device;
	double *gradients, **params; /* all ranks write their own elements */
	size_t n, split;             /* split: parameters of which it has a part */
	struct nn_graph *graph;
};

/* Canonical values, of which a rank that has a part takes its own. */
static void *part_of(const struct split_rank *rank, int p, double *whole)
{
	size_t from, channels = nn_graph_channels(rank->graph, p),
		     all = nn_shape_count(&rank->t->program->params[p].desc.shape);

	if (nn_column_shard_slice(all, channels, rank->columns.rank, rank->columns.ranks, &from) !=
		    nn_graph_count(rank->graph, p) &&
	    nn_graph_has(rank->graph, p))
		exit(1);
	return whole + from;
}

static void **parts_of(const struct split_rank *rank, double *const *whole)
{
	void **own = calloc((size_t)rank->t->program->n_params, sizeof *own);

	for (int p = 0; p < rank->t->program->n_params; p++)
		own[p] = part_of(rank, p, whole[p]);
	return own;
}

/*
 * Gradients of the span's leaves, this rank's elements; parameters that all have are the same, and
 * only rank 0 tells them.
 */
static void collect(struct split_rank *rank, double *to)
{
	size_t n = 0, offset, packed;

	for (int p = 0; p < rank->t->program->n_params; p++) {
		bool part = nn_graph_channels(rank->graph, p) > 0;

		if (nn_graph_place(rank->graph, p, &offset, &packed) &&
		    (part || rank->columns.rank == 0))
			nn_graph_unpack(rank->graph, p, nn_graph_gradients(rank->graph),
					part_of(rank, p, to + n));
		rank->split += part;
		n += nn_shape_count(&rank->t->program->params[p].desc.shape);
	}
}

static void *run(void *arg)
{
	struct split_rank *rank = arg;
	struct nn_graph_options options = {
		.device = rank->device,
		.max_rows = SPAN_ROWS,
		.max_leaves = 2,
		.training = true,
		.seed = 7,
		.columns = rank->columns.ranks > 1 ? &rank->columns : NULL,
	};
	struct nn_error err = { 0 };
	void **params;

	if (nn_graph_bind(&rank->graph, rank->t->program, &options, &err) < 0)
		fail(&err);
	params = parts_of(rank, rank->t->params);
	if (nn_graph_load(rank->graph, (const void *const *)params, &err) < 0)
		fail(&err);
	free(params);
	for (size_t i = 0; i < SPANS; i++) {
		struct nn_span span = span_at(i);

		feed(rank->t, rank->graph, i * SPAN_ROWS, SPAN_ROWS);
		nn_graph_forward(rank->graph, &span);
		put_loss_gradient(rank->t, rank->graph, i * SPAN_ROWS, SPAN_ROWS);
		nn_graph_backward(rank->graph, &span, NULL, NULL);
		collect(rank, rank->gradients + i * rank->n);
	}
	if (rank->params) {
		params = parts_of(rank, rank->params);
		nn_graph_save(rank->graph, params);
		free(params);
	}
	nn_graph_free(rank->graph);
	return NULL;
}

static size_t run_ranks(const struct trial *t, const struct nn_device *device, int ranks, size_t n,
			double *gradients, double **params)
{
	struct split_rank rank[MOST_RANKS];

	for (int r = 0; r < ranks; r++)
		rank[r] = (struct split_rank){ .columns = { r, ranks, &rank[r].columns, gather,
							    exchange },
					       .t = t,
					       .device = device,
					       .gradients = gradients,
					       .params = r == 0 ? params : NULL,
					       .n = n };
	run_as_ranks(run, rank, sizeof *rank, ranks);
	return rank[0].split;
}

/* ---- the claims ---- */

static void shared_is_whole(const struct nn_device *device, bool every_op, int n_trials)
{
	int bad = -1, bad_ranks = 0;
	size_t split = 0;

	for (int i = 0; i < n_trials && bad < 0; i++) {
		struct trial t = trial_new((uint64_t)i, 4 + i % 14, every_op, true,
					   every_op && i % 2 ? SPAN_ROWS / 2 : 0);
		double **params = random_params(t.program, &t.dice),
		       **found_params = random_params(t.program, &t.dice), *wanted, *found;
		size_t n = 0;

		for (int p = 0; p < t.program->n_params; p++)
			n += nn_shape_count(&t.program->params[p].desc.shape);
		wanted = calloc(SPANS * n, sizeof *wanted);
		found = calloc(SPANS * n, sizeof *found);
		run_ranks(&t, device, 1, n, wanted, params);
		for (int ranks = 2; ranks <= MOST_RANKS && bad < 0; ranks++) {
			memset(found, 0, SPANS * n * sizeof *found);
			split += run_ranks(&t, device, ranks, n, found, found_params);
			if (memcmp(wanted, found, SPANS * n * sizeof *found) != 0)
				bad = i;
			for (int p = 0; p < t.program->n_params; p++)
				if (t.program->params[p].desc.role == NN_BUFFER &&
				    memcmp(params[p], found_params[p],
					   nn_shape_count(&t.program->params[p].desc.shape) *
						   sizeof(double)) != 0)
					bad = i;
			bad_ranks = ranks;
		}
		free(wanted);
		free(found);
		nn_free(params);
		nn_free(found_params);
		trial_free(&t);
	}
	if (!ok(bad < 0,
		"split, %s: gradients and buffers of %d networks over 2 and 3 ranks are those of "
		"one graph",
		device->name, n_trials))
		note("network %d differs with %d ranks", bad, bad_ranks);
	ok(split > (size_t)n_trials, "split, %s: parameters are shared in most of them",
	   device->name);
}

static void plain_sum(struct nn_queue *queue, void *a, const void *b, size_t n,
		      struct nn_pool *pool)
{
	(void)queue;
	(void)pool;
	for (size_t i = 0; i < n; i++)
		((double *)a)[i] += ((const double *)b)[i];
}

int main(void)
{
	struct nn_device plain = plain_device;
	struct nn_error err = { 0 };
	const struct nn_device *cpu = nn_device_open("cpu", NN_F64, &err);

	plain.add = plain_sum;
	shared_is_whole(&plain, false, 100);
	if (!ok(cpu, "split: the cpu device opens")) {
		note("%s", err.text);
		return tap_done();
	}
	shared_is_whole(cpu, true, 200);
	return tap_done();
}
