/* The process that was started: it has no threads, no models and no clients, so that it can fork.
 */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/board.h"
#include "serve/workers.h"

enum { MOST_UNLOADED = 1024, DEATHS = 3 };

struct worker {
	pid_t pid; /* 0: none */
	int fd;
	double started;
	unsigned quick; /* deaths in a row within a second of its start */
	bool ready;
	bool busy;             /* has to say DONE */
	bool asks;             /* wants `wish` done in all */
	struct nn_letter wish; /* ASK */
};

struct workers {
	const struct nn_serve *setup;
	int (*serve)(const struct nn_serve *setup, struct nn_leash *leash, struct nn_error *err);
	struct nn_http *bound;
	struct nn_board board;
	struct worker all[NN_MOST_WORKERS];
	unsigned n;
	int signals;
	bool said;  /* the address */
	int ending; /* the signal that ends it; -1: an error, which is in `error` */
	int status; /* of workers that ended as they were told to: the worst */
	struct nn_error error;
	unsigned asker; /* whose wish is being done; n: nobody's */
	struct nn_letter outcome;
	char unloaded[MOST_UNLOADED][NN_MODEL_NAME];
	size_t n_unloaded;
};

/* ---- a worker's own ---- */

/* What all of them would say, the first says. */
static void say_nothing(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static _Noreturn void be_worker(const struct workers *w, unsigned number, int fd, pid_t parent,
				bool again)
{
	static struct nn_leash leash;
	struct nn_serve setup = *w->setup;
	struct nn_board board = w->board;
	struct nn_error err = { 0 };
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NN_EFAIL);
	nn_http_disown(w->bound);
	close(w->signals);
	for (unsigned i = 0; i < w->n; i++)
		if (w->all[i].pid)
			close(w->all[i].fd);
	board.mine = number;
	nn_leash_init(&leash, fd);
	leash.board = &board;
	leash.bound = w->bound;
	leash.unloaded = w->unloaded;
	leash.n_unloaded = w->n_unloaded;
	setup.threads = setup.threads / (int)w->n > 1 ? setup.threads / (int)w->n : 1;
	/* a file that was broken since must not keep its place empty */
	setup.options.keep_going |= again;
	if (number > 0) {
		setup.warn = setup.note = say_nothing;
		setup.reloaded = NULL;
	}
	status = w->serve(&setup, &leash, &err);
	if (status < 0) {
		struct nn_letter letter = { .kind = NN_LETTER_FAILED, .number = (int)err.code };

		snprintf(letter.text, sizeof letter.text, "%s", err.text);
		nn_letter_send(fd, &letter);
		status = (int)err.code;
	}
	_exit(status);
}

/* ---- starting and ending ---- */

static int start(struct workers *w, unsigned number, bool again, struct nn_error *err)
{
	struct worker *worker = &w->all[number];
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return nn_fail_errno(err, NN_EFAIL, "cannot start a worker");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_worker(w, number, ends[1], parent, again);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return nn_fail_errno(err, NN_EFAIL, "cannot start a worker");
	}
	*worker = (struct worker){
		.pid = pid, .fd = ends[0], .started = nn_now_s(), .quick = worker->quick
	};
	return 0;
}

static void end_all(struct workers *w, int ending)
{
	w->ending = ending;
	for (unsigned i = 0; i < w->n; i++)
		if (w->all[i].pid)
			kill(w->all[i].pid, SIGKILL);
}

static void fail(struct workers *w, const struct nn_error *err)
{
	if (w->ending)
		return;
	w->error = *err;
	end_all(w, -1);
}

/* ---- load and unload ---- */

/* For workers that begin later. */
static void remember(struct workers *w, const struct nn_letter *wish)
{
	size_t at = 0;

	while (at < w->n_unloaded && strcmp(w->unloaded[at], wish->text) != 0)
		at++;
	if (at < w->n_unloaded && wish->load)
		memmove(w->unloaded[at], w->unloaded[at + 1],
			(--w->n_unloaded - at) * sizeof *w->unloaded);
	else if (at == w->n_unloaded && at < MOST_UNLOADED && !wish->load &&
		 strlen(wish->text) < sizeof *w->unloaded)
		strcpy(w->unloaded[w->n_unloaded++], wish->text);
}

static void begin_wish(struct workers *w, unsigned asker)
{
	struct nn_letter letter = w->all[asker].wish;

	w->asker = asker;
	w->outcome = (struct nn_letter){ .kind = NN_LETTER_REPLY, .text = "a worker is busy" };
	remember(w, &letter);
	letter.kind = NN_LETTER_DO;
	for (unsigned i = 0; i < w->n; i++)
		if (w->all[i].pid && !(w->all[i].busy = nn_letter_send(w->all[i].fd, &letter)))
			w->outcome.number = NN_EFAIL; /* it has not listened for long */
}

/* Those that wait for an answer get it, the next one's wish begins. */
static void look_at_wishes(struct workers *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->all[i].busy)
			return;
	if (w->asker < w->n && w->all[w->asker].asks) {
		w->all[w->asker].asks = false;
		nn_letter_send(w->all[w->asker].fd, &w->outcome);
	}
	w->asker = w->n;
	for (unsigned i = 0; i < w->n && w->asker == w->n; i++)
		if (w->all[i].pid && w->all[i].asks)
			begin_wish(w, i);
}

/* ---- what workers say ---- */

static void say_ready(struct workers *w)
{
	struct nn_error err = { 0 };

	for (unsigned i = 0; i < w->n; i++)
		if (!w->all[i].ready || w->said)
			return;
	w->said = true;
	if (nn_serve_say(nn_http_where(w->bound), &err) < 0)
		fail(w, &err);
}

static void take_letter(struct workers *w, unsigned number, const struct nn_letter *letter)
{
	struct worker *worker = &w->all[number];
	struct nn_error err = { 0 };

	if (letter->kind == NN_LETTER_READY) {
		worker->ready = true;
		say_ready(w);
	} else if (letter->kind == NN_LETTER_ASK) {
		worker->asks = true;
		worker->wish = *letter;
	} else if (letter->kind == NN_LETTER_DONE) {
		worker->busy = false;
		if (letter->number && !w->outcome.number)
			w->outcome = *letter;
		w->outcome.kind = NN_LETTER_REPLY;
	} else if (letter->kind == NN_LETTER_FAILED && w->said) {
		w->setup->warn(w->setup->arg, letter->text);
	} else if (letter->kind == NN_LETTER_FAILED) {
		nn_fail(&err, (enum nn_code)letter->number, "%s", letter->text);
		fail(w, &err);
	}
}

static bool listen_to(struct workers *w, unsigned number)
{
	struct nn_letter letter;
	int there;

	while ((there = nn_letter_read(w->all[number].fd, &letter)) > 0)
		take_letter(w, number, &letter);
	return there == 0;
}

/* ---- what becomes of workers ---- */

static void replace(struct workers *w, unsigned number, const char *what)
{
	struct worker *worker = &w->all[number];
	struct nn_error err = { 0 };
	char text[256];

	worker->quick = nn_now_s() - worker->started < 1 ? worker->quick + 1 : 0;
	if (!w->said || worker->quick == DEATHS) {
		nn_fail(&err, NN_EFAIL, "%s%s", what,
			w->said ? ", the third in a row within a second of its start" : "");
		fail(w, &err);
		return;
	}
	snprintf(text, sizeof text, "%s; another takes its place", what);
	w->setup->warn(w->setup->arg, text);
	if (start(w, number, true, &err) < 0)
		fail(w, &err);
}

static void bury(struct workers *w, unsigned number, int status)
{
	struct worker *worker = &w->all[number];
	char what[160];

	listen_to(w, number);
	close(worker->fd);
	if (WIFSIGNALED(status))
		snprintf(what, sizeof what, "worker %ld was ended by signal %d (%s)",
			 (long)worker->pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(what, sizeof what, "worker %ld ended with status %d", (long)worker->pid,
			 WEXITSTATUS(status));
	worker->pid = 0;
	worker->busy = worker->asks = worker->ready = false;
	if (!w->ending) {
		replace(w, number, what);
	} else if (w->ending > 0 && w->status <= 128) {
		if (WIFSIGNALED(status))
			w->setup->warn(w->setup->arg, what);
		status = WIFSIGNALED(status) ? NN_EFAIL : WEXITSTATUS(status);
		w->status = status > w->status ? status : w->status;
	}
}

static void reap(struct workers *w)
{
	int status;

	for (unsigned i = 0; i < w->n; i++)
		if (w->all[i].pid && waitpid(w->all[i].pid, &status, WNOHANG) > 0)
			bury(w, i, status);
}

/* ---- signals ---- */

static void tell(struct workers *w, int number)
{
	const struct nn_letter letter = { .kind = NN_LETTER_SIGNAL, .number = number };

	for (unsigned i = 0; i < w->n; i++)
		if (w->all[i].pid && !nn_letter_send(w->all[i].fd, &letter) && number == SIGTERM)
			kill(w->all[i].pid, SIGKILL); /* it has not listened for long */
}

static void take_signal(struct workers *w)
{
	struct signalfd_siginfo info;
	int number;

	if (read(w->signals, &info, sizeof info) != sizeof info)
		return;
	number = (int)info.ssi_signo;
	if (number == SIGCHLD) {
		reap(w);
	} else if (number != SIGTERM && number != SIGINT) {
		tell(w, number);
	} else if (w->ending) {
		w->status = 128 + number;
		end_all(w, number);
	} else {
		w->ending = number;
		nn_http_stop_accepting(w->bound);
		tell(w, SIGTERM);
	}
}

static int take_signals(struct workers *w, struct nn_error *err)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&set, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return w->signals < 0 ? nn_fail_errno(err, NN_EFAIL, "cannot wait for signals") : 0;
}

/* ---- the life of all ---- */

static bool any_lives(const struct workers *w)
{
	unsigned i = 0;

	while (i < w->n && !w->all[i].pid)
		i++;
	return i < w->n;
}

static void watch(struct workers *w)
{
	struct pollfd fds[1 + NN_MOST_WORKERS] = { { w->signals, POLLIN, 0 } };

	while (any_lives(w)) {
		for (unsigned i = 0; i < w->n; i++)
			fds[1 + i] =
				(struct pollfd){ w->all[i].pid ? w->all[i].fd : -1, POLLIN, 0 };
		if (poll(fds, 1 + w->n, -1) <= 0)
			continue;
		for (unsigned i = 0; i < w->n; i++)
			if (fds[1 + i].revents && !listen_to(w, i))
				reap(w); /* it has ended, or is about to */
		if (fds[0].revents)
			take_signal(w);
		look_at_wishes(w);
	}
}

int nn_workers_run(const struct nn_serve *setup, const struct nn_http_setup *http,
		   int (*serve)(const struct nn_serve *setup, struct nn_leash *leash,
				struct nn_error *err),
		   struct nn_error *err)
{
	static struct workers w; /* one a process */
	int status;

	w = (struct workers){
		.setup = setup, .serve = serve, .n = (unsigned)setup->options.workers, .signals = -1
	};
	w.asker = w.n;
	status = nn_board_open(&w.board, w.n, err);
	if (status == 0)
		status = nn_http_open(&w.bound, http, err);
	if (status == 0)
		status = take_signals(&w, err);
	if (status == 0 && !setup->options.key_file && nn_http_is_wide(w.bound))
		setup->warn(setup->arg,
			    "listens beyond this machine without keys: whoever reaches it may ask");
	for (unsigned i = 0; i < w.n && status == 0; i++)
		if (!w.ending && start(&w, i, false, &w.error) < 0)
			end_all(&w, -1);
	if (status == 0) {
		watch(&w);
		status = w.ending < 0 ? -1 : w.status;
		if (status < 0 && err)
			*err = w.error;
	}
	nn_http_close(w.bound);
	nn_board_close(&w.board);
	close(w.signals);
	return status;
}
