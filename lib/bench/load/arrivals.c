/* Arrival times, one after the other. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "bench/load/arrivals.h"
#include "file/input.h"

const char *const nn_load_arrival_names[] = { "poisson", "constant", NULL };

bool nn_load_arrivals_file(const char *value)
{
	for (const char *const *name = nn_load_arrival_names; *name; name++)
		if (strcmp(value, *name) == 0)
			return false;
	return true;
}

/* ---- traces ---- */

struct reading {
	struct nn_load_trace *trace;
	const char *name;
	size_t room, line;
	double first, last;
};

static int add_time(struct reading *r, double time, struct nn_error *err)
{
	struct nn_load_trace *t = r->trace;

	if (t->n > 0 && time < r->last)
		return nn_fail(err, NN_EFORMAT,
			       "%s:%zu: expected a time not before %.9g s, got %.9g", r->name,
			       r->line, r->last, time);
	r->last = time;
	if (t->n == 0)
		r->first = time;
	if (t->n == r->room) {
		size_t room = r->room ? 2 * r->room : 1024;
		double *more =
			nn_realloc(t->times, r->room * sizeof *more, room * sizeof *more, err);

		if (!more)
			return -1;
		t->times = more;
		r->room = room;
	}
	t->times[t->n++] = time - r->first;
	return 0;
}

static int take_line(struct reading *r, const char *line, size_t n, struct nn_error *err)
{
	const char *comment = memchr(line, '#', n);
	char quoted[NN_QUOTED];
	double time;

	r->line++;
	n = comment ? (size_t)(comment - line) : n;
	while (n > 0 && strchr(" \t\r", line[n - 1]))
		n--;
	for (; n > 0 && strchr(" \t", *line); n--)
		line++;
	if (n == 0)
		return 0;
	if (!nn_parse_f64(line, n, &time))
		return nn_fail(err, NN_EFORMAT, "%s:%zu: expected a time in seconds, got %s",
			       r->name, r->line, nn_quote(quoted, line, n));
	return add_time(r, time, err);
}

#define LINE 4096 /* bytes of a line at most */

static int read_lines(struct reading *r, struct nn_input *input, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got;

	for (;;) {
		const unsigned char *end;
		size_t n;

		if (nn_input_peek(input, &bytes, LINE, &got, err) < 0)
			return -1;
		if (got == 0)
			return 0;
		end = memchr(bytes, '\n', got);
		n = end ? (size_t)(end - bytes) : got;
		if (!end && got >= LINE)
			return nn_fail(err, NN_EFORMAT, "%s:%zu: the line has more than %d bytes",
				       r->name, r->line + 1, LINE);
		if (take_line(r, (const char *)bytes, n, err) < 0)
			return -1;
		nn_input_take(input, n + (end != NULL));
	}
}

int nn_load_trace_read(struct nn_load_trace *t, const char *path, struct nn_error *err)
{
	struct reading r = { .trace = t, .name = path };
	struct nn_input *input;
	int status;

	*t = (struct nn_load_trace){ 0 };
	if (nn_input_open(&input, path, err) < 0)
		return -1;
	status = read_lines(&r, input, err);
	if (status == 0 && t->n == 0)
		status = nn_fail(err, NN_EFORMAT,
				 "%s: expected arrival times, one a line, got none", path);
	nn_input_close(input);
	if (status < 0)
		nn_load_trace_free(t);
	return status;
}

void nn_load_trace_free(struct nn_load_trace *t)
{
	nn_free(t->times);
	*t = (struct nn_load_trace){ 0 };
}

double nn_load_trace_rate(const struct nn_load_trace *t)
{
	return t->n > 1 && t->times[t->n - 1] > 0 ? (double)(t->n - 1) / t->times[t->n - 1] : NAN;
}

/* ---- one after the other ---- */

/* In (0, 1], of 53 bits. */
static double uniform(uint64_t seed, uint64_t i)
{
	uint64_t bits = nn_random_u32(seed, i, NN_STREAM_ARRIVALS, 0);

	bits = bits << 32 | nn_random_u32(seed, i, NN_STREAM_ARRIVALS, 1);
	return ((double)(bits >> 11) + 1) * 0x1p-53;
}

static double next_time(struct nn_load_arrivals *a)
{
	double speed;

	if (!a->trace && a->poisson)
		return a->at += -log(uniform(a->seed, a->i++)) / a->rate;
	if (!a->trace)
		return (double)a->i++ / a->rate;
	if (a->i == a->trace->n)
		return INFINITY;
	speed = a->rate > 0 ? a->rate / nn_load_trace_rate(a->trace) : 1;
	return a->trace->times[a->i++] / (speed > 0 ? speed : 1);
}

double nn_load_arrivals_next(struct nn_load_arrivals *a)
{
	double time = next_time(a);

	return time < a->limit ? time : INFINITY;
}
