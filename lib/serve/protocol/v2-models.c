/* What is said of the server and its models: metadata, configuration, readiness. */
#include "config.h"
#include <inttypes.h>

#include "base/json-text.h"
#include "serve/protocol/health.h"
#include "serve/protocol/v2.h"

#define MOST_VERSIONS 256

void nn_v2_server(struct nn_query *q)
{
	nn_text_add(&q->exchange->answer,
		    "{\"name\":\"nn-serve\",\"version\":\"" PACKAGE_VERSION "\",\"extensions\":["
		    "\"binary_tensor_data\",\"classification\",\"model_configuration\",\"model_"
		    "repository\","
		    "\"model_repository(unload_dependents)\",\"parameters\",\"statistics\"]}\n");
	nn_query_answer_json(q);
}

/* Those whose files are gone have no versions. */
void nn_v2_list(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;
	struct nn_models *models = q->protocol->models;
	enum nn_models_state state;
	uint64_t version;

	nn_text_add(text, "{\"models\":[");
	for (size_t i = 0; i < nn_models_count(models); i++) {
		const char *name = nn_models_name(models, i);

		if (nn_models_versions(models, name, &version, &state, 1) > 0)
			nn_json_put_string(text, name);
	}
	nn_text_add(text, "]}\n");
	nn_query_answer_json(q);
}

/* ---- metadata ---- */

static void give_dims(struct nn_text *text, const struct nn_port *port)
{
	for (int i = 0; port->fixed && i < port->shape.rank; i++)
		if (i == 0 && port->steps)
			nn_json_put(text, "-1");
		else
			nn_json_put_count(text, port->shape.dim[i]);
}

static void give_ports(struct nn_text *text, const char *key, const struct nn_port *ports, size_t n)
{
	nn_json_add(text, key, "[");
	for (size_t i = 0; i < n; i++) {
		nn_json_put(text, "{");
		nn_json_add_string(text, "name", ports[i].name);
		nn_json_add_string(text, "datatype", ports[i].text ? "BYTES" : "FP32");
		nn_json_add(text, "shape", "[-1");
		give_dims(text, &ports[i]);
		nn_text_add(text, "]}");
	}
	nn_text_add(text, "]");
}

static void give_versions(struct nn_query *q, struct nn_text *text)
{
	enum nn_models_state states[MOST_VERSIONS];
	uint64_t versions[MOST_VERSIONS];
	size_t n = nn_models_versions(q->protocol->models, q->named.name, versions, states,
				      MOST_VERSIONS);
	bool comma = false;

	nn_json_add(text, "versions", "[");
	for (size_t i = 0; i < n && i < MOST_VERSIONS; i++)
		if (states[i] == NN_MODEL_AVAILABLE) {
			nn_text_addf(text, "%s\"%" PRIu64 "\"", comma ? "," : "", versions[i]);
			comma = true;
		}
	if (!comma) /* a null model has those of the other */
		nn_text_addf(text, "\"%" PRIu64 "\"", q->served->version);
	nn_text_add(text, "]");
}

void nn_v2_metadata(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;

	if (nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(text, "{");
	nn_json_add_string(text, "name", q->named.name);
	give_versions(q, text);
	nn_json_add_string(text, "platform", "nntools");
	give_ports(text, "inputs", q->served->inputs, q->served->n_inputs);
	give_ports(text, "outputs", q->served->outputs, q->served->n_outputs);
	nn_text_add(text, "}\n");
	nn_query_answer_json(q);
}

void nn_v2_ready(struct nn_query *q)
{
	bool away = nn_health_is_away(q->protocol);

	if (nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(&q->exchange->answer, "{");
	nn_json_add_string(&q->exchange->answer, "name", q->named.name);
	nn_json_add(&q->exchange->answer, "ready", away ? "false" : "true");
	nn_text_add(&q->exchange->answer, "}\n");
	nn_query_answer(q, away ? 503 : 200, "application/json");
}

/* ---- configuration, in Triton's words ---- */

static void give_config_ports(struct nn_text *text, const char *key, const struct nn_port *ports,
			      size_t n)
{
	nn_json_add(text, key, "[");
	for (size_t i = 0; i < n; i++) {
		nn_json_put(text, "{");
		nn_json_add_string(text, "name", ports[i].name);
		nn_json_add_string(text, "data_type", ports[i].text ? "TYPE_STRING" : "TYPE_FP32");
		nn_json_add(text, "dims", "[");
		give_dims(text, &ports[i]);
		if (!ports[i].fixed)
			nn_json_put_count(text, 1);
		nn_text_add(text, "]}");
	}
	nn_text_add(text, "]");
}

void nn_v2_config(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;

	if (nn_query_find(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	nn_text_add(text, "{");
	nn_json_add_string(text, "name", q->named.name);
	nn_json_add_string(text, "platform", "nntools");
	nn_json_add_string(text, "backend", "nntools");
	nn_json_add_count(text, "max_batch_size", q->protocol->max_batch);
	give_config_ports(text, "input", q->served->inputs, q->served->n_inputs);
	give_config_ports(text, "output", q->served->outputs, q->served->n_outputs);
	nn_json_add(text, "dynamic_batching", "{}");
	nn_text_add(text, "}\n");
	nn_query_answer_json(q);
}
