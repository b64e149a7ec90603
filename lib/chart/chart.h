/*
 * Curves as a picture: panels over one x axis, as SVG that reads the same on paper, in black and
 * white, and to the colour-blind; below them what was answered: a table of classes, pictures.
 */
#ifndef NN_CHART_CHART_H
#define NN_CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/text.h"

enum nn_chart_scale { NN_CHART_LINEAR, NN_CHART_LOG2, NN_CHART_LOG10 };

struct nn_chart_axis {
	const char *title; /* what it shows: "batch" */
	/*
	 * "s", "FLOP/s": ticks take SI prefixes then (20 ms, 50k); NULL: a plain number. Give
	 * figures in the plain unit.
	 */
	const char *unit;
	enum nn_chart_scale scale; /* a value <= 0 is a gap on a logarithmic one */
	bool zero;                 /* a linear axis that begins at 0 */
	double from, to; /* from < to: at least this much is shown; else what the data need */
	bool whole;      /* ticks of a linear axis at whole numbers only: it counts */
	bool share;      /* figures of at most 1, where a linear axis ends */
};

enum nn_chart_style { NN_CHART_LINE, NN_CHART_POINTS, NN_CHART_LINE_AND_POINTS };

/* y NaN or infinite: a gap. Points come in the order of x for a line. */
struct nn_chart_series {
	const char *name; /* in the legend; NULL: not listed */
	enum nn_chart_style style;
	const double *x, *y; /* [n] */
	size_t n;
	const double *low, *high; /* [n] a band around the line; NULL: none */
};

enum nn_chart_mark_kind {
	NN_CHART_RING, /* a ring around (x, y) and its label beside it */
	NN_CHART_DOT,  /* a dot of its own: labelled points without a series */
	NN_CHART_TEXT, /* the label alone, at (x, y) */
	NN_CHART_AT_X, /* a dashed line up and down at x */
	NN_CHART_AT_Y, /* a dashed line across at y */
};

struct nn_chart_mark {
	enum nn_chart_mark_kind kind;
	double x, y;
	const char *label; /* NULL: none; it is put where it covers least */
};

struct nn_chart_panel {
	struct nn_chart_axis y;
	const struct nn_chart_series *series;
	size_t n_series; /* eight can be distinguished */
	const struct nn_chart_mark *marks;
	size_t n_marks;
};

/* How often each class was taken for each: at most NN_CHART_CLASSES of them can be read. */
#define NN_CHART_CLASSES 32
struct nn_chart_confusion {
	const char *const *labels; /* [n] */
	const double *counts;      /* [n][n] a row for each true class, a column for each found */
	size_t n;
};

/*
 * Small pictures in rows and columns, drawn pixel by pixel: a file grows with each of them, so that
 * they have at most NN_CHART_SIDE pixels a side, and few colours.
 */
#define NN_CHART_SIDE 96
struct nn_chart_picture {
	size_t height, width;     /* 0: its place is left free */
	const unsigned char *rgb; /* [height][width][3] */
};

/* What a colour means. */
struct nn_chart_key {
	unsigned char rgb[3];
	const char *label;
};

struct nn_chart_gallery {
	const char *title;
	const char *const *columns; /* [n_columns] their titles */
	size_t n_columns, n_rows;
	const struct nn_chart_picture *pictures; /* [n_rows][n_columns] */
	const struct nn_chart_key *keys;         /* [n_keys] below the pictures */
	size_t n_keys;
};

struct nn_chart {
	const char *title;
	const char
		*note; /* small, under the title: where and with what it was measured; NULL: none */
	struct nn_chart_axis x;              /* of all panels */
	const struct nn_chart_panel *panels; /* from top to bottom */
	size_t n_panels;
	const struct nn_chart_confusion *confusion; /* below the panels; NULL: none */
	const struct nn_chart_gallery *gallery;     /* below that; NULL: none */
};

/*
 * Add the picture, a whole SVG document, to text: the same bytes for the same chart. Texts are
 * UTF-8, other bytes are replaced. Any numbers, any counts are drawn; a panel without any says "no
 * data". NN_ENOMEM.
 */
int nn_chart_svg(const struct nn_chart *chart, struct nn_text *text, struct nn_error *err);

#endif
