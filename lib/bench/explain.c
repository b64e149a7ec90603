/*
 * nn-bench explain: where the time of predicting some rows goes, from the start of the process to
 * its last byte.
 *
 * `first` is what the first call takes more than a later one, so that the phases add up to the
 * total. A device that is not present has its rows printed, then status 3.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/phases.h"

#define RUNS 15 /* of a process */

static const struct nn_report_column columns[] = {
	{ "phase", 10, 0 }, { "seconds", 0, 0 }, { "share", 0, 0 }, { NULL, 0, 0 }
};

/* Its name, and what it means that this phase is the largest. */
static const struct {
	const char *name, *why;
} phases[NN_N_PHASES] = {
	[NN_PHASE_EXEC] = { "exec", "starting the process costs more than its work" },
	[NN_PHASE_LIBRARIES] = { "libraries",
				 "loading the program's libraries costs more than its work" },
	[NN_PHASE_DEVICE] = { "device",
			      "opening the device is paid once by every process, before any row" },
	[NN_PHASE_LOAD] = { "load",
			    "reading and packing the parameters is paid once by every process" },
	[NN_PHASE_INPUT] = { "input", "reading the rows costs more than computing them" },
	[NN_PHASE_COPY_IN] = { "copy_in",
			       "the rows are copied to the device for little work there" },
	[NN_PHASE_FIRST] = { "first", "the first call takes memory and sets up what later calls "
				      "find ready" },
	[NN_PHASE_COMPUTE] = { "compute", "the arithmetic itself is what takes the time" },
	[NN_PHASE_COPY_OUT] = { "copy_out",
				"the answers are copied back for little work on the device" },
	[NN_PHASE_OUTPUT] = { "output", "writing the answers costs more than computing them" },
};

static int put(struct nn_report *r, const char *phase, double seconds, double total,
	       struct nn_error *err)
{
	nn_report_text(r, "phase", phase);
	nn_report_real(r, "seconds", seconds);
	nn_report_real(r, "share", seconds / total);
	return nn_report_row(r, err);
}

static double sum_of(const double s[NN_N_PHASES])
{
	double sum = 0;

	for (int i = 0; i < NN_N_PHASES; i++)
		sum += isnan(s[i]) ? 0 : s[i];
	return sum;
}

/* ---- the sentence ---- */

static void add_dominant(struct nn_text *text, const struct nn_phases *p, double total)
{
	char part[NN_DURATION], all[NN_DURATION];
	int most = 0;

	for (int i = 0; i < NN_N_PHASES; i++)
		if (!(p->s[i] <= p->s[most]) && !isnan(p->s[i]))
			most = i;
	nn_text_addf(text, "%s%s takes %s of %s (%.0f %%): %s; ",
		     p->absent ? "of what can be measured here " : "", phases[most].name,
		     nn_duration(part, p->s[most]), nn_duration(all, total),
		     100 * p->s[most] / total, phases[most].why);
}

static void add_missing(struct nn_text *text, const struct nn_phases *p, bool others)
{
	if (p->absent)
		nn_text_addf(text,
			     "of device %s, which is not here, device, copy_in, first, compute and "
			     "copy_out would have to be measured",
			     p->device_name);
	else if (p->copies)
		nn_text_addf(text, "what is paid in every call beside it is copy_in and copy_out");
	else if (others)
		nn_text_add(text, "no other device can save more than that, and each has its own "
				  "device, first and copies: see --device");
	else
		nn_text_add(text, "a GPU could save no more than that, and would add its own "
				  "device, copy_in, first and copy_out, which "
				  "would have to be measured: none is here");
}

static void say(const struct nn_bench *b, const struct nn_phases *p, bool others)
{
	struct nn_text text = { 0 };
	double total = sum_of(p->s);
	char compute[NN_DURATION], whole[NN_DURATION];

	add_dominant(&text, p, total);
	if (!isnan(p->s[NN_PHASE_COMPUTE])) {
		nn_text_addf(&text, "computing %zu row%s takes %s (%.2g %%)", p->rows,
			     nn_s(p->rows), nn_duration(compute, p->s[NN_PHASE_COMPUTE]),
			     100 * p->s[NN_PHASE_COMPUTE] / total);
		if (!isnan(p->there_s))
			nn_text_addf(&text, ", of which the device works %s",
				     nn_duration(compute, p->there_s));
		nn_text_add(&text, "; ");
	}
	if (!isnan(p->instead_s))
		nn_text_addf(&text, "the CPU computes %zu row%s in %s; ", p->rows, nn_s(p->rows),
			     nn_duration(compute, p->instead_s));
	add_missing(&text, p, others);
	if (!isnan(p->whole_s))
		nn_text_addf(&text, " (nn-predict as a process, from its start to its end: %s)",
			     nn_duration(whole, p->whole_s));
	nn_bench_note(b, "%s", text.data ? text.data : "");
	nn_text_free(&text);
}

/* ---- the verb ---- */

static int put_rows(struct nn_report *r, const struct nn_phases *p, struct nn_error *err)
{
	double total = p->absent || isnan(p->s[NN_PHASE_COMPUTE]) ? NAN : sum_of(p->s);

	for (int i = 0; i < NN_N_PHASES; i++)
		if (put(r, phases[i].name, p->s[i], total, err) < 0)
			return -1;
	return put(r, "total", total, total, err);
}

struct explain {
	struct nn_bench *b;
	struct nn_bench_work w;
};

static int explain(void *arg, struct nn_error *err)
{
	const struct explain *e = arg;
	struct nn_bench *b = e->b;
	size_t batches[NN_BENCH_BATCHES];
	const char *names[NN_BENCH_DEVICES];
	struct nn_phases p = { .rows = 1 };
	int n = nn_bench_batches_or(b, 1, batches, err),
	    n_devices = nn_bench_devices(b, names, err);

	if (n < 0 || n_devices < 0)
		return -1;
	for (int i = 0; i < n; i++)
		p.rows = batches[i] > p.rows ? batches[i] : p.rows;
	p.device_name = names[n_devices - 1];
	if (nn_phases_measure(b, e->w.subject, RUNS, &p, err) < 0)
		return -1;
	if (nn_bench_stopped(b))
		return 0;
	if (put_rows(e->w.report, &p, err) < 0)
		return -1;
	say(b, &p, n_devices > 1);
	return p.absent ? nn_fail(err, NN_ENODEV, "%s", p.why_absent) : 0;
}

int nn_verb_explain(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct explain e = { .b = b };

	(void)n;
	return nn_bench_on_model(b, words[0], columns, &e.w, explain, &e, err);
}
