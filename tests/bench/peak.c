/* The peak of fused multiply-adds in registers of one core, f32: peak prints GFLOP/s, the best of many short runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define CHAINS 24
#define ROUNDS 20000

#if defined __x86_64__
#include <immintrin.h>

__attribute__((target("avx512f"))) static float run_avx512(void)
{
	__m512 acc[CHAINS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);

	for (int i = 0; i < CHAINS; i++)
		acc[i] = _mm512_set1_ps((float)i);
	for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 24
		for (int i = 0; i < CHAINS; i++)
			acc[i] = _mm512_fmadd_ps(acc[i], a, b);
	}
	for (int i = 1; i < CHAINS; i++)
		acc[0] = _mm512_add_ps(acc[0], acc[i]);
	return _mm512_reduce_add_ps(acc[0]);
}

__attribute__((target("avx2,fma"))) static float run_avx2(void)
{
	__m256 acc[12], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
	float sum[8];

	for (int i = 0; i < 12; i++)
		acc[i] = _mm256_set1_ps((float)i);
	for (int r = 0; r < 2 * ROUNDS; r++) {
#pragma GCC unroll 12
		for (int i = 0; i < 12; i++)
			acc[i] = _mm256_fmadd_ps(acc[i], a, b);
	}
	for (int i = 1; i < 12; i++)
		acc[0] = _mm256_add_ps(acc[0], acc[i]);
	_mm256_storeu_ps(sum, acc[0]);
	return sum[0] + sum[7];
}
#endif

static float run_generic(void)
{
	float acc[8] = {0, 1, 2, 3, 4, 5, 6, 7};

	for (int r = 0; r < 3 * ROUNDS; r++)
		for (int i = 0; i < 8; i++)
			acc[i] = __builtin_fmaf(acc[i], 0.999f, 0.001f);
	return acc[0] + acc[7];
}

int main(void)
{
	float (*run)(void) = run_generic;
	double flops = 2.0 * 8 * 3 * ROUNDS, best = 1e9, end = nn_now_s() + 0.3;
	const char *kind = getenv("NN_CPU");
	volatile float sink = 0;

#if defined __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && (!kind || strcmp(kind, "avx512") == 0)) {
		run = run_avx512;
		flops = 2.0 * 16 * CHAINS * ROUNDS;
	} else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && (!kind || strcmp(kind, "generic") != 0)) {
		run = run_avx2;
		flops = 2.0 * 8 * 12 * 2 * ROUNDS;
	}
#endif
	while (nn_now_s() < end) {
		double start = nn_now_s(), s;

		sink += run();
		s = nn_now_s() - start;
		best = s < best ? s : best;
	}
	printf("%.1f\n", flops / best / 1e9);
	return sink == 12345;
}
