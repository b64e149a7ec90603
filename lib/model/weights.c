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
#include "model/weights.h"

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
	if (status == 0)
		status = format == NN_FORMAT_zip ? nn_npz_read(st, input, err)
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

int nn_weights_each(const char *operand, int (*visit)(void *arg, const char *path), void *arg)
{
	struct weight_list l = { 0 };
	struct nn_error ignored;
	int status = 0;

	if (is_directory(operand) ? list_directory(&l, operand, &ignored) == 0
				  : is_list(operand) && list_pairs(&l, operand, &ignored) == 0)
		for (size_t i = 0; status == 0 && i < l.n; i++)
			status = visit(arg, l.files[i].path);
	list_free(&l);
	return status;
}

/* ---- kernels ---- */

/*
 * Does some layer see an image as a vector? Then a kernel from Keras has its rows in another order.
 */
static bool flattens_images(const struct nn_program *program)
{
	for (int i = 0; i < program->n_nodes; i++) {
		const struct nn_shape *in = &program->values[program->nodes[i].in[0]].shape;
		const struct nn_shape *out = &program->values[program->nodes[i].out].shape;

		if (in->rank == 3 && in->dim[0] > 1 && out->rank == 1 &&
		    program->nodes[i].n_params == 0)
			return true;
	}
	return false;
}

/* [in,out] becomes [out,in], values of `size` bytes. */
static int transpose(struct nn_st_tensor *t, struct nn_block *block, struct nn_error *err)
{
	size_t rows = t->shape.dim[0], columns = t->shape.dim[1], size = nn_dtype_size(t->dtype);

	if (nn_block_reserve(block, rows * columns * size + 1, err) < 0)
		return -1;
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < columns; c++)
			memcpy(nn_block_at(block, (c * rows + r) * size),
			       (const char *)t->data + (r * columns + c) * size, size);
	t->shape = nn_shape2(columns, rows);
	t->data = block->data;
	return 0;
}

static bool is_kernel(const char *name, size_t *prefix)
{
	size_t n = strlen(name), m = strlen(".kernel");

	*prefix = n - m;
	return n > m && strcmp(name + n - m, ".kernel") == 0;
}

int nn_weights_take_kernels(struct nn_st *st, const char *place, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	size_t prefix;

	for (size_t i = 0; i < st->n_tensors; i++) {
		struct nn_st_tensor *t = &st->tensors[i];
		struct nn_block turned = { 0 };
		char *name;

		if (!is_kernel(t->name, &prefix))
			continue;
		nn_quote(quoted, t->name, strlen(t->name));
		if (t->shape.rank != 2)
			return nn_fail(err, NN_EFORMAT,
				       "%s: tensor '%s' has %d dimensions, expected [in,out] of a "
				       "dense layer",
				       place, quoted, t->shape.rank);
		for (size_t k = 0; k < st->n_tensors; k++)
			if (strncmp(st->tensors[k].name, t->name, prefix) == 0 &&
			    strcmp(st->tensors[k].name + prefix, ".weight") == 0)
				return nn_fail(err, NN_EFORMAT,
					       "%s: tensor '%s' is there beside a weight", place,
					       quoted);
		if (transpose(t, &turned, err) < 0)
			return -1;
		for (size_t k = 0; k < st->n_tensors; k++)
			if (st->names[k] == t->name) {
				nn_block_free(&st->arrays[k]);
				st->arrays[k] = turned;
				name = st->names[k];
				strcpy(name + prefix, ".weight"); /* as long as .kernel */
			}
		st->turned = true;
	}
	nn_st_sort(st->tensors, st->n_tensors);
	return 0;
}

int nn_weights_check_kernels(const struct nn_st *st, const struct nn_program *program,
			     const char *place, struct nn_error *err)
{
	if (st->turned && flattens_images(program))
		return nn_fail(err, NN_EFORMAT,
			       "%s: a kernel [in,out] of a network that flattens images: its rows "
			       "may be in another "
			       "order; give it as weight [out,in]",
			       place);
	return 0;
}
