/* Requests: their memory, their way through the batcher, and how they are answered. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "serve/protocol/query.h"

/* More than this is given back to the system behind a request, and what a desk has beyond that. */
#define KEPT ((size_t)4 << 20)
#define MOST_IDLE ((size_t)32 << 20)

/* ---- memory ---- */

static void free_query(struct nn_query *q)
{
	nn_block_free(&q->in);
	nn_block_free(&q->out);
	nn_block_free(&q->values);
	nn_block_free(&q->fed);
	nn_block_free(&q->lengths);
	nn_block_free(&q->offsets);
	nn_block_free(&q->arrays);
	nn_block_free(&q->wanted);
	nn_text_free(&q->cells);
	nn_pull_keys_free(q->keys);
	nn_free(q);
}

/* Keys of objects that are open at once in one document. */
#define MOST_KEYS 131072

static struct nn_query *new_query(void)
{
	struct nn_query *q = nn_alloc(1, sizeof *q, NULL);

	if (q && !(q->keys = nn_pull_keys_new(MOST_KEYS, NULL))) {
		nn_free(q);
		q = NULL;
	}
	return q;
}

/* What it holds for the next one. */
static size_t bytes_of(const struct nn_query *q)
{
	return q->in.room + q->out.room + q->values.room + q->fed.room + q->lengths.room +
	       q->offsets.room + q->arrays.room + q->cells.room + q->wanted.room +
	       nn_pull_keys_bytes(q->keys);
}

static struct nn_query *take_idle(struct nn_desk *desk)
{
	struct nn_query *q;

	pthread_mutex_lock(&desk->lock);
	q = desk->idle;
	if (q) {
		desk->idle = q->next;
		desk->idle_bytes -= bytes_of(q);
	}
	pthread_mutex_unlock(&desk->lock);
	return q;
}

struct nn_query *nn_query_new(struct nn_protocol *protocol, struct nn_exchange *exchange)
{
	struct nn_desk *desk = &protocol->desks[exchange->loop % protocol->n_desks];
	struct nn_query *q = take_idle(desk);

	if (!q && !(q = new_query()))
		return NULL;
	q->job = (struct nn_job){ .deadline = INFINITY, .loop = exchange->loop };
	q->protocol = protocol;
	q->exchange = exchange;
	q->desk = desk;
	q->next = NULL;
	q->named = (struct nn_named){ 0 };
	q->served = NULL;
	q->status = 0;
	*q->error.text = '\0';
	q->error.code = NN_OK;
	q->n_values = q->n_cells = q->n_arrays = q->n_wanted = 0;
	nn_text_clear(&q->cells);
	q->cells.failed = false;
	q->format = NULL;
	q->form = 0;
	q->id = NULL;
	q->id_length = 0;
	exchange->arg = q;
	return q;
}

void nn_query_end(struct nn_query *q)
{
	struct nn_desk *desk = q->desk;
	size_t bytes = bytes_of(q);
	bool kept;

	nn_served_release(q->served);
	q->served = NULL;
	pthread_mutex_lock(&desk->lock);
	kept = bytes <= KEPT && desk->idle_bytes + bytes <= MOST_IDLE;
	if (kept) {
		q->next = desk->idle;
		desk->idle = q;
		desk->idle_bytes += bytes;
	}
	pthread_mutex_unlock(&desk->lock);
	if (!kept)
		free_query(q);
}

void nn_desk_fini(struct nn_desk *desk)
{
	struct nn_query *q;

	while ((q = take_idle(desk)))
		free_query(q);
	pthread_mutex_destroy(&desk->lock);
}

/* ---- answers ---- */

static char *put_phase(char *s, const char *name, double seconds)
{
	unsigned long long us = seconds > 0 ? (unsigned long long)(seconds * 1e6 + 0.5) : 0;

	s = stpcpy(s, name);
	s = stpcpy(s, ";dur=");
	if (us >= 1000) {
		s += sprintf(s, "%llu", us / 1000);
		us %= 1000;
	} else {
		*s++ = '0';
	}
	*s++ = '.';
	*s++ = (char)('0' + us / 100);
	*s++ = (char)('0' + us / 10 % 10);
	*s++ = (char)('0' + us % 10);
	return s;
}

/* Where its time went, in milliseconds (W3C Server-Timing). */
static void set_timing(struct nn_query *q)
{
	const struct nn_exchange *x = q->exchange;
	const struct nn_job *job = &q->job;
	double now = nn_now_s(), queued = job->queued > 0 ? job->queued : now;
	double ended = job->ended > 0 ? job->ended : queued;
	double started = job->started > 0 ? job->started : ended; /* else it was late, or refused */
	char text[320], *s = text;

	s = put_phase(s, "read", x->read - x->began);
	s = put_phase(s, ", parse", queued - x->read);
	s = put_phase(s, ", queue", started - queued);
	s = put_phase(s, ", compute", ended - started);
	s = put_phase(s, ", format", now - ended);
	*s = '\0';
	nn_exchange_set_header(q->exchange, "Server-Timing", text);
}

void nn_query_answer(struct nn_query *q, unsigned status, const char *type)
{
	struct nn_text *answer = &q->exchange->answer;

	if (answer->failed) {
		nn_text_free(answer);
		*answer = (struct nn_text){ 0 };
		nn_text_add(answer, "{\"error\":\"memory is out\"}\n");
		status = 503;
		type = "application/json";
	}
	set_timing(q);
	nn_exchange_answer(q->exchange, status, type);
}

void nn_query_answer_json(struct nn_query *q)
{
	nn_query_answer(q, 200, "application/json");
}

int nn_query_fail(struct nn_query *q, unsigned status, const char *format, ...)
{
	va_list args;

	q->status = status;
	q->error.code = NN_EFAIL;
	va_start(args, format);
	vsnprintf(q->error.text, sizeof q->error.text, format, args);
	va_end(args);
	return -1;
}

void nn_query_refuse(struct nn_query *q)
{
	struct nn_text *answer = &q->exchange->answer;
	unsigned status = q->status ? q->status : q->error.code == NN_ENOMEM ? 503 : 400;

	nn_text_clear(answer);
	nn_text_add(answer, "{\"error\":");
	nn_text_add_json(answer, q->error.text, strlen(q->error.text));
	nn_text_add(answer, "}\n");
	if (status == 503)
		nn_exchange_set_header(q->exchange, "Retry-After", "1");
	nn_query_answer(q, status, "application/json");
}

/* ---- the model ---- */

/* [A-Za-z0-9._-] */
static bool is_of_name(char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
	       c == '_' || c == '-';
}

static bool is_name(const char *name)
{
	size_t n = 0;

	while (is_of_name(name[n]))
		n++;
	return n > 0 && (!name[n] || strcmp(name + n, ":null") == 0);
}

/* A slash at the end of a word stays: "versions (1/, 2/, ...)". */
void nn_query_cut_paths(char *text)
{
	char *to = text, *word = text;

	for (const char *from = text; *from; from++) {
		if (strchr(" \"'(", *from))
			word = to + 1;
		*to++ = *from;
		if (*from == '/' && !strchr(" ,:;)\"'", from[1]))
			to = word;
	}
	*to = '\0';
}

void nn_query_wrong(struct nn_query *q, const char *model, uint64_t version, struct nn_error *wrong)
{
	if (nn_models_wrong(q->protocol->models, model, version, wrong) < 0)
		nn_query_cut_paths(wrong->text);
}

int nn_query_find(struct nn_query *q)
{
	const struct nn_named *named = &q->named;
	char quoted[NN_QUOTED];

	if (!is_name(named->name))
		return nn_query_fail(q, 404, "no model is called %s",
				     nn_quote(quoted, named->name, strlen(named->name)));
	q->served = nn_models_find(q->protocol->models, named->name, strlen(named->name),
				   named->version, named->label, &q->error);
	if (!q->served) {
		q->status = q->error.code == NN_EUSAGE ? 400 : 404;
		return -1;
	}
	q->exchange->model = named->name;
	return 0;
}

void nn_query_unseen(struct nn_query *q, uint64_t n, const char *what)
{
	if (n == 0 || q->served->null)
		return;
	nn_board_tally(q->protocol->board, q->served->name, NN_TALLY_UNSEEN, n, 0);
	nn_served_unseen(q->served, what);
}

/* ---- computing ---- */

static void done(struct nn_job *job)
{
	struct nn_query *q = (struct nn_query *)job;

	if (job->state == NN_JOB_DONE) {
		q->format(q);
		return;
	}
	if (job->state == NN_JOB_EXPIRED)
		nn_query_fail(q, 504,
			      "the deadline of the request had passed before it could be computed");
	else
		nn_query_fail(q, job->error.code == NN_ERANK ? 503 : 500, "%s", job->error.text);
	nn_query_refuse(q);
}

/* Room for the answers: a few bytes of a request may ask for much. */
static int reserve_out(struct nn_query *q)
{
	size_t values, bytes;

	if (!nn_mul(q->job.rows, q->served->row_out, &values) ||
	    !nn_mul(values, nn_dtype_size(q->job.dtype), &bytes) ||
	    (bytes > (size_t)256 << 20 && bytes > nn_memory_available() / 4))
		return nn_query_fail(q, 413, "the answers to %zu rows do not fit into memory",
				     q->job.rows);
	return nn_block_reserve(&q->out, bytes, &q->error);
}

void nn_query_submit(struct nn_query *q, void (*format)(struct nn_query *query))
{
	const char *header = nn_exchange_header(q->exchange, "X-Request-Timeout-Ms");
	uint64_t ms;

	if (header) {
		if (!nn_parse_u64(header, strlen(header), &ms)) {
			nn_query_fail(q, 400,
				      "X-Request-Timeout-Ms: expected a number of milliseconds");
			nn_query_refuse(q);
			return;
		}
		nn_query_deadline(q, (double)ms * 1e-3);
	}
	q->format = format;
	q->exchange->rows = q->job.rows;
	if (q->job.rows == 0) {
		q->job.state = NN_JOB_DONE;
		format(q);
		return;
	}
	if (reserve_out(q) < 0) {
		nn_query_refuse(q);
		return;
	}
	q->job.lane = q->served->lane;
	q->job.out = q->out.data;
	q->job.done = done;
	if (nn_batcher_put(q->protocol->batcher, &q->job))
		return;
	nn_query_fail(q, 503, "the queue is full (--queue)");
	nn_query_refuse(q);
}

void nn_query_deadline(struct nn_query *q, double seconds)
{
	double deadline = q->exchange->began + seconds;

	if (deadline < q->job.deadline)
		q->job.deadline = deadline;
}

void nn_query_pull(struct nn_query *q, size_t bytes, bool words)
{
	nn_pull_begin(&q->pull, q->exchange->body, bytes, q->protocol->max_depth, words, &q->error);
	q->pull.depth_said = "--max-depth";
	nn_pull_once(&q->pull, q->keys);
}
