/* The plan as one JSON object, key by key as outputs.md lists them. */
#include <math.h>

#include "base/json-text.h"
#include "model/model.h"
#include "plan/explain.h"
#include "plan/fit.h"

static void add_layer(struct nn_text *json, const struct nn_layer_cost *l)
{
	nn_json_put(json, "{");
	nn_json_add_count(json, "line", (uint64_t)l->line);
	nn_json_add_string(json, "name", l->name);
	nn_json_add_string(json, "layer", l->layer);
	nn_json_add(json, "output", "[");
	for (int d = 0; d < l->output.rank; d++)
		nn_json_put_count(json, l->output.dim[d]);
	nn_text_add(json, "]");
	nn_json_add_count(json, "parameters", l->parameters);
	nn_json_add_count(json, "forward_flops", l->forward_flops);
	nn_json_add_count(json, "train_flops", l->train_flops);
	nn_json_add_count(json, "activation_bytes", l->activation_bytes);
	nn_text_add(json, "}");
}

static void add_memory(struct nn_text *json, const struct nn_plan *plan)
{
	const struct nn_fit *fit = &plan->fit;

	nn_json_add(json, "memory", "{");
	for (size_t i = 0; i < nn_fit_n_items(fit); i++)
		nn_json_add_count(json, nn_fit_items[i].name, nn_fit_item(fit, i));
	if (plan->layout->on_host > 1)
		nn_json_add_count(json, "host", fit->host);
	nn_text_add(json, "}");
}

static void add_suggestions(struct nn_text *json, const struct nn_explain *e)
{
	nn_json_add(json, "suggestions", "[");
	for (size_t i = 0; i < e->n_suggestions; i++) {
		nn_json_put(json, "{");
		nn_json_add_string(json, "command", e->suggestions[i].command.data);
		nn_json_add_count(json, "total_bytes", e->suggestions[i].total);
		if (e->suggestions[i].device)
			nn_json_add_count(json, "device_bytes", e->suggestions[i].device);
		nn_text_add(json, "}");
	}
	nn_text_add(json, "]");
}

/* Names of layers with the member. */
static void add_relieved(struct nn_text *json, const struct nn_explain *e, size_t member)
{
	nn_json_add(json, "layers", "[");
	for (int i = 0; i < e->layers.n; i++)
		if (*(const bool *)((const char *)&e->layers.layer[i].relief + member))
			nn_json_put_string(json, e->layers.layer[i].name);
	nn_text_add(json, "]");
}

static void add_relief(struct nn_text *json, const struct nn_explain *e)
{
	const struct nn_recipe *recipe = e->plan->task->recipe;

	if (recipe->recompute) {
		nn_json_add(json, "recompute", "{");
		add_relieved(json, e, offsetof(struct nn_relief, recomputed));
		nn_json_add_count(json, "flops", e->plan->fit.again_flops);
		nn_text_add(json, "}");
	}
	if (recipe->offload) {
		nn_json_add(json, "offload", "{");
		add_relieved(json, e, offsetof(struct nn_relief, offloaded));
		nn_json_add_count(json, "bytes", e->plan->fit.spilled);
		nn_json_add_string(json, "folder", nn_offload_folder(recipe->offload_folder));
		nn_text_add(json, "}");
	}
}

static void add_time(struct nn_text *json, const struct nn_forecast *f)
{
	nn_json_add(json, "time", "{");
	nn_json_add_real(json, "step_s", f->step_s);
	nn_json_add_real(json, "epoch_s", f->epoch_s);
	nn_json_add_real(json, "total_s", f->total_s);
	nn_json_add_string(json, "measured", isnan(f->step_s) ? NULL : f->basis);
	nn_text_add(json, "}");
}

static void add_ranks(struct nn_text *json, const struct nn_explain *e)
{
	const struct nn_scaling *s = e->scaling;

	nn_json_add(json, "ranks", "[");
	for (size_t i = 0; i < s->n; i++) {
		nn_json_put(json, "{");
		nn_json_add_count(json, "ranks", (uint64_t)s->rows[i].ranks);
		nn_json_add_real(json, "step_s", s->rows[i].step_s);
		nn_json_add_real(json, "speedup", s->rows[i].speedup);
		nn_text_add(json, "}");
	}
	nn_text_add(json, "]");
	nn_json_add(json, "strategy", "{");
	nn_json_add_string(json, "name", nn_layout_name(e->plan->layout));
	nn_json_add_string(json, "why", s->why.data);
	if (isfinite(e->plan->forecast.bytes))
		nn_json_add_real(json, "step_bytes", e->plan->forecast.bytes);
	nn_text_add(json, "}");
}

void nn_explain_json(const struct nn_explain *e, struct nn_text *json)
{
	const struct nn_plan *plan = e->plan;

	nn_json_put(json, "{");
	nn_json_add_string(json, "model", nn_net_text(plan->task->net));
	if (nn_augment_list(plan->task->augment))
		nn_json_add_string(json, "augment", nn_augment_list(plan->task->augment));
	nn_json_add(json, "layers", "[");
	for (int i = 0; i < e->layers.n; i++)
		add_layer(json, &e->layers.layer[i]);
	nn_text_add(json, "]");
	nn_json_add_count(json, "parameters", e->layers.parameters);
	nn_json_add_count(json, "batch", plan->task->recipe->batch);
	nn_json_add_count(json, "micro_batch", plan->fit.micro);
	nn_json_add_count(json, "leaves", plan->task->recipe->leaves);
	add_memory(json, plan);
	nn_json_add_count(json, "largest_batch", e->largest_batch);
	nn_json_add(json, "fits", plan->fit.fits ? "true" : "false");
	add_suggestions(json, e);
	add_time(json, &plan->forecast);
	add_ranks(json, e);
	nn_critical_json(&e->critical, &e->layers, json);
	add_relief(json, e);
	nn_text_add(json, "}\n");
}
