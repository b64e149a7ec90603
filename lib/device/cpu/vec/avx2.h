/* The operations of vec.h with AVX2 and FMA; a truth is a lane of all ones. */
#include <immintrin.h>

#ifdef NN_T_f32
#define VL 8
typedef __m256 vr;
#define V_(op) NN_CAT(_mm256_##op, _ps)
#define I_(op) NN_CAT(_mm256_##op, _epi32)
#define V_AS_SI_ _mm256_castps_si256
#define V_AS_R_ _mm256_castsi256_ps
#define I_SET_ _mm256_set1_epi32
#define I_IOTA_ _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define V_IOTA_ _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7)
#define V_ZIP_LOW_ 0, 8, 1, 9, 2, 10, 3, 11
#define V_ZIP_HIGH_ 4, 12, 5, 13, 6, 14, 7, 15
#else
#define VL 4
typedef __m256d vr;
#define V_(op) NN_CAT(_mm256_##op, _pd)
#define I_(op) NN_CAT(_mm256_##op, _epi64)
#define V_AS_SI_ _mm256_castpd_si256
#define V_AS_R_ _mm256_castsi256_pd
#define I_SET_ _mm256_set1_epi64x
#define I_IOTA_ _mm256_setr_epi64x(0, 1, 2, 3)
#define V_IOTA_ _mm256_setr_pd(0, 1, 2, 3)
#define V_ZIP_LOW_ 0, 4, 1, 5
#define V_ZIP_HIGH_ 2, 6, 3, 7
#endif
typedef __m256i vi;
typedef vr vm;

#define V_UNARY_(name, type, from, expression) \
	NN_INLINE type name(from a) { return (expression); }
#define V_BINARY_(name, type, from, expression) \
	NN_INLINE type name(from a, from b) { return (expression); }

NN_INLINE vr v_load(const real *p) { return V_(loadu)(p); }
NN_INLINE void v_store(real *p, vr a) { V_(storeu)(p, a); }
NN_INLINE vr v_load_m(const real *p, vm m) { return V_(maskload)(p, V_AS_SI_(m)); }
NN_INLINE void v_store_m(real *p, vm m, vr a) { V_(maskstore)(p, V_AS_SI_(m), a); }
NN_INLINE vr v_set(real r) { return V_(set1)(r); }
NN_INLINE vr v_zero(void) { return (vr) { 0 }; }
NN_INLINE vr v_iota(void) { return V_IOTA_; }
V_BINARY_(v_add, vr, vr, V_(add)(a, b))
V_BINARY_(v_sub, vr, vr, V_(sub)(a, b))
V_BINARY_(v_mul, vr, vr, V_(mul)(a, b))
V_BINARY_(v_div, vr, vr, V_(div)(a, b))
V_BINARY_(v_max, vr, vr, V_(max)(a, b))
V_BINARY_(v_min, vr, vr, V_(min)(a, b))
V_UNARY_(v_sqrt, vr, vr, V_(sqrt)(a))
V_UNARY_(v_round, vr, vr, V_(round)(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
NN_INLINE vr v_fma(vr a, vr b, vr c) { return V_(fmadd)(a, b, c); }
NN_INLINE vr v_fnma(vr a, vr b, vr c) { return V_(fnmadd)(a, b, c); }

V_BINARY_(v_lt, vm, vr, V_(cmp)(a, b, _CMP_LT_OQ))
V_BINARY_(v_le, vm, vr, V_(cmp)(a, b, _CMP_LE_OQ))
V_BINARY_(v_gt, vm, vr, V_(cmp)(a, b, _CMP_GT_OQ))
V_BINARY_(v_ge, vm, vr, V_(cmp)(a, b, _CMP_GE_OQ))
V_BINARY_(v_eq, vm, vr, V_(cmp)(a, b, _CMP_EQ_OQ))
V_BINARY_(v_ne, vm, vr, V_(cmp)(a, b, _CMP_NEQ_UQ))
V_BINARY_(vm_and, vm, vm, V_(and)(a, b))
V_BINARY_(vm_or, vm, vm, V_(or)(a, b))
V_UNARY_(vm_not, vm, vm, V_(xor)(a, V_AS_R_(I_SET_(-1))))
V_UNARY_(vm_any, int, vm, V_(movemask)(a) != 0)
V_UNARY_(vm_all, int, vm, V_(movemask)(a) == (1 << VL) - 1)
NN_INLINE vm vm_first(size_t n) { return V_AS_R_(I_(cmpgt)(I_SET_((r_int) n), I_IOTA_)); }
NN_INLINE vr v_select(vm m, vr a, vr b) { return V_(blendv)(b, a, m); }

V_UNARY_(v_asint, vi, vr, V_AS_SI_(a))
V_UNARY_(v_asreal, vr, vi, V_AS_R_(a))
NN_INLINE vi vi_load(const r_int *p) { return _mm256_loadu_si256((const __m256i *) p); }
NN_INLINE void vi_store(r_int *p, vi a) { _mm256_storeu_si256((__m256i *) p, a); }
NN_INLINE vi vi_set(r_int i) { return I_SET_(i); }
V_BINARY_(vi_add, vi, vi, I_(add)(a, b))
V_BINARY_(vi_sub, vi, vi, I_(sub)(a, b))
V_BINARY_(vi_and, vi, vi, _mm256_and_si256(a, b))
V_BINARY_(vi_or, vi, vi, _mm256_or_si256(a, b))
V_BINARY_(vi_xor, vi, vi, _mm256_xor_si256(a, b))
NN_INLINE vi vi_shl(vi a, unsigned n) { return I_(sll)(a, _mm_cvtsi32_si128((int) n)); }
NN_INLINE vi vi_shr(vi a, unsigned n) { return I_(srl)(a, _mm_cvtsi32_si128((int) n)); }
V_BINARY_(vi_eq, vm, vi, V_AS_R_(I_(cmpeq)(a, b)))
V_BINARY_(vi_gt, vm, vi, V_AS_R_(I_(cmpgt)(a, b)))
NN_INLINE vi vi_select(vm m, vi a, vi b) { return _mm256_blendv_epi8(b, a, V_AS_SI_(m)); }
/* Adding 1.5 * 2^(mantissa bits) leaves the rounded integer in the low bits. */
V_UNARY_(v_toint, vi, vr, vi_sub(v_asint(v_add(a, v_set(NN_MAGIC))), vi_set(NN_MAGIC_BITS)))
V_UNARY_(v_fromint, vr, vi, v_sub(v_asreal(vi_add(a, vi_set(NN_MAGIC_BITS))), v_set(NN_MAGIC)))

NN_INLINE vr v_zip_low(vr a, vr b) { return __builtin_shufflevector(a, b, V_ZIP_LOW_); }
NN_INLINE vr v_zip_high(vr a, vr b) { return __builtin_shufflevector(a, b, V_ZIP_HIGH_); }
