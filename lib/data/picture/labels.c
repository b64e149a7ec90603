/* Texts into labels: integers where all are that and none is the name of a folder. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/picture/labels.h"

/* A model file keeps labels as JSON, which is UTF-8. */
static int check_text(const char *label, const char *place, struct nn_error *err)
{
	size_t n = strlen(label), good = nn_utf8_prefix(label, n);
	char quoted[NN_QUOTED];

	return good == n ? 0
			 : nn_fail(err, NN_EFORMAT, "%s: label \"%s\": byte 0x%02x is not UTF-8",
				   place, nn_quote(quoted, label, n), (unsigned char)label[good]);
}

int nn_picture_labels_add(struct nn_picture_labels *l, struct nn_coding *coding, const char *label,
			  bool told, const char *place, struct nn_error *err)
{
	int32_t id;

	if (!label)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has no label: it lies in no folder of a class, and no targets "
			       "are given",
			       place);
	if (check_text(label, place, err) < 0)
		return -1;
	if (!l->words && !(l->words = nn_coding_words(coding, false, err)))
		return -1;
	id = nn_words_add(l->words, label, strlen(label), err);
	if (id < 0 || nn_block_reserve(&l->ids, (l->rows + 1) * sizeof id, err) < 0)
		return nn_fail_at(err, "%s", place);
	((int32_t *)l->ids.data)[l->rows] = id;
	l->told = told && (l->rows == 0 || l->told);
	l->rows++;
	return 0;
}

void nn_picture_labels_fini(struct nn_picture_labels *l)
{
	nn_block_free(&l->ids);
}

static bool integer(const struct nn_picture_labels *l, size_t id, int64_t *value)
{
	const char *text = nn_words_text(l->words, (int32_t)id);

	return nn_parse_i64(text, strlen(text), value);
}

static bool are_integers(const struct nn_picture_labels *l)
{
	int64_t value;

	for (size_t i = 0; i < nn_words_count(l->words); i++)
		if (!integer(l, i, &value))
			return false;
	return true;
}

/* Class numbers, as an array would hold them. */
static int set_integers(struct nn_picture_labels *l, struct nn_dataset *ds, const char *place,
			const struct nn_want_target *want, struct nn_error *err)
{
	const int32_t *ids = l->ids.data;
	struct nn_raw_target raw = { .rows = l->rows, .place = place };
	int64_t *values = nn_alloc(l->rows, sizeof *values, err);
	int status;

	if (!values)
		return -1;
	for (size_t i = 0; i < l->rows; i++)
		if (!integer(l, (size_t)ids[i], &values[i])) {
			const char *text = nn_words_text(l->words, ids[i]);
			char quoted[NN_QUOTED];

			nn_quote(quoted, text, strlen(text));
			nn_free(values);
			return nn_fail(
				err, NN_EFORMAT,
				"%s: found the label %s, expected integers as in the training data",
				place, quoted);
		}
	raw.array =
		(struct nn_array){ .dtype = NN_I64, .shape = nn_shape1(l->rows), .data = values };
	status = nn_dataset_set_target(ds, 0, want, &raw, err);
	nn_free(values);
	return status;
}

/* The number of a label among those of the dataset; -1: unknown. */
static int take_word(struct nn_picture_labels *l, struct nn_dataset *ds, size_t row,
		     const char *place, double *value, struct nn_error *err)
{
	struct nn_target_code *code = &ds->coding->targets[0];
	const char *text = nn_words_text(l->words, ((const int32_t *)l->ids.data)[row]);
	char quoted[NN_QUOTED];
	int32_t id;

	if (!code->fixed && !code->closed) {
		id = nn_words_add(code->labels, text, strlen(text), err);
		*value = id;
		return id < 0 ? -1 : 0;
	}
	id = nn_words_find(code->labels, text, strlen(text));
	*value = id;
	if (id >= 0)
		return 0;
	nn_unseen_add(&ds->unseen, text, strlen(text));
	return ds->lenient ? 0
			   : nn_fail(err, NN_EFORMAT, "%s: label %s is not among those of %s%s",
				     place, nn_quote(quoted, text, strlen(text)),
				     nn_code_whose(code), nn_code_hint(code));
}

static int set_words(struct nn_picture_labels *l, struct nn_dataset *ds, const char *place,
		     const struct nn_want_target *want, struct nn_error *err)
{
	struct nn_target_schema *schema = &ds->schema->targets[0];
	struct nn_target_code *code = &ds->coding->targets[0];
	struct nn_table_column column = { .cell = NN_CELL_WORD, .target = true };
	const struct nn_table_column *columns = &column;
	struct nn_raw_target raw = { .from_table = true,
				     .stride = 1,
				     .columns = &columns,
				     .n_columns = 1,
				     .rows = l->rows,
				     .place = place };
	double *values = nn_alloc(l->rows, sizeof *values, err);
	int status = values ? 0 : -1;

	if (want && status == 0) {
		code->labels = code->closed ? code->labels : l->words;
		schema->columns = nn_alloc(1, sizeof *schema->columns, err);
		schema->n_columns = schema->columns ? 1 : 0;
		status = schema->columns ? 0 : -1;
	} else if (status == 0 && !code->labels) {
		status = nn_fail(err, NN_EFORMAT,
				 "%s: has labels, but the model's target is numbers", place);
	}
	for (size_t i = 0; status == 0 && i < l->rows; i++)
		status = take_word(l, ds, i, place, &values[i], err);
	column.words = code->labels;
	raw.values = values;
	if (status == 0)
		status = nn_dataset_set_target(ds, 0, want, &raw, err);
	nn_free(values);
	return status;
}

int nn_picture_labels_set(struct nn_picture_labels *l, struct nn_dataset *ds, const char *place,
			  const struct nn_want_target *want, struct nn_error *err)
{
	const struct nn_target_code *code = &ds->coding->targets[0];
	const struct nn_words *known = want && !code->closed ? NULL : code->labels;

	if (known ? nn_words_integers(known) : l->told && are_integers(l))
		return set_integers(l, ds, place, want, err);
	return set_words(l, ds, place, want, err);
}
