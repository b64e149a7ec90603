/*
 * The life of a server. The main thread reads signals and watches files; loops of HTTP and the
 * workers of the batcher do the rest.
 */
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output.h"
#include "serve/run-inside.h"
#include "serve/workers.h"

/* ---- serving ---- */

static void explain(const struct nn_server *s)
{
	for (size_t i = 0; i < nn_models_count(s->models); i++) {
		const char *name = nn_models_name(s->models, i);
		struct nn_served *served =
			nn_models_find(s->models, name, strlen(name), 0, NULL, NULL);
		struct nn_text text = { 0 };

		if (!served)
			continue;
		nn_text_addf(&text, "%s: ", name);
		nn_lane_explain(served->lane, &text);
		if (!text.failed)
			s->setup->note(s->setup->arg, text.data);
		nn_text_free(&text);
		nn_served_release(served);
	}
}

/* What was wrong went to warn, but for the first, which is told here. */
static void reload(const struct nn_server *s)
{
	struct nn_error err = { 0 };

	if (nn_models_reload(s->models, NULL, &err) < 0)
		s->setup->warn(s->setup->arg, err.text);
}

/* Files may have changed. */
static void look(const struct nn_server *s)
{
	struct nn_error err = { 0 };

	if (nn_models_watched(s->models, &err) < 0)
		s->setup->warn(s->setup->arg, err.text);
}

static int take_signal(const struct nn_server *s)
{
	struct signalfd_siginfo info;
	struct nn_error err = { 0 };

	if (s->leash)
		info.ssi_signo = (uint32_t)nn_leash_take(s->leash, s->models);
	else if (read(s->signals, &info, sizeof info) != sizeof info)
		return 0;
	switch (info.ssi_signo) {
	case SIGHUP:
		reload(s);
		return 0;
	case SIGUSR1:
		if (s->log && nn_access_log_reopen(s->log, &err) < 0)
			s->setup->warn(s->setup->arg, err.text);
		return 0;
	case SIGUSR2:
		explain(s);
		return 0;
	default:
		return (int)info.ssi_signo;
	}
}

/* The signal that ends it. */
static int serve(const struct nn_server *s)
{
	struct pollfd fds[2] = { { .fd = s->signals, .events = POLLIN },
				 { .fd = s->watch, .events = POLLIN } };
	int number = 0;

	while (!number) {
		if (poll(fds, 2, -1) <= 0)
			continue;
		if (fds[1].revents)
			look(s);
		if (fds[0].revents)
			number = take_signal(s);
	}
	return number;
}

/* Answer what was accepted; false: another signal came, or --drain was over. */
static bool drain(const struct nn_server *s)
{
	struct pollfd fd = { .fd = s->signals, .events = POLLIN };
	double until = nn_now_s() + s->setup->options.drain;

	nn_protocol_drain(s->protocol);
	nn_batcher_drain(s->batcher);
	nn_http_stop_accepting(s->http);
	while (nn_http_pending(s->http) > 0 && (nn_now_s() < until || nn_http_is_stopping(s->http)))
		if (poll(&fd, 1, 5) > 0 && take_signal(s) != 0)
			return false;
	return nn_http_pending(s->http) == 0;
}

int nn_serve_say(const char *line, struct nn_error *err)
{
	struct nn_output *out;

	if (nn_output_open(&out, NULL, false, err) < 0)
		return -1;
	return nn_output_close(out, nn_output_printf(out, err, "%s\n", line), err);
}

static int say_ready(const struct nn_server *s, struct nn_error *err)
{
	if (s->leash)
		return nn_leash_ready(s->leash, err);
	return nn_serve_say(nn_http_where(s->http), err);
}

static int run(const struct nn_serve *setup, struct nn_leash *leash, struct nn_error *err)
{
	static struct nn_server s; /* one a process */
	bool drained = true;
	int status, number;

	s = (struct nn_server){ .setup = setup, .leash = leash, .signals = -1, .watch = -1 };
	status = nn_server_open(&s, err);
	if (status == 0 && !leash && !s.keys && nn_http_is_wide(s.http))
		setup->warn(setup->arg,
			    "listens beyond this machine without keys: whoever reaches it may ask");
	if (status == 0)
		status = say_ready(&s, err);
	if (status == 0) {
		number = serve(&s);
		drained = drain(&s);
		if (!drained)
			status = 128 + number;
		if (setup->options.explain)
			explain(&s);
	}
	nn_server_close(&s, drained);
	return status;
}

int nn_serve_run(const struct nn_serve *setup, struct nn_error *err)
{
	struct nn_http_setup http;

	if (setup->options.workers <= 1)
		return run(setup, NULL, err);
	return nn_server_set_http(&http, setup, err) < 0 ? -1
							 : nn_workers_run(setup, &http, run, err);
}
