/* The update after a step: clipping by the global norm, trust ratios, and one kernel call over the flat block. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "train/optimizer-table.h"
#include "train/optimizer.h"

const struct nn_optimizer_info nn_optimizers[] = {
	[NN_SGD] = {"sgd", NN_SGD, 0.01, 0, true, false},
	[NN_ADAM] = {"adam", NN_ADAM, 0.001, 0, false, false},
	[NN_ADAMW] = {"adamw", NN_ADAMW, 0.001, 0.01, false, false},
	[NN_RMSPROP] = {"rmsprop", NN_RMSPROP, 0.01, 0, false, false},
	[NN_RPROP] = {"rprop", NN_RPROP, 0.01, 0, false, false},
	[NN_LARS] = {"lars", NN_LARS, 0.01, 0, true, true},
	[NN_LAMB] = {"lamb", NN_LAMB, 0.01, 0, false, true},
};
const char *const nn_optimizer_names[] = {"sgd", "adam", "adamw", "rmsprop", "rprop", "lars", "lamb", NULL};

struct nn_optimizer {
	struct nn_optimizer_options options;
	const struct nn_device *device;
	struct nn_graph *graph;
	const struct nn_program *program;
	struct nn_pool *pool;
	struct nn_update update;         /* the constants; n, w, g and slots are set per call */
	struct nn_update now;            /* the update under way */
	struct nn_optimizer_ranks ranks;
	struct nn_optimizer_place place; /* memory of others */
	size_t n_slots, block;
	size_t from, to;                 /* elements of the block that are updated here */
	char *slots;                     /* n_slots runs of to - from elements */
	struct nn_table_steps tables;    /* behind the block */
	char *direction;                 /* lamb: a block */
	char *canonical;                 /* scratch: all trained parameters in file order */
	size_t *at;                      /* [n_params] place in canonical, in elements */
	void *squares;                   /* [n_params] sums of squares, trained parameters first, in the dtype */
	double *w_norm, *g_norm;         /* [n_params] */
};

size_t nn_optimizer_count(const struct nn_optimizer_options *o)
{
	switch (o->kind) {
	case NN_SGD:
	case NN_LARS: return o->momentum != 0;
	case NN_RMSPROP: return 1;
	default: return 2;
	}
}

size_t nn_optimizer_bytes(const struct nn_optimizer_options *o, size_t block, size_t kept, enum nn_dtype dtype)
{
	return (kept * nn_optimizer_count(o) + block * (1 + (o->kind == NN_LAMB))) * nn_dtype_size(dtype);
}

static int slots_new(struct nn_optimizer *o, struct nn_error *err)
{
	size_t bytes = o->n_slots * (o->to - o->from) * nn_dtype_size(o->device->dtype);

	if (o->place.slots) {
		o->slots = o->place.slots;
		return 0;
	}
	if (o->slots)
		o->device->free(o->slots);
	o->slots = NULL;
	return bytes == 0 || (o->slots = o->device->alloc(bytes, err)) ? 0 : -1;
}

static int alloc(struct nn_optimizer *o, struct nn_error *err)
{
	size_t size = nn_dtype_size(o->device->dtype), n = (size_t)o->program->n_params;

	o->at = nn_alloc(n, sizeof *o->at, err);
	o->squares = nn_alloc(n, size, err);
	o->w_norm = nn_alloc(n, sizeof *o->w_norm, err);
	o->g_norm = nn_alloc(n, sizeof *o->g_norm, err);
	o->canonical = nn_alloc(o->block, size, err);
	if (!o->at || !o->squares || !o->w_norm || !o->g_norm || !o->canonical)
		return -1;
	if (slots_new(o, err) < 0)
		return -1;
	if (nn_table_steps_init(&o->tables, o->options.kind, o->n_slots, o->device, o->graph, err) < 0)
		return -1;
	o->direction = o->place.direction;
	if (o->options.kind == NN_LAMB && !o->direction && !(o->direction = o->device->alloc(o->block * size, err)))
		return -1;
	return 0;
}

int nn_optimizer_new(struct nn_optimizer **optimizer, const struct nn_optimizer_options *options,
		     const struct nn_device *device, struct nn_graph *graph, const struct nn_program *program,
		     struct nn_pool *pool, const struct nn_optimizer_place *place, struct nn_error *err)
{
	struct nn_optimizer *o = nn_alloc(1, sizeof *o, err);
	size_t at = 0, offset, packed;

	if (!o)
		return -1;
	o->options = *options;
	o->device = device;
	o->graph = graph;
	o->program = program;
	o->pool = pool;
	if (place)
		o->place = *place;
	o->block = o->to = nn_graph_block(graph);
	o->n_slots = nn_optimizer_count(options);
	o->update = (struct nn_update){
		.kind = options->kind, .weight_decay = options->weight_decay, .momentum = options->momentum,
		.nesterov = options->nesterov, .beta1 = 0.9, .beta2 = 0.999, .alpha = 0.99,
		.eps = options->kind == NN_LAMB ? 1e-6 : 1e-8, .ratio = 1, .pool = pool,
	};
	if (alloc(o, err) < 0) {
		nn_optimizer_free(o);
		return -1;
	}
	for (int p = 0; p < program->n_params; p++)
		if (nn_graph_place(graph, p, &offset, &packed)) {
			o->at[p] = at;
			at += nn_shape_count(&program->params[p].desc.shape);
		}
	*optimizer = o;
	return 0;
}

void nn_optimizer_free(struct nn_optimizer *o)
{
	if (!o)
		return;
	if (o->slots && !o->place.slots)
		o->device->free(o->slots);
	if (o->direction && !o->place.direction)
		o->device->free(o->direction);
	nn_table_steps_fini(&o->tables);
	nn_free(o->canonical);
	nn_free(o->at);
	nn_free(o->squares);
	nn_free(o->w_norm);
	nn_free(o->g_norm);
	nn_free(o);
}

size_t nn_optimizer_slots(const struct nn_optimizer *o)
{
	return o->n_slots;
}

int nn_optimizer_join(struct nn_optimizer *o, const struct nn_optimizer_ranks *ranks, struct nn_error *err)
{
	o->ranks = *ranks;
	o->from = ranks->gather ? ranks->from : 0;
	o->to = ranks->gather ? ranks->to : o->block;
	return slots_new(o, err);
}

#define SHARD_BLOCK 4096

struct nn_optimizer_shard nn_optimizer_shard(size_t block, int r, int n)
{
	size_t blocks = (block + SHARD_BLOCK - 1) / SHARD_BLOCK;
	size_t from = blocks * (size_t)r / (size_t)n * SHARD_BLOCK, to = blocks * ((size_t)r + 1) / (size_t)n * SHARD_BLOCK;

	return (struct nn_optimizer_shard){ from < block ? from : block, to < block ? to : block };
}

bool nn_optimizer_shared(const struct nn_optimizer *o)
{
	return o->ranks.gather != NULL;
}

static char *slot_at(const struct nn_optimizer *o, size_t slot)
{
	return o->slots ? o->slots + slot * (o->to - o->from) * nn_dtype_size(o->device->dtype) : NULL;
}

void *nn_optimizer_slot(struct nn_optimizer *o, size_t slot)
{
	return slot_at(o, slot);
}

void nn_optimizer_reset(struct nn_optimizer *o)
{
	nn_table_steps_reset(&o->tables);
	if (o->slots)
		memset(o->slots, 0, o->n_slots * (o->to - o->from) * nn_dtype_size(o->device->dtype));
}

int nn_optimizer_save(struct nn_optimizer *o, size_t slot, void *const *params, struct nn_error *err)
{
	size_t size = nn_dtype_size(o->device->dtype), offset, packed;
	const char *block = slot_at(o, slot);

	if (nn_optimizer_shared(o)) {
		char *all = nn_graph_gradients(o->graph);

		if (block)
			memcpy(all + o->from * size, block, (o->to - o->from) * size);
		if (o->ranks.gather(o->ranks.arg, all, err) < 0)
			return -1;
		block = all;
	}
	for (int p = 0; params && p < o->program->n_params; p++)
		if (params[p] && nn_graph_place(o->graph, p, &offset, &packed))
			nn_graph_unpack(o->graph, p, block, params[p]);
	if (params)
		nn_table_steps_save(&o->tables, slot, params);
	return 0;
}

void nn_optimizer_load(struct nn_optimizer *o, size_t slot, const void *const *params)
{
	size_t size = nn_dtype_size(o->device->dtype), offset, packed;
	char *block = nn_optimizer_shared(o) ? nn_graph_gradients(o->graph) : slot_at(o, slot);

	for (int p = 0; p < o->program->n_params; p++)
		if (nn_graph_place(o->graph, p, &offset, &packed))
			nn_graph_pack(o->graph, p, params[p], block);
	nn_table_steps_load(&o->tables, slot, params);
	if (nn_optimizer_shared(o) && slot_at(o, slot))
		memcpy(slot_at(o, slot), block + o->from * size, (o->to - o->from) * size);
}

/* ---- norms: per parameter in file order ---- */

struct norms {
	struct nn_optimizer *o;
	const void *block;
	double *norm;
};

static void norm_of_param(void *arg, size_t i, int thread)
{
	struct norms *n = arg;
	struct nn_optimizer *o = n->o;
	size_t offset, packed, size = nn_dtype_size(o->device->dtype);
	char *values = o->canonical + o->at[i] * size;

	(void)thread;
	if (!nn_graph_place(o->graph, (int)i, &offset, &packed))
		return;
	nn_graph_unpack(o->graph, (int)i, n->block, values);
	n->norm[i] = o->device->sum_squares(values, nn_shape_count(&o->program->params[i].desc.shape));
}

/* norm[p] = sum of squares of the graph's parameter p in a block. */
static void squares_of_params(struct nn_optimizer *o, const void *block, double *norm)
{
	struct norms n = { o, block, norm };

	nn_pool_run(o->pool, (size_t)o->program->n_params, norm_of_param, &n);
}

/* The global norm: sums of squares per parameter, added in the order of the program. */
static double global_norm(struct nn_optimizer *o, const double *squares)
{
	size_t n = 0;

	for (int p = 0; p < o->program->n_params; p++) {
		if (o->program->params[p].desc.role == NN_BUFFER)
			continue;
		if (o->device->dtype == NN_F64)
			((double *)o->squares)[n++] = squares[p];
		else
			((float *)o->squares)[n++] = (float)squares[p];
	}
	return sqrt(o->device->sum(o->squares, n));
}

static void squares_of_param(void *arg, size_t i, int thread)
{
	struct norms *n = arg;
	size_t offset, packed, size = nn_dtype_size(n->o->device->dtype);

	(void)thread;
	if (nn_graph_place(n->o->graph, (int)i, &offset, &packed))
		n->norm[i] = n->o->device->sum_squares((const char *)n->block + offset * size, packed);
}

double nn_optimizer_squares(struct nn_optimizer *o, const void *block)
{
	struct norms n = { o, block, o->g_norm };
	double sum = 0;

	if (o->ranks.squares)
		return NAN;
	nn_pool_run(o->pool, (size_t)o->program->n_params, squares_of_param, &n);
	for (int p = 0; p < o->program->n_params; p++)
		sum += o->g_norm[p];
	return sum;
}

void *nn_optimizer_scratch(struct nn_optimizer *o)
{
	return o->canonical;
}

/* ---- updates ---- */

static bool decays(const struct nn_optimizer *o, int param)
{
	enum nn_param_role role = o->program->params[param].desc.role;

	return role == NN_WEIGHT;
}

/* The update under way of elements at .. at + n - 1 of the block, which are among those whose slots are here; without gradient. */
static struct nn_update of_run(const struct nn_optimizer *o, size_t at, size_t n)
{
	size_t size = nn_dtype_size(o->device->dtype);
	struct nn_update u = o->now;

	u.n = n;
	u.w = (char *)u.w + at * size;
	for (size_t k = 0; k < o->n_slots && n > 0; k++)
		u.slot[k] = slot_at(o, k) + (at - o->from) * size;
	return u;
}

/* The update of the part of a parameter's run of the block that lies in [from, to): it begins at *at. false: nothing does. */
static bool of_param(const struct nn_optimizer *o, int p, size_t from, size_t to, struct nn_update *u, size_t *at)
{
	size_t packed, end;

	if (!nn_graph_place(o->graph, p, at, &packed) || *at >= to || *at + packed <= from)
		return false;
	end = *at + packed < to ? *at + packed : to;
	*at = *at > from ? *at : from;
	*u = of_run(o, *at, end - *at);
	if (!decays(o, p))
		u->weight_decay = 0;
	return true;
}

/* You et al. 2017: the rate of a weight follows |w| / (|g| + decay |w|); biases and norms are left as they are. */
static double lars_ratio(const struct nn_optimizer *o, int p, double decay)
{
	double w = sqrt(o->w_norm[p]), g = sqrt(o->g_norm[p]) * o->now.clip;

	return decays(o, p) ? nn_lars_ratio(w, g, decay) : 1;
}

/* You et al. 2020: adam's step with bias correction and decay, scaled to |w| / |step|. */
static double lamb_ratio(const struct nn_optimizer *o, int p)
{
	return decays(o, p) && o->w_norm[p] > 0 && o->g_norm[p] > 0 ? sqrt(o->w_norm[p]) / sqrt(o->g_norm[p]) : 1;
}

/* ---- the parts ---- */

void nn_optimizer_begin(struct nn_optimizer *o, uint64_t step, double lr)
{
	o->now = o->update;
	o->now.w = nn_graph_weights(o->graph);
	o->now.step = step;
	o->now.lr = lr;
	o->now.clip = 1;
}

bool nn_optimizer_wants_norm(const struct nn_optimizer *o)
{
	return o->options.clip_norm > 0 || o->options.kind == NN_LARS;
}

int nn_optimizer_look(struct nn_optimizer *o, const void *gradients, double *norm, struct nn_error *err)
{
	double length;

	squares_of_params(o, gradients, o->g_norm);
	nn_table_steps_squares(&o->tables, o->g_norm);
	if (o->ranks.squares && o->ranks.squares(o->ranks.arg, o->g_norm, err) < 0)
		return -1;
	length = global_norm(o, o->g_norm);
	if (norm)
		*norm = length;
	if (o->options.clip_norm > 0 && o->options.clip_norm / (length + 1e-6) < 1)
		o->now.clip = o->options.clip_norm / (length + 1e-6);
	return 0;
}

void nn_optimizer_tables(struct nn_optimizer *o)
{
	nn_table_steps_update(&o->tables, &o->now, o->g_norm);
}

bool nn_optimizer_directs(const struct nn_optimizer *o)
{
	return o->options.kind == NN_LAMB;
}

void *nn_optimizer_direction(struct nn_optimizer *o)
{
	return o->direction;
}

void nn_optimizer_direct(struct nn_optimizer *o, const void *gradients, size_t from, size_t to)
{
	size_t size = nn_dtype_size(o->device->dtype), at;
	struct nn_update u;

	for (int p = 0; p < o->program->n_params; p++)
		if (of_param(o, p, from, to, &u, &at)) {
			u.g = (const char *)gradients + at * size;
			o->device->direction(&u, o->direction + at * size);
		}
}

bool nn_optimizer_weighs(const struct nn_optimizer *o)
{
	return nn_optimizers[o->options.kind].per_param;
}

void nn_optimizer_weigh(struct nn_optimizer *o)
{
	if (nn_optimizer_weighs(o))
		squares_of_params(o, o->now.w, o->w_norm);
	if (nn_optimizer_directs(o))
		squares_of_params(o, o->direction, o->g_norm);
}

void nn_optimizer_apply(const struct nn_optimizer *o, const void *gradients, size_t from, size_t to, struct nn_pool *pool)
{
	size_t size = nn_dtype_size(o->device->dtype), at;
	struct nn_update u;

	if (from == to)
		return;
	if (!nn_optimizer_weighs(o)) {
		u = of_run(o, from, to - from);
		u.g = gradients;
		u.pool = pool;
		o->device->update(&u);
		return;
	}
	for (int p = 0; p < o->program->n_params; p++) {
		if (!of_param(o, p, from, to, &u, &at))
			continue;
		u.g = nn_optimizer_directs(o) ? o->direction + at * size : (const char *)gradients + (at - from) * size;
		u.ratio = nn_optimizer_directs(o) ? lamb_ratio(o, p) : lars_ratio(o, p, u.weight_decay);
		u.pool = pool;
		o->device->update(&u);
	}
}

int nn_optimizer_update(struct nn_optimizer *o, uint64_t step, double lr, double *norm, struct nn_error *err)
{
	char *gradients = nn_graph_gradients(o->graph);
	bool ranged = nn_optimizer_shared(o);

	nn_optimizer_begin(o, step, lr);
	if ((norm || nn_optimizer_wants_norm(o)) && nn_optimizer_look(o, gradients, norm, err) < 0)
		return -1;
	nn_optimizer_tables(o);
	if (nn_optimizer_directs(o)) {
		nn_optimizer_direct(o, gradients, o->from, o->to);
		if (ranged && o->ranks.gather(o->ranks.arg, o->direction, err) < 0)
			return -1;
	}
	nn_optimizer_weigh(o);
	nn_optimizer_apply(o, gradients + o->from * nn_dtype_size(o->device->dtype), o->from, o->to, o->pool);
	if (ranged && o->ranks.gather(o->ranks.arg, nn_graph_weights(o->graph), err) < 0)
		return -1;
	nn_graph_refresh(o->graph);
	return 0;
}
