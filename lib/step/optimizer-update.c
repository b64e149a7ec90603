/*
 * The update after a step: clipping by the global norm, trust ratios, and one kernel call over the
 * flat block.
 */
#include <math.h>

#include "step/optimizer-inside.h"

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
	size_t offset, packed;

	(void)thread;
	if (!nn_graph_place(o->graph, (int)i, &offset, &packed))
		return;
	nn_graph_canonical(o->graph, (int)i, n->block, (void *)(uintptr_t)o->at[i]);
	if (!o->ranks.cut || !nn_graph_channels(o->graph, (int)i))
		o->device->sum_squares(o->queue, o->at[i], nn_graph_count(o->graph, (int)i),
				       &n->norm[i]);
}

/* On the pool; work of a queue is asked for by one thread. */
static void for_params(struct nn_optimizer *o, void (*work)(void *arg, size_t param, int thread),
		       struct norms *norms)
{
	nn_pool_run(o->queue ? NULL : o->pool, (size_t)o->program->n_params, work, norms);
}

/*
 * norm[p] = sum of squares of the graph's parameter p in a block, in device memory: nobody waits
 * but ranks, which have parts.
 */
static int squares_of_params(struct nn_optimizer *o, const void *block, struct nn_mirror *norm,
			     struct nn_error *err)
{
	struct norms n = { o, block, norm->there };

	for_params(o, norm_of_param, &n);
	return o->ranks.cut ? nn_optimizer_join_squares(&o->ranks, o->queue, o->at, NULL, norm,
							(size_t)o->program->n_params, err)
			    : 0;
}

static void squares_of_param(void *arg, size_t i, int thread)
{
	struct norms *n = arg;
	size_t offset, packed, size = nn_dtype_size(n->o->device->dtype);

	(void)thread;
	if (nn_graph_place(n->o->graph, (int)i, &offset, &packed))
		n->o->device->sum_squares(n->o->queue, (const char *)n->block + offset * size,
					  packed, &n->norm[i]);
}

double nn_optimizer_squares(struct nn_optimizer *o, const void *block)
{
	struct norms n = { o, block, o->g_norm.there };
	double sum = 0;

	if (o->ranks.squares || o->ranks.cut)
		return NAN;
	for_params(o, squares_of_param, &n);
	nn_mirror_fetch(&o->g_norm, o->queue, 0, (size_t)o->program->n_params * sizeof sum);
	nn_queue_wait(o->queue, NULL);
	for (int p = 0; p < o->program->n_params; p++)
		sum += ((const double *)o->g_norm.host)[p];
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

/*
 * The update under way of elements at .. at + n - 1 of the block, which are among those whose slots
 * are here; without gradient.
 */
static struct nn_update of_run(const struct nn_optimizer *o, size_t at, size_t n)
{
	size_t size = nn_dtype_size(o->device->dtype);
	struct nn_update u = o->now;

	u.n = n;
	u.w = (char *)u.w + at * size;
	for (size_t k = 0; k < o->n_slots && n > 0; k++)
		u.slot[k] = (char *)nn_optimizer_slot(o, k) + (at - o->from) * size;
	return u;
}

/*
 * The update of the part of a parameter's run of the block that lies in [from, to): it begins at
 * *at. false: nothing does.
 */
static bool of_param(const struct nn_optimizer *o, int p, size_t from, size_t to,
		     struct nn_update *u, size_t *at)
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

/* ---- the parts ---- */

/* beta^step by squaring: no library's pow. */
static double power(double beta, uint64_t step)
{
	double result = 1;

	for (; step; step >>= 1, beta *= beta)
		if (step & 1)
			result *= beta;
	return result;
}

void nn_optimizer_begin(struct nn_optimizer *o, uint64_t step, double lr)
{
	struct nn_now *now = nn_graph_now(o->graph, 0);

	step -= o->scale.skipped;
	now->step = step;
	now->lr = lr;
	now->clip = 1 / o->scale.factor;
	now->hold = 0;
	now->correction[0] = 1 - power(o->update.beta1, step);
	now->correction[1] = 1 - power(o->update.beta2, step);
	nn_graph_send_now(o->graph);
	o->now = o->update;
	o->now.w = nn_graph_weights(o->graph);
	o->now.now = nn_graph_now_there(o->graph, 0);
}

bool nn_optimizer_wants_norm(const struct nn_optimizer *o)
{
	return o->options.clip_norm > 0 || o->scales ||
	       (nn_optimizer_has_trust_ratio(o) && !nn_optimizer_has_direction(o));
}

bool nn_optimizer_scales(const struct nn_optimizer *o)
{
	return o->scales;
}

void nn_optimizer_set_scale(struct nn_optimizer *o, const struct nn_loss_scale *scale)
{
	o->scale = *scale;
	if (!(o->scale.factor >= 1))
		o->scale.factor = NN_LOSS_SCALE;
}

double nn_optimizer_scale(const struct nn_optimizer *o)
{
	return o->scale.factor;
}

bool nn_loss_scale_next(struct nn_loss_scale *scale, double norm)
{
	if (!(scale->factor >= 1))
		scale->factor = NN_LOSS_SCALE;
	if (isfinite(norm)) {
		if (++scale->steps == NN_LOSS_SCALE_STEPS) {
			scale->factor *= 2;
			scale->steps = 0;
		}
		return true;
	}
	if (scale->factor == 1)
		return false;
	scale->factor /= 2;
	scale->steps = 0;
	scale->skipped++;
	return true;
}

int nn_optimizer_measure_gradient(struct nn_optimizer *o, const void *gradients,
				  struct nn_error *err)
{
	const struct nn_clip_call call = {
		.n = (size_t)o->program->n_params,
		.role = o->roles.there,
		.squares = o->g_norm.there,
		.work = o->work,
		.most = o->options.clip_norm,
		.norm = o->length.there,
		.now = nn_graph_now_there(o->graph, 0),
		.queue = o->queue,
	};

	if (squares_of_params(o, gradients, &o->g_norm, err) < 0 ||
	    nn_table_steps_squares(&o->tables, &o->ranks, &o->g_norm, err) < 0)
		return -1;
	if (o->ranks.squares &&
	    nn_optimizer_join_squares(&o->ranks, o->queue, NULL, NULL, &o->g_norm, call.n, err) < 0)
		return -1;
	o->device->clip(&call);
	if (o->scales)
		o->device->hold(o->queue, call.norm, 1, 1, call.now);
	nn_mirror_fetch(&o->length, o->queue, 0, sizeof(double));
	return 0;
}

double nn_optimizer_norm(const struct nn_optimizer *o)
{
	return *(const double *)o->length.host;
}

void nn_optimizer_use_norm(struct nn_optimizer *o, int side)
{
	nn_mirror_use(&o->length, side);
}

int nn_optimizer_tables(struct nn_optimizer *o, struct nn_error *err)
{
	return nn_table_steps_update(&o->tables, &o->ranks, &o->now, o->roles.there, &o->g_norm,
				     err);
}

bool nn_optimizer_has_direction(const struct nn_optimizer *o)
{
	return nn_optimizer_steps_along(o->options.kind);
}

void *nn_optimizer_direction(struct nn_optimizer *o)
{
	return o->direction;
}

void nn_optimizer_compute_direction(struct nn_optimizer *o, const void *gradients, size_t from,
				    size_t to)
{
	size_t size = nn_dtype_size(o->device->dtype), at;
	struct nn_update u;

	for (int p = 0; p < o->program->n_params; p++)
		if (of_param(o, p, from, to, &u, &at)) {
			u.g = (const char *)gradients + at * size;
			o->device->direction(&u, o->direction + at * size);
		}
}

bool nn_optimizer_has_trust_ratio(const struct nn_optimizer *o)
{
	return nn_optimizers[o->options.kind].ratio;
}

int nn_optimizer_measure_weights(struct nn_optimizer *o, struct nn_error *err)
{
	const struct nn_ratio_call call = {
		.kind = o->options.kind,
		.n = (size_t)o->program->n_params,
		.role = o->roles.there,
		.along = nn_optimizer_has_direction(o),
		.w = o->w_norm.there,
		.g = o->g_norm.there,
		.weight_decay = o->update.weight_decay,
		.now = nn_graph_now_there(o->graph, 0),
		.ratio = o->ratios.there,
		.queue = o->queue,
	};

	if (!nn_optimizer_has_trust_ratio(o))
		return 0;
	if (squares_of_params(o, o->now.w, &o->w_norm, err) < 0 ||
	    (nn_optimizer_has_direction(o) &&
	     squares_of_params(o, o->direction, &o->g_norm, err) < 0))
		return -1;
	o->device->ratio(&call);
	return 0;
}

void nn_optimizer_apply(const struct nn_optimizer *o, const void *gradients, size_t from, size_t to,
			struct nn_pool *pool)
{
	size_t size = nn_dtype_size(o->device->dtype), at;
	struct nn_update u;

	if (from == to)
		return;
	if (!nn_optimizer_has_trust_ratio(o)) {
		u = of_run(o, from, to - from);
		u.g = gradients;
		u.pool = pool;
		o->device->update(&u);
		return;
	}
	for (int p = 0; p < o->program->n_params; p++) {
		if (!of_param(o, p, from, to, &u, &at))
			continue;
		u.g = nn_optimizer_has_direction(o) ? o->direction + at * size
						    : (const char *)gradients + (at - from) * size;
		u.ratio = (const double *)o->ratios.there + p;
		u.pool = pool;
		o->device->update(&u);
	}
}

int nn_optimizer_update(struct nn_optimizer *o, bool norm, struct nn_error *err)
{
	const void *gradients = nn_graph_gradients(o->graph);

	if (nn_optimizer_shared(o))
		NN_BUG("the whole of what elements %zu to %zu are kept of", o->from, o->to);
	if ((norm || nn_optimizer_wants_norm(o)) &&
	    nn_optimizer_measure_gradient(o, gradients, err) < 0)
		return -1;
	if (nn_optimizer_tables(o, err) < 0)
		return -1;
	if (nn_optimizer_has_direction(o))
		nn_optimizer_compute_direction(o, gradients, 0, o->block);
	if (nn_optimizer_measure_weights(o, err) < 0)
		return -1;
	nn_optimizer_apply(o, gradients, 0, o->block, o->pool);
	nn_graph_refresh(o->graph);
	return 0;
}

bool nn_optimizer_is_elementwise(const struct nn_optimizer_options *o)
{
	return !(o->clip_norm > 0) && !nn_optimizers[o->kind].ratio;
}

int nn_optimizer_backward_update(struct nn_optimizer *o, const struct nn_span *span,
				 struct nn_error *err)
{
	const struct nn_update u = of_run(o, 0, o->block);

	nn_graph_backward_update(o->graph, span, &u);
	if (nn_graph_check(o->graph, err) < 0)
		return -1;
	nn_graph_sum_tables(o->graph, 0, span->n_leaves);
	if (nn_optimizer_tables(o, err) < 0)
		return -1;
	nn_graph_refresh(o->graph);
	return 0;
}
