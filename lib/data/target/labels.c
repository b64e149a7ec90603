/* Labels in order: which class each is, and which one --ignore takes out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/dataset.h"

static bool is_class_number(const struct nn_words *words, int32_t id, size_t n)
{
	int64_t v = nn_words_integer(words, id);

	return v >= 0 && (uint64_t)v < n;
}

/* Are all labels but the ignored one integers below n? */
static bool are_class_numbers(const struct nn_words *words, int32_t ignored, size_t n)
{
	for (int32_t i = 0; (size_t)i < nn_words_count(words); i++)
		if (i != ignored && !is_class_number(words, i, n))
			return false;
	return nn_words_integers(words);
}

/*
 * The number of the label that --ignore takes out; -1: none, or the output line has a unit for it
 * too: it is a class number, or as many classes are wanted as there are labels.
 */
static int32_t find_ignored(const struct nn_words *words, const char *label, size_t wanted)
{
	int64_t value;
	int32_t id;

	if (!label)
		return -1;
	if (!nn_words_integers(words))
		return wanted >= nn_words_count(words) ? -1
						       : nn_words_find(words, label, strlen(label));
	id = nn_parse_i64(label, strlen(label), &value) ? nn_words_find_integer(words, value) : -1;
	return id >= 0 && is_class_number(words, id, wanted) ? -1 : id;
}

static int put_label(struct nn_target_schema *schema, size_t i, const struct nn_words *words,
		     int32_t id, int64_t number, struct nn_error *err)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRId64,
		 words && id >= 0 ? nn_words_integer(words, id) : number);
	schema->labels[i] = nn_strdup(
		words && !nn_words_integers(words) ? nn_words_text(words, id) : digits, err);
	return schema->labels[i] ? 0 : -1;
}

static int new_labels(struct nn_target_schema *schema, size_t n, struct nn_error *err)
{
	for (size_t i = 0; i < schema->n_labels; i++)
		nn_free(schema->labels[i]);
	nn_free(schema->labels);
	schema->n_labels = 0;
	schema->labels = nn_alloc(n, sizeof *schema->labels, err);
	schema->n_labels = schema->labels ? n : 0;
	return schema->labels ? 0 : -1;
}

int nn_dataset_label_bytes(struct nn_target_schema *schema, const struct nn_characters *characters,
			   struct nn_error *err)
{
	if (new_labels(schema, characters->n, err) < 0)
		return -1;
	schema->integer_labels = true;
	for (size_t i = 0; i < characters->n; i++)
		if (put_label(schema, i, NULL, -1, characters->bytes[i], err) < 0)
			return -1;
	return 0;
}

/* The schema's own copy of the label. */
static int take_ignored(struct nn_target_schema *schema, const char *label, struct nn_error *err)
{
	nn_free(schema->ignored);
	schema->ignored = label ? nn_strdup(label, err) : NULL;
	return label && !schema->ignored ? -1 : 0;
}

int nn_dataset_order_labels(struct nn_dataset *ds, size_t target, struct nn_error *err)
{
	struct nn_dataset *owner = ds->training ? ds->training : ds;
	struct nn_data_target *t = &owner->targets[target];
	struct nn_target_schema *schema = &owner->schema->targets[target];
	struct nn_target_code *code = &owner->coding->targets[target];
	const int32_t *order, *unused;
	int32_t at = 0;
	size_t n, all;
	bool numbers;

	if (!t->classes || code->fixed)
		return 0;
	all = nn_words_count(code->labels);
	code->ignored = find_ignored(code->labels, t->ignored, t->wanted);
	n = all - (code->ignored >= 0);
	if (t->wanted && n > t->wanted && code->closed)
		return nn_fail(err, NN_EFORMAT,
			       "--classes: lists %zu label%s, the output line has room for %zu", n,
			       nn_s(n), t->wanted);
	if (t->wanted && n > t->wanted)
		return nn_fail(err, NN_EFORMAT,
			       "%s: found %zu different labels, the output line has room for %zu",
			       ds->files.file[ds->files.n - 1].path, n, t->wanted);
	if (nn_words_sort(code->labels, &order, &unused, err) < 0 ||
	    take_ignored(schema, code->ignored >= 0 ? t->ignored : NULL, err) < 0)
		return -1;
	numbers = t->wanted && are_class_numbers(code->labels, code->ignored, t->wanted);
	nn_free(t->place);
	t->place = nn_alloc(all, sizeof *t->place, err);
	if (!t->place || new_labels(schema, numbers ? t->wanted : n, err) < 0)
		return -1;
	for (size_t i = 0; i < all; i++) {
		if (order[i] == code->ignored)
			continue;
		if (!numbers && put_label(schema, (size_t)at, code->labels, order[i], 0, err) < 0)
			return -1;
		t->place[order[i]] =
			numbers ? (int32_t)nn_words_integer(code->labels, order[i]) : at;
		at++;
	}
	for (size_t i = 0; numbers && i < schema->n_labels; i++)
		if (put_label(schema, i, code->labels, -1, (int64_t)i, err) < 0)
			return -1;
	code->place = t->place;
	return 0;
}
