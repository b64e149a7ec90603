/*
 * Charts: well-formed, the same bytes every time, and no numbers that break them. With a directory
 * as argument the pictures go there.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "chart/axis.h"
#include "chart/chart.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *directory;

/*
 * The elements are closed in the order they were opened, attributes quoted, nothing raw; how many
 * elements there are.
 */
static int well_formed(const char *s)
{
	char open[32][32];
	int depth = 0, n = 0;

	if (strncmp(s, "<?xml", 5) != 0)
		return 0;
	for (s = strchr(s, '\n') + 1; *s; s++) {
		size_t length;

		if (*s == '&' && strncmp(s, "&lt;", 4) && strncmp(s, "&gt;", 4) &&
		    strncmp(s, "&amp;", 5) && strncmp(s, "&quot;", 6))
			return 0;
		if (*s == '>' || ((unsigned char)*s < 0x20 && *s != '\n') ||
		    (unsigned char)*s >= 0xf8)
			return 0;
		if (*s != '<')
			continue;
		if (*++s == '/') {
			length = strcspn(s + 1, ">");
			if (depth == 0 || strlen(open[depth - 1]) != length ||
			    strncmp(open[depth - 1], s + 1, length) != 0)
				return 0;
			depth--;
			s += length + 1;
			continue;
		}
		length = strspn(s, "abcdefghijklmnopqrstuvwxyz");
		if (length == 0 || length > 31 || depth == 32)
			return 0;
		memcpy(open[depth], s, length);
		open[depth++][length] = '\0';
		for (s += length; *s == ' ';) {
			size_t name = strspn(
				s + 1,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789");

			if (name == 0 || s[name + 1] != '=' || s[name + 2] != '"')
				return 0;
			s += name + 3;
			s += strcspn(s, "\"<");
			if (*s++ != '"')
				return 0;
		}
		if (*s == '/') {
			depth--;
			s++;
		}
		if (*s != '>')
			return 0;
		n++;
	}
	return depth == 0 ? n : 0;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

/* The picture, after a look that it is one, the same twice and without numbers that are none. */
static char *svg_of(const char *name, const struct nn_chart *chart)
{
	struct nn_text text = { 0 }, again = { 0 };
	struct nn_error err;
	char path[300];
	FILE *file;

	if (nn_chart_svg(chart, &text, &err) < 0 || nn_chart_svg(chart, &again, &err) < 0)
		note("%s", err.text);
	ok(text.data && well_formed(text.data) > 3, "%s: is well-formed", name);
	ok(text.data && again.data && strcmp(text.data, again.data) == 0,
	   "%s: has the same bytes twice", name);
	ok(text.data && !strstr(text.data, "nan") && !strstr(text.data, "inf"),
	   "%s: holds no nan and no inf", name);
	nn_text_free(&again);
	if (directory) {
		snprintf(path, sizeof path, "%s/%s.svg", directory, name);
		if ((file = fopen(path, "w"))) {
			fputs(text.data, file);
			fclose(file);
		}
	}
	return text.data;
}

/* ---- pictures such as the tools draw them ---- */

static void training(void)
{
	double epoch[20], loss[20], valid[20], accuracy[20], rate[20];
	struct nn_chart_series losses[] = {
		{ "training", NN_CHART_LINE_AND_POINTS, epoch, loss, 20, NULL, NULL },
		{ "held out", NN_CHART_LINE_AND_POINTS, epoch, valid, 20, NULL, NULL },
	};
	struct nn_chart_series metric[] = { { NULL, NN_CHART_LINE_AND_POINTS, epoch, accuracy, 20,
					      NULL, NULL } };
	struct nn_chart_series rates[] = { { NULL, NN_CHART_LINE_AND_POINTS, epoch, rate, 20, NULL,
					     NULL } };
	struct nn_chart_mark best[] = { { NN_CHART_RING, 14, 0, "best 0.9645" } },
			     stop[] = { { NN_CHART_AT_X, 9, 0, "resumed" } };
	struct nn_chart_panel panels[] = {
		{ { "loss", NULL, .scale = NN_CHART_LINEAR, .zero = true }, losses, 2, stop, 1 },
		{ { "accuracy", NULL, .scale = NN_CHART_LINEAR }, metric, 1, best, 1 },
		{ { "throughput", "samples/s", NN_CHART_LINEAR, .zero = true }, rates, 1, NULL, 0 },
	};
	struct nn_chart chart = { "digits: 784-128-10",
				  "nn-train 0.1, cpu, 2 threads, batch 64",
				  { "epoch", NULL, .scale = NN_CHART_LINEAR },
				  panels,
				  3,
				  NULL,
				  NULL };
	char *svg;

	for (int i = 0; i < 20; i++) {
		epoch[i] = i + 1;
		loss[i] = 0.05 + 1.2 * exp(-i / 3.0);
		valid[i] = 0.13 + 1.0 * exp(-i / 3.0) + 0.004 * i;
		accuracy[i] = i == 5 ? NAN : 0.97 - 0.3 * exp(-i / 2.0) - 0.0004 * i;
		rate[i] = i == 0 ? 31000 : 48000 + 1500 * sin(i * 1.7);
	}
	best[0].y = accuracy[13];
	svg = svg_of("training", &chart);
	/* two losses in one piece each, the accuracy in two, the throughput in one */
	ok(count(svg, "<polyline") == 5, "training: a NaN is a gap in its line");
	ok(strstr(svg, ">40k<") && strstr(svg, "throughput, samples/s"),
	   "training: large figures take a prefix, the unit stands at the axis");
	free(svg);
}

static void bench(void)
{
	double batch[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 }, rate[11], low[11],
	       high[11], p50[11], p90[11], p99[11];
	double fast[11];
	struct nn_chart_series rates[] = {
		{ "cpu", NN_CHART_LINE_AND_POINTS, batch, rate, 11, low, high },
		{ "cpu+openblas", NN_CHART_LINE_AND_POINTS, batch, fast, 11, NULL, NULL },
	};
	struct nn_chart_series latencies[] = {
		{ "p50", NN_CHART_LINE_AND_POINTS, batch, p50, 11, NULL, NULL },
		{ "p90", NN_CHART_LINE_AND_POINTS, batch, p90, 11, NULL, NULL },
		{ "p99", NN_CHART_LINE_AND_POINTS, batch, p99, 11, NULL, NULL },
	};
	struct nn_chart_mark knee[] = { { NN_CHART_RING, 64, 0, "knee: batch 64" } };
	struct nn_chart_panel panels[] = {
		{ { "throughput", "samples/s", NN_CHART_LINEAR, .zero = true }, rates, 2, knee, 1 },
		{ { "latency", "s", .scale = NN_CHART_LOG10 }, latencies, 3, NULL, 0 },
	};
	struct nn_chart chart = { "lenet.safetensors: prediction",
				  "AMD EPYC 7763, 2 threads, nntools 0.1, 2026-11-21",
				  { "batch", NULL, .scale = NN_CHART_LOG2 },
				  panels,
				  2,
				  NULL,
				  NULL };
	char *svg;

	for (int i = 0; i < 11; i++) {
		p50[i] = 80e-6 + batch[i] * 21e-6;
		p90[i] = p50[i] * 1.15;
		p99[i] = p50[i] * 1.5 + 30e-6;
		rate[i] = batch[i] / p50[i];
		low[i] = rate[i] * 0.95;
		high[i] = rate[i] * 1.04;
		fast[i] = batch[i] / (200e-6 + batch[i] * 18e-6);
	}
	knee[0].y = rate[6];
	svg = svg_of("bench", &chart);
	ok(count(svg, "knee: batch 64") == 2 && strstr(svg, ">1024<") && strstr(svg, "ms<"),
	   "bench: powers of two, times with their unit");
	free(svg);
}

static void roofline(void)
{
	double x[] = { 0.05, 16.0 / 3.2, 400 }, roof[] = { 0.05 * 16e9, 80e9, 80e9 },
	       reached[] = { 0.05 * 12e9, 60e9, 62e9 };
	struct nn_chart_series lines[] = {
		{ "measured peaks", NN_CHART_LINE, x, roof, 3, NULL, NULL },
		{ "one thread", NN_CHART_LINE, x, reached, 3, NULL, NULL },
	};
	struct nn_chart_mark points[] = {
		{ NN_CHART_DOT, 27, 51e9, "conv1" },    { NN_CHART_DOT, 90, 66e9, "conv2" },
		{ NN_CHART_DOT, 0.25, 3.1e9, "pool1" }, { NN_CHART_DOT, 0.26, 3.0e9, "pool2" },
		{ NN_CHART_DOT, 0.125, 1.7e9, "relu" }, { NN_CHART_DOT, 31, 58e9, "dense1" },
		{ NN_CHART_DOT, 31.5, 57e9, "dense2" }, { NN_CHART_DOT, 30, 56e9, "dense3" },
		{ NN_CHART_DOT, 8, 22e9, "dense_out" }, { NN_CHART_AT_Y, 0, 80e9, "80 GFLOP/s" },
		{ NN_CHART_AT_X, 5, 0, "ridge" },       { NN_CHART_TEXT, 0.6, 18e9, "16 GB/s" },
	};
	struct nn_chart_panel panels[] = {
		{ { NULL, "FLOP/s", .scale = NN_CHART_LOG10 }, lines, 2, points, COUNT(points) },
	};
	struct nn_chart chart = { "Roofline of lenet.safetensors, batch 64",
				  "each operation against what this machine can do",
				  { "intensity", "FLOP/B", .scale = NN_CHART_LOG10 },
				  panels,
				  1,
				  NULL,
				  NULL };
	char *svg = svg_of("roofline", &chart);

	ok(count(svg, "r=\"3.5\"") == 9, "roofline: a dot for each point");
	ok(strstr(svg, ">10G<") != NULL, "roofline: decades take a prefix");
	free(svg);
}

/* ---- numbers and texts that nobody expects ---- */

static const struct {
	const char *name;
	double y[6];
	int n;
} strange[] = {
	{ "no points", { 0 }, 0 },
	{ "one point", { 3.5 }, 1 },
	{ "one zero", { 0 }, 1 },
	{ "equal values", { 7, 7, 7, 7 }, 4 },
	{ "equal negative values", { -7e-9, -7e-9 }, 2 },
	{ "all NaN", { NAN, NAN, NAN }, 3 },
	{ "points between gaps", { 1, NAN, 2, NAN, 3, INFINITY }, 6 },
	{ "the range of double", { -DBL_MAX, 0, DBL_MAX, -1, 1, 5 }, 6 },
	{ "from tiny to huge", { 5e-324, 1e-300, 1, 1e300, DBL_MAX }, 5 },
	{ "subnormal", { 5e-324, 1e-323, 1.5e-323 }, 3 },
	{ "next to each other", { 1, 1 + DBL_EPSILON, 1 + 2 * DBL_EPSILON }, 3 },
	{ "far from zero", { 1e9, 1e9 + 3, 1e9 + 1 }, 3 },
	{ "negative", { -3, -2, -50 }, 3 },
	{ "zero and less", { 0, -1, 4 }, 3 },
	{ "beyond all", { INFINITY, -INFINITY }, 2 },
	{ "loss that explodes", { 0.5, 0.4, 3e7, 1e22, 1e38 }, 5 },
};

static void strange_numbers(void)
{
	static const char *const scales[] = { "linear", "log2", "log10" };
	static const double x[] = { 1, 2, 4, 8, 16, 32 };
	static const char *const units[] = { NULL, "s", "FLOP/s" };

	for (size_t k = 0; k < COUNT(strange); k++)
		for (int i = 0; i < 3; i++) {
			struct nn_chart_series series = { "y",
							  i ? NN_CHART_LINE
							    : NN_CHART_LINE_AND_POINTS,
							  x,
							  strange[k].y,
							  (size_t)strange[k].n,
							  strange[k].y,
							  x };
			struct nn_chart_mark mark = { NN_CHART_RING, 2, strange[k].y[0], "here" };
			struct nn_chart_panel panel = { { "y", units[(k + (size_t)i) % 3],
							  .scale = (enum nn_chart_scale)i,
							  .zero = k % 2 },
							&series,
							1,
							&mark,
							1 };
			struct nn_chart chart = { strange[k].name,
						  NULL,
						  { "x", NULL, .scale = (enum nn_chart_scale)i },
						  &panel,
						  1,
						  NULL,
						  NULL };
			struct nn_chart turned = chart;
			char name[80];

			snprintf(name, sizeof name, "%s, %s", strange[k].name, scales[i]);
			free(svg_of(name, &chart));
			turned.x.unit = units[(k + (size_t)i) % 3];
			series.x = strange[k].y;
			series.y = x;
			series.low = series.high = NULL;
			snprintf(name, sizeof name, "%s, %s, along x", strange[k].name, scales[i]);
			free(svg_of(name, &turned));
		}
}

static void texts(void)
{
	static const double x[] = { 1, 2 }, y[] = { 1, 2 };
	struct nn_chart_series series = {
		"a<b & \"c\" > d\x01\xff\xef\xbf\xbf", NN_CHART_LINE, x, y, 2, NULL, NULL
	};
	struct nn_chart_mark mark = { NN_CHART_RING, 1, 1, "]]>&amp;\n\xc3\xa9" };
	struct nn_chart_panel panel = {
		{ "<y>", NULL, .scale = NN_CHART_LINEAR }, &series, 1, &mark, 1
	};
	struct nn_chart chart = { "</svg><script>",
				  "\xf0\x9f\x98\x80 \xed\xa0\x80",
				  { "&", NULL, .scale = NN_CHART_LINEAR },
				  &panel,
				  1,
				  NULL,
				  NULL };
	struct nn_chart empty = { .x = { .scale = NN_CHART_LINEAR } };
	char *svg = svg_of("texts", &chart);

	ok(strstr(svg, "a&lt;b &amp; &quot;c&quot; &gt; d\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd<"),
	   "texts: what XML would take for its own is escaped");
	ok(!strstr(svg, "<script>") && strstr(svg, "&amp;amp; \xc3\xa9"),
	   "texts: nothing in a text becomes an element");
	free(svg);
	free(svg_of("without panels", &empty));
}

static void ticks(void)
{
	static const double x[] = { 1, 2, 3 }, y[] = { 0.1, 0.2, 0.3 },
			    tiny[] = { 1e-7, 2e-7, 3e-7 }, s[] = { 0.002, 0.01, 0.02 };
	struct nn_chart_series series = { NULL, NN_CHART_LINE, x, y, 3, NULL, NULL };
	struct nn_chart_panel panel = {
		{ "y", NULL, .scale = NN_CHART_LINEAR, .zero = true }, &series, 1, NULL, 0
	};
	struct nn_chart chart = { "ticks", NULL, { "x", NULL, .scale = NN_CHART_LINEAR }, &panel, 1,
				  NULL,    NULL };
	char *svg = svg_of("plain ticks", &chart);

	ok(strstr(svg, ">0<") && strstr(svg, ">0.05<") && strstr(svg, ">0.30<") &&
		   !strstr(svg, ">0.35<"),
	   "ticks: steps of 5 from 0 to the last value");
	free(svg);
	series.y = tiny;
	svg = svg_of("small ticks", &chart);
	ok(strstr(svg, ">0.5e-7<") && strstr(svg, ">3.0e-7<"),
	   "ticks: small plain numbers have an exponent");
	free(svg);
	series.y = s;
	panel.y.unit = "s";
	svg = svg_of("ticks of time", &chart);
	ok(strstr(svg, ">5 ms<") && strstr(svg, ">20 ms<"),
	   "ticks: times are in ms where that suits");
	free(svg);
	panel.y.to = 0.04;
	svg = svg_of("ticks as asked for", &chart);
	ok(strstr(svg, ">40 ms<") != NULL, "ticks: what was asked for is shown beyond the data");
	free(svg);
	panel.y.to = 0;
	chart.x.whole = true;
	svg = svg_of("whole ticks", &chart);
	ok(strstr(svg, ">3<") && !strstr(svg, ">1.5<") && !strstr(svg, ">1.50<"),
	   "ticks: an axis that counts has none between whole numbers");
	free(svg);
}

/* ---- what was answered ---- */

static void confusions(void)
{
	static const char *const labels[] = { "cat", "a<b", "a label that is longer than a field" };
	static const char *const short_labels[] = { "0", "1" };
	const double counts[] = { 5, 1, 0, 0, 0, 0, 2, 0, 12 }, many[] = { 300000, 100000, 0, 1 },
		     parts[] = { 0.5, 0, 0, 1 };
	struct nn_chart_confusion confusion = { labels, counts, 3 };
	struct nn_chart chart = { .title = "confusion", .confusion = &confusion };
	char *svg = svg_of("confusion", &chart);

	ok(count(svg, "<rect fill=\"#") == 4 && strstr(svg, ">12</text>") &&
		   strstr(svg, "counts (row"),
	   "confusion: a field for each pair that there is, with its count");
	ok(count(svg, ">a&lt;b</text>") == 2 && count(svg, "rotate(-90)") == 3 &&
		   count(svg, ">a label that is long...</text>") == 2,
	   "confusion: long labels are cut, and stand upright over the columns");
	free(svg);
	confusion = (struct nn_chart_confusion){ short_labels, many, 2 };
	svg = svg_of("confusion of many", &chart);
	ok(strstr(svg, "confusion, % of a row") && strstr(svg, ">75</text>") &&
		   strstr(svg, ">25</text>") && !strstr(svg, "rotate"),
	   "confusion: counts too wide for a field are shares of their row");
	free(svg);
	confusion.counts = parts;
	svg = svg_of("confusion of weights", &chart);
	ok(count(svg, ">100</text>") == 2, "confusion: sums of weights are shares of their row");
	free(svg);
}

static void galleries(void)
{
	static const unsigned char flag[] = { 255, 0, 0,   255, 0, 0, 0, 0, 255,
					      0,   0, 255, 255, 0, 0, 0, 0, 255 };
	static unsigned char noise[NN_CHART_SIDE * NN_CHART_SIDE * 3];
	static const char *const columns[] = { "picture", "mask" };
	const struct nn_chart_key keys[] = { { { 255, 0, 0 }, "red & more" },
					     { { 0, 0, 255 }, "blue" } };
	const struct nn_chart_picture pictures[] = { { 2, 3, flag },
						     { 0, 0, NULL },
						     { NN_CHART_SIDE, NN_CHART_SIDE, noise },
						     { 1, 1, flag } };
	const struct nn_chart_gallery gallery = { "examples", columns, 2, 2, pictures, keys, 2 };
	const struct nn_chart chart = { .title = "gallery", .gallery = &gallery };
	unsigned state = 1;
	char *svg;

	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
	svg = svg_of("gallery", &chart);
	ok(strstr(svg, "<path stroke=\"#0000ff\" d=\"M2 0h1M0 1h1M2 1h1\"/>\n"
		       "<path stroke=\"#ff0000\" d=\"M0 0h2M1 1h1\"/>") != NULL,
	   "gallery: a path for each colour, with its runs of pixels");
	ok(strstr(svg, ">red &amp; more</text>") && strstr(svg, "fill=\"#ff0000\""),
	   "gallery: keys say what colours mean");
	ok(strlen(svg) < 500000,
	   "gallery: noise of the largest side stays below 500,000 bytes (%zu)", strlen(svg));
	ok(!strstr(svg, "href") && !strstr(svg, "url("), "gallery: needs nothing from outside");
	free(svg);
}

static void shares(void)
{
	static const struct {
		double y[3];
		const char *claim;
	} cases[] = {
		{ { 0.31, 0.42, 0.4 }, "share: an axis of small ones ends at 1" },
		{ { 0.97, 0.99, 0.985 }, "share: one of large ones does" },
		{ { 1, 1, 1 }, "share: so does one of all 1" },
		{ { 0, 0, 0 }, "share: and one of all 0" },
	};

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct nn_chart_axis axis = { .title = "accuracy", .share = true };
		struct nn_scale scale;

		nn_scale_init(&scale, &axis);
		for (size_t i = 0; i < 3; i++)
			nn_scale_see(&scale, cases[k].y[i]);
		nn_scale_finish(&scale, 5, true);
		ok(fabs(scale.end - 1) < 1e-12 && scale.begin <= cases[k].y[0] &&
			   strncmp(scale.ticks[scale.n_ticks - 1].label, "1", 1) == 0,
		   "%s", cases[k].claim);
	}
}

int main(int argc, char **argv)
{
	directory = argc > 1 ? argv[1] : NULL;
	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		note("no German locale here: decimal commas are not tried");
	training();
	bench();
	roofline();
	shares();
	strange_numbers();
	texts();
	ticks();
	confusions();
	galleries();
	return tap_done();
}
