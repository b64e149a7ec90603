/* Blocks of text: what is left of a record goes before the next block. */
#include <string.h>

#include "base/limit.h"
#include "base/number-line.h"
#include "data/table/table-text.h"


/*
 * Bytes after those in t, which are the beginning of a record; more of them while no record ends.
 */
static void read_text(const struct nn_text_source *source, struct nn_table_text *t)
{
	size_t got, want = source->block;

	t->status = 0;
	t->last = false;
	for (;;) {
		if (nn_block_reserve(&t->bytes, t->n + want + NN_LINE_PAD, &t->err) < 0) {
			nn_fail_at(&t->err, "%s", nn_input_name(source->input));
			t->total = (struct nn_part){ 0 };
			t->n_parts = 0;
			t->status = -1;
			return;
		}
		t->status = nn_input_read(source->input, nn_block_at(&t->bytes, t->n), want, &got,
					  &t->err);
		t->n += got;
		t->last = got < want || t->status < 0;
		t->n_parts = nn_csv_cut(t->bytes.data, t->n, source->separator, source->part,
					t->parts, source->most, &t->total);
		if (t->n_parts > 0 || t->last || t->n > nn_limit(NN_LIMIT_LINE))
			return;
		want = t->n;
	}
}

/*
 * What is left after the last record of a file that ends, or that cannot end before the limit, is
 * for the last part to judge.
 */
static void take_rest(struct nn_table_text *t)
{
	struct nn_part *p;

	if (t->n_parts > 0 && !(t->last && t->status == 0))
		return;
	t->last = true;
	if (t->status < 0 || t->total.at == t->n)
		return;
	if (t->n_parts == 0)
		t->parts[t->n_parts++] = (struct nn_part){ 0 };
	p = &t->parts[t->n_parts - 1];
	p->n = t->n - p->at;
	t->total.at = t->n;
	t->total.records++;
}

void nn_table_text_next(const struct nn_text_source *source, const struct nn_table_text *from,
			struct nn_table_text *to)
{
	to->n = 0;
	to->n_parts = 0;
	if (nn_block_reserve(&to->bytes, from->n - from->total.at + NN_LINE_PAD, &to->err) < 0) {
		nn_fail_at(&to->err, "%s", nn_input_name(source->input));
		to->total = (struct nn_part){ 0 };
		to->status = -1;
		to->last = true;
		return;
	}
	if (from->n > from->total.at) {
		to->n = from->n - from->total.at;
		memcpy(to->bytes.data, nn_block_at(&from->bytes, from->total.at), to->n);
	}
	read_text(source, to);
	take_rest(to);
}
