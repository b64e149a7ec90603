/*
 * Held-out pictures beside their masks: every k-th pixel, or for a picture the mean of k x k, so
 * that the longer side fits a chart.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "data/loader.h"
#include "file/picture/write.h"
#include "step/evaluate.h"
#include "train/job.h"
#include "train/tell/examples.h"

#define MOST 3                                     /* rows */
#define PIXELS (NN_CHART_SIDE * NN_CHART_SIDE * 3) /* bytes of a picture */
#define MOST_KEYS 64
#define LEVELS 31 /* of each colour in pictures, beside 0: a file grows with the colours */

static const unsigned char left_out[3] = { 0xdd, 0xdd, 0xdd };

struct nn_examples {
	struct nn_chart_gallery chart;
	const struct nn_train *train;
	const struct nn_dataset *dataset;
	int input, output; /* input -1: none is a picture */
	uint64_t rows[MOST];
	size_t n, height, width; /* of rows; of a mask */
	const char *columns[3];
	struct nn_chart_picture pictures[3 * MOST];
	unsigned char *pixels; /* [3 MOST][PIXELS] */
	struct nn_chart_key keys[MOST_KEYS];
	struct nn_text labels[MOST_KEYS];
	bool *seen; /* [classes], and whether one was left out */
	size_t classes;
};

/* ---- which ---- */

static bool is_mask(const struct nn_train *t, const struct nn_dataset *data, int output)
{
	const struct nn_program *p = t->task.program;
	const struct nn_shape *shape = &p->values[p->outputs[output].value].shape;

	return shape->rank == 3 && nn_shape_positions(shape) > 1 &&
	       t->task.losses[output].kind == NN_LOSS_CROSS_ENTROPY &&
	       nn_dataset_target_classes(data, (size_t)output);
}

/* The first output that is a mask, the first input that is a picture; false: no mask. */
static bool choose(struct nn_examples *e, const struct nn_train *t)
{
	const struct nn_program *p = t->task.program;
	const struct nn_shape *shape;

	e->train = t;
	e->dataset = t->task.held_out ? t->task.held_out : t->task.dataset;
	e->input = -1;
	for (int i = 0; i < p->n_inputs && e->input < 0; i++)
		if (p->values[p->inputs[i]].shape.rank == 3)
			e->input = i;
	while (e->output < p->n_outputs && !is_mask(t, e->dataset, e->output))
		e->output++;
	if (e->output == p->n_outputs)
		return false;
	shape = &p->values[p->outputs[e->output].value].shape;
	e->classes = nn_shape_columns(shape);
	e->height = shape->dim[1];
	e->width = shape->dim[2];
	e->n = t->task.n_valid < MOST ? t->task.n_valid : MOST;
	for (size_t i = 0; i < e->n; i++) /* one from the middle of each third */
		e->rows[i] = t->task.valid_rows[(2 * i + 1) * t->task.n_valid / (2 * e->n)];
	return true;
}

/* ---- pixels ---- */

/* How many pixels become one, along either side. */
static size_t step_of(size_t height, size_t width)
{
	size_t side = height > width ? height : width;

	return (side + NN_CHART_SIDE - 1) / NN_CHART_SIDE;
}

/* The picture of a row in a column; its bytes are to be filled. */
static unsigned char *place(struct nn_examples *e, size_t row, size_t column, size_t height,
			    size_t width)
{
	size_t step = step_of(height, width), at = row * e->chart.n_columns + column;

	e->pictures[at] =
		(struct nn_chart_picture){ (height + step - 1) / step, (width + step - 1) / step,
					   e->pixels + at * PIXELS };
	return e->pixels + at * PIXELS;
}

static void class_colour(const struct nn_examples *e, int32_t class, unsigned char rgb[3])
{
	const struct nn_target_schema *t = &e->train->task.schema->targets[e->output];
	long number = class;

	if (class < 0) {
		memcpy(rgb, left_out, 3);
		return;
	}
	if (t->integer_labels && (size_t) class < t->n_labels)
		number = strtol(t->labels[class], NULL, 10); /* as nn-predict --to=png does */
	nn_mask_colour((unsigned)number & 255, rgb);
}

static void draw_mask(struct nn_examples *e, size_t row, size_t column, const int32_t *classes)
{
	const struct nn_metrics *m = nn_evaluator_metrics(e->train->evaluator, e->output);
	size_t step = step_of(e->height, e->width);
	unsigned char *rgb = place(e, row, column, e->height, e->width);

	for (size_t y = 0; y < e->height; y += step)
		for (size_t x = 0; x < e->width; x += step, rgb += 3) {
			int32_t c = classes[y * e->width + x];

			if (c >= 0 && nn_metrics_ignored(m, (size_t)c))
				c = NN_CLASS_IGNORED;
			e->seen[c < 0 ? e->classes : (size_t)c] = true;
			class_colour(e, c, rgb);
		}
}

static int draw_masks(struct nn_examples *e, struct nn_error *err)
{
	const struct nn_source source = nn_dataset_source(e->dataset);
	const struct nn_batch batch = nn_batch_of(&source, e->rows, e->n);
	size_t size = e->height * e->width, columns = e->chart.n_columns;
	int32_t *classes = nn_alloc(e->n * size, 2 * sizeof *classes, err), *found;
	int status = -1;

	if (!classes)
		return -1;
	found = classes + e->n * size;
	if (nn_batch_target(&batch, (size_t)e->output, 0, e->n, classes, err) == 0 &&
	    nn_evaluator_find_classes(e->train->evaluator, e->output, e->rows, e->n, found, err) ==
		    0)
		status = 0;
	for (size_t i = 0; status == 0 && i < e->n; i++) {
		draw_mask(e, i, columns - 2, classes + i * size);
		draw_mask(e, i, columns - 1, found + i * size);
	}
	nn_free(classes);
	return status;
}

/* Values of a row, height x width x channels. */
struct values {
	enum nn_dtype dtype;
	const void *at;
	size_t height, width, channels;
	double least, most;
};

static void find_range(struct values *v)
{
	v->least = INFINITY;
	v->most = -INFINITY;
	for (size_t i = 0; i < v->height * v->width * v->channels; i++) {
		double value = nn_real_at(v->dtype, v->at, i);

		v->least = fmin(v->least, value);
		v->most = fmax(v->most, value);
	}
}

/* The mean of a channel from (y, x) on, step by step pixels, between the darkest and lightest
 * value. */
static unsigned char level(const struct values *v, size_t y, size_t x, size_t step, size_t channel)
{
	double sum = 0, n = 0, part;

	for (size_t i = y; i < y + step && i < v->height; i++)
		for (size_t k = x; k < x + step && k < v->width; k++, n++)
			sum += nn_real_at(v->dtype, v->at,
					  (i * v->width + k) * v->channels + channel);
	part = (sum / n - v->least) / (v->most - v->least);
	return (unsigned char)(part >= 0 && part <= 1 ? floor(part * LEVELS + 0.5) * 255 / LEVELS
						      : 0);
}

/* Three channels and more are red, green and blue; else the first is grey. */
static void draw_picture(struct nn_examples *e, size_t row, struct values *v)
{
	size_t step = step_of(v->height, v->width);
	unsigned char *rgb = place(e, row, 0, v->height, v->width);

	find_range(v);
	for (size_t y = 0; y < v->height; y += step)
		for (size_t x = 0; x < v->width; x += step, rgb += 3)
			for (size_t c = 0; c < 3; c++)
				rgb[c] = level(v, y, x, step, v->channels >= 3 ? c : 0);
}

static int draw_pictures(struct nn_examples *e, struct nn_error *err)
{
	const struct nn_train *t = e->train;
	const struct nn_program *p = t->task.program;
	const struct nn_source source = nn_dataset_source(e->dataset);
	enum nn_dtype dtype = t->task.device->dtype;
	const struct nn_shape *shape;
	struct values v = { .dtype = dtype };
	void *values;
	int status = 0;

	if (e->input < 0)
		return 0;
	shape = &p->values[p->inputs[e->input]].shape;
	v.channels = shape->dim[0];
	v.height = shape->dim[1];
	v.width = shape->dim[2];
	if (!(v.at = values = nn_alloc(nn_shape_count(shape), nn_dtype_size(dtype), err)))
		return -1;
	for (size_t i = 0; i < e->n && status == 0; i++) {
		status = source.ops->fill_input(source.data, (size_t)e->input, &e->rows[i], 1, true,
						values, err);
		if (status == 0)
			draw_picture(e, i, &v);
	}
	nn_free(values);
	return status;
}

/* ---- what colours mean ---- */

static int add_keys(struct nn_examples *e, struct nn_error *err)
{
	const struct nn_metrics *m = nn_evaluator_metrics(e->train->evaluator, e->output);
	size_t n = 0;

	for (size_t c = 0; c <= e->classes && n < MOST_KEYS; c++) {
		if (!e->seen[c])
			continue;
		if (c < e->classes)
			nn_metrics_name(m, c, &e->labels[n]);
		else
			nn_text_add(&e->labels[n], "left out");
		if (e->labels[n].failed)
			return nn_fail(err, NN_ENOMEM, "cannot allocate a label of a chart");
		class_colour(e, c < e->classes ? (int32_t)c : NN_CLASS_IGNORED, e->keys[n].rgb);
		e->keys[n].label = e->labels[n].data ? e->labels[n].data : "";
		n++;
	}
	e->chart.keys = e->keys;
	e->chart.n_keys = n;
	return 0;
}

/* ---- the whole ---- */

static void lay_out(struct nn_examples *e)
{
	size_t n = 0;

	if (e->input >= 0)
		e->columns[n++] = "picture";
	e->columns[n++] = "true mask";
	e->columns[n++] = "mask found";
	e->chart = (struct nn_chart_gallery){ .title = "held-out examples",
					      .columns = e->columns,
					      .n_columns = n,
					      .n_rows = e->n,
					      .pictures = e->pictures };
}

int nn_examples_new(struct nn_examples **examples, const struct nn_train *t, struct nn_error *err)
{
	struct nn_examples *e;

	*examples = NULL;
	if (!t->evaluator || !nn_evaluator_ran(t->evaluator))
		return 0;
	if (!(e = nn_alloc(1, sizeof *e, err)))
		return -1;
	if (!choose(e, t)) {
		nn_examples_free(e);
		return 0;
	}
	lay_out(e);
	e->pixels = nn_alloc(3 * MOST, PIXELS, err);
	e->seen = nn_alloc(e->classes + 1, sizeof *e->seen, err);
	if (!e->pixels || !e->seen || draw_pictures(e, err) < 0 || draw_masks(e, err) < 0 ||
	    add_keys(e, err) < 0) {
		nn_examples_free(e);
		return -1;
	}
	*examples = e;
	return 0;
}

void nn_examples_free(struct nn_examples *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < MOST_KEYS; i++)
		nn_text_free(&e->labels[i]);
	nn_free(e->pixels);
	nn_free(e->seen);
	nn_free(e);
}

const struct nn_chart_gallery *nn_examples_chart(const struct nn_examples *e)
{
	return e ? &e->chart : NULL;
}
