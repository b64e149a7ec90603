/* A dataset as text: its schema and its rows. */
#ifndef TESTS_LIB_DATA_SHOW_H
#define TESTS_LIB_DATA_SHOW_H

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/data.h"
#include "files.h"

/* One way to open files; zero: a vector, the loss not known. */
struct how {
	const char *data, *targets, *target, *normalize, *valid, *valid_targets;
	int header;
	char loss; /* 'c' classes, 'n' numbers, 'b' numbers as they are */
	size_t size;
	struct nn_shape shape; /* rank 0: none */
	bool as_is;            /* no input line, first layer not dense */
	bool f64, last;
	const struct nn_schema *schema;
};

static struct nn_text shown;

static inline void add_value(const struct how *how, const void *values, size_t i, bool classes)
{
	char number[NN_NUMBER];

	if (classes)
		nn_text_addf(&shown, " %d", ((const int32_t *)values)[i]);
	else
		nn_text_addf(&shown, " %s",
			     (how->f64 ? nn_format_f64(number, ((const double *)values)[i])
				       : nn_format_f32(number, ((const float *)values)[i]),
			      number));
}

static inline void add_rows(const struct how *how, struct nn_dataset *ds)
{
	size_t n = nn_dataset_rows(ds),
	       size = nn_shape_count(&nn_dataset_schema(ds)->inputs[0].shape);
	double *values = nn_alloc(n * size + 1, sizeof *values, NULL), *targets;
	uint64_t *rows = nn_alloc(n, sizeof *rows, NULL);

	for (size_t i = 0; i < n; i++)
		rows[i] = i;
	nn_dataset_fill_input(ds, 0, rows, n, how->last, values);
	for (size_t t = 0; t < nn_dataset_schema(ds)->n_targets; t++) {
		size_t width = nn_dataset_target_size(ds, t);

		targets = nn_alloc(n * width + 1, sizeof *targets, NULL);
		nn_dataset_fill_target(ds, t, rows, n, targets);
		for (size_t r = 0; r < n; r++) {
			for (size_t i = 0; t == 0 && i < size; i++)
				add_value(how, values, r * size + i, false);
			nn_text_add(&shown, " :");
			for (size_t i = 0; i < width; i++)
				add_value(how, targets, r * width + i,
					  nn_dataset_target_classes(ds, t));
			nn_text_add(&shown, ";");
		}
		nn_free(targets);
	}
	nn_free(values);
	nn_free(rows);
}

/* Schema and rows as text, or "CODE: error". */
static const char *show(struct how how)
{
	struct nn_data_options options = { .target = how.target,
					   .normalize = how.normalize,
					   .header = how.header };
	struct nn_want_input input = { .shaped = how.shape.rank > 0,
				       .shape = how.shape,
				       .vector = how.shape.rank == 0 && !how.as_is };
	struct nn_want_target target = { .classes = how.loss == 'c',
					 .numbers = how.loss == 'n' || how.loss == 'b',
					 .plain = how.loss == 'b',
					 .size = how.size };
	struct nn_want want = { .inputs = &input,
				.n_inputs = 1,
				.targets = &target,
				.n_targets = 1,
				.dtype = how.f64 ? NN_F64 : NN_F32,
				.schema = how.schema };
	struct nn_dataset *ds = NULL, *valid = NULL;
	struct nn_error err = { 0 };
	uint64_t rows[64];

	nn_text_clear(&shown);
	if (nn_dataset_open(&ds, how.data, how.targets, &options, &want, &err) < 0)
		goto failed;
	if (how.valid && nn_dataset_open_like(&valid, how.valid, how.valid_targets, ds, &err) < 0)
		goto failed;
	for (size_t i = 0; i < 64; i++)
		rows[i] = i;
	if (nn_dataset_measure(ds, rows, nn_dataset_rows(ds), &err) < 0)
		goto failed;
	nn_schema_input_json(nn_dataset_schema(ds), &shown);
	nn_text_add(&shown, " ");
	nn_schema_target_json(nn_dataset_schema(ds), &shown);
	add_rows(&how, ds);
	if (valid) {
		nn_text_add(&shown, " |");
		add_rows(&how, valid);
		for (size_t i = 0; nn_dataset_notice(valid, i); i++)
			nn_text_addf(&shown, " %s", nn_dataset_notice(valid, i));
	}
	nn_dataset_free(valid);
	nn_dataset_free(ds);
	return shown.data;
failed:
	nn_dataset_free(valid);
	nn_dataset_free(ds);
	nn_text_clear(&shown);
	nn_text_addf(&shown, "%d: %s", err.code, err.text);
	return shown.data;
}

#define HINT "; --missing=mean fills it, --missing=drop leaves the row out"
#define DROP "; --missing=drop leaves the row out"

static inline void csv_is(const char *csv, struct how how, const char *wanted, const char *claim)
{
	put("t.csv", csv);
	how.data = "t.csv";
	if (!how.target)
		how.target = "y";
	if (!how.normalize)
		how.normalize = "none";
	text_is(show(how), wanted, claim);
}

#define AB \
	"{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"number\",\"name\":\"b\"}]" \
	",\"shape\":[2]} "
#define Y "{\"columns\":[\"y\"],\"labels\":null}"

#endif
