/*
 * What a kernel source is compiled for: its type, its instruction set, and the names that follow
 * from them.
 */
#ifndef NN_DEVICE_CPU_KERNEL_H
#define NN_DEVICE_CPU_KERNEL_H

/*
 * A kernel source (NN_CPU_SRC in local.mk) is compiled once per instruction set (NN_ISA_avx512,
 * NN_ISA_avx2, NN_ISA_neon, NN_ISA_generic; NN_ISA_lane for another device, cuda/) and type (NN_T_f32, NN_T_f64), with -ffp-contract=off. It computes
 * with
 *
 *   real   float or double
 *   r_int  the signed integer of its size
 *   r_fma  scalar fused multiply-add; r_sqrt, r_rint
 *
 * and names what it exports NN_K(name): nn_cpu_name_f32_avx512 and so on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flush.h"

#define NN_CAT2(a, b) a##b
#define NN_CAT(a, b) NN_CAT2(a, b)

#if defined NN_T_f32
typedef float real;
typedef int32_t r_int;
#define NN_SUFFIX_T _f32
#ifdef __CUDACC__
#define r_fma __fmaf_rn
#define r_sqrt __fsqrt_rn
#define r_rint rintf
#else
#define r_fma __builtin_fmaf
#define r_sqrt __builtin_sqrtf
#define r_rint __builtin_rintf
#endif
#elif defined NN_T_f64
typedef double real;
typedef int64_t r_int;
#define NN_SUFFIX_T _f64
#ifdef __CUDACC__
#define r_sqrt __dsqrt_rn
#define r_rint rint
#define r_fma __fma_rn
#else
#define r_sqrt __builtin_sqrt
#define r_rint __builtin_rint
#if defined __x86_64__ && !defined __FMA__
#define r_fma nn_flush_fma
#else
#define r_fma __builtin_fma
#endif
#endif
#else
#error "kernels are compiled with NN_T_f32 or NN_T_f64"
#endif

/* A test that calls several sets of kernels defines NN_SUFFIX itself. */
#ifndef NN_SUFFIX
#if defined NN_ISA_avx512
#define NN_SUFFIX NN_CAT(NN_SUFFIX_T, _avx512)
#elif defined NN_ISA_avx2
#define NN_SUFFIX NN_CAT(NN_SUFFIX_T, _avx2)
#elif defined NN_ISA_neon
#define NN_SUFFIX NN_CAT(NN_SUFFIX_T, _neon)
#elif defined NN_ISA_generic
#define NN_SUFFIX NN_CAT(NN_SUFFIX_T, _generic)
#elif defined NN_ISA_lane
#define NN_SUFFIX NN_CAT(NN_SUFFIX_T, _lane)
#else
#error "kernels are compiled with NN_ISA_avx512, _avx2, _neon, _generic or _lane"
#endif
#endif

#define NN_K(name) NN_CAT(nn_cpu_##name, NN_SUFFIX)

/*
 * The same for all instruction sets: a panel of packed weights is 2 * NN_LANES channels wide, the
 * last one NN_LANES if that suffices.
 */
#define NN_LANES ((size_t)(64 / sizeof(real)))
#define NN_PANEL (2 * NN_LANES)

#ifdef __CUDACC__
#define NN_INLINE static __device__ __forceinline__
#else
#define NN_INLINE static inline __attribute__((always_inline, unused))
#endif

/*
 * Where fma is a call for each lane, no register lasts from one to the next: unrolled loops and
 * inlined functions would be the compiler's time alone.
 */
#if defined NN_ISA_generic && defined __x86_64__ && !defined __FMA__
#define NN_FMA_CALLS 1
#endif

/* The functions of math.h; in the host form of the lanes of a GPU they are not in a hurry. */
#if defined NN_FMA_CALLS || (defined NN_ISA_lane && !defined __CUDACC__)
#define NN_MATH static __attribute__((noinline, unused))
#else
#define NN_MATH NN_INLINE
#endif

/* Before a loop whose trip count is a constant: compilers need it said, in their own words. */
#ifdef __CUDACC__
#define NN_UNROLL _Pragma("unroll")
#elif defined __clang__
#define NN_UNROLL _Pragma("clang loop unroll(full)")
#elif defined NN_FMA_CALLS
#define NN_UNROLL _Pragma("GCC unroll 1")
#else
#define NN_UNROLL _Pragma("GCC unroll 32")
#endif

#endif
