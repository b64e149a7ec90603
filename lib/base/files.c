/* What a command line reads and writes: no output over an input, no two outputs in one place. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"

/* Where a path leads: a file, or a name in a folder where no file is yet. */
struct file_place {
	bool there, special;
	struct stat at; /* of the file, else of the folder */
	const char *name;
};

struct use {
	struct nn_file_use file;
	struct file_place place;
};

static bool folder_of(const char *path, const char *name, struct stat *at)
{
	char folder[4096];

	if (name == path)
		return stat(".", at) == 0;
	return snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path) <
		       (int)sizeof folder &&
	       stat(folder, at) == 0;
}

/* false: it is nowhere. */
static bool find_place(const struct nn_file_use *f, struct file_place *p)
{
	const char *slash = strrchr(f->path, '/');
	bool standard = strcmp(f->path, "-") == 0;

	*p = (struct file_place){ .name = slash ? slash + 1 : f->path };
	p->there = standard ? fstat(f->writes ? STDOUT_FILENO : STDIN_FILENO, &p->at) == 0
			    : stat(f->path, &p->at) == 0;
	p->special = p->there && !S_ISREG(p->at.st_mode);
	return p->there || (f->writes && !standard && folder_of(f->path, p->name, &p->at));
}

static bool same_place(const struct use *a, const struct use *b)
{
	const struct file_place *p = &a->place, *q = &b->place;

	if (a->file.writes && b->file.writes && strcmp(a->file.path, "-") == 0 &&
	    strcmp(b->file.path, "-") == 0)
		return true;
	return p->there == q->there && !p->special && !q->special && p->at.st_dev == q->at.st_dev &&
	       p->at.st_ino == q->at.st_ino && (p->there || strcmp(p->name, q->name) == 0);
}

static bool is_named(const struct nn_file_use *f, const struct nn_opt *row)
{
	return f->name && strcmp(f->name, row->name) == 0 &&
	       f->writes == (row->file == NN_OPT_WRITES);
}

/* The file of a row, where it was given one. */
static const char *value_of(const struct nn_opt_table *table, const struct nn_opt *row)
{
	const char *value =
		table->values && row->file != NN_OPT_NO_FILE
			? *(const char *const *)((const char *)table->values + row->offset)
			: NULL;

	return value && *value && (!row->names_file || row->names_file(value)) ? value : NULL;
}

static int fail(const struct use *written, const struct use *other, struct nn_error *err)
{
	const struct nn_file_use *w = &written->file, *o = &other->file;
	char quoted[NN_QUOTED];

	nn_quote(quoted, w->path, strlen(w->path));
	if (o->writes)
		return nn_fail(err, NN_EUSAGE, "--%s=%s: this is where --%s goes", w->name, quoted,
			       o->name);
	return o->name ? nn_fail(err, NN_EUSAGE,
				 "--%s=%s: is the file of --%s, which would be lost", w->name,
				 quoted, o->name)
		       : nn_fail(err, NN_EUSAGE, "--%s=%s: is an input, which would be lost",
				 w->name, quoted);
}

static int compare(const struct use *uses, size_t n, struct nn_error *err)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			const struct use *a = &uses[i], *b = &uses[j];
			const struct use *written = a->file.writes ? a : b,
					 *other = a->file.writes ? b : a;

			if (!written->file.writes || !same_place(a, b) ||
			    (other->file.replaceable && strcmp(written->file.name, "output") == 0))
				continue;
			return fail(written, other, err);
		}
	return 0;
}

static void add(struct use *uses, size_t *n, struct nn_file_use file)
{
	uses[*n].file = file;
	*n += file.path && find_place(&file, &uses[*n].place);
}

/* Few rows are given a file: memory is taken for those. */
static size_t count_files(const struct nn_opt_list *list)
{
	size_t n = 0;

	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *row = t->rows; row->name; row++)
			n += value_of(t, row) != NULL;
	return n;
}

int nn_files_check(const struct nn_opt_list *list, const struct nn_file_use *more, size_t n_more,
		   struct nn_error *err)
{
	struct use *uses = nn_alloc(count_files(list) + n_more, sizeof *uses, err);
	size_t n = 0;
	int status;

	if (!uses)
		return -1;
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *row = t->rows; row->name; row++) {
			const char *path = value_of(t, row);
			size_t i = 0;

			while (i < n_more && !is_named(&more[i], row))
				i++;
			if (path && i == n_more)
				add(uses, &n,
				    (struct nn_file_use){ .name = row->name,
							  .path = path,
							  .writes = row->file == NN_OPT_WRITES });
		}
	for (size_t i = 0; i < n_more; i++)
		add(uses, &n, more[i]);
	status = compare(uses, n, err);
	nn_free(uses);
	return status;
}
