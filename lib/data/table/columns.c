/* Names of columns as the user lists them. */
#include <string.h>

#include "base/memory.h"
#include "data/table/columns.h"

int nn_columns_parse(struct nn_columns *names, const char *list, struct nn_error *err)
{
	size_t length = strlen(list), commas = 1;
	char *to;

	*names = (struct nn_columns){ 0 };
	for (size_t i = 0; i < length; i++)
		commas += list[i] == ',';
	to = names->text = nn_alloc(length + 1, 1, err);
	names->name = nn_alloc(commas, sizeof *names->name, err);
	if (!names->text || !names->name) {
		nn_columns_free(names);
		return -1;
	}
	for (const char *p = list;; p++) {
		bool quoted = *p == '"';
		struct nn_field field = { to, 0 };

		p += quoted;
		while (*p && (quoted || *p != ',')) {
			if (quoted && *p == '"' && *++p != '"')
				break;
			*to++ = *p++;
		}
		field.length = (size_t)(to - field.text);
		names->name[names->n++] = field;
		while (*p && *p != ',')
			*to++ = *p++; /* after a closing quote: part of a name that will not be
					 found */
		if (!*p)
			return 0;
	}
}

void nn_columns_free(struct nn_columns *names)
{
	nn_free(names->text);
	nn_free(names->name);
	*names = (struct nn_columns){ 0 };
}
