/*
 * A table of classes, the true ones from top to bottom and those found from left to right: a field
 * is the darker, the more of its row it has.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/draw.h"

#define WIDEST_FIELD 36.0
#define LEAST_WRITTEN 26.0 /* a smaller field has no number */
#define MOST_LABEL 20      /* bytes of a label */

struct fields {
	const struct nn_chart_confusion *confusion;
	double left, top, side; /* of the first field, and of each */
	double labels;          /* width of the widest */
	bool upright;           /* labels of columns are turned */
	bool percent; /* numbers are shares: counts would be too wide, or are no whole numbers */
};

static void cut_label(const char *label, char text[MOST_LABEL + 8])
{
	size_t length = strlen(label);
	size_t n = length > MOST_LABEL ? nn_utf8_prefix(label, MOST_LABEL) : length;

	snprintf(text, MOST_LABEL + 8, "%.*s%s", (int)n, label, label[n] ? "..." : "");
}

static double row_sum(const struct nn_chart_confusion *c, size_t row)
{
	double sum = 0;

	for (size_t k = 0; k < c->n; k++)
		sum += c->counts[row * c->n + k];
	return sum;
}

static void measure(struct fields *f, double left, double right, double top)
{
	const struct nn_chart_confusion *c = f->confusion;
	char text[MOST_LABEL + 8];

	for (size_t i = 0; i < c->n; i++) {
		cut_label(c->labels[i], text);
		f->labels = fmax(f->labels, nn_draw_width(text));
	}
	f->left = left + f->labels + 8;
	f->side = floor(fmin(WIDEST_FIELD, (right - f->left) / (double)c->n));
	f->upright = f->labels > f->side - 4;
	f->top = top + (f->upright ? f->labels : NN_CHART_FONT) + 8;
	for (size_t i = 0; i < c->n * c->n; i++) {
		snprintf(text, sizeof text, "%.0f", c->counts[i]);
		f->percent |=
			nn_draw_width(text) > f->side - 4 || c->counts[i] != floor(c->counts[i]);
	}
}

static void add_labels(struct nn_text *text, const struct fields *f)
{
	for (size_t i = 0; i < f->confusion->n; i++) {
		double middle = ((double)i + 0.5) * f->side;
		char label[MOST_LABEL + 8];

		cut_label(f->confusion->labels[i], label);
		nn_draw_text(text, f->left - 6, f->top + middle + 4, "end", NULL, label);
		if (!f->upright) {
			nn_draw_text(text, f->left + middle, f->top - 6, "middle", NULL, label);
			continue;
		}
		nn_text_add(text, "<g transform=\"translate(");
		nn_draw_point(text, f->left + middle + 4, f->top - 6);
		nn_text_add(text, ") rotate(-90)\">\n");
		nn_draw_text(text, 0, 0, "start", NULL, label);
		nn_text_add(text, "</g>\n");
	}
}

/* From white to the blue of the first curve. */
static void add_field(struct nn_text *text, const struct fields *f, size_t row, size_t column,
		      double share)
{
	double x = f->left + (double)column * f->side, y = f->top + (double)row * f->side;
	int level = (int)lround(share * 100);
	char number[24];

	nn_text_addf(text, "<rect fill=\"#%02x%02x%02x\"", 255 - 255 * level / 100,
		     255 - (255 - 0x72) * level / 100, 255 - (255 - 0xb2) * level / 100);
	nn_draw_number(text, "x", x);
	nn_draw_number(text, "y", y);
	nn_draw_number(text, "width", f->side);
	nn_draw_number(text, "height", f->side);
	nn_text_add(text, "/>\n");
	if (f->side < LEAST_WRITTEN)
		return;
	snprintf(number, sizeof number, "%.0f",
		 f->percent ? share * 100 : f->confusion->counts[row * f->confusion->n + column]);
	nn_draw_text(text, x + f->side / 2, y + f->side / 2 + 4, "middle",
		     level > 50 ? "font-size=\"11\" fill=\"#fff\"" : "font-size=\"11\"", number);
}

static void add_frame(struct nn_text *text, const struct fields *f)
{
	nn_text_add(text, "<rect fill=\"none\" stroke=\"#333\"");
	nn_draw_number(text, "x", f->left);
	nn_draw_number(text, "y", f->top);
	nn_draw_number(text, "width", f->side * (double)f->confusion->n);
	nn_draw_number(text, "height", f->side * (double)f->confusion->n);
	nn_text_add(text, "/>\n");
}

void nn_draw_confusion(struct nn_text *text, const struct nn_chart_confusion *confusion,
		       double left, double right, double *y)
{
	struct fields f = { .confusion = confusion };
	double title = *y + 26;

	if (!confusion)
		return;
	measure(&f, left, right, title + 6);
	*y = f.top + f.side * (double)confusion->n + 8;
	if (!text)
		return;
	nn_text_add(text, "<g id=\"confusion\">\n");
	nn_draw_text(text, left, title, "start", "font-weight=\"bold\"",
		     f.percent ? "confusion, % of a row (row: true class, column: class found)"
			       : "confusion, counts (row: true class, column: class found)");
	add_labels(text, &f);
	for (size_t row = 0; row < confusion->n; row++) {
		double sum = row_sum(confusion, row);

		for (size_t k = 0; k < confusion->n; k++)
			if (confusion->counts[row * confusion->n + k] > 0)
				add_field(text, &f, row, k,
					  confusion->counts[row * confusion->n + k] / sum);
	}
	add_frame(text, &f);
	nn_text_add(text, "</g>\n");
}
