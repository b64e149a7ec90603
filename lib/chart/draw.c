/*
 * Numbers, lines and text of an SVG: whole numbers do the printing, so that no locale and no libc
 * shows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart/draw.h"

static void add_hundredths(struct nn_text *text, double value)
{
	long long n = llround(fmin(fmax(value, -1e9), 1e9) * 100), whole = llabs(n) / 100,
		  rest = llabs(n) % 100;

	nn_text_addf(text, "%s%lld", n < 0 ? "-" : "", whole);
	if (rest % 10)
		nn_text_addf(text, ".%02lld", rest);
	else if (rest)
		nn_text_addf(text, ".%lld", rest / 10);
}

void nn_draw_number(struct nn_text *text, const char *name, double value)
{
	nn_text_addf(text, " %s=\"", name);
	add_hundredths(text, value);
	nn_text_add(text, "\"");
}

void nn_draw_point(struct nn_text *text, double x, double y)
{
	add_hundredths(text, x);
	nn_text_add(text, ",");
	add_hundredths(text, y);
}

void nn_draw_line(struct nn_text *text, double x1, double y1, double x2, double y2)
{
	nn_text_add(text, "<line");
	nn_draw_number(text, "x1", x1);
	nn_draw_number(text, "y1", y1);
	nn_draw_number(text, "x2", x2);
	nn_draw_number(text, "y2", y2);
	nn_text_add(text, "/>\n");
}

/* What XML cannot hold, not even escaped, is replaced. */
void nn_draw_escaped(struct nn_text *text, const char *string)
{
	size_t n = strlen(string), step;

	for (size_t i = 0; i < n; i += step) {
		unsigned char c = (unsigned char)string[i];

		step = nn_utf8_length(string + i, n - i);
		if (c == '<' || c == '>' || c == '&' || c == '"')
			nn_text_add(text, c == '<'   ? "&lt;"
					  : c == '>' ? "&gt;"
					  : c == '&' ? "&amp;"
						     : "&quot;");
		else if (c == '\n' || c == '\t' || c == '\r')
			nn_text_add(text, " ");
		else if (step == 0 || c < 0x20 ||
			 (step == 3 && memcmp(string + i, "\xef\xbf", 2) == 0 &&
			  string[i + 2] < '\xc0' && (unsigned char)string[i + 2] >= 0xbe))
			nn_text_add(text, "\xef\xbf\xbd");
		else
			nn_text_add_bytes(text, string + i, step);
		step += step == 0;
	}
}

void nn_draw_text(struct nn_text *text, double x, double y, const char *anchor, const char *style,
		  const char *string)
{
	nn_text_add(text, "<text");
	nn_draw_number(text, "x", x);
	nn_draw_number(text, "y", y);
	if (strcmp(anchor, "start") != 0)
		nn_text_addf(text, " text-anchor=\"%s\"", anchor);
	if (style)
		nn_text_addf(text, " %s", style);
	nn_text_add(text, ">");
	nn_draw_escaped(text, string);
	nn_text_add(text, "</text>\n");
}

double nn_draw_width(const char *string)
{
	double width = 0;

	for (const char *s = string; *s; s++) {
		if (strchr("il.,:;|'!()[] tfjrI1/-", *s))
			width += 0.4;
		else if (strchr("mwMW@%", *s))
			width += 0.95;
		else if (((unsigned char)*s & 0xc0) !=
			 0x80) /* a character each, however many bytes */
			width += 0.64;
	}
	return width * NN_CHART_FONT;
}
