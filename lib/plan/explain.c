/* A plan as text for people: a table of layers, then memory and time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "base/text.h"
#include "model/model.h"
#include "parallel/grid.h"
#include "parallel/step-options.h"
#include "plan/explain.h"
#include "plan/fit.h"

#define FIGURE NN_GROUPED /* or a duration */

const char *nn_placement(char text[NN_PLACEMENT], int ranks, int threads)
{
	int cores = nn_cpu_count();

	snprintf(text, NN_PLACEMENT, "%d rank%s x %d thread%s on %d core%s", ranks, nn_s(ranks),
		 threads, nn_s(threads), cores, nn_s(cores));
	return text;
}

static int longer(int width, const char *text)
{
	return (int)strlen(text) > width ? (int)strlen(text) : width;
}

/* Columns of the table of layers. */
enum { NAME, LAYER, OUTPUT, PARAMETERS, FORWARD, TRAIN, BYTES, COLUMNS };

static const char *const headings[COLUMNS] = { "name",         "layer",      "output", "parameters",
					       "forward FLOP", "train FLOP", "bytes" };
/* At least, where there is room for all. */
static const int roomy[COLUMNS] = { [PARAMETERS] = 15, [FORWARD] = 18, [TRAIN] = 18, [BYTES] = 12 };
static const int drop[COLUMNS] = { [OUTPUT] = 2, [FORWARD] = 4, [TRAIN] = 1, [BYTES] = 3 };

/* A row of the table: -1 the heading, n_layers the sums. */
static void layer_cells(const struct nn_explain *e, int row, char cell[COLUMNS][NN_SHAPE_TEXT])
{
	uint64_t forward = 0, train = 0;

	for (int c = 0; c < COLUMNS; c++)
		snprintf(cell[c], NN_SHAPE_TEXT, "%s", row < 0 ? headings[c] : "");
	if (row < 0)
		return;
	if (row < e->layers.n) {
		const struct nn_layer_cost *l = &e->layers.layer[row];

		snprintf(cell[NAME], NN_SHAPE_TEXT, "%s", l->name);
		snprintf(cell[LAYER], NN_SHAPE_TEXT, "%s", l->layer);
		nn_shape_text(cell[OUTPUT], &l->output);
		nn_grouped(cell[PARAMETERS], l->parameters);
		nn_grouped(cell[FORWARD], l->forward_flops);
		nn_grouped(cell[TRAIN], l->train_flops);
		nn_grouped(cell[BYTES], l->activation_bytes);
		return;
	}
	for (int i = 0; i < e->layers.n; i++) {
		forward += e->layers.layer[i].forward_flops;
		train += e->layers.layer[i].train_flops;
	}
	nn_grouped(cell[PARAMETERS], e->layers.parameters);
	nn_grouped(cell[FORWARD], forward);
	nn_grouped(cell[TRAIN], train);
}

/* Widths of columns, 0: left out. On a terminal that is too narrow they are no wider than they
 * must. */
static void fit_layers(const struct nn_explain *e, int width[COLUMNS])
{
	char cell[COLUMNS][NN_SHAPE_TEXT];
	int tight[COLUMNS] = { 0 };

	for (int row = -1; row <= e->layers.n; row++) {
		layer_cells(e, row, cell);
		for (int c = 0; c < COLUMNS; c++)
			tight[c] = longer(tight[c], cell[c]);
	}
	for (int c = 0; c < COLUMNS; c++)
		width[c] = tight[c] > roomy[c] ? tight[c] : roomy[c];
	if (!e->columns || nn_columns_width(width, COLUMNS) <= e->columns)
		return;
	memcpy(width, tight, sizeof tight);
	nn_columns_drop(width, drop, COLUMNS, e->columns);
}

static void add_layers(const struct nn_explain *e, struct nn_text *text)
{
	static const char all[] = "all (FLOP and bytes of one sample)";
	char cell[COLUMNS][NN_SHAPE_TEXT];
	int width[COLUMNS], first;

	fit_layers(e, width);
	for (int row = -1; row <= e->layers.n; row++) {
		layer_cells(e, row, cell);
		first = row == e->layers.n ? PARAMETERS : NAME;
		if (first == PARAMETERS) {
			int room = width[NAME] + width[LAYER] + 2 +
				   (width[OUTPUT] > 0 ? width[OUTPUT] + 2 : 0);

			nn_text_addf(text, "%-*s", room,
				     e->columns && (int)strlen(all) > room ? "all" : all);
		}
		for (int c = first; c < COLUMNS; c++)
			if (width[c] > 0 && (row < e->layers.n || *cell[c]))
				nn_text_addf(text, "%s%*s", c > NAME ? "  " : "",
					     c < PARAMETERS ? -width[c] : width[c], cell[c]);
		nn_text_add(text, "\n");
	}
}

/* An item of memory and what it is, on a terminal as far as that fits. */
static void add_item(const struct nn_explain *e, struct nn_text *text, const char *name,
		     size_t bytes, const char *what)
{
	char number[FIGURE];
	bool narrow = e->columns && e->columns < 2 + 22 + 2 + 20 + 2 + (int)strlen(what);

	nn_text_addf(text, narrow ? "  %-22s  %*s" : "  %-22s  %*s  ", name,
		     narrow && e->columns < 46 ? e->columns - 26 : 20, nn_grouped(number, bytes));
	nn_text_addf(text, "%s\n", narrow ? "" : what);
}

static void add_memory(const struct nn_explain *e, struct nn_text *text)
{
	const struct nn_plan *plan = e->plan;
	const struct nn_fit *fit = &plan->fit;
	char b[FIGURE], host[64];

	nn_text_addf(text,
		     "\nmemory%s in bytes, %zu of %llu sample%s of a step at once (%llu lea%s)\n",
		     plan->layout->on_host > 1 ? " of a rank" : "", fit->micro,
		     (unsigned long long)plan->task->recipe->batch, nn_s(plan->task->recipe->batch),
		     (unsigned long long)plan->task->recipe->leaves,
		     plan->task->recipe->leaves == 1 ? "f" : "ves");
	for (size_t i = 0; i < nn_fit_n_items(fit); i++)
		add_item(e, text, nn_fit_items[i].name, nn_fit_item(fit, i), nn_fit_items[i].what);
	snprintf(host, sizeof host, "all %d ranks of this host, what they share once",
		 plan->layout->on_host);
	if (plan->layout->on_host > 1)
		add_item(e, text, "host", fit->host, host);
	nn_text_addf(text, "%s; the most samples that fit at once: %s%s\n",
		     fit->fits ? "fits" : "does not fit", nn_grouped(b, e->largest_batch),
		     e->largest_batch ? "; a larger --batch is trained in pieces" : "");
	for (size_t i = 0; i < e->n_suggestions; i++)
		nn_suggest_line(text, &e->suggestions[i]);
	if (!fit->fits && e->n_suggestions < NN_SUGGESTIONS)
		nn_text_addf(text, "%s\n", nn_suggest_few(e->n_suggestions));
}

/* Names of layers with the member, or why there are none. */
static void add_relieved(const struct nn_explain *e, struct nn_text *text, size_t member,
			 size_t level)
{
	bool some = false;

	for (int i = 0; i < e->layers.n; i++)
		if (*(const bool *)((const char *)&e->layers.layer[i].relief + member)) {
			nn_text_addf(text, "%s %s", some ? "," : "", e->layers.layer[i].name);
			some = true;
		}
	nn_text_add(text, some                ? ""
			  : level == SIZE_MAX ? " nothing, it fits without"
					      : " nothing, that would take no less");
}

/* What --recompute drops and --offload writes, and what that costs. */
static void add_relief(const struct nn_explain *e, struct nn_text *text)
{
	const struct nn_recipe *recipe = e->plan->task->recipe;
	const struct nn_fit *fit = &e->plan->fit;
	char number[FIGURE];

	if (recipe->recompute) {
		nn_text_add(text, "dropped after forward and computed again in backward:");
		add_relieved(e, text, offsetof(struct nn_relief, recomputed), fit->recompute);
		nn_text_addf(text, " (%s FLOP more for a sample)\n",
			     nn_grouped(number, fit->again_flops));
	}
	if (recipe->offload) {
		nn_text_add(text, "written after forward and read back in backward:");
		add_relieved(e, text, offsetof(struct nn_relief, offloaded), fit->offload);
		nn_text_addf(text, " (%s bytes in %s)\n", nn_grouped(number, fit->spilled),
			     nn_offload_folder(recipe->offload_folder));
	}
}

static void add_time(const struct nn_explain *e, struct nn_text *text)
{
	const struct nn_plan *plan = e->plan;
	const struct nn_forecast *f = &plan->forecast;
	int sharers = plan->layout->as.ranks > 0 ? plan->layout->as.ranks : 1;
	char a[FIGURE], placement[NN_PLACEMENT];

	nn_text_add(text, "\n");
	if (plan->task->rows_unknown)
		nn_text_add(text, "samples: not known without DATA\n");
	else
		nn_text_addf(text, "samples: %s%s, %llu step%s an epoch\n",
			     plan->task->rows_about ? "about " : "",
			     nn_grouped(a, plan->task->n_rows),
			     (unsigned long long)plan->task->steps_per_epoch,
			     nn_s(plan->task->steps_per_epoch));
	if (isnan(f->step_s)) {
		nn_text_addf(text, "time: %s\n", f->basis);
	} else {
		nn_text_addf(text, "time: a step %s", nn_duration(a, f->step_s));
		if (!isnan(f->epoch_s))
			nn_text_addf(text, ", an epoch %s%s",
				     plan->task->rows_about ? "about " : "",
				     nn_duration(a, f->epoch_s));
		if (!isnan(f->total_s))
			nn_text_addf(text, ", all %s%s", plan->task->rows_about ? "about " : "",
				     nn_duration(a, f->total_s));
		nn_text_addf(text, " (%s)\n", f->basis);
	}
	if (nn_augment_list(plan->task->augment))
		nn_text_addf(text, "augmentation: %s\n", nn_augment_list(plan->task->augment));
	if (strchr(plan->task->device->name, '+'))
		nn_text_addf(text,
			     "device: %s: products of dense layers and convolutions by cuBLASLt, "
			     "whose bytes are those of a kind of device\n",
			     plan->task->device->name);
	nn_text_addf(text, "placement: %s\n",
		     nn_placement(placement, sharers * nn_layout_parts(plan->layout),
				  e->scaling->threads));
}

static void add_ranks(const struct nn_explain *e, struct nn_text *text)
{
	const struct nn_scaling *s = e->scaling;
	char step[FIGURE];

	nn_text_add(text,
		    nn_layout_in_parts(e->plan->layout) ? "" : "\nranks       step  speedup\n");
	for (size_t i = 0; i < s->n && !nn_layout_in_parts(e->plan->layout); i++) {
		const struct nn_scaling_row *row = &s->rows[i];

		if (!row->possible)
			nn_text_addf(text, "%5d  not possible: a batch has %llu lea%s\n",
				     row->ranks, (unsigned long long)e->plan->task->recipe->leaves,
				     e->plan->task->recipe->leaves == 1 ? "f" : "ves");
		else if (isnan(row->step_s))
			nn_text_addf(text, "%5d  %9s  %7s\n", row->ranks, "-", "-");
		else
			nn_text_addf(text, "%5d  %9s  %7.2f\n", row->ranks,
				     nn_duration(step, row->step_s), row->speedup);
	}
	nn_text_addf(text, "strategy %s: %s", nn_layout_name(e->plan->layout),
		     s->why.data ? s->why.data : "");
	nn_text_addf(text, "%s%s%s\n", *s->basis ? " (" : "", s->basis, *s->basis ? ")" : "");
}

void nn_explain_text(const struct nn_explain *e, struct nn_text *text)
{
	nn_text_addf(text, "%s\n", nn_net_text(e->plan->task->net));
	add_layers(e, text);
	nn_critical_text(&e->critical, &e->layers, text);
	add_memory(e, text);
	add_relief(e, text);
	add_time(e, text);
	add_ranks(e, text);
}

/* Of all stages; ranks that share columns do the same. */
static int find_relief(struct nn_explain *e, struct nn_error *err)
{
	const struct nn_plan *plan = e->plan;
	struct nn_pipe *pipe = plan->layout->comm ? NULL : plan->layout->pipe;
	struct nn_relief *lines = nn_alloc((size_t)e->layers.n, sizeof *lines, err);
	int status = lines ? 0 : -1;

	for (int i = 0; i < (pipe ? pipe->stages : 1) && status == 0; i++) {
		struct nn_step_options step;

		if (pipe)
			pipe->stage = i;
		step = nn_layout_step(plan->layout, plan->task, plan->fit.micro);
		step.recompute = plan->fit.recompute;
		step.offload = plan->fit.offload;
		status = nn_step_relieved(&step, lines, e->layers.n, err);
	}
	for (int i = 0; i < e->layers.n && status == 0; i++)
		e->layers.layer[i].relief = lines[i];
	nn_free(lines);
	return status;
}

int nn_explain_make(struct nn_explain *e, const struct nn_plan *plan,
		    const struct nn_command *command, struct nn_error *err)
{
	*e = (struct nn_explain){ .plan = plan };
	if (nn_layers_make(&e->layers, plan->task, err) < 0 ||
	    nn_critical_make(&e->critical, &e->layers, plan->task->program, err) < 0 ||
	    nn_fit_largest(plan, &plan->fit, &e->largest_batch, err) < 0)
		return -1;
	if ((plan->fit.again_flops || plan->fit.spilled) && find_relief(e, err) < 0)
		return -1;
	if (!plan->fit.fits)
		e->n_suggestions = nn_suggest(plan, command, e->suggestions);
	return 0;
}

void nn_explain_free(struct nn_explain *e)
{
	for (size_t i = 0; i < e->n_suggestions; i++)
		nn_text_free(&e->suggestions[i].command);
	nn_critical_free(&e->critical);
	nn_layers_free(&e->layers);
}
