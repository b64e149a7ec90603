/*
 * A line is an object: its member x (or of the input's name) is a list of steps, each a list of
 * values; members with targets hold one number or string, or a list of them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/sequence/line.h"

#define MOST_KEYS 1024

/* ---- opening ---- */

static const char *target_name(const struct nn_dataset *ds, const struct nn_reading *reading,
			       size_t i)
{
	const struct nn_target_schema *schema = &ds->schema->targets[i];

	if (reading->want && !ds->fixed && reading->want->targets[i].columns)
		return reading->want->targets[i].columns;
	if (ds->schema->n_targets == 1 && ds->rules.target)
		return ds->rules.target;
	if (schema->columns && schema->n_columns == 1 && schema->columns[0])
		return schema->columns[0];
	return nn_dataset_target_array(ds, i);
}

static int open_target(struct nn_line_reader *l, const struct nn_reading *reading, size_t i,
		       struct nn_error *err)
{
	const struct nn_target_code *code = &l->ds->coding->targets[i];
	struct nn_words *labels = code->labels;
	struct nn_line_target *t = &l->targets[i];

	t->name = nn_strdup(target_name(l->ds, reading, i), err);
	t->by_step = true;
	t->known = labels != NULL;
	t->grow = !code->fixed && !code->closed;
	t->words = labels && !nn_words_integers(labels) ? labels : NULL;
	return t->name ? 0 : -1;
}

int nn_line_reader_open(struct nn_line_reader *l, struct nn_dataset *ds, struct nn_input *input,
			const struct nn_reading *reading, struct nn_error *err)
{
	*l = (struct nn_line_reader){ .ds = ds,
				      .file = nn_input_name(input),
				      .csv = { .input = input, .line = 1 } };
	l->input = reading->inputs ? "x" : NULL;
	if (l->input && ds->schema->n_inputs > 1)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: JSON lines give rows of different length to models of one input, "
			"this one has %zu; an .npz does for all",
			l->file, ds->schema->n_inputs);
	if (!(l->keys = nn_pull_keys_new(MOST_KEYS, err)))
		return -1;
	if (!reading->targets)
		return 0;
	nn_limit_option(NN_LIMIT_DEPTH, 0, l->depth_said);
	l->targets = nn_alloc(ds->schema->n_targets, sizeof *l->targets, err);
	l->before = nn_alloc(ds->schema->n_targets, sizeof *l->before, err);
	if (!l->targets || !l->before)
		return -1;
	l->n_targets = ds->schema->n_targets;
	for (size_t i = 0; i < l->n_targets; i++)
		if (open_target(l, reading, i, err) < 0)
			return -1;
	return 0;
}

void nn_line_reader_close(struct nn_line_reader *l)
{
	for (size_t i = 0; i < l->n_targets; i++) {
		nn_free(l->targets[i].name);
		nn_block_free(&l->targets[i].values);
	}
	nn_free(l->targets);
	nn_free(l->before);
	nn_pull_keys_free(l->keys);
	nn_block_free(&l->text);
	nn_block_free(&l->weights);
}

/* ---- targets ---- */

static int add_value(struct nn_line_target *t, double value, struct nn_error *err)
{
	size_t n = t->n + 1;

	if (n * sizeof value > t->values.room &&
	    nn_block_reserve(&t->values, (n + n / 4) * sizeof value, err) < 0)
		return -1;
	((double *)t->values.data)[t->n++] = value;
	t->row++;
	return 0;
}

static int wrong_kind(const struct nn_line_target *t, struct nn_pull *p, const char *found)
{
	return nn_pull_fail(p, "%.60s: found %s, expected %s", t->name, found,
			    t->known && t->words ? "a string"
			    : t->known           ? "a number"
						 : "a number or a string");
}

static int add_word(struct nn_line_reader *l, struct nn_line_target *t, struct nn_pull *p,
		    struct nn_error *err)
{
	char quoted[NN_QUOTED];
	int32_t id;

	if (t->known && !t->words)
		return wrong_kind(t, p, "a string");
	t->known = true;
	if (!t->words && !(t->words = nn_coding_words(l->ds->coding, false, err)))
		return -1;
	id = nn_words_find(t->words, p->text, p->length);
	if (id < 0 && t->grow && (id = nn_words_add(t->words, p->text, p->length, err)) < 0)
		return -1;
	if (id < 0) {
		const struct nn_target_code *code = &l->ds->coding->targets[t - l->targets];

		nn_unseen_add(&((struct nn_dataset *)l->ds)->unseen, p->text, p->length);
		if (!l->ds->lenient)
			return nn_pull_fail(p, "%.60s: label \"%s\" is not among those of %s%s",
					    t->name, nn_quote(quoted, p->text, p->length),
					    nn_code_whose(code), nn_code_hint(code));
	}
	return add_value(t, id, err);
}

static int add_number(struct nn_line_target *t, const struct nn_csv *csv, struct nn_pull *p,
		      struct nn_error *err)
{
	double value;

	if (t->known && t->words)
		return wrong_kind(t, p, "a number");
	t->known = true;
	if (!nn_pull_f64(p, &value))
		return nn_pull_fail(p, "%.60s: a number beyond f64", t->name);
	if (!t->point_line)
		for (size_t i = 0; i < p->length && !t->point_line; i++)
			if (strchr(".eE", p->text[i]))
				t->point_line = csv->line;
	return add_value(t, value, err);
}

static int read_value(struct nn_line_reader *l, struct nn_line_target *t, struct nn_pull *p,
		      enum nn_pull_kind kind, struct nn_error *err)
{
	switch (kind) {
	case NN_PULL_BAD:
		return -1;
	case NN_PULL_STRING:
		return add_word(l, t, p, err);
	case NN_PULL_NUMBER:
		return add_number(t, &l->csv, p, err);
	case NN_PULL_NULL:
		if (l->ds->rules.missing == NN_MISSING_DROP)
			return add_value(t, NAN, err);
		return wrong_kind(t, p, "null");
	default:
		return wrong_kind(t, p, "something else");
	}
}

/* An element of a list: a value, or as many in a list as in the first one. */
static int read_element(struct nn_line_reader *l, struct nn_line_target *t, struct nn_pull *p,
			enum nn_pull_kind kind, struct nn_error *err)
{
	size_t before = t->row, each;

	if (kind != NN_PULL_ARRAY && !t->each)
		return read_value(l, t, p, kind, err);
	if (kind != NN_PULL_ARRAY || (t->n > 0 && !t->each))
		return kind == NN_PULL_BAD
			       ? -1
			       : nn_pull_fail(p, "%.60s: is %s list, those before are %s", t->name,
					      t->each ? "no" : "a", t->each ? "lists" : "none");
	while ((kind = nn_pull_next(p)) != NN_PULL_ARRAY_END)
		if (read_value(l, t, p, kind, err) < 0)
			return -1;
	each = t->row - before;
	t->each = t->each ? t->each : each;
	return each > 0 && each == t->each
		       ? 0
		       : nn_pull_fail(p, "%.60s: found a list of %zu, expected %zu as before",
				      t->name, each, t->each ? t->each : 1);
}

static int read_target(struct nn_line_reader *l, struct nn_line_target *t, struct nn_pull *p,
		       bool first, struct nn_error *err)
{
	enum nn_pull_kind kind = nn_pull_next(p);
	bool list = kind == NN_PULL_ARRAY;

	if (!first && list != t->list)
		return nn_pull_fail(p, "%.60s: is %s list, those of rows before are %s", t->name,
				    list ? "a" : "no", list ? "none" : "lists");
	t->list = list;
	if (!list)
		return read_value(l, t, p, kind, err);
	for (t->elements = 0; (kind = nn_pull_next(p)) != NN_PULL_ARRAY_END; t->elements++)
		if (read_element(l, t, p, kind, err) < 0)
			return -1;
	return 0;
}

/* ---- steps ---- */

static int wrong_steps(const struct nn_line_reader *l, struct nn_pull *p,
		       const struct nn_pull_dims *dims)
{
	const struct nn_shape *shape = &l->ds->schema->inputs[0].shape;
	struct nn_shape found = { 0 };
	char text[NN_SHAPE_TEXT], wanted[NN_SHAPE_TEXT];

	for (unsigned d = 0; d < dims->rank && d < NN_MAX_RANK; d++)
		found.dim[found.rank++] = dims->size[d];
	nn_shape_text(wanted, shape);
	return nn_pull_fail(p, "%s: lists are %s, the input line says ?%s", l->input,
			    dims->rank ? nn_shape_text(text, &found) : "a number",
			    wanted + strcspn(wanted, "x"));
}

static int read_steps(struct nn_line_reader *l, struct nn_pull *p, struct nn_block *values,
		      size_t at, size_t most, struct nn_error *err)
{
	const struct nn_shape *shape = &l->ds->schema->inputs[0].shape;
	size_t real = nn_dtype_size(l->ds->dtype), need = (at + most) * real;
	struct nn_pull_dims dims;
	bool same;

	if (need > values->room && nn_block_reserve(values, need + need / 4, err) < 0)
		return -1;
	if (l->ds->dtype == NN_F64 ? nn_pull_f64s(p, (double *)values->data + at, most, &dims) < 0
				   : nn_pull_f32s(p, (float *)values->data + at, most, &dims) < 0)
		return -1;
	same = dims.rank == (unsigned)shape->rank || (dims.rank == 1 && dims.size[0] == 0);
	for (int d = 1; same && dims.size[0] && d < shape->rank; d++)
		same = dims.size[d] == shape->dim[d];
	if (!same)
		return wrong_steps(l, p, &dims);
	l->length = dims.size[0];
	return 0;
}

/* ---- weights ---- */

static int read_weight(struct nn_line_reader *l, struct nn_pull *p)
{
	const char *name = l->ds->rules.weight;
	enum nn_pull_kind kind = nn_pull_next(p);
	char quoted[NN_QUOTED];

	l->weight = NAN;
	if (kind == NN_PULL_BAD)
		return -1;
	if (kind != NN_PULL_NUMBER && kind != NN_PULL_NULL)
		return nn_pull_fail(p, "%.60s: expected a weight of 0 or more", name);
	if (kind == NN_PULL_NUMBER && !nn_pull_f64(p, &l->weight))
		return nn_pull_fail(p, "%.60s: a number beyond f64", name);
	return nn_dataset_is_weight(l->ds, l->weight)
		       ? 0
		       : nn_pull_fail(p, "%.60s: found %s, expected a weight of 0 or more", name,
				      kind == NN_PULL_NULL ? "null"
							   : nn_quote(quoted, p->text, p->length));
}

/* In prediction there may be none, in all rows. */
static int take_weight(struct nn_line_reader *l, struct nn_error *err)
{
	const struct nn_dataset *ds = l->ds;
	bool found = l->weight != -1;

	if (!ds->rules.weight || !l->input)
		return 0;
	if (l->rows == 0)
		l->weighs = found || !ds->lenient;
	if (l->weighs && !found)
		return nn_fail(err, NN_EFORMAT, "has no weight \"%.60s\"", ds->rules.weight);
	if (!l->weighs)
		return 0;
	if ((l->rows + 1) * sizeof l->weight > l->weights.room &&
	    nn_block_reserve(&l->weights, (l->rows + l->rows / 4 + 1) * sizeof l->weight, err) < 0)
		return -1;
	((double *)l->weights.data)[l->rows] = l->weight;
	return 0;
}

/* ---- a line ---- */

static int read_member(struct nn_line_reader *l, struct nn_pull *p, struct nn_block *values,
		       size_t at, bool *found, struct nn_error *err)
{
	if (l->input && nn_pull_is(p, l->input)) {
		*found = true;
		return read_steps(l, p, values, at, l->text.room / 2 + 1, err);
	}
	if (l->input && l->ds->rules.weight && nn_pull_is(p, l->ds->rules.weight))
		return read_weight(l, p);
	for (size_t i = 0; i < l->n_targets; i++)
		if (nn_pull_is(p, l->targets[i].name))
			return read_target(l, &l->targets[i], p, l->rows == 0, err);
	return nn_pull_skip(p);
}

static int read_object(struct nn_line_reader *l, struct nn_pull *p, struct nn_block *values,
		       size_t at, struct nn_error *err)
{
	enum nn_pull_kind kind = nn_pull_next(p);
	bool found = false;

	if (kind != NN_PULL_OBJECT)
		return kind == NN_PULL_BAD ? -1 : nn_pull_fail(p, "expected an object");
	while ((kind = nn_pull_next(p)) == NN_PULL_KEY)
		if (read_member(l, p, values, at, &found, err) < 0)
			return -1;
	if (kind == NN_PULL_BAD || nn_pull_next(p) != NN_PULL_END)
		return -1;
	return found || !l->input
		       ? 0
		       : nn_fail(err, NN_EFORMAT, "has no member \"%s\" with the steps of the row",
				 l->input);
}

/* Targets of the row are one, as many as steps, or as many as in the first row. */
static int check_target(struct nn_line_reader *l, struct nn_line_target *t, struct nn_error *err)
{
	if (t->row == 0)
		return nn_fail(err, NN_EFORMAT, "has no target \"%.60s\"%s", t->name,
			       l->n_targets == 1 ? "; --target=NAME says where it is" : "");
	if (l->rows == 0)
		t->width = t->row;
	else if (t->width != t->row)
		t->width = SIZE_MAX;
	t->by_step &= t->list && t->elements == l->length;
	if (t->by_step || t->width != SIZE_MAX)
		return 0;
	return nn_fail(err, NN_EFORMAT, "%.60s: has %zu value%s, the row %zu step%s", t->name,
		       t->elements, nn_s(t->elements), l->length, nn_s(l->length));
}

/* The object of a line, checked: its steps, targets and weight. */
static int read_line(struct nn_line_reader *l, struct nn_block *values, size_t at,
		     struct nn_error *err)
{
	struct nn_pull p;
	int status;

	for (size_t i = 0; i < l->n_targets; i++)
		l->targets[i].row = 0;
	l->weight = -1;
	nn_pull_begin(&p, l->text.data, l->record.length, (unsigned)nn_limit(NN_LIMIT_DEPTH), false,
		      err);
	p.depth_said = l->depth_said;
	p.nulls = nn_dataset_nan_allowed(l->ds, 0);
	nn_pull_once(&p, l->keys);
	status = read_object(l, &p, values, at, err);
	for (size_t i = 0; status == 0 && i < l->n_targets; i++)
		status = check_target(l, &l->targets[i], err);
	return status == 0 ? take_weight(l, err) : -1;
}

/* What targets were before a line, values of theirs that lie in their blocks included. */
static void put_back(struct nn_line_target *t, const struct nn_line_target *before)
{
	struct nn_block values = t->values;

	*t = *before;
	t->values = values;
}

int nn_line_reader_next(struct nn_line_reader *l, struct nn_block *values, size_t at,
			struct nn_error *err)
{
	int status = nn_lines_next(&l->csv, &l->record, err);

	if (status <= 0)
		return status;
	if (!l->input && l->rows >= l->ds->rows) { /* more than there are is an error at the end */
		l->rows++;
		return 1;
	}
	if (!l->input)
		l->length = nn_sequence_length(l->ds->sequences, l->rows);
	if (nn_block_reserve(&l->text, l->record.length + 1, err) < 0)
		return -1;
	memcpy(l->text.data, l->record.text, l->record.length);
	if (l->n_targets)
		memcpy(l->before, l->targets, l->n_targets * sizeof *l->before);
	status = read_line(l, values, at, err) < 0 ? 2 : 1;
	for (size_t i = 0; status == 2 && i < l->n_targets; i++)
		put_back(&l->targets[i], &l->before[i]);
	l->rows += status == 1;
	if (status == 2)
		nn_fail_at(err, "%s:%" PRIu64, l->file, l->record.line);
	return status == 2 && err->code == NN_ENOMEM ? -1 : status;
}
