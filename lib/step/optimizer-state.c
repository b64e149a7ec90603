/* What an optimizer keeps, and how that goes to and from files. */
#include "base/memory.h"
#include "device/products.h"
#include "step/optimizer-inside.h"

static int slots_new(struct nn_optimizer *o, struct nn_error *err)
{
	size_t bytes = o->n_slots * (o->to - o->from) * nn_dtype_size(o->device->dtype);

	if (o->place.slots) {
		o->slots = o->place.slots;
		return 0;
	}
	return bytes == 0 || (o->slots = nn_memory_new(o->queue, bytes, err)) ? 0 : -1;
}

static int alloc(struct nn_optimizer *o, struct nn_error *err)
{
	size_t size = nn_dtype_size(o->device->dtype), n = (size_t)o->program->n_params;

	o->at = nn_alloc(n, sizeof *o->at, err);
	o->work = nn_memory_new(o->queue, n * size, err);
	o->canonical = nn_memory_new(o->queue, o->block * size, err);
	if (!o->at || !o->work || !o->canonical || nn_mirror_new(&o->roles, o->queue, n, err) < 0 ||
	    nn_mirror_new(&o->w_norm, o->queue, n * sizeof(double), err) < 0 ||
	    nn_mirror_new(&o->g_norm, o->queue, n * sizeof(double), err) < 0 ||
	    nn_mirror_new(&o->ratios, o->queue, n * sizeof(double), err) < 0 ||
	    nn_mirror_new(&o->length, o->queue, sizeof(double), err) < 0 ||
	    nn_mirror_double(&o->length, o->queue, sizeof(double), err) < 0)
		return -1;
	for (size_t p = 0; p < n; p++)
		((uint8_t *)o->roles.host)[p] = (uint8_t)o->program->params[p].desc.role;
	nn_mirror_send(&o->roles, o->queue, 0, n);
	if (slots_new(o, err) < 0)
		return -1;
	if (nn_table_steps_init(&o->tables, o->options.kind, o->n_slots, o->device, o->graph,
				o->program, err) < 0)
		return -1;
	o->direction = o->place.direction;
	if (nn_optimizer_steps_along(o->options.kind) && !o->direction &&
	    !(o->direction = nn_memory_new(o->queue, o->block * size, err)))
		return -1;
	return 0;
}

int nn_optimizer_new(struct nn_optimizer **optimizer, const struct nn_optimizer_options *options,
		     const struct nn_device *device, struct nn_graph *graph,
		     const struct nn_program *program, struct nn_pool *pool,
		     const struct nn_optimizer_place *place, struct nn_error *err)
{
	struct nn_optimizer *o = nn_alloc(1, sizeof *o, err);
	size_t offset, packed;
	char *at;

	if (!o)
		return -1;
	o->options = *options;
	o->device = device;
	o->graph = graph;
	o->queue = nn_graph_queue(graph);
	o->program = program;
	o->pool = pool;
	if (place)
		o->place = *place;
	o->block = o->to = nn_graph_block(graph);
	if (o->place.shards && !o->place.slots) {
		struct nn_shard kept = nn_shard_of(o->block, o->place.shard, o->place.shards);

		o->from = kept.from;
		o->to = kept.from + kept.n;
	}
	o->n_slots = nn_optimizer_count(options);
	o->scale.factor = 1;
	o->scales = nn_products_named(device->name) == NN_PRODUCTS_F16;
	o->update = (struct nn_update){
		.kind = options->kind,
		.weight_decay = options->weight_decay,
		.momentum = options->momentum,
		.nesterov = options->nesterov,
		.beta1 = 0.9,
		.beta2 = 0.999,
		.alpha = 0.99,
		.eps = nn_optimizers[options->kind].eps,
		.pool = pool,
		.queue = o->queue,
	};
	if (alloc(o, err) < 0) {
		nn_optimizer_free(o);
		return -1;
	}
	at = o->canonical;
	for (int p = 0; p < program->n_params; p++)
		if (nn_graph_place(graph, p, &offset, &packed)) {
			o->at[p] = at;
			at += nn_graph_count(graph, p) * nn_dtype_size(device->dtype);
		}
	*optimizer = o;
	return 0;
}

void nn_optimizer_free(struct nn_optimizer *o)
{
	if (!o)
		return;
	if (o->slots && !o->place.slots)
		nn_memory_free(o->queue, o->slots);
	if (o->direction && !o->place.direction)
		nn_memory_free(o->queue, o->direction);
	nn_table_steps_fini(&o->tables);
	nn_memory_free(o->queue, o->canonical);
	nn_memory_free(o->queue, o->work);
	nn_mirror_free(&o->roles, o->queue);
	nn_mirror_free(&o->w_norm, o->queue);
	nn_mirror_free(&o->g_norm, o->queue);
	nn_mirror_free(&o->ratios, o->queue);
	nn_mirror_free(&o->length, o->queue);
	nn_free((void *)o->at);
	nn_free(o);
}

size_t nn_optimizer_slots(const struct nn_optimizer *o)
{
	return o->n_slots;
}

void nn_optimizer_join(struct nn_optimizer *o, const struct nn_optimizer_ranks *ranks)
{
	o->ranks = *ranks;
	if (ranks->gather && (ranks->from != o->from || ranks->to != o->to))
		NN_BUG("slots of elements %zu to %zu for a rank's %zu to %zu", o->from, o->to,
		       ranks->from, ranks->to);
}

#define SHARD_BLOCK 4096

struct nn_shard nn_shard_of(size_t block, int r, int n)
{
	size_t blocks = (block + SHARD_BLOCK - 1) / SHARD_BLOCK;
	size_t from = blocks * (size_t)r / (size_t)n * SHARD_BLOCK,
	       to = blocks * ((size_t)r + 1) / (size_t)n * SHARD_BLOCK;

	from = from < block ? from : block;
	to = to < block ? to : block;
	return (struct nn_shard){ from, to - from };
}

bool nn_optimizer_shared(const struct nn_optimizer *o)
{
	return o->ranks.gather != NULL;
}

void *nn_optimizer_slot(const struct nn_optimizer *o, size_t slot)
{
	return o->slots ? o->slots + slot * (o->to - o->from) * nn_dtype_size(o->device->dtype)
			: NULL;
}

void nn_optimizer_reset(struct nn_optimizer *o, size_t from, size_t to)
{
	size_t size = nn_dtype_size(o->device->dtype);

	nn_table_steps_reset(&o->tables);
	from = from > o->from ? from : o->from;
	to = to < o->to ? to : o->to;
	for (size_t i = 0; i < o->n_slots && from < to; i++)
		nn_queue_clear(o->queue, (char *)nn_optimizer_slot(o, i) + (from - o->from) * size,
			       (to - from) * size);
}

int nn_optimizer_save(struct nn_optimizer *o, size_t slot, void *const *params,
		      struct nn_error *err)
{
	size_t size = nn_dtype_size(o->device->dtype), offset, packed;
	const char *block = nn_optimizer_slot(o, slot);

	if (nn_optimizer_shared(o)) {
		char *all = nn_graph_gradients(o->graph);

		if (block)
			nn_queue_copy(o->queue, all + o->from * size, block,
				      (o->to - o->from) * size);
		if (o->ranks.gather(o->ranks.arg, all, err) < 0)
			return -1;
		block = all;
	}
	for (int p = 0; params && p < o->program->n_params; p++)
		if (params[p] && nn_graph_place(o->graph, p, &offset, &packed))
			nn_graph_unpack(o->graph, p, block, params[p]);
	if (params)
		nn_table_steps_save(&o->tables, slot, params);
	return nn_queue_wait(o->queue, err);
}

void nn_optimizer_load(struct nn_optimizer *o, size_t slot, const void *const *params)
{
	size_t size = nn_dtype_size(o->device->dtype), offset, packed;
	char *block =
		nn_optimizer_shared(o) ? nn_graph_gradients(o->graph) : nn_optimizer_slot(o, slot);

	for (int p = 0; p < o->program->n_params; p++)
		if (nn_graph_place(o->graph, p, &offset, &packed))
			nn_graph_pack(o->graph, p, params[p], block);
	nn_table_steps_load(&o->tables, slot, params);
	if (nn_optimizer_shared(o) && nn_optimizer_slot(o, slot))
		nn_queue_copy(o->queue, nn_optimizer_slot(o, slot), block + o->from * size,
			      (o->to - o->from) * size);
}
