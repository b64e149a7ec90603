/* Rates as answers of base/cache.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cache.h"
#include "base/number.h"
#include "model/model.h"
#include "plan/rates.h"

#define FILE_NAME "rates"

/* Up to n numbers between blanks; how many there were. "-" is NaN. */
static size_t numbers(const char *text, double *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t length = strcspn(text, " ");

		if (length == 1 && *text == '-')
			values[i] = NAN;
		else if (!nn_parse_f64(text, length, &values[i]))
			return i;
		text += length + (text[length] == ' ');
	}
	return n;
}

static void add_number(struct nn_text *text, double value)
{
	if (isfinite(value))
		nn_text_addf(text, " %.6g", value);
	else
		nn_text_add(text, " -");
}

static void add_device(struct nn_text *key, const struct nn_plan *plan)
{
	nn_text_addf(key, "%s %s f%zu threads=%d", plan->task->device->name,
		     plan->task->device->kind, 8 * nn_dtype_size(plan->task->device->dtype),
		     nn_pool_threads(plan->task->pool));
}

static void add_key(struct nn_text *key, const struct nn_plan *plan)
{
	const struct nn_recipe *o = plan->task->recipe;

	nn_text_add(key, "train ");
	add_device(key, plan);
	nn_text_addf(key, " batch=%llu micro=%zu leaves=%llu %s%s%s rows=%llu valid=%llu ",
		     (unsigned long long)o->batch, plan->fit.micro, (unsigned long long)o->leaves,
		     nn_optimizers[o->optimizer].name, o->momentum != 0 ? "+momentum" : "",
		     plan->budget->keeps_state ? " state" : "",
		     (unsigned long long)plan->task->n_rows,
		     (unsigned long long)plan->task->n_valid);
	if (plan->fit.again_flops)
		nn_text_addf(key, "again=%llu ", (unsigned long long)plan->fit.again_flops);
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
	char value[NN_CACHE_VALUE];
	double n[3];
	bool found;

	add_key(&key, plan);
	found = !key.failed && nn_cache_get(FILE_NAME, key.data, value) == NN_CACHE_FOUND &&
		strchr(value, ' ') && numbers(strchr(value, ' ') + 1, n, 3) == 3 && n[0] > 0;
	nn_text_free(&key);
	if (found)
		*rate = (struct nn_rate){ n[0], n[1], n[2], strncmp(value, "ran ", 4) == 0 };
	return found;
}

void nn_rate_put(const struct nn_plan *plan, const struct nn_rate *rate)
{
	struct nn_text key = { 0 }, value = { 0 };

	add_key(&key, plan);
	nn_text_add(&value, rate->ran ? "ran" : "tried");
	add_number(&value, rate->step_s);
	add_number(&value, rate->extra_s);
	add_number(&value, rate->once_s);
	if (!key.failed && !value.failed)
		nn_cache_put(FILE_NAME, key.data, value.data, NULL);
	nn_text_free(&key);
	nn_text_free(&value);
}
