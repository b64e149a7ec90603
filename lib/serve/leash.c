/* Letters between the process that was started and a worker, and what the worker does of them. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "serve/leash.h"

bool nn_letter_send(int fd, const struct nn_letter *letter)
{
	ssize_t n;

	do
		n = send(fd, letter, sizeof *letter, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n == sizeof *letter;
}

int nn_letter_read(int fd, struct nn_letter *letter)
{
	ssize_t n = recv(fd, letter, sizeof *letter, MSG_DONTWAIT);

	if (n == sizeof *letter)
		return 1;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

void nn_leash_init(struct nn_leash *leash, int fd)
{
	*leash = (struct nn_leash){ .fd = fd };
	pthread_mutex_init(&leash->asking, NULL);
	pthread_mutex_init(&leash->lock, NULL);
	pthread_cond_init(&leash->replied, NULL);
}

static void set_text(struct nn_letter *letter, const char *text)
{
	if (!memccpy(letter->text, text, '\0', sizeof letter->text))
		letter->text[sizeof letter->text - 1] = '\0';
}

static void obey(const struct nn_leash *leash, struct nn_models *models, struct nn_letter *letter)
{
	struct nn_error err = { 0 };
	int status = letter->load ? nn_models_reload(models, letter->text, &err)
				  : nn_models_unload(models, letter->text, &err);

	*letter = (struct nn_letter){ .kind = NN_LETTER_DONE,
				      .number = status < 0 ? (int)err.code : 0 };
	set_text(letter, err.text);
	nn_letter_send(leash->fd, letter);
}

static void deliver(struct nn_leash *leash, const struct nn_letter *letter)
{
	pthread_mutex_lock(&leash->lock);
	leash->reply = *letter;
	leash->waits = false;
	pthread_cond_signal(&leash->replied);
	pthread_mutex_unlock(&leash->lock);
}

int nn_leash_take(struct nn_leash *leash, struct nn_models *models)
{
	struct nn_letter letter;
	int there = nn_letter_read(leash->fd, &letter);

	if (there < 0)
		return SIGTERM;
	if (there == 0)
		return 0;
	if (letter.kind == NN_LETTER_SIGNAL)
		return letter.number;
	if (letter.kind == NN_LETTER_DO)
		obey(leash, models, &letter);
	else if (letter.kind == NN_LETTER_REPLY)
		deliver(leash, &letter);
	return 0;
}

int nn_leash_ask(struct nn_leash *leash, const char *name, bool load, struct nn_error *err)
{
	struct nn_letter letter = { .kind = NN_LETTER_ASK, .load = load };

	set_text(&letter, name);
	pthread_mutex_lock(&leash->asking);
	pthread_mutex_lock(&leash->lock);
	leash->waits = nn_letter_send(leash->fd, &letter);
	if (!leash->waits)
		leash->reply = (struct nn_letter){ .number = NN_EFAIL,
						   .text = "the other workers cannot be asked" };
	while (leash->waits)
		pthread_cond_wait(&leash->replied, &leash->lock);
	letter = leash->reply;
	pthread_mutex_unlock(&leash->lock);
	pthread_mutex_unlock(&leash->asking);
	return letter.number ? nn_fail(err, (enum nn_code)letter.number, "%s", letter.text) : 0;
}

int nn_leash_ready(const struct nn_leash *leash, struct nn_error *err)
{
	const struct nn_letter letter = { .kind = NN_LETTER_READY };

	return nn_letter_send(leash->fd, &letter)
		       ? 0
		       : nn_fail(err, NN_EFAIL, "who started this worker is gone");
}
