/* A batch's rows changed, one after another, by what is drawn for each; mixtures take their partner from the batch. */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "data/augment/augment-inside.h"
#include "data/loader.h"

/* Rows on their way: what is borrowed, and room for two samples. */
struct work {
	const struct nn_augment *augment;
	const struct nn_batch *batch;
	size_t number, values, bytes; /* of the input or target; of a row */
	bool channels_last;
	char *moved, *partner;
};

static int work_init(struct work *w, const struct nn_batch *batch, size_t number, size_t values,
		     size_t value, struct nn_error *err)
{
	*w = (struct work){ .augment = batch->augment, .batch = batch, .number = number };
	w->values = values;
	w->bytes = values * value;
	w->moved = nn_alloc(2, w->bytes, err);
	w->partner = w->moved ? w->moved + w->bytes : NULL;
	return w->moved ? 0 : -1;
}

static struct nn_drawn draw(const struct work *w, size_t row)
{
	return nn_augment_draw(w->augment, w->batch->epoch, w->batch->rows[row]);
}

/* The row of the batch that one is mixed with. */
static size_t partner_of(const struct work *w, const struct nn_drawn *d)
{
	size_t row = (size_t)(d->partner * (double)w->batch->n);

	return row < w->batch->n ? row : w->batch->n - 1;
}

static void move(const struct work *w, const struct nn_augment_picture *p, bool channels_last,
		 const struct nn_drawn *d, char *row)
{
	if (!nn_augment_moves(d))
		return;
	nn_augment_move(p, w->augment->size, w->augment->dtype, channels_last, d, row, w->moved);
	memcpy(row, w->moved, w->bytes);
}

/* ---- inputs ---- */

static void change(const struct work *w, const struct nn_drawn *d, char *row)
{
	const struct nn_augment_picture *p = &w->augment->inputs[w->number];

	move(w, p, w->channels_last, d, row);
	nn_augment_colours(w->augment, p, w->channels_last, d, row);
}

static int mix(const struct work *w, const struct nn_drawn *d, char *row, struct nn_error *err)
{
	const struct nn_source *source = &w->batch->source;
	size_t other = partner_of(w, d);
	struct nn_drawn its = draw(w, other);

	if (source->ops->fill_input(source->data, w->number, w->batch->rows + other, 1,
				    w->channels_last, w->partner, err) < 0)
		return -1;
	if (w->augment->inputs[w->number].channels)
		change(w, &its, w->partner);
	nn_augment_mix(w->augment->dtype, w->values, d->share, w->partner, row);
	return 0;
}

int nn_augment_input(const struct nn_batch *batch, size_t input, size_t from, size_t n,
		     bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_augment *a = batch->augment;
	const struct nn_augment_picture *p = &a->inputs[input];
	struct work w;
	int status = 0;

	if (!p->channels)
		return 0;
	if (work_init(&w, batch, input, p->channels * p->height * p->width, nn_dtype_size(a->dtype),
		      err) < 0)
		return -1;
	w.channels_last = channels_last;
	for (size_t r = 0; status == 0 && r < n; r++) {
		struct nn_drawn d = draw(&w, from + r);
		char *row = (char *)values + r * w.bytes;

		change(&w, &d, row);
		if (d.share < 1)
			status = mix(&w, &d, row, err);
	}
	nn_free(w.moved);
	return status;
}

/* ---- targets ---- */

/* Of a row its class as probabilities, or its numbers; of none that is known zeros, whose row has no gradient. */
static int fill_numbers(const struct work *w, size_t row, char *to, struct nn_error *err)
{
	const struct nn_augment_target *t = &w->augment->outputs[w->number];
	const struct nn_source *source = &w->batch->source;
	const uint64_t *number = w->batch->rows + row;
	int32_t class = -1;

	if (!t->classes)
		return source->ops->fill_target(source->data, w->number, number, 1, to, err);
	if (source->ops->fill_target(source->data, w->number, number, 1, &class, err) < 0)
		return -1;
	memset(to, 0, w->bytes);
	if (class >= 0 && (size_t)class < w->values)
		nn_real_put(w->augment->dtype, to, (size_t)class, 1);
	return 0;
}

static int change_target(const struct work *w, size_t row, char *to, struct nn_error *err)
{
	const struct nn_augment_picture *p = &w->augment->targets[w->number];
	struct nn_drawn d = draw(w, row);

	if (fill_numbers(w, row, to, err) < 0)
		return -1;
	if (p->channels && !p->classes)
		move(w, p, true, &d, to);
	if (d.share == 1)
		return 0;
	row = partner_of(w, &d);
	if (fill_numbers(w, row, w->partner, err) < 0)
		return -1;
	if (p->channels && !p->classes) {
		struct nn_drawn its = draw(w, row);

		move(w, p, true, &its, w->partner);
	}
	nn_augment_mix(w->augment->dtype, w->values, d.share, w->partner, to);
	return 0;
}

/* Masks are filled all at once, then moved. */
static int move_masks(const struct work *w, size_t from, size_t n, char *to, struct nn_error *err)
{
	const struct nn_source *source = &w->batch->source;

	if (source->ops->fill_target(source->data, w->number, w->batch->rows + from, n, to, err) < 0)
		return -1;
	for (size_t r = 0; w->augment->targets[w->number].channels && r < n; r++) {
		struct nn_drawn d = draw(w, from + r);

		move(w, &w->augment->targets[w->number], true, &d, to + r * w->bytes);
	}
	return 0;
}

int nn_augment_fill_target(const struct nn_batch *batch, size_t target, size_t from, size_t n,
			   void *values, struct nn_error *err)
{
	const struct nn_augment *a = batch->augment;
	const struct nn_augment_target *t = &a->outputs[target];
	bool classes = t->classes && !nn_augment_mixes(a);
	size_t size = t->classes && !classes ? nn_shape_count(&t->output) : t->size;
	struct work w;
	int status = 0;

	if (work_init(&w, batch, target, size, classes ? sizeof(int32_t) : nn_dtype_size(a->dtype),
		      err) < 0)
		return -1;
	if (classes)
		status = move_masks(&w, from, n, values, err);
	for (size_t r = 0; !classes && status == 0 && r < n; r++)
		status = change_target(&w, from + r, (char *)values + r * w.bytes, err);
	nn_free(w.moved);
	return status;
}
