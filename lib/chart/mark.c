/*
 * Marks and their labels: each label goes where it covers least of points, curves, other labels and
 * the edge.
 */
#include <math.h>

#include "chart/draw.h"
#include "base/memory.h"

#define MOST_CHECKED 4000 /* points of curves that labels keep away from */

static bool is_line(const struct nn_chart_mark *m)
{
	return m->kind == NN_CHART_AT_X || m->kind == NN_CHART_AT_Y;
}

static bool drawn(const struct nn_panel *p, const struct nn_chart_mark *m)
{
	return (m->kind == NN_CHART_AT_Y || nn_scale_takes(p->x, m->x)) &&
	       (m->kind == NN_CHART_AT_X || nn_scale_takes(&p->y, m->y));
}

static double overlap(const struct nn_box *a, const struct nn_box *b)
{
	double w = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x);
	double h = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);

	return w > 0 && h > 0 ? w * h : 0;
}

static bool inside(const struct nn_box *box, double x, double y)
{
	return x > box->x - 2 && x < box->x + box->width + 2 && y > box->y - 2 &&
	       y < box->y + box->height + 2;
}

/* How many of a few places along a segment lie under the box. */
static int crossed(const struct nn_box *box, double x1, double y1, double x2, double y2)
{
	int n = 0;

	if (fmax(x1, x2) < box->x - 2 || fmin(x1, x2) > box->x + box->width + 2 ||
	    fmax(y1, y2) < box->y - 2 || fmin(y1, y2) > box->y + box->height + 2)
		return 0;
	for (int i = 0; i <= 32; i++)
		n += inside(box, x1 + (x2 - x1) * i / 32, y1 + (y2 - y1) * i / 32);
	return n;
}

/* What the box would cover of curves and points. */
static double covered(const struct nn_panel *p, const struct nn_box *box)
{
	double cost = 0;

	for (size_t k = 0; k < p->panel->n_series; k++) {
		const struct nn_chart_series *s = &p->panel->series[k];
		double x0 = NAN, y0 = NAN;

		for (size_t i = 0; i < s->n && i < MOST_CHECKED; i++) {
			double x = NAN, y = NAN;

			if (nn_scale_takes(p->x, s->x[i]) && nn_scale_takes(&p->y, s->y[i])) {
				x = nn_scale_place(p->x, s->x[i]);
				y = nn_scale_place(&p->y, s->y[i]);
				cost += inside(box, x, y) ? 30 : 0;
			}
			if (s->style != NN_CHART_POINTS && !isnan(x) && !isnan(x0))
				cost += crossed(box, x0, y0, x, y) ? 40 : 0;
			x0 = x;
			y0 = y;
		}
	}
	for (size_t i = 0; i < p->panel->n_marks; i++) {
		const struct nn_chart_mark *m = &p->panel->marks[i];

		if (!drawn(p, m) || m->kind == NN_CHART_TEXT)
			continue;
		if (m->kind == NN_CHART_AT_X)
			cost += crossed(box, nn_scale_place(p->x, m->x), p->plot.y,
					nn_scale_place(p->x, m->x), p->plot.y + p->plot.height);
		else if (m->kind == NN_CHART_AT_Y)
			cost += crossed(box, p->plot.x, nn_scale_place(&p->y, m->y),
					p->plot.x + p->plot.width, nn_scale_place(&p->y, m->y));
		else
			cost += inside(box, nn_scale_place(p->x, m->x), nn_scale_place(&p->y, m->y))
					? 60
					: 0;
	}
	return cost;
}

static double cost_of(const struct nn_panel *p, const struct nn_box *box,
		      const struct nn_box *placed, size_t n)
{
	double cost = covered(p, box), area = box->width * box->height;

	for (size_t i = 0; i < n; i++)
		cost += overlap(box, &placed[i]);
	return cost + 3 * (area - overlap(box, &p->plot));
}

/*
 * Beside the point: right, left, above, below and the corners, then farther away. A line's label
 * runs along its edge.
 */
static struct nn_box candidate(const struct nn_panel *p, const struct nn_chart_mark *m, int i)
{
	static const signed char side[8][2] = {
		{ 1, 0 },  { -1, 0 },  { 0, -1 }, { 0, 1 },
		{ 1, -1 }, { -1, -1 }, { 1, 1 },  { -1, 1 },
	};
	static const double away[] = { 7, 20, 36 };
	double width = nn_draw_width(m->label), height = 14, far = away[i / 8];
	double x =
		m->kind == NN_CHART_AT_Y ? p->plot.x + p->plot.width : nn_scale_place(p->x, m->x);
	double y = m->kind == NN_CHART_AT_X ? p->plot.y : nn_scale_place(&p->y, m->y);
	int dx = side[i % 8][0], dy = side[i % 8][1];

	if (m->kind == NN_CHART_AT_X)
		return (struct nn_box){ i % 2 ? x - 4 - width : x + 4, y + 2 + i / 2 * 15, width,
					height };
	if (m->kind == NN_CHART_AT_Y)
		return (struct nn_box){ x - width - 2 - i / 2 * 40, i % 2 ? y + 2 : y - height - 1,
					width, height };
	if (m->kind == NN_CHART_TEXT)
		return (struct nn_box){ x - width / 2 + dx * (far - 7),
					y - height / 2 + dy * (far - 7), width, height };
	return (struct nn_box){ x + dx * far -
					(dx == 0  ? width / 2
					 : dx < 0 ? width
						  : 0),
				y + dy * far -
					(dy == 0  ? height / 2
					 : dy < 0 ? height
						  : 0),
				width, height };
}

#define N_CANDIDATES 24

static struct nn_box place(const struct nn_panel *p, const struct nn_chart_mark *m,
			   const struct nn_box *placed, size_t n, int *chosen)
{
	struct nn_box best = candidate(p, m, 0);
	double least = INFINITY;

	for (int i = 0; i < N_CANDIDATES; i++) {
		struct nn_box box = candidate(p, m, i);
		double cost = cost_of(p, &box, placed, n) +
			      i; /* the first of equals, the near before the far */

		if (cost < least) {
			least = cost;
			best = box;
			*chosen = i;
		}
	}
	return best;
}

static void draw_label(struct nn_text *text, const struct nn_panel *p,
		       const struct nn_chart_mark *m, const struct nn_box *box, int chosen)
{
	if (!is_line(m) && m->kind != NN_CHART_TEXT && chosen >= 8) {
		double x = nn_scale_place(p->x, m->x), y = nn_scale_place(&p->y, m->y);
		double to_x = fmin(fmax(x, box->x), box->x + box->width),
		       to_y = fmin(fmax(y, box->y + 2), box->y + box->height - 2);

		nn_text_add(text, "<g stroke=\"#666\" stroke-width=\"0.8\">");
		nn_draw_line(text, x, y, to_x, to_y);
		nn_text_add(text, "</g>\n");
	}
	/* a white edge keeps it readable where it covers something after all */
	nn_draw_text(text, box->x, box->y + 11, "start",
		     "stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" fill=\"#fff\"",
		     m->label);
	nn_draw_text(text, box->x, box->y + 11, "start", NULL, m->label);
}

static void draw_mark(struct nn_text *text, const struct nn_panel *p, const struct nn_chart_mark *m)
{
	double x = nn_scale_takes(p->x, m->x) ? nn_scale_place(p->x, m->x) : 0;
	double y = nn_scale_takes(&p->y, m->y) ? nn_scale_place(&p->y, m->y) : 0;

	if (is_line(m)) {
		nn_text_add(text,
			    "<g stroke=\"#555\" stroke-width=\"1\" stroke-dasharray=\"3 3\">");
		if (m->kind == NN_CHART_AT_X)
			nn_draw_line(text, x, p->plot.y, x, p->plot.y + p->plot.height);
		else
			nn_draw_line(text, p->plot.x, y, p->plot.x + p->plot.width, y);
		nn_text_add(text, "</g>\n");
	} else if (m->kind != NN_CHART_TEXT) {
		nn_text_add(text, m->kind == NN_CHART_RING ? "<circle r=\"6.5\" fill=\"none\" "
							     "stroke=\"#000\" stroke-width=\"1.5\""
							   : "<circle r=\"3.5\" fill=\"#000\"");
		nn_draw_number(text, "cx", x);
		nn_draw_number(text, "cy", y);
		nn_text_add(text, "/>\n");
	}
}

int nn_draw_marks(struct nn_text *text, const struct nn_panel *p, struct nn_error *err)
{
	struct nn_box *placed = nn_alloc(p->panel->n_marks, sizeof *placed, err);
	size_t n = 0;

	if (!placed)
		return -1;
	for (size_t i = 0; i < p->panel->n_marks; i++)
		if (drawn(p, &p->panel->marks[i]))
			draw_mark(text, p, &p->panel->marks[i]);
	for (size_t i = 0; i < p->panel->n_marks; i++) {
		const struct nn_chart_mark *m = &p->panel->marks[i];
		int chosen = 0;

		if (!drawn(p, m) || !m->label || !*m->label)
			continue;
		placed[n] = place(p, m, placed, n, &chosen);
		draw_label(text, p, m, &placed[n], chosen);
		n++;
	}
	nn_free(placed);
	return 0;
}
