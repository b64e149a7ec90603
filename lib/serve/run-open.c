/* A server is opened, enters its sandbox, and is closed. */
#include "config.h"
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/flush.h"
#include "base/memory.h"
#include "device/device.h"
#include "serve/keys.h"
#include "serve/ranks/ranks.h"
#include "serve/run-inside.h"
#include "serve/sandbox.h"

/* ---- what loops call ---- */

static void handle(void *arg, struct nn_exchange *exchange)
{
	const struct nn_server *s = arg;

	nn_protocol_handle(s->protocol, exchange);
}

static void ended(void *arg, struct nn_exchange *exchange, unsigned status, size_t bytes_out)
{
	const struct nn_server *s = arg;

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
	const struct nn_server *s = arg;

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
	const struct nn_server *s = arg;

	s->setup->warn(s->setup->arg, text);
}

static void reloaded(void *arg, const char *model, uint64_t version, const char *wrong)
{
	const struct nn_server *s = arg;

	nn_board_tally(&s->board, model, wrong ? NN_TALLY_BAD : NN_TALLY_RELOADED, 1, 0);
	if (s->setup->reloaded)
		s->setup->reloaded(s->setup->arg, model, version, wrong);
}

/* ---- opening ---- */

/* Before any thread is made, so that all of them leave signals to the main thread. */
static int take_signals(struct nn_server *s, struct nn_error *err)
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

int nn_server_set_http(struct nn_http_setup *http, const struct nn_serve *setup,
		       struct nn_error *err)
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

static int open_http(struct nn_server *s, struct nn_error *err)
{
	struct nn_http_setup http;

	if (nn_server_set_http(&http, s->setup, err) < 0)
		return -1;
	http.arg = s;
	http.from = s->leash ? s->leash->bound : NULL;
	return nn_http_open(&s->http, &http, err);
}

/*
 * Devices that are there. Of several, one with memory of its own has a worker beside those that
 * compute, which waits for it.
 */
static int open_places(const struct nn_serve *setup, struct nn_batcher_setup *batcher,
		       struct nn_error *err)
{
	struct nn_places *places = &batcher->places;

	if (nn_places_parse(places, setup->device, err) < 0)
		return -1;
	for (size_t i = 0; i < places->n; i++) {
		const struct nn_device *device = nn_device_open(places->name[i], NN_F32, err);

		if (!device)
			return -1;
		batcher->apart += places->n > 1 && device->remote;
	}
	batcher->workers += batcher->apart;
	return 0;
}

static int open_models(struct nn_server *s, struct nn_error *err)
{
	const struct nn_serve *setup = s->setup;
	const struct nn_serve_options *o = &setup->options;
	struct nn_models_setup models = { .operands = setup->models,
					  .labels = o->labels,
					  .keep_going = o->keep_going,
					  .device = setup->device,
					  .precision = setup->precision,
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
	    open_places(setup, &batcher, err) < 0)
		return -1;
	models.ranks = batcher.ranks = s->ranks;
	if (s->ranks)
		batcher.workers = nn_ranks_channels(s->ranks);
	if (nn_batcher_open(&s->batcher, &batcher, err) < 0)
		return -1;
	models.batcher = s->batcher;
	if (nn_models_open(&s->models, &models, err) < 0 ||
	    (s->ranks && nn_ranks_watch(s->ranks, s->batcher, err) < 0))
		return -1;
	for (size_t i = 0; s->leash && i < s->leash->n_unloaded; i++)
		nn_models_unload(s->models, s->leash->unloaded[i], NULL);
	return 0;
}

static int open_board(struct nn_server *s, struct nn_error *err)
{
	if (!s->leash)
		return nn_board_open(&s->board, 1, err);
	s->board = *s->leash->board;
	nn_board_begin(&s->board);
	return 0;
}

static int open_files(struct nn_server *s, struct nn_error *err)
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
static int enter_sandbox(struct nn_server *s, struct nn_error *err)
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
		status = s->ranks ? nn_ranks_sandbox(s->ranks, sandbox.read, err) : 0;
		if (status == 0)
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

/* Before there are threads and sockets. */
static int start_ranks(struct nn_server *s, struct nn_error *err)
{
	const struct nn_serve *setup = s->setup;
	struct nn_ranks_setup ranks = { .ranks = (unsigned)setup->options.ranks,
					.threads = (unsigned)setup->threads,
					.device = setup->device,
					.warn = setup->warn,
					.note = setup->note,
					.arg = setup->arg };

	return ranks.ranks <= 1 ? 0 : nn_ranks_start(&s->ranks, &ranks, err);
}

int nn_server_open(struct nn_server *s, struct nn_error *err)
{
	const struct nn_serve_options *o = &s->setup->options;
	struct nn_protocol_setup protocol = { .max_depth = (unsigned)o->max_depth,
					      .max_batch = o->max_batch,
					      .triton_metrics = o->metrics == NN_METRICS_TRITON };

	if (start_ranks(s, err) < 0 || open_board(s, err) < 0 || take_signals(s, err) < 0 ||
	    open_files(s, err) < 0 || open_http(s, err) < 0 || open_models(s, err) < 0)
		return -1;
	protocol.keys = s->keys;
	protocol.models = s->models;
	protocol.batcher = s->batcher;
	protocol.board = &s->board;
	protocol.leash = s->leash;
	protocol.ranks = s->ranks;
	if (nn_protocol_open(&s->protocol, &protocol, err) < 0)
		return -1;
	if (o->watch && (s->watch = nn_models_watch(s->models, err)) < 0)
		return -1;
	if (o->sandbox == NN_SANDBOX_ON && enter_sandbox(s, err) < 0)
		return -1;
	return nn_http_start(s->http, err);
}

void nn_server_close(struct nn_server *s, bool drained)
{
	if (nn_http_close(s->http) > 0 || !drained)
		return;
	nn_protocol_close(s->protocol);
	nn_models_close(s->models);
	nn_batcher_close(s->batcher);
	nn_ranks_end(s->ranks);
	nn_access_log_close(s->log);
	nn_keys_close(s->keys);
	nn_board_close(&s->board);
	if (s->signals >= 0 && !s->leash)
		close(s->signals);
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
