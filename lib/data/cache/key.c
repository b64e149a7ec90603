/* Whether a cache is of the data that are there: what is known of files without reading them. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "data/cache/cache.h"

#define DEPTH 16 /* folders in folders */

static void add_text(struct nn_sha256 *sha, const char *text)
{
	nn_sha256_add(sha, text, strlen(text) + 1);
}

static void add_file(struct nn_sha256 *sha, const struct stat *st)
{
	const int64_t what[3] = { (int64_t)st->st_size, (int64_t)st->st_mtim.tv_sec,
				  (int64_t)st->st_mtim.tv_nsec };

	nn_sha256_add(sha, what, sizeof what);
}

static int add_path(struct nn_sha256 *sha, const char *path, int depth, struct nn_error *err);

static int add_folder(struct nn_sha256 *sha, const char *path, int depth, struct nn_error *err)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), status = 0;
	struct nn_text name = { 0 };

	if (n < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read the folder", path);
	for (int i = 0; i < n; i++) {
		const char *entry = entries[i]->d_name;

		if (status == 0 && strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0) {
			nn_text_clear(&name);
			nn_text_addf(&name, "%s/%s", path, entry);
			add_text(sha, entry);
			status = name.failed ? nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory "
								       "for names", path)
					     : add_path(sha, name.data, depth + 1, err);
		}
		free(entries[i]);
	}
	free(entries);
	nn_text_free(&name);
	return status;
}

/* What is neither a file nor a folder counts by its name alone: readers leave it out, or say so. */
static int add_path(struct nn_sha256 *sha, const char *path, int depth, struct nn_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return depth > 0 ? 0 : nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	if (S_ISREG(st.st_mode))
		add_file(sha, &st);
	else if (S_ISDIR(st.st_mode) && depth < DEPTH)
		return add_folder(sha, path, depth, err);
	else if (depth == 0)
		return nn_fail(err, NN_EFAIL,
			       "%s: is a pipe or a device, which --cache cannot tell from another "
			       "one",
			       path);
	return 0;
}

int nn_cache_key(const struct nn_cache_sources *s, const char *said, char key[NN_SHA256_HEX],
		 struct nn_error *err)
{
	const char *const paths[] = { s->data, s->targets, s->held_out, s->held_out_targets };
	struct nn_sha256 sha;

	nn_sha256_init(&sha);
	add_text(&sha, NN_CACHE_MAGIC);
	add_text(&sha, said);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		add_text(&sha, paths[i] ? paths[i] : "");
		if (paths[i] && add_path(&sha, paths[i], 0, err) < 0)
			return -1;
	}
	nn_sha256_hex(&sha, key);
	return 0;
}
