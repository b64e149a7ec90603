/*
 * What all protocols have in common, byte by byte: paths, rights, health, states, hostile bodies,
 * tables, metadata and metrics.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "serve-world.h"
#include "serve/keys.h"
#include "serve/protocol/datatype.h"
#include "serve/protocol/give.h"

/* What Server-Timing says of a phase, in milliseconds. */
static double phase_ms(const char *name)
{
	const char *at = strstr(http.set, "Server-Timing: ");

	at = at ? strstr(at, name) : NULL;
	return at ? atof(at + strlen(name) + strlen(";dur=")) : -1;
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
	expect_error(400, "100 levels of arrays and objects (--max-depth)",
		     "v1: 200,000 open arrays are refused by their depth");
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
	send_bytes("HEAD", V1 "m:predict", "", 0);
	expect_error(405, "POST", "HEAD is a GET where only POST is taken");
	send_bytes("HEAD", "/v2/health/live", "", 0);
	expect(200, "{\"live\":true,\"ready\":true}",
	       "HEAD is answered as GET, whose body HTTP leaves out");
	post(V2 "m", "{}");
	expect_error(405, "GET", "POST to metadata is 405");
	post(V1 "half:foo", "{\"instances\":[1]}");
	expect_error(404, ":predict, :classify and :regress",
		     "an unknown verb is 404 with those there are");
	send_bytes("GET", V1 "half:foo", "", 0);
	expect_error(404, ":predict, :classify and :regress", "to whichever method");
	send_bytes("GET", V1 "half:null", "", 0);
	expect_error(404, "no such model", "null is not a verb");
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
	post("/v2/repository/models/pair/load", "");
	expect(400, "{\"error\":\"pair/: found neither versions (1/, 2/, ...) nor models\"}",
	       "administration: words that end in a slash stay as they are");
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
	struct nn_protocol_setup setup = { .max_depth = 100, .board = &board };
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
	send_bytes("GET", "/v2", "", 0);
	expect_error(401, "Bearer", "keys: metadata of the server needs one, as that of models");
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(401, "Bearer", "keys: inference without one is 401");
	ok(strstr(http.set, "WWW-Authenticate: Bearer\n") != NULL, "keys: 401 says what is wanted");
	http.headers = "Authorization: Basic cmVhZGVyOnByZWRpY3Q=\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	expect_error(401, "Bearer", "keys: another scheme is 401");
	ok(!strstr(http.body, "cmVh") && !strstr(http.set, "cmVh"), "keys: and is not repeated");
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
	send_bytes("GET", "/v2", "", 0);
	expect(200, NULL, "keys: metadata of the server");
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
	ok(phase_ms("queue") >= 40, "Server-Timing has what is late in the queue");
	ok(fabs(batcher.deadline - exchange.began - 1e-3) < 1e-9,
	   "v2: a timeout is in microseconds");
	batcher.expired = false;
	http.headers = "X-Request-Timeout-Ms: 250\n";
	post(V1 "half:predict", "{\"instances\":[1]}");
	ok(http.status == 200 && fabs(batcher.deadline - exchange.began - 0.25) < 1e-9,
	   "a timeout in a header is in milliseconds");
	post(V2 "half/infer",
	     "{\"parameters\":{\"timeout\":9000000},\"inputs\":[{\"name\":\"input\",\"shape\":[1],"
	     "\"datatype\":\"FP32\",\"data\":[1]}]}");
	ok(http.status == 200 && fabs(batcher.deadline - exchange.began - 0.25) < 1e-9,
	   "v2: a timeout only lowers that of the header");
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

static void test_metadata(void)
{
	static const char *const keys[] = { "\"last_inference\":", "\"success\":",
					    "\"fail\":",           "\"queue\":",
					    "\"compute_input\":",  "\"compute_infer\":",
					    "\"compute_output\":", "\"cache_hit\":",
					    "\"cache_miss\":",     "\"batch_stats\":" };

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
	send_bytes("GET", V2 "half/versions/123", "", 0);
	ok(http.status == 200 && strstr(http.body, "\"versions\":[\"123\"]"),
	   "v2: metadata of a version");
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
		   strstr(http.body, "\"queue\":{\"count\":2,\"ns\":500000000}") &&
		   strstr(http.body, "\"fail\":{\"count\":5,") &&
		   strstr(http.body, "\"cache_miss\":{\"count\":0,\"ns\":0}"),
	   "v2: statistics");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		ok(strstr(http.body, keys[i]) != NULL, "v2: statistics have %s", keys[i]);
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
	static const char *const names[] = {
		"# TYPE nn_requests_total counter\n",
		"# TYPE nn_dispatch_total counter\n",
		"# TYPE nn_expired_total counter\n",
		"# TYPE nn_reload_total counter\n",
		"# TYPE nn_compute_seconds histogram\n",
		"# TYPE nn_batch_rows histogram\n",
		"nn_dispatch_total{model=\"m\",reason=\"full\"} 0\n",
		"nn_dispatch_total{model=\"m\",reason=\"timeout\"} 0\n",
		"nn_dispatch_total{model=\"m\",reason=\"deadline\"} 0\n",
		"nn_dispatch_total{model=\"m\",reason=\"shape\"} 0\n",
		"nn_dispatch_total{model=\"m\",reason=\"drain\"} 0\n"
	};
	static const char *const phases[] = { "request", "queue", "compute_input", "compute_infer",
					      "compute_output" };
	const char *bytes;

	nn_board_tally(&board, "m", NN_TALLY_BAD, 2, 0);
	nn_board_take(&board, NULL, "m", 1, false);
	nn_board_take(&board, NULL, "m", 7, false);
	nn_board_take(&board, NULL, "m", 9, true);
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
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ok(once(http.body, names[i]), "metrics: %.*s", (int)strcspn(names[i], "\n"),
		   names[i]);
	ok(once(http.body, "nn_reload_total{model=\"m\",result=\"failed\"} 2\n"),
	   "metrics: reloads that failed");
	ok(strstr(http.body, "nv_inference_count{model=\"m\",version=\"1\"} 5\n") &&
		   strstr(http.body, "nv_inference_count{model=\"m\",version=\"7\"} 5\n") &&
		   !strstr(http.body, "version=\"9\""),
	   "metrics: Triton's names, for each version but null ones");
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
		char name[80];

		snprintf(name, sizeof name,
			 "nv_inference_%s_duration_us{model=\"m\",version=\"1\"}", phases[i]);
		ok(strstr(http.body, name) != NULL, "metrics: Triton's time of %s", phases[i]);
	}
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

static void claims(void)
{
	test_hostile();
	test_router();
	test_admin();
	test_keys();
	test_states();
	test_metadata();
	test_metrics();
	test_best();
	test_idle();
	test_bool();
	nn_protocol_drain(protocol);
	send_bytes("GET", "/v2/health/ready", "", 0);
	expect(503, "{\"live\":true,\"ready\":false}", "health: 503 while it drains");
}

int main(void)
{
	const struct nn_protocol_setup setup = {
		.max_depth = 100, .board = &board, .max_batch = 32, .triton_metrics = true
	};

	return with_world(&setup, claims) || tap_done();
}
