/*
 * Fields hashed to a number of categories, the same on every machine: FNV-1a of name and field,
 * finished as SplitMix64 does.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/real.h"
#include "data/table/table.h"

#define BETWEEN "\xff" /* after the name: in no UTF-8 text */

uint64_t nn_hash_name(const char *name, size_t number)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%zu", number);
	name = name ? name : digits;
	return nn_fnv1a(nn_fnv1a(NN_FNV1A, name, strlen(name)), BETWEEN, 1);
}

/*
 * The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit depends on every bit.
 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t nn_hash_join(uint64_t hash, uint64_t field)
{
	return mix(hash + field);
}

size_t nn_hash_bucket(uint64_t hash, size_t buckets)
{
	return (size_t)((unsigned __int128)hash * buckets >> 64);
}

void nn_table_put_hashes(const struct nn_table *t, void *values)
{
	for (size_t i = 0; i < t->n_hashes; i++) {
		const struct nn_table_hash *hash = &t->hashes[i];
		uint64_t h = 0;
		size_t number;

		for (size_t k = 0; k < hash->n; k++)
			h = nn_hash_join(h, t->columns[hash->columns[k]].hash);
		number = nn_hash_bucket(h, hash->buckets);
		nn_real_put(t->dtype, values, hash->slot, (double)number);
	}
}

int nn_table_add_hash(struct nn_table *t, const size_t *columns, size_t n, size_t buckets,
		      size_t *slot, struct nn_error *err)
{
	struct nn_table_hash *hashes = nn_realloc(t->hashes, t->n_hashes * sizeof *hashes,
						  (t->n_hashes + 1) * sizeof *hashes, err);
	struct nn_table_hash *hash;

	if (!hashes)
		return -1;
	t->hashes = hashes;
	hash = &hashes[t->n_hashes];
	*hash = (struct nn_table_hash){ .columns = nn_alloc(n, sizeof *columns, err),
					.n = n,
					.slot = t->n_values,
					.buckets = buckets };
	if (!hash->columns)
		return -1;
	t->n_hashes++;
	*slot = t->n_values++;
	for (size_t k = 0; k < n; k++) {
		struct nn_table_column *c = &t->columns[columns[k]];

		hash->columns[k] = columns[k];
		c->hashed = true;
		c->hash_start = nn_hash_name(c->name, columns[k] + 1);
	}
	return 0;
}
