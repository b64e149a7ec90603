/* nn-bench ops MODEL: FLOP, bytes and intensity of each layer, what bounds it, and the picture. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chart/chart.h"
#include "base/memory.h"
#include "bench/op/trial.h"
#include "bench/machine/roof.h"
#include "bench/roofline.h"
#include "bench/trial.h"
#include "graph/bound.h"
#include "op/notation.h"

#define LAYER_S 1 /* of a figure at most where --time is not given */
/* a layer that is faster than this and far from its roof is bound by being called at all */
#define LATENCY_S 1e-5
#define LATENCY_SHARE 0.2
/* of a device with memory of its own: what is faster than its memory lies in a cache */
#define CACHED 1.25
#define AT_ONCE 16 /* calls that such a device is asked for before it is waited for */

static const struct nn_report_column columns[] = {
	{ "layer", 12, 0 },    { "op", 16, 1 },        { "shape", 34, 0 },  { "device", 6, 7 },
	{ "kernel", 6, 5 },    { "dtype", 5, 8 },      { "flop", 0, 6 },    { "bytes", 0, 4 },
	{ "intensity", 0, 3 }, { "bound", 7, 0 },      { "seconds", 0, 0 }, { "gflops", 0, 0 },
	{ "gbytes_s", 0, 2 },  { "peak_share", 0, 0 }, { "check", 5, 0 },   { NULL, 0, 0 },
};

struct spot {
	double intensity, rate;
	char label[48];
};

struct roofline {
	struct nn_bench *b;
	struct nn_bench_work w;
	const char *model;
	const struct nn_device *device;
	struct nn_roofs roofs;
	struct spot *spots; /* with arithmetic, to be drawn */
	size_t n_spots, least_span;
};

bool nn_roofline_is_model(const char *operand)
{
	return access(operand, F_OK) == 0 ||
	       (nn_op_site_op(operand) == NN_N_OPS && strchr(operand, ' '));
}

/* ---- one layer ---- */

/* Which roof is above it, or that none is near. */
static int bound_of(struct roofline *r, const struct nn_roof_work *w, double seconds, double share,
		    const char **bound, struct nn_error *err)
{
	size_t cache = nn_machine_cache(3) ? nn_machine_cache(3) : nn_machine_cache(2);
	double rate, far;

	if (nn_roofs_bandwidth(&r->roofs, w->span, &rate, err) < 0 ||
	    nn_roofs_bandwidth(&r->roofs, r->roofs.far, &far, err) < 0)
		return -1;
	if (r->device->remote) /* whose caches are known by what they give */
		cache = rate > CACHED * far ? w->span : 0;
	if (seconds < LATENCY_S && share < LATENCY_SHARE)
		*bound = "latency";
	else if (w->flop / r->roofs.fma > w->bytes / rate)
		*bound = "compute";
	else
		*bound = w->span > cache ? "memory" : "cache";
	return 0;
}

static int put_figures(struct roofline *r, const struct nn_roof_work *w, const struct nn_measure *m,
		       const char *label, struct nn_error *err)
{
	const char *bound;
	double share;

	if (nn_roofs_share(&r->roofs, w, m->mean_s, &share, err) < 0 ||
	    bound_of(r, w, m->mean_s, share, &bound, err) < 0)
		return -1;
	nn_report_text(r->w.report, "bound", bound);
	nn_roofs_put(r->w.report, w, m->mean_s, share);
	if (w->flop > 0) {
		struct spot *s = &r->spots[r->n_spots++];

		*s = (struct spot){ w->flop / w->bytes, w->flop / m->mean_s, "" };
		snprintf(s->label, sizeof s->label, "%s", label);
		r->least_span = w->span < r->least_span ? w->span : r->least_span;
	}
	return 0;
}

static void put_names(struct roofline *r, const struct nn_bound_node *node,
		      const struct nn_op_trial *t, bool backward, char *label, size_t size)
{
	struct nn_net_line line = nn_net_line(r->w.subject->net, node->line);
	struct nn_text shape = { 0 };
	char op[64];

	snprintf(op, sizeof op, "%s%s", nn_ops[node->op]->name, backward ? "-backward" : "");
	snprintf(label, size, "%s %s%s", line.name, nn_ops[node->op]->name,
		 backward ? " back" : "");
	nn_op_write(node->op, node->attrs, node->shapes, t->rows, &shape);
	nn_report_text(r->w.report, "layer", line.name);
	nn_report_text(r->w.report, "op", op);
	nn_report_text(r->w.report, "shape", shape.data);
	nn_report_text(r->w.report, "device", r->device->name);
	nn_report_text(r->w.report, "kernel",
		       r->device->library_kernels &&
				       r->device->library_kernels[node->op] == r->device->kernels[node->op]
			       ? r->device->library
			       : "ours");
	nn_report_text(r->w.report, "dtype", nn_dtype_name(r->device->dtype));
	nn_text_free(&shape);
}

static int measure_pass(struct roofline *r, const struct nn_bound_node *node, struct nn_op_trial *t,
			bool backward, struct nn_error *err)
{
	struct nn_roof_work w = { nn_op_trial_flop(t, backward), nn_op_trial_bytes(t, backward),
				  nn_op_trial_span(t, backward) };
	struct nn_measure_call call = { backward ? nn_op_trial_backward : nn_op_trial_forward, t };
	struct nn_verdict verdict = { 0 };
	struct nn_measure m = { 0 };
	char label[48];

	if (nn_verdict_add_op(&verdict, t, backward, err) < 0)
		return -1;
	if (!verdict.wrong && nn_bench_measure(r->b, &call, 1, &m, err) < 0)
		return -1;
	m.mean_s /= (double)t->repeat;
	if (nn_op_trial_failed(t, err) < 0)
		return -1;
	if (nn_bench_stopped(r->b))
		return 0;
	put_names(r, node, t, backward, label, sizeof label);
	if (w.flop > 0) {
		nn_report_real(r->w.report, "flop", w.flop);
		nn_report_real(r->w.report, "intensity", w.flop / w.bytes);
	}
	nn_report_real(r->w.report, "bytes", w.bytes);
	nn_verdict_put(&verdict, r->w.report);
	if (m.n && put_figures(r, &w, &m, label, err) < 0)
		return -1;
	if (m.n == 0 && !verdict.wrong)
		nn_bench_too_short(r->b, label, &m);
	return nn_report_row(r->w.report, err);
}

static int measure_node(struct roofline *r, const struct nn_bound_node *node, bool training,
			size_t rows, struct nn_error *err)
{
	struct nn_op_site site = { .op = node->op,
				   .attrs = node->attrs,
				   .in = node->shapes,
				   .n_in = node->n_in,
				   .rows = rows };
	struct nn_op_how how = { .device = r->device,
				 .pool = r->b->pool,
				 .training = training,
				 .want_dx = node->want_dx };
	struct nn_op_trial *t;
	int status;

	if (nn_op_trial_new(&t, &site, &how, err) < 0)
		return -1;
	t->repeat = r->device->remote ? AT_ONCE : 1;
	status = measure_pass(r, node, t, false, err);
	if (status == 0 && node->backward && !nn_bench_stopped(r->b))
		status = measure_pass(r, node, t, true, err);
	nn_op_trial_free(t);
	return status;
}

/* ---- all of them ---- */

static int measure_nodes(struct roofline *r, bool training, size_t rows, struct nn_error *err)
{
	struct nn_bound bound = { .program = r->w.subject->program,
				  .device = r->device,
				  .training = training,
				  .fold = !training };
	int status = nn_bound_lower(&bound, err);

	if (status == 0)
		status = nn_bound_fuse(&bound, err);
	if (status == 0 &&
	    !(r->spots = nn_alloc(2 * (size_t)bound.n_nodes + 1, sizeof *r->spots, err)))
		status = -1;
	for (int i = 0; i < bound.n_nodes && status == 0 && !nn_bench_stopped(r->b); i++)
		if (!bound.nodes[i].removed)
			status = measure_node(r, &bound.nodes[i], training, rows, err);
	nn_bound_fini(&bound);
	return status;
}

/* ---- the picture ---- */

#define ROOF_POINTS 3
#define TITLE 60 /* bytes of a model in the title */

/* min(fma, intensity * bandwidth): up to where they meet, and on. */
static void draw_roof(const struct roofline *r, double bandwidth, double from, double to,
		      double x[ROOF_POINTS], double y[ROOF_POINTS])
{
	x[0] = from;
	x[1] = fmin(fmax(r->roofs.fma / bandwidth, from), to);
	x[2] = to;
	for (int i = 0; i < ROOF_POINTS; i++)
		y[i] = fmin(r->roofs.fma, x[i] * bandwidth);
}

static int draw(struct roofline *r, const char *title, struct nn_output *plot, struct nn_error *err)
{
	double x[2][ROOF_POINTS], y[2][ROOF_POINTS], far, near, from = 0.1, to = 100;
	struct nn_chart_mark *marks = nn_alloc(r->n_spots + 1, sizeof *marks, err);
	struct nn_chart_series series[2];
	struct nn_text svg = { 0 };
	char note[320];
	int status;

	if (!marks)
		return -1;
	if (nn_roofs_bandwidth(&r->roofs, r->roofs.far, &far, err) < 0 ||
	    nn_roofs_bandwidth(&r->roofs, r->least_span, &near, err) < 0) {
		nn_free(marks);
		return -1;
	}
	for (size_t i = 0; i < r->n_spots; i++) {
		marks[i] = (struct nn_chart_mark){ NN_CHART_DOT, r->spots[i].intensity,
						   r->spots[i].rate, r->spots[i].label };
		from = fmin(from, r->spots[i].intensity / 2);
		to = fmax(to, r->spots[i].intensity * 2);
	}
	draw_roof(r, far, from, to, x[0], y[0]);
	draw_roof(r, near, from, to, x[1], y[1]);
	series[0] = (struct nn_chart_series){ "roof of memory", NN_CHART_LINE, x[0], y[0],
					      ROOF_POINTS,      NULL,          NULL };
	series[1] = (struct nn_chart_series){ "roof of the caches", NN_CHART_LINE, x[1], y[1],
					      ROOF_POINTS,          NULL,          NULL };
	snprintf(note, sizeof note,
		 "%s, %d threads: %.3g GFLOP/s, %.3g GB/s from memory, %.3g GB/s from cache",
		 r->device->remote ? r->b->machine.gpu : r->b->machine.cpu, r->b->threads,
		 r->roofs.fma * 1e-9, far * 1e-9, near * 1e-9);
	status = nn_chart_svg(
		&(struct nn_chart){ .title = title,
				    .note = note,
				    .x = { .title = "FLOP per byte",
					   .scale = NN_CHART_LOG10,
					   .from = from,
					   .to = to },
				    .panels = &(struct nn_chart_panel){ { .title = "FLOP/s",
									  .unit = "FLOP/s",
									  .scale = NN_CHART_LOG10 },
									series,
									2,
									marks,
									r->n_spots },
				    .n_panels = 1 },
		&svg, err);
	if (status == 0)
		status = nn_output_write(plot, svg.data, svg.length, err);
	nn_text_free(&svg);
	nn_free(marks);
	return status;
}

static int run(void *arg, struct nn_error *err)
{
	struct roofline *r = arg;
	bool training =
		nn_opt_given(r->b->setup.list, "mode") && r->b->options->mode == NN_BENCH_TRAIN;
	size_t batches[NN_BENCH_BATCHES];
	const char *names[NN_BENCH_DEVICES];
	char name[TITLE], title[160];
	int status;

	if (nn_bench_batches_or(r->b, training ? r->w.subject->batch : 1, batches, err) < 0)
		return -1;
	r->least_span = SIZE_MAX;
	if (nn_bench_devices(r->b, names, err) < 0 ||
	    !(r->device = nn_bench_device(r->b, nn_bench_is_cpu(names[0]) ? "cpu" : names[0],
					  r->w.subject->dtype, err)) ||
	    nn_roofs_init(&r->roofs, r->b, r->device, err) < 0)
		return -1;
	status = measure_nodes(r, training, batches[0], err);
	snprintf(title, sizeof title, "%s, %s, batch %zu", nn_one_line(name, sizeof name, r->model),
		 training ? "train" : "predict", batches[0]);
	return status < 0 || !r->w.plot || nn_bench_stopped(r->b) ? status
								  : draw(r, title, r->w.plot, err);
}

int nn_roofline(struct nn_bench *b, const char *model, struct nn_error *err)
{
	struct roofline r = { .b = b, .model = model };
	int status;

	if (!nn_opt_given(b->setup.list, "time"))
		b->options->time_s = LAYER_S;
	status = nn_bench_on_model(b, model, columns, &r.w, run, &r, err);
	nn_free(r.spots);
	return status;
}
