/*
 * A chart on its page: title, panels one above the other, one x axis at the bottom of all, and
 * below it what was answered.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/draw.h"
#include "base/memory.h"

#define WIDTH 760.0
#define EDGE 16.0 /* white all around */

struct page {
	const struct nn_chart *chart;
	struct nn_scale x;
	struct nn_panel *panels;
	double height, bottom; /* bottom: of the lowest plot */
	double below;          /* what follows the curves begins there */
	double left, right;    /* of all plots */
};

/* ---- what is shown ---- */

static void see_panel(struct nn_panel *p, struct nn_scale *x)
{
	for (size_t k = 0; k < p->panel->n_series; k++) {
		const struct nn_chart_series *s = &p->panel->series[k];

		for (size_t i = 0; i < s->n; i++) {
			if (!nn_scale_takes(x, s->x[i]))
				continue;
			nn_scale_see(&p->y, s->y[i]);
			if (s->low && s->high) {
				nn_scale_see(&p->y, s->low[i]);
				nn_scale_see(&p->y, s->high[i]);
			}
			nn_scale_see(x, s->x[i]);
		}
	}
	for (size_t i = 0; i < p->panel->n_marks; i++) {
		const struct nn_chart_mark *m = &p->panel->marks[i];

		if (m->kind != NN_CHART_AT_X)
			nn_scale_see(&p->y, m->y);
		if (m->kind != NN_CHART_AT_Y)
			nn_scale_see(x, m->x);
	}
}

static double panel_height(size_t n_panels)
{
	return n_panels <= 1 ? 340 : n_panels == 2 ? 200 : n_panels == 3 ? 150 : 130;
}

/* ---- where it goes ---- */

static double widest_tick(const struct nn_scale *s)
{
	double width = 0;

	for (int i = 0; i < s->n_ticks; i++)
		width = fmax(width, nn_draw_width(s->ticks[i].label));
	return width;
}

static void axis_text(const struct nn_chart_axis *axis, char *text, size_t room)
{
	bool apart = axis->unit && !nn_scale_short_unit(axis) &&
		     (!axis->title || strcmp(axis->unit, axis->title) != 0);

	snprintf(text, room, "%s%s%s", axis->title ? axis->title : "",
		 apart && axis->title ? ", " : "", apart ? axis->unit : "");
}

static void lay_out(struct page *page)
{
	const struct nn_chart *c = page->chart;
	double y = EDGE + 18 + (c->note ? 18 : 0), plot_height = panel_height(c->n_panels),
	       ticks = 20;
	char title[200];

	for (size_t i = 0; i < c->n_panels; i++) {
		struct nn_panel *p = &page->panels[i];

		nn_scale_finish(&p->y, plot_height > 250 ? 7 : 4, true);
		ticks = fmax(ticks, widest_tick(&p->y));
	}
	page->left = EDGE + ticks + 8;
	page->right = WIDTH - EDGE - 12;
	nn_scale_finish(&page->x, 10, false);
	page->x.first = page->left;
	page->x.last = page->right;
	for (size_t i = 0; i < c->n_panels; i++) {
		struct nn_panel *p = &page->panels[i];
		double after_title;
		int lines;

		axis_text(&p->panel->y, title, sizeof title);
		after_title = EDGE + (title[0] ? nn_draw_width(title) * 1.08 + 24 : 0);
		lines = nn_draw_legend(NULL, p, after_title, page->right);
		y += 26;
		p->legend_y = y;
		y += (lines > 1 ? (lines - 1) * NN_CHART_LINE_HEIGHT : 0) + 11;
		p->plot = (struct nn_box){ page->left, y, page->right - page->left, plot_height };
		p->y.first = y + plot_height;
		p->y.last = y;
		y += plot_height;
	}
	page->bottom = y;
	page->below = y = y + 44;
	nn_draw_confusion(NULL, c->confusion, EDGE, page->right, &y);
	nn_draw_gallery(NULL, c->gallery, EDGE, page->right, &y, NULL);
	page->height = y + EDGE - 8;
}

/* ---- drawing ---- */

static void draw_grid(struct nn_text *text, const struct page *page, const struct nn_panel *p)
{
	const struct nn_box *plot = &p->plot;

	for (int fine = 1; fine >= 0; fine--) {
		nn_text_addf(text, "<g stroke=\"%s\" stroke-width=\"1\">\n",
			     fine ? "#f0f0f0" : "#d8d8d8");
		for (int i = 0; i < page->x.n_ticks; i++)
			if (page->x.ticks[i].labelled == !fine)
				nn_draw_line(text, nn_scale_tick(&page->x, i), plot->y,
					     nn_scale_tick(&page->x, i), plot->y + plot->height);
		for (int i = 0; i < p->y.n_ticks; i++)
			if (p->y.ticks[i].labelled == !fine)
				nn_draw_line(text, plot->x, nn_scale_tick(&p->y, i),
					     plot->x + plot->width, nn_scale_tick(&p->y, i));
		nn_text_add(text, "</g>\n");
	}
}

static void draw_y_axis(struct nn_text *text, const struct page *page, const struct nn_panel *p)
{
	char title[200];

	axis_text(&p->panel->y, title, sizeof title);
	nn_draw_text(text, EDGE, p->legend_y, "start", "font-weight=\"bold\"", title);
	for (int i = 0; i < p->y.n_ticks && p->y.any; i++)
		if (p->y.ticks[i].labelled)
			nn_draw_text(text, page->left - 7, nn_scale_tick(&p->y, i) + 4, "end", NULL,
				     p->y.ticks[i].label);
	nn_text_add(text, "<g stroke=\"#333\" stroke-width=\"1\">\n");
	nn_draw_line(text, p->plot.x, p->plot.y, p->plot.x, p->plot.y + p->plot.height);
	nn_draw_line(text, p->plot.x, p->plot.y + p->plot.height, p->plot.x + p->plot.width,
		     p->plot.y + p->plot.height);
	nn_text_add(text, "</g>\n");
}

/* Labels that would touch the one before are left out. */
static void draw_x_axis(struct nn_text *text, const struct page *page)
{
	double free_from = 0;
	char title[200];

	for (int i = 0; i < page->x.n_ticks && page->x.any; i++) {
		double at = nn_scale_tick(&page->x, i),
		       half = nn_draw_width(page->x.ticks[i].label) / 2;

		if (!page->x.ticks[i].labelled || at - half < free_from)
			continue;
		nn_draw_text(text, at, page->bottom + 17, "middle", NULL, page->x.ticks[i].label);
		free_from = at + half + 6;
	}
	axis_text(&page->chart->x, title, sizeof title);
	nn_draw_text(text, (page->left + page->right) / 2, page->bottom + 36, "middle",
		     "font-weight=\"bold\"", title);
}

static int draw_panel(struct nn_text *text, const struct page *page, const struct nn_panel *p,
		      struct nn_error *err)
{
	char title[200];

	axis_text(&p->panel->y, title, sizeof title);
	draw_grid(text, page, p);
	nn_draw_series(text, p);
	draw_y_axis(text, page, p);
	nn_draw_legend(text, p, EDGE + (title[0] ? nn_draw_width(title) * 1.08 + 24 : 0),
		       page->right);
	if (!p->y.any)
		nn_draw_text(text, (page->left + page->right) / 2, p->plot.y + p->plot.height / 2,
			     "middle", "fill=\"#777\"", "no data");
	return nn_draw_marks(text, p, err);
}

static int draw(struct nn_text *text, const struct page *page, struct nn_error *err)
{
	const struct nn_chart *c = page->chart;
	const char *title = c->title ? c->title : "";
	double below = page->below;

	nn_text_add(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
			  "xmlns=\"http://www.w3.org/2000/svg\"");
	nn_draw_number(text, "width", WIDTH);
	nn_draw_number(text, "height", page->height);
	nn_text_add(text, " viewBox=\"0 0 ");
	nn_draw_point(text, WIDTH, page->height);
	nn_text_addf(text,
		     "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
		     "font-size=\"%d\" fill=\"#222\">\n<title>",
		     NN_CHART_FONT);
	nn_draw_escaped(text, title);
	nn_text_add(text, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	nn_draw_text(text, EDGE, EDGE + 13, "start", "font-size=\"16\" font-weight=\"bold\"",
		     title);
	if (c->note)
		nn_draw_text(text, EDGE, EDGE + 32, "start", "fill=\"#555\" font-size=\"11\"",
			     c->note);
	for (size_t i = 0; i < c->n_panels; i++)
		if (draw_panel(text, page, &page->panels[i], err) < 0)
			return -1;
	draw_x_axis(text, page);
	nn_draw_confusion(text, c->confusion, EDGE, page->right, &below);
	if (nn_draw_gallery(text, c->gallery, EDGE, page->right, &below, err) < 0)
		return -1;
	nn_text_add(text, "</svg>\n");
	return text->failed ? nn_fail(err, NN_ENOMEM, "cannot allocate the text of a chart") : 0;
}

int nn_chart_svg(const struct nn_chart *chart, struct nn_text *text, struct nn_error *err)
{
	struct page page = { .chart = chart };
	int status;

	page.panels = nn_alloc(chart->n_panels, sizeof *page.panels, err);
	if (!page.panels)
		return -1;
	nn_scale_init(&page.x, &chart->x);
	for (size_t i = 0; i < chart->n_panels; i++) {
		page.panels[i].panel = &chart->panels[i];
		page.panels[i].x = &page.x;
		nn_scale_init(&page.panels[i].y, &chart->panels[i].y);
		see_panel(&page.panels[i], &page.x);
	}
	lay_out(&page);
	status = draw(text, &page, err);
	nn_free(page.panels);
	return status;
}
