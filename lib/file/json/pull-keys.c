/*
 * Keys of the objects that are open, each once: a table of their hashes. Keys go in the order in
 * which they came, last first, so that nothing in a chain of the table is ever taken out of its
 * middle.
 */
#include "config.h"
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"
#include "file/json/pull-inside.h"

#define SMALLEST 64
#define MARK 0 /* in place of a hash: an object begins */

struct nn_pull_keys {
	uint64_t seed[2];
	size_t n, room, most;
	size_t mask, n_slots; /* mask: of the part of the table in use; the rest is 0 */
	uint32_t *slots;      /* 1 + index into hashes, or 0; twice as many as keys at least */
	uint64_t *hashes;     /* of keys and MARKs, [n] */
};

struct nn_pull_keys *nn_pull_keys_new(size_t most, struct nn_error *err)
{
	struct nn_pull_keys *keys = nn_alloc(1, sizeof *keys, err);

	if (most > UINT32_MAX / 4)
		NN_BUG("%zu keys", most);
	if (!keys)
		return NULL;
	keys->most = most;
	keys->room = SMALLEST / 2;
	keys->n_slots = SMALLEST;
	keys->mask = SMALLEST - 1;
	keys->hashes = nn_alloc(keys->room, sizeof *keys->hashes, err);
	keys->slots = keys->hashes ? nn_alloc(keys->n_slots, sizeof *keys->slots, err) : NULL;
	if (!keys->slots) {
		nn_pull_keys_free(keys);
		return NULL;
	}
	/* A secret seed: otherwise keys could be chosen that all lie in one chain. */
	if (getrandom(keys->seed, sizeof keys->seed, 0) != sizeof keys->seed) {
		nn_fail_errno(err, NN_EFAIL, "cannot get random bytes");
		nn_pull_keys_free(keys);
		return NULL;
	}
	return keys;
}

void nn_pull_keys_free(struct nn_pull_keys *keys)
{
	if (!keys)
		return;
	nn_free(keys->hashes);
	nn_free(keys->slots);
	nn_free(keys);
}

size_t nn_pull_keys_bytes(const struct nn_pull_keys *keys)
{
	return keys->room * sizeof *keys->hashes + keys->n_slots * sizeof *keys->slots;
}

/* Place for one more; false: `most` are there, or memory is out. */
static bool has_room(struct nn_pull_keys *keys)
{
	size_t bytes = keys->room * sizeof *keys->hashes;
	uint64_t *hashes;

	if (keys->n < keys->room)
		return keys->n < keys->most;
	hashes = keys->n < keys->most ? nn_realloc(keys->hashes, bytes, 2 * bytes, NULL) : NULL;
	if (!hashes)
		return false;
	keys->hashes = hashes;
	keys->room *= 2;
	return true;
}

/* ---- hashes ---- */

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of a key at a depth: objects that are open at once have different ones. Never MARK. */
static uint64_t hash_key(const struct nn_pull_keys *keys, const char *text, size_t n,
			 unsigned depth)
{
	uint64_t hash = fold(n ^ keys->seed[0], depth ^ keys->seed[1]), word;

	for (; n > 0; text += sizeof word, n -= n < sizeof word ? n : sizeof word) {
		word = 0;
		memcpy(&word, text, n < sizeof word ? n : sizeof word);
		hash = fold(hash ^ word ^ keys->seed[0], keys->seed[1] | 1);
	}
	return hash == MARK ? 1 : hash;
}

/* ---- the table ---- */

/* Where a hash is, or the empty slot where it belongs. */
static uint32_t *slot_of(const struct nn_pull_keys *keys, uint64_t hash)
{
	size_t at = hash & keys->mask;

	while (keys->slots[at] && keys->hashes[keys->slots[at] - 1] != hash)
		at = (at + 1) & keys->mask;
	return &keys->slots[at];
}

/* Twice as many slots; false: memory is out. */
static bool widen(struct nn_pull_keys *keys)
{
	size_t in_use = keys->mask + 1, bytes = keys->n_slots * sizeof *keys->slots;
	uint32_t *slots = keys->slots;

	if (keys->n_slots == in_use) {
		slots = nn_realloc(slots, bytes, 2 * bytes, NULL);
		if (!slots)
			return false;
		memset(slots + in_use, 0, bytes);
		keys->slots = slots;
		keys->n_slots *= 2;
	}
	memset(slots, 0, in_use * sizeof *slots);
	keys->mask = 2 * in_use - 1;
	for (size_t i = 0; i < keys->n; i++)
		if (keys->hashes[i] != MARK)
			*slot_of(keys, keys->hashes[i]) = (uint32_t)i + 1;
	return true;
}

void nn_pull_keys_begin(struct nn_pull_keys *keys)
{
	memset(keys->slots, 0, (keys->mask + 1) * sizeof *keys->slots);
	keys->mask = SMALLEST - 1;
	keys->n = 0;
}

bool nn_pull_keys_open(struct nn_pull_keys *keys)
{
	if (!has_room(keys))
		return false;
	keys->hashes[keys->n++] = MARK;
	return true;
}

void nn_pull_keys_close(struct nn_pull_keys *keys)
{
	while (keys->hashes[--keys->n] != MARK)
		*slot_of(keys, keys->hashes[keys->n]) = 0;
}

enum nn_pull_once nn_pull_keys_add(struct nn_pull_keys *keys, const char *text, size_t n,
				   unsigned depth)
{
	uint64_t hash = hash_key(keys, text, n, depth);
	uint32_t *slot = slot_of(keys, hash);

	if (*slot)
		return NN_PULL_TWICE;
	if (!has_room(keys) || (2 * keys->n > keys->mask && !widen(keys)))
		return NN_PULL_FULL;
	slot = slot_of(keys, hash);
	keys->hashes[keys->n++] = hash;
	*slot = (uint32_t)keys->n;
	return NN_PULL_ONCE;
}

size_t nn_pull_keys_most(const struct nn_pull_keys *keys)
{
	return keys->most;
}
