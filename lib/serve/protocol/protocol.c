/* The router: a table of paths, methods and rights; authorization, then who answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/number.h"
#include "serve/keys.h"
#include "serve/protocol/direct.h"
#include "serve/protocol/health.h"
#include "serve/protocol/metrics.h"
#include "serve/protocol/page.h"
#include "serve/protocol/protocol.h"
#include "serve/protocol/v1.h"
#include "serve/protocol/v2.h"

enum { GET = 1, POST = 2 };
enum right { OPEN, PREDICT, ADMIN };

/* In a path * is a model's name, # a version, @ a label; :VERB is cut off its segment. */
static const struct route {
	const char *path;
	unsigned methods;
	enum right right;
	void (*handle)(struct nn_query *q);
} routes[] = {
	{ "v2/models/*/infer", POST, PREDICT, nn_v2_infer },
	{ "v1/models/*/:predict", POST, PREDICT, nn_v1_predict },
	{ "predict/*", POST, PREDICT, nn_direct_predict },
	{ "v2/models/*/versions/#/infer", POST, PREDICT, nn_v2_infer },
	{ "v1/models/*/versions/#/:predict", POST, PREDICT, nn_v1_predict },
	{ "v1/models/*/labels/@/:predict", POST, PREDICT, nn_v1_predict },
	{ "v1/models/*/:classify", POST, PREDICT, nn_v1_classify },
	{ "v1/models/*/versions/#/:classify", POST, PREDICT, nn_v1_classify },
	{ "v1/models/*/labels/@/:classify", POST, PREDICT, nn_v1_classify },
	{ "v1/models/*/:regress", POST, PREDICT, nn_v1_regress },
	{ "v1/models/*/versions/#/:regress", POST, PREDICT, nn_v1_regress },
	{ "v1/models/*/labels/@/:regress", POST, PREDICT, nn_v1_regress },
	{ "v2/health/live", GET, OPEN, nn_health_live },
	{ "v2/health/ready", GET, OPEN, nn_health_ready },
	{ "metrics", GET, PREDICT, nn_metrics_answer },
	{ "", GET, OPEN, nn_page_answer },
	{ "v1/models", GET, PREDICT, nn_v2_list },
	{ "v1/models/*", GET, PREDICT, nn_v1_status },
	{ "v1/models/*/versions/#", GET, PREDICT, nn_v1_status },
	{ "v1/models/*/labels/@", GET, PREDICT, nn_v1_status },
	{ "v1/models/*/metadata", GET, PREDICT, nn_v1_metadata },
	{ "v1/models/*/versions/#/metadata", GET, PREDICT, nn_v1_metadata },
	{ "v1/models/*/labels/@/metadata", GET, PREDICT, nn_v1_metadata },
	{ "v2", GET, PREDICT, nn_v2_server },
	{ "v2/models", GET, PREDICT, nn_v2_list },
	{ "v2/models/stats", GET, PREDICT, nn_v2_stats },
	{ "v2/models/*", GET, PREDICT, nn_v2_metadata },
	{ "v2/models/*/versions/#", GET, PREDICT, nn_v2_metadata },
	{ "v2/models/*/ready", GET, OPEN, nn_v2_ready },
	{ "v2/models/*/versions/#/ready", GET, OPEN, nn_v2_ready },
	{ "v2/models/*/config", GET, PREDICT, nn_v2_config },
	{ "v2/models/*/versions/#/config", GET, PREDICT, nn_v2_config },
	{ "v2/models/*/stats", GET, PREDICT, nn_v2_stats },
	{ "v2/models/*/versions/#/stats", GET, PREDICT, nn_v2_stats },
	{ "v2/models/*/explain", GET, PREDICT, nn_v2_explain },
	{ "v2/models/*/versions/#/explain", GET, PREDICT, nn_v2_explain },
	{ "v2/repository/index", POST, ADMIN, nn_v2_index },
	{ "v2/repository/models/*/load", POST, ADMIN, nn_v2_load },
	{ "v2/repository/models/*/unload", POST, ADMIN, nn_v2_unload },
};
#define N_ROUTES (sizeof routes / sizeof *routes)
#define MOST_SEGMENTS 8

/* ---- paths ---- */

static int hex(char c)
{
	return c >= '0' && c <= '9'                 ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* Without %XX; false: it is not a path of ours, however it goes on. */
static bool unescape(char *to, size_t room, const char *from)
{
	size_t n = 0;

	for (; *from; from++) {
		int c = (unsigned char)*from;

		if (c == '%') {
			if (hex(from[1]) < 0 || hex(from[2]) < 0)
				return false;
			c = hex(from[1]) * 16 + hex(from[2]);
			if (c == 0 || c == '/')
				return false;
			from += 2;
		}
		if (n + 1 >= room)
			return false;
		to[n++] = (char)c;
	}
	to[n] = '\0';
	return true;
}

/* Verbs of TensorFlow Serving behind a model; the last stands for any other. */
static const char *const verbs[] = { ":predict", ":classify", ":regress", ":" };
#define N_VERBS 3

/* The colon before a verb: the last one, for NAME:null is a name. */
static char *find_verb(char *segment)
{
	char *colon = strrchr(segment, ':');

	return colon && strcmp(colon, ":null") != 0 ? colon : NULL;
}

static const char *verb_of(const char *colon)
{
	size_t v = 0;

	while (v < N_VERBS && strcmp(colon, verbs[v]) != 0)
		v++;
	return verbs[v];
}

/* Segments of path, which is cut; a verb is one of its own. How many, 0: too many. */
static size_t cut(char *path, const char *segments[MOST_SEGMENTS])
{
	size_t n = 0;
	char *at = path + (*path == '/'), *slash, *colon;

	for (;; at = slash + 1) {
		if (n == MOST_SEGMENTS - 1)
			return 0;
		segments[n++] = at;
		slash = strchr(at, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	if (n > 1 && !*at) /* a slash at the end */
		n--;
	colon = n > 1 && strcmp(segments[0], "v1") == 0 ? find_verb(path + (segments[n - 1] - path))
							: NULL;
	if (colon) {
		segments[n++] = verb_of(colon);
		*colon = '\0';
	}
	return n;
}

static bool matches(const char *pattern, const char *const *segments, size_t n,
		    struct nn_named *named)
{
	*named = (struct nn_named){ 0 };
	for (size_t i = 0; i < n; i++) {
		size_t length = strcspn(pattern, "/");

		if (length == 1 && *pattern == '*') {
			named->name = segments[i];
		} else if (length == 1 && *pattern == '@') {
			named->label = segments[i];
		} else if (length == 1 && *pattern == '#') {
			if (!nn_parse_u64(segments[i], strlen(segments[i]), &named->version) ||
			    named->version == 0)
				return false;
		} else if (strlen(segments[i]) != length ||
			   memcmp(segments[i], pattern, length) != 0) {
			return false;
		}
		pattern += length;
		if (i + 1 < n && *pattern++ != '/')
			return false;
	}
	return !*pattern;
}

/* The first that fits: fixed words stand before names where both would. verb: one is at the end. */
static const struct route *find_route(struct nn_query *q, bool *verb)
{
	const char *segments[MOST_SEGMENTS];
	size_t n;

	*verb = false;
	if (!unescape(q->path, sizeof q->path, q->exchange->path))
		return NULL;
	n = cut(q->path, segments);
	*verb = n && *segments[n - 1] == ':';
	for (size_t i = 0; n && i < N_ROUTES; i++)
		if (matches(routes[i].path, segments, n, &q->named))
			return &routes[i];
	return NULL;
}

/* ---- who may ---- */

/* Administration is for those with a key, and for whoever may open a Unix socket. */
static int authorize(struct nn_query *q, enum right right)
{
	const struct nn_keys *keys = q->protocol->keys;
	unsigned status;

	if (right == OPEN || (right == ADMIN && nn_exchange_is_local(q->exchange)))
		return 0;
	if (!keys)
		return right == PREDICT
			       ? 0
			       : nn_query_fail(
					 q, 403,
					 "administration over TCP needs a key file (--key-file)");
	status = nn_keys_allow(keys, nn_exchange_header(q->exchange, "Authorization"),
			       right == ADMIN ? NN_RIGHT_ADMIN : NN_RIGHT_PREDICT);
	if (status == 401) {
		nn_exchange_set_header(q->exchange, "WWW-Authenticate", "Bearer");
		return nn_query_fail(q, 401,
				     "expected a key that is known: Authorization: Bearer KEY");
	}
	return status ? nn_query_fail(q, status, "the key has not the right to %s",
				      right == ADMIN ? "admin" : "predict")
		      : 0;
}

static unsigned method_of(const char *method)
{
	return strcmp(method, "POST") == 0                                 ? POST
	       : strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ? GET
									   : 0;
}

static int dispatch(struct nn_query *q)
{
	bool verb;
	const struct route *route = find_route(q, &verb);
	char quoted[NN_QUOTED];

	if (!route)
		return nn_query_fail(
			q, 404, "there is nothing at %s%s",
			nn_quote(quoted, q->exchange->path, strlen(q->exchange->path)),
			verb ? "; the verbs of a model are :predict, :classify and :regress" : "");
	if (authorize(q, route->right) < 0)
		return -1;
	if (q->exchange->bytes > 0 && nn_exchange_header(q->exchange, "Content-Encoding"))
		return nn_query_fail(
			q, 415, "Content-Encoding: bodies are taken as they are, not compressed");
	if (!(route->methods & method_of(q->exchange->method))) {
		nn_exchange_set_header(q->exchange, "Allow",
				       route->methods == GET ? "GET, HEAD" : "POST");
		return nn_query_fail(q, 405, "%s takes %s, not %s",
				     nn_quote(quoted, q->exchange->path, strlen(q->exchange->path)),
				     route->methods == GET ? "GET" : "POST", q->exchange->method);
	}
	route->handle(q);
	return 0;
}

void nn_protocol_handle(void *arg, struct nn_exchange *exchange)
{
	struct nn_query *q = nn_query_new(arg, exchange);

	if (!q) {
		nn_text_add(&exchange->answer, "{\"error\":\"memory is out\"}\n");
		nn_exchange_answer(exchange, 503, "application/json");
		return;
	}
	if (dispatch(q) < 0)
		nn_query_refuse(q);
}

/* ---- what is left of an exchange ---- */

void nn_protocol_ended(void *arg, struct nn_exchange *exchange, unsigned status, size_t bytes_out)
{
	struct nn_protocol *p = arg;

	(void)bytes_out;
	nn_metrics_tally(p->board, exchange->model, status, exchange->rows > 0);
	exchange->model = NULL;
	if (exchange->arg)
		nn_query_end(exchange->arg);
	exchange->arg = NULL;
}

int nn_protocol_open(struct nn_protocol **protocol, const struct nn_protocol_setup *setup,
		     struct nn_error *err)
{
	struct nn_protocol *p = nn_alloc(1, sizeof *p, err);

	if (!p)
		return -1;
	p->models = setup->models;
	p->batcher = setup->batcher;
	p->keys = setup->keys;
	p->max_depth = setup->max_depth;
	p->max_batch = setup->max_batch;
	p->triton_metrics = setup->triton_metrics;
	p->board = setup->board;
	p->leash = setup->leash;
	p->ranks = setup->ranks;
	p->n_desks = 16;
	p->desks = nn_alloc(p->n_desks, sizeof *p->desks, err);
	if (!p->desks) {
		nn_free(p);
		return -1;
	}
	for (unsigned i = 0; i < p->n_desks; i++)
		pthread_mutex_init(&p->desks[i].lock, NULL);
	*protocol = p;
	return 0;
}

void nn_protocol_close(struct nn_protocol *p)
{
	if (!p)
		return;
	while (atomic_load(&p->loading) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (unsigned i = 0; i < p->n_desks; i++)
		nn_desk_fini(&p->desks[i]);
	nn_free(p->desks);
	nn_free(p);
}

void nn_protocol_drain(struct nn_protocol *p)
{
	atomic_store(&p->draining, true);
}
