/* Operands of the command line and the names of models: [NAME=]PATH, else from the path. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "serve/models/files.h"
#include "serve/models/models.h"

bool nn_models_name_is_valid(const char *name, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	return n > 0 && n < NN_MODEL_NAME - strlen(":null") && strspn(name, letters) >= n &&
	       !(n == 1 && *name == '.') && !(n == 2 && memcmp(name, "..", 2) == 0);
}

int nn_operand_parse(struct nn_operand *operand, const char *word, struct nn_error *err)
{
	const char *equals = strchr(word, '='), *slash = strchr(word, '/');
	char quoted[NN_QUOTED];

	*operand = (struct nn_operand){ .path = word };
	if (!*word)
		return nn_fail(err, NN_EUSAGE, "\"\": expected [NAME=]MODEL");
	if (!equals || (slash && slash < equals))
		return 0;
	operand->path = equals + 1;
	if (!*operand->path)
		return nn_fail(err, NN_EUSAGE, "%s: no path after the name",
			       nn_quote(quoted, word, strlen(word)));
	if (!nn_models_name_is_valid(word, (size_t)(equals - word)))
		return nn_fail(err, NN_EUSAGE,
			       "\"%s\" is not a name for a model: expected letters, digits, '.', "
			       "'_' and '-', 250 at most (a path with '=' begins with ./)",
			       nn_quote(quoted, word, (size_t)(equals - word)));
	operand->name = nn_strndup(word, (size_t)(equals - word), err);
	return operand->name ? 0 : -1;
}

void nn_operand_fini(struct nn_operand *operand)
{
	nn_free(operand->name);
	operand->name = NULL;
}

/* The last part of a path without slashes behind it; *n: its length. */
static const char *last_part(const char *path, size_t *n)
{
	size_t end = strlen(path), begin;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/';)
		begin--;
	*n = end - begin;
	return path + begin;
}

char *nn_operand_stem(const char *path, struct nn_error *err)
{
	size_t n;
	const char *part = last_part(path, &n);

	for (size_t i = n; i > 1; i--)
		if (part[i - 1] == '.') {
			n = i - 1;
			break;
		}
	return nn_strndup(part, n, err);
}

char *nn_operand_directory(const char *path, struct nn_error *err)
{
	size_t n;
	const char *part = last_part(path, &n);
	char *whole, *name;

	if (n > 0 && !(n == 1 && *part == '.') && !(n == 2 && memcmp(part, "..", 2) == 0))
		return nn_strndup(part, n, err);
	whole = realpath(path, NULL);
	part = last_part(whole ? whole : path, &n);
	name = nn_strndup(part, n, err);
	free(whole);
	return name;
}
