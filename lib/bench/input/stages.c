/* Rows and picture of an input's stages. */
#include <math.h>
#include <string.h>

#include "bench/input/stages.h"
#include "chart/chart.h"

const struct nn_report_column nn_input_columns[] = {
	{ "stage", 11, 0 },        { "phase", 5, 3 },
	{ "workers", 0, 0 },       { "most", 0, 4 },
	{ "samples", 0, 2 },       { "busy_share", 0, 0 },
	{ "queue", 0, 0 },         { "sample_s", 0, 0 },
	{ "samples_per_s", 0, 0 }, { "predicted_samples_per_s", 0, 1 },
	{ "memory_bytes", 0, 1 },  { NULL, 0, 0 },
};

void nn_input_stages_add(struct nn_input_stages *s, const char *phase,
			 const struct nn_stage_figures *figures)
{
	if (s->n < NN_INPUT_STAGES)
		s->stage[s->n++] = (struct nn_input_stage){ phase, *figures };
}

void nn_input_stages_start(struct nn_input_stages *s, const char *name, uint64_t samples,
			   double seconds)
{
	struct nn_stage_figures figures = {
		.name = name,
		.rows = samples,
		.busy = NAN,
		.queue = NAN,
		.row_s = seconds / (double)samples,
		.rows_per_s = (double)samples / seconds,
	};

	if (!isnan(seconds))
		nn_input_stages_add(s, "start", &figures);
}

const struct nn_stage_figures *nn_input_stages_slowest(const struct nn_input_stages *s)
{
	const struct nn_stage_figures *slowest = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct nn_stage_figures *f = &s->stage[i].figures;

		if (strcmp(s->stage[i].phase, "epoch") == 0 &&
		    (!slowest || f->busy > slowest->busy))
			slowest = f;
	}
	return slowest;
}

static int put_stage(const struct nn_input_stage *s, struct nn_report *r, struct nn_error *err)
{
	const struct nn_stage_figures *f = &s->figures;

	nn_report_text(r, "stage", f->name);
	nn_report_text(r, "phase", s->phase);
	if (f->workers > 0) {
		nn_report_count(r, "workers", (uint64_t)f->workers);
		nn_report_count(r, "most", (uint64_t)f->most);
	}
	nn_report_count(r, "samples", f->rows);
	nn_report_real(r, "busy_share", f->busy);
	nn_report_real(r, "queue", f->queue);
	nn_report_real(r, "sample_s", f->row_s);
	nn_report_real(r, "samples_per_s", f->rows_per_s);
	return nn_report_row(r, err);
}

int nn_input_stages_put(const struct nn_input_stages *s, struct nn_report *r, struct nn_error *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (put_stage(&s->stage[i], r, err) < 0)
			return -1;
	nn_report_text(r, "stage", "all");
	nn_report_text(r, "phase", "epoch");
	nn_report_count(r, "samples", s->samples);
	nn_report_real(r, "sample_s", 1 / s->achieved);
	nn_report_real(r, "samples_per_s", s->achieved);
	nn_report_real(r, "predicted_samples_per_s", s->predicted);
	if (s->bytes)
		nn_report_count(r, "memory_bytes", s->bytes);
	return nn_report_row(r, err);
}

int nn_input_stages_plot(const struct nn_input_stages *s, const char *title, const char *note,
			 struct nn_output *output, struct nn_error *err)
{
	struct nn_chart_mark marks[NN_INPUT_STAGES + 1];
	struct nn_chart_panel panel = {
		.y = { .title = "samples a second", .unit = "", .scale = NN_CHART_LOG10 },
		.marks = marks
	};
	const struct nn_chart chart = {
		.title = title,
		.note = note,
		.x = { .title = "stage", .whole = true, .from = 0.5, .to = (double)s->n + 0.5 },
		.panels = &panel,
		.n_panels = 1
	};
	struct nn_text text = { 0 };
	int status;

	for (size_t i = 0; i < s->n; i++)
		marks[panel.n_marks++] = (struct nn_chart_mark){ NN_CHART_DOT, (double)(i + 1),
								 s->stage[i].figures.rows_per_s,
								 s->stage[i].figures.name };
	marks[panel.n_marks++] = (struct nn_chart_mark){ NN_CHART_AT_Y, 0, s->achieved, "all" };
	status = nn_chart_svg(&chart, &text, err);
	if (status == 0)
		status = nn_output_write(output, text.data, text.length, err);
	nn_text_free(&text);
	return status;
}
