/* How the columns of a table were read, in a line for people. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"

#define MOST_NAMED 12 /* columns of text whose values are counted one by one */

static void add_kind(struct nn_text *text, size_t n, const char *one, const char *several)
{
	if (n > 0)
		nn_text_addf(text, "%s%zu %s", text->data[text->length - 1] == ' ' ? "" : ", ", n,
			     n == 1 ? one : several);
}

static void add_name(struct nn_text *text, const char *name, size_t position)
{
	char quoted[NN_QUOTED];

	if (name)
		nn_text_add(text, nn_quote(quoted, name, strlen(name)));
	else
		nn_text_addf(text, "column %zu", position);
}

/* " (Sex 2, Embarked 4)" after how many there are. */
static void add_words(struct nn_text *text, const struct nn_table *t)
{
	size_t named = 0;

	for (size_t i = 0; i < t->width; i++) {
		const struct nn_table_column *c = &t->columns[i];

		if (c->target || c->cell != NN_CELL_WORD)
			continue;
		if (named++ == MOST_NAMED) {
			nn_text_add(text, ", ...");
			break;
		}
		nn_text_add(text, named == 1 ? " (" : ", ");
		add_name(text, c->name, i + 1);
		nn_text_addf(text, " %zu", nn_words_count(c->words));
	}
	if (named)
		nn_text_add(text, ")");
}

int nn_dataset_tell_columns(struct nn_dataset *ds, const struct nn_table *t, struct nn_error *err)
{
	size_t numbers = 0, words = 0, hashed = 0, all;
	struct nn_text text = { 0 };

	for (size_t i = 0; i < t->width; i++) {
		const struct nn_table_column *c = &t->columns[i];

		numbers += !c->target && c->cell == NN_CELL_NUMBER;
		words += !c->target && c->cell == NN_CELL_WORD;
		hashed += !c->target && c->cell == NN_CELL_SKIP && c->hashed;
	}
	all = numbers + words + hashed;
	nn_text_addf(&text, "%zu column%s: ", all, nn_s(all));
	if (!text.failed) {
		add_kind(&text, numbers, "number", "numbers");
		add_kind(&text, hashed, "hashed", "hashed");
		add_kind(&text, words, "text", "texts");
		add_words(&text, t);
	}
	nn_free(ds->columns);
	ds->columns = text.failed ? NULL : nn_strdup(text.data, err);
	nn_text_free(&text);
	return ds->columns ? 0 : -1;
}

static void add_target(struct nn_text *text, const struct nn_target_schema *target)
{
	size_t n = target->labels ? target->n_labels : target->n_columns;

	nn_text_add(text, target->n_columns > 1 ? "; targets " : "; target ");
	for (size_t i = 0; i < target->n_columns && i <= MOST_NAMED; i++) {
		nn_text_add(text, i ? ", " : "");
		if (i == MOST_NAMED)
			nn_text_add(text, "...");
		else
			add_name(text, target->columns[i],
				 target->positions ? target->positions[i] : i + 1);
	}
	if (target->labels)
		nn_text_addf(text, ": %zu class%s", n, n == 1 ? "" : "es");
	else
		nn_text_add(text, n == 1 ? ": a number" : ": numbers");
}

void nn_dataset_columns(const struct nn_dataset *ds, struct nn_text *text)
{
	const char *weight = nn_dataset_weight(ds);
	char quoted[NN_QUOTED];

	if (!ds->columns)
		return;
	nn_text_add(text, ds->columns);
	if (ds->schema->inputs[0].characters.n)
		return;
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		add_target(text, &ds->schema->targets[i]);
	if (weight)
		nn_text_addf(text, "; weight %s", nn_quote(quoted, weight, strlen(weight)));
}
