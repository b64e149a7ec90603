/* The plan as one JSON object, key by key as outputs.md lists them. */
#include <math.h>
#include <string.h>

#include "train/plan/explain.h"

/* What separates a member or element from the one before, where there is one. */
static void add_comma(struct nn_text *json)
{
	if (!strchr("{[", json->data[json->length - 1]))
		nn_text_add(json, ",");
}

static void add_key(struct nn_text *json, const char *key)
{
	add_comma(json);
	nn_text_addf(json, "\"%s\":", key);
}

static void add_count(struct nn_text *json, const char *key, uint64_t value)
{
	add_key(json, key);
	nn_text_addf(json, "%llu", (unsigned long long)value);
}

static void add_string(struct nn_text *json, const char *key, const char *value)
{
	add_key(json, key);
	if (value)
		nn_text_add_json(json, value, strlen(value));
	else
		nn_text_add(json, "null");
}

static void add_real(struct nn_text *json, const char *key, double value)
{
	add_key(json, key);
	nn_json_real(json, value);
}

static void add_layer(struct nn_text *json, const struct nn_layer_cost *l)
{
	add_comma(json);
	nn_text_add(json, "{");
	add_count(json, "line", (uint64_t)l->line);
	add_string(json, "name", l->name);
	add_string(json, "layer", l->layer);
	add_key(json, "output");
	nn_text_add(json, "[");
	for (int d = 0; d < l->output.rank; d++)
		nn_text_addf(json, "%s%zu", d ? "," : "", l->output.dim[d]);
	nn_text_add(json, "]");
	add_count(json, "parameters", l->parameters);
	add_count(json, "forward_flops", l->forward_flops);
	add_count(json, "train_flops", l->train_flops);
	add_count(json, "activation_bytes", l->activation_bytes);
	nn_text_add(json, "}");
}

static void add_memory(struct nn_text *json, const struct nn_train *t)
{
	const struct nn_fit *fit = &t->fit;

	add_key(json, "memory");
	nn_text_add(json, "{");
	for (size_t i = 0; i < NN_FIT_ITEMS; i++)
		add_count(json, nn_fit_items[i].name, nn_fit_item(fit, i));
	if (t->on_host > 1)
		add_count(json, "host", fit->host);
	nn_text_add(json, "}");
}

static void add_suggestions(struct nn_text *json, const struct nn_explain *e)
{
	add_key(json, "suggestions");
	nn_text_add(json, "[");
	for (size_t i = 0; i < e->n_suggestions; i++) {
		add_comma(json);
		nn_text_add(json, "{");
		add_string(json, "command", e->suggestions[i].command.data);
		add_count(json, "total_bytes", e->suggestions[i].total);
		nn_text_add(json, "}");
	}
	nn_text_add(json, "]");
}

static void add_time(struct nn_text *json, const struct nn_forecast *f)
{
	add_key(json, "time");
	nn_text_add(json, "{");
	add_real(json, "step_s", f->step_s);
	add_real(json, "epoch_s", f->epoch_s);
	add_real(json, "total_s", f->total_s);
	add_string(json, "measured", *f->basis && !isnan(f->step_s) ? f->basis : NULL);
	nn_text_add(json, "}");
}

static void add_ranks(struct nn_text *json, const struct nn_explain *e)
{
	const struct nn_scaling *s = e->scaling;

	add_key(json, "ranks");
	nn_text_add(json, "[");
	for (size_t i = 0; i < s->n; i++) {
		add_comma(json);
		nn_text_add(json, "{");
		add_count(json, "ranks", (uint64_t)s->rows[i].ranks);
		add_real(json, "step_s", s->rows[i].step_s);
		add_real(json, "speedup", s->rows[i].speedup);
		nn_text_add(json, "}");
	}
	nn_text_add(json, "]");
	add_key(json, "strategy");
	nn_text_add(json, "{");
	add_string(json, "name", nn_strategy_asked(e->train));
	add_string(json, "why", s->why.data);
	if (isfinite(e->train->forecast.bytes))
		add_real(json, "step_bytes", e->train->forecast.bytes);
	nn_text_add(json, "}");
}

void nn_explain_json(const struct nn_explain *e, struct nn_text *json)
{
	const struct nn_train *t = e->train;

	nn_text_add(json, "{");
	add_string(json, "model", nn_net_text(t->net));
	add_key(json, "layers");
	nn_text_add(json, "[");
	for (int i = 0; i < e->layers.n; i++)
		add_layer(json, &e->layers.layer[i]);
	nn_text_add(json, "]");
	add_count(json, "parameters", e->layers.parameters);
	add_count(json, "batch", t->options->batch);
	add_count(json, "micro_batch", t->fit.micro);
	add_count(json, "leaves", t->options->leaves);
	add_memory(json, t);
	add_count(json, "largest_batch", e->largest_batch);
	add_key(json, "fits");
	nn_text_add(json, t->fit.fits ? "true" : "false");
	add_suggestions(json, e);
	add_time(json, &t->forecast);
	add_ranks(json, e);
	nn_text_add(json, "}\n");
}
