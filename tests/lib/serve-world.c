/* An HTTP, a batcher and models that are played: see serve-world.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "predict/encode.h"
#include "serve-world.h"

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
	{ .name = "probs", .classes = true, .fixed = true, .shape = { 1, { 3 } }, .size = 3 },
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
int held; /* models that a request has */
bool models_ready = true;

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

char told[200];

void nn_served_unseen(struct nn_served *served, const char *what)
{
	(void)served;
	snprintf(told, sizeof told, "%s", what);
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

int nn_models_wrong(struct nn_models *unused, const char *name, uint64_t version,
		    struct nn_error *err)
{
	(void)unused;
	(void)name;
	(void)version;
	(void)err;
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
	if (strcmp(name, "pair") == 0)
		return nn_fail(err, NN_EFAIL,
			       "/srv/m/pair/: found neither versions (1/, 2/, ...) nor models");
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

static const char *const labels[] = { "cat", "dog", "o\"x" };

const char *nn_model_label(const struct nn_model *model, size_t i)
{
	(void)model;
	return i < 3 ? labels[i] : NULL;
}

/* age, and the length of colour */
int nn_model_encode_counting(const struct nn_model *model, const char *const *fields, float *row,
			     struct nn_encoder_unseen *unseen, struct nn_error *err)
{
	char *end;

	(void)model;
	row[0] = strtof(fields[0], &end);
	row[1] = (float)strlen(fields[1]);
	if (strcmp(fields[1], "unseen") == 0)
		*unseen = (struct nn_encoder_unseen){ unseen->n + 1, 1 };
	if (!*fields[0] || *end)
		return nn_fail(err, NN_EFORMAT, "column \"age\": found \"%s\", expected a number",
			       fields[0]);
	return 0;
}

/* ---- the batcher ---- */

const double nn_seconds_bounds[15] = { 1e-5 }, nn_rows_bounds[15] = { 1 };
struct batcher batcher;

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

void finish(struct nn_job *job)
{
	const struct nn_served *s = (const void *)job->lane;

	job->ended = nn_now_s();
	job->started = batcher.expired ? 0 : job->ended;
	job->state = batcher.expired ? NN_JOB_EXPIRED : batcher.fails ? NN_JOB_FAILED : NN_JOB_DONE;
	if (batcher.fails)
		nn_fail(&job->error, NN_ENOMEM, "memory is out");
	for (size_t r = 0; r < job->rows; r++)
		compute(s, (const float *)job->in + r * s->row_in,
			(float *)job->out + r * s->row_out);
	job->done(job);
}

bool nn_batcher_put(struct nn_batcher *unused, struct nn_job *job)
{
	(void)unused;
	batcher.deadline = job->deadline;
	if (batcher.full)
		return false;
	job->queued = nn_now_s() - (batcher.expired ? 0.04 : 0);
	if (batcher.holds)
		batcher.held = job;
	else
		finish(job);
	return true;
}

void nn_lane_share(struct nn_lane *lane, struct nn_lane_counts *all, unsigned n, unsigned mine)
{
	(void)lane;
	(void)all;
	(void)n;
	(void)mine;
}

void nn_lane_count(const struct nn_lane *lane, struct nn_lane_counts *counts)
{
	(void)lane;
	*counts = (struct nn_lane_counts){ .requests = 3,
					   .rows = 7,
					   .batch_rows = 5,
					   .batches = 2,
					   .failed = 1,
					   .full = 4,
					   .queue_s = 0.5 };
	counts->queue_counts[15] = 3;
	counts->dispatch[NN_IDLE] = 2;
}

const char *nn_batcher_place(const struct nn_batcher *unused, size_t i)
{
	(void)unused;
	(void)i;
	return NULL;
}

void nn_lane_counts_add(struct nn_batcher *unused, const struct nn_lane_counts *all, unsigned n,
			struct nn_lane_counts *sum)
{
	(void)unused;
	(void)all;
	(void)n;
	nn_lane_count(NULL, sum);
}

void nn_lane_explain(const struct nn_lane *lane, struct nn_text *text)
{
	(void)lane;
	nn_text_add(text, "mean batch 2.50 of 32");
}

/* ---- HTTP ---- */

struct http http;

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

struct nn_protocol *protocol;
struct nn_board board;
struct nn_exchange exchange;

void begin(const char *method, const char *path, const void *body, size_t bytes)
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

void end(void)
{
	while (!__atomic_load_n(&http.answered, __ATOMIC_ACQUIRE))
		nn_pause();
	nn_protocol_ended(protocol, &exchange, http.status, http.bytes);
	nn_text_free(&exchange.answer);
	free(exchange.body);
}

void send_bytes(const char *method, const char *path, const void *body, size_t bytes)
{
	begin(method, path, body, bytes);
	end();
}

void post(const char *path, const char *body)
{
	send_bytes("POST", path, body, strlen(body));
}

int with_world(const struct nn_protocol_setup *setup, void (*claims)(void))
{
	/* What a lane stands for here is its model. */
	for (size_t i = 0; i < N_MODELS; i++)
		models[i].lane = (struct nn_lane *)(void *)&models[i];
	if (nn_board_open(&board, 1, NULL) < 0 || nn_protocol_open(&protocol, setup, NULL) < 0)
		return 1;
	for (size_t i = 0; i < N_MODELS; i++)
		nn_board_take(&board, models[i].lane, models[i].name, models[i].version, false);
	claims();
	nn_protocol_close(protocol);
	nn_board_close(&board);
	free(http.body);
	return 0;
}
