/*
 * Watching the directories of models with inotify: not the files themselves, since editors and
 * nn-train rename a new one into place.
 *
 * A directory is watched before it is read, so nothing is missed in between. Links are followed:
 * where an operand is one, both its directory and that of its target are watched.
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "serve/models/inside.h"

#define QUIET_MS 50 /* without an event: files are as they are */
#define LONGEST_S 1

static const uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
			       IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;

/* The watch of that number; where there is none, a place for it. NULL: memory is out. */
static struct nn_watched *watch_of(struct nn_models *models, int number)
{
	for (size_t i = 0; i < models->n_watches; i++)
		if (models->watches[i].number == number)
			return &models->watches[i];
	if (!nn_make_room((void **)&models->watches, models->n_watches, &models->watches_room,
			  sizeof *models->watches, NULL))
		return NULL;
	models->watches[models->n_watches] = (struct nn_watched){ .number = number };
	return &models->watches[models->n_watches++];
}

void nn_models_watch_folder(void *arg, const char *path)
{
	struct nn_models *models = arg;
	int number = models->inotify < 0 ? -1 : inotify_add_watch(models->inotify, path, events);
	struct nn_watched *watch = number < 0 ? NULL : watch_of(models, number);

	if (watch && !watch->path)
		watch->path = nn_strdup(path, NULL);
}

static void watch_parent(struct nn_models *models, const char *path)
{
	char *parent = nn_parent(path, NULL);

	if (parent)
		nn_models_watch_folder(models, parent);
	nn_free(parent);
}

/* Directories above what is read: a file's, and where a link or directory is put in place. */
static void watch_operands(struct nn_models *models)
{
	for (size_t i = 0; i < models->n_operands; i++) {
		const char *path = models->operands[i].path;
		char *whole;

		if (nn_is_stdin(path))
			continue;
		whole = realpath(path, NULL);
		watch_parent(models, path);
		if (whole)
			watch_parent(models, whole);
		free(whole);
	}
}

int nn_models_watch(struct nn_models *models, struct nn_error *err)
{
	pthread_mutex_lock(&models->searching);
	if (models->inotify < 0)
		models->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (models->inotify < 0) {
		nn_fail_errno(err, NN_EFAIL, "--watch");
	} else {
		watch_operands(models);
		nn_models_search(models, &(struct nn_search){ 0 }, NULL);
	}
	pthread_mutex_unlock(&models->searching);
	return models->inotify;
}

void nn_models_unwatch(struct nn_models *models)
{
	for (size_t i = 0; i < models->n_watches; i++)
		nn_free(models->watches[i].path);
	nn_free(models->watches);
	if (models->inotify >= 0)
		close(models->inotify);
}

/* ---- events ---- */

static void forget(struct nn_models *models, int number)
{
	for (size_t i = 0; i < models->n_watches; i++)
		if (models->watches[i].number == number) {
			nn_free(models->watches[i].path);
			models->watches[i] = models->watches[--models->n_watches];
			return;
		}
}

/*
 * Is it a new file with bytes still to come? It will be written to and closed, which is an event. A
 * new link, second name or directory is all there is.
 */
static bool is_begun(const struct nn_models *models, const struct inotify_event *event)
{
	char path[PATH_MAX];
	struct stat s;

	if (!(event->mask & IN_CREATE) || (event->mask & IN_ISDIR))
		return false;
	for (size_t i = 0; i < models->n_watches; i++)
		if (models->watches[i].number == event->wd && models->watches[i].path) {
			snprintf(path, sizeof path, "%s/%s", models->watches[i].path, event->name);
			return lstat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink == 1;
		}
	return false;
}

/* Reads what events there are. Did anything change? */
static bool read_events(struct nn_models *models)
{
	_Alignas(struct inotify_event) char bytes[8192];
	bool any = false;
	ssize_t n;

	while ((n = read(models->inotify, bytes, sizeof bytes)) > 0)
		for (char *at = bytes; at < bytes + n;) {
			const struct inotify_event *event = (const void *)at;

			any |= !is_begun(models, event);
			if (event->mask & IN_IGNORED)
				forget(models, event->wd);
			at += sizeof *event + event->len;
		}
	return any;
}

int nn_models_watched(struct nn_models *models, struct nn_error *err)
{
	struct pollfd poll_of = { .fd = models->inotify, .events = POLLIN };
	double until = nn_now_s() + LONGEST_S;
	bool any;
	int status = 0;

	pthread_mutex_lock(&models->searching);
	any = read_events(models);
	while (any && nn_now_s() < until && poll(&poll_of, 1, QUIET_MS) > 0)
		read_events(models);
	if (!any) {
		pthread_mutex_unlock(&models->searching);
		return 0;
	}
	watch_operands(models);
	status = nn_models_search(models, &(struct nn_search){ 0 }, err);
	pthread_mutex_unlock(&models->searching);
	return status;
}
