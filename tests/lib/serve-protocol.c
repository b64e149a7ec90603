/*
 * What is answered to requests, byte by byte: the protocols between an HTTP and a batcher that are
 * played here, with models that are a line of arithmetic.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "serve/datatype.h"
#include "serve/give.h"
#include "serve/keys.h"
#include "serve/protocol.h"
#include "tap.h"

/* ---- models ---- */

static const struct nn_port three[] = {
	{ .name = "input", .fixed = true, .shape = { 1, { 3 } }, .size = 3 }
};
static const struct nn_port two[] = {
	{ .name = "output", .fixed = true, .shape = { 1, { 2 } }, .size = 2 }
};
static const struct nn_port one_in[] = { { .name = "input", .shape = { 1, { 1 } }, .size = 1 } };
static const struct nn_port one_out[] = { { .name = "output", .shape = { 1, { 1 } }, .size = 1 } };
static const struct nn_port columns[] = {
	{ .name = "age", .shape = { 1, { 1 } }, .size = 1 },
	{ .name = "colour", .text = true, .shape = { 1, { 1 } }, .size = 1 },
};
static const struct nn_port classes[] = {
	{ .name = "probs", .fixed = true, .shape = { 1, { 3 } }, .size = 3 },
	{ .name = "class", .text = true, .shape = { 1, { 1 } }, .size = 1 },
};
static const struct nn_port pair_in[] = {
	{ .name = "a", .fixed = true, .shape = { 1, { 2 } }, .size = 2 },
	{ .name = "b", .shape = { 1, { 1 } }, .size = 1 },
};
static const struct nn_port pair_out[] = {
	{ .name = "sum", .shape = { 1, { 1 } }, .size = 1 },
	{ .name = "grid", .fixed = true, .shape = { 2, { 2, 2 } }, .size = 4 },
};

static struct nn_served models[] = {
	{ .name = "m",
	  .version = 1,
	  .n_inputs = 1,
	  .n_outputs = 1,
	  .inputs = three,
	  .outputs = two,
	  .row_in = 3,
	  .row_out = 2 },
	{ .name = "half",
	  .version = 123,
	  .n_inputs = 1,
	  .n_outputs = 1,
	  .inputs = one_in,
	  .outputs = one_out,
	  .row_in = 1,
	  .row_out = 1 },
	{ .name = "t",
	  .version = 1,
	  .n_inputs = 2,
	  .n_outputs = 2,
	  .inputs = columns,
	  .outputs = classes,
	  .table = true,
	  .classifies = true,
	  .row_in = 2,
	  .row_out = 3 },
	{ .name = "pair",
	  .version = 1,
	  .n_inputs = 2,
	  .n_outputs = 2,
	  .inputs = pair_in,
	  .outputs = pair_out,
	  .row_in = 3,
	  .row_out = 5 },
};
#define N_MODELS (sizeof models / sizeof *models)
static int held; /* models that a request has */
static bool models_ready = true;

struct nn_served *nn_models_find(struct nn_models *unused, const char *name, size_t n,
				 uint64_t version, const char *label, struct nn_error *err)
{
	(void)unused;
	for (size_t i = 0; i < N_MODELS; i++)
		if (strlen(models[i].name) == n && memcmp(models[i].name, name, n) == 0) {
			if (label && strcmp(label, "stable") != 0) {
				nn_fail(err, NN_EUSAGE, "%s: no label %s", models[i].name, label);
				return NULL;
			}
			if (version && version != models[i].version)
				break;
			held++;
			return &models[i];
		}
	nn_fail(err, NN_EFAIL, "no such model or version");
	return NULL;
}

void nn_served_release(struct nn_served *served)
{
	held -= served != NULL;
}

size_t nn_models_count(struct nn_models *unused)
{
	(void)unused;
	return N_MODELS;
}

const char *nn_models_name(struct nn_models *unused, size_t i)
{
	(void)unused;
	return models[i].name;
}

size_t nn_models_versions(struct nn_models *unused, const char *name, uint64_t *versions,
			  enum nn_models_state *states, size_t most)
{
	(void)unused;
	(void)most;
	for (size_t i = 0; i < N_MODELS; i++)
		if (strcmp(models[i].name, name) == 0) {
			versions[0] = models[i].version;
			states[0] = NN_MODEL_AVAILABLE;
			return 1;
		}
	return 0;
}

bool nn_models_ready(struct nn_models *unused)
{
	(void)unused;
	return models_ready;
}

int nn_models_reload(struct nn_models *unused, const char *name, struct nn_error *err)
{
	(void)unused;
	return strcmp(name, "half") == 0
		       ? nn_fail(err, NN_EFAIL, "/srv/m/half.st: it is bad (see /tmp/x)")
		       : 0;
}

int nn_models_unload(struct nn_models *unused, const char *name, struct nn_error *err)
{
	(void)unused;
	(void)name;
	(void)err;
	return 0;
}

void nn_models_reloads(struct nn_models *unused, const char *name, uint64_t *good, uint64_t *failed)
{
	(void)unused;
	(void)name;
	*good = 1;
	*failed = 2;
}

static const char *const labels[] = { "cat", "dog", "o\"x" };

const char *nn_model_label(const struct nn_model *model, size_t i)
{
	(void)model;
	return i < 3 ? labels[i] : NULL;
}

/* age, and the length of colour */
int nn_model_encode(const struct nn_model *model, const char *const *fields, float *row,
		    struct nn_error *err)
{
	char *end;

	(void)model;
	row[0] = strtof(fields[0], &end);
	row[1] = (float)strlen(fields[1]);
	if (!*fields[0] || *end)
		return nn_fail(err, NN_EFORMAT, "column \"age\": found \"%s\", expected a number",
			       fields[0]);
	return 0;
}

/* ---- the batcher ---- */

const double nn_seconds_bounds[15] = { 1e-5 }, nn_rows_bounds[15] = { 1 };
static struct {
	bool full, expired, fails, holds;
	struct nn_job *held;
	double deadline;
} batcher;

static void compute(const struct nn_served *s, const float *in, float *out)
{
	if (s == &models[0]) {
		out[0] = in[0] + in[1] + in[2];
		out[1] = in[2];
	} else if (s == &models[1]) {
		out[0] = in[0] / 2 + 2;
	} else if (s == &models[2]) {
		out[0] = in[0] / 100;
		out[1] = in[1] / 100;
		out[2] = 0.125f;
	} else {
		out[0] = in[0] + in[1] + in[2];
		for (int i = 0; i < 4; i++)
			out[1 + i] = in[2] + (float)i;
	}
}

static void finish(struct nn_job *job)
{
	const struct nn_served *s = (const void *)job->lane;

	job->started = job->ended = nn_now_s();
	job->state = batcher.expired ? NN_JOB_EXPIRED : batcher.fails ? NN_JOB_FAILED : NN_JOB_DONE;
	if (batcher.fails)
		nn_fail(&job->error, NN_ENOMEM, "memory is out");
	for (size_t r = 0; r < job->rows; r++)
		compute(s, job->in + r * s->row_in, job->out + r * s->row_out);
	job->done(job);
}

bool nn_batcher_put(struct nn_batcher *unused, struct nn_job *job)
{
	(void)unused;
	batcher.deadline = job->deadline;
	if (batcher.full)
		return false;
	job->queued = nn_now_s();
	if (batcher.holds)
		batcher.held = job;
	else
		finish(job);
	return true;
}

void nn_lane_count(const struct nn_lane *lane, struct nn_lane_counts *counts)
{
	(void)lane;
	*counts = (struct nn_lane_counts){
		.requests = 3, .rows = 7, .batch_rows = 5, .batches = 2, .queue_s = 0.5
	};
	counts->queue_counts[15] = 3;
	counts->dispatch[NN_IDLE] = 2;
}

void nn_lane_explain(const struct nn_lane *lane, struct nn_text *text)
{
	(void)lane;
	nn_text_add(text, "mean batch 2.50 of 32");
}

/* ---- HTTP ---- */

static struct {
	const char *headers; /* of the request: "Name: value\n..." */
	bool local, answered;
	unsigned status;
	char type[64], set[1024], *body;
	size_t bytes;
} http;

const char *nn_exchange_header(const struct nn_exchange *exchange, const char *name)
{
	static char value[128];
	const char *at = http.headers;
	size_t n = strlen(name);

	(void)exchange;
	for (; at && *at; at = strchr(at, '\n') + 1)
		if (strncasecmp(at, name, n) == 0 && at[n] == ':') {
			snprintf(value, sizeof value, "%.*s", (int)strcspn(at + n + 2, "\n"),
				 at + n + 2);
			return value;
		}
	return NULL;
}

bool nn_exchange_is_local(const struct nn_exchange *exchange)
{
	(void)exchange;
	return http.local;
}

bool nn_exchange_set_header(struct nn_exchange *exchange, const char *name, const char *value)
{
	size_t n = strlen(http.set);

	(void)exchange;
	snprintf(http.set + n, sizeof http.set - n, "%s: %s\n", name, value);
	return true;
}

void nn_exchange_answer(struct nn_exchange *exchange, unsigned status, const char *type)
{
	http.status = status;
	snprintf(http.type, sizeof http.type, "%s", type);
	http.bytes = exchange->answer.length;
	http.body = realloc(http.body, http.bytes + 1);
	memcpy(http.body, exchange->answer.length ? exchange->answer.data : "", http.bytes);
	http.body[http.bytes] = '\0';
	__atomic_store_n(&http.answered, true, __ATOMIC_RELEASE);
}

static struct nn_protocol *protocol;
static struct nn_exchange exchange;

static void begin(const char *method, const char *path, const void *body, size_t bytes)
{
	http.answered = false;
	http.status = 0;
	*http.set = '\0';
	exchange = (struct nn_exchange){ .method = method, .path = path, .bytes = bytes };
	exchange.body = malloc(bytes + 1);
	memcpy(exchange.body, body, bytes);
	exchange.body[bytes] = '\0';
	exchange.began = exchange.read = nn_now_s();
	nn_protocol_handle(protocol, &exchange);
}

static void end(void)
{
	while (!__atomic_load_n(&http.answered, __ATOMIC_ACQUIRE))
		nn_pause();
	nn_protocol_ended(protocol, &exchange, http.status, http.bytes);
	nn_text_free(&exchange.answer);
	free(exchange.body);
}

static void send_bytes(const char *method, const char *path, const void *body, size_t bytes)
{
	begin(method, path, body, bytes);
	end();
}

static void post(const char *path, const char *body)
{
	send_bytes("POST", path, body, strlen(body));
}

/* The status and, unless NULL, the whole body without its last newline. */
static void expect(unsigned status, const char *body, const char *claim)
{
	size_t n = http.bytes;
	bool same;

	n -= n > 0 && http.body[n - 1] == '\n';
	same = !body || (strlen(body) == n && memcmp(body, http.body, n) == 0);
	if (!ok(http.status == status && same, "%s", claim))
		note("%u %s", http.status, http.body);
}

static void expect_error(unsigned status, const char *part, const char *claim)
{
	if (!ok(http.status == status && strncmp(http.body, "{\"error\":\"", 10) == 0 &&
			strstr(http.body, part) && strcmp(http.type, "application/json") == 0,
		"%s", claim))
		note("%u %s", http.status, http.body);
}

/* ---- claims ---- */

#define V1 "/v1/models/"
#define V2 "/v2/models/"

static void test_v1(void)
{
	post(V1 "m:predict", "{\"instances\":[[1,2,3],[0.5,0.25,0.1]]}");
	expect(200, "{\"predictions\":[[6.0,3.0],[0.85,0.1]]}", "v1: rows in, rows out");
	ok(strcmp(http.type, "application/json") == 0 &&
		   strstr(http.set, "Server-Timing: read;dur="),
	   "v1: an answer is JSON and says where its time went");
	post(V1 "m:predict", "{\"signature_name\":\"serving_default\",\"inputs\":[[1,2,3]]}");
	expect(200, "{\"outputs\":[[6.0,3.0]]}", "v1: columns in, columns out");
	post(V1 "half:predict", "{\"instances\":[1.0,2.0,5.0]}");
	expect(200, "{\"predictions\":[2.5,3.0,4.5]}",
	       "v1: half_plus_two takes and answers bare numbers");
	post(V1 "half:predict", "{\"instances\":[[1.0],[2.0]]}");
	expect(200, "{\"predictions\":[2.5,3.0]}", "v1: a value in an array is a row too");
	post(V1 "half/versions/123:predict", "{\"instances\":[2]}");
	expect(200, "{\"predictions\":[3.0]}", "v1: a version is served");
	post(V1 "half/labels/stable:predict", "{\"instances\":[2]}");
	expect(200, "{\"predictions\":[3.0]}", "v1: a label is served");
	post(V1 "half:predict", "{\"instances\":[NaN,-Infinity,Infinity]}");
	expect(200, "{\"predictions\":[NaN,-Infinity,Infinity]}",
	       "v1: numbers that are not go in and out");
	post(V1 "half:predict", "{\"instances\":[]}");
	expect(200, "{\"predictions\":[]}", "v1: no rows are answered by no rows");
	post(V1 "m:predict", "{\"instances\":[{\"input\":[1,2,3]}]}");
	expect(200, "{\"predictions\":[[6.0,3.0]]}", "v1: rows may be objects");
	post(V1 "pair:predict", "{\"instances\":[{\"b\":3,\"a\":[1,2]},{\"a\":[0,0],\"b\":0.5}]}");
	expect(200,
	       "{\"predictions\":[{\"sum\":6.0,\"grid\":[[3.0,4.0],[5.0,6.0]]},"
	       "{\"sum\":0.5,\"grid\":[[0.5,1.5],[2.5,3.5]]}]}",
	       "v1: several inputs and outputs by name, a row at a time");
	post(V1 "pair:predict", "{\"inputs\":{\"b\":[3,0.5],\"a\":[[1,2],[0,0]]}}");
	expect(200,
	       "{\"outputs\":{\"sum\":[6.0,0.5],\"grid\":[[[3.0,4.0],[5.0,6.0]],[[0.5,1.5],[2.5,3."
	       "5]]]}}",
	       "v1: several inputs and outputs by name, one at a time");
	ok(held == 0, "v1: no request keeps its model");
}

static void test_v1_numbers(void)
{
	post(V1 "half:predict", "{\"instances\":[-3.7530863,1e10,-4,2e-7,1e38,1e-30]}");
	expect(200, "{\"predictions\":[0.123456836,5e+09,0.0,2.0,5e+37,2.0]}",
	       "v1: 6 digits where they read back, else 9");
}

static void test_v1_numbers_read_back(void)
{
	char body[64];
	bool good = true;
	uint32_t x = 12345;

	for (int i = 0; i < 20000; i++) {
		float value, back;
		uint32_t bits;

		x = x * 1664525 + 1013904223;
		bits = (x & 0x80000000) | (x >> 1 & 0x3fffffff) | 0x10000000;
		memcpy(&value, &bits, sizeof value);
		snprintf(body, sizeof body, "{\"instances\":[[0,0,%.9g]]}", (double)value);
		post(V1 "m:predict", body);
		if (http.status != 200)
			continue;
		back = strtof(strchr(http.body, ',') + 1, NULL);
		good &= back == value;
	}
	ok(good, "v1: what is written reads back to the same float");
}

static void test_v1_errors(void)
{
	post(V1 "nobody:predict", "{\"instances\":[1]}");
	expect_error(404, "no such model", "v1: an unknown model is 404");
	post(V1 "half/versions/7:predict", "{\"instances\":[1]}");
	expect_error(404, "no such model", "v1: an unknown version is 404");
	post(V1 "half/labels/canary:predict", "{\"instances\":[1]}");
	expect_error(400, "canary", "v1: an unknown label is 400");
	post(V1 "half:predict", "{\"instances\":[1],\"inputs\":[1]}");
	expect_error(400, "instances", "v1: both instances and inputs are 400");
	post(V1 "half:predict", "{\"instances\":[1],\"instances\":[1]}");
	expect_error(400, "twice", "v1: instances twice are 400");
	post(V1 "half:predict", "{\"instances\":[1],\"other\":{\"a\":1,\"a\":2}}");
	expect_error(400, "the key a twice", "v1: a key twice in what is skipped is 400");
	post(V1 "half:predict", "{}");
	expect_error(400, "instances", "v1: neither instances nor inputs are 400");
	post(V1 "half:predict", "{\"signature_name\":\"other\",\"instances\":[1]}");
	expect_error(400, "other", "v1: an unknown signature is 400");
	post(V1 "half:predict", "{\"instances\":[1]} x");
	expect_error(400, "JSON, byte", "v1: bytes behind the JSON are 400");
	post(V1 "half:predict", "{\"instances\":[1");
	expect_error(400, "JSON, byte", "v1: JSON that ends early is 400");
	post(V1 "half:predict", "");
	expect_error(400, "JSON", "v1: no body is 400");
	post(V1 "half:predict", "{\"instances\":[1e39]}");
	expect_error(400, "1e39", "v1: a number beyond f32 is 400");
	post(V1 "m:predict", "{\"instances\":[[1,2]]}");
	expect_error(400, "found shape [1,2], expected [-1,3]", "v1: a wrong shape is told");
	post(V1 "m:predict", "{\"instances\":[[1,2,3],[1,2]]}");
	expect_error(400, "array of 2", "v1: ragged rows are 400");
	post(V1 "m:predict", "{\"instances\":[[1,2,\"x\"]]}");
	expect_error(400, "number", "v1: a string for a number is 400");
	post(V1 "pair:predict", "{\"instances\":[{\"a\":[1,2]}]}");
	expect_error(400, "\\\"b\\\" is missing", "v1: a missing input is named");
	post(V1 "pair:predict", "{\"instances\":[{\"a\":[1,2],\"a\":[1,2]}]}");
	expect_error(400, "twice", "v1: an input twice is 400");
	post(V1 "pair:predict", "{\"instances\":[{\"a\":[1,2],\"b\":1,\"c\":1}]}");
	expect_error(400, "no input \\\"c\\\"", "v1: an extra input is named");
	post(V1 "pair:predict", "{\"inputs\":{\"a\":[[1,2]],\"b\":[1,2]}}");
	expect_error(400, "rows", "v1: inputs of different numbers of rows are 400");
	post(V1 "pair:predict", "{\"instances\":[[1,2,3]]}");
	expect_error(400, "object", "v1: several inputs want objects");
	ok(held == 0, "v1: no error keeps its model");
}

static void test_hostile(void)
{
	size_t n = 200000;
	char *body = malloc(n + 64), *at;

	at = stpcpy(body, "{\"instances\":");
	memset(at, '[', n);
	at[n] = '\0';
	post(V1 "half:predict", body);
	expect_error(400, "dimensions", "v1: rows of 200,000 dimensions are refused");
	at = stpcpy(body, "{\"other\":");
	memset(at, '[', n);
	at[n] = '\0';
	post(V1 "half:predict", body);
	expect_error(400, "100 levels", "v1: 200,000 open arrays are refused by their depth");
	at = stpcpy(body, "{\"instances\":[0.");
	memset(at, '3', 100000);
	strcpy(at + 100000, "]}");
	post(V1 "half:predict", body);
	expect(200, "{\"predictions\":[2.16666675]}", "v1: a number of 100,000 digits is a number");
	at = stpcpy(body, "{\"instances\":[");
	memset(at, '9', 100000);
	strcpy(at + 100000, "]}");
	post(V1 "half:predict", body);
	expect_error(400, "32-bit", "v1: one that is too large is not");
	free(body);
	post(V2 "m/infer",
	     "{\"inputs\":[{\"name\":\"input\",\"shape\":[1099511627776,1099511627776],"
	     "\"datatype\":\"FP32\",\"data\":[1]}]}");
	expect_error(400, "counted", "v2: a shape whose product overflows is 400");
	post(V2 "m/infer", "{\"inputs\":[{\"name\":\"input\",\"shape\":[1099511627776,3],"
			   "\"datatype\":\"FP32\",\"data\":[1,2,3]}]}");
	expect_error(400, "3 values", "v2: rows that did not come are 400");
	post(V2 "m/infer", "{\"inputs\":[{\"name\":\"input\",\"shape\":[-1,3],"
			   "\"datatype\":\"FP32\",\"data\":[1,2,3]}]}");
	expect_error(400, "-1", "v2: a negative dimension is 400");
	send_bytes("GET", "/v2/models/%6d", "", 0);
	expect(200, NULL, "a path may have escapes");
	send_bytes("GET", "/v2/models/..%2f..%2fetc", "", 0);
	expect_error(404, "nothing at", "an escaped slash is 404");
	send_bytes("GET", "/v2/models/m%00", "", 0);
	expect_error(404, "nothing at", "an escaped NUL is 404");
	send_bytes("GET", "/v2/models/a b", "", 0);
	expect_error(404, "no model", "a name that no model can have is 404");
}

static void test_router(void)
{
	send_bytes("GET", "/nowhere", "", 0);
	expect_error(404, "/nowhere", "an unknown path is 404");
	send_bytes("GET", V1 "m:predict", "", 0);
	expect_error(405, "POST", "a wrong method is 405");
	ok(strstr(http.set, "Allow: POST\n") != NULL, "405 says what is allowed");
	post(V2 "m", "{}");
	expect_error(405, "GET", "POST to metadata is 405");
	send_bytes("GET", "/v2/models//infer", "", 0);
	expect_error(405, "POST", "an empty name is a path all the same");
	http.headers = "Content-Encoding: gzip\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(415, "Content-Encoding", "a compressed body is 415");
	http.headers = NULL;
	send_bytes("GET", "/v2/health/live", "", 0);
	expect(200, "{\"live\":true,\"ready\":true}", "health: alive");
	models_ready = false;
	send_bytes("GET", "/v2/health/live", "", 0);
	expect(200, "{\"live\":true,\"ready\":false}", "health: alive before it is ready");
	send_bytes("GET", "/v2/health/ready", "", 0);
	expect(503, "{\"live\":true,\"ready\":false}", "health: 503 before it is ready");
	models_ready = true;
	send_bytes("GET", "/v2/health/ready", "", 0);
	expect(200, "{\"live\":true,\"ready\":true}", "health: ready");
	send_bytes("GET", "/", "", 0);
	expect(200, "{\"status\":\"alive\"}", "the root says that it is alive");
	http.headers = "Accept: text/html,*/*\n";
	send_bytes("GET", "/", "", 0);
	ok(http.status == 200 && strcmp(http.type, "text/html; charset=utf-8") == 0 &&
		   strncmp(http.body, "<!DOCTYPE html>", 15) == 0 && !strstr(http.body, "//"),
	   "the root is a page for browsers, which names no other place");
	http.headers = NULL;
}

static void test_admin(void)
{
	post("/v2/repository/index", "");
	expect_error(403, "key", "administration over TCP without keys is 403");
	http.local = true;
	post("/v2/repository/index", "{\"ready\":true}");
	expect(200,
	       "[{\"name\":\"m\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\"},"
	       "{\"name\":\"half\",\"version\":\"123\",\"state\":\"READY\",\"reason\":\"\"},"
	       "{\"name\":\"t\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\"},"
	       "{\"name\":\"pair\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\"}]",
	       "administration: the index");
	post("/v2/repository/models/m/load", "{}");
	expect(200, "{}", "administration: load");
	post("/v2/repository/models/half/load", "");
	expect(400, "{\"error\":\"half.st: it is bad (see x)\"}",
	       "administration: a bad file is 400, told without its directory");
	post("/v2/repository/models/m/load", "{\"parameters\":{\"config\":\"x\"}}");
	expect_error(400, "configure", "administration: no model comes from a request");
	post("/v2/repository/models/nobody/load", "");
	expect_error(404, "nobody", "administration: an unknown model is 404");
	post("/v2/repository/models/m/unload", "{\"parameters\":{\"unload_dependents\":false}}");
	expect(200, "{}", "administration: unload");
	http.local = false;
}

static void test_keys(void)
{
	char path[] = "/tmp/nn-keys.XXXXXX";
	static const char text[] = "reader predict\nboss admin\n";
	struct nn_protocol_setup setup = { .max_depth = 100 };
	struct nn_protocol *before = protocol;
	struct nn_keys *keys = NULL;
	int fd = mkstemp(path);

	ok(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 &&
		   nn_keys_open(&keys, path, NULL) == 0,
	   "keys: a file of two");
	close(fd);
	unlink(path);
	setup.keys = keys;
	if (nn_protocol_open(&protocol, &setup, NULL) < 0)
		return;
	send_bytes("GET", "/v2/health/ready", "", 0);
	expect(200, NULL, "keys: health needs none");
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(401, "Bearer", "keys: inference without one is 401");
	ok(strstr(http.set, "WWW-Authenticate: Bearer\n") != NULL, "keys: 401 says what is wanted");
	http.headers = "authorization: Bearer boss\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(403, "predict", "keys: administration does not imply inference");
	post("/v2/repository/models/m/load", "");
	expect(200, NULL, "keys: administration over TCP");
	http.headers = "Authorization: Bearer reader\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect(200, NULL, "keys: inference");
	send_bytes("GET", "/metrics", "", 0);
	expect(200, NULL, "keys: statistics");
	post("/v2/repository/models/m/load", "");
	expect_error(403, "admin", "keys: inference does not imply administration");
	http.headers = NULL;
	http.local = true;
	post("/v2/repository/models/m/load", "");
	expect(200, NULL, "keys: whoever may open a Unix socket needs none for administration");
	http.local = false;
	nn_protocol_close(protocol);
	nn_keys_close(keys);
	protocol = before;
}

static void test_states(void)
{
	batcher.full = true;
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(503, "queue is full", "a full queue is 503");
	ok(strstr(http.set, "Retry-After: 1\n") != NULL, "503 says when to come again");
	batcher.full = false;
	batcher.expired = true;
	post(V2 "half/infer",
	     "{\"parameters\":{\"timeout\":1000},\"inputs\":[{\"name\":\"input\",\"shape\":[1],"
	     "\"datatype\":\"FP32\",\"data\":[1]}]}");
	expect_error(504, "deadline", "what is late is 504");
	ok(fabs(batcher.deadline - exchange.began - 1e-3) < 1e-9,
	   "v2: a timeout is in microseconds");
	batcher.expired = false;
	http.headers = "X-Request-Timeout-Ms: 250\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	ok(http.status == 200 && fabs(batcher.deadline - exchange.began - 0.25) < 1e-9,
	   "a timeout in a header is in milliseconds");
	http.headers = "X-Request-Timeout-Ms: soon\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(400, "milliseconds", "a timeout that is no number is 400");
	http.headers = NULL;
	batcher.fails = true;
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(500, "memory is out", "a batch that fails is 500");
	batcher.fails = false;
	batcher.holds = true;
	begin("POST", V1 "half:predict", "{\"instances\":[4]}", 17);
	ok(!http.answered, "an answer waits for its batch");
	finish(batcher.held);
	end();
	expect(200, "{\"predictions\":[4.0]}", "and comes with it");
	batcher.holds = false;
	ok(held == 0, "no state keeps a model");
}

#define INPUT(rest) "{\"inputs\":[{\"name\":\"input\"," rest "}]}"

static void test_v2(void)
{
	post(V2 "m/infer",
	     INPUT("\"shape\":[2,3],\"datatype\":\"FP32\",\"data\":[1,2,3,0.5,0.25,0.1]"));
	expect(200,
	       "{\"model_name\":\"m\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"output\","
	       "\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[6,3,0.85,0.1]}]}",
	       "v2: flat data in and out");
	post(V2 "half/infer", "{\"inputs\":[{\"data\":[[1],[3]],\"datatype\":\"FP32\",\"name\":"
			      "\"input\",\"shape\":[2,1]}],"
			      "\"id\":\"a\\\"1\"}");
	expect(200,
	       "{\"model_name\":\"half\",\"model_version\":\"123\",\"id\":\"a\\\"1\",\"outputs\":[{"
	       "\"name\":"
	       "\"output\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[2.5,3.5]}]}",
	       "v2: nested data before their datatype, an id");
	post(V2 "half/infer", INPUT("\"shape\":[1],\"datatype\":\"FP64\",\"data\":[1e38]"));
	expect(200, NULL, "v2: FP64 is taken");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"INT8\",\"data\":[1,-128,127]"));
	expect(200, NULL, "v2: INT8 is taken");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"BOOL\",\"data\":[true,false,1]"));
	ok(http.status == 200 && strstr(http.body, "\"data\":[2,1]"), "v2: BOOL is 0 and 1");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"UINT8\",\"data\":[1,2,256]"));
	expect_error(400, "UINT8", "v2: a number beyond its datatype is 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"INT32\",\"data\":[1,2,0.5]"));
	expect_error(400, "INT32", "v2: a fraction is no INT32");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP16\",\"data\":[1,2,3]"));
	expect_error(400, "binary", "v2: FP16 has no JSON form");
	post(V2 "m/infer",
	     INPUT("\"shape\":[1,3],\"datatype\":\"BYTES\",\"data\":[\"1\",\"2\",\"3\"]"));
	expect_error(400, "BYTES", "v2: strings for numbers are 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FLOAT\",\"data\":[1,2,3]"));
	expect_error(400, "FLOAT", "v2: an unknown datatype is 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1,NaN,3]"));
	expect_error(400, "NaN", "v2: NaN is no JSON");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1,2]"));
	expect_error(400, "shape", "v2: too few values are 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]"));
	expect_error(400, "expected [-1,3]", "v2: a wrong shape is told");
	post(V2 "m/infer", INPUT("\"shape\":[0,3],\"datatype\":\"FP32\",\"data\":[]"));
	expect(200, NULL, "v2: no rows are answered");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP32\""));
	expect_error(400, "neither", "v2: an input without data is 400");
	post(V2 "m/infer",
	     INPUT("\"shape\":[1,3],\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1,2,3]"));
	expect_error(400, "twice", "v2: a member twice is 400");
	post(V2 "m/infer", "{\"inputs\":[]}");
	expect_error(400, "missing", "v2: an input that is missing is named");
	post(V2 "m/infer", "{}");
	expect_error(400, "missing", "v2: no inputs are 400");
}

static void test_v2_outputs(void)
{
	static const char pair[] =
		"{\"inputs\":[{\"name\":\"b\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[3]},"
		"{\"name\":\"a\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}],"
		"\"outputs\":[{\"name\":\"%s\"%s}]}";
	char body[512];

	snprintf(body, sizeof body, pair, "grid", "");
	post(V2 "pair/infer", body);
	expect(200,
	       "{\"model_name\":\"pair\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"grid\","
	       "\"datatype\":\"FP32\",\"shape\":[1,2,2],\"data\":[3,4,5,6]}]}",
	       "v2: several inputs in any order, one output of two");
	snprintf(body, sizeof body, pair, "grid", ",\"parameters\":{\"classification\":2}");
	post(V2 "pair/infer", body);
	ok(http.status == 200 && strstr(http.body, "\"datatype\":\"BYTES\",\"shape\":[1,2],"
						   "\"data\":[\"6.0:3\",\"5.0:2\"]"),
	   "v2: classification: the best, without labels");
	snprintf(body, sizeof body, pair, "other", "");
	post(V2 "pair/infer", body);
	expect_error(400, "other", "v2: an unknown output is named");
	snprintf(body, sizeof body, pair, "sum\"},{\"name\":\"sum", "");
	post(V2 "pair/infer", body);
	expect_error(400, "twice", "v2: an output twice is 400");
}

static void test_v2_binary(void)
{
	static const char json[] = INPUT("\"shape\":[1,3],\"datatype\":\"%s\","
					 "\"parameters\":{\"binary_data_size\":%d}");
	const float values[] = { 1, 2, 3 }, bad[] = { 1, NAN, 3 };
	char body[512], header[128];
	float out[2];
	int n;

	n = sprintf(body, json, "FP32", 12);
	memcpy(body + n, values, 12);
	sprintf(header, "inference-header-content-length: %d\n", n);
	http.headers = header;
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 12);
	ok(http.status == 200 && strstr(http.body, "[6,3]"), "v2: binary in, JSON out");
	memcpy(body + n, bad, 12);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 12);
	expect_error(400, "value 2 is not finite", "v2: NaN in binary data is 400");
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 11);
	expect_error(400, "found 11", "v2: binary data that end early are 400");
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 13);
	expect_error(400, "is not finite", "v2: bad values come first");
	memcpy(body + n, values, 12);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 13);
	expect_error(400, "belong to no input", "v2: bytes that are nobody's are 400");
	n = sprintf(body, json, "BF16", 6);
	memcpy(body + n, "\x80\x3f\x00\x40\x40\x40", 6);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 6);
	ok(http.status == 200 && strstr(http.body, "[6,3]"), "v2: BF16 is binary");
	n = sprintf(body, json, "INT64", 24);
	memcpy(body + n, (int64_t[]){ -1, 2, 3 }, 24);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 24);
	ok(http.status == 200 && strstr(http.body, "[4,3]"), "v2: INT64 is binary");
	http.headers = "Inference-Header-Content-Length: 0\n";
	send_bytes("POST", V2 "m/infer", values, 12);
	memcpy(out, http.body + http.bytes - 8, 8);
	ok(http.status == 200 && out[0] == 6 && out[1] == 3 &&
		   strcmp(http.type, "application/octet-stream") == 0 &&
		   strstr(http.set, "Inference-Header-Content-Length: ") &&
		   strstr(http.body, "\"parameters\":{\"binary_data_size\":8}}]}"),
	   "v2: the body is the tensor, the answer binary");
	ok(strtoul(strstr(http.set, "Length: ") + 8, NULL, 10) == http.bytes - 8,
	   "v2: the header tells how long the JSON is");
	send_bytes("POST", V2 "m/infer", values, 11);
	expect_error(400, "12 bytes each", "v2: half a row is 400");
	http.headers = "Inference-Header-Content-Length: 99\n";
	post(V2 "m/infer", "{}");
	expect_error(400, "99", "v2: a header beyond the body is 400");
	http.headers = NULL;
}

static void test_tables(void)
{
	static const char want[] = "{\"model_name\":\"t\",\"model_version\":\"1\",\"outputs\":["
				   "{\"name\":\"probs\",\"datatype\":\"FP32\",\"shape\":[2,3],"
				   "\"data\":[0.3,0.04,0.125,0.02,0.2,0.125]},"
				   "{\"name\":\"class\",\"datatype\":\"BYTES\",\"shape\":[2],"
				   "\"data\":[\"cat\",\"dog\"]}]}";
	char body[600], header[128];
	int n;

	post(V1 "t:predict", "{\"instances\":[{\"age\":30,\"colour\":\"blue\"}]}");
	expect(200, "{\"predictions\":[{\"probs\":[0.3,0.04,0.125],\"class\":\"cat\"}]}",
	       "table: rows of objects, probabilities and class");
	post(V1 "t:predict", "{\"inputs\":{\"colour\":[\"b\",\"c\"],\"age\":[1,[2]]}}");
	expect_error(400, "JSON", "table: a ragged column is 400");
	post(V1 "t:predict", "{\"inputs\":{\"colour\":[\"bl\\u0075e\"],\"age\":[30]}}");
	expect(200, "{\"outputs\":{\"probs\":[[0.3,0.04,0.125]],\"class\":[\"cat\"]}}",
	       "table: columns, with an escape");
	post(V1 "t:predict", "{\"instances\":[{\"age\":null,\"colour\":\"blue\"}]}");
	expect_error(400, "row 1: column \\\"age\\\"",
		     "table: what is missing is named by row and column");
	post(V2 "t/infer",
	     "{\"inputs\":[{\"name\":\"colour\",\"shape\":[2],\"datatype\":\"BYTES\","
	     "\"data\":[\"blue\",\"abcdefghijklmnopqrst\"]},{\"name\":\"age\",\"shape\":[2,1],"
	     "\"datatype\":\"FP32\",\"data\":[30,2]}]}");
	expect(200, want, "table: v2, a tensor per column");
	post(V2 "t/infer",
	     "{\"inputs\":[{\"name\":\"colour\",\"shape\":[1],\"datatype\":\"FP32\","
	     "\"data\":[1]},{\"name\":\"age\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[2]}]}");
	expect_error(400, "expected BYTES", "table: numbers for text are 400");
	n = sprintf(body,
		    "{\"inputs\":[{\"name\":\"colour\",\"shape\":[2],\"datatype\":\"BYTES\","
		    "\"parameters\":{\"binary_data_size\":32}},{\"name\":\"age\",\"shape\":[2],"
		    "\"datatype\":\"INT16\",\"parameters\":{\"binary_data_size\":4}}]}");
	memcpy(body + n, "\4\0\0\0blue\24\0\0\0abcdefghijklmnopqrst\36\0\2\0", 36);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	http.headers = header;
	send_bytes("POST", V2 "t/infer", body, (size_t)n + 36);
	expect(200, want, "table: binary strings and numbers");
	body[n] = 5;
	send_bytes("POST", V2 "t/infer", body, (size_t)n + 36);
	expect_error(400, "string 2 of 2", "table: binary strings that do not add up are 400");
	http.headers = NULL;
	post(V1 "t:classify", "{\"examples\":[{\"age\":30,\"colour\":\"blue\"}]}");
	expect(200, "{\"results\":[[[\"cat\",0.3],[\"dog\",0.04],[\"o\\\"x\",0.125]]]}",
	       "v1: classify");
	post(V1 "half:classify", "{\"examples\":[{\"input\":1}]}");
	expect_error(400, "no labels", "v1: no labels, no classify");
	post(V1 "half:regress", "{\"examples\":[{\"input\":1},{\"input\":2}]}");
	expect(200, "{\"results\":[2.5,3.0]}", "v1: regress");
	post(V1 "t:regress", "{\"examples\":[]}");
	expect_error(400, "one number", "v1: classes are no regress");
}

static void test_binary_labels(void)
{
	post(V2 "t/infer",
	     "{\"inputs\":[{\"name\":\"colour\",\"shape\":[1],\"datatype\":\"BYTES\","
	     "\"data\":[\"blue\"]},{\"name\":\"age\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":["
	     "30]}],"
	     "\"outputs\":[{\"name\":\"class\"},{\"name\":\"probs\",\"parameters\":"
	     "{\"classification\":2}}],\"parameters\":{\"binary_data_output\":true}}");
	ok(http.status == 200 && http.bytes > 35 &&
		   memcmp(http.body + http.bytes - 35,
			  "\3\0\0\0cat\11\0\0\0000.3:0:cat\13\0\0\0000.125:2:o\"x", 35) == 0,
	   "v2: labels and best classes as binary strings");
}

static void test_metadata(void)
{
	send_bytes("GET", V1 "half", "", 0);
	expect(200,
	       "{\"model_version_status\":[{\"version\":\"123\",\"state\":\"AVAILABLE\",\"status\":"
	       "{\"error_code\":\"OK\",\"error_message\":\"\"}}],\"name\":\"half\",\"ready\":true}",
	       "v1: status in both dialects");
	send_bytes("GET", V1 "nobody", "", 0);
	expect_error(404, "no such model", "v1: status of an unknown model is 404");
	send_bytes("GET", V1 "t/metadata", "", 0);
	ok(http.status == 200 &&
		   strstr(http.body, "\"colour\":{\"dtype\":\"DT_STRING\",\"tensor_shape\":"
				     "{\"dim\":[{\"size\":\"-1\",\"name\":\"\"}]"),
	   "v1: metadata have a signature");
	send_bytes("GET", V2 "t", "", 0);
	expect(200,
	       "{\"name\":\"t\",\"versions\":[\"1\"],\"platform\":\"nntools\",\"inputs\":["
	       "{\"name\":\"age\",\"datatype\":\"FP32\",\"shape\":[-1]},"
	       "{\"name\":\"colour\",\"datatype\":\"BYTES\",\"shape\":[-1]}],\"outputs\":["
	       "{\"name\":\"probs\",\"datatype\":\"FP32\",\"shape\":[-1,3]},"
	       "{\"name\":\"class\",\"datatype\":\"BYTES\",\"shape\":[-1]}]}",
	       "v2: metadata");
	send_bytes("GET", V2 "m/config", "", 0);
	expect(200,
	       "{\"name\":\"m\",\"platform\":\"nntools\",\"backend\":\"nntools\",\"max_batch_"
	       "size\":32,"
	       "\"input\":[{\"name\":\"input\",\"data_type\":\"TYPE_FP32\",\"dims\":[3]}],"
	       "\"output\":[{\"name\":\"output\",\"data_type\":\"TYPE_FP32\",\"dims\":[2]}],"
	       "\"dynamic_batching\":{}}",
	       "v2: configuration");
	send_bytes("GET", V2 "m/versions/1/ready", "", 0);
	expect(200, "{\"name\":\"m\",\"ready\":true}", "v2: a model is ready");
	send_bytes("GET", "/v2/models", "", 0);
	expect(200, "{\"models\":[\"m\",\"half\",\"t\",\"pair\"]}", "v2: models");
	send_bytes("GET", "/v2", "", 0);
	ok(http.status == 200 && strstr(http.body, "{\"name\":\"nn-serve\",\"version\":\""),
	   "v2: the server");
	send_bytes("GET", V2 "m/explain", "", 0);
	expect(200, "{\"explain\":\"mean batch 2.50 of 32\"}", "v2: why batches are what they are");
	send_bytes("GET", V2 "m/stats", "", 0);
	ok(http.status == 200 && strstr(http.body, "\"inference_count\":5,\"execution_count\":2") &&
		   strstr(http.body, "\"queue\":{\"count\":3,\"ns\":500000000}") &&
		   strstr(http.body, "\"cache_miss\":{\"count\":0,\"ns\":0}"),
	   "v2: statistics");
	send_bytes("GET", "/v2/models/stats", "", 0);
	ok(http.status == 200 && strstr(http.body, "\"name\":\"pair\""), "v2: statistics of all");
}

/* Once in a text? */
static bool once(const char *text, const char *part)
{
	const char *at = strstr(text, part);

	return at && !strstr(at + 1, part);
}

static void test_metrics(void)
{
	const char *bytes;

	send_bytes("GET", "/metrics", "", 0);
	ok(http.status == 200 && strcmp(http.type, "text/plain; version=0.0.4") == 0,
	   "metrics: their type");
	ok(once(http.body, "# TYPE nn_queue_seconds histogram\n") &&
		   once(http.body, "# HELP nn_requests_total "),
	   "metrics: a family is introduced once");
	bytes = strstr(http.body, "nn_requests_total{model=\"half\",code=\"504\"} ");
	ok(bytes && strtol(strchr(bytes, '}') + 1, NULL, 10) == 1, "metrics: requests by status");
	ok(once(http.body, "nn_queue_seconds_bucket{model=\"m\",le=\"+Inf\"} 3\n") &&
		   once(http.body, "nn_queue_seconds_sum{model=\"m\"} 0.5\n") &&
		   once(http.body, "nn_queue_seconds_count{model=\"m\"} 3\n"),
	   "metrics: histograms are complete");
	ok(once(http.body, "nn_dispatch_total{model=\"m\",reason=\"idle\"} 2\n"),
	   "metrics: why batches left");
	ok(once(http.body, "nn_reload_total{model=\"m\",result=\"failed\"} 2\n"),
	   "metrics: reloads that failed");
	ok(strstr(http.body, "nv_inference_count{model=\"m\",version=\"1\"} 5\n") != NULL,
	   "metrics: Triton's names");
}

/* The best k of values that repeat, as a search for one after another finds them. */
static void test_best(void)
{
	enum { N = 200 };
	float values[N];
	struct nn_given given = { .values = values, .n = N };
	size_t order[N], good = 0, most[] = { 1, 2, 7, N - 1, N };

	for (size_t i = 0; i < N; i++)
		values[i] = i == 150 ? NAN : (float)(i * 37 % 50);
	for (size_t m = 0; m < 5; m++) {
		bool taken[N] = { false };

		nn_give_top(&given, most[m], order);
		for (size_t k = 0; k < most[m]; k++) {
			size_t best = N;

			for (size_t c = 0; c < N; c++)
				if (!taken[c] && (best == N || values[c] > values[best] ||
						  (isnan(values[c]) && !isnan(values[best]))))
					best = c;
			taken[best] = true;
			good += order[k] == best;
		}
	}
	ok(good == 1 + 2 + 7 + N - 1 + N,
	   "the best of many classes come in order, equals as they lie");
}

/* Many requests at once must not leave their memory behind for good. */
static void test_idle(void)
{
	enum { N = 100 };
	struct nn_exchange exchanges[N] = { 0 };
	struct nn_query *queries[N];
	size_t bytes = 0, good = 0;

	for (size_t i = 0; i < N; i++) {
		queries[i] = nn_query_new(protocol, &exchanges[i]);
		good += queries[i] && nn_block_reserve(&queries[i]->in, 3 << 20, NULL) == 0;
	}
	for (size_t i = 0; i < N; i++)
		nn_query_end(queries[i]);
	for (const struct nn_query *q = protocol->desks[0].idle; q; q = q->next)
		bytes += q->in.room;
	ok(good == N && bytes > 0 && bytes <= 32 << 20,
	   "%d requests of 3 MB at once leave %zu bytes for the next", N, bytes);
}

static void test_bool(void)
{
	char text[NN_NUMBER];

	ok(nn_datatype_text(NN_DT_BOOL, "\7", text) == 1 && strcmp(text, "1") == 0 &&
		   nn_datatype_text(NN_DT_BOOL, "", text) == 1 && strcmp(text, "0") == 0,
	   "a binary BOOL of any byte but 0 is 1, in columns too");
}

int main(void)
{
	const struct nn_protocol_setup setup = { .max_depth = 100,
						 .max_batch = 32,
						 .triton_metrics = true };

	/* What a lane stands for here is its model. */
	for (size_t i = 0; i < N_MODELS; i++)
		models[i].lane = (struct nn_lane *)(void *)&models[i];
	if (nn_protocol_open(&protocol, &setup, NULL) < 0)
		return 1;
	test_v1();
	test_v1_numbers();
	test_v1_numbers_read_back();
	test_v1_errors();
	test_hostile();
	test_router();
	test_admin();
	test_keys();
	test_states();
	test_v2();
	test_v2_outputs();
	test_v2_binary();
	test_tables();
	test_binary_labels();
	test_metadata();
	test_metrics();
	test_best();
	test_bool();
	test_idle();
	nn_protocol_drain(protocol);
	send_bytes("GET", "/v2/health/ready", "", 0);
	expect(503, "{\"live\":true,\"ready\":false}", "health: 503 while it drains");
	nn_protocol_close(protocol);
	free(http.body);
	return tap_done();
}
