/* The values of all options, for logs and state files. */
#include <stdlib.h>
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "base/option.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_options(const struct nn_opt_list *list, const char **names)
{
	size_t n = 0;

	for (const struct nn_opt_table *table = list->tables; table->rows; table++)
		for (const struct nn_opt *row = table->rows; row->name; row++) {
			if (row->type == NN_OPT_HELP || row->type == NN_OPT_VERSION ||
			    row->type == NN_OPT_CONFIG)
				continue;
			if (names)
				names[n] = row->name;
			n++;
		}
	return n;
}

char *nn_opt_json(const struct nn_opt_list *list, struct nn_error *err)
{
	size_t n = count_options(list, NULL);
	const char **names = nn_alloc(n, sizeof *names, err);
	struct nn_text json = { 0 };
	char value[4096], *text = NULL;

	if (!names)
		return NULL;
	count_options(list, names);
	qsort(names, n, sizeof *names, by_name);
	nn_json_put(&json, "{");
	for (size_t i = 0; i < n; i++) {
		if (!nn_opt_text(list, names[i], value, sizeof value))
			value[0] = '\0';
		nn_json_add_string(&json, names[i], value);
	}
	nn_text_add(&json, "}");
	nn_free(names);
	if (json.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate the text of the options");
	else
		text = nn_strdup(json.data, err);
	nn_text_free(&json);
	return text;
}
