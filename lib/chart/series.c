/*
 * Series: colours of Okabe and Ito, distinguished by dashes and shapes as well; a gap where there
 * is no figure.
 */
#include <math.h>

#include "chart/draw.h"

#define N_LOOKS 8
#define FEW_POINTS 60 /* a line with no more of them shows each */

static const struct look {
	const char *colour, *dashes;
	char shape;
} looks[N_LOOKS] = {
	{ "#0072b2", NULL, 'o' },  { "#d55e00", "7 3", 's' },
	{ "#009e73", "2 3", '^' }, { "#a0528a", "9 3 2 3", 'd' },
	{ "#000000", "4 2", 'v' }, { "#b07c00", "12 4", 'x' },
	{ "#2f8fc4", "1 2", '+' }, { "#777777", "6 2 1 2 1 2", 'o' },
};

static const struct look *look_of(size_t series)
{
	return &looks[series % N_LOOKS];
}

static void add_shape(struct nn_text *text, char shape, double x, double y)
{
	static const struct {
		char shape;
		signed char at[4][2];
		int n;
	} polygons[] = {
		{ 's', { { -3, -3 }, { 3, -3 }, { 3, 3 }, { -3, 3 } }, 4 },
		{ '^', { { 0, -4 }, { 4, 3 }, { -4, 3 } }, 3 },
		{ 'd', { { 0, -4 }, { 4, 0 }, { 0, 4 }, { -4, 0 } }, 4 },
		{ 'v', { { -4, -3 }, { 4, -3 }, { 0, 4 } }, 3 },
	};

	for (size_t p = 0; p < sizeof polygons / sizeof *polygons; p++) {
		if (polygons[p].shape != shape)
			continue;
		nn_text_add(text, "<polygon points=\"");
		for (int i = 0; i < polygons[p].n; i++) {
			nn_text_add(text, i ? " " : "");
			nn_draw_point(text, x + polygons[p].at[i][0], y + polygons[p].at[i][1]);
		}
		nn_text_add(text, "\"/>\n");
		return;
	}
	if (shape == 'x' || shape == '+') {
		double along = shape == 'x' ? 3 : 0, up = shape == 'x' ? 3 : 4;

		nn_draw_line(text, x - along, y - up, x + along, y + up);
		nn_draw_line(text, x - (shape == 'x' ? 3 : 4), y + along,
			     x + (shape == 'x' ? 3 : 4), y - along);
		return;
	}
	nn_text_add(text, "<circle r=\"3.2\"");
	nn_draw_number(text, "cx", x);
	nn_draw_number(text, "cy", y);
	nn_text_add(text, "/>\n");
}

static bool drawn(const struct nn_panel *p, const struct nn_chart_series *s, size_t i)
{
	return nn_scale_takes(p->x, s->x[i]) && nn_scale_takes(&p->y, s->y[i]);
}

static void add_curve(struct nn_text *text, const struct nn_panel *p,
		      const struct nn_chart_series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!drawn(p, s, i))
			continue;
		if (i == 0 || !drawn(p, s, i - 1))
			nn_text_add(text, "<polyline points=\"");
		else
			nn_text_add(text, (i & 7) == 0 ? "\n" : " ");
		nn_draw_point(text, nn_scale_place(p->x, s->x[i]), nn_scale_place(&p->y, s->y[i]));
		if (i + 1 == s->n || !drawn(p, s, i + 1))
			nn_text_add(text, "\"/>\n");
	}
}

static bool banded(const struct nn_panel *p, const struct nn_chart_series *s, size_t i)
{
	return nn_scale_takes(p->x, s->x[i]) && nn_scale_takes(&p->y, s->low[i]) &&
	       nn_scale_takes(&p->y, s->high[i]);
}

/* up along the high edge of each run of points, back along the low one */
static void add_band(struct nn_text *text, const struct nn_panel *p,
		     const struct nn_chart_series *s)
{
	for (size_t from = 0, to; from < s->n; from = to + 1) {
		for (to = from; to < s->n && banded(p, s, to);)
			to++;
		if (to == from)
			continue;
		nn_text_add(text, "<polygon points=\"");
		for (size_t i = from; i < to; i++) {
			nn_draw_point(text, nn_scale_place(p->x, s->x[i]),
				      nn_scale_place(&p->y, s->high[i]));
			nn_text_add(text, (i & 7) == 7 ? "\n" : " ");
		}
		for (size_t i = to; i-- > from;) {
			nn_draw_point(text, nn_scale_place(p->x, s->x[i]),
				      nn_scale_place(&p->y, s->low[i]));
			nn_text_add(text, i == from ? "\"/>\n" : (i & 7) == 7 ? "\n" : " ");
		}
	}
}

/* Points that a line alone would hide: all of few, those between two gaps of many. */
static bool shows_point(const struct nn_panel *p, const struct nn_chart_series *s, size_t i)
{
	if (!drawn(p, s, i))
		return false;
	if (s->style == NN_CHART_POINTS ||
	    (s->style == NN_CHART_LINE_AND_POINTS && s->n <= FEW_POINTS))
		return true;
	return (i == 0 || !drawn(p, s, i - 1)) && (i + 1 == s->n || !drawn(p, s, i + 1));
}

static void begin_look(struct nn_text *text, const struct look *look)
{
	nn_text_addf(
		text,
		"<g stroke=\"%s\" fill=\"none\" stroke-width=\"1.8\" stroke-linejoin=\"round\"",
		look->colour);
	if (look->dashes)
		nn_text_addf(text, " stroke-dasharray=\"%s\"", look->dashes);
	nn_text_add(text, ">\n");
}

static void begin_points(struct nn_text *text, const struct look *look)
{
	nn_text_addf(text, "<g fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\">\n", look->colour,
		     look->colour, look->shape == 'x' || look->shape == '+' ? "1.6" : "0");
}

void nn_draw_series(struct nn_text *text, const struct nn_panel *p)
{
	for (size_t k = 0; k < p->panel->n_series; k++)
		if (p->panel->series[k].low && p->panel->series[k].high) {
			nn_text_addf(text, "<g fill=\"%s\" fill-opacity=\"0.18\">\n",
				     look_of(k)->colour);
			add_band(text, p, &p->panel->series[k]);
			nn_text_add(text, "</g>\n");
		}
	for (size_t k = 0; k < p->panel->n_series; k++) {
		const struct nn_chart_series *s = &p->panel->series[k];

		if (s->style != NN_CHART_POINTS) {
			begin_look(text, look_of(k));
			add_curve(text, p, s);
			nn_text_add(text, "</g>\n");
		}
		begin_points(text, look_of(k));
		for (size_t i = 0; i < s->n; i++)
			if (shows_point(p, s, i))
				add_shape(text, look_of(k)->shape, nn_scale_place(p->x, s->x[i]),
					  nn_scale_place(&p->y, s->y[i]));
		nn_text_add(text, "</g>\n");
	}
}

#define SAMPLE 26.0
#define BETWEEN 18.0

static void add_entry(struct nn_text *text, const struct nn_chart_series *s, size_t k, double x,
		      double y)
{
	if (s->style != NN_CHART_POINTS) {
		begin_look(text, look_of(k));
		nn_draw_line(text, x, y - 4, x + SAMPLE, y - 4);
		nn_text_add(text, "</g>\n");
	}
	if (s->style == NN_CHART_POINTS ||
	    (s->style == NN_CHART_LINE_AND_POINTS && s->n <= FEW_POINTS)) {
		begin_points(text, look_of(k));
		add_shape(text, look_of(k)->shape, x + SAMPLE / 2, y - 4);
		nn_text_add(text, "</g>\n");
	}
	nn_draw_text(text, x + SAMPLE + 5, y, "start", NULL, s->name);
}

/* text NULL: only counted */
int nn_draw_legend(struct nn_text *text, const struct nn_panel *p, double left, double right)
{
	double x = left;
	int lines = 0;

	for (size_t k = 0; k < p->panel->n_series; k++) {
		const struct nn_chart_series *s = &p->panel->series[k];
		double width = s->name ? SAMPLE + 5 + nn_draw_width(s->name) : 0;

		if (!s->name)
			continue;
		if (lines == 0 || x + width > right) {
			lines++;
			x = left;
		}
		if (text)
			add_entry(text, s, k, x, p->legend_y + (lines - 1) * NN_CHART_LINE_HEIGHT);
		x += width + BETWEEN;
	}
	return lines;
}
