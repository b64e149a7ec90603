/* An axis of a chart: what it covers, its ticks, and where a value lies on it. */
#ifndef NN_CHART_AXIS_H
#define NN_CHART_AXIS_H

#include "chart/chart.h"

#define NN_CHART_TICKS 64

struct nn_chart_tick {
	double at;     /* as nn_scale_place takes it */
	bool labelled; /* else a finer line of a logarithmic axis */
	char label[64];
};

struct nn_scale {
	const struct nn_chart_axis *axis;
	bool any, begun;    /* values were seen; low and high hold something */
	double low, high;   /* of them, in the axis's own measure (logarithms) */
	double begin, end;  /* what is shown */
	double first, last; /* where begin and end are drawn */
	struct nn_chart_tick ticks[NN_CHART_TICKS];
	int n_ticks;
};

void nn_scale_init(struct nn_scale *scale, const struct nn_chart_axis *axis);
/* Can it be drawn? */
bool nn_scale_takes(const struct nn_scale *scale, double value);
void nn_scale_see(struct nn_scale *scale, double value);
/*
 * All values were seen: choose begin, end and about `wanted` ticks. whole: begin and end at ticks.
 */
void nn_scale_finish(struct nn_scale *scale, int wanted, bool whole);
/* Where a value that it takes is drawn. */
double nn_scale_place(const struct nn_scale *scale, double value);
double nn_scale_tick(const struct nn_scale *scale, int tick);
/* Does the unit stand at the ticks ("20 ms"), not at the axis? */
bool nn_scale_short_unit(const struct nn_chart_axis *axis);

#endif
