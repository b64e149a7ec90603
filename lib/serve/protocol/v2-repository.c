/* Administration: which models there are, reading one anew, taking one away. */
#include <inttypes.h>
#include <string.h>

#include "base/json-text.h"
#include "base/thread.h"
#include "serve/leash.h"
#include "serve/protocol/v2.h"

#define MOST_VERSIONS 256

/* ---- bodies ---- */

static int take_ready(struct nn_query *q, bool *ready)
{
	enum nn_pull_kind kind;

	if (!nn_pull_is(&q->pull, "ready"))
		return nn_pull_skip(&q->pull);
	kind = nn_pull_next(&q->pull);
	if (kind != NN_PULL_TRUE && kind != NN_PULL_FALSE)
		return nn_pull_fail(&q->pull, "expected true or false");
	*ready = kind == NN_PULL_TRUE;
	return 0;
}

/* What a client would have a model loaded from: nothing but what was named at the start. */
static int take_parameters(struct nn_query *q, bool *unused)
{
	enum nn_pull_kind kind;

	(void)unused;
	if (!nn_pull_is(&q->pull, "parameters"))
		return nn_pull_skip(&q->pull);
	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull, "expected an object");
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY) {
		if (!nn_pull_is(&q->pull, "unload_dependents"))
			return nn_pull_fail(&q->pull,
					    "models are read from the files named at the start; "
					    "requests cannot configure them");
		if (nn_pull_skip(&q->pull) < 0)
			return -1;
	}
	return kind == NN_PULL_BAD ? -1 : 0;
}

/* No body, or an object whose members go to `take`. */
static int parse(struct nn_query *q, int (*take)(struct nn_query *q, bool *flag), bool *flag)
{
	enum nn_pull_kind kind;

	if (q->exchange->bytes == 0)
		return 0;
	nn_query_pull(q, q->exchange->bytes, false);
	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull, "expected an object");
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY)
		if (take(q, flag) < 0)
			return -1;
	return kind == NN_PULL_BAD || nn_pull_next(&q->pull) != NN_PULL_END ? -1 : 0;
}

/* ---- index ---- */

static void give_entry(struct nn_text *text, const char *name, uint64_t version, const char *state,
		       const char *reason)
{
	nn_json_put(text, "{");
	nn_json_add_string(text, "name", name);
	if (version)
		nn_text_addf(text, ",\"version\":\"%" PRIu64 "\"", version);
	nn_json_add_string(text, "state", state);
	nn_json_add_string(text, "reason", reason);
	nn_text_add(text, "}");
}

static void give_model(struct nn_query *q, const char *name, bool ready)
{
	static const char *const words[] = { [NN_MODEL_LOADING] = "LOADING",
					     [NN_MODEL_AVAILABLE] = "READY",
					     [NN_MODEL_UNLOADING] = "UNLOADING",
					     [NN_MODEL_END] = "UNAVAILABLE" };
	struct nn_text *text = &q->exchange->answer;
	enum nn_models_state states[MOST_VERSIONS];
	uint64_t versions[MOST_VERSIONS];
	size_t n = nn_models_versions(q->protocol->models, name, versions, states, MOST_VERSIONS);

	if (n == 0 && !ready)
		give_entry(text, name, 0, "UNAVAILABLE", "");
	for (size_t i = 0; i < n && i < MOST_VERSIONS; i++) {
		struct nn_error wrong = { 0 };

		if (states[i] == NN_MODEL_END)
			nn_query_wrong(q, name, versions[i], &wrong);
		if (!ready || states[i] == NN_MODEL_AVAILABLE)
			give_entry(text, name, versions[i], words[states[i]], wrong.text);
	}
}

void nn_v2_index(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;
	bool ready = false;

	if (parse(q, take_ready, &ready) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(text, "[");
	for (size_t i = 0; i < nn_models_count(q->protocol->models); i++)
		give_model(q, nn_models_name(q->protocol->models, i), ready);
	nn_text_add(text, "]\n");
	nn_query_answer_json(q);
}

/* ---- load, unload: they take their time, so that no loop waits for them ---- */

static void finish(struct nn_query *q, int status)
{
	if (status < 0) {
		nn_query_cut_paths(q->error.text);
		q->status = q->error.code == NN_ENOMEM ? 503 : 400;
		nn_query_refuse(q);
		return;
	}
	nn_text_add(&q->exchange->answer, "{}\n");
	nn_query_answer_json(q);
}

static void *load(void *arg)
{
	struct nn_query *q = arg;
	struct nn_protocol *p = q->protocol;

	finish(q, p->leash ? nn_leash_ask(p->leash, q->named.name, true, &q->error)
			   : nn_models_reload(p->models, q->named.name, &q->error));
	atomic_fetch_sub(&p->loading, 1);
	return NULL;
}

static void *unload(void *arg)
{
	struct nn_query *q = arg;
	struct nn_protocol *p = q->protocol;

	finish(q, p->leash ? nn_leash_ask(p->leash, q->named.name, false, &q->error)
			   : nn_models_unload(p->models, q->named.name, &q->error));
	atomic_fetch_sub(&p->loading, 1);
	return NULL;
}

/* Models that are not there are found before a thread is made for them. */
static bool is_listed(struct nn_query *q)
{
	for (size_t i = 0; i < nn_models_count(q->protocol->models); i++)
		if (strcmp(nn_models_name(q->protocol->models, i), q->named.name) == 0)
			return true;
	return false;
}

static void begin(struct nn_query *q, void *(*run)(void *arg))
{
	char quoted[NN_QUOTED];
	pthread_t thread;
	bool unused;

	if (!is_listed(q)) {
		nn_query_fail(q, 404, "no model is called %s",
			      nn_quote(quoted, q->named.name, strlen(q->named.name)));
		nn_query_refuse(q);
		return;
	}
	if (parse(q, take_parameters, &unused) < 0) {
		nn_query_refuse(q);
		return;
	}
	atomic_fetch_add(&q->protocol->loading, 1);
	if (nn_thread_start(&thread, 0, run, q, "models", &q->error) < 0) {
		atomic_fetch_sub(&q->protocol->loading, 1);
		q->status = 503;
		nn_query_refuse(q);
		return;
	}
	pthread_detach(thread);
}

void nn_v2_load(struct nn_query *q)
{
	begin(q, load);
}

void nn_v2_unload(struct nn_query *q)
{
	begin(q, unload);
}
