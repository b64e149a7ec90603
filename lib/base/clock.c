/* Seconds from a clock that never goes back, and seconds as text. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

double nn_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *nn_duration(char text[NN_DURATION], double s)
{
	static const struct {
		double below, unit;
		const char *name;
	} units[] = {
		{ 1e-3, 1e-6, "us" }, { 1, 1e-3, "ms" },         { 100, 1, "s" },
		{ 6000, 60, "min" },  { 3600 * 100, 3600, "h" }, { INFINITY, 86400, "days" }
	};

	/* 999.9 us are 1 ms: three digits would round to 1e+03. */
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (s < 0.9995 * units[i].below) {
			snprintf(text, NN_DURATION, "%.3g %s", s / units[i].unit, units[i].name);
			break;
		}
	return text;
}
