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
	bool found;
	struct file_place place;
};

struct uses {
	struct use *use;
	size_t n;
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

static void find_place(struct use *use)
{
	const struct nn_file_use *f = &use->file;
	struct file_place *p = &use->place;
	const char *slash = strrchr(f->path, '/');
	bool standard = strcmp(f->path, "-") == 0;

	*p = (struct file_place){ .name = slash ? slash + 1 : f->path };
	p->there = standard ? fstat(f->writes ? STDOUT_FILENO : STDIN_FILENO, &p->at) == 0
			    : stat(f->path, &p->at) == 0;
	p->special = p->there && !S_ISREG(p->at.st_mode);
	use->found = p->there || (f->writes && !standard && folder_of(f->path, p->name, &p->at));
}

static bool same_place(const struct use *a, const struct use *b)
{
	const struct file_place *p = &a->place, *q = &b->place;

	if (a->file.writes && b->file.writes && strcmp(a->file.path, "-") == 0 &&
	    strcmp(b->file.path, "-") == 0)
		return true;
	return a->found && b->found && p->there == q->there && !p->special && !q->special &&
	       p->at.st_dev == q->at.st_dev && p->at.st_ino == q->at.st_ino &&
	       (p->there || strcmp(p->name, q->name) == 0);
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

static int compare(const struct use *a, const struct use *b, struct nn_error *err)
{
	const struct use *written = a->file.writes ? a : b, *other = a->file.writes ? b : a;

	return written->file.writes && same_place(a, b) &&
			       !(other->file.replaceable &&
				 strcmp(written->file.name, "output") == 0)
		       ? fail(written, other, err)
		       : 0;
}

static int compare_all(const struct uses *uses, struct nn_error *err)
{
	for (size_t i = 0; i < uses->n; i++)
		for (size_t j = 0; j < i; j++)
			if (compare(&uses->use[i], &uses->use[j], err) < 0)
				return -1;
	return 0;
}

/* ---- files that one name stands for ---- */

struct inside {
	const struct uses *uses;
	const char *name; /* of the option */
	struct nn_error *err;
};

static int compare_inside(void *arg, const char *path)
{
	const struct inside *in = arg;
	struct use read = { .file = { .name = in->name, .path = path } };

	find_place(&read);
	for (size_t i = 0; i < in->uses->n; i++)
		if (in->uses->use[i].file.writes && compare(&in->uses->use[i], &read, in->err) < 0)
			return -1;
	return 0;
}

/* There may be many: they are looked at where an output would replace a file. */
static int compare_insides(const struct uses *uses, struct nn_error *err)
{
	bool replaces = false;

	for (size_t i = 0; i < uses->n; i++)
		replaces |= uses->use[i].file.writes && uses->use[i].place.there &&
			    !uses->use[i].place.special;
	for (size_t i = 0; replaces && i < uses->n; i++) {
		const struct nn_file_use *f = &uses->use[i].file;
		struct inside in = { uses, f->name, err };

		if (f->each && f->each(f->path, compare_inside, &in) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of a command line ---- */

static void add(struct uses *uses, struct nn_file_use file)
{
	if (!file.path)
		return;
	uses->use[uses->n].file = file;
	find_place(&uses->use[uses->n++]);
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
	struct uses uses = { nn_alloc(count_files(list) + n_more, sizeof *uses.use, err), 0 };
	int status;

	if (!uses.use)
		return -1;
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *row = t->rows; row->name; row++) {
			const char *path = value_of(t, row);
			size_t i = 0;

			while (i < n_more && !is_named(&more[i], row))
				i++;
			if (path && i == n_more)
				add(&uses,
				    (struct nn_file_use){ .name = row->name,
							  .path = path,
							  .writes = row->file == NN_OPT_WRITES,
							  .each = row->each_file });
		}
	for (size_t i = 0; i < n_more; i++)
		add(&uses, more[i]);
	status = compare_all(&uses, err);
	if (status == 0)
		status = compare_insides(&uses, err);
	nn_free(uses.use);
	return status;
}
