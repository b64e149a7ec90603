/*
 * Weights made elsewhere: a safetensors or .npz file, a directory of *.npy named as tensors, or
 * NAME=FILE,NAME=FILE.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/npz.h"
#include "model/onnx.h"
#include "model/weights.h"

const char *const nn_weights_layouts[] = {
	[NN_WEIGHTS_AUTO] = "auto", [NN_WEIGHTS_TORCH] = "torch", [NN_WEIGHTS_KERAS] = "keras", NULL
};

struct weight_list {
	struct nn_npy_file *files; /* strings are owned */
	size_t n;
};

static void list_free(struct weight_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		nn_free((char *)l->files[i].name);
		nn_free((char *)l->files[i].path);
	}
	nn_free(l->files);
}

/* Takes both strings, NULL among them: out of memory. */
static int list_add(struct weight_list *l, char *name, char *path, struct nn_error *err)
{
	struct nn_npy_file *files = name && path ? nn_realloc(l->files, l->n * sizeof *files,
							      (l->n + 1) * sizeof *files, err)
						 : NULL;

	if (!files) {
		nn_free(name);
		nn_free(path);
		return -1;
	}
	l->files = files;
	files[l->n++] = (struct nn_npy_file){ name, path };
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Does operand look like NAME=FILE,...? An existing file wins. */
static bool is_list(const char *operand)
{
	struct stat st;

	return strchr(operand, '=') && stat(operand, &st) != 0;
}

/* ---- DIRECTORY ---- */

static char *join(const char *folder, const char *name, struct nn_error *err)
{
	struct nn_text text = { 0 };
	char *path;

	nn_text_addf(&text, "%s/%s", folder, name);
	path = text.failed ? NULL : nn_strdup(text.data, err);
	nn_text_free(&text);
	return path;
}

static int list_directory(struct weight_list *l, const char *path, struct nn_error *err)
{
	DIR *entries = opendir(path);
	struct dirent *entry;
	int status = 0;

	if (!entries)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	while (status == 0 && (entry = readdir(entries))) {
		size_t n = strlen(entry->d_name);

		if (entry->d_name[0] != '.' && n > 4 && strcmp(entry->d_name + n - 4, ".npy") == 0)
			status = list_add(l, nn_strndup(entry->d_name, n - 4, err),
					  join(path, entry->d_name, err), err);
	}
	closedir(entries);
	if (status == 0 && l->n == 0)
		return nn_fail(err, NN_EFORMAT, "%s: no *.npy in this directory", path);
	return status;
}

/* ---- NAME=FILE,NAME=FILE ---- */

static int list_pairs(struct weight_list *l, const char *text, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ","), name = strcspn(at, "=");

		if (name == 0 || name + 1 >= n)
			return nn_fail(err, NN_EUSAGE, "%s: expected NAME=FILE,NAME=FILE",
				       nn_quote(quoted, text, strlen(text)));
		if (list_add(l, nn_strndup(at, name, err),
			     nn_strndup(at + name + 1, n - name - 1, err), err) < 0)
			return -1;
		at += n;
		if (!*at)
			return 0;
	}
}

/* ---- FILE ---- */

static int read_file(struct nn_st **st, const char *path, struct nn_error *err)
{
	struct nn_input *input;
	enum nn_format_id format;
	int status;

	if (nn_input_open(&input, path, err) < 0)
		return -1;
	nn_input_plain(input);
	status = nn_input_sniff(input, &format, err);
	if (status == 0 && format == NN_FORMAT_hdf5)
		status = nn_fail(err, NN_EFORMAT,
				 "%s: looks like an hdf5 file; if it is Keras', " NN_KERAS_SAVES,
				 path);
	if (status == 0)
		status = format == NN_FORMAT_zip    ? nn_zip_read_weights(st, input, err)
			 : format == NN_FORMAT_npy  ? nn_npy_read_set(st, input, err)
			 : format == NN_FORMAT_onnx ? nn_onnx_model_read(st, input, false, err)
						    : nn_st_read_model(st, input, err);
	nn_input_close(input);
	return status;
}

int nn_weights_read(struct nn_st **st, const char *operand, struct nn_error *err)
{
	struct weight_list l = { 0 };
	int status;

	if (!is_directory(operand) && !is_list(operand))
		return read_file(st, operand, err);
	status = is_directory(operand) ? list_directory(&l, operand, err)
				       : list_pairs(&l, operand, err);
	if (status == 0)
		status = nn_st_of_arrays(st, l.n, l.files, err);
	list_free(&l);
	return status;
}

/* Only of a file: what a pipe has can be read once. */
static int each_beside(const char *path, int (*visit)(void *arg, const char *path), void *arg)
{
	struct nn_input *input = NULL;
	enum nn_format_id format;
	struct stat st;
	int status = 0;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (nn_input_open(&input, path, NULL) == 0 && nn_input_sniff(input, &format, NULL) == 0 &&
	    format == NN_FORMAT_onnx)
		status = nn_onnx_each_file(input, visit, arg);
	nn_input_close(input);
	return status;
}

int nn_weights_each_file(const char *operand, int (*visit)(void *arg, const char *path), void *arg)
{
	struct weight_list l = { 0 };
	int status = 0;

	if (!is_directory(operand) && !is_list(operand))
		return each_beside(operand, visit, arg);
	if ((is_directory(operand) ? list_directory : list_pairs)(&l, operand, NULL) == 0)
		for (size_t i = 0; status == 0 && i < l.n; i++)
			status = visit(arg, l.files[i].path);
	list_free(&l);
	return status;
}
