/*
 * The life of a server. The main thread reads signals and watches files; loops of HTTP and the
 * workers of the batcher do the rest.
 */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/flush.h"
#include "base/memory.h"
#include "base/output.h"
#include "device/device.h"
#include "serve/access-log.h"
#include "serve/board.h"
#include "serve/keys.h"
#include "serve/leash.h"
#include "serve/protocol/protocol.h"
#include "serve/sandbox.h"
#include "serve/serve.h"
#include "serve/workers.h"

struct server {
	const struct nn_serve *setup;
	const struct nn_device *device;
	struct nn_batcher *batcher;
	struct nn_models *models;
	struct nn_protocol *protocol;
	struct nn_http *http;
	struct nn_keys *keys;      /* NULL: no key file */
	struct nn_access_log *log; /* NULL: none */
	struct nn_leash *leash;    /* NULL: no worker, but the only process */
	struct nn_board board;
	int signals, watch;
	sigset_t before; /* the mask of signals to go back to */
};

/* ---- what loops call ---- */

static void handle(void *arg, struct nn_exchange *exchange)
{
	const struct server *s = arg;

	nn_protocol_handle(s->protocol, exchange);
}

static void ended(void *arg, struct nn_exchange *exchange, unsigned status, size_t bytes_out)
{
	const struct server *s = arg;

	if (s->log)
		nn_access_log_write(s->log,
				    &(struct nn_access){ .method = exchange->method,
							 .path = exchange->path,
							 .status = status,
							 .bytes_in = exchange->bytes,
							 .bytes_out = bytes_out,
							 .seconds = nn_now_s() - exchange->began,
							 .model = exchange->model,
							 .rows = exchange->rows });
	nn_protocol_ended(s->protocol, exchange, status, bytes_out);
}

static void round_of(void *arg, unsigned loop)
{
	const struct server *s = arg;

	nn_batcher_clients(s->batcher, nn_http_connections(s->http));
	nn_batcher_round(s->batcher, loop);
}

static void begin(void *arg, unsigned loop)
{
	(void)arg;
	(void)loop;
	nn_flush_set(true);
}

/* ---- what models call ---- */

static void warn(void *arg, const char *text)
{
	const struct server *s = arg;

	s->setup->warn(s->setup->arg, text);
}

static void reloaded(void *arg, const char *model, uint64_t version, const char *wrong)
{
	const struct server *s = arg;

	nn_board_tally(&s->board, model, wrong ? NN_TALLY_BAD : NN_TALLY_RELOADED, 1, 0);
	s->setup->reloaded(s->setup->arg, model, version, wrong);
}

/* ---- opening ---- */

/* Before any thread is made, so that all of them leave signals to the main thread. */
static int take_signals(struct server *s, struct nn_error *err)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&set, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &set, &s->before);
	s->signals = s->leash ? s->leash->fd : signalfd(-1, &set, SFD_CLOEXEC);
	return s->signals < 0
		       ? nn_fail(err, NN_EFAIL, "cannot wait for signals: %s", strerror(errno))
		       : 0;
}

static int set_http(struct nn_http_setup *http, const struct nn_serve *setup, struct nn_error *err)
{
	const struct nn_serve_options *o = &setup->options;

	*http = (struct nn_http_setup){ .listen = nn_http_is_passed() ? NULL : o->listen,
					.tls_cert = o->tls_cert,
					.tls_key = o->tls_key,
					.loops = (unsigned)setup->threads,
					.limits = o->limits,
					.handle = handle,
					.ended = ended,
					.round = round_of,
					.begin = begin };
	http->limits.header_count = 100;
	return nn_serve_parse_headers(o->max_headers, &http->limits, err);
}

static int open_http(struct server *s, struct nn_error *err)
{
	struct nn_http_setup http;

	if (set_http(&http, s->setup, err) < 0)
		return -1;
	http.arg = s;
	http.from = s->leash ? s->leash->bound : NULL;
	return nn_http_open(&s->http, &http, err);
}

static int open_models(struct server *s, struct nn_error *err)
{
	const struct nn_serve *setup = s->setup;
	const struct nn_serve_options *o = &setup->options;
	struct nn_models_setup models = { .operands = setup->models,
					  .labels = o->labels,
					  .keep_going = o->keep_going,
					  .device = setup->device,
					  .board = &s->board,
					  .warn = warn,
					  .reloaded = reloaded,
					  .arg = s };
	struct nn_batcher_setup batcher = { .max_batch = o->max_batch,
					    .queue = o->queue,
					    .slo = o->slo / 1e3,
					    .workers = (unsigned)setup->threads,
					    .loops = (unsigned)setup->threads };

	if (nn_serve_parse_delay(o->max_delay, &batcher.max_delay, err) < 0 ||
	    !(s->device = nn_device_open(strcmp(setup->device, "auto") == 0 ? "cpu" : setup->device,
					 NN_F32, err)))
		return -1;
	batcher.device = s->device;
	if (nn_batcher_open(&s->batcher, &batcher, err) < 0)
		return -1;
	models.batcher = s->batcher;
	if (nn_models_open(&s->models, &models, err) < 0)
		return -1;
	for (size_t i = 0; s->leash && i < s->leash->n_unloaded; i++)
		nn_models_unload(s->models, s->leash->unloaded[i], NULL);
	return 0;
}

static int open_board(struct server *s, struct nn_error *err)
{
	if (!s->leash)
		return nn_board_open(&s->board, 1, err);
	s->board = *s->leash->board;
	nn_board_begin(&s->board);
	return 0;
}

static int open_files(struct server *s, struct nn_error *err)
{
	const struct nn_serve *setup = s->setup;
	const struct nn_serve_options *o = &setup->options;

	if (o->key_file && nn_keys_open(&s->keys, o->key_file, err) < 0)
		return -1;
	return o->access_log
		       ? nn_access_log_open(&s->log, o->access_log, setup->warn, setup->arg, err)
		       : 0;
}

/* Loops are started in it; what was there before has opened its files. */
static int enter_sandbox(struct server *s, struct nn_error *err)
{
	const struct nn_serve_options *o = &s->setup->options;
	struct nn_sandbox_setup sandbox = { .device = strcmp(s->setup->device, "cpu") != 0 };
	char *log = o->access_log ? nn_parent(o->access_log, err) : NULL;
	const char *where = nn_http_where(s->http);
	bool is_unix = strncmp(where, "unix:", 5) == 0;
	char *socket = is_unix ? nn_parent(where + 5, err) : NULL;
	const char *write[3] = { 0 };
	struct nn_text note = { 0 };
	size_t n = 0;
	int status = -1;

	while (nn_models_folder(s->models, n))
		n++;
	sandbox.read = nn_alloc(n + 1, sizeof *sandbox.read, err);
	sandbox.write = write;
	write[0] = log ? log : socket;
	write[1] = log ? socket : NULL;
	if (sandbox.read && (socket || !is_unix) && (log || !o->access_log)) {
		for (size_t i = 0; i < n; i++)
			((const char **)sandbox.read)[i] = nn_models_folder(s->models, i);
		status = nn_sandbox_enter(&sandbox, &note, err);
	}
	if (status == 0 && note.length > 0 && !note.failed)
		s->setup->note(s->setup->arg, note.data);
	nn_text_free(&note);
	nn_free((void *)sandbox.read);
	nn_free(socket);
	nn_free(log);
	return status;
}

static int open_parts(struct server *s, struct nn_error *err)
{
	const struct nn_serve_options *o = &s->setup->options;
	struct nn_protocol_setup protocol = { .max_depth = (unsigned)o->max_depth,
					      .max_batch = o->max_batch,
					      .triton_metrics = o->metrics == NN_METRICS_TRITON };

	if (open_board(s, err) < 0 || take_signals(s, err) < 0 || open_files(s, err) < 0 ||
	    open_http(s, err) < 0 || open_models(s, err) < 0)
		return -1;
	protocol.keys = s->keys;
	protocol.models = s->models;
	protocol.batcher = s->batcher;
	protocol.board = &s->board;
	protocol.leash = s->leash;
	if (nn_protocol_open(&s->protocol, &protocol, err) < 0)
		return -1;
	if (o->watch && (s->watch = nn_models_watch(s->models, err)) < 0)
		return -1;
	if (o->sandbox == NN_SANDBOX_ON && enter_sandbox(s, err) < 0)
		return -1;
	return nn_http_start(s->http, err);
}

/*
 * Answers that are still being made when --drain is over go on to the end of the process. So do
 * those to requests that came on open connections after all others were answered.
 */
static void close_parts(struct server *s, bool drained)
{
	if (nn_http_close(s->http) > 0 || !drained)
		return;
	nn_protocol_close(s->protocol);
	nn_models_close(s->models);
	nn_batcher_close(s->batcher);
	nn_access_log_close(s->log);
	nn_keys_close(s->keys);
	nn_board_close(&s->board);
	if (s->signals >= 0 && !s->leash)
		close(s->signals);
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

/* ---- serving ---- */

static void explain(const struct server *s)
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
static void reload(const struct server *s)
{
	struct nn_error err = { 0 };

	if (nn_models_reload(s->models, NULL, &err) < 0)
		s->setup->warn(s->setup->arg, err.text);
}

/* Files may have changed. */
static void look(const struct server *s)
{
	struct nn_error err = { 0 };

	if (nn_models_watched(s->models, &err) < 0)
		s->setup->warn(s->setup->arg, err.text);
}

static int take_signal(const struct server *s)
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
static int serve(const struct server *s)
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
static bool drain(const struct server *s)
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

static int say_ready(const struct server *s, struct nn_error *err)
{
	if (s->leash)
		return nn_leash_ready(s->leash, err);
	return nn_serve_say(nn_http_where(s->http), err);
}

static int run(const struct nn_serve *setup, struct nn_leash *leash, struct nn_error *err)
{
	static struct server s; /* one a process */
	bool drained = true;
	int status, number;

	s = (struct server){ .setup = setup, .leash = leash, .signals = -1, .watch = -1 };
	status = open_parts(&s, err);
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
	close_parts(&s, drained);
	return status;
}

int nn_serve_run(const struct nn_serve *setup, struct nn_error *err)
{
	struct nn_http_setup http;

	if (setup->options.workers <= 1)
		return run(setup, NULL, err);
	return set_http(&http, setup, err) < 0 ? -1 : nn_workers_run(setup, &http, run, err);
}
