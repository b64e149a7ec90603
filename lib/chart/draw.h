/*
 * The pen of a chart: coordinates of two places, text that XML takes, and how wide text comes out.
 */
#ifndef NN_CHART_DRAW_H
#define NN_CHART_DRAW_H

#include "chart/axis.h"

struct nn_box {
	double x, y, width, height;
};

/* A panel as it is laid out on the page. */
struct nn_panel {
	const struct nn_chart_panel *panel;
	struct nn_scale y;
	const struct nn_scale *x;
	struct nn_box plot; /* where curves go */
	double legend_y;    /* of the first line's text; further lines stand below */
};

enum { NN_CHART_LINE_HEIGHT = 16, NN_CHART_FONT = 12 };

/* As attributes are wanted: a space, the name, two decimals whatever the locale says. */
void nn_draw_number(struct nn_text *text, const char *name, double value);
/* "x,y" */
void nn_draw_point(struct nn_text *text, double x, double y);
void nn_draw_line(struct nn_text *text, double x1, double y1, double x2, double y2);
/* anchor: start, middle or end; style may be NULL: more attributes. */
void nn_draw_text(struct nn_text *text, double x, double y, const char *anchor, const char *style,
		  const char *string);
void nn_draw_escaped(struct nn_text *text, const char *string);
/* About as wide as the widest common sans-serif draws it. */
double nn_draw_width(const char *string);

/*
 * series.c: the curves of a panel, and its legend; the lines that the legend takes in so much
 * width.
 */
void nn_draw_series(struct nn_text *text, const struct nn_panel *panel);
int nn_draw_legend(struct nn_text *text, const struct nn_panel *panel, double left, double right);
/* mark.c: rings, dots, lines and labels. */
int nn_draw_marks(struct nn_text *text, const struct nn_panel *panel, struct nn_error *err);
/*
 * confusion.c, gallery.c: from y on, in the width from left to right. What they take of the height
 * stands in *y then; text NULL: that alone.
 */
void nn_draw_confusion(struct nn_text *text, const struct nn_chart_confusion *confusion,
		       double left, double right, double *y);
int nn_draw_gallery(struct nn_text *text, const struct nn_chart_gallery *gallery, double left,
		    double right, double *y, struct nn_error *err);

#endif
