/*
 * A rank other than 0: a thread for each channel, which takes a batch from the rank before, lets it
 * through the layers that are here, and passes it on; the first thread reads letters.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/flush.h"
#include "base/memory.h"
#include "base/thread.h"
#include "predict/session.h"
#include "serve/ranks/rank.h"
#include "serve/sandbox.h"

/* A model's part that is here. */
struct held {
	struct held *next;
	unsigned users; /* channels with a batch of it */
	struct nn_model *model;
	struct nn_session *sessions[NN_MOST_CHANNELS]; /* each its channel's; NULL: none was yet */
};

struct rank {
	struct nn_rank_setup setup;
	pthread_mutex_t lock; /* of the list */
	pthread_cond_t left;  /* a channel has done with a model */
	struct held *held;
	sem_t permits; /* to compute */
	const char **folders;
	size_t n_folders;
};

struct channel {
	struct rank *rank;
	unsigned number;
};

/* It stays until it is given back with leave. */
static struct held *use(struct rank *r, uint64_t number)
{
	struct held *held;

	pthread_mutex_lock(&r->lock);
	for (held = r->held; held && held->model->part.number != number;)
		held = held->next;
	if (held)
		held->users++;
	pthread_mutex_unlock(&r->lock);
	return held;
}

static void leave(struct rank *r, struct held *held)
{
	if (!held)
		return;
	pthread_mutex_lock(&r->lock);
	held->users--;
	pthread_cond_signal(&r->left);
	pthread_mutex_unlock(&r->lock);
}

/* ---- batches ---- */

static size_t edge_bytes(const struct nn_session *s, enum nn_graph_side side, size_t rows)
{
	size_t sum = 0;

	for (size_t i = 0; i < nn_session_edges(s, side); i++)
		sum += nn_session_edge(s, side, i).row_bytes * rows;
	return sum;
}

static size_t output_bytes(const struct nn_session *s, size_t rows)
{
	size_t sum = 0;

	for (size_t o = 0; o < nn_session_n_outputs(s); o++)
		sum += nn_session_raw_bytes(s, o) * rows;
	return sum;
}

/* The channel's session for the batch; NULL: err says why not. */
static struct nn_session *session_of(const struct rank *r, struct held *held, unsigned channel,
				     const struct nn_rank_head *head, struct nn_error *err)
{
	struct nn_session_setup setup = { .max_rows = head->max_rows };

	if (!held) {
		nn_fail(err, NN_EFAIL, "rank %d does not have the model", r->setup.rank);
		return NULL;
	}
	setup.model = held->model;
	if (!held->sessions[channel] && nn_session_new(&held->sessions[channel], &setup, err) < 0)
		return NULL;
	return held->sessions[channel];
}

static int discard(int channel, uint64_t bytes)
{
	char away[4096];

	for (uint64_t n; bytes > 0; bytes -= n) {
		n = bytes < sizeof away ? bytes : sizeof away;
		if (nn_rank_receive(channel, away, (size_t)n) < 0)
			return -1;
	}
	return 0;
}

static int take_rows(int channel, struct nn_session *s, const struct nn_rank_head *head)
{
	if (nn_rank_receive_lengths(channel, s, head->lengths) < 0)
		return -1;
	for (size_t i = 0; i < nn_session_edges(s, NN_SIDE_COMING); i++) {
		struct nn_session_edge e = nn_session_edge(s, NN_SIDE_COMING, i);

		if (nn_rank_receive(channel, e.rows, head->rows * e.row_bytes) < 0)
			return -1;
	}
	return 0;
}

static int give_rows(int channel, const struct nn_session *s, const struct nn_rank_head *head,
		     bool last)
{
	size_t rows = head->rows;

	if (nn_rank_send_lengths(channel, s, head->lengths) < 0)
		return -1;
	for (size_t i = 0; !last && i < nn_session_edges(s, NN_SIDE_GOING); i++) {
		struct nn_session_edge e = nn_session_edge(s, NN_SIDE_GOING, i);

		if (nn_rank_send(channel, e.rows, rows * e.row_bytes, false) < 0)
			return -1;
	}
	for (size_t o = 0; last && o < nn_session_n_outputs(s); o++)
		if (nn_rank_send(channel, nn_session_raw(s, o, 0),
				 rows * nn_session_raw_bytes(s, o), false) < 0)
			return -1;
	return 0;
}

static int compute(struct rank *r, struct nn_session *s, size_t rows, struct nn_error *err)
{
	int status;

	while (sem_wait(&r->permits) < 0)
		;
	status = nn_session_run(s, rows, err);
	sem_post(&r->permits);
	return status;
}

/* -1: an end of the channel is gone. */
static int pass_on(struct rank *r, struct held *held, unsigned channel, struct nn_rank_head *head)
{
	int up = r->setup.up[channel], down = r->setup.down[channel];
	bool last = r->setup.rank + 1 == r->setup.ranks;
	struct nn_session *s = NULL;
	struct nn_error err = { 0 };
	int status = 0;

	if (head->code == 0) {
		s = session_of(r, held, channel, head, &err);
		if (s && edge_bytes(s, NN_SIDE_COMING, head->rows) != head->bytes)
			NN_BUG("%zu bytes of a batch", (size_t)head->bytes);
		if ((s ? take_rows(up, s, head)
		       : discard(up, head->lengths * sizeof(uint32_t) + head->bytes)) < 0)
			return -1;
		status = s ? compute(r, s, head->rows, &err) : -1;
	}
	if (status < 0) {
		head->code = (int)err.code;
		memcpy(head->text, err.text, sizeof head->text - 1);
		head->text[sizeof head->text - 1] = '\0';
	}
	head->bytes = head->code ? 0
		      : last     ? output_bytes(s, head->rows)
				 : edge_bytes(s, NN_SIDE_GOING, head->rows);
	head->lengths = head->code || last ? 0 : head->lengths;
	if (nn_rank_send(down, head, sizeof *head, head->bytes > 0) < 0)
		return -1;
	return head->code ? 0 : give_rows(down, s, head, last);
}

/* Rank 0 may close the model as soon as it has the answer, of which this thread hears later. */
static int pass(struct rank *r, unsigned channel)
{
	struct nn_rank_head head;
	struct held *held;
	int status;

	if (nn_rank_receive(r->setup.up[channel], &head, sizeof head) < 0)
		return -1;
	held = use(r, head.number);
	status = pass_on(r, held, channel, &head);
	leave(r, held);
	return status;
}

static void *serve(void *arg)
{
	const struct channel *c = arg;

	nn_flush_set(true);
	while (pass(c->rank, c->number) == 0)
		;
	/* who waits for the batch behind this rank, or has it before it, hears of it */
	shutdown(c->rank->setup.up[c->number], SHUT_RDWR);
	shutdown(c->rank->setup.down[c->number], SHUT_RDWR);
	return NULL;
}

/* ---- letters ---- */

static int open_part(struct rank *r, const struct nn_rank_letter *letter, struct nn_error *err)
{
	struct nn_model_source source = {
		.path = letter->text,
		.device_name = r->setup.device,
		.part = { .rank = r->setup.rank, .ranks = r->setup.ranks, .number = letter->number }
	};
	struct held *held = nn_alloc(1, sizeof *held, err);

	if (!held || nn_model_load(&held->model, &source, err) < 0) {
		nn_free(held);
		return -1;
	}
	pthread_mutex_lock(&r->lock);
	held->next = r->held;
	r->held = held;
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static void close_part(struct rank *r, uint64_t number)
{
	struct held **at, *held;

	pthread_mutex_lock(&r->lock);
	for (at = &r->held; *at && (*at)->model->part.number != number;)
		at = &(*at)->next;
	held = *at;
	if (held)
		*at = held->next;
	while (held && held->users > 0)
		pthread_cond_wait(&r->left, &r->lock);
	pthread_mutex_unlock(&r->lock);
	if (!held)
		return;
	for (unsigned i = 0; i < r->setup.channels; i++)
		nn_session_close(held->sessions[i]);
	nn_model_close(held->model);
	nn_free(held);
}

static void allow(struct rank *r, const char *folder)
{
	size_t n = r->n_folders, size = sizeof *r->folders;
	const char **more = nn_realloc(r->folders, (n + 1) * size, (n + 2) * size, NULL);

	if (!more || !(more[n] = nn_strdup(folder, NULL)))
		_exit(NN_ENOMEM);
	more[++r->n_folders] = NULL;
	r->folders = more;
}

/* What the kernel lacks rank 0 says. */
static int enter(const struct rank *r, struct nn_error *err)
{
	static const char *const none[] = { NULL };
	struct nn_sandbox_setup sandbox = { .read = r->folders ? r->folders : none,
					    .write = none,
					    .device = strcmp(r->setup.device, "cpu") != 0 };
	struct nn_text note = { 0 };
	int status = nn_sandbox_enter(&sandbox, &note, err);

	nn_text_free(&note);
	return status;
}

static void answer(const struct rank *r, struct nn_rank_letter *letter, int status,
		   const struct nn_error *err)
{
	letter->code = status < 0 ? (int)err->code : 0;
	nn_rank_set_text(letter, status < 0 ? err->text : "");
	if (nn_rank_write(r->setup.control, letter) < 0)
		_exit(0);
}

static void obey(struct rank *r, struct nn_rank_letter *letter)
{
	struct nn_error err = { 0 };

	if (letter->kind == NN_RANK_OPEN)
		answer(r, letter, open_part(r, letter, &err), &err);
	else if (letter->kind == NN_RANK_CLOSE)
		close_part(r, letter->number);
	else if (letter->kind == NN_RANK_ALLOW)
		allow(r, letter->text);
	else
		answer(r, letter, enter(r, &err), &err);
}

_Noreturn void nn_rank_be(const struct nn_rank_setup *setup)
{
	static struct rank r; /* one a process */
	static struct channel channels[NN_MOST_CHANNELS];
	static struct nn_rank_letter letter;
	pthread_t thread;

	r = (struct rank){ .setup = *setup };
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.left, NULL);
	sem_init(&r.permits, 0, setup->threads);
	nn_flush_set(true);
	for (unsigned i = 0; i < setup->channels; i++) {
		channels[i] = (struct channel){ &r, i };
		if (nn_thread_start(&thread, 0, serve, &channels[i], "a thread of a rank", NULL) <
		    0)
			_exit(NN_ENOMEM);
	}
	while (nn_rank_read(setup->control, &letter) == 0)
		obey(&r, &letter);
	_exit(0);
}
