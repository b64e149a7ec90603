/* Members of an ensemble: are they of one question, and the mean of their answers. */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "predict/ensemble.h"

struct answer {
	size_t positions, columns;
	double *sums; /* [max_rows][positions][columns] */
	void *mean;
	void *raw; /* NULL: the means are */
};

struct member {
	struct nn_emitted *outputs; /* what it says alone */
	size_t **order;             /* [outputs][column of the first member]; NULL: the same */
};

struct nn_ensemble {
	struct nn_ensemble_member *about;
	struct member *members;
	size_t n, n_outputs;
	enum nn_dtype dtype;
	struct answer *answers;
};

/* ---- do two members fit? ---- */

struct pair {
	const struct nn_ensemble_member *a, *b; /* the first member and another */
	const struct nn_emitted *x, *y;         /* an output of both */
};

static size_t n_names(const struct nn_emitted *e)
{
	return e->target->labels ? e->target->n_labels : e->target->n_columns;
}

static const char *name_of(const struct nn_emitted *e, size_t i)
{
	char **names = e->target->labels ? e->target->labels : e->target->columns;

	return names ? names[i] : NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static size_t find(const struct nn_emitted *e, const char *name)
{
	size_t i = 0;

	while (i < n_names(e) && !same(name_of(e, i), name))
		i++;
	return i;
}

static int lacks(const struct pair *p, bool other, const char *name, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EFORMAT, "%s: has no %s \"%s\", which %s has",
		       other ? p->b->path : p->a->path, p->x->target->labels ? "class" : "target",
		       nn_quote(quoted, name, strlen(name)), other ? p->a->path : p->b->path);
}

static int check_names(const struct pair *p, struct nn_error *err)
{
	for (size_t i = 0; i < n_names(p->x); i++)
		if (name_of(p->x, i) && find(p->y, name_of(p->x, i)) == n_names(p->y))
			return lacks(p, true, name_of(p->x, i), err);
	for (size_t i = 0; i < n_names(p->y); i++)
		if (name_of(p->y, i) && find(p->x, name_of(p->y, i)) == n_names(p->x))
			return lacks(p, false, name_of(p->y, i), err);
	return 0;
}

static int check_target(const struct pair *p, struct nn_error *err)
{
	const char *x = p->x->target->columns ? p->x->target->columns[0] : NULL;
	const char *y = p->y->target->columns ? p->y->target->columns[0] : NULL;
	char quoted[NN_QUOTED], other[NN_QUOTED];

	if (!p->x->target->labels || !x || !y || same(x, y))
		return 0;
	return nn_fail(err, NN_EFORMAT, "%s: predicts \"%s\", but %s \"%s\"", p->b->path,
		       nn_quote(quoted, y, strlen(y)), p->a->path, nn_quote(other, x, strlen(x)));
}

static const char *kind(const struct nn_emitted *e)
{
	return e->bce ? "probabilities of columns" : e->target->labels ? "classes" : "numbers";
}

static int check_output(const struct pair *p, struct nn_error *err)
{
	const struct nn_emitted *x = p->x, *y = p->y;
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	if (!same(x->name, y->name))
		return nn_fail(err, NN_EFORMAT, "%s: has no output \"%s\", which %s has",
			       x->name ? p->b->path : p->a->path, x->name ? x->name : y->name,
			       x->name ? p->a->path : p->b->path);
	if (strcmp(kind(x), kind(y)) != 0)
		return nn_fail(err, NN_EFORMAT, "%s: predicts %s, but %s %s", p->b->path, kind(y),
			       p->a->path, kind(x));
	if (check_target(p, err) < 0 || check_names(p, err) < 0)
		return -1;
	if (x->positions != y->positions || x->columns != y->columns || n_names(x) != n_names(y))
		return nn_fail(err, NN_EFORMAT, "%s: its answers are %s, those of %s %s",
			       p->b->path, nn_shape_text(b, &y->shape), p->a->path,
			       nn_shape_text(a, &x->shape));
	return 0;
}

/* ---- open and close ---- */

/* Where the other member has the columns of the first. */
static int take_order(size_t **order, const struct nn_emitted *x, const struct nn_emitted *y,
		      struct nn_error *err)
{
	bool moved = false;

	if (!(*order = nn_alloc(x->columns, sizeof **order, err)))
		return -1;
	for (size_t c = 0; c < x->columns; c++) {
		const char *name = c < n_names(x) ? name_of(x, c) : NULL;

		(*order)[c] = name ? find(y, name) : c;
		moved |= (*order)[c] != c;
	}
	if (moved)
		return 0;
	nn_free(*order);
	*order = NULL;
	return 0;
}

static int open_output(struct nn_ensemble *e, size_t k, size_t o, size_t max_rows,
		       struct nn_error *err)
{
	const struct nn_model *model = e->about[k].model;
	struct nn_emitted *x = &e->members[0].outputs[o], *y = &e->members[k].outputs[o];
	struct pair p = { &e->about[0], &e->about[k], x, y };

	if (nn_emitted_open(y, model, (int)o, NULL, max_rows, err) < 0)
		return -1;
	return k == 0                      ? 0
	       : check_output(&p, err) < 0 ? -1
					   : take_order(&e->members[k].order[o], x, y, err);
}

static int open_member(struct nn_ensemble *e, size_t k, size_t max_rows, struct nn_error *err)
{
	const struct nn_model *model = e->about[k].model;
	struct member *m = &e->members[k];

	if (model->schema->n_targets == 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: does not say what its outputs mean (it has no nn.target), so "
			       "there is nothing to average",
			       e->about[k].path);
	if ((size_t)model->program->n_outputs != e->n_outputs)
		return nn_fail(err, NN_EFORMAT, "%s: number of outputs: found %d, but %s has %zu", e->about[k].path,
			       model->program->n_outputs, e->about[0].path, e->n_outputs);
	m->outputs = nn_alloc(e->n_outputs, sizeof *m->outputs, err);
	m->order = nn_alloc(e->n_outputs, sizeof *m->order, err);
	if (!m->outputs || !m->order)
		return -1;
	for (size_t o = 0; o < e->n_outputs; o++)
		if (open_output(e, k, o, max_rows, err) < 0)
			return -1;
	return 0;
}

static int open_answer(struct nn_ensemble *e, size_t o, size_t max_rows, struct nn_error *err)
{
	const struct nn_emitted *first = &e->members[0].outputs[o];
	struct answer *a = &e->answers[o];
	size_t n, real = nn_dtype_size(e->dtype);

	a->positions = first->positions;
	a->columns = first->columns;
	if (!nn_mul(a->positions * a->columns, max_rows, &n))
		return nn_fail(err, NN_ENOMEM, "%zu rows of output exceed the address space",
			       max_rows);
	a->sums = nn_alloc(n, sizeof *a->sums, err);
	a->mean = nn_alloc(n, real, err);
	if (!a->sums || !a->mean)
		return -1;
	if (!first->target->mean || first->target->n_columns == 0)
		return 0;
	a->raw = nn_alloc(n, real, err);
	return a->raw ? 0 : -1;
}

static int open_all(struct nn_ensemble *e, const struct nn_ensemble_member *members,
		    size_t max_rows, struct nn_error *err)
{
	e->about = nn_alloc(e->n, sizeof *e->about, err);
	e->members = nn_alloc(e->n, sizeof *e->members, err);
	e->answers = nn_alloc(e->n_outputs, sizeof *e->answers, err);
	if (!e->about || !e->members || !e->answers)
		return -1;
	memcpy(e->about, members, e->n * sizeof *members);
	for (size_t k = 0; k < e->n; k++)
		if (open_member(e, k, max_rows, err) < 0)
			return -1;
	for (size_t o = 0; o < e->n_outputs; o++)
		if (open_answer(e, o, max_rows, err) < 0)
			return -1;
	return 0;
}

int nn_ensemble_new(struct nn_ensemble **ensemble, const struct nn_ensemble_member *members,
		    size_t n, size_t max_rows, struct nn_error *err)
{
	struct nn_ensemble *e = nn_alloc(1, sizeof *e, err);

	if (!e)
		return -1;
	e->n = n;
	e->n_outputs = (size_t)members[0].model->program->n_outputs;
	e->dtype = members[0].model->device->dtype;
	if (open_all(e, members, max_rows, err) < 0) {
		nn_ensemble_free(e);
		return -1;
	}
	*ensemble = e;
	return 0;
}

void nn_ensemble_free(struct nn_ensemble *e)
{
	if (!e)
		return;
	for (size_t k = 0; e->members && k < e->n; k++) {
		struct member *m = &e->members[k];

		for (size_t o = 0; m->order && m->outputs && o < e->n_outputs; o++) {
			nn_emitted_close(&m->outputs[o]);
			nn_free(m->order[o]);
		}
		nn_free(m->outputs);
		nn_free(m->order);
	}
	for (size_t o = 0; e->answers && o < e->n_outputs; o++) {
		nn_free(e->answers[o].sums);
		nn_free(e->answers[o].mean);
		nn_free(e->answers[o].raw);
	}
	nn_free(e->answers);
	nn_free(e->members);
	nn_free(e->about);
	nn_free(e);
}

/* ---- means ---- */

static void add(const struct nn_emitted *from, const size_t *order, struct answer *to,
		size_t places)
{
	for (size_t p = 0; p < places; p++)
		for (size_t c = 0; c < to->columns; c++)
			to->sums[p * to->columns + c] +=
				nn_real_at(from->dtype, from->values,
					   p * to->columns + (order ? order[c] : c));
}

static void divide(const struct nn_ensemble *e, size_t o, size_t places)
{
	const struct nn_target_schema *t = e->members[0].outputs[o].target;
	struct answer *a = &e->answers[o];

	for (size_t i = 0; i < places * a->columns; i++) {
		double mean = a->sums[i] / (double)e->n;
		size_t c = a->raw ? i % a->columns % t->n_columns : 0;

		nn_real_put(e->dtype, a->mean, i, mean);
		if (a->raw)
			nn_real_put(e->dtype, a->raw, i, (mean - t->mean[c]) / t->sd[c]);
	}
}

void nn_ensemble_add(struct nn_ensemble *e, size_t k, const struct nn_session *session, size_t rows)
{
	for (size_t o = 0; o < e->n_outputs; o++) {
		struct member *m = &e->members[k];
		struct answer *a = &e->answers[o];
		size_t places = rows * a->positions;

		if (k == 0)
			memset(a->sums, 0, places * a->columns * sizeof *a->sums);
		nn_emitted_take(&m->outputs[o], session, 0, rows);
		add(&m->outputs[o], m->order[o], a, places);
		if (k + 1 == e->n)
			divide(e, o, places);
	}
}

const void *nn_ensemble_mean(const struct nn_ensemble *e, size_t output)
{
	return e->answers[output].mean;
}

const void *nn_ensemble_raw(const struct nn_ensemble *e, size_t output)
{
	const struct answer *a = &e->answers[output];

	return a->raw ? a->raw : a->mean;
}
