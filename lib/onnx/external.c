/*
 * External data: a name in a file is not trusted. The kernel keeps it inside the model's folder
 * (openat2, RESOLVE_BENEATH); links, hard ones too, could lead elsewhere and are refused.
 */
#include "base/text.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/number.h"
#include "onnx/external.h"
#include "onnx/module.h"

struct place {
	const char *location;
	uint64_t offset, length;
	bool has_length;
};

static int take_entry(struct place *p, const Onnx__Entry *e, struct nn_error *err)
{
	const char *key = e->key ? e->key : "", *value = e->value ? e->value : "";
	char quoted[NN_QUOTED];
	uint64_t *number = strcmp(key, "offset") == 0   ? &p->offset
			   : strcmp(key, "length") == 0 ? &p->length
							: NULL;

	if (strcmp(key, "location") == 0)
		p->location = value;
	if (!number)
		return 0;
	p->has_length |= number == &p->length;
	return nn_parse_u64(value, strlen(value), number)
		       ? 0
		       : nn_fail(err, NN_EFORMAT,
				 "external data: %s is '%s', expected a whole number", key,
				 nn_quote(quoted, value, strlen(value)));
}

static int open_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? nn_strndup(path, (size_t)(slash - path) + 1, NULL) : nn_strdup(".", NULL);
	int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	nn_free(folder);
	return fd;
}

static int open_beside(const char *path, const char *location, struct nn_error *err)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	char quoted[NN_QUOTED];
	int folder = open_folder(path), fd;

	if (folder < 0)
		return nn_fail_errno(err, NN_EFORMAT, "cannot open the folder of external data");
	fd = (int)syscall(SYS_openat2, folder, location, &how, sizeof how);
	close(folder);
	nn_quote(quoted, location, strlen(location));
	if (fd < 0 && (errno == EXDEV || errno == ELOOP))
		return nn_fail(err, NN_EFORMAT,
			       "external data '%s': must be a file beside the model, without links",
			       quoted);
	return fd < 0 ? nn_fail_errno(err, NN_EFORMAT, "external data '%s'", quoted) : fd;
}

static int check(int fd, const struct place *p, size_t n, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	struct stat s;

	nn_quote(quoted, p->location, strlen(p->location));
	if (fstat(fd, &s) < 0)
		return nn_fail_errno(err, NN_EFORMAT, "external data '%s'", quoted);
	if (!S_ISREG(s.st_mode))
		return nn_fail(err, NN_EFORMAT, "external data '%s': is not a regular file",
			       quoted);
	if (s.st_nlink > 1)
		return nn_fail(err, NN_EFORMAT,
			       "external data '%s': has other names too (hard links), which may "
			       "lie elsewhere",
			       quoted);
	if (p->has_length && p->length != n)
		return nn_fail(err, NN_EFORMAT,
			       "external data '%s': length is %llu, the tensor has %zu byte%s",
			       quoted, (unsigned long long)p->length, n, nn_s(n));
	if (p->offset > (uint64_t)s.st_size || n > (uint64_t)s.st_size - p->offset)
		return nn_fail(err, NN_EFORMAT,
			       "external data '%s': %zu bytes at offset %llu exceed its %llu bytes",
			       quoted, n, (unsigned long long)p->offset,
			       (unsigned long long)s.st_size);
	return 0;
}

static int read_all(int fd, uint64_t offset, unsigned char *to, size_t n, struct nn_error *err)
{
	if (nn_read_at(fd, to, n, offset))
		return 0;
	return errno ? nn_fail_errno(err, NN_EFORMAT, "external data: cannot read")
		     : nn_fail(err, NN_EFORMAT, "external data: the file has been cut");
}

int nn_onnx_external(const struct nn_onnx_file *file, const Onnx__Tensor *tensor, size_t n,
		     struct nn_block *block, struct nn_error *err)
{
	struct place p = { 0 };
	int fd, status;

	for (size_t i = 0; i < tensor->n_external_data; i++)
		if (take_entry(&p, tensor->external_data[i], err) < 0)
			return -1;
	if (!p.location)
		return nn_fail(err, NN_EFORMAT, "external data without a location");
	if (!file->beside)
		return nn_fail(err, NN_EFORMAT,
			       "external data: a model from a pipe has no folder to find them in");
	fd = open_beside(file->path, p.location, err);
	if (fd < 0)
		return -1;
	status = check(fd, &p, n, err);
	if (status == 0)
		status = nn_block_reserve(block, n + 1, err);
	if (status == 0)
		status = read_all(fd, p.offset, block->data, n, err);
	close(fd);
	return status;
}

/* ---- which they are ---- */

static int visit_place(const char *path, const Onnx__Tensor *tensor,
		       int (*visit)(void *arg, const char *path), void *arg)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0, status = 0;
	struct nn_text file = { 0 };
	struct place p = { 0 };

	for (size_t i = 0; i < tensor->n_external_data; i++)
		take_entry(&p, tensor->external_data[i], NULL);
	if (tensor->data_location != 1 || !p.location)
		return 0;
	nn_text_addf(&file, "%.*s%s", folder, path, p.location);
	if (!file.failed)
		status = visit(arg, file.data);
	nn_text_free(&file);
	return status;
}

int nn_onnx_each_external(struct nn_input *input, int (*visit)(void *arg, const char *path),
			  void *arg)
{
	struct nn_onnx_file file = { .path = nn_input_name(input), .beside = true, .later = true };
	const Onnx__Graph *graph =
		nn_onnx_file_read(&file, input, NULL) == 0 ? file.model->graph : NULL;
	int status = 0;

	for (size_t i = 0; graph && status == 0 && i < graph->n_initializer; i++)
		status = visit_place(file.path, graph->initializer[i], visit, arg);
	for (size_t i = 0; graph && status == 0 && i < graph->n_node; i++)
		for (size_t k = 0; status == 0 && k < graph->node[i]->n_attribute; k++)
			if (graph->node[i]->attribute[k]->t)
				status = visit_place(file.path, graph->node[i]->attribute[k]->t,
						     visit, arg);
	nn_onnx_file_free(&file);
	return status;
}
