/* The server: open, start, stop, close. */
#define _GNU_SOURCE /* pipe2 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output.h"
#include "base/thread.h"
#include "serve/http/loop.h"

enum { STACK = 1 << 20 };

/* A small file as text. */
static int read_text(struct nn_text *text, const char *path, struct nn_error *err)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s", path);
	while ((n = nn_read_some(fd, bytes, sizeof bytes)) > 0 && text->length < 1 << 20)
		nn_text_add_bytes(text, bytes, (size_t)n);
	if (n < 0)
		nn_fail_errno(err, NN_EFAIL, "%s", path);
	close(fd);
	if (n >= 0 && text->length == 0)
		return nn_fail(err, NN_EFAIL, "%s: the file is empty", path);
	return n < 0 ? -1 : 0;
}

static int read_tls(struct nn_http *http, struct nn_error *err)
{
	const struct nn_http_setup *setup = &http->setup;

	if (!setup->tls_cert && !setup->tls_key)
		return 0;
	if (!setup->tls_cert || !setup->tls_key)
		return nn_fail(err, NN_EUSAGE, "--tls-cert and --tls-key go together");
	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return nn_fail(err, NN_ENODEV, "this libmicrohttpd has no TLS");
	if (read_text(&http->cert, setup->tls_cert, err) != 0)
		return -1;
	return read_text(&http->key, setup->tls_key, err);
}

static int open_loops(struct nn_http *http, unsigned n, struct nn_error *err)
{
	http->loops = calloc(n, sizeof *http->loops);
	if (!http->loops)
		return nn_fail(err, NN_ENOMEM, "out of memory");
	for (unsigned i = 0; i < n; i++) {
		http->n_loops = i + 1;
		if (nn_http_loop_open(http->loops + i, http, i, err) != 0)
			return -1;
	}
	return 0;
}

int nn_http_open(struct nn_http **opened, const struct nn_http_setup *setup, struct nn_error *err)
{
	struct nn_http *http = calloc(1, sizeof *http);

	*opened = http;
	if (!http)
		return nn_fail(err, NN_ENOMEM, "out of memory");
	http->setup = *setup;
	atomic_store(&http->holders, 1);
	http->acceptor_box[0] = http->acceptor_box[1] = http->unix_handle = -1;
	if (read_tls(http, err) == 0 && nn_http_listen(http, err) == 0 &&
	    open_loops(http, setup->loops > 0 ? setup->loops : 1, err) == 0) {
		if (pipe2(http->acceptor_box, O_CLOEXEC | O_NONBLOCK) == 0)
			return 0;
		nn_fail_errno(err, NN_EFAIL, "cannot set up a thread that accepts");
	}
	nn_http_close(http);
	*opened = NULL;
	return -1;
}

int nn_http_start(struct nn_http *http, struct nn_error *err)
{
	for (; http->n_started < http->n_loops; http->n_started++) {
		struct nn_http_loop *loop = http->loops + http->n_started;

		if (nn_thread_start(&loop->thread, STACK, nn_http_loop_run, loop,
				    "a thread that serves", err) != 0)
			return -1;
	}
	if (nn_thread_start(&http->acceptor, STACK, nn_http_accept, http, "a thread that accepts",
			    err) != 0)
		return -1;
	http->accepting = true;
	return 0;
}

const char *nn_http_where(const struct nn_http *http)
{
	return http->where.data;
}

bool nn_http_is_wide(const struct nn_http *http)
{
	return http->wide;
}

size_t nn_http_connections(const struct nn_http *http)
{
	return atomic_load(&http->connections);
}

size_t nn_http_refused(const struct nn_http *http)
{
	return atomic_load(&http->refused);
}

size_t nn_http_pending(const struct nn_http *http)
{
	size_t n = atomic_load(&http->stopping);

	for (unsigned i = 0; i < http->n_loops; i++)
		n += atomic_load(&http->loops[i].arrivals) + atomic_load(&http->loops[i].unread) +
		     atomic_load(&http->loops[i].pending);
	return n;
}

void nn_http_tell_acceptor(struct nn_http *http, int what)
{
	struct nn_http_arrival message = { what, false };
	struct pollfd box = { http->acceptor_box[1], POLLOUT, 0 };

	/* it reads, so there is room sooner or later */
	while (write(http->acceptor_box[1], &message, sizeof message) != sizeof message)
		poll(&box, 1, 100);
}

void nn_http_stop_accepting(struct nn_http *http)
{
	if (!http->accepting) {
		for (unsigned i = 0; i < http->n_listeners; i++)
			if (http->listeners[i] >= 0)
				close(http->listeners[i]);
		http->n_listeners = 0;
		return;
	}
	atomic_store(&http->stopping, true);
	nn_http_tell_acceptor(http, -1);
}

bool nn_http_is_stopping(const struct nn_http *http)
{
	return atomic_load(&http->stopping);
}

void nn_http_let_go(struct nn_http *http)
{
	if (atomic_fetch_sub(&http->holders, 1) != 1)
		return;
	free(http->loops);
	free(http);
}

/* The acceptor has ended: who was to linger does not. */
static void empty_box(struct nn_http *http)
{
	struct nn_http_arrival message;

	while (http->acceptor_box[0] >= 0 &&
	       nn_read_all(http->acceptor_box[0], &message, sizeof message))
		if (message.fd >= 0)
			close(message.fd);
}

void nn_http_disown(struct nn_http *http)
{
	nn_output_forget(http->unix_handle, http->unix_path);
	http->unix_path = NULL;
	http->unix_handle = -1;
}

size_t nn_http_close(struct nn_http *http)
{
	struct nn_http_arrival stop = { -1, false };
	size_t left;

	if (!http)
		return 0;
	if (http->accepting) {
		nn_http_tell_acceptor(http, -2);
		pthread_join(http->acceptor, NULL);
	}
	for (unsigned i = 0; i < http->n_started; i++)
		if (nn_http_loop_send(http->loops + i, stop))
			pthread_join(http->loops[i].thread, NULL);
	for (unsigned i = 0; i < http->n_loops; i++)
		nn_http_loop_close(http->loops + i);
	for (unsigned i = 0; i < http->n_listeners; i++)
		if (http->listeners[i] >= 0)
			close(http->listeners[i]);
	empty_box(http);
	for (int i = 0; i < 2; i++)
		if (http->acceptor_box[i] >= 0)
			close(http->acceptor_box[i]);
	if (http->unix_path)
		unlink(http->unix_path);
	nn_http_disown(http);
	nn_text_free(&http->where);
	nn_text_free(&http->cert);
	nn_text_free(&http->key);
	left = atomic_load(&http->holders) - 1;
	nn_http_let_go(http);
	return left;
}
