/*
 * Pictures below the curves: a path for each colour, which strokes its runs of pixels, so that the
 * document needs nothing from outside and no decoder.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chart/draw.h"

#define DRAWN 192.0 /* the longer side on the page, at most */
#define APART 16.0
#define MOST_KEYS 64

/* Pixels of one colour beside each other. */
struct run {
	unsigned rgb;
	unsigned short x, y, n;
};

static int by_colour(const void *a, const void *b)
{
	const struct run *p = a, *q = b;

	if (p->rgb != q->rgb)
		return p->rgb < q->rgb ? -1 : 1;
	return p->y != q->y ? (int)p->y - q->y : (int)p->x - q->x;
}

static unsigned colour_at(const struct nn_chart_picture *p, size_t y, size_t x)
{
	const unsigned char *rgb = p->rgb + (y * p->width + x) * 3;

	return (unsigned)rgb[0] << 16 | (unsigned)rgb[1] << 8 | rgb[2];
}

static size_t find_runs(const struct nn_chart_picture *p, struct run *runs)
{
	size_t n = 0;

	for (size_t y = 0; y < p->height; y++)
		for (size_t x = 0; x < p->width; x++) {
			unsigned rgb = colour_at(p, y, x);

			if (x > 0 && runs[n - 1].rgb == rgb)
				runs[n - 1].n++;
			else
				runs[n++] = (struct run){ rgb, (unsigned short)x, (unsigned short)y,
							  1 };
		}
	qsort(runs, n, sizeof *runs, by_colour);
	return n;
}

/* Pixels are drawn as squares of whole units. */
static double scale_of(const struct nn_chart_picture *p)
{
	size_t side = p->height > p->width ? p->height : p->width;

	return side ? fmax(1, floor(DRAWN / (double)side)) : 0;
}

static int add_picture(struct nn_text *text, const struct nn_chart_picture *p, double x, double y,
		       struct nn_error *err)
{
	double scale = scale_of(p);
	struct run *runs = nn_alloc(p->height * p->width + 1, sizeof *runs, err);
	size_t n;

	if (!runs)
		return -1;
	n = find_runs(p, runs);
	nn_text_add(text, "<g shape-rendering=\"crispEdges\" fill=\"none\" transform=\"translate(");
	nn_draw_point(text, x, y + scale / 2); /* a stroke lies on both sides of its line */
	nn_text_addf(text, ") scale(%d)\">\n", (int)scale);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || runs[i].rgb != runs[i - 1].rgb)
			nn_text_addf(text, "%s<path stroke=\"#%06x\" d=\"", i ? "\"/>\n" : "",
				     runs[i].rgb);
		nn_text_addf(text, "M%u %uh%u", runs[i].x, runs[i].y, runs[i].n);
	}
	nn_text_add(text, n ? "\"/>\n</g>\n" : "</g>\n");
	nn_free(runs);
	return 0;
}

static double row_height(const struct nn_chart_gallery *g, size_t row)
{
	double height = 0;

	for (size_t c = 0; c < g->n_columns; c++) {
		const struct nn_chart_picture *p = &g->pictures[row * g->n_columns + c];

		height = fmax(height, scale_of(p) * (double)p->height);
	}
	return height;
}

/* Colours and what they mean, in lines of that width; text NULL: the height alone. */
static void add_keys(struct nn_text *text, const struct nn_chart_gallery *g, double left,
		     double right, double *y)
{
	double x = left;

	for (size_t k = 0; k < g->n_keys && k < MOST_KEYS; k++) {
		const struct nn_chart_key *key = &g->keys[k];
		double width = nn_draw_width(key->label) + 34;

		if (x > left && x + width > right) {
			x = left;
			*y += NN_CHART_LINE_HEIGHT;
		}
		if (text) {
			nn_text_addf(text,
				     "<rect width=\"12\" height=\"12\" stroke=\"#333\" "
				     "stroke-width=\"0.5\" fill=\"#%02x%02x%02x\"",
				     key->rgb[0], key->rgb[1], key->rgb[2]);
			nn_draw_number(text, "x", x);
			nn_draw_number(text, "y", *y);
			nn_text_add(text, "/>\n");
			nn_draw_text(text, x + 17, *y + 10, "start", NULL, key->label);
		}
		x += width;
	}
	*y += g->n_keys ? NN_CHART_LINE_HEIGHT : 0;
}

static int add_rows(struct nn_text *text, const struct nn_chart_gallery *g, double left, double *y,
		    struct nn_error *err)
{
	for (size_t r = 0; r < g->n_rows; r++) {
		for (size_t c = 0; text && c < g->n_columns; c++)
			if (add_picture(text, &g->pictures[r * g->n_columns + c],
					left + (double)c * (DRAWN + APART), *y, err) < 0)
				return -1;
		*y += row_height(g, r) + APART / 2;
	}
	return 0;
}

int nn_draw_gallery(struct nn_text *text, const struct nn_chart_gallery *g, double left,
		    double right, double *y, struct nn_error *err)
{
	if (!g)
		return 0;
	*y += 26;
	if (text) {
		nn_text_add(text, "<g id=\"gallery\">\n");
		nn_draw_text(text, left, *y, "start", "font-weight=\"bold\"", g->title);
		for (size_t c = 0; c < g->n_columns; c++)
			nn_draw_text(text, left + (double)c * (DRAWN + APART), *y + 20, "start",
				     NULL, g->columns[c]);
	}
	*y += 28;
	if (add_rows(text, g, left, y, err) < 0)
		return -1;
	add_keys(text, g, left, right, y);
	if (text)
		nn_text_add(text, "</g>\n");
	return 0;
}
