/* Rates as answers of base/cache.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cache.h"
#include "model/model.h"
#include "plan/rates.h"

#define FILE_NAME "rates"

static void add_key(struct nn_text *key, const struct nn_plan *plan)
{
	const struct nn_recipe *o = plan->task->recipe;

	nn_text_addf(key, "train %s %s f%zu threads=%d", plan->task->device->name,
		     plan->task->device->kind, 8 * nn_dtype_size(plan->task->device->dtype),
		     nn_pool_threads(plan->task->pool));
	nn_text_addf(key, " batch=%llu micro=%zu leaves=%llu %s%s%s rows=%llu valid=%llu ",
		     (unsigned long long)o->batch, plan->fit.micro, (unsigned long long)o->leaves,
		     nn_optimizers[o->optimizer].name, o->momentum != 0 ? "+momentum" : "",
		     plan->budget->keeps_state ? " state" : "",
		     (unsigned long long)plan->task->n_rows,
		     (unsigned long long)plan->task->n_valid);
	if (plan->fit.again_flops)
		nn_text_addf(key, "again=%llu ", (unsigned long long)plan->fit.again_flops);
	if (plan->fit.spilled)
		nn_text_addf(key, "offload=%zu ", plan->fit.spilled);
	if (nn_layout_n_sharers(plan->layout) * nn_layout_parts(plan->layout) > 1)
		nn_text_addf(
			key, "ranks=%d strategy=%s pipeline=%s tensor=%d shard=%d ",
			nn_layout_n_sharers(plan->layout) * nn_layout_parts(plan->layout),
			plan->layout->options->strategy ? plan->layout->options->strategy : "sync",
			plan->layout->options->pipeline ? plan->layout->options->pipeline : "1",
			nn_tensor_ranks(plan->layout), plan->layout->options->shard_optimizer);
	nn_text_add(key, nn_net_text(plan->task->net));
}

bool nn_rate_get(const struct nn_plan *plan, struct nn_rate *rate)
{
	struct nn_text key = { 0 };
	char value[NN_CACHE_VALUE], how[8];
	struct nn_rate r;
	bool found;

	add_key(&key, plan);
	found = !key.failed && nn_cache_get(FILE_NAME, key.data, value) == NN_CACHE_FOUND &&
		sscanf(value, "%7s %lf %lf %lf", how, &r.step_s, &r.extra_s, &r.once_s) == 4 &&
		r.step_s > 0 && isfinite(r.step_s);
	nn_text_free(&key);
	if (found) {
		*rate = r;
		rate->ran = strcmp(how, "ran") == 0;
	}
	return found;
}

void nn_rate_put(const struct nn_plan *plan, const struct nn_rate *rate)
{
	struct nn_text key = { 0 }, value = { 0 };

	add_key(&key, plan);
	nn_text_addf(&value, "%s %.6g %.6g %.6g", rate->ran ? "ran" : "tried", rate->step_s,
		     rate->extra_s, rate->once_s);
	if (!key.failed && !value.failed)
		nn_cache_put(FILE_NAME, key.data, value.data, NULL);
	nn_text_free(&key);
	nn_text_free(&value);
}
