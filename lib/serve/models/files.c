/* From the operands of the command line to model files, their names and versions. */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "base/text.h"
#include "serve/models/files.h"

static const char *const suffixes[] = { ".safetensors", ".st", ".onnx" };
#define N_SUFFIXES (sizeof suffixes / sizeof *suffixes)
#define STATE ".state.safetensors"

bool nn_stamp_of(struct nn_stamp *stamp, const char *path)
{
	struct stat s;

	memset(stamp, 0, sizeof *stamp);
	if (nn_is_stdin(path)) /* it never changes */
		return true;
	if (stat(path, &s) < 0)
		return false;
	nn_stamp_take(stamp, &s);
	return true;
}

bool nn_stamp_equal(const struct nn_stamp *a, const struct nn_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* ---- names ---- */

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* A file of another name is one if it begins as safetensors does: a length, then JSON. */
static bool begins_as_model(const char *path)
{
	unsigned char begin[9];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool does = fd >= 0 && nn_read_all(fd, begin, sizeof begin) && begin[8] == '{' &&
		    begin[7] == 0 && begin[6] == 0;

	if (fd >= 0)
		close(fd);
	return does;
}

static bool is_model(const char *path, const char *name)
{
	if (*name == '.' || ends_in(name, STATE))
		return false;
	for (size_t i = 0; i < N_SUFFIXES; i++)
		if (ends_in(name, suffixes[i]))
			return true;
	return begins_as_model(path);
}

/* 1, 2, ... without leading zeros; 0: not a version. */
static uint64_t version_of(const char *name)
{
	uint64_t version;

	return *name >= '1' && *name <= '9' && nn_parse_u64(name, strlen(name), &version) ? version
											  : 0;
}

/* ---- what was found ---- */

static char *joined(const char *path, const char *name, struct nn_error *err)
{
	struct nn_text text = { 0 };
	size_t n = strlen(path);
	char *copy = NULL;

	nn_text_addf(&text, "%s%s%s", path, n > 0 && path[n - 1] == '/' ? "" : "/", name);
	if (text.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes", n);
	else
		copy = nn_strdup(text.data, err);
	nn_text_free(&text);
	return copy;
}

/* A place for one more; name is taken over, NULL: memory is out already. */
static struct nn_found *add(struct nn_finding *finding, char *name, const char *home,
			    const char *path, struct nn_error *err)
{
	struct nn_found *found;

	if (name && finding->n == finding->room) {
		size_t size = sizeof *finding->found, room = finding->room ? finding->room * 2 : 8;
		struct nn_found *more =
			nn_realloc(finding->found, finding->n * size, room * size, err);

		if (!more) {
			nn_free(name);
			return NULL;
		}
		finding->found = more;
		finding->room = room;
	}
	if (!name)
		return NULL;
	found = &finding->found[finding->n++];
	*found = (struct nn_found){ .name = name, .version = 1 };
	found->home = nn_strdup(home, err);
	found->path = nn_strdup(path, err);
	return found->home && found->path ? found : NULL;
}

static void check_name(struct nn_found *found)
{
	char quoted[NN_QUOTED];

	if (nn_models_name_is_valid(found->name, strlen(found->name)))
		return;
	nn_fail(&found->wrong, NN_EUSAGE,
		"%s: \"%s\" is not a name for a model (letters, digits, '.', '_' and '-', 250 at "
		"most): "
		"give it one with NAME=PATH",
		found->home, nn_quote(quoted, found->name, strlen(found->name)));
	found->early = true;
}

static void take_stamp(struct nn_found *found)
{
	if (!nn_stamp_of(&found->stamp, found->path) && found->wrong.code == NN_OK)
		nn_fail_errno(&found->wrong, NN_EFAIL, "%s", found->path);
}

static int add_file(struct nn_finding *finding, char *name, const char *path, struct nn_error *err)
{
	struct nn_found *found = add(finding, name, path, path, err);

	if (!found)
		return -1;
	found->fixed = true;
	check_name(found);
	take_stamp(found);
	return 0;
}

/* ---- directories ---- */

struct listing {
	struct dirent **entries;
	int n, error; /* errno where n < 0 */
};

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int list(struct listing *listing, struct nn_finding *finding, const char *path,
		struct nn_error *err)
{
	if (finding->folder)
		finding->folder(finding->arg, path);
	listing->n = scandir(path, &listing->entries, NULL, by_name);
	listing->error = errno;
	return listing->n < 0 ? nn_fail_errno(err, NN_EFAIL, "%s", path) : 0;
}

static void unlist(struct listing *listing)
{
	for (int i = 0; i < listing->n; i++)
		free(listing->entries[i]);
	free(listing->entries);
}

static bool is_directory(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The model file in DIR/N: its path, or NULL with what is wrong with it; *n: those there are. */
static char *only_file(struct nn_finding *finding, const char *path, size_t *n,
		       struct nn_error *wrong)
{
	struct listing listing;
	char *file = NULL;

	if (list(&listing, finding, path, wrong) < 0)
		return NULL;
	for (int i = 0; i < listing.n; i++) {
		char *each = joined(path, listing.entries[i]->d_name, wrong);

		if (each && is_model(each, listing.entries[i]->d_name) && (*n)++ == 0)
			file = each;
		else
			nn_free(each);
	}
	if (*n != 1) {
		nn_fail(wrong, NN_EFAIL, "%s: found %zu model files, expected one", path, *n);
		nn_free(file);
		file = NULL;
	}
	unlist(&listing);
	return file;
}

static int add_version(struct nn_finding *finding, const char *name, const char *home,
		       const char *number, struct nn_error *err)
{
	char *path = joined(home, number, err), *file;
	struct nn_error wrong = { 0 };
	struct nn_found *found;
	size_t files = 0;

	if (!path)
		return -1;
	if (!is_directory(path)) {
		nn_free(path);
		return 0;
	}
	file = only_file(finding, path, &files, &wrong);
	found = add(finding, nn_strdup(name, err), home, file ? file : path, err);
	if (found) {
		found->version = version_of(number);
		found->wrong = wrong;
		found->early = files == 0;
		if (files > 0)
			check_name(found);
		take_stamp(found);
	}
	nn_free(file);
	nn_free(path);
	return found ? 0 : -1;
}

/* Adds the versions that a directory holds; none is no error. */
static int add_versions(struct nn_finding *finding, const char *name, const char *path,
			const struct listing *listing, struct nn_error *err)
{
	for (int i = 0; i < listing->n; i++)
		if (version_of(listing->entries[i]->d_name) > 0 &&
		    add_version(finding, name, path, listing->entries[i]->d_name, err) < 0)
			return -1;
	return 0;
}

/* An entry of a directory of models; what is neither a model nor a directory is left out. */
static int add_entry(struct nn_finding *finding, const char *home, const char *name,
		     struct nn_error *err)
{
	char *path = *name == '.' ? NULL : joined(home, name, err);
	struct nn_error wrong;
	struct listing listing;
	int status = 0;

	if (!path)
		return *name == '.' ? 0 : -1;
	if (!is_directory(path))
		status = is_model(path, name)
				 ? add_file(finding, nn_operand_stem(path, err), path, err)
				 : 0;
	else if (list(&listing, finding, path, &wrong) == 0) {
		status = add_versions(finding, name, path, &listing, err);
		unlist(&listing);
	} else if (listing.error != EACCES && listing.error != ENOENT) {
		*err = wrong;
		status = -1;
	}
	nn_free(path);
	return status;
}

static int add_directory(struct nn_finding *finding, const struct nn_operand *operand,
			 struct nn_error *err)
{
	char *name = operand->name ? nn_strdup(operand->name, err)
				   : nn_operand_directory(operand->path, err);
	struct listing listing;
	size_t before = finding->n;
	int status;

	if (!name || list(&listing, finding, operand->path, err) < 0) {
		nn_free(name);
		return -1;
	}
	status = add_versions(finding, name, operand->path, &listing, err);
	if (status == 0 && finding->n == before) {
		for (int i = 0; i < listing.n && status == 0; i++)
			status = add_entry(finding, operand->path, listing.entries[i]->d_name, err);
		for (size_t i = before; i < finding->n; i++) {
			finding->found[i].fixed = false;
			if (finding->found[i].wrong.code == NN_EUSAGE)
				finding->found[i].wrong.code = NN_EFAIL;
		}
		if (status == 0 && operand->name && finding->n > before)
			status = nn_fail(err, NN_EUSAGE,
					 "%s=%s: a directory of models, which go by the names of "
					 "their files: leave out %s=",
					 operand->name, operand->path, operand->name);
	}
	if (status == 0 && finding->n == before)
		status = nn_fail(err, NN_EFAIL,
				 "%s: found neither versions (1/, 2/, ...) nor model files",
				 operand->path);
	unlist(&listing);
	nn_free(name);
	return status;
}

static int by_name_and_version(const void *a, const void *b)
{
	const struct nn_found *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order == 0)
		order = strcmp(x->home, y->home);
	return order ? order : (x->version > y->version) - (x->version < y->version);
}

int nn_operand_find(const struct nn_operand *operand, struct nn_finding *finding,
		    struct nn_error *err)
{
	char *name;

	if (!nn_is_stdin(operand->path) && is_directory(operand->path)) {
		if (add_directory(finding, operand, err) < 0)
			return -1;
		qsort(finding->found, finding->n, sizeof *finding->found, by_name_and_version);
		return 0;
	}
	name = operand->name ? nn_strdup(operand->name, err) : nn_operand_stem(operand->path, err);
	return add_file(finding, name, operand->path, err);
}

void nn_finding_fini(struct nn_finding *finding)
{
	for (size_t i = 0; i < finding->n; i++) {
		nn_free(finding->found[i].name);
		nn_free(finding->found[i].path);
		nn_free(finding->found[i].home);
	}
	nn_free(finding->found);
	*finding = (struct nn_finding){ 0 };
}
