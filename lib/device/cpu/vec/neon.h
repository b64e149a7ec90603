/* The operations of vec.h with NEON, part of every Arm of 64 bits; a truth is a lane of all ones. */
#include <arm_neon.h>

#ifdef NN_T_f32
#define VL 4
typedef float32x4_t vr;
typedef int32x4_t vi;
typedef uint32x4_t vm;
#define V_(op) NN_CAT(op, _f32)
#define I_(op) NN_CAT(op, _s32)
#define U_(op) NN_CAT(op, _u32)
#define V_TO_I_ vcvtnq_s32_f32
#define I_TO_V_ vcvtq_f32_s32
#else
#define VL 2
typedef float64x2_t vr;
typedef int64x2_t vi;
typedef uint64x2_t vm;
#define V_(op) NN_CAT(op, _f64)
#define I_(op) NN_CAT(op, _s64)
#define U_(op) NN_CAT(op, _u64)
#define V_TO_I_ vcvtnq_s64_f64
#define I_TO_V_ vcvtq_f64_s64
#endif

#define V_UNARY_(name, type, from, expression) \
	NN_INLINE type name(from a) { return (expression); }
#define V_BINARY_(name, type, from, expression) \
	NN_INLINE type name(from a, from b) { return (expression); }

NN_INLINE vr v_load(const real *p) { return V_(vld1q)(p); }
NN_INLINE void v_store(real *p, vr a) { V_(vst1q)(p, a); }
NN_INLINE vr v_set(real r) { return V_(vdupq_n)(r); }
NN_INLINE vr v_zero(void) { return V_(vdupq_n)(0); }
V_BINARY_(v_add, vr, vr, V_(vaddq)(a, b))
V_BINARY_(v_sub, vr, vr, V_(vsubq)(a, b))
V_BINARY_(v_mul, vr, vr, V_(vmulq)(a, b))
V_BINARY_(v_div, vr, vr, V_(vdivq)(a, b))
V_UNARY_(v_sqrt, vr, vr, V_(vsqrtq)(a))
V_UNARY_(v_round, vr, vr, V_(vrndnq)(a))
NN_INLINE vr v_fma(vr a, vr b, vr c) { return V_(vfmaq)(c, a, b); }
NN_INLINE vr v_fnma(vr a, vr b, vr c) { return V_(vfmsq)(c, a, b); }
/* Lane l of a, in all lanes: fmla takes it from there. */
NN_INLINE vr v_lane(vr a, int l) { return v_set(a[l]); }

V_BINARY_(v_lt, vm, vr, V_(vcltq)(a, b))
V_BINARY_(v_le, vm, vr, V_(vcleq)(a, b))
V_BINARY_(v_gt, vm, vr, V_(vcgtq)(a, b))
V_BINARY_(v_ge, vm, vr, V_(vcgeq)(a, b))
V_BINARY_(v_eq, vm, vr, V_(vceqq)(a, b))
V_BINARY_(v_ne, vm, vr, ~V_(vceqq)(a, b))
V_BINARY_(vm_and, vm, vm, a & b)
V_BINARY_(vm_or, vm, vm, a | b)
V_UNARY_(vm_not, vm, vm, ~a)
V_UNARY_(vm_any, int, vm, vmaxvq_u32((uint32x4_t) a) != 0)
V_UNARY_(vm_all, int, vm, vminvq_u32((uint32x4_t) a) != 0)
NN_INLINE vr v_select(vm m, vr a, vr b) { return V_(vbslq)(m, a, b); }
V_BINARY_(v_max, vr, vr, v_select(v_gt(a, b), a, b))
V_BINARY_(v_min, vr, vr, v_select(v_lt(a, b), a, b))

V_UNARY_(v_asint, vi, vr, (vi) a)
V_UNARY_(v_asreal, vr, vi, (vr) a)
NN_INLINE vi vi_load(const r_int *p) { return I_(vld1q)(p); }
NN_INLINE void vi_store(r_int *p, vi a) { I_(vst1q)(p, a); }
NN_INLINE vi vi_set(r_int i) { return I_(vdupq_n)(i); }
V_BINARY_(vi_add, vi, vi, I_(vaddq)(a, b))
V_BINARY_(vi_sub, vi, vi, I_(vsubq)(a, b))
V_BINARY_(vi_and, vi, vi, a & b)
V_BINARY_(vi_or, vi, vi, a | b)
V_BINARY_(vi_xor, vi, vi, a ^ b)
NN_INLINE vi vi_shl(vi a, unsigned n) { return I_(vshlq)(a, vi_set((r_int) n)); }
NN_INLINE vi vi_shr(vi a, unsigned n) { return (vi) U_(vshlq)((vm) a, vi_set(-(r_int) n)); }
V_BINARY_(vi_eq, vm, vi, I_(vceqq)(a, b))
V_BINARY_(vi_gt, vm, vi, I_(vcgtq)(a, b))
NN_INLINE vi vi_select(vm m, vi a, vi b) { return I_(vbslq)(m, a, b); }
V_UNARY_(v_toint, vi, vr, V_TO_I_(a))
V_UNARY_(v_fromint, vr, vi, I_TO_V_(a))

NN_INLINE vr v_iota(void)
{
	static const real iota[] = { 0, 1, 2, 3 };
	return v_load(iota);
}
NN_INLINE vm vm_first(size_t n) { return V_(vcltq)(v_iota(), v_set((real) n)); }
/* A masked lane's memory may be another's, or nobody's. */
NN_INLINE vr v_load_m(const real *p, vm m)
{
	vr r = v_zero();
	for (int l = 0; l < VL; l++)
		if (m[l])
			r[l] = p[l];
	return r;
}
NN_INLINE void v_store_m(real *p, vm m, vr a)
{
	for (int l = 0; l < VL; l++)
		if (m[l])
			p[l] = a[l];
}

V_BINARY_(v_zip_low, vr, vr, V_(vzip1q)(a, b))
V_BINARY_(v_zip_high, vr, vr, V_(vzip2q)(a, b))
