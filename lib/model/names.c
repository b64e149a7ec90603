/* Names of lines: a hash table with open addressing. */
#include <stdint.h>
#include <string.h>
#include "base/hash.h"
#include "base/memory.h"
#include "model/net.h"

struct entry {
	const char *name;
	int line;
};

struct nn_names {
	struct entry *table;
	size_t room, n; /* room: a power of two */
};

static size_t hash(const char *name)
{
	uint64_t h = nn_fnv1a(NN_FNV1A, name, strlen(name));

	return (size_t)(h ^ h >> 29);
}

static struct entry *slot(const struct nn_names *names, const char *name)
{
	size_t i = hash(name) & (names->room - 1);

	while (names->table[i].name && strcmp(names->table[i].name, name) != 0)
		i = (i + 1) & (names->room - 1);
	return &names->table[i];
}

int nn_names_new(struct nn_names **names, struct nn_error *err)
{
	*names = nn_alloc(1, sizeof **names, err);
	if (!*names)
		return -1;
	(*names)->room = 64;
	(*names)->table = nn_alloc((*names)->room, sizeof(struct entry), err);
	if ((*names)->table)
		return 0;
	nn_names_free(*names);
	*names = NULL;
	return -1;
}

void nn_names_free(struct nn_names *names)
{
	if (names)
		nn_free(names->table);
	nn_free(names);
}

int nn_names_find(const struct nn_names *names, const char *name)
{
	const struct entry *entry = slot(names, name);

	return entry->name ? entry->line : -1;
}

static int grow(struct nn_names *names, struct nn_error *err)
{
	struct nn_names larger = { .room = 2 * names->room, .n = names->n };

	larger.table = nn_alloc(larger.room, sizeof(struct entry), err);
	if (!larger.table)
		return -1;
	for (size_t i = 0; i < names->room; i++)
		if (names->table[i].name)
			*slot(&larger, names->table[i].name) = names->table[i];
	nn_free(names->table);
	*names = larger;
	return 0;
}

int nn_names_set(struct nn_names *names, const char *name, int line, struct nn_error *err)
{
	struct entry *entry;

	if (2 * names->n >= names->room && grow(names, err))
		return -1;
	entry = slot(names, name);
	names->n += !entry->name;
	*entry = (struct entry){ name, line };
	return 0;
}

const char *nn_names_next(const void *arg, size_t i)
{
	const struct nn_names *names = arg;

	if (names->room > 4096)
		return NULL; /* a suggestion is not worth the time */
	for (size_t k = 0; k < names->room; k++)
		if (names->table[k].name && i-- == 0)
			return names->table[k].name;
	return NULL;
}
