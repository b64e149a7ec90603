/*
 * The operations of vec.h on a single number: for devices whose threads compute one each. With a
 * CUDA compiler these are functions of the device.
 */
#include <string.h>

#define VL 1
typedef real vr;
typedef r_int vi;
typedef bool vm;

#if defined NN_T_f32
typedef uint32_t vu;
#else
typedef uint64_t vu;
#endif

NN_INLINE vr v_load(const real *p)
{
	return *p;
}
NN_INLINE void v_store(real *p, vr a)
{
	*p = a;
}
NN_INLINE vr v_load_m(const real *p, vm m)
{
	return m ? *p : 0;
}
NN_INLINE void v_store_m(real *p, vm m, vr a)
{
	if (m)
		*p = a;
}
NN_INLINE vr v_set(real r)
{
	return r;
}
NN_INLINE vr v_zero(void)
{
	return 0;
}
NN_INLINE vr v_iota(void)
{
	return 0;
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
	return r_sqrt(a);
}
NN_INLINE vr v_round(vr a)
{
	return r_rint(a);
}
NN_INLINE vr v_fma(vr a, vr b, vr c)
{
	return r_fma(a, b, c);
}
NN_INLINE vr v_fnma(vr a, vr b, vr c)
{
	return r_fma(-a, b, c);
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
	return a && b;
}
NN_INLINE vm vm_or(vm a, vm b)
{
	return a || b;
}
NN_INLINE vm vm_not(vm a)
{
	return !a;
}
NN_INLINE vm vm_first(size_t n)
{
	return n > 0;
}

NN_INLINE vi v_asint(vr a)
{
	vi i;
	memcpy(&i, &a, sizeof i);
	return i;
}
NN_INLINE vr v_asreal(vi i)
{
	vr a;
	memcpy(&a, &i, sizeof a);
	return a;
}
NN_INLINE vi vi_set(r_int i)
{
	return i;
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
NN_INLINE vr v_select(vm m, vr a, vr b)
{
	return m ? a : b;
}
NN_INLINE vr v_max(vr a, vr b)
{
	return a > b ? a : b;
}
NN_INLINE vr v_min(vr a, vr b)
{
	return a < b ? a : b;
}
/* Adding 1.5 * 2^(mantissa bits) leaves the rounded integer in the low bits. */
NN_INLINE vi v_toint(vr a)
{
	return vi_sub(v_asint(a + NN_MAGIC), NN_MAGIC_BITS);
}
NN_INLINE vr v_fromint(vi a)
{
	return v_asreal(vi_add(a, NN_MAGIC_BITS)) - NN_MAGIC;
}
