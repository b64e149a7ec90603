/*
 * The peak of fused multiply-adds in registers of one core, f32: peak prints GFLOP/s, the best of
 * many short runs.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "device/device.h"

double nn_cpu_fma_peak_f32_avx512(size_t n) __attribute__((weak));
double nn_cpu_fma_peak_f32_avx2(size_t n) __attribute__((weak));
double nn_cpu_fma_peak_f32_neon(size_t n) __attribute__((weak));
double nn_cpu_fma_peak_f32_generic(size_t n);

static const struct {
	const char *kind;
	double (*run)(size_t n); /* n rounds; FLOP done */
} kinds[] = {
	{ "avx512", nn_cpu_fma_peak_f32_avx512 },
	{ "avx2", nn_cpu_fma_peak_f32_avx2 },
	{ "neon", nn_cpu_fma_peak_f32_neon },
	{ "generic", nn_cpu_fma_peak_f32_generic },
};

int main(void)
{
	struct nn_error err;
	const struct nn_device *device = nn_device_open("cpu", NN_F32, &err);
	double best = 0, end = nn_now_s() + 0.3;
	size_t kind = 0;

	if (!device) {
		fprintf(stderr, "peak: %s\n", err.text);
		return (int)err.code;
	}
	while (strcmp(kinds[kind].kind, device->kind) != 0)
		kind++;
	while (nn_now_s() < end) {
		double start = nn_now_s(), flop = kinds[kind].run(20000),
		       rate = flop / (nn_now_s() - start);

		best = rate > best ? rate : best;
	}
	printf("%.1f\n", best / 1e9);
	return 0;
}
