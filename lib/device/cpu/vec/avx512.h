/* The operations of vec.h with AVX-512 (F, VL, DQ, BW). */
#include <immintrin.h>

#ifdef NN_T_f32
#define VL 16
typedef __m512 vr;
typedef __mmask16 vm;
#define V_(op) NN_CAT(_mm512_##op, _ps)
#define I_(op) NN_CAT(_mm512_##op, _epi32)
#define V_MASK_(op) NN_CAT(_mm512_##op, _ps_mask)
#define I_MASK_(op) NN_CAT(_mm512_##op, _epi32_mask)
#define V_AS_SI_ _mm512_castps_si512
#define V_AS_R_ _mm512_castsi512_ps
#define I_SET_ _mm512_set1_epi32
#define V_TO_I_ _mm512_cvtps_epi32
#define I_TO_V_ _mm512_cvtepi32_ps
#define V_IOTA_ _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define V_ZIP_LOW_ 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define V_ZIP_HIGH_ 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#else
#define VL 8
typedef __m512d vr;
typedef __mmask8 vm;
#define V_(op) NN_CAT(_mm512_##op, _pd)
#define I_(op) NN_CAT(_mm512_##op, _epi64)
#define V_MASK_(op) NN_CAT(_mm512_##op, _pd_mask)
#define I_MASK_(op) NN_CAT(_mm512_##op, _epi64_mask)
#define V_AS_SI_ _mm512_castpd_si512
#define V_AS_R_ _mm512_castsi512_pd
#define I_SET_ _mm512_set1_epi64
#define V_TO_I_ _mm512_cvtpd_epi64
#define I_TO_V_ _mm512_cvtepi64_pd
#define V_IOTA_ _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7)
#define V_ZIP_LOW_ 0, 8, 1, 9, 2, 10, 3, 11
#define V_ZIP_HIGH_ 4, 12, 5, 13, 6, 14, 7, 15
#endif
typedef __m512i vi;

#define V_UNARY_(name, type, from, expression) \
	NN_INLINE type name(from a) \
	{ \
		return (expression); \
	}
#define V_BINARY_(name, type, from, expression) \
	NN_INLINE type name(from a, from b) \
	{ \
		return (expression); \
	}

NN_INLINE vr v_load(const real *p)
{
	return V_(loadu)(p);
}
NN_INLINE void v_store(real *p, vr a)
{
	V_(storeu)(p, a);
}
NN_INLINE vr v_load_m(const real *p, vm m)
{
	return V_(maskz_loadu)(m, p);
}
NN_INLINE void v_store_m(real *p, vm m, vr a)
{
	V_(mask_storeu)(p, m, a);
}
NN_INLINE vr v_set(real r)
{
	return V_(set1)(r);
}
NN_INLINE vr v_zero(void)
{
	return (vr){ 0 };
}
NN_INLINE vr v_iota(void)
{
	return V_IOTA_;
}
V_BINARY_(v_add, vr, vr, V_(add)(a, b))
V_BINARY_(v_sub, vr, vr, V_(sub)(a, b))
V_BINARY_(v_mul, vr, vr, V_(mul)(a, b))
V_BINARY_(v_div, vr, vr, V_(div)(a, b))
V_BINARY_(v_max, vr, vr, V_(max)(a, b))
V_BINARY_(v_min, vr, vr, V_(min)(a, b))
V_UNARY_(v_sqrt, vr, vr, V_(sqrt)(a))
V_UNARY_(v_round, vr, vr, V_(roundscale)(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
NN_INLINE vr v_fma(vr a, vr b, vr c)
{
	return V_(fmadd)(a, b, c);
}
NN_INLINE vr v_fnma(vr a, vr b, vr c)
{
	return V_(fnmadd)(a, b, c);
}

V_BINARY_(v_lt, vm, vr, V_MASK_(cmp)(a, b, _CMP_LT_OQ))
V_BINARY_(v_le, vm, vr, V_MASK_(cmp)(a, b, _CMP_LE_OQ))
V_BINARY_(v_gt, vm, vr, V_MASK_(cmp)(a, b, _CMP_GT_OQ))
V_BINARY_(v_ge, vm, vr, V_MASK_(cmp)(a, b, _CMP_GE_OQ))
V_BINARY_(v_eq, vm, vr, V_MASK_(cmp)(a, b, _CMP_EQ_OQ))
V_BINARY_(v_ne, vm, vr, V_MASK_(cmp)(a, b, _CMP_NEQ_UQ))
V_BINARY_(vm_and, vm, vm, (vm)(a &b))
V_BINARY_(vm_or, vm, vm, (vm)(a | b))
V_UNARY_(vm_not, vm, vm, (vm)~a)
V_UNARY_(vm_any, int, vm, a != 0)
V_UNARY_(vm_all, int, vm, a == (vm)-1)
NN_INLINE vm vm_first(size_t n)
{
	return (vm)((1u << n) - 1);
}
NN_INLINE vr v_select(vm m, vr a, vr b)
{
	return V_(mask_blend)(m, b, a);
}

V_UNARY_(v_asint, vi, vr, V_AS_SI_(a))
V_UNARY_(v_asreal, vr, vi, V_AS_R_(a))
V_UNARY_(v_toint, vi, vr, V_TO_I_(a))
V_UNARY_(v_fromint, vr, vi, I_TO_V_(a))
NN_INLINE vi vi_load(const r_int *p)
{
	return _mm512_loadu_si512(p);
}
NN_INLINE void vi_store(r_int *p, vi a)
{
	_mm512_storeu_si512(p, a);
}
NN_INLINE vi vi_set(r_int i)
{
	return I_SET_(i);
}
V_BINARY_(vi_add, vi, vi, I_(add)(a, b))
V_BINARY_(vi_sub, vi, vi, I_(sub)(a, b))
V_BINARY_(vi_and, vi, vi, _mm512_and_si512(a, b))
V_BINARY_(vi_or, vi, vi, _mm512_or_si512(a, b))
V_BINARY_(vi_xor, vi, vi, _mm512_xor_si512(a, b))
NN_INLINE vi vi_shl(vi a, unsigned n)
{
	return I_(sll)(a, _mm_cvtsi32_si128((int)n));
}
NN_INLINE vi vi_shr(vi a, unsigned n)
{
	return I_(srl)(a, _mm_cvtsi32_si128((int)n));
}
V_BINARY_(vi_eq, vm, vi, I_MASK_(cmpeq)(a, b))
V_BINARY_(vi_gt, vm, vi, I_MASK_(cmpgt)(a, b))
NN_INLINE vi vi_select(vm m, vi a, vi b)
{
	return I_(mask_blend)(m, b, a);
}

NN_INLINE vr v_zip_low(vr a, vr b)
{
	return __builtin_shufflevector(a, b, V_ZIP_LOW_);
}
NN_INLINE vr v_zip_high(vr a, vr b)
{
	return __builtin_shufflevector(a, b, V_ZIP_HIGH_);
}
