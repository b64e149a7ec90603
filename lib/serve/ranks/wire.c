/* Whole letters and whole batches over sockets. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "serve/ranks/wire.h"

int nn_rank_write(int control, const struct nn_rank_letter *letter)
{
	size_t size = offsetof(struct nn_rank_letter, text) + strlen(letter->text) + 1;
	ssize_t n;

	do
		n = send(control, letter, size, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

int nn_rank_read(int control, struct nn_rank_letter *letter)
{
	ssize_t n;

	do
		n = recv(control, letter, sizeof *letter, 0);
	while (n < 0 && errno == EINTR);
	if (n <= (ssize_t)offsetof(struct nn_rank_letter, text))
		return -1;
	((char *)letter)[n - 1] = '\0';
	return 0;
}

void nn_rank_set_text(struct nn_rank_letter *letter, const char *text)
{
	if (!memccpy(letter->text, text, '\0', sizeof letter->text))
		letter->text[sizeof letter->text - 1] = '\0';
}

int nn_rank_send(int channel, const void *bytes, size_t n, bool more)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t sent = send(channel, at, n, MSG_NOSIGNAL | (more ? MSG_MORE : 0));

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int nn_rank_receive(int channel, void *bytes, size_t n)
{
	char *at = bytes;

	while (n > 0) {
		ssize_t got = recv(channel, at, n, MSG_WAITALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

#define LENGTHS 64 /* at a time: a whole batch, as most are */

static size_t lengths_left(size_t n, size_t r)
{
	return n - r < LENGTHS ? n - r : LENGTHS;
}

int nn_rank_send_lengths(int channel, const struct nn_session *s, size_t n)
{
	uint32_t lengths[LENGTHS];

	for (size_t r = 0; r < n; r += LENGTHS) {
		size_t some = lengths_left(n, r);

		for (size_t i = 0; i < some; i++)
			lengths[i] = (uint32_t)nn_session_length(s, r + i);
		if (nn_rank_send(channel, lengths, some * sizeof *lengths, true) < 0)
			return -1;
	}
	return 0;
}

int nn_rank_receive_lengths(int channel, struct nn_session *s, size_t n)
{
	uint32_t lengths[LENGTHS];

	for (size_t r = 0; r < n; r += LENGTHS) {
		size_t some = lengths_left(n, r);

		if (nn_rank_receive(channel, lengths, some * sizeof *lengths) < 0)
			return -1;
		nn_session_set_lengths(s, r, some, lengths);
	}
	return 0;
}
