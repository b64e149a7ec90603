/* What is said of a model: its versions and their states, its signature. */
#include <inttypes.h>
#include <string.h>

#include "base/json-text.h"
#include "serve/protocol/health.h"
#include "serve/protocol/v1.h"
#include "serve/ranks/ranks.h"

#define MOST_VERSIONS 256

/* In the words of TensorFlow's status. */
static const char *error_code(enum nn_code code)
{
	switch (code) {
	case NN_OK:
		return "OK";
	case NN_ERANK:
		return "UNAVAILABLE";
	case NN_ENOMEM:
		return "RESOURCE_EXHAUSTED";
	default:
		return "INVALID_ARGUMENT";
	}
}

/* A model of which a rank had a part is there, and cannot be served. */
static void give_version(struct nn_query *q, uint64_t version, enum nn_models_state state)
{
	struct nn_text *text = &q->exchange->answer;
	bool lost = state == NN_MODEL_AVAILABLE && nn_ranks_lost(q->protocol->ranks);
	struct nn_error wrong = { 0 };
	static const char *const names[] = {
		[NN_MODEL_LOADING] = "LOADING",
		[NN_MODEL_AVAILABLE] = "AVAILABLE",
		[NN_MODEL_UNLOADING] = "UNLOADING",
		[NN_MODEL_END] = "END",
	};

	if (lost)
		nn_fail(&wrong, NN_ERANK, NN_RANKS_LOST);
	else if (state == NN_MODEL_END)
		nn_query_wrong(q, q->named.name, version, &wrong);
	nn_json_put(text, "{");
	nn_text_addf(text,
		     "\"version\":\"%" PRIu64 "\",\"state\":\"%s\","
		     "\"status\":{\"error_code\":\"%s\"",
		     version, names[lost ? NN_MODEL_END : state], error_code(wrong.code));
	nn_json_add_string(text, "error_message", wrong.text);
	nn_text_add(text, "}}");
}

static bool any_serves(const enum nn_models_state *states, size_t n)
{
	bool serves = false;

	for (size_t i = 0; i < n && i < MOST_VERSIONS; i++)
		serves |= states[i] == NN_MODEL_AVAILABLE;
	return serves;
}

/* A version that was asked for, or all there are. */
void nn_v1_status(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;
	bool one = q->named.version || q->named.label;
	enum nn_models_state states[MOST_VERSIONS];
	uint64_t versions[MOST_VERSIONS];
	size_t n = 0;
	bool ready;

	if (!one)
		n = nn_models_versions(q->protocol->models, q->named.name, versions, states,
				       MOST_VERSIONS);
	if (n == 0 && nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(text, "{\"model_version_status\":[");
	if (n == 0)
		give_version(q, q->served->version, NN_MODEL_AVAILABLE);
	for (size_t i = 0; i < n && i < MOST_VERSIONS; i++)
		give_version(q, versions[i], states[i]);
	nn_text_add(text, "]");
	nn_json_add_string(text, "name", q->named.name);
	ready = (n == 0 || any_serves(states, n)) && !nn_health_is_away(q->protocol);
	nn_json_add(text, "ready", ready ? "true" : "false");
	nn_text_add(text, "}\n");
	nn_query_answer_json(q);
}

/* ---- metadata ---- */

static void give_port(struct nn_text *text, const struct nn_port *port)
{
	nn_json_add_key(text, port->name);
	nn_text_addf(text,
		     "{\"dtype\":\"%s\",\"tensor_shape\":{\"dim\":[{\"size\":\"-1\",\"name\":\"\"}",
		     port->text ? "DT_STRING" : "DT_FLOAT");
	if (port->steps)
		nn_text_add(text, ",{\"size\":\"-1\",\"name\":\"\"}");
	for (int i = port->steps > 0; port->fixed && i < port->shape.rank; i++)
		nn_text_addf(text, ",{\"size\":\"%zu\",\"name\":\"\"}", port->shape.dim[i]);
	nn_text_add(text, "],\"unknown_rank\":false}");
	nn_json_add_string(text, "name", port->name);
	nn_text_add(text, "}");
}

static void give_ports(struct nn_text *text, const char *key, const struct nn_port *ports, size_t n)
{
	nn_json_add_key(text, key);
	nn_text_add(text, "{");
	for (size_t i = 0; i < n; i++)
		give_port(text, &ports[i]);
	nn_text_add(text, "}");
}

void nn_v1_metadata(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;

	if (nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(text, "{\"model_spec\":{");
	nn_json_add_string(text, "name", q->named.name);
	nn_text_addf(text,
		     ",\"signature_name\":\"\",\"version\":\"%" PRIu64
		     "\"},\"metadata\":{\"signature_def\":"
		     "{\"signature_def\":{\"serving_default\":{",
		     q->served->version);
	give_ports(text, "inputs", q->served->inputs, q->served->n_inputs);
	give_ports(text, "outputs", q->served->outputs, q->served->n_outputs);
	nn_json_add_string(text, "method_name", "tensorflow/serving/predict");
	nn_text_add(text, "}}}}}\n");
	nn_query_answer_json(q);
}
