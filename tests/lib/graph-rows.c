/*
 * Ranks that share the rows of a table, as threads, against the one graph that has all of them: the
 * same bytes.
 */
#include <math.h>

#include "base/random.h"
#include "graph-ranks.h"
#include "tap.h"

#define SPANS 2
#define SPAN_ROWS ((size_t)12)
#define MOST_NUMBERS (SPANS * SPAN_ROWS * 12)
#define MOST_SIZE 9

struct row_table {
	const struct nn_device *device;
	struct nn_program *program;
	struct nn_embedding attrs;
	size_t numbers, out; /* of a sample */
	double x[MOST_NUMBERS];
	double *weights, *found; /* [rows][size] loaded, saved */
};

/*
 * What came of all spans: outputs, and the gradient as a list whose rows are those of the whole
 * table.
 */
struct row_result {
	double y[MOST_NUMBERS * MOST_SIZE], dw[MOST_NUMBERS * MOST_SIZE];
	uint32_t row[MOST_NUMBERS];
	size_t n;
	size_t received; /* bytes */
};

struct row_rank {
	struct nn_column_shard columns;
	struct row_table *t;
	struct row_result result;
	size_t from;
};

/* ---- tables ---- */

struct row_dice {
	uint64_t state;
};

static size_t roll(struct row_dice *d, size_t n)
{
	return (nn_lcg(&d->state) >> 33) % n;
}

static void put_at(const struct row_table *t, void *values, size_t i, double x)
{
	if (t->device->dtype == NN_F64)
		((double *)values)[i] = x;
	else
		((float *)values)[i] = (float)x;
}

static double get_at(const struct row_table *t, const void *values, size_t i)
{
	return t->device->dtype == NN_F64 ? ((const double *)values)[i]
					  : (double)((const float *)values)[i];
}

/*
 * Most are rows, many of them the same; a number may lie between two, outside, or be none at all.
 */
static double roll_number(const struct row_table *t, struct row_dice *d)
{
	size_t rows = roll(d, 2) && t->attrs.rows > 5 ? 5 : t->attrs.rows;

	switch (roll(d, 12)) {
	case 0:
		return -1;
	case 1:
		return (double)t->attrs.rows;
	case 2:
		return NAN;
	case 3:
		return (double)roll(d, rows) + 0.5;
	default:
		return (double)roll(d, rows);
	}
}

static struct row_table *table_new(const struct nn_device *device, uint64_t seed)
{
	struct row_table *t = calloc(1, sizeof *t);
	struct row_dice d = { seed };
	size_t rows = roll(&d, 3) ? 3 + roll(&d, 40) : 3 + roll(&d, 5000), n;
	struct nn_shape shape = roll(&d, 2) ? nn_shape1(1 + roll(&d, 12))
					    : nn_shape2(1 + roll(&d, 3), 1 + roll(&d, 4));
	int value;

	t->device = device;
	t->attrs = (struct nn_embedding){ rows, 1 + roll(&d, MOST_SIZE),
					  roll(&d, 2) ? roll(&d, rows < 5 ? rows : 5) : NN_NO_ROW,
					  roll(&d, 2), false };
	t->program = nn_program_new(NULL);
	value = nn_program_input(t->program, &shape, NULL);
	value = nn_program_add(t->program, NN_OP_embedding, &t->attrs, &value, 1, "e", 0, NULL);
	nn_program_output(t->program, value, NULL, NULL);
	t->numbers = nn_shape_count(&shape);
	t->out = nn_shape_count(&t->program->values[value].shape);
	for (size_t i = 0; i < SPANS * SPAN_ROWS * t->numbers; i++)
		t->x[i] = roll_number(t, &d);
	n = rows * t->attrs.size;
	t->weights = calloc(n, sizeof *t->weights);
	t->found = calloc(n, sizeof *t->found);
	for (size_t i = 0; i < n; i++)
		put_at(t, t->weights, i, (double)roll(&d, 2000001) / 1000000 - 1);
	return t;
}

static void table_free(struct row_table *t)
{
	nn_program_free(t->program);
	free(t->weights);
	free(t->found);
	free(t);
}

/* ---- a rank ---- */

static void count_exchange(void *arg, void *const *send, const size_t *send_bytes,
			   void *const *receive, const size_t *receive_bytes)
{
	struct row_rank *rank = arg;

	for (int r = 0; r < rank->columns.ranks; r++)
		rank->result.received += r != rank->columns.rank ? receive_bytes[r] : 0;
	exchange(arg, send, send_bytes, receive, receive_bytes);
}

static void run_span(struct row_rank *rank, struct nn_graph *graph, size_t i)
{
	static const size_t bounds[] = { 0, SPAN_ROWS / 3, SPAN_ROWS };
	const struct row_table *t = rank->t;
	struct nn_span span = { .rows = SPAN_ROWS,
				.sample = i * SPAN_ROWS,
				.leaf = bounds,
				.n_leaves = 2,
				.first = true,
				.leaf_number = 2 * i };
	size_t size, positions, columns, n = SPAN_ROWS * t->out;
	bool channels_last;
	void *x = nn_graph_input(graph, 0, &size, &channels_last),
	     *dy = nn_graph_output_gradient(graph, 0);
	const void *y = nn_graph_output(graph, 0, &positions, &columns);

	for (size_t k = 0; k < SPAN_ROWS * t->numbers; k++)
		put_at(t, x, k, t->x[i * SPAN_ROWS * t->numbers + k]);
	nn_graph_forward(graph, &span);
	for (size_t k = 0; k < n; k++) {
		rank->result.y[i * n + k] = get_at(t, y, k);
		put_at(t, dy, k, sin((double)(i * n + k)));
	}
	nn_graph_backward(graph, &span, NULL, NULL);
}

static void *run(void *arg)
{
	struct row_rank *rank = arg;
	struct row_table *t = rank->t;
	struct nn_graph_options options = {
		.device = t->device,
		.max_rows = SPAN_ROWS,
		.max_leaves = 2,
		.batch = SPANS * SPAN_ROWS,
		.training = true,
		.columns = rank->columns.ranks > 1 ? &rank->columns : NULL,
	};
	size_t from, size = nn_dtype_size(t->device->dtype);
	struct nn_row_list *sums;
	struct nn_graph *graph;
	void *params;

	if (nn_graph_bind(&graph, t->program, &options, NULL) < 0)
		exit(1);
	if (nn_column_shard_slice(t->attrs.rows * t->attrs.size, nn_graph_channels(graph, 0),
				  rank->columns.rank, rank->columns.ranks,
				  &from) != nn_graph_count(graph, 0) ||
	    nn_graph_table(graph, 0).rows * t->attrs.size != nn_graph_count(graph, 0))
		exit(1);
	params = (char *)t->weights + from * size;
	if (nn_graph_load(graph, (const void *const *)&params, NULL) < 0)
		exit(1);
	nn_graph_begin(graph);
	for (size_t i = 0; i < SPANS; i++)
		run_span(rank, graph, i);
	nn_graph_sum_tables(graph, 0, 2 * SPANS);
	sums = nn_graph_table_sums(graph, 0);
	rank->from = from / t->attrs.size;
	rank->result.n = *sums->n;
	for (size_t j = 0; j < *sums->n; j++)
		rank->result.row[j] = sums->row[j];
	for (size_t k = 0; k < *sums->n * sums->width; k++)
		rank->result.dw[k] = get_at(t, sums->value, k);
	params = (char *)t->found + from * size;
	nn_graph_save(graph, &params);
	nn_graph_free(graph);
	return NULL;
}

/* ---- the claims ---- */

/* What the ranks' lists are, one after the other. */
static bool lists_are(const struct row_rank *ranks, int n, const struct row_result *whole,
		      size_t width)
{
	size_t at = 0;

	for (int r = 0; r < n; r++)
		for (size_t j = 0; j < ranks[r].result.n; j++, at++)
			if (at >= whole->n ||
			    ranks[r].result.row[j] + ranks[r].from != whole->row[at] ||
			    memcmp(&ranks[r].result.dw[j * width], &whole->dw[at * width],
				   width * sizeof(double)) != 0)
				return false;
	return at == whole->n;
}

static struct row_rank *run_ranks(struct row_table *t, int n)
{
	struct row_rank *ranks = calloc((size_t)n, sizeof *ranks);

	for (int r = 0; r < n; r++) {
		ranks[r].columns =
			(struct nn_column_shard){ r, n, &ranks[r], gather, count_exchange };
		ranks[r].t = t;
	}
	run_as_ranks(run, ranks, sizeof *ranks, n);
	return ranks;
}

static void shared_is_whole(const struct nn_device *device, int n_tables)
{
	int bad = -1;
	size_t most = 0;

	for (int i = 0; i < n_tables && bad < 0; i++) {
		struct row_table *t = table_new(device, (uint64_t)i);
		struct row_rank *whole = run_ranks(t, 1);
		size_t bytes = t->attrs.rows * t->attrs.size * sizeof *t->weights;

		for (int n = 2; n <= MOST_RANKS; n++) {
			struct row_rank *ranks;

			memset(t->found, 0, bytes);
			ranks = run_ranks(t, n);
			if (!lists_are(ranks, n, &whole->result, t->attrs.size) ||
			    memcmp(t->found, t->weights, bytes) != 0)
				bad = i;
			for (int r = 0; r < n; r++) {
				size_t received = ranks[r].result.received /
						  nn_dtype_size(device->dtype) / t->attrs.size;

				if (memcmp(ranks[r].result.y, whole->result.y,
					   sizeof whole->result.y) != 0)
					bad = i;
				most = received > most ? received : most;
				if (received > SPANS * t->attrs.rows)
					bad = i;
			}
			free(ranks);
		}
		free(whole);
		table_free(t);
	}
	if (!ok(bad < 0,
		"rows, %s of %zu bytes: outputs and gradients of %d tables over 2 and 3 ranks are "
		"those of one graph, no row is sent twice",
		device->name, nn_dtype_size(device->dtype), n_tables))
		note("table %d differs", bad);
	ok(most > SPAN_ROWS, "rows: some are sent");
}

int main(void)
{
	struct nn_error err = { 0 };
	const struct nn_device *f64 = nn_device_open("cpu", NN_F64, &err),
			       *f32 = nn_device_open("cpu", NN_F32, &err);

	if (!ok(f64 && f32, "rows: the cpu device opens")) {
		note("%s", err.text);
		return tap_done();
	}
	shared_is_whole(f64, 200);
	shared_is_whole(f32, 200);
	return tap_done();
}
