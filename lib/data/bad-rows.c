/* Rows that cannot be used, while those around them can: which they are, in order, and why. */
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"

static struct nn_bad_row *rows_of(const struct nn_bad_rows *bad)
{
	return (struct nn_bad_row *)(void *)bad->rows.data;
}

void nn_bad_rows_clear(struct nn_bad_rows *bad)
{
	for (size_t i = 0; i < bad->n; i++)
		nn_free(rows_of(bad)[i].why);
	bad->n = 0;
}

void nn_bad_rows_free(struct nn_bad_rows *bad)
{
	nn_bad_rows_clear(bad);
	nn_block_free(&bad->rows);
}

const struct nn_bad_row *nn_bad_row(const struct nn_bad_rows *bad, size_t i)
{
	return i < bad->n ? &rows_of(bad)[i] : NULL;
}

int nn_dataset_pass(struct nn_dataset *ds, size_t row, bool there, struct nn_error *err)
{
	struct nn_bad_rows *bad = &ds->bad;
	struct nn_bad_row *rows;
	size_t i = bad->n;
	struct nn_error none;

	if (!ds->passes || err->code == NN_ENOMEM)
		return -1;
	if (nn_block_reserve(&bad->rows, (bad->n + 1) * sizeof *rows, &none) < 0)
		return -1;
	for (rows = rows_of(bad); i > 0 && rows[i - 1].row > row; i--)
		;
	if (i > 0 && rows[i - 1].row == row && rows[i - 1].there && there)
		return 0;
	memmove(rows + i + 1, rows + i, (bad->n - i) * sizeof *rows);
	rows[i] = (struct nn_bad_row){ row, there, nn_strdup(err->text, &none) };
	bad->n++;
	return rows[i].why ? 0 : -1;
}
