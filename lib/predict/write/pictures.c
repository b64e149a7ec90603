/* Files of a folder, members of a tar, one file. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/picture/samples.h"
#include "data/table/words.h"
#include "file/members/tar-write.h"
#include "predict/write/pictures.h"

enum kind { ONE, TAR, FOLDER };

struct nn_pictures {
	struct nn_pictures_options options;
	enum kind kind;
	uint64_t n;
	struct nn_text name,
		path;           /* of the picture, and where it lies: "FOLDER/NAME", "TAR: NAME" */
	struct nn_words *names; /* those that were written; NULL: it is one picture */
};

static bool ends(const char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	return n > k && strcmp(name + n - k, ending) == 0;
}

bool nn_pictures_is_folder(const char *output)
{
	struct stat st;

	if (!output || !*output || strcmp(output, "-") == 0)
		return false;
	if (stat(output, &st) == 0)
		return S_ISDIR(st.st_mode);
	return !ends(output, ".png") && !ends(output, ".tar");
}

static enum kind kind_of(const struct nn_pictures_options *o)
{
	if (nn_pictures_is_folder(o->output))
		return FOLDER;
	if (o->output && ends(o->output, ".png"))
		return ONE;
	return o->total == 1 && !(o->output && ends(o->output, ".tar")) ? ONE : TAR;
}

/* ---- folders ---- */

/* Pictures would take each other's place, or be read again as data. */
static int check_apart(const struct nn_pictures_options *o, struct nn_error *err)
{
	char output[PATH_MAX], data[PATH_MAX];
	struct stat st;
	size_t n;

	if (!o->data || stat(o->data, &st) != 0 || !S_ISDIR(st.st_mode) ||
	    !realpath(o->data, data) || !realpath(o->output, output))
		return 0;
	n = strlen(data);
	if (strncmp(output, data, n) != 0 || (output[n] && output[n] != '/' && n > 1))
		return 0;
	return nn_fail(err, NN_EUSAGE, "--output=%s: lies in %s, whose pictures are read", o->output,
		       o->data);
}

static int open_folder(struct nn_pictures *p, struct nn_error *err)
{
	const char *folder = p->options.output;
	bool made = mkdir(folder, 0777) == 0;
	struct nn_text swept = { 0 };

	if (!made && errno != EEXIST)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot make this folder", folder);
	if (access(folder, W_OK | X_OK) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", folder);
	nn_text_addf(&swept, "%s/", folder);
	if (!swept.failed)
		nn_output_sweep(swept.data);
	nn_text_free(&swept);
	if (check_apart(&p->options, err) == 0)
		return 0;
	if (made)
		rmdir(folder);
	return -1;
}

/* The folders that a name leads through, below the one that was named. */
static int make_folders(struct nn_pictures *p, struct nn_error *err)
{
	char *path = p->path.data;

	for (char *slash = path + strlen(p->options.output) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		bool made;

		*slash = '\0';
		made = mkdir(path, 0777) == 0 || errno == EEXIST;
		if (!made)
			nn_fail_errno(err, NN_EFAIL, "%s: cannot make this folder", path);
		*slash = '/';
		if (!made)
			return -1;
	}
	return 0;
}

static int check_new(struct nn_pictures *p, struct nn_error *err)
{
	size_t before = nn_words_count(p->names);

	if (nn_words_add(p->names, p->name.data, p->name.length, err) < 0)
		return -1;
	if (nn_words_count(p->names) == before)
		return nn_fail(err, NN_EFAIL, "%s: two samples would be this picture", p->path.data);
	if (p->kind == FOLDER && p->options.data && nn_same_file(p->path.data, p->options.data))
		return nn_fail(err, NN_EFAIL, "%s: is an input, which would be lost", p->path.data);
	return 0;
}

static int put_file(struct nn_pictures *p, const struct nn_text *bytes, struct nn_error *err)
{
	struct nn_output *output;
	int status;

	if (make_folders(p, err) < 0 || nn_output_open_part(&output, p->path.data, err) < 0)
		return -1;
	status = nn_output_write(output, bytes->data, bytes->length, err);
	return nn_output_close(output, status, err);
}

/* ---- names ---- */

/* A name from a file is taken for one below the folder only where it is one. */
static bool is_below(const char *name, size_t n)
{
	for (size_t i = 0, k; i <= n; i += k + 1) {
		const char *end = memchr(name + i, '/', n - i);

		k = end ? (size_t)(end - name) - i : n - i;
		if (k == 0 || (k == 1 && name[i] == '.') || (k == 2 && memcmp(name + i, "..", 2) == 0))
			return false;
	}
	return true;
}

static int set_name(struct nn_pictures *p, const char *name, struct nn_error *err)
{
	const char *data = p->options.data, *slash;
	char quoted[NN_QUOTED];
	size_t n = 0;

	if (name && data && strcmp(name, data) == 0 && (slash = strrchr(name, '/')))
		name = slash + 1; /* a picture itself */
	if (name && strcmp(name, "-") != 0)
		n = nn_picture_stem(name);
	nn_text_clear(&p->name);
	if (n && !is_below(name, n))
		return nn_fail(err, NN_EFORMAT, "sample %s: its name leads out of a folder",
			       nn_quote(quoted, name, n));
	if (n)
		nn_text_add_bytes(&p->name, name, n);
	else
		nn_text_addf(&p->name, "%06" PRIu64, p->n);
	nn_text_add(&p->name, ".png");
	nn_text_clear(&p->path);
	if (p->kind == FOLDER)
		nn_text_addf(&p->path, "%s/%s", p->options.output, p->name.data);
	else
		nn_text_addf(&p->path, "%s: %s", p->options.output ? p->options.output : "stdout",
			     p->name.data);
	return p->name.failed || p->path.failed
		       ? nn_fail(err, NN_ENOMEM, "cannot allocate memory for a name")
		       : 0;
}

/* ---- for the writer ---- */

static int too_many(const struct nn_pictures *p, struct nn_error *err)
{
	const char *output = p->options.output;

	return nn_fail(err, NN_EFAIL,
		       "%s: is one picture, but there are more samples; -o FOLDER writes one for each, "
		       "-o FILE.tar a tar of them",
		       output ? output : "stdout");
}

int nn_pictures_open(struct nn_pictures **pictures, const struct nn_pictures_options *options,
		     struct nn_error *err)
{
	struct nn_pictures *p = nn_alloc(1, sizeof *p, err);

	if (!p)
		return -1;
	p->options = *options;
	p->kind = kind_of(options);
	if (p->kind == ONE ? options->total > 1 && too_many(p, err) < 0
			   : (p->kind == FOLDER && open_folder(p, err) < 0) ||
				     nn_words_new(&p->names, false, err) < 0) {
		nn_pictures_free(p);
		return -1;
	}
	*pictures = p;
	return 0;
}

int nn_pictures_put(struct nn_pictures *p, const char *name, const struct nn_text *bytes,
		    struct nn_error *err)
{
	p->n++;
	if (p->kind == ONE)
		return p->n > 1 ? too_many(p, err)
				: nn_output_write(p->options.stream, bytes->data, bytes->length, err);
	if (set_name(p, name, err) < 0 || check_new(p, err) < 0)
		return -1;
	return p->kind == FOLDER ? put_file(p, bytes, err)
				 : nn_tar_write(p->options.stream, p->name.data, bytes->data,
						bytes->length, err);
}

int nn_pictures_close(struct nn_pictures *p, struct nn_error *err)
{
	return p->kind == FOLDER ? nn_output_sync(p->options.output, err)
	       : p->kind == TAR  ? nn_tar_write_end(p->options.stream, err)
				 : 0;
}

void nn_pictures_free(struct nn_pictures *p)
{
	if (!p)
		return;
	nn_text_free(&p->name);
	nn_text_free(&p->path);
	nn_words_free(p->names);
	nn_free(p);
}
