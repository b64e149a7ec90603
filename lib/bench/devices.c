/* The devices and the model that a command line names. */
#include <string.h>

#include "bench/bench.h"
#include "bench/model.h"
#include "device/device.h"
#include "device/products.h"

const struct nn_device *nn_bench_device(const struct nn_bench *b, const char *name,
					enum nn_dtype dtype, struct nn_error *err)
{
	char full[NN_PRODUCTS_NAME];

	for (size_t i = 0; b->setup.devices && b->setup.devices[i]; i++)
		if (strcmp(b->setup.devices[i]->name, name) == 0)
			return b->setup.devices[i];
	if (!nn_bench_is_cpu(name))
		name = nn_products_device(full, name, nn_products_asked(b->std));
	return nn_device_open(name, dtype, err);
}

const struct nn_device *nn_bench_device_for(const struct nn_bench *b, const char *name,
					    const struct nn_bench_model *subject, bool predict,
					    bool *int8, struct nn_error *err)
{
	const struct nn_device *device = NULL;
	struct nn_error absent;

	if (predict && subject->int8 && !b->setup.devices)
		device = nn_device_open(name, NN_I8, &absent);
	*int8 = device != NULL;
	return device ? device : nn_bench_device(b, name, subject->dtype, err);
}

int nn_bench_devices(const struct nn_bench *b, const char *names[NN_BENCH_DEVICES],
		     struct nn_error *err)
{
	static const char *const cpu[] = { "cpu", "cpu+openblas", "cpu+tf32" }; /* bf16, f16: of cuda */
	enum nn_products products = nn_products_asked(b->std);
	int n = 0;

	(void)err;
	if (nn_opt_given(b->setup.list, "device") && strcmp(b->std->device, "auto") != 0) {
		names[0] = strcmp(b->std->device, "cpu") == 0 ? cpu[products] : b->std->device;
		return 1;
	}
	if (products != NN_PRODUCTS_OWN) {
		names[0] = products == NN_PRODUCTS_TF32 ? "cuda" : cpu[products];
		return 1;
	}
	for (size_t i = 0; b->setup.devices && b->setup.devices[i] && n < NN_BENCH_DEVICES; i++)
		names[n++] = b->setup.devices[i]->name;
	for (size_t i = 0; !b->setup.devices && n < NN_BENCH_DEVICES && nn_device_there(i); i++)
		names[n++] = nn_device_there(i);
	return n;
}

int nn_bench_subject(const struct nn_bench *b, const char *operand, struct nn_bench_model **subject,
		     struct nn_error *err)
{
	int precision =
		nn_opt_given(b->setup.list, "precision")
			? 1 + (int)nn_dtype_computed(nn_std_dtype(b->std))
			: 0;

	return nn_bench_model_open(subject, operand, precision, b->std->seed, err);
}

int nn_bench_on_model(struct nn_bench *b, const char *operand,
		      const struct nn_report_column *columns, struct nn_bench_work *w,
		      int (*run)(void *arg, struct nn_error *err), void *arg, struct nn_error *err)
{
	int status = -1, measured;

	*w = (struct nn_bench_work){ 0 };
	if (b->options->plot && nn_output_open(&w->plot, b->options->plot, false, err) < 0)
		return -1;
	if (nn_bench_report(b, columns, &w->report, err) == 0 &&
	    (!operand || nn_bench_subject(b, operand, &w->subject, err) == 0))
		status = run(arg, err);
	measured = nn_bench_stopped(b) ? -1 : status;
	if (status == 0)
		status = nn_report_wrong(w->report, err);
	if (nn_report_close(w->report, measured, status < 0 ? NULL : err) < 0 && measured == 0)
		status = -1;
	nn_bench_model_free(w->subject);
	if (w->plot && status == 0 && !nn_bench_stopped(b))
		return nn_output_commit(w->plot, err);
	nn_output_abort(w->plot);
	return status;
}
