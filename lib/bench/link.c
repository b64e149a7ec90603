/*
 * nn-bench link: how fast bytes move on this host, and a gradient against the multiplications that
 * make it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/channel.h"
#include "bench/machine/copies.h"
#include "bench/machine/peak.h"
#include "bench/trial.h"
#include "comm/pairs.h"

#define ITEM_S 1.0                   /* for a figure at most, where --time does not say */
#define RATE_BYTES ((size_t)4 << 20) /* that a rate is measured with */
#define ROWS 64                      /* of the step that a gradient is held against */

static const struct nn_report_column columns[] = {
	{ "item", 28, 0 }, { "value", 0, 0 }, { "unit", 8, 0 }, { NULL, 0, 0 }
};

/* Layers of WIDTH x WIDTH, whose gradients are sent: 1 and 16 MiB in f32. */
static const struct size {
	size_t width;
	const char *model;
} sizes[] = {
	{ 512, "input 512, dense 512 bias=no" },
	{ 2048, "input 2048, dense 2048 bias=no" },
};
#define N_SIZES (sizeof sizes / sizeof *sizes)

struct link {
	struct nn_bench *b;
	struct nn_bench_work w;
	double moved[N_SIZES][8]; /* seconds, by size and way */
	bool open[8];             /* by way: there is such a line */
};

/* Peaks count what is read and what is written; a link is judged by what arrives. */
static double copied(const struct link *l, const struct nn_device *cpu, void *memory, size_t bytes)
{
	return nn_peak_memory(l->b, NN_PEAK_COPY, memory, bytes, cpu, NULL, 0.1) / 2;
}

static int put_copies(struct link *l, struct nn_error *err)
{
	const struct nn_device *cpu = nn_device_open("cpu", NN_F32, err);
	size_t cache = nn_machine_cache(2), near = cache ? cache / 2 : (size_t)256 << 10,
	       far = nn_peak_far_bytes();
	void *memory = cpu ? nn_peak_room(l->b, far > near ? far : near, err) : NULL;
	int status = -1;

	if (memory && nn_report_item(l->w.report, "copy_cache", copied(l, cpu, memory, near), "B/s",
				     err) == 0)
		status = nn_report_item(l->w.report, "copy_memory", copied(l, cpu, memory, far),
					"B/s", err);
	nn_free(memory);
	return status;
}

/* ---- to devices with memory of their own, through pinned memory ---- */

#define LATENCY_BYTES 4
#define COPIED_BYTES ((size_t)64 << 20)

/* Seconds of a copy of so many bytes there, and back. */
static int time_copies(struct link *l, const struct nn_device *device, size_t bytes,
		       double seconds[2], struct nn_error *err)
{
	struct nn_copies copies;
	const struct nn_measure_call calls[2] = { { nn_copies_in, &copies },
						  { nn_copies_out, &copies } };
	struct nn_measure m[2] = { 0 };
	int status = nn_copies_open(&copies, device, bytes, bytes, err);

	if (status == 0)
		status = nn_bench_measure(l->b, calls, 2, m, err);
	if (status == 0)
		status = nn_queue_wait(copies.queue, err);
	for (int i = 0; i < 2; i++)
		seconds[i] = m[i].n > 0 ? nn_measure_usual(&m[i]) : NAN;
	nn_copies_close(&copies);
	return status;
}

static int put_device(struct link *l, const char *name, struct nn_error *err)
{
	static const char *const ways[] = { "in", "out" };
	const struct nn_device *device = nn_bench_device(l->b, name, NN_F32, err);
	double latency[2], moved[2];
	char item[64];

	if (!device || time_copies(l, device, LATENCY_BYTES, latency, err) < 0 ||
	    time_copies(l, device, COPIED_BYTES, moved, err) < 0)
		return -1;
	for (int i = 0; i < 2 && !nn_bench_stopped(l->b); i++) {
		snprintf(item, sizeof item, "%s_copy_%s_latency", name, ways[i]);
		if (nn_report_item(l->w.report, item, latency[i], "s", err) < 0)
			return -1;
		snprintf(item, sizeof item, "%s_copy_%s_rate", name, ways[i]);
		if (nn_report_item(l->w.report, item, (double)COPIED_BYTES / moved[i], "B/s", err) <
		    0)
			return -1;
	}
	return 0;
}

static int put_devices(struct link *l, struct nn_error *err)
{
	const char *names[NN_BENCH_DEVICES];
	int n = nn_bench_devices(l->b, names, err), status = n < 0 ? -1 : 0;

	for (int i = 0; i < n && status == 0 && !nn_bench_stopped(l->b); i++)
		if (!nn_bench_is_cpu(names[i]))
			status = put_device(l, names[i], err);
	return status;
}

/* ---- between threads ---- */

/* Seconds of a call that moves so many bytes; NAN where it failed or there was too little time. */
static int time_line(struct link *l, struct nn_channel *line, size_t bytes, double *seconds,
		     struct nn_error *err)
{
	struct nn_measure_call call = { nn_channel_call, line };
	struct nn_measure m;

	nn_channel_set(line, bytes);
	if (nn_bench_measure(l->b, &call, 1, &m, err) < 0)
		return -1;
	*seconds = nn_channel_good(line) && m.n > 0 ? nn_measure_usual(&m) : NAN;
	return 0;
}

static int put_way(struct link *l, size_t way, struct nn_channel *line, struct nn_error *err)
{
	const char *name = nn_channel_algorithms[way].name;
	char item[64];
	double seconds;

	if (time_line(l, line, 0, &seconds, err) < 0)
		return -1;
	snprintf(item, sizeof item, "%s_latency", name);
	if (nn_bench_stopped(l->b) || nn_report_item(l->w.report, item, seconds / 2, "s", err) < 0)
		return nn_bench_stopped(l->b) ? 0 : -1;
	if (time_line(l, line, RATE_BYTES, &seconds, err) < 0)
		return -1;
	snprintf(item, sizeof item, "%s_rate", name);
	if (nn_bench_stopped(l->b) ||
	    nn_report_item(l->w.report, item, (double)RATE_BYTES / seconds, "B/s", err) < 0)
		return nn_bench_stopped(l->b) ? 0 : -1;
	for (size_t i = 0; i < N_SIZES && !nn_bench_stopped(l->b); i++) {
		size_t bytes = sizes[i].width * sizes[i].width * sizeof(float);

		if (time_line(l, line, bytes, &l->moved[i][way], err) < 0)
			return -1;
		snprintf(item, sizeof item, "%s_move_%zu", name, bytes);
		if (!nn_bench_stopped(l->b) &&
		    nn_report_item(l->w.report, item, l->moved[i][way], "s", err) < 0)
			return -1;
	}
	return 0;
}

static int put_ways(struct link *l, struct nn_error *err)
{
	size_t most = sizes[N_SIZES - 1].width * sizes[N_SIZES - 1].width * sizeof(float);

	for (size_t way = 0; nn_channel_algorithms[way].name && !nn_bench_stopped(l->b); way++) {
		struct nn_channel *line;
		struct nn_error why;
		int status;

		if (nn_channel_open(&line, &nn_channel_algorithms[way], most, &why) < 0) {
			nn_bench_note(l->b, "%s is left out: %s", nn_channel_algorithms[way].name,
				      why.text);
			continue;
		}
		l->open[way] = true;
		status = put_way(l, way, line, err);
		nn_channel_close(line);
		if (status < 0)
			return -1;
	}
	return 0;
}

/* A training step of the layer: what a rank does before it has that gradient to send. */
static int time_step(struct link *l, const char *model, double *seconds, struct nn_error *err)
{
	struct nn_trial_options o = { .threads = l->b->threads,
				      .mode = NN_BENCH_TRAIN,
				      .batch = ROWS,
				      .most_bytes = (size_t)8 << 20 };
	struct nn_bench_model *subject = NULL;
	struct nn_trial *trial = NULL;
	struct nn_measure m;
	int status = -1;

	if (nn_bench_model_open(&subject, model, 1 + NN_F32, 1, err) == 0 &&
	    (o.device = nn_device_open("cpu", NN_F32, err)) &&
	    (o.subject = subject, nn_trial_new(&trial, &o, err)) == 0) {
		struct nn_measure_call call = { nn_trial_call, trial };

		status = nn_bench_measure(l->b, &call, 1, &m, err);
		*seconds = status == 0 ? nn_measure_usual(&m) : NAN;
	}
	nn_trial_free(trial);
	nn_bench_model_free(subject);
	return status;
}

static int put_gradients(struct link *l, struct nn_error *err)
{
	for (size_t i = 0; i < N_SIZES && !nn_bench_stopped(l->b); i++) {
		size_t bytes = sizes[i].width * sizes[i].width * sizeof(float);
		double step = NAN;
		char item[64];

		if (time_step(l, sizes[i].model, &step, err) < 0)
			return -1;
		snprintf(item, sizeof item, "step_%zu", bytes);
		if (nn_bench_stopped(l->b) || nn_report_item(l->w.report, item, step, "s", err) < 0)
			return nn_bench_stopped(l->b) ? 0 : -1;
		for (size_t way = 0; nn_channel_algorithms[way].name; way++) {
			snprintf(item, sizeof item, "%s_share_%zu", nn_channel_algorithms[way].name,
				 bytes);
			if (nn_report_item(l->w.report, item,
					   l->moved[i][way] > 0 ? l->moved[i][way] / step : NAN,
					   NULL, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int put_word(struct link *l, const char *item, const char *value, struct nn_error *err)
{
	nn_report_text(l->w.report, "item", item);
	nn_report_text(l->w.report, "value", value);
	return nn_report_row(l->w.report, err);
}

/*
 * What two ranks of this host can use, and what they take: the first of these. nn-train -v says it
 * of each pair. A device's memory no transport reads: it goes through the host's.
 */
static int put_pair(struct link *l, struct nn_error *err)
{
	bool shared = nn_pairs_shared_here(), tcp = false;

	for (size_t way = 0; nn_channel_algorithms[way].name; way++)
		tcp |= strcmp(nn_channel_algorithms[way].name, "tcp") == 0 && l->open[way];
	if (put_word(l, "ranks_shared_memory", shared ? "yes" : "no", err) < 0 ||
	    put_word(l, "ranks_tcp", tcp ? "yes" : "no", err) < 0 ||
	    put_word(l, "ranks_take",
		     shared ? "shared memory"
		     : tcp  ? "TCP"
			    : NULL,
		     err) < 0)
		return -1;
	return put_word(l, "ranks_devices", "through the host", err);
}

static int put_all(void *arg, struct nn_error *err)
{
	struct link *l = arg;

	if (put_devices(l, err) < 0 || put_copies(l, err) < 0 || put_ways(l, err) < 0 ||
	    put_pair(l, err) < 0)
		return -1;
	return put_gradients(l, err);
}

int nn_verb_link(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct link l = { .b = b };

	(void)n;
	(void)words;
	if (!nn_opt_given(b->setup.list, "time"))
		b->options->time_s = ITEM_S;
	return nn_bench_on_model(b, NULL, columns, &l.w, put_all, &l, err);
}
