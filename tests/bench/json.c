/*
 * How fast the numbers of a request are read, and those of an answer written: microseconds for 784
 * of them, beside jansson on the same bytes.
 *
 * usage: json [SECONDS]        per figure (0.5)
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/number.h"
#include "base/random.h"
#include "file/json/pull.h"

#define VALUES 784

static double seconds = 0.5;

/* Seconds that a call of `work` takes: the median of batches of a millisecond or so. */
static double time_of(void (*work)(void *arg), void *arg)
{
	double took[1000], start = nn_now_s(), end = start + seconds, before, now;
	size_t n = 0, calls = 1;

	for (work(arg); nn_now_s() - start < 1e-3; calls++)
		work(arg);
	do {
		before = nn_now_s();
		for (size_t i = 0; i < calls; i++)
			work(arg);
		now = nn_now_s();
		took[n++] = (now - before) / (double)calls;
	} while (n < 3 || (n < sizeof took / sizeof *took && now < end));
	return nn_median(took, n);
}

/* ---- texts ---- */

/* Several documents, so that no branch predictor knows them by heart. */
#define DOCUMENTS 64
struct sample {
	char text[DOCUMENTS][VALUES * 32];
	size_t bytes[DOCUMENTS];
	float values[VALUES];
	unsigned next;
};

static double draw(void)
{
	static uint64_t state = 1;

	return (double)(nn_lcg(&state) >> 11) * 0x1p-53;
}

/* A value as clients of a kind write it. */
static int put(char *to, const char *kind)
{
	double v = draw();

	if (strcmp(kind, "pixels") == 0) /* x / 255 as Python has it, most of them black */
		return draw() < 0.8 ? sprintf(to, "0.0")
				    : (int)nn_format_f64(to, floor(v * 256) / 255);
	if (strcmp(kind, "3 digits") == 0)
		return sprintf(to, "%.3f", v);
	if (strcmp(kind, "6 digits") == 0)
		return sprintf(to, "%.6f", v);
	if (strcmp(kind, "integers") == 0)
		return sprintf(to, "%d", (int)(v * 256));
	if (strcmp(kind, "f32") == 0)
		return (int)nn_format_f32(to, (float)(v * 2 - 1));
	if (strcmp(kind, "f32 as f64") == 0)
		return (int)nn_format_f64(to, (double)(float)(v * 2 - 1));
	return sprintf(to, "%.8e", (v - 0.5) * 1e-4); /* exponents */
}

static size_t make_document(char *text, const char *kind, const char *comma)
{
	char *to = text;

	*to++ = '[';
	for (int i = 0; i < VALUES; i++) {
		to += put(to, kind);
		if (i < VALUES - 1)
			to = stpcpy(to, comma);
	}
	*to++ = ']';
	return (size_t)(to - text);
}

static void make(struct sample *s, const char *kind, const char *comma)
{
	for (unsigned i = 0; i < DOCUMENTS; i++)
		s->bytes[i] = make_document(s->text[i], kind, comma);
}

/* ---- reading ---- */

static void pull(void *arg)
{
	struct sample *s = arg;
	struct nn_pull_dims dims;
	struct nn_error err;
	struct nn_pull p;

	s->next = (s->next + 1) % DOCUMENTS;
	nn_pull_begin(&p, s->text[s->next], s->bytes[s->next], 100, false, &err);
	if (nn_pull_f32s(&p, s->values, VALUES, &dims) < 0 || nn_pull_next(&p) != NN_PULL_END) {
		fprintf(stderr, "json: %s\n", err.text);
		exit(1);
	}
}

static void with_jansson(void *arg)
{
	struct sample *s = arg;
	json_t *array, *value;
	size_t i;

	s->next = (s->next + 1) % DOCUMENTS;
	array = json_loadb(s->text[s->next], s->bytes[s->next], JSON_REJECT_DUPLICATES, NULL);

	json_array_foreach(array, i, value) s->values[i] = (float)json_number_value(value);
	json_decref(array);
}

/* ---- writing ---- */

static void write_f32(void *arg)
{
	struct sample *s = arg;
	char *to = s->text[0];

	for (int i = 0; i < VALUES; i++) {
		to += nn_format_f32(to, s->values[i]);
		*to++ = ',';
	}
}

static void write_f32_g(void *arg)
{
	struct sample *s = arg;
	char *to = s->text[0];

	for (int i = 0; i < VALUES; i++) {
		to += nn_format_f32_g(to, s->values[i]);
		*to++ = ',';
	}
}

static void write_printf(void *arg)
{
	struct sample *s = arg;
	char *to = s->text[0];

	for (int i = 0; i < VALUES; i++)
		to += sprintf(to, "%.9g,", (double)s->values[i]);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "pixels", "3 digits",   "6 digits", "integers",
					     "f32",    "f32 as f64", "exponents" };
	static struct sample sample;
	double ours, theirs;

	if (argc > 1)
		seconds = atof(argv[1]);
	printf("%-8s %-12s %8s %10s %10s\n", "json", "784 values", "bytes", "ours, us", "jansson");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		make(&sample, kinds[i], ", ");
		ours = time_of(pull, &sample);
		theirs = time_of(with_jansson, &sample);
		printf("%-8s %-12s %8zu %10.2f %10.2f\n", "read", kinds[i], sample.bytes[0],
		       ours * 1e6, theirs * 1e6);
	}
	make(&sample, "f32", ",");
	pull(&sample);
	theirs = time_of(write_printf, &sample);
	printf("%-8s %-12s %8s %10.2f %10.2f (printf)\n", "write", "fewest", "-",
	       time_of(write_f32, &sample) * 1e6, theirs * 1e6);
	printf("%-8s %-12s %8s %10.2f %10.2f (printf)\n", "write", "9 digits", "-",
	       time_of(write_f32_g, &sample) * 1e6, theirs * 1e6);
	return 0;
}
