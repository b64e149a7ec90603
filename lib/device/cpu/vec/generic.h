/*
 * The operations of vec.h in plain C on the compiler's vectors of 16 bytes; fma is r_fma, lane by
 * lane.
 */
#define VL ((int)(16 / sizeof(real)))
typedef real vr __attribute__((vector_size(16)));
typedef r_int vi __attribute__((vector_size(16)));
typedef vi vm;

typedef real vr_any __attribute__((vector_size(16), aligned(sizeof(real)), may_alias));
typedef r_int vi_any __attribute__((vector_size(16), aligned(sizeof(real)), may_alias));
#ifdef NN_T_f32
#define R_(op) __builtin_##op##f
#define V_U_ uint32_t
#define V_ZIP_LOW_ 0, 4, 1, 5
#define V_ZIP_HIGH_ 2, 6, 3, 7
#else
#define R_(op) __builtin_##op
#define V_U_ uint64_t
#define V_ZIP_LOW_ 0, 2
#define V_ZIP_HIGH_ 1, 3
#endif
typedef V_U_ vu __attribute__((vector_size(16)));

#define V_LANES_(type, expression) \
	type r_ = { 0 }; \
	for (int l = 0; l < VL; l++) \
		r_[l] = (expression); \
	return r_

NN_INLINE vr v_load(const real *p)
{
	return *(const vr_any *)p;
}
NN_INLINE void v_store(real *p, vr a)
{
	*(vr_any *)p = a;
}
NN_INLINE vr v_load_m(const real *p, vm m)
{
	V_LANES_(vr, m[l] ? p[l] : 0);
}
NN_INLINE void v_store_m(real *p, vm m, vr a)
{
	for (int l = 0; l < VL; l++)
		if (m[l])
			p[l] = a[l];
}
NN_INLINE vr v_set(real r)
{
	V_LANES_(vr, r);
}
NN_INLINE vr v_zero(void)
{
	return (vr){ 0 };
}
NN_INLINE vr v_iota(void)
{
	V_LANES_(vr, (real)l);
}
NN_INLINE vr v_add(vr a, vr b)
{
	return a + b;
}
NN_INLINE vr v_sub(vr a, vr b)
{
	return a - b;
}
NN_INLINE vr v_mul(vr a, vr b)
{
	return a * b;
}
NN_INLINE vr v_div(vr a, vr b)
{
	return a / b;
}
NN_INLINE vr v_sqrt(vr a)
{
	V_LANES_(vr, R_(sqrt)(a[l]));
}
NN_INLINE vr v_round(vr a)
{
	V_LANES_(vr, R_(rint)(a[l]));
}
NN_INLINE vr v_fma(vr a, vr b, vr c)
{
	V_LANES_(vr, r_fma(a[l], b[l], c[l]));
}
NN_INLINE vr v_fnma(vr a, vr b, vr c)
{
	V_LANES_(vr, r_fma(-a[l], b[l], c[l]));
}

NN_INLINE vm v_lt(vr a, vr b)
{
	return a < b;
}
NN_INLINE vm v_le(vr a, vr b)
{
	return a <= b;
}
NN_INLINE vm v_gt(vr a, vr b)
{
	return a > b;
}
NN_INLINE vm v_ge(vr a, vr b)
{
	return a >= b;
}
NN_INLINE vm v_eq(vr a, vr b)
{
	return a == b;
}
NN_INLINE vm v_ne(vr a, vr b)
{
	return a != b;
}
NN_INLINE vm vm_and(vm a, vm b)
{
	return a & b;
}
NN_INLINE vm vm_or(vm a, vm b)
{
	return a | b;
}
NN_INLINE vm vm_not(vm a)
{
	return ~a;
}
NN_INLINE int vm_any(vm a)
{
	r_int any = 0;
	for (int l = 0; l < VL; l++)
		any |= a[l];
	return any != 0;
}
NN_INLINE int vm_all(vm a)
{
	return !vm_any(~a);
}
NN_INLINE vm vm_first(size_t n)
{
	V_LANES_(vm, -((size_t)l < n));
}

NN_INLINE vi v_asint(vr a)
{
	return (vi)a;
}
NN_INLINE vr v_asreal(vi a)
{
	return (vr)a;
}
NN_INLINE vi vi_load(const r_int *p)
{
	return *(const vi_any *)p;
}
NN_INLINE void vi_store(r_int *p, vi a)
{
	*(vi_any *)p = a;
}
NN_INLINE vi vi_set(r_int i)
{
	V_LANES_(vi, i);
}
/* unsigned: integers wrap */
NN_INLINE vi vi_add(vi a, vi b)
{
	return (vi)((vu)a + (vu)b);
}
NN_INLINE vi vi_sub(vi a, vi b)
{
	return (vi)((vu)a - (vu)b);
}
NN_INLINE vi vi_and(vi a, vi b)
{
	return a & b;
}
NN_INLINE vi vi_or(vi a, vi b)
{
	return a | b;
}
NN_INLINE vi vi_xor(vi a, vi b)
{
	return a ^ b;
}
NN_INLINE vi vi_shl(vi a, unsigned n)
{
	return (vi)((vu)a << n);
}
NN_INLINE vi vi_shr(vi a, unsigned n)
{
	return (vi)((vu)a >> n);
}
NN_INLINE vm vi_eq(vi a, vi b)
{
	return a == b;
}
NN_INLINE vm vi_gt(vi a, vi b)
{
	return a > b;
}
NN_INLINE vi vi_select(vm m, vi a, vi b)
{
	return (m & a) | (~m & b);
}
NN_INLINE vr v_select(vm m, vr a, vr b)
{
	return (vr)((m & (vi)a) | (~m & (vi)b));
}
NN_INLINE vr v_max(vr a, vr b)
{
	return v_select(a > b, a, b);
}
NN_INLINE vr v_min(vr a, vr b)
{
	return v_select(a < b, a, b);
}
/* Adding 1.5 * 2^(mantissa bits) leaves the rounded integer in the low bits. */
NN_INLINE vi v_toint(vr a)
{
	return vi_sub((vi)(a + NN_MAGIC), vi_set(NN_MAGIC_BITS));
}
NN_INLINE vr v_fromint(vi a)
{
	return (vr)vi_add(a, vi_set(NN_MAGIC_BITS)) - NN_MAGIC;
}

NN_INLINE vr v_zip_low(vr a, vr b)
{
	return __builtin_shufflevector(a, b, V_ZIP_LOW_);
}
NN_INLINE vr v_zip_high(vr a, vr b)
{
	return __builtin_shufflevector(a, b, V_ZIP_HIGH_);
}
