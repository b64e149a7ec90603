/*
 * Batches that are made ahead. Rows that were not made, because nobody knew that this process would
 * take them, are made on the spot by whoever fills with them.
 */
#include <string.h>

#include "base/memory.h"
#include "data/ahead/made.h"

#define WORK_BYTES ((size_t)128 << 10) /* rows that go through the stages together, about */

/* ---- filling from what was made ---- */

/* Of which part a process has need is seen by what it asks for. */
static void see(struct nn_made_form *f, size_t at, size_t n)
{
	size_t from = atomic_load(&f->from), to = atomic_load(&f->to);

	while (at < from && !atomic_compare_exchange_weak(&f->from, &from, at))
		;
	while (at + n > to && !atomic_compare_exchange_weak(&f->to, &to, at + n))
		;
}

/* The made values of rows that the batch itself gave out; NULL: they are others, or not made. */
static const unsigned char *values_of(const struct nn_made_batch *m, const uint64_t *rows, size_t n)
{
	uintptr_t first = (uintptr_t)m->rows, p = (uintptr_t)rows;
	size_t at = (p - first) / sizeof *rows;

	if (p < first || at + n > m->n)
		return NULL;
	see(m->form, at, n);
	return at >= m->from && at + n <= m->to ? m->values + (at - m->from) * m->form->row_bytes
						: NULL;
}

static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n,
		      bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_made_batch *m = data;
	const struct nn_source *source = &m->form->source;
	const unsigned char *made = values_of(m, rows, n);

	return made ? source->ops->stages->fill_input(source->data, input, rows, made, n,
						      channels_last, values, err)
		    : source->ops->fill_input(source->data, input, rows, n, channels_last, values,
					      err);
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n,
		       void *values, struct nn_error *err)
{
	const struct nn_made_batch *m = data;
	const struct nn_source *source = &m->form->source;
	const struct nn_source_stages *stages = source->ops->stages;
	const unsigned char *made = stages->fill_target ? values_of(m, rows, n) : NULL;

	return made ? stages->fill_target(source->data, target, rows, made, n, values, err)
		    : source->ops->fill_target(source->data, target, rows, n, values, err);
}

static int fill_weights(const void *data, const uint64_t *rows, size_t n, double *weights,
			struct nn_error *err)
{
	const struct nn_source *source = &((const struct nn_made_batch *)data)->form->source;

	return source->ops->fill_weights(source->data, rows, n, weights, err);
}

struct nn_source nn_made_batch_source(const struct nn_made_batch *m)
{
	return (struct nn_source){ &m->form->ops, m, m->form->source.rows };
}

/* ---- batches ---- */

void nn_made_form_init(struct nn_made_form *f, const struct nn_source *source, size_t batch,
		       bool whole)
{
	size_t handed;

	f->source = *source;
	f->ops = (struct nn_source_ops){
		.fill_input = fill_input,
		.fill_target = fill_target,
		.fill_weights = source->ops->fill_weights ? fill_weights : NULL,
	};
	source->ops->stages->sizes(source->data, &f->row_bytes, &handed);
	f->batch = batch;
	f->work_rows = f->row_bytes < WORK_BYTES ? WORK_BYTES / f->row_bytes : 1;
	/* all of a stage's threads shall have something to do */
	if (f->work_rows > (batch + 7) / 8)
		f->work_rows = (batch + 7) / 8;
	f->most_works = (batch + f->work_rows - 1) / f->work_rows;
	atomic_init(&f->from, whole ? 0 : SIZE_MAX);
	atomic_init(&f->to, whole ? batch : 0);
}

size_t nn_made_bytes(const struct nn_made_form *f)
{
	size_t row_bytes, handed;

	f->source.ops->stages->sizes(f->source.data, &row_bytes, &handed);
	return f->batch * nn_made_row_bytes(row_bytes + handed);
}

void nn_made_batch_free(struct nn_made_batch *m)
{
	if (!m)
		return;
	for (size_t i = 0; m->work && i < m->form->most_works; i++) {
		nn_block_free(&m->work[i].rows.bytes);
		nn_free(m->work[i].rows.ends);
	}
	nn_free(m->work);
	nn_free(m->rows);
	nn_free(m->values);
	nn_free(m);
}

static int fill_in(struct nn_made_batch *m, struct nn_error *err)
{
	const struct nn_made_form *f = m->form;

	m->rows = nn_alloc(f->batch, sizeof *m->rows, err);
	m->values = nn_alloc(f->batch, f->row_bytes, err);
	m->work = nn_alloc(f->most_works, sizeof *m->work, err);
	if (!m->rows || !m->values || !m->work)
		return -1;
	for (size_t i = 0; i < f->most_works; i++) {
		struct nn_stage_rows *w = &m->work[i].rows;

		if (!(w->ends = nn_alloc(2 * f->work_rows, sizeof *w->ends, err)))
			return -1;
	}
	return 0;
}

struct nn_made_batch *nn_made_batch_new(struct nn_made_form *form, struct nn_error *err)
{
	struct nn_made_batch *m = nn_alloc(1, sizeof *m, err);

	if (!m)
		return NULL;
	m->form = form;
	if (fill_in(m, err) == 0)
		return m;
	nn_made_batch_free(m);
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int nn_made_batch_put(struct nn_made_batch *m, const uint64_t *rows, size_t n,
		      struct nn_stages *stages, struct nn_error *err)
{
	struct nn_made_form *f = m->form;

	memcpy(m->rows, rows, n * sizeof *rows);
	m->n = n;
	m->to = least(atomic_load(&f->to), n);
	m->from = least(atomic_load(&f->from), m->to);
	m->works = 0;
	for (size_t i = m->from; i < m->to; i += f->work_rows) {
		struct nn_stage_rows *w = &m->work[m->works++].rows;

		w->rows = m->rows + i;
		w->n = least(m->to - i, f->work_rows);
		w->to = m->values + (i - m->from) * f->row_bytes;
	}
	return nn_stages_put(stages, m->work, m->works, &m->left, err);
}

int nn_made_batch_status(const struct nn_made_batch *m, struct nn_error *err)
{
	for (size_t i = 0; i < m->works; i++)
		if (m->work[i].failed) {
			if (err)
				*err = m->work[i].error;
			return -1;
		}
	return 0;
}
