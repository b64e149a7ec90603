/*
 * Batches on their way to a device with memory of its own. Inputs, targets and lengths of a batch
 * are one cargo, in pinned memory and in the device's; there are two, and a queue of copies beside
 * the graph's: the next batch is copied while this one is computed, and nobody waits for it. Of
 * rows that stay in the device's memory (step-resident.c) their numbers stand for the inputs.
 */
#include <string.h>

#include "base/memory.h"
#include "step/step-inside.h"

#define ALIGN 256

static size_t rounded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t input_bytes(const struct nn_step *s, int i)
{
	return s->inputs[i].size * nn_dtype_size(s->options.device->dtype);
}

int nn_step_transfer_init(struct nn_step *s, struct nn_error *err)
{
	struct nn_step_transfer *t = &s->transfer;
	size_t rows = s->cuts.full ? s->options.batch : s->options.rows, end = 0;
	int n_inputs = s->options.program->n_inputs;

	if (!s->queue)
		return 0;
	t->inputs = nn_alloc((size_t)(n_inputs + s->n_outputs), sizeof *t->inputs, err);
	if (!t->inputs || nn_queue_open(&t->queue, s->options.device, err) < 0)
		return -1;
	t->targets = t->inputs + n_inputs;
	for (int i = 0; i < n_inputs; i++) {
		t->inputs[i] = end;
		end += nn_graph_reads(s->graph, i) && !s->resident.there
			       ? rounded(rows * input_bytes(s, i))
			       : 0;
	}
	t->numbers = end;
	end += s->resident.there ? rounded(rows * sizeof(uint32_t)) : 0;
	for (int i = 0; i < s->n_outputs; i++) {
		t->targets[i] = end;
		end += rounded(rows * nn_train_output_target_bytes(&s->outputs[i]));
	}
	t->lengths = end;
	end += nn_dataset_source(s->options.dataset).ops->lengths ? rows * sizeof(uint32_t) : 0;
	for (int k = 0; k < 2; k++) {
		t->cargo[k].rows = nn_alloc(rows, sizeof *t->cargo[k].rows, err);
		if (!t->cargo[k].rows || nn_mirror_new(&t->cargo[k].block, t->queue, end, err) < 0)
			return -1;
	}
	return 0;
}

void nn_step_transfer_fini(struct nn_step *s)
{
	struct nn_step_transfer *t = &s->transfer;

	for (int k = 0; k < 2 && t->queue; k++) {
		nn_mirror_free(&t->cargo[k].block, t->queue);
		nn_free(t->cargo[k].rows);
	}
	nn_queue_close(t->queue);
	nn_free(t->inputs);
}

/* The host's side may be written, and the device's be copied to: what was asked before is done. */
static void make_free(struct nn_step *s, struct nn_step_cargo *c)
{
	if (c->used && c->turn > s->queue->reached)
		nn_queue_wait(s->queue, NULL);
	else if (c->n > 0 && !c->used)
		nn_queue_wait(s->transfer.queue, NULL);
	c->n = 0;
	c->used = false;
}

static void send(struct nn_step *s, struct nn_step_cargo *c, size_t at, size_t row_bytes,
		 size_t from, size_t to)
{
	nn_mirror_send(&c->block, s->transfer.queue, at + from * row_bytes,
		       (to - from) * row_bytes);
}

static int load_lengths(struct nn_step *s, struct nn_step_cargo *c, const struct nn_batch *batch,
			size_t from, size_t to, struct nn_error *err)
{
	const struct nn_source *source = &batch->source;
	uint32_t *lengths = (void *)((char *)c->block.host + s->transfer.lengths);

	if (!source->ops->lengths)
		return 0;
	if (source->ops->lengths(source->data, batch->rows + from, to - from, lengths + from, err) <
	    0)
		return -1;
	send(s, c, s->transfer.lengths, sizeof *lengths, from, to);
	return 0;
}

static void load_numbers(struct nn_step *s, struct nn_step_cargo *c, const struct nn_batch *batch,
			 size_t from, size_t to)
{
	uint32_t *numbers = (void *)((char *)c->block.host + s->transfer.numbers);

	if (batch->source.data != s->resident.source.data)
		NN_BUG("a batch of rows that are not those on the device");
	for (size_t i = from; i < to; i++)
		numbers[i] = (uint32_t)batch->rows[i];
	send(s, c, s->transfer.numbers, sizeof *numbers, from, to);
}

static int load(struct nn_step *s, struct nn_step_cargo *c, const struct nn_batch *batch,
		struct nn_error *err)
{
	const struct nn_step_options *o = &s->options;
	const struct nn_cut *cut = batch->n == o->batch ? s->cuts.full : s->cuts.rest;
	size_t from = cut->leaf[cut->run.from], to = cut->leaf[cut->run.to];
	char *host = c->block.host;

	make_free(s, c);
	memcpy(c->rows, batch->rows, batch->n * sizeof *batch->rows);
	c->epoch = batch->epoch;
	if (s->resident.there)
		load_numbers(s, c, batch, from, to);
	for (int i = 0; i < o->program->n_inputs && !s->resident.there; i++) {
		size_t bytes = input_bytes(s, i), at = s->transfer.inputs[i];
		struct nn_place place = { .values = host + at + from * bytes,
					  .row_bytes = bytes,
					  .copies = 1,
					  .channels_last = s->inputs[i].channels_last };

		if (!nn_graph_reads(s->graph, i))
			continue;
		if (nn_batch_input(batch, (size_t)i, from, to - from, &place, o->pool, err) < 0)
			return -1;
		send(s, c, at, bytes, from, to);
	}
	for (int i = 0; i < s->n_outputs; i++) {
		const struct nn_train_output *out = &s->outputs[i];
		size_t at = s->transfer.targets[i];

		if (nn_train_output_fill(out, batch, from, to, host + at, err) < 0)
			return -1;
		send(s, c, at, nn_train_output_target_bytes(out), from, to);
	}
	if (load_lengths(s, c, batch, from, to, err) < 0)
		return -1;
	c->n = batch->n;
	return 0;
}

static bool holds(const struct nn_step_cargo *c, const struct nn_batch *b)
{
	return !c->used && c->n == b->n && c->epoch == b->epoch &&
	       memcmp(c->rows, b->rows, b->n * sizeof *b->rows) == 0;
}

int nn_step_transfer_begin(struct nn_step *s, const struct nn_batch *batch, struct nn_error *err)
{
	struct nn_step_transfer *t = &s->transfer;
	struct nn_step_cargo *c;

	t->now ^= 1;
	c = &t->cargo[t->now];
	if (!holds(c, batch) && load(s, c, batch, err) < 0)
		return -1;
	s->queue->remote->after(s->queue, t->queue);
	c->used = true;
	c->turn = s->queue->turn + 1;
	nn_step_transfer_use(s, t->now);
	return 0;
}

void nn_step_transfer_use(struct nn_step *s, int cargo)
{
	struct nn_step_transfer *t = &s->transfer;
	const struct nn_mirror *block = &t->cargo[cargo].block;

	t->now = cargo;
	for (int i = 0; i < s->n_outputs; i++) {
		s->outputs[i].targets.host = (char *)block->host + t->targets[i];
		s->outputs[i].targets.there = (char *)block->there + t->targets[i];
	}
}

struct nn_batch nn_step_next_batch(const struct nn_batch *batch)
{
	struct nn_batch next = nn_batch_of(&batch->source, batch->next, batch->n_next);

	next.augment = batch->augment;
	next.epoch = batch->epoch;
	next.sample = batch->sample + batch->n;
	return next;
}

bool nn_step_transfer_next(struct nn_step *s)
{
	struct nn_step_cargo *c = &s->transfer.cargo[!s->transfer.now];
	struct nn_batch next = nn_step_next_batch(&s->batch);

	return next.n > 0 && (next.n == s->options.batch || s->cuts.rest) &&
	       (holds(c, &next) || load(s, c, &next, NULL) == 0);
}

bool nn_step_transfer_is(const struct nn_step *s, const struct nn_batch *batch)
{
	const struct nn_step_cargo *c = &s->transfer.cargo[s->transfer.now];

	return c->n == batch->n && memcmp(c->rows, batch->rows, batch->n * sizeof *c->rows) == 0;
}

void nn_step_transfer_put(struct nn_step *s, const struct nn_cut_span *at)
{
	const struct nn_step_transfer *t = &s->transfer;
	const struct nn_resident *r = &s->resident;
	const char *there = t->cargo[t->now].block.there;
	const uint32_t *numbers = (const void *)(there + t->numbers);

	for (int i = 0; i < s->options.program->n_inputs; i++) {
		if (!nn_graph_reads(s->graph, i))
			continue;
		if (r->there)
			nn_graph_gather(s->graph, i, r->there + r->inputs[i].at, numbers + at->row,
					at->span.rows);
		else
			nn_graph_put(s->graph, i,
				     there + t->inputs[i] + at->row * input_bytes(s, i),
				     at->span.rows);
	}
}

const uint32_t *nn_step_transfer_lengths(const struct nn_step *s, const struct nn_cut_span *at)
{
	const struct nn_step_transfer *t = &s->transfer;
	const char *there = t->cargo[t->now].block.there;

	return s->batch.source.ops->lengths
		       ? (const uint32_t *)(const void *)(there + t->lengths) + at->row
		       : NULL;
}
