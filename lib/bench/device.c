/* nn-bench device: what this machine can do. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/machine/peak.h"
#include "device/queue.h"

#define ITEM_S 0.12 /* of a measured figure: all of them stay below three seconds */

static const struct nn_report_column columns[] = {
	{ "item", 20, 0 }, { "value", 0, 0 }, { "unit", 8, 0 }, { NULL, 0, 0 }
};

/* Unknown where it is 0. */
static int put_count(struct nn_report *r, const char *item, size_t value, const char *unit,
		     struct nn_error *err)
{
	nn_report_text(r, "item", item);
	if (value > 0)
		nn_report_count(r, "value", value);
	nn_report_text(r, "unit", unit);
	return nn_report_row(r, err);
}

static int put_text(struct nn_report *r, const char *item, const char *value, struct nn_error *err)
{
	nn_report_text(r, "item", item);
	nn_report_text(r, "value", value);
	return nn_report_row(r, err);
}

static int put_machine(struct nn_report *r, const struct nn_device *cpu, struct nn_error *err)
{
	if (put_count(r, "cores", (size_t)nn_cpu_count(), NULL, err) < 0 ||
	    put_text(r, "simd", cpu->kind, err) < 0)
		return -1;
	for (int level = 1; level <= 3; level++) {
		char item[16];

		snprintf(item, sizeof item, "cache_l%d", level);
		if (put_count(r, item, nn_machine_cache(level), "B", err) < 0)
			return -1;
	}
	return put_count(r, "memory", nn_machine_memory(), "B", err);
}

/* "NAME_1" on one thread, "NAME_all" on all, which is the same row twice where there is one. */
static int put_fma(struct nn_bench *b, struct nn_report *r, const char *name,
		   const struct nn_device *device, struct nn_error *err)
{
	char item[32];

	for (int all = 0; all < 2 && !nn_bench_stopped(b); all++) {
		snprintf(item, sizeof item, "fma_%s_%s", name, all ? "all" : "1");
		nn_report_count(r, "threads", all ? (uint64_t)b->threads : 1);
		if (nn_report_item(r, item, nn_peak_fma(b, device, all ? b->pool : NULL, ITEM_S),
				   "FLOP/s", err) < 0)
			return -1;
	}
	return 0;
}

static int put_memory(struct nn_bench *b, struct nn_report *r, const char *name,
		      enum nn_peak_memory what, void *memory, size_t bytes,
		      const struct nn_device *device, struct nn_error *err)
{
	char item[32];

	for (int all = 0; all < 2 && !nn_bench_stopped(b); all++) {
		snprintf(item, sizeof item, "%s_%s", name, all ? "all" : "1");
		nn_report_count(r, "threads", all ? (uint64_t)b->threads : 1);
		if (nn_report_item(r, item,
				   nn_peak_memory(b, what, memory, bytes, device,
						  all ? b->pool : NULL, ITEM_S),
				   "B/s", err) < 0)
			return -1;
	}
	return 0;
}

static int put_memories(struct nn_bench *b, struct nn_report *r, const struct nn_device *device,
			struct nn_error *err)
{
	size_t far = nn_peak_far_bytes(), near = nn_machine_cache(1) / 2;
	void *memory = nn_peak_room(b, far > near ? far : near, err);
	int status = -1;

	if (memory &&
	    put_memory(b, r, "memory_read", NN_PEAK_READ, memory, far, device, err) == 0 &&
	    put_memory(b, r, "memory_write", NN_PEAK_WRITE, memory, far, device, err) == 0 &&
	    put_memory(b, r, "memory_copy", NN_PEAK_COPY, memory, far, device, err) == 0)
		status = near ? put_memory(b, r, "cache_l1_read", NN_PEAK_READ, memory, near,
					   device, err)
			      : 0;
	nn_free(memory);
	return status;
}

/* ---- devices with memory of their own ---- */

static int put_there(struct nn_bench *b, struct nn_report *r, const char *name, struct nn_error *err)
{
	static const struct {
		const char *item;
		enum nn_peak_memory what;
	} memories[] = { { "memory_read", NN_PEAK_READ },
			 { "memory_write", NN_PEAK_WRITE },
			 { "memory_copy", NN_PEAK_COPY } };
	const struct nn_device *f32 = nn_bench_device(b, name, NN_F32, err),
			       *of[] = { f32, f32 ? nn_bench_device(b, name, NN_F64, err) : NULL };
	const char *what = nn_device_describe(name);
	size_t room, far;
	char item[48];
	double rate;

	if (!of[1] || put_text(r, name, what ? what : name, err) < 0 ||
	    f32->remote->room(f32, &room, err) < 0 || nn_peak_device_far(f32, &far, err) < 0)
		return -1;
	snprintf(item, sizeof item, "%s_memory", name);
	if (put_count(r, item, room, "B", err) < 0)
		return -1;
	for (int i = 0; i < 2 && !nn_bench_stopped(b); i++) {
		snprintf(item, sizeof item, "%s_fma_%s", name, nn_dtype_name(of[i]->dtype));
		if (nn_peak_device_fma(b, of[i], ITEM_S, &rate, err) < 0 ||
		    nn_report_item(r, item, rate, "FLOP/s", err) < 0)
			return -1;
	}
	for (int i = 0; i < 3 && !nn_bench_stopped(b); i++) {
		snprintf(item, sizeof item, "%s_%s", name, memories[i].item);
		if (nn_peak_device_memory(b, f32, memories[i].what, far, ITEM_S, &rate, err) < 0 ||
		    nn_report_item(r, item, rate, "B/s", err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the verb ---- */

struct device {
	struct nn_bench *b;
	struct nn_bench_work w;
};

static int put_cpu(struct nn_bench *b, struct nn_report *r, struct nn_error *err)
{
	const struct nn_device *f32 = nn_device_open("cpu", NN_F32, err),
			       *f64 = nn_device_open("cpu", NN_F64, err);

	return f32 && f64 && put_machine(r, f32, err) == 0 && put_fma(b, r, "f32", f32, err) == 0 &&
			       put_fma(b, r, "f64", f64, err) == 0
		       ? put_memories(b, r, f32, err)
		       : -1;
}

static int put_all(void *arg, struct nn_error *err)
{
	struct nn_bench *b = ((struct device *)arg)->b;
	struct nn_report *r = ((struct device *)arg)->w.report;
	const char *names[NN_BENCH_DEVICES];
	int n = nn_bench_devices(b, names, err), status = n < 0 ? -1 : 0;

	for (int i = 0; i < n && status == 0 && !nn_bench_stopped(b); i++)
		status = nn_bench_is_cpu(names[i]) ? put_cpu(b, r, err)
						   : put_there(b, r, names[i], err);
	return status;
}

int nn_verb_device(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct device d = { .b = b };

	(void)n;
	(void)words;
	return nn_bench_on_model(b, NULL, columns, &d.w, put_all, &d, err);
}
