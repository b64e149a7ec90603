/* The plan as one JSON object, key by key as outputs.md lists them. */
#include <string.h>

#include "train/explain.h"

static void add_count(struct nn_text *json, const char *key, uint64_t value)
{
	nn_text_addf(json, "\"%s\":%llu", key, (unsigned long long)value);
}

static void add_string(struct nn_text *json, const char *key, const char *value)
{
	nn_text_addf(json, "\"%s\":", key);
	if (value)
		nn_text_add_json(json, value, strlen(value));
	else
		nn_text_add(json, "null");
}

static void add_real(struct nn_text *json, const char *key, double value)
{
	nn_text_addf(json, "\"%s\":", key);
	nn_json_real(json, value);
}

static void add_layer(struct nn_text *json, const struct nn_explain_layer *l)
{
	nn_text_add(json, "{");
	add_count(json, "line", (uint64_t)l->line);
	nn_text_add(json, ",");
	add_string(json, "name", l->name);
	nn_text_add(json, ",");
	add_string(json, "layer", l->layer);
	nn_text_add(json, ",\"output\":[");
	for (int d = 0; d < l->output.rank; d++)
		nn_text_addf(json, "%s%zu", d ? "," : "", l->output.dim[d]);
	nn_text_add(json, "],");
	add_count(json, "parameters", l->parameters);
	nn_text_add(json, ",");
	add_count(json, "forward_flops", l->forward_flops);
	nn_text_add(json, ",");
	add_count(json, "train_flops", l->train_flops);
	nn_text_add(json, ",");
	add_count(json, "activation_bytes", l->activation_bytes);
	nn_text_add(json, "}");
}

static void add_memory(struct nn_text *json, const struct nn_fit *fit)
{
	nn_text_add(json, ",\"memory\":{");
	for (size_t i = 0; i < NN_FIT_ITEMS; i++) {
		nn_text_add(json, i ? "," : "");
		add_count(json, nn_fit_items[i].name, nn_fit_item(fit, i));
	}
	nn_text_add(json, "}");
}

static void add_suggestions(struct nn_text *json, const struct nn_explain *e)
{
	nn_text_add(json, ",\"suggestions\":[");
	for (size_t i = 0; i < e->n_suggestions; i++) {
		nn_text_add(json, i ? ",{" : "{");
		add_string(json, "command", e->suggestions[i].command.data);
		nn_text_add(json, ",");
		add_count(json, "total_bytes", e->suggestions[i].total);
		nn_text_add(json, "}");
	}
	nn_text_add(json, "]");
}

static void add_time(struct nn_text *json, const struct nn_forecast *f)
{
	nn_text_add(json, ",\"time\":{");
	add_real(json, "step_s", f->step_s);
	nn_text_add(json, ",");
	add_real(json, "epoch_s", f->epoch_s);
	nn_text_add(json, ",");
	add_real(json, "total_s", f->total_s);
	nn_text_add(json, ",");
	add_string(json, "measured", *f->basis ? f->basis : NULL);
	nn_text_add(json, "},\"ranks\":[{\"ranks\":1,");
	add_real(json, "step_s", f->step_s);
	nn_text_add(json, ",\"speedup\":1}]");
}

void nn_explain_json(const struct nn_explain *e, struct nn_text *json)
{
	const struct nn_train *t = e->train;

	nn_text_add(json, "{");
	add_string(json, "model", nn_net_text(t->net));
	nn_text_add(json, ",\"layers\":[");
	for (int i = 0; i < e->n_layers; i++) {
		nn_text_add(json, i ? "," : "");
		add_layer(json, &e->layers[i]);
	}
	nn_text_add(json, "],");
	add_count(json, "parameters", e->parameters);
	nn_text_add(json, ",");
	add_count(json, "batch", t->options->batch);
	nn_text_add(json, ",");
	add_count(json, "micro_batch", t->fit.micro);
	nn_text_add(json, ",");
	add_count(json, "leaves", t->options->leaves);
	add_memory(json, &t->fit);
	nn_text_add(json, ",");
	add_count(json, "largest_batch", e->largest_batch);
	nn_text_addf(json, ",\"fits\":%s", t->fit.fits ? "true" : "false");
	add_suggestions(json, e);
	add_time(json, &t->forecast);
	nn_text_add(json, ",\"strategy\":{\"name\":\"sync\",\"why\":\"one process: nothing is exchanged\"}}\n");
}
