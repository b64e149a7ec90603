/* What a part of a table found out about its columns, joined with what is known so far. */
#include <string.h>

#include "base/memory.h"
#include "data/table/table-join.h"

static int32_t find_word(const struct nn_words *words, const struct nn_words *fresh, int32_t id)
{
	if (nn_words_integers(words))
		return nn_words_find_integer(words, nn_words_integer(fresh, id));
	return nn_words_find(words, nn_words_text(fresh, id), strlen(nn_words_text(fresh, id)));
}

static int32_t add_word(struct nn_words *words, const struct nn_words *fresh, int32_t id,
			struct nn_error *err)
{
	if (nn_words_integers(words))
		return nn_words_add_integer(words, nn_words_integer(fresh, id), err);
	return nn_words_add(words, nn_words_text(fresh, id), strlen(nn_words_text(fresh, id)), err);
}

bool nn_words_fit(const struct nn_table_column *to, const struct nn_words *fresh)
{
	size_t n = nn_words_count(to->words);

	for (size_t i = 0; to->limit && i < nn_words_count(fresh); i++)
		n += find_word(to->words, fresh, (int32_t)i) < 0;
	return !to->limit || n <= to->limit;
}

/* Words that were numbered from `first` on get the numbers that they have now. */
static void renumber(const struct nn_table_rows *r, const struct nn_table_column *c, int32_t first,
		     const int32_t *place)
{
	for (size_t i = r->first; i < r->first + r->n; i++) {
		if (c->target) {
			double *v =
				(double *)nn_block_at(r->targets, i * r->target_bytes) + c->slot;

			*v = *v >= first ? place[(int32_t)*v - first] : *v;
		} else if (r->dtype == NN_F64) {
			double *v = (double *)nn_block_at(r->values, i * r->row_bytes) + c->slot;

			*v = *v >= first ? place[(int32_t)*v - first] : *v;
		} else {
			float *v = (float *)nn_block_at(r->values, i * r->row_bytes) + c->slot;

			*v = *v >= (float)first ? (float)place[(int32_t)*v - first] : *v;
		}
	}
}

static int join_words(const struct nn_table_rows *r, struct nn_table_column *to,
		      struct nn_table_column *from, struct nn_error *err)
{
	size_t n = nn_words_count(from->fresh);
	int32_t *place = nn_alloc(n, sizeof *place, err);
	int status = place ? 0 : -1;

	for (size_t i = 0; status == 0 && i < n; i++)
		status =
			(place[i] = add_word(to->words, from->fresh, (int32_t)i, err)) < 0 ? -1 : 0;
	if (status == 0)
		renumber(r, to, from->first_fresh, place);
	nn_free(place);
	return status;
}

int nn_table_join(struct nn_table *table, struct nn_table *view, const struct nn_table_rows *r,
		  struct nn_error *err)
{
	for (size_t i = 0; view->touched && i < view->width; i++) {
		struct nn_table_column *to = &table->columns[i], *from = &view->columns[i];
		bool fresh = from->fresh && nn_words_count(from->fresh) > 0;

		if (r->n > 0 && fresh && join_words(r, to, from, err) < 0)
			return -1;
		if (fresh) {
			bool integers = nn_words_integers(from->fresh);

			nn_words_free(from->fresh);
			from->fresh = NULL;
			if (nn_words_new(&from->fresh, integers, err) < 0)
				return -1;
		}
		to->unseen += r->n > 0 ? from->unseen : 0;
		from->unseen = 0;
		if (!to->point_line && r->n > 0)
			to->point_line = from->point_line;
		from->point_line = to->point_line;
		if (!to->word_line && r->n > 0)
			to->word_line = from->word_line;
		from->word_line = to->word_line;
	}
	if (view->touched && r->n > 0)
		nn_unseen_join(&table->labels, &view->labels);
	view->labels = (struct nn_unseen){ 0 };
	view->touched = false;
	return 0;
}
