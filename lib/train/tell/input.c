/* The input of a training, in notes and in its log. */
#include "base/json-text.h"
#include "base/log.h"
#include "data/ahead/verdict.h"
#include "train/tell/input.h"

static void note(const struct nn_train *t, struct nn_text *text)
{
	if (!text->failed)
		nn_tell_note(&t->told, "%s", text->data);
	nn_text_clear(text);
}

/* Share of the time that this process took to fill batches, of rows that lie in memory. */
static double fill_share(const struct nn_train *t)
{
	double all = t->worker.input_s + t->worker.compute_s + t->worker.comm_s + t->worker.wait_s;

	return all > 0 ? t->worker.input_s / all : 0;
}

void nn_tell_input(const struct nn_train *t)
{
	struct nn_ahead *ahead = t->loader.ahead;
	struct nn_text text = { 0 };

	for (size_t i = 0; ahead && i <= nn_stages_count(nn_ahead_stages(ahead)); i++) {
		nn_text_add(&text, "input: ");
		nn_ahead_line(ahead, i, &text);
		note(t, &text);
	}
	if (ahead)
		nn_ahead_sentence(ahead, &text);
	else
		nn_text_addf(&text, "input: %.1f %% of the time of steps, of samples %s: %s",
			     100 * fill_share(t),
			     t->loader.options.source.ops->stages ? "that are read in them"
								  : "that lie in memory",
			     fill_share(t) > NN_INPUT_BOUND ? "input-bound" : "compute-bound");
	note(t, &text);
	nn_text_free(&text);
}

static void add_stage(struct nn_text *json, const struct nn_stage_figures *s)
{
	nn_json_put(json, "{");
	nn_json_add_string(json, "stage", s->name);
	nn_json_add_count(json, "workers", (uint64_t)s->workers);
	nn_json_add_count(json, "most", (uint64_t)s->most);
	nn_json_add_real(json, "busy", s->busy);
	nn_json_add_real(json, "queue", s->queue);
	nn_json_add_real(json, "sample_s", s->row_s);
	nn_json_add_real(json, "samples_per_s", s->rows_per_s);
	nn_text_add(json, "}");
}

static void log_stages(const struct nn_train *t)
{
	struct nn_stages *stages = nn_ahead_stages(t->loader.ahead);
	struct nn_text json = { 0 };

	nn_json_put(&json, "[");
	for (size_t i = 0; i < nn_stages_count(stages); i++) {
		struct nn_stage_figures s = nn_stages_figures(stages, i);

		add_stage(&json, &s);
	}
	nn_text_add(&json, "]");
	nn_log_json(t->told.log, "stages", json.failed ? "null" : json.data);
	nn_text_free(&json);
}

void nn_event_input(const struct nn_train *t)
{
	struct nn_log *log = t->told.log;
	struct nn_ahead_verdict verdict;
	struct nn_ahead_figures f;

	if (!nn_log_wanted(log) || !t->loader.ahead)
		return;
	verdict = nn_ahead_judge(t->loader.ahead);
	f = nn_ahead_figures(t->loader.ahead);
	nn_log_begin(log, "input");
	nn_log_string(log, "verdict", verdict.input_bound ? "input-bound" : "compute-bound");
	nn_log_string(log, "stage", verdict.slowest.name);
	nn_log_real(log, "wait_share", verdict.wait_share);
	nn_log_real(log, "predicted_samples_per_s", f.predicted);
	nn_log_real(log, "samples_per_s", f.achieved);
	nn_log_count(log, "batches", f.batches);
	nn_log_count(log, "bytes", f.bytes);
	log_stages(t);
	nn_log_end(log);
}
