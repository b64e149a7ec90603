/*
 * The files of a folder and of the folders in it, sorted bytewise by their names. Folders wait in
 * the list for their turn, so depth costs no stack; links are followed to regular files only, so no
 * circle of them can be entered.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/limit.h"
#include "base/memory.h"
#include "file/members/members-inside.h"

/* Names are short; what is longer than this cannot be opened. */
#define MOST_NAME 4096

enum kind { NOTHING, A_FILE, A_FOLDER };

static enum kind kind_of(int folder, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_name[0] == '.')
		return NOTHING; /* hidden, . and .. */
	if (entry->d_type == DT_REG)
		return A_FILE;
	if (entry->d_type == DT_DIR)
		return A_FOLDER;
	if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NOTHING;
	if (S_ISDIR(st.st_mode))
		return A_FOLDER;
	if (S_ISLNK(st.st_mode) && fstatat(folder, entry->d_name, &st, 0) < 0)
		return A_FILE; /* it leads nowhere: whoever opens it says so */
	return S_ISREG(st.st_mode) ? A_FILE : NOTHING;
}

static int add_name(struct nn_members *m, const char *folder, const char *name, bool is_folder,
		    struct nn_error *err)
{
	struct nn_text text = { 0 };
	char **names = m->names;

	if ((m->n & (m->n - 1)) == 0) {
		names = nn_realloc(m->names, m->n * sizeof *names,
				   (m->n ? 2 * m->n : 1) * sizeof *names, err);
		if (!names)
			return -1;
		m->names = names;
	}
	nn_text_addf(&text, "%s%s%s", folder, name, is_folder ? "/" : "");
	if (text.failed) {
		nn_text_free(&text);
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for the names of files",
			       nn_input_name(m->input));
	}
	names[m->n] = nn_strdup(text.data, err);
	nn_text_free(&text);
	return names[m->n] ? (m->n++, 0) : -1;
}

static int list_folder(struct nn_members *m, const char *folder, struct nn_error *err)
{
	const char *root = nn_input_name(m->input);
	char path[MOST_NAME];
	struct dirent *entry;
	int status = 0;
	DIR *dir;

	if (snprintf(path, sizeof path, "%s/%s", root, folder) >= (int)sizeof path)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: a name in it is too long (4095 bytes with the folder, a fixed limit)",
			root);
	dir = opendir(path);
	if (!dir)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	while (status == 0 && (errno = 0, entry = readdir(dir))) {
		enum kind kind = kind_of(dirfd(dir), entry);

		if (kind == A_FOLDER || (kind == A_FILE && m->wanted(entry->d_name)))
			status = add_name(m, folder, entry->d_name, kind == A_FOLDER, err);
	}
	if (status == 0 && errno)
		status = nn_fail_errno(err, NN_EFAIL, "%s: cannot read", path);
	closedir(dir);
	return status;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int nn_members_list(struct nn_members *m, struct nn_error *err)
{
	size_t files = 0;

	if (list_folder(m, "", err) < 0)
		return -1;
	for (size_t i = 0; i < m->n; i++) {
		char *name = m->names[i];

		if (name[strlen(name) - 1] == '/' && list_folder(m, name, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < m->n; i++) {
		char *name = m->names[i];

		if (name[strlen(name) - 1] == '/')
			nn_free(name);
		else
			m->names[files++] = name;
	}
	m->n = files;
	if (m->n)
		qsort(m->names, m->n, sizeof *m->names, compare);
	return 0;
}

int nn_members_each_path(const struct nn_members *m, int (*visit)(void *arg, const char *path),
			 void *arg)
{
	char path[MOST_NAME];
	int status = 0;

	for (size_t i = 0; i < m->n && status == 0; i++)
		if (snprintf(path, sizeof path, "%s/%s", nn_input_name(m->input), m->names[i]) <
		    (int)sizeof path)
			status = visit(arg, path);
	return status;
}

static int load(struct nn_member *member, const char *path, int fd, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];
	struct stat st;
	ssize_t got = 1;

	if (fstat(fd, &st) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", path);
	if (!S_ISREG(st.st_mode))
		return nn_fail(err, NN_EFORMAT, "%s: is not a regular file", path);
	if ((uint64_t)st.st_size > nn_limit(NN_LIMIT_MEMBER))
		return nn_fail(err, NN_EFORMAT,
			       "%s: has %lld bytes, expected at most %s", path,
			       (long long)st.st_size,
			       nn_limit_said(NN_LIMIT_MEMBER, (uint64_t)st.st_size, said));
	member->at = nn_member_changed(&st);
	if (nn_block_reserve(&member->bytes, (size_t)st.st_size + 1, err) < 0)
		return nn_fail_at(err, "%s", path);
	for (member->n = 0; got > 0 && member->n < (size_t)st.st_size; member->n += (size_t)got) {
		got = nn_read_some(fd, nn_block_at(&member->bytes, member->n),
				   (size_t)st.st_size - member->n);
		if (got < 0)
			return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", path);
	}
	return 0;
}

int nn_members_next_file(struct nn_members *m, struct nn_member *member, struct nn_error *err)
{
	char path[MOST_NAME];
	int fd, status;

	if (m->at == m->n)
		return 0;
	member->name = m->names[m->at++];
	if (snprintf(path, sizeof path, "%s/%s", nn_input_name(m->input), member->name) >=
	    (int)sizeof path)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: a name in it is too long (4095 bytes with the folder, a fixed limit)",
			nn_input_name(m->input));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	status = load(member, path, fd, err);
	close(fd);
	if (status < 0)
		return -1;
	nn_input_saw(m->input, member->name, strlen(member->name) + 1);
	nn_input_saw(m->input, member->bytes.data, member->n);
	return 1;
}
