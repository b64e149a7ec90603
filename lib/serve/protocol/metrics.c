/* Prometheus text format 0.0.4: families one after another, each with its help and type. */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "serve/protocol/metrics.h"
#include "serve/ranks/ranks.h"

/* ---- counts of requests ---- */

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct nn_metrics_model {
	const char *name;
	struct nn_lane_counts counts; /* of all its versions */
};

void nn_metrics_tally(const struct nn_board *board, const char *model, unsigned status,
		      bool computed)
{
	nn_board_tally(board, model ? model : "", status, 1, computed ? milliseconds() : 0);
}

uint64_t nn_metrics_last(const struct nn_board *board, const char *model)
{
	return nn_board_find(board, model, 200).last;
}

static void give_requests(const struct nn_board *board, struct nn_text *text)
{
	struct nn_tally t;

	nn_text_add(text,
		    "# HELP nn_requests_total Requests that were answered, by model and status.\n"
		    "# TYPE nn_requests_total counter\n");
	for (size_t i = 0; nn_board_tallied(board, i, &t); i++)
		if (t.status >= 100)
			nn_text_addf(text,
				     "nn_requests_total{model=\"%s\",code=\"%u\"} %" PRIu64 "\n",
				     t.model, t.status, t.n);
}

static void give_family(struct nn_text *text, const char *name, const char *type, const char *help)
{
	nn_text_addf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A number of each model. */
static void give_counts(struct nn_text *text, const struct nn_metrics_model *models, size_t n)
{
	give_family(text, "nn_rows_total", "counter", "Rows that were computed.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "nn_rows_total{model=\"%s\"} %" PRIu64 "\n", models[i].name,
			     models[i].counts.batch_rows);
	give_family(text, "nn_expired_total", "counter",
		    "Rows dropped because the deadline of their request had passed.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "nn_expired_total{model=\"%s\"} %" PRIu64 "\n", models[i].name,
			     models[i].counts.expired_rows);
	give_family(text, "nn_refused_total", "counter",
		    "Requests refused because the queue was full.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "nn_refused_total{model=\"%s\"} %" PRIu64 "\n", models[i].name,
			     models[i].counts.full);
	give_family(text, "nn_queue_rows", "gauge", "Rows that wait to be computed.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "nn_queue_rows{model=\"%s\"} %zu\n", models[i].name,
			     models[i].counts.waiting);
	give_family(text, "nn_dispatch_total", "counter",
		    "Batches, by why they did not wait for more rows.");
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < NN_DISPATCHES; d++)
			nn_text_addf(
				text, "nn_dispatch_total{model=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
				models[i].name, nn_dispatch_names[d], models[i].counts.dispatch[d]);
}

/* Of several devices, what each computed. */
static void give_places(const struct nn_batcher *batcher, struct nn_text *text,
			const struct nn_metrics_model *models, size_t n)
{
	const char *name;

	if (nn_batcher_place(batcher, 0))
		give_family(text, "nn_device_rows_total", "counter", "Rows that a device took.");
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; (name = nn_batcher_place(batcher, d)); d++)
			nn_text_addf(text,
				     "nn_device_rows_total{model=\"%s\",device=\"%s\"} %" PRIu64
				     "\n",
				     models[i].name, name, models[i].counts.place_rows[d]);
}

static void give_histogram(struct nn_text *text, const char *name, const char *model,
			   const uint64_t counts[16], const double bounds[15], double sum)
{
	char number[NN_NUMBER];

	for (size_t i = 0; i < 16; i++) {
		if (i < 15)
			nn_format_f64(number, bounds[i]);
		nn_text_addf(text, "%s_bucket{model=\"%s\",le=\"%s\"} %" PRIu64 "\n", name, model,
			     i < 15 ? number : "+Inf", counts[i]);
	}
	nn_format_f64(number, sum);
	nn_text_addf(text, "%s_sum{model=\"%s\"} %s\n%s_count{model=\"%s\"} %" PRIu64 "\n", name,
		     model, number, name, model, counts[15]);
}

static void give_histograms(struct nn_text *text, const struct nn_metrics_model *models, size_t n)
{
	give_family(text, "nn_queue_seconds", "histogram",
		    "Time a request waits for its first row to be computed.");
	for (size_t i = 0; i < n; i++)
		give_histogram(text, "nn_queue_seconds", models[i].name,
			       models[i].counts.queue_counts, nn_seconds_bounds,
			       models[i].counts.queue_s);
	give_family(text, "nn_compute_seconds", "histogram", "Time a batch takes to compute.");
	for (size_t i = 0; i < n; i++)
		give_histogram(text, "nn_compute_seconds", models[i].name,
			       models[i].counts.compute_counts, nn_seconds_bounds,
			       models[i].counts.compute_s);
	give_family(text, "nn_batch_rows", "histogram", "Rows of a batch.");
	for (size_t i = 0; i < n; i++)
		give_histogram(text, "nn_batch_rows", models[i].name, models[i].counts.rows_counts,
			       nn_rows_bounds, (double)models[i].counts.batch_rows);
}

static void give_reloads(const struct nn_board *board, struct nn_text *text,
			 const struct nn_metrics_model *models, size_t n)
{
	give_family(text, "nn_reload_total", "counter",
		    "Versions read since the start, by what became of them.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text,
			     "nn_reload_total{model=\"%s\",result=\"ok\"} %" PRIu64 "\n"
			     "nn_reload_total{model=\"%s\",result=\"failed\"} %" PRIu64 "\n",
			     models[i].name,
			     nn_board_find(board, models[i].name, NN_TALLY_RELOADED).n,
			     models[i].name, nn_board_find(board, models[i].name, NN_TALLY_BAD).n);
}

static void give_unseen(const struct nn_board *board, struct nn_text *text,
			const struct nn_metrics_model *models, size_t n)
{
	give_family(text, "nn_unseen_total", "counter",
		    "Values of text columns that were not in the training data.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "nn_unseen_total{model=\"%s\"} %" PRIu64 "\n", models[i].name,
			     nn_board_find(board, models[i].name, NN_TALLY_UNSEEN).n);
}

static void give_ranks(struct nn_ranks *ranks, struct nn_text *text)
{
	if (!ranks)
		return;
	give_family(text, "nn_rank_up", "gauge", "Is the process there that has its layers?");
	for (unsigned r = 0; r < nn_ranks_count(ranks); r++)
		nn_text_addf(text, "nn_rank_up{rank=\"%u\"} %d\n", r, nn_ranks_has(ranks, r));
	give_family(text, "nn_rank_batches", "gauge",
		    "Batches that are on their way through the ranks.");
	nn_text_addf(text, "nn_rank_batches %u\n", nn_ranks_under_way(ranks));
}

void nn_metrics_answer(struct nn_query *q)
{
	struct nn_protocol *p = q->protocol;
	struct nn_text *text = &q->exchange->answer;
	size_t n = nn_models_count(p->models);
	struct nn_metrics_model *models = nn_alloc(n, sizeof *models, &q->error);
	char number[NN_NUMBER];

	if (!models) {
		nn_query_refuse(q);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		models[i].name = nn_models_name(p->models, i);
		nn_board_count(p->board, p->batcher, models[i].name, &models[i].counts);
	}
	give_requests(p->board, text);
	give_counts(text, models, n);
	give_places(p->batcher, text, models, n);
	give_histograms(text, models, n);
	give_reloads(p->board, text, models, n);
	give_unseen(p->board, text, models, n);
	give_ranks(p->ranks, text);
	give_family(text, "nn_uptime_seconds", "gauge", "Time since the start.");
	nn_format_f64(number, nn_now_s() - p->board->began);
	nn_text_addf(text, "nn_uptime_seconds %s\n", number);
	if (p->triton_metrics)
		nn_metrics_triton(p, text);
	nn_free(models);
	nn_query_answer(q, 200, "text/plain; version=0.0.4");
}
