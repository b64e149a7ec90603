/*
 * Vectors of the machine: one small set of operations that give the same results on every
 * instruction set.
 */
#ifndef NN_DEVICE_CPU_VEC_H
#define NN_DEVICE_CPU_VEC_H

/*
 * Beside real, r_int and r_fma (kernel.h) a kernel computes with
 *
 *   vr  VL reals
 *   vi  VL integers of that size
 *   vm  VL truths
 *
 * All operations are IEEE, round to nearest even, subnormals taken and given as zeros of their sign
 * (base/flush.h); results do not depend on the instruction set. Of a NaN only that it is one is
 * promised: sign and payload are not.
 *
 *   v_load(p) v_store(p, a)             any alignment
 *   v_load_m(p, m) v_store_m(p, m, a)   lanes outside m are 0, or not touched; their memory is not
 *                                       accessed
 *   v_load_n(p, n) v_store_n(p, n, a)   the same for the first n lanes, 0 <= n <= VL
 *   v_set(r) v_zero() v_iota()          all lanes r, 0; 0, 1, 2, ...
 *   v_add v_sub v_mul v_div v_sqrt      v_neg v_abs (bit operations, NaN too)
 *   v_fma(a, b, c)                      a * b + c, rounded once
 *   v_fnma(a, b, c)                     -(a * b) + c, rounded once
 *   v_max(a, b)                         a > b ? a : b: the second if either is NaN or both are 0
 *   v_min(a, b)                         a < b ? a : b: likewise
 *   v_round(a)                          to the nearest integer, ties to even; keeps a zero's sign
 *   v_lt v_le v_gt v_ge v_eq            false for NaN
 *   v_ne                                true for NaN
 *   v_cut(a)                            0 where |a| < NN_CUT: decay ends there, everywhere
 *   v_select(m, a, b)                   m ? a : b, lane by lane
 *   vm_and vm_or vm_not vm_any vm_all
 *   vm_first(n)                         the first n lanes
 *   v_toint(a)                          nearest integer, ties to even; |a| < 2^22, f64 2^51
 *   v_fromint(i)                        exact; |i| < 2^22, f64 2^51
 *   v_asint(a) v_asreal(i)              the same bits
 *   vi_set vi_add vi_sub vi_and vi_or vi_xor vi_shl(i, n) vi_shr(i, n) (logical)
 *   vi_eq vi_gt (signed)                give vm
 *   vi_load vi_store vi_select
 *   v_transpose(r)                      vr r[VL] as a square matrix, in place
 */

#include "device/cpu/vec/kernel.h"

#if defined NN_T_f32
#define NN_MAGIC 0x1.8p23f
#define NN_CUT 0x1p-100f
#define NN_MAGIC_BITS 0x4b400000
#else
#define NN_MAGIC 0x1.8p52
#define NN_CUT 0x1p-900
#define NN_MAGIC_BITS 0x4338000000000000
#endif

#if defined NN_ISA_avx512
#include "device/cpu/vec/avx512.h"
#elif defined NN_ISA_avx2
#include "device/cpu/vec/avx2.h"
#elif defined NN_ISA_neon
#include "device/cpu/vec/neon.h"
#elif defined NN_ISA_lane
#include "device/cpu/vec/lane.h"
#else
#include "device/cpu/vec/generic.h"
#endif

NN_INLINE vr v_load_n(const real *p, size_t n)
{
	return v_load_m(p, vm_first(n));
}

NN_INLINE void v_store_n(real *p, size_t n, vr a)
{
	v_store_m(p, vm_first(n), a);
}

NN_INLINE vr v_neg(vr a)
{
	return v_asreal(vi_xor(v_asint(a), v_asint(v_set((real)-0.0))));
}

NN_INLINE vr v_abs(vr a)
{
	return v_asreal(vi_and(v_asint(a), vi_xor(v_asint(v_set((real)-0.0)), vi_set(-1))));
}

NN_INLINE vr v_cut(vr a)
{
	return v_select(v_lt(v_abs(a), v_set(NN_CUT)), v_zero(), a);
}

#ifndef NN_ISA_lane
/* log2(VL) rounds of interleaving the upper half of the rows with the lower one. */
NN_INLINE void v_transpose(vr r[VL])
{
	vr t[VL];
	NN_UNROLL
	for (int round = 1; round < VL; round *= 2) {
		NN_UNROLL
		for (int i = 0; i < VL; i++)
			t[i] = r[i];
		NN_UNROLL
		for (int i = 0; i < VL / 2; i++) {
			r[2 * i] = v_zip_low(t[i], t[i + VL / 2]);
			r[2 * i + 1] = v_zip_high(t[i], t[i + VL / 2]);
		}
	}
}
#endif

#endif
