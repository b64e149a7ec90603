/* Prometheus text format 0.0.4: families one after another, each with its help and type. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "serve/protocol/metrics.h"

#define MOST_VERSIONS 256

/* ---- counts of requests ---- */

static struct nn_tally *find_tally(struct nn_tally *tallies, size_t n, const char *model,
				   unsigned status)
{
	for (size_t i = 0; i < n; i++)
		if (tallies[i].status == status && strcmp(tallies[i].model, model) == 0)
			return &tallies[i];
	return NULL;
}

/* The tally of a list, which grows; NULL: memory is out. */
static struct nn_tally *get_tally(struct nn_tally **tallies, size_t *n, size_t *room,
				  const char *model, unsigned status)
{
	struct nn_tally *t = find_tally(*tallies, *n, model, status);

	if (t)
		return t;
	if (*n == *room) {
		t = realloc(*tallies, (*room + 16) * sizeof *t);
		if (!t)
			return NULL;
		*tallies = t;
		*room += 16;
	}
	t = &(*tallies)[(*n)++];
	*t = (struct nn_tally){ .status = status };
	memccpy(t->model, model, '\0', sizeof t->model - 1);
	return t;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void nn_metrics_tally(struct nn_protocol *p, unsigned loop, const char *model, unsigned status,
		      bool computed)
{
	struct nn_desk *desk = &p->desks[loop % p->n_desks];
	uint64_t now = milliseconds();
	struct nn_tally *t;

	if (p->board) {
		nn_board_tally(p->board, model, status, computed ? now : 0);
		return;
	}
	pthread_mutex_lock(&desk->lock);
	t = get_tally(&desk->tallies, &desk->n_tallies, &desk->tallies_room, model, status);
	if (t) {
		t->n++;
		if (computed)
			t->last = now;
	}
	pthread_mutex_unlock(&desk->lock);
}

uint64_t nn_metrics_last(struct nn_protocol *p, const char *model)
{
	uint64_t last = 0;

	if (p->board)
		return nn_board_find(p->board, model, 200).last;
	for (unsigned i = 0; i < p->n_desks; i++) {
		struct nn_tally *t;

		pthread_mutex_lock(&p->desks[i].lock);
		t = find_tally(p->desks[i].tallies, p->desks[i].n_tallies, model, 200);
		last = t && t->last > last ? t->last : last;
		pthread_mutex_unlock(&p->desks[i].lock);
	}
	return last;
}

static void give_tally(struct nn_text *text, const struct nn_tally *t)
{
	if (t->status >= 100)
		nn_text_addf(text, "nn_requests_total{model=\"%s\",code=\"%u\"} %" PRIu64 "\n",
			     t->model, t->status, t->n);
}

static void give_requests(struct nn_protocol *p, struct nn_text *text)
{
	struct nn_tally *all = NULL, *sum, shared;
	size_t n = 0, room = 0;

	for (unsigned i = 0; i < p->n_desks; i++) {
		const struct nn_desk *desk = &p->desks[i];

		pthread_mutex_lock(&p->desks[i].lock);
		for (size_t k = 0; k < desk->n_tallies; k++) {
			const struct nn_tally *t = &desk->tallies[k];

			sum = get_tally(&all, &n, &room, t->model, t->status);
			if (sum)
				sum->n += t->n;
		}
		pthread_mutex_unlock(&p->desks[i].lock);
	}
	nn_text_add(text,
		    "# HELP nn_requests_total Requests that were answered, by model and status.\n"
		    "# TYPE nn_requests_total counter\n");
	for (size_t i = 0; i < n; i++)
		give_tally(text, &all[i]);
	for (size_t i = 0; p->board && nn_board_tallied(p->board, i, &shared); i++)
		give_tally(text, &shared);
	free(all);
}

/* ---- counts of lanes ---- */

static void count_model(struct nn_models *models, struct nn_metrics_model *m)
{
	enum nn_models_state states[MOST_VERSIONS];
	uint64_t versions[MOST_VERSIONS];
	size_t n = nn_models_versions(models, m->name, versions, states, MOST_VERSIONS);

	for (size_t i = 0; i < n && i < MOST_VERSIONS; i++) {
		struct nn_served *served =
			nn_models_find(models, m->name, strlen(m->name), versions[i], NULL, NULL);
		struct nn_lane_counts counts;

		if (!served)
			continue;
		nn_lane_count(served->lane, &counts);
		nn_lane_counts_add(&m->counts, &counts);
		nn_served_release(served);
	}
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
		    "Requests dropped because their deadline had passed.");
	for (size_t i = 0; i < n; i++)
		nn_text_addf(text, "nn_expired_total{model=\"%s\"} %" PRIu64 "\n", models[i].name,
			     models[i].counts.expired);
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

static void give_reloads(struct nn_protocol *p, struct nn_text *text,
			 const struct nn_metrics_model *models, size_t n)
{
	give_family(text, "nn_reload_total", "counter",
		    "Versions read since the start, by what became of them.");
	for (size_t i = 0; i < n; i++) {
		uint64_t good = 0, bad = 0;

		if (p->board) {
			good = nn_board_find(p->board, models[i].name, NN_TALLY_RELOADED).n;
			bad = nn_board_find(p->board, models[i].name, NN_TALLY_BAD).n;
		} else {
			nn_models_reloads(p->models, models[i].name, &good, &bad);
		}
		nn_text_addf(text,
			     "nn_reload_total{model=\"%s\",result=\"ok\"} %" PRIu64 "\n"
			     "nn_reload_total{model=\"%s\",result=\"failed\"} %" PRIu64 "\n",
			     models[i].name, good, models[i].name, bad);
	}
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
		count_model(p->models, &models[i]);
	}
	give_requests(p, text);
	give_counts(text, models, n);
	give_histograms(text, models, n);
	give_reloads(p, text, models, n);
	give_family(text, "nn_uptime_seconds", "gauge", "Time since the start.");
	nn_format_f64(number, nn_now_s() - p->began);
	nn_text_addf(text, "nn_uptime_seconds %s\n", number);
	if (p->triton_metrics)
		nn_metrics_triton(text, models, n);
	nn_free(models);
	nn_query_answer(q, 200, "text/plain; version=0.0.4");
}
