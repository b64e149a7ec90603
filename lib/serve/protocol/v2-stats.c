/* Statistics in Triton's words, and why batches are what they are. */
#include <inttypes.h>
#include <string.h>

#include "base/json-text.h"
#include "serve/protocol/metrics.h"
#include "serve/protocol/v2.h"

#define MOST_VERSIONS 256

static void give_duration(struct nn_text *text, const char *key, uint64_t count, double seconds)
{
	nn_json_add(text, key, "{");
	nn_json_add_count(text, "count", count);
	nn_json_add_count(text, "ns", (uint64_t)(seconds * 1e9));
	nn_text_add(text, "}");
}

static void give_stats(struct nn_query *q, const char *name, uint64_t version,
		       const struct nn_lane *lane)
{
	struct nn_text *text = &q->exchange->answer;
	struct nn_lane_counts c;
	uint64_t failed, good;

	nn_lane_count(lane, &c);
	failed = c.expired + c.failed;
	good = c.requests > failed ? c.requests - failed : 0;
	failed += c.full;
	nn_json_put(text, "{");
	nn_json_add_string(text, "name", name);
	nn_json_add_key(text, "version");
	nn_text_addf(text, "\"%" PRIu64 "\"", version);
	nn_json_add_count(text, "last_inference", nn_metrics_last(q->protocol->board, name));
	nn_json_add_count(text, "inference_count", c.batch_rows);
	nn_json_add_count(text, "execution_count", c.batches);
	nn_json_add(text, "inference_stats", "{");
	give_duration(text, "success", good, c.queue_s + c.compute_s);
	give_duration(text, "fail", failed, 0);
	give_duration(text, "queue", good, c.queue_s);
	give_duration(text, "compute_input", good, 0);
	give_duration(text, "compute_infer", good, c.compute_s);
	give_duration(text, "compute_output", good, 0);
	give_duration(text, "cache_hit", 0, 0);
	give_duration(text, "cache_miss", 0, 0);
	nn_text_add(text, "},\"response_stats\":{},\"batch_stats\":[],\"memory_usage\":[]}");
}

/* All versions of a model that serve. */
static void give_model(struct nn_query *q, const char *name)
{
	enum nn_models_state states[MOST_VERSIONS];
	uint64_t versions[MOST_VERSIONS];
	struct nn_models *models = q->protocol->models;
	size_t n = nn_models_versions(models, name, versions, states, MOST_VERSIONS);

	for (size_t i = 0; i < n && i < MOST_VERSIONS; i++) {
		struct nn_served *served =
			nn_models_find(models, name, strlen(name), versions[i], NULL, NULL);

		if (served)
			give_stats(q, name, versions[i], served->lane);
		nn_served_release(served);
	}
}

void nn_v2_stats(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;

	if (q->named.name && nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(text, "{\"model_stats\":[");
	if (q->named.version || (q->served && q->served->null))
		give_stats(q, q->named.name, q->served->version, q->served->lane);
	else if (q->named.name)
		give_model(q, q->named.name);
	for (size_t i = 0; !q->named.name && i < nn_models_count(q->protocol->models); i++)
		give_model(q, nn_models_name(q->protocol->models, i));
	nn_text_add(text, "]}\n");
	nn_query_answer_json(q);
}

void nn_v2_explain(struct nn_query *q)
{
	struct nn_text sentence = { 0 };

	if (nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_lane_explain(q->served->lane, &sentence);
	nn_text_add(&q->exchange->answer, "{");
	nn_json_add_string(&q->exchange->answer, "explain", sentence.failed ? "" : sentence.data);
	nn_text_add(&q->exchange->answer, "}\n");
	nn_text_free(&sentence);
	nn_query_answer_json(q);
}
