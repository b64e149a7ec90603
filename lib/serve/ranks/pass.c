/* Rank 0's side of the others: what they are asked, and batches on their way through them. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "predict/part.h"
#include "serve/ranks/inside.h"

unsigned nn_ranks_channels(const struct nn_ranks *ranks)
{
	return ranks->n_channels;
}

unsigned nn_ranks_count(const struct nn_ranks *ranks)
{
	return ranks->setup.ranks;
}

unsigned nn_ranks_under_way(struct nn_ranks *ranks)
{
	unsigned n;

	pthread_mutex_lock(&ranks->lock);
	n = ranks->n_channels - ranks->n_free;
	pthread_mutex_unlock(&ranks->lock);
	return n;
}

bool nn_ranks_has(struct nn_ranks *ranks, unsigned rank)
{
	return !atomic_load(&ranks->others[rank].lost);
}

bool nn_ranks_lost(struct nn_ranks *ranks)
{
	return ranks && atomic_load(&ranks->lost);
}

static int fail_lost(struct nn_error *err)
{
	return nn_fail(err, NN_ERANK, NN_RANKS_LOST);
}

/* ---- models ---- */

void nn_ranks_open(struct nn_ranks *ranks, const char *path, struct nn_model_part *part)
{
	struct nn_rank_letter letter = { .kind = NN_RANK_OPEN };

	pthread_mutex_lock(&ranks->asking);
	letter.number = ++ranks->number;
	nn_rank_set_text(&letter, path);
	for (unsigned r = 1; r < ranks->setup.ranks; r++)
		ranks->others[r].asked = nn_rank_write(ranks->others[r].control, &letter) == 0;
	*part = (struct nn_model_part){ .ranks = (int)ranks->setup.ranks, .number = letter.number };
}

/* Answers of all that were asked; the first thing that is wrong. */
static int hear(struct nn_ranks *ranks, struct nn_error *err)
{
	struct nn_rank_letter letter;
	int status = 0;

	for (unsigned r = 1; r < ranks->setup.ranks; r++) {
		if (!ranks->others[r].asked ||
		    nn_rank_read(ranks->others[r].control, &letter) < 0) {
			status = status < 0 ? status : fail_lost(err);
			continue;
		}
		if (letter.code && status == 0)
			status = nn_fail(err, (enum nn_code)letter.code, "%s", letter.text);
	}
	return status;
}

int nn_ranks_opened(struct nn_ranks *ranks, struct nn_error *err)
{
	int status = hear(ranks, err);

	pthread_mutex_unlock(&ranks->asking);
	return status;
}

void nn_ranks_close(struct nn_ranks *ranks, uint64_t number)
{
	const struct nn_rank_letter letter = { .kind = NN_RANK_CLOSE, .number = number };

	pthread_mutex_lock(&ranks->asking);
	for (unsigned r = 1; r < ranks->setup.ranks; r++)
		nn_rank_write(ranks->others[r].control, &letter);
	pthread_mutex_unlock(&ranks->asking);
}

int nn_ranks_sandbox(struct nn_ranks *ranks, const char *const *read, struct nn_error *err)
{
	struct nn_rank_letter letter = { .kind = NN_RANK_ALLOW };
	const struct nn_rank_letter enter = { .kind = NN_RANK_ENTER };
	int status;

	pthread_mutex_lock(&ranks->asking);
	for (unsigned r = 1; r < ranks->setup.ranks; r++) {
		for (size_t i = 0; read[i]; i++) {
			nn_rank_set_text(&letter, read[i]);
			nn_rank_write(ranks->others[r].control, &letter);
		}
		ranks->others[r].asked = nn_rank_write(ranks->others[r].control, &enter) == 0;
	}
	status = hear(ranks, err);
	pthread_mutex_unlock(&ranks->asking);
	return status;
}

void nn_ranks_tell(struct nn_ranks *ranks, const char *name, const struct nn_model *model)
{
	size_t size = nn_dtype_size(model->device->dtype);
	struct nn_part_cut cuts[NN_MOST_PARTS];
	struct nn_text text = { 0 };

	if (nn_part_cuts(cuts, model->part.ranks, model->program, NULL) < 0)
		return;
	nn_text_addf(&text, "model \"%s\":", name);
	for (int r = 0; r < model->part.ranks; r++) {
		nn_text_addf(&text, "%s rank %d has layer%s %d", r ? "," : "", r,
			     cuts[r].to > cuts[r].from ? "s" : "", cuts[r].from);
		if (cuts[r].to > cuts[r].from)
			nn_text_addf(&text, " to %d", cuts[r].to);
		nn_text_addf(&text, " (%.1f MB)", (double)(cuts[r].values * size) / 1e6);
	}
	if (!text.failed)
		ranks->setup.note(ranks->setup.arg, text.data);
	nn_text_free(&text);
}

/* ---- batches ---- */

static unsigned take_channel(struct nn_ranks *ranks)
{
	unsigned channel;

	pthread_mutex_lock(&ranks->lock);
	while (ranks->n_free == 0)
		pthread_cond_wait(&ranks->freed, &ranks->lock);
	channel = ranks->free[--ranks->n_free];
	pthread_mutex_unlock(&ranks->lock);
	return channel;
}

static void give_channel(struct nn_ranks *ranks, unsigned channel)
{
	pthread_mutex_lock(&ranks->lock);
	ranks->free[ranks->n_free++] = channel;
	pthread_cond_signal(&ranks->freed);
	pthread_mutex_unlock(&ranks->lock);
}

static int send_rows(int channel, const struct nn_session *s, struct nn_rank_head *head)
{
	size_t n = nn_session_edges(s, NN_SIDE_GOING);

	for (size_t i = 0; i < n; i++)
		head->bytes += nn_session_edge(s, NN_SIDE_GOING, i).row_bytes * head->rows;
	head->lengths = nn_session_length(s, 0) ? head->rows : 0;
	if (nn_rank_send(channel, head, sizeof *head, true) < 0 ||
	    nn_rank_send_lengths(channel, s, head->lengths) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct nn_session_edge e = nn_session_edge(s, NN_SIDE_GOING, i);

		if (nn_rank_send(channel, e.rows, e.row_bytes * head->rows, i + 1 < n) < 0)
			return -1;
	}
	return 0;
}

/* Outputs one after the other in `answer`, each on a multiple of NN_ALIGN. */
static int receive_answer(int channel, struct nn_session *s, size_t rows, struct nn_block *answer,
			  struct nn_error *err)
{
	struct nn_rank_head head;
	size_t n_outputs = nn_session_n_outputs(s), at = 0, bytes;

	if (nn_rank_receive(channel, &head, sizeof head) < 0)
		return fail_lost(err);
	if (head.code)
		return nn_fail(err, (enum nn_code)head.code, "%s", head.text);
	if (nn_block_reserve(answer, (size_t)head.bytes + n_outputs * NN_ALIGN, err) < 0)
		return -1;
	for (size_t o = 0; o < n_outputs; o++) {
		bytes = nn_session_raw_bytes(s, o) * rows;
		if (nn_rank_receive(channel, nn_block_at(answer, at), bytes) < 0)
			return fail_lost(err);
		nn_session_answer(s, o, nn_block_at(answer, at));
		at += (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	}
	return 0;
}

static int compute(struct nn_ranks *ranks, struct nn_session *s, size_t rows, struct nn_error *err)
{
	int status;

	while (sem_wait(&ranks->permits) < 0)
		;
	status = nn_session_run(s, rows, err);
	sem_post(&ranks->permits);
	return status;
}

int nn_ranks_run(struct nn_ranks *ranks, struct nn_session *s, const struct nn_model *model,
		 size_t rows, struct nn_block *answer, struct nn_error *err)
{
	struct nn_rank_head head = { .number = model->part.number,
				     .rows = (uint32_t)rows,
				     .max_rows = (uint32_t)nn_session_max_rows(s) };
	unsigned channel;
	int status, fd;

	if (nn_ranks_lost(ranks))
		return fail_lost(err);
	if (compute(ranks, s, rows, err) < 0)
		return -1;
	channel = take_channel(ranks);
	fd = ranks->to[channel];
	status = send_rows(fd, s, &head) < 0
			 ? fail_lost(err)
			 : receive_answer(ranks->from[channel], s, rows, answer, err);
	give_channel(ranks, channel);
	return status;
}
