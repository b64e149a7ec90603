/* Distinct values: open addressing over their numbers, with a shortcut for small integers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limit.h"
#include "base/memory.h"
#include "data/table/words.h"

#define SMALL 256

struct word {
	int64_t integer;
	char *text; /* NULL: an integer */
	size_t length;
	uint64_t hash;
};

struct nn_words {
	bool integers;
	size_t n, room, slots; /* slots: a power of two, at most half full */
	struct word *word;
	int32_t *table; /* id + 1, 0: free */
	int32_t *small; /* integers: id + 1 of 0..255 */
	int32_t *order, *place;
	size_t sorted; /* values that order and place know */
};

/* Mixed so that the low bits depend on all. */
static uint64_t hash_bytes(const void *bytes, size_t n)
{
	uint64_t h = nn_fnv1a(NN_FNV1A, bytes, n);

	return h ^ h >> 32;
}

int nn_words_new(struct nn_words **words, bool integers, struct nn_error *err)
{
	*words = nn_alloc(1, sizeof **words, err);
	if (!*words)
		return -1;
	(*words)->integers = integers;
	if (!integers)
		return 0;
	(*words)->small = nn_alloc(SMALL, sizeof *(*words)->small, err);
	return (*words)->small ? 0 : -1;
}

void nn_words_free(struct nn_words *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		nn_free(w->word[i].text);
	nn_free(w->word);
	nn_free(w->small);
	nn_free(w->table);
	nn_free(w->order);
	nn_free(w->place);
	nn_free(w);
}

size_t nn_words_count(const struct nn_words *w)
{
	return w->n;
}

bool nn_words_integers(const struct nn_words *w)
{
	return w->integers;
}

static bool same(const struct word *a, const struct word *b)
{
	return a->hash == b->hash && a->integer == b->integer && a->length == b->length &&
	       (a->length == 0 || memcmp(a->text, b->text, a->length) == 0);
}

static int32_t find(const struct nn_words *w, const struct word *wanted)
{
	if (w->slots == 0)
		return -1;
	for (size_t i = wanted->hash & (w->slots - 1);; i = (i + 1) & (w->slots - 1)) {
		if (w->table[i] == 0)
			return -1;
		if (same(&w->word[w->table[i] - 1], wanted))
			return w->table[i] - 1;
	}
}

static void enter(struct nn_words *w, int32_t id)
{
	size_t i = w->word[id].hash & (w->slots - 1);

	while (w->table[i])
		i = (i + 1) & (w->slots - 1);
	w->table[i] = id + 1;
}

static int grow(struct nn_words *w, struct nn_error *err)
{
	size_t room = w->room ? 2 * w->room : 32;
	struct word *word = nn_realloc(w->word, w->room * sizeof *word, room * sizeof *word, err);

	if (!word)
		return -1;
	w->word = word;
	nn_free(w->table);
	w->slots = 0;
	w->table = nn_alloc(2 * room, sizeof *w->table, err);
	if (!w->table)
		return -1;
	w->slots = 2 * room;
	w->room = room;
	for (size_t i = 0; i < w->n; i++)
		enter(w, (int32_t)i);
	return 0;
}

static int32_t add(struct nn_words *w, struct word *wanted, const char *text, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];

	if (w->n >= nn_limit(NN_LIMIT_WORDS))
		return nn_fail(err, NN_EFORMAT, "more than %s",
			       nn_limit_said(NN_LIMIT_WORDS, 0, said));
	if (w->n == w->room && grow(w, err) < 0)
		return -1;
	if (text) {
		wanted->text = nn_strndup(text, wanted->length, err);
		if (!wanted->text)
			return -1;
	}
	w->word[w->n] = *wanted;
	enter(w, (int32_t)w->n);
	if (!text && wanted->integer >= 0 && wanted->integer < SMALL)
		w->small[wanted->integer] = (int32_t)w->n + 1;
	return (int32_t)w->n++;
}

int32_t nn_words_find(const struct nn_words *w, const char *text, size_t n)
{
	struct word wanted = { .text = (char *)text, .length = n, .hash = hash_bytes(text, n) };

	return find(w, &wanted);
}

int32_t nn_words_find_integer(const struct nn_words *w, int64_t value)
{
	struct word wanted = { .integer = value };

	if (value >= 0 && value < SMALL)
		return w->small[value] - 1;
	wanted.hash = hash_bytes(&value, sizeof value);
	return find(w, &wanted);
}

int32_t nn_words_add(struct nn_words *w, const char *text, size_t n, struct nn_error *err)
{
	struct word wanted = { .text = (char *)text, .length = n, .hash = hash_bytes(text, n) };
	int32_t id = find(w, &wanted);

	return id >= 0 ? id : add(w, &wanted, text, err);
}

int32_t nn_words_add_integer(struct nn_words *w, int64_t value, struct nn_error *err)
{
	struct word wanted = { .integer = value };
	int32_t id = nn_words_find_integer(w, value);

	if (id >= 0)
		return id;
	wanted.hash = hash_bytes(&value, sizeof value);
	return add(w, &wanted, NULL, err);
}

const char *nn_words_text(const struct nn_words *w, int32_t id)
{
	return w->word[id].text;
}

int64_t nn_words_integer(const struct nn_words *w, int32_t id)
{
	return w->word[id].integer;
}

struct sorted {
	const struct word *word;
	int32_t id;
};

static int by_value(const void *a, const void *b)
{
	const struct word *x = ((const struct sorted *)a)->word,
			  *y = ((const struct sorted *)b)->word;
	size_t n = x->length < y->length ? x->length : y->length;
	int c = n ? memcmp(x->text, y->text, n) : 0;

	if (c == 0)
		c = x->length < y->length ? -1 : x->length > y->length;
	return c ? c : x->integer < y->integer ? -1 : x->integer > y->integer;
}

int nn_words_sort(struct nn_words *w, const int32_t **order, const int32_t **place,
		  struct nn_error *err)
{
	struct sorted *s;
	int status = -1;

	*order = w->order;
	*place = w->place;
	if (w->order && w->sorted == w->n)
		return 0;
	s = nn_alloc(w->n, sizeof *s, err);
	w->sorted = w->n;
	nn_free(w->order);
	nn_free(w->place);
	w->order = nn_alloc(w->n, sizeof *w->order, err);
	w->place = nn_alloc(w->n, sizeof *w->place, err);
	if (!s || !w->order || !w->place)
		goto out;
	for (size_t i = 0; i < w->n; i++)
		s[i] = (struct sorted){ &w->word[i], (int32_t)i };
	qsort(s, w->n, sizeof *s, by_value);
	for (size_t k = 0; k < w->n; k++) {
		w->order[k] = s[k].id;
		w->place[s[k].id] = (int32_t)k;
	}
	*order = w->order;
	*place = w->place;
	status = 0;
out:
	if (status < 0)
		w->sorted = SIZE_MAX;
	nn_free(s);
	return status;
}

/* ---- values that are not there ---- */

static void add_name(struct nn_unseen *u, const char *name)
{
	size_t at = strlen(u->first);

	if (u->named > NN_UNSEEN_NAMED || strstr(u->first, name))
		return;
	at += (size_t)snprintf(u->first + at, sizeof u->first - at, "%s%s", at ? ", " : "",
			       u->named == NN_UNSEEN_NAMED ? "..." : name);
	if (u->named < NN_UNSEEN_NAMED)
		u->end[u->named] = at;
	u->named++;
}

void nn_unseen_add(struct nn_unseen *u, const char *text, size_t n)
{
	char quoted[NN_QUOTED], name[NN_QUOTED + 2];

	u->n++;
	if (u->named > NN_UNSEEN_NAMED)
		return;
	snprintf(name, sizeof name, "\"%s\"", nn_quote(quoted, text, n));
	add_name(u, name);
}

void nn_unseen_join(struct nn_unseen *to, const struct nn_unseen *from)
{
	char name[NN_QUOTED + 2];
	size_t at = 0;

	to->n += from->n;
	for (int i = 0; i < from->named; i++) {
		size_t end = i < NN_UNSEEN_NAMED ? from->end[i] : strlen(from->first);

		snprintf(name, sizeof name, "%.*s", (int)(end - at), from->first + at);
		add_name(to, name);
		at = end + 2;
	}
}
