/*
 * Loops for the widest vectors there are: compiled twice, chosen at each call. For loops whose
 * bytes do not depend on it.
 */
#ifndef NN_BASE_WIDE_H
#define NN_BASE_WIDE_H

#include "base/cpu.h"

/*
 * In front of a body: a static function `result name parameters`, compiled for AVX2 and for what
 * every CPU has. The arguments are the names of the parameters: NN_WIDE(int, f, (int a, int b), (a,
 * b)).
 */
#define NN_WIDE(result, name, parameters, arguments) NN_WIDE_(result, name, parameters, arguments)
#define NN_INLINE static inline __attribute__((always_inline))
#ifdef NN_CPU_HAS
#define NN_WIDE_(result, name, parameters, arguments) \
	NN_INLINE result name##_body parameters; \
	__attribute__((target("avx2"))) static result name##_in_avx2 parameters \
	{ \
		return name##_body arguments; \
	} \
	static result name##_in_plain parameters \
	{ \
		return name##_body arguments; \
	} \
	static result name parameters \
	{ \
		return NN_CPU_HAS(AVX2) ? name##_in_avx2 arguments : name##_in_plain arguments; \
	} \
	NN_INLINE result name##_body parameters
#else
#define NN_WIDE_(result, name, parameters, arguments) static result name parameters
#endif

/*
 * Before a for: arrays of it are one or do not overlap, so that no turn needs what one before has
 * stored.
 */
#ifdef __clang__
#define NN_NO_CARRY _Pragma("clang loop vectorize(assume_safety)")
#else
#define NN_NO_CARRY _Pragma("GCC ivdep")
#endif

#endif
