/*
 * Distinct values in the order they were met, whole numbers or text, and their sorted places:
 * labels and categories.
 */
#ifndef NN_DATA_WORDS_H
#define NN_DATA_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/text.h"

struct nn_words;

int nn_words_new(struct nn_words **words, bool integers, struct nn_error *err);
void nn_words_free(struct nn_words *words); /* NULL allowed */
size_t nn_words_count(const struct nn_words *words);
bool nn_words_integers(const struct nn_words *words);

/* The number of a value in order of appearance; -1: not there. */
int32_t nn_words_find(const struct nn_words *words, const char *text, size_t n);
int32_t nn_words_find_integer(const struct nn_words *words, int64_t value);
/* The same, added when not there; -1 with NN_ENOMEM. */
int32_t nn_words_add(struct nn_words *words, const char *text, size_t n, struct nn_error *err);
int32_t nn_words_add_integer(struct nn_words *words, int64_t value, struct nn_error *err);
const char *nn_words_text(const struct nn_words *words, int32_t id);
int64_t nn_words_integer(const struct nn_words *words, int32_t id);

/*
 * order[k] = the value at sorted place k (integers by value, text bytewise), place[id] = k; both
 * [count], owned by words, valid until the next add.
 */
int nn_words_sort(struct nn_words *words, const int32_t **order, const int32_t **place,
		  struct nn_error *err);

/* Values that were looked up and not found: how many, and the first of them for a message. */
#define NN_UNSEEN_NAMED 3
struct nn_unseen {
	uint64_t n;
	int named;                       /* one more: there are others */
	size_t end[NN_UNSEEN_NAMED];     /* of each in first */
	char first[4 * (NN_QUOTED + 4)]; /* "a", "b", "c", ... */
};
void nn_unseen_add(struct nn_unseen *unseen, const char *text, size_t n);
/* Those of `from` after those of `to`. */
void nn_unseen_join(struct nn_unseen *to, const struct nn_unseen *from);

#endif
