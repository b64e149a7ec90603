/*
 * Rows that stay in the device's memory: the inputs of all of the data set, laid out as the graph
 * has them. They are written once, and a step gathers those of its batch there by their numbers.
 */
#include "base/memory.h"
#include "step/step-inside.h"

#define ALIGN 256
#define PIECE ((size_t)4 << 20) /* bytes that are filled at once */
/* Bytes there for one of the host's at most: windows of a text, say, have far more. */
#define WIDENED 8

static size_t input_bytes(const struct nn_step_options *o, int i)
{
	return nn_shape_count(&o->program->values[o->program->inputs[i]].shape) *
	       nn_dtype_size(o->device->dtype);
}

size_t nn_step_resident_bytes(const struct nn_step_options *o)
{
	struct nn_source source;
	size_t all = 0, bytes;

	if (!o->device->remote || !o->device->remote->gather || !o->dataset || o->augment)
		return 0;
	source = nn_dataset_source(o->dataset);
	if (source.ops->stages || source.ops->lengths || source.rows > UINT32_MAX)
		return 0;
	for (int i = 0; i < o->program->n_inputs; i++)
		if (!nn_mul(input_bytes(o, i), (size_t)source.rows, &bytes) ||
		    !nn_add(bytes, all + ALIGN, &all))
			return 0;
	bytes = nn_dataset_bytes(o->dataset, (size_t)source.rows, 0, o->device->dtype);
	return all / WIDENED > bytes ? 0 : all;
}

/* All rows of an input, piece by piece. */
static int write_input(struct nn_step *s, int i, uint64_t *rows, char *piece, size_t n,
		       struct nn_error *err)
{
	struct nn_resident *r = &s->resident;
	const size_t bytes = input_bytes(&s->options, i);
	const struct nn_place place = { .values = piece,
					.row_bytes = bytes,
					.copies = 1,
					.channels_last = s->inputs[i].channels_last };

	for (uint64_t at = 0; at < r->source.rows; at += n) {
		const size_t some = r->source.rows - at < n ? (size_t)(r->source.rows - at) : n;
		struct nn_batch batch;

		for (size_t k = 0; k < some; k++)
			rows[k] = at + k;
		batch = nn_batch_of(&r->source, rows, some);
		if (nn_batch_input(&batch, (size_t)i, 0, some, &place, s->options.pool, err) < 0)
			return -1;
		nn_queue_write(s->queue, r->there + r->inputs[i].at + at * bytes, piece,
			       some * bytes);
	}
	return 0;
}

static int write_rows(struct nn_step *s, struct nn_error *err)
{
	int status = 0;

	for (int i = 0; i < s->options.program->n_inputs && status == 0; i++) {
		const size_t bytes = input_bytes(&s->options, i),
			     n = bytes < PIECE ? PIECE / (bytes ? bytes : 1) : 1;
		uint64_t *rows = nn_alloc(n, sizeof *rows, err);
		char *piece = nn_alloc(n, bytes, err);

		status = rows && piece ? write_input(s, i, rows, piece, n, err) : -1;
		nn_free(rows);
		nn_free(piece);
	}
	return status;
}

int nn_step_resident_init(struct nn_step *s, struct nn_error *err)
{
	struct nn_resident *r = &s->resident;
	const size_t bytes = s->options.resident ? nn_step_resident_bytes(&s->options) : 0;
	struct nn_error no_room;
	size_t end = 0;

	if (!s->queue || bytes == 0)
		return 0;
	r->source = nn_dataset_source(s->options.dataset);
	r->inputs = nn_alloc((size_t)s->options.program->n_inputs, sizeof *r->inputs, err);
	if (!r->inputs)
		return -1;
	for (int i = 0; i < s->options.program->n_inputs; i++) {
		r->inputs[i].at = end;
		r->inputs[i].channels_last = s->inputs[i].channels_last;
		end += (input_bytes(&s->options, i) * (size_t)r->source.rows + ALIGN - 1) / ALIGN *
		       ALIGN;
	}
	/* Others may have taken the memory since it was planned: then rows are sent. */
	r->there = nn_memory_new(s->queue, bytes, &no_room);
	return r->there ? write_rows(s, err) : 0;
}

const struct nn_resident *nn_step_resident(const struct nn_step *s)
{
	return s->resident.there ? &s->resident : NULL;
}

void nn_step_resident_fini(struct nn_step *s)
{
	if (s->resident.there)
		nn_memory_free(s->queue, s->resident.there);
	nn_free(s->resident.inputs);
}
