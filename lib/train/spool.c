/*
 * stdin kept as a file (--spool): what a pipe gave once can then be read again, by this run and by
 * one that resumes it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "parallel/ranks.h"
#include "train/spool.h"

#define CHUNK ((size_t)1 << 18)

/* Is the value of --spool a number of bytes? Else it names a file. */
static bool is_size(const char *value, uint64_t *bytes)
{
	return nn_parse_size(value, strlen(value), bytes);
}

const char *nn_spool_file(const struct nn_train_options *o)
{
	uint64_t bytes;

	return o->spool && !is_size(o->spool, &bytes) ? o->spool : NULL;
}

static uint64_t half_of_folder(const char *folder)
{
	struct statvfs fs;

	return statvfs(folder, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize / 2 : UINT64_MAX;
}

/* Half of what is free in the directory of path. */
static uint64_t half_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? nn_strndup(path, slash == path ? 1 : (size_t)(slash - path), NULL)
				: nn_strdup(".", NULL);
	uint64_t bytes = directory ? half_of_folder(directory) : UINT64_MAX;

	nn_free(directory);
	return bytes;
}

/* ---- from stdin, at most `limit` bytes ---- */

/* 1: all of it, 0: there is more than that, -1. */
static int copy(struct nn_output *output, void *piece, uint64_t limit, struct nn_error *err)
{
	uint64_t taken = 0;
	ssize_t got;

	while ((got = nn_read_some(STDIN_FILENO, piece, CHUNK)) > 0) {
		taken += (uint64_t)got;
		if (taken > limit)
			return 0;
		if (nn_output_write(output, piece, (size_t)got, err) < 0)
			return -1;
	}
	return got < 0 ? nn_fail_errno(err, NN_EFAIL, "-: cannot read") : 1;
}

/* --spool=FILE: complete or not there at all, as every output. */
static int keep(const char *path, struct nn_error *err)
{
	uint64_t limit = half_beside(path);
	void *piece = nn_alloc(CHUNK, 1, err);
	struct nn_output *output = NULL;
	int status = -1;

	if (piece && nn_output_open(&output, path, true, err) == 0)
		status = copy(output, piece, limit, err);
	nn_free(piece);
	if (status == 1)
		return nn_output_commit(output, err);
	nn_output_abort(output);
	if (status == 0)
		return nn_fail(err, NN_EFAIL,
			       "-: gives more than %llu bytes, half of what is free beside %s; "
			       "--spool=FILE "
			       "elsewhere may have more room",
			       (unsigned long long)limit, path);
	return -1;
}

/* --spool=SIZE (value; NULL: half of the space): a file without a name takes the place of stdin. */
static int bounded(uint64_t limit, const char *value, struct nn_error *err)
{
	const char *folder = nn_temporary_folder();
	char *name = nn_alloc(strlen(folder) + sizeof "/nn-spool.XXXXXX", 1, err);
	uint64_t taken = 0;
	ssize_t got = 0;
	void *piece = nn_alloc(CHUNK, 1, err);
	int fd = -1, status = -1;

	if (!name || !piece)
		goto out;
	strcat(strcpy(name, folder), "/nn-spool.XXXXXX");
	if ((fd = mkstemp(name)) < 0) {
		nn_fail_errno(err, NN_EFAIL, "%s: cannot spool there", name);
		goto out;
	}
	unlink(name);
	while ((got = nn_read_some(STDIN_FILENO, piece, CHUNK)) > 0) {
		if ((taken += (uint64_t)got) > limit) {
			nn_fail(err, NN_EFAIL,
				value ? "-: gives more than %llu bytes, as many as --spool=%s "
					"allows"
				      : "-: gives more than %llu bytes, half of what is free in %s",
				(unsigned long long)limit, value ? value : folder);
			goto out;
		}
		for (ssize_t at = 0, n; at < got; at += n)
			if ((n = write(fd, (char *)piece + at, (size_t)(got - at))) < 0) {
				nn_fail_errno(err, NN_EFAIL, "%s: cannot spool there", name);
				goto out;
			}
	}
	if (got < 0 || lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
		nn_fail_errno(err, NN_EFAIL, "-: cannot read");
	else
		status = 0;
out:
	if (fd >= 0)
		close(fd);
	nn_free(name);
	nn_free(piece);
	return status;
}

/* ---- in the place of stdin ---- */

static bool is_stdin(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int file_for_stdin(struct nn_train *t, const char *path, struct nn_error *err)
{
	bool there = access(path, F_OK) == 0;

	if (t->options->resume && !there && t->kept.replaces)
		return nn_fail(
			err, NN_EFAIL,
			"%s: does not exist: the run that wrote %s did not keep its stdin there",
			path, t->kept.state_path);
	nn_output_sweep(path);
	if (t->options->resume && there)
		nn_tell_note(&t->told, "%s: is read in place of stdin, which it was", path);
	else if (keep(path, err) < 0)
		return -1;
	t->source.spooled = path;
	if (is_stdin(t->setup.data_path))
		t->setup.data_path = path;
	else
		t->setup.targets_path = path;
	return 0;
}

int nn_spool_stdin(const struct nn_train_setup *setup, struct nn_error *err)
{
	const char *value = setup->train->spool;
	uint64_t limit;

	if (!is_stdin(setup->data_path) && !is_stdin(setup->targets_path))
		return 0;
	if (value && is_size(value, &limit))
		return bounded(limit, value, err);
	return bounded(half_of_folder(nn_temporary_folder()), NULL, err);
}

int nn_spool(struct nn_train *t, struct nn_error *err)
{
	const char *path = nn_spool_file(t->options);
	uint64_t limit;

	if (!nn_layout_first(&t->layout) || !t->options->spool ||
	    !(is_stdin(t->setup.data_path) || is_stdin(t->setup.targets_path)))
		return 0;
	if (path)
		return file_for_stdin(t, path, err);
	is_size(t->options->spool, &limit);
	return bounded(limit, t->options->spool, err);
}
