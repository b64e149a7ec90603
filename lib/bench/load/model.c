/* Questions to a server, one at a time, and what its JSON says. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/load/client.h"
#include "bench/load/model.h"
#include "file/json/json.h"

#define MOST_ANSWER ((size_t)1 << 20) /* bytes of metadata */
#define MOST_INPUTS 65536

/* ---- a question ---- */

struct question {
	bool ended;
	int status;
	size_t got;
	char why[160];
};

static void take_answer(void *arg, const struct nn_load_done *done)
{
	struct question *q = arg;

	q->ended = true;
	if (done->answer) {
		q->status = done->answer->status;
		q->got = done->answer->got;
	} else
		snprintf(q->why, sizeof q->why, "%s", done->why);
}

/* One request on a connection of its own; its body, NUL-terminated, in body[MOST_ANSWER + 1]. */
static int ask(const struct nn_load_server *s, const char *method, const char *path, double timeout,
	       char *body, struct question *q, struct nn_error *err)
{
	struct nn_text text = { 0 };
	struct nn_load_client *client = NULL;
	int status = -1;

	*q = (struct question){ 0 };
	nn_text_addf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n", method, path,
		     s->host, s->headers);
	nn_text_add(&text, strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n\r\n" : "\r\n");
	if (text.failed)
		nn_fail(err, NN_ENOMEM, "out of memory for a request");
	else if (nn_load_client_new(&client, s, 1, timeout, take_answer, q, err) == 0) {
		struct nn_load_call call = { text.data, text.length, nn_now_s(), body,
					     MOST_ANSWER };

		nn_load_client_call(client, &call);
		status = 0;
		while (status == 0 && !q->ended)
			status = nn_load_client_wait(client, nn_now_s() + 1, err);
	}
	if (status == 0 && *q->why)
		status = nn_fail(err, NN_EFAIL, "%s: %s", s->url, q->why);
	body[q->got] = '\0';
	nn_load_client_free(client);
	nn_text_free(&text);
	return status;
}

/* The JSON of a question's answer, or NULL; *found is its status. */
static struct nn_json *ask_json(const struct nn_load_server *s, const char *method,
				const char *path, double timeout, int *found, struct nn_error *err)
{
	char *body = nn_alloc(1, MOST_ANSWER + 1, err), line[120];
	struct nn_json *json = NULL;
	struct question q;

	*found = 0;
	if (body && ask(s, method, path, timeout, body, &q, err) == 0) {
		*found = q.status;
		if (q.status != 200)
			nn_fail(err, NN_EFAIL, "%s: %s: status %d: %s", s->url, path, q.status,
				nn_one_line(line, sizeof line, body));
		else if (q.got == MOST_ANSWER)
			nn_fail(err, NN_EFAIL, "%s: %s: the answer has more than %zu bytes", s->url,
				path, MOST_ANSWER);
		else if (!(json = nn_json_parse(body, q.got, err)))
			nn_fail_at(err, "%s: %s", s->url, path);
	}
	nn_free(body);
	return json;
}

/* ---- which model ---- */

/* "a", {"name":"a"} */
static const char *name_of(const struct nn_json *entry)
{
	return nn_json_string(
		nn_json_type(entry) == NN_JSON_OBJECT ? nn_json_get(entry, "name") : entry, NULL);
}

/* The only name of a list, whichever form it has: [...], {"models":[...]}. */
static int only_name(struct nn_load_model *m, const struct nn_load_server *s,
		     const struct nn_json *json, struct nn_error *err)
{
	const struct nn_json *list =
		nn_json_type(json) == NN_JSON_OBJECT ? nn_json_get(json, "models") : json;
	size_t n = nn_json_type(list) == NN_JSON_ARRAY ? nn_json_size(list) : 0, different = 0;
	struct nn_text names = { 0 };
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = name_of(nn_json_at(list, i));

		if (!name || (m->name && strcmp(name, m->name) == 0))
			continue;
		nn_text_addf(&names, "%s%s", different++ ? ", " : "", name);
		if (!m->name && !(m->name = nn_strdup(name, err)))
			status = -1;
	}
	if (status == 0 && different != 1)
		status = nn_fail(
			err, different ? NN_EUSAGE : NN_EFAIL,
			different ? "%s: several models are there, --model=NAME says which: %s"
				  : "%s: no model is there%s",
			s->url, different ? names.data : "");
	nn_text_free(&names);
	return status;
}

/* By GET /v2/models, or the index of the repository where there is no such list. */
static int find_only(struct nn_load_model *m, const struct nn_load_server *s, double timeout,
		     struct nn_error *err)
{
	struct nn_error first;
	int found, status = -1;
	struct nn_json *json = ask_json(s, "GET", "/v2/models", timeout, &found, &first);

	if (!json && found != 0 && found != 200)
		json = ask_json(s, "POST", "/v2/repository/index", timeout, &found, err);
	else if (!json)
		*err = first;
	if (json)
		status = only_name(m, s, json, err);
	nn_json_free(json);
	return status;
}

/* ---- its inputs ---- */

static const struct nn_load_datatype datatypes[] = {
	{ "BOOL", NN_LOAD_BOOL, 1 },    { "UINT8", NN_LOAD_WHOLE, 1 },
	{ "UINT16", NN_LOAD_WHOLE, 2 }, { "UINT32", NN_LOAD_WHOLE, 4 },
	{ "UINT64", NN_LOAD_WHOLE, 8 }, { "INT8", NN_LOAD_WHOLE, 1 },
	{ "INT16", NN_LOAD_WHOLE, 2 },  { "INT32", NN_LOAD_WHOLE, 4 },
	{ "INT64", NN_LOAD_WHOLE, 8 },  { "FP16", NN_LOAD_HALF, 2 },
	{ "BF16", NN_LOAD_HALF, 2 },    { "FP32", NN_LOAD_FLOAT, 4 },
	{ "FP64", NN_LOAD_FLOAT, 8 },   { "BYTES", NN_LOAD_BYTES, 0 },
};

static int take_datatype(struct nn_load_input *in, const struct nn_json *json, struct nn_error *err)
{
	const char *name = nn_json_string(json, NULL);
	char quoted[NN_QUOTED];

	for (size_t i = 0; name && i < sizeof datatypes / sizeof *datatypes; i++)
		if (strcmp(name, datatypes[i].name) == 0)
			in->datatype = &datatypes[i];
	if (in->datatype)
		return 0;
	return nn_fail(err, NN_EFAIL, "input %s: unknown datatype %s", in->name,
		       name ? nn_quote(quoted, name, strlen(name)) : "");
}

static int take_shape(struct nn_load_input *in, const struct nn_json *json, struct nn_error *err)
{
	size_t n = nn_json_type(json) == NN_JSON_ARRAY ? nn_json_size(json) : 0;
	size_t first = n > 0 && nn_json_integer(nn_json_at(json, 0)) == -1;

	if (n - first > NN_LOAD_DIMS)
		return nn_fail(err, NN_EFAIL, "input %s: its shape has more than %d dimensions",
			       in->name, NN_LOAD_DIMS);
	in->one = first == 0;
	in->values = 1;
	for (size_t i = first; i < n; i++) {
		const struct nn_json *value = nn_json_at(json, i);
		int64_t size = nn_json_whole(value) ? nn_json_integer(value) : 0;

		size = size == -1 ? 1 : size;
		if (size < 1)
			return nn_fail(err, NN_EFAIL, "input %s: expected sizes in its shape",
				       in->name);
		if (!nn_mul(in->values, (size_t)size, &in->values) || in->values > NN_LOAD_VALUES)
			return nn_fail(err, NN_EFAIL, "input %s: a row has more than %zu values",
				       in->name, NN_LOAD_VALUES);
		in->dims[in->n++] = (uint64_t)size;
	}
	return 0;
}

static int take_input(struct nn_load_input *in, const struct nn_json *json, struct nn_error *err)
{
	const char *name = nn_json_string(nn_json_get(json, "name"), NULL);

	if (!name)
		return nn_fail(err, NN_EFAIL, "an input has no name");
	if (!(in->name = nn_strdup(name, err)))
		return -1;
	if (take_datatype(in, nn_json_get(json, "datatype"), err) < 0)
		return -1;
	return take_shape(in, nn_json_get(json, "shape"), err);
}

static int take_inputs(struct nn_load_model *m, const struct nn_json *list, struct nn_error *err)
{
	size_t n = nn_json_type(list) == NN_JSON_ARRAY ? nn_json_size(list) : 0, values = 0;

	if (n < 1 || n > MOST_INPUTS)
		return nn_fail(err, NN_EFAIL, "expected a list of 1 to %d inputs", MOST_INPUTS);
	if (!(m->inputs = nn_alloc(n, sizeof *m->inputs, err)))
		return -1;
	for (; m->n_inputs < n; values += m->inputs[m->n_inputs++].values)
		if (take_input(&m->inputs[m->n_inputs], nn_json_at(list, m->n_inputs), err) < 0) {
			m->n_inputs++;
			return -1;
		}
	return values <= NN_LOAD_VALUES
		       ? 0
		       : nn_fail(err, NN_EFAIL, "a row has more than %zu values", NN_LOAD_VALUES);
}

/* It stands in paths as it is. */
static bool is_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~' || strchr("/?#%", name[i]))
			return false;
	return n > 0;
}

int nn_load_model_ask(struct nn_load_model *m, const struct nn_load_server *s, const char *name,
		      double timeout, struct nn_error *err)
{
	struct nn_json *json = NULL;
	char path[400], quoted[NN_QUOTED];
	int found, status = 0;

	*m = (struct nn_load_model){ 0 };
	if (name ? !(m->name = nn_strdup(name, err)) : find_only(m, s, timeout, err) < 0)
		status = -1;
	if (status == 0 && !is_name(m->name))
		status = nn_fail(err, NN_EUSAGE, "%s: not the name of a model: %s", s->url,
				 nn_quote(quoted, m->name, strlen(m->name)));
	if (status == 0 &&
	    snprintf(path, sizeof path, "/v2/models/%s", m->name) >= (int)sizeof path)
		status = nn_fail(err, NN_EFAIL, "%s: the name of its model is too long", s->url);
	if (status == 0 && !(json = ask_json(s, "GET", path, timeout, &found, err)))
		status = -1;
	if (status == 0 && (status = take_inputs(m, nn_json_get(json, "inputs"), err)) < 0)
		nn_fail_at(err, "%s: model %s", s->url, m->name);
	nn_json_free(json);
	if (status < 0)
		nn_load_model_free(m);
	return status;
}

void nn_load_model_free(struct nn_load_model *m)
{
	for (size_t i = 0; i < m->n_inputs; i++)
		nn_free(m->inputs[i].name);
	nn_free(m->inputs);
	nn_free(m->name);
	*m = (struct nn_load_model){ 0 };
}

bool nn_load_model_counts(const char *name, const struct nn_load_server *s, double timeout,
			  struct nn_load_counts *counts)
{
	struct nn_error err;
	struct nn_json *json;
	const struct nn_json *list;
	char path[400];
	int found;

	*counts = (struct nn_load_counts){ 0 };
	if (snprintf(path, sizeof path, "/v2/models/%s/stats", name) >= (int)sizeof path)
		return false;
	json = ask_json(s, "GET", path, timeout, &found, &err);
	list = nn_json_get(json, "model_stats");
	for (size_t i = 0; nn_json_type(list) == NN_JSON_ARRAY && i < nn_json_size(list); i++) {
		const struct nn_json *one = nn_json_at(list, i);

		counts->rows += nn_json_number(nn_json_get(one, "inference_count"));
		counts->batches += nn_json_number(nn_json_get(one, "execution_count"));
	}
	nn_json_free(json);
	return counts->batches > 0;
}
