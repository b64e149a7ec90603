/*
 * Which instructions an x86-64 CPU has: NN_CPU_HAS(AVX2). glibc knows since it loaded the process,
 * and honours GLIBC_TUNABLES. The compiler's own check asks the CPU again before main(), whoever
 * needs the answer: some twenty times, each 5 us under a hypervisor.
 */
#ifndef NN_BASE_CPU_H
#define NN_BASE_CPU_H

#if defined __x86_64__ && __has_include(<sys/platform/x86.h>)
#include <stdbool.h>
#include <sys/platform/x86.h>
#define NN_CPU_HAS(name) nn_cpu_active(x86_cpu_##name)

/* CPU_FEATURE_ACTIVE, which shifts a 1 into the sign for some of them. */
static inline bool nn_cpu_active(unsigned feature)
{
	const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / 128);

	return leaf->active_array[feature / 32 % 4] >> feature % 32 & 1;
}
#elif defined __x86_64__ /* glibc before 2.33, other C libraries */
#include <cpuid.h>
#include <stdbool.h>
#define NN_CPU_HAS(name) NN_CPU_##name
#define NN_CPU_SSE4_1 __builtin_cpu_supports("sse4.1")
#define NN_CPU_SSE4A __builtin_cpu_supports("sse4a")
#define NN_CPU_PCLMULQDQ __builtin_cpu_supports("pclmul")
#define NN_CPU_AVX2 __builtin_cpu_supports("avx2")
#define NN_CPU_BMI1 __builtin_cpu_supports("bmi")
#define NN_CPU_BMI2 __builtin_cpu_supports("bmi2")
#define NN_CPU_FMA __builtin_cpu_supports("fma")
#define NN_CPU_AVX512F __builtin_cpu_supports("avx512f")
#define NN_CPU_AVX512VL __builtin_cpu_supports("avx512vl")
#define NN_CPU_AVX512DQ __builtin_cpu_supports("avx512dq")
#define NN_CPU_AVX512BW __builtin_cpu_supports("avx512bw")
#define NN_CPU_AVX512_VNNI __builtin_cpu_supports("avx512vnni")
/* Not every compiler has a name for these. */
#define NN_CPU_F16C (__builtin_cpu_supports("avx") && nn_cpu_bit(1, 2, 29))
#define NN_CPU_SHA nn_cpu_bit(7, 1, 29)

/* Bit of EAX, EBX, ECX or EDX (which: 0..3) that cpuid returns for a leaf. */
static inline bool nn_cpu_bit(unsigned leaf, int which, int bit)
{
	unsigned reg[4];

	return __get_cpuid_count(leaf, 0, &reg[0], &reg[1], &reg[2], &reg[3]) &&
	       (reg[which] >> bit & 1);
}
#endif

#endif
