/* From a command line to a verb, and what verbs share. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/text.h"
#include "device/products.h"
#include "bench/bench.h"
#include "bench/model.h"

#define BUSY 0.05 /* of the time that threads waited: figures are no longer this machine's */

static const char *next_verb(const void *arg, size_t i)
{
	(void)arg;
	return nn_bench_verbs[i].name;
}

static const struct nn_bench_verb *find(const char *name, struct nn_error *err)
{
	struct nn_text known = { 0 };
	const char *near = nn_did_you_mean(name, next_verb, NULL);
	char quoted[NN_QUOTED];

	for (const struct nn_bench_verb *v = nn_bench_verbs; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	for (const struct nn_bench_verb *v = nn_bench_verbs; v->name; v++)
		nn_text_addf(&known, "%s%s", v == nn_bench_verbs ? "" : ", ", v->name);
	nn_quote(quoted, name, strlen(name));
	if (near)
		nn_fail(err, NN_EUSAGE, "%s: unknown verb; did you mean %s?", quoted, near);
	else
		nn_fail(err, NN_EUSAGE, "%s: unknown verb; known are %s", quoted, known.data);
	nn_text_free(&known);
	return NULL;
}

static int check_files(const struct nn_bench_setup *setup, const struct nn_bench_verb *verb, int n,
		       char **operands, struct nn_error *err)
{
	struct nn_file_use files[NN_BENCH_OPERANDS];

	for (int i = 0; i < n; i++)
		files[i] = (struct nn_file_use){ .path = operands[i], .each = verb->each };
	return nn_files_check(setup->list, files, (size_t)n, err);
}

/* Of a table those that were given have to mean something to the verb. */
static int check_options(const struct nn_bench_setup *setup, const struct nn_opt *options,
			 const struct nn_bench_verb *verb, struct nn_error *err)
{
	for (const struct nn_opt *o = options; o->name; o++)
		if (nn_opt_given(setup->list, o->name) && strcmp(o->name, "to") != 0 &&
		    strcmp(o->name, "time") != 0 &&
		    !nn_text_lists(verb->options, o->name, strlen(o->name)))
			return nn_fail(err, NN_EUSAGE, "--%s: does not apply to %s", o->name,
				       verb->name);
	return 0;
}

int nn_model_operand_check(const struct nn_bench_setup *setup, int n, char **operands,
			   struct nn_error *err)
{
	(void)n;
	return setup->std->dry_run ? nn_bench_model_check(operands[0], err) : 0;
}

int nn_bench_check(const struct nn_bench_setup *setup, int n, char **words, struct nn_error *err)
{
	const struct nn_bench_verb *verb;

	if (n < 1)
		return nn_fail(err, NN_EUSAGE, "no verb given; see nn-bench --help");
	if (!(verb = find(words[0], err)))
		return -1;
	if (n - 1 < verb->fewest)
		return nn_fail(err, NN_EUSAGE, "%s: expected %s", verb->name, verb->operands);
	if (n - 1 > verb->most)
		return nn_fail(err, NN_EUSAGE, "%s: expected %s, got %s as well", verb->name,
			       *verb->operands ? verb->operands : "no operand",
			       words[1 + verb->most]);
	if (check_options(setup, nn_bench_opts, verb, err) < 0 ||
	    check_options(setup, nn_data_opts, verb, err) < 0)
		return -1;
	if (nn_products_check(setup->std, err) < 0)
		return -1;
	if (check_files(setup, verb, n - 1, words + 1, err) < 0)
		return -1;
	return verb->check ? verb->check(setup, n - 1, words + 1, err) : 0;
}

int nn_bench_run(const struct nn_bench_setup *setup, int n, char **words, struct nn_error *err)
{
	struct nn_bench b = { .setup = *setup, .options = setup->bench, .std = setup->std };
	const struct nn_bench_verb *verb = find(words[0], err);
	int status;

	if (!verb)
		return -1;
	b.threads = b.std->threads ? (int)b.std->threads : nn_cpu_count();
	nn_machine_init(&b.machine, b.threads);
	if (nn_pool_new(&b.pool, b.threads, err) < 0)
		return -1;
	status = verb->run(&b, n - 1, words + 1, err);
	if (b.waited > BUSY)
		nn_bench_note(&b,
			      "the machine is busy: for %.0f %% of the time threads of this "
			      "program waited for a processor; the "
			      "figures are not those of an idle machine",
			      100 * fmin(b.waited, 1));
	nn_pool_free(b.pool);
	return status;
}

/* ---- for verbs ---- */

bool nn_bench_stopped(const struct nn_bench *b)
{
	return b->setup.host.stop && *b->setup.host.stop;
}

int nn_bench_report(const struct nn_bench *b, const struct nn_report_column *columns,
		    struct nn_report **report, struct nn_error *err)
{
	return nn_report_open(report, b->std->output, b->options->to, columns, &b->machine, err);
}

static void tell(const struct nn_bench *b, const char *text)
{
	if (b->setup.host.doing && *b->doing)
		b->setup.host.doing(b->setup.host.arg, text);
}

int nn_bench_measure(struct nn_bench *b, const struct nn_measure_call *calls, size_t n,
		     struct nn_measure *results, struct nn_error *err)
{
	struct nn_measure_options o = { .clock = b->setup.clock,
					.seconds = b->options->time_s,
					.stop = b->setup.host.stop };
	int status;

	tell(b, b->doing);
	status = nn_measure(&o, calls, n, results, err);
	tell(b, "");
	if (status == 0)
		b->waited = fmax(b->waited, results[0].waited);
	return status;
}

void nn_bench_doing(struct nn_bench *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(b->doing, sizeof b->doing, format, args);
	va_end(args);
}

void nn_bench_note(const struct nn_bench *b, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (b->setup.host.note)
		b->setup.host.note(b->setup.host.arg, text);
}

void nn_bench_too_short(const struct nn_bench *b, const char *what, const struct nn_measure *m)
{
	double once = m->warmup_n ? m->warmup_s / (double)m->warmup_n : m->first_s;

	nn_bench_note(b,
		      "%s: --time=%g is too short for a figure: a call takes %.2g s, about "
		      "--time=%.2g is needed",
		      what, b->options->time_s, once, fmax(10 * once, 2 * b->options->time_s));
}
