/*
 * exp, log, tanh, sigmoid, erf and their like as vector functions of + * fma, comparisons and
 * integer operations.
 */
#ifndef NN_DEVICE_CPU_MATH_H
#define NN_DEVICE_CPU_MATH_H

/*
 * The largest errors are below 2 ulp (tests/lib/math.c measures them: f32 over all values, f64 over
 * samples); NaN, infinities, -0 and overflow come out as in C99 Annex F, subnormal arguments count
 * as zeros, and powers of e below NN_CUT are 0, here and in what is made of them. Every instruction
 * set gives the same bytes. The coefficients are minimax polynomials of the function
 * named beside them, fitted with Remez' algorithm in 160 bits.
 */

#include "device/cpu/vec/vec.h"

/* Coefficients of one polynomial for both types; ascending powers. */
#ifdef NN_T_f32
#define V_BITS_ 23
#define V_BIAS_ 127
#define V_LN2_HI_ 0x1.62e43p-1f
#define V_LN2_LO_ -0x1.05c61p-29f
#define V_LN2_SHORT_ 0x1.62e4p-1f /* k * this is exact */
#define V_LN2_REST_ 0x1.7f7d1cp-20f
#define V_LOG2E_ 0x1.715476p+0f
#define V_EXP_LOW_ -0x1.154246p+6f /* e^x is below NN_CUT from here on */
#define V_EXP_HIGH_ 89.0f          /* overflows */
#define V_EXPM1_LOW_ -20.0f        /* rounds to -1 */
#define V_NORMAL_ 0x1p-126f
#define V_SQRT_HALF_BITS_ 0x3f3504f3
#define V_ONE_BITS_ 0x3f800000
#define V_ERF_MIDDLE_ 0.9375f
#define V_TANH_HIGH_ 40.0f /* of 2 |x|: 1 - tanh is lost in rounding */
#define V_ERF_HIGH_ 4.0f /* erf rounds to 1 */
#define V_EXP_ 0x1p-1f, 0x1.55548ep-3f, 0x1.55545cp-5f, 0x1.123bdcp-7f, 0x1.6db58ep-10f
#define V_LOG_ 0x1.555556p-1f, 0x1.9999ecp-2f, 0x1.245c02p-2f, 0x1.dddae4p-3f
#define V_TANH_ -0x1.555534p-2f, 0x1.110762p-3f, -0x1.b84352p-5f, 0x1.524f96p-6f, -0x1.76883p-8f
#define V_ERF_ \
	0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2de6p-4f, -0x1.b80b66p-6f, 0x1.54a7d8p-8f, \
		-0x1.a918ep-11f, 0x1.58f05ep-14f
#define V_ERFCX_ \
	0x1.058672p-2f, -0x1.b57036p-2f, 0x1.eee98p-3f, -0x1.439288p-4f, 0x1.e3fdbcp-9f, \
		0x1.d5ba1p-8f
#else
#define V_BITS_ 52
#define V_BIAS_ 1023
#define V_LN2_HI_ 0x1.62e42fefa39efp-1
#define V_LN2_LO_ 0x1.abc9e3b39803fp-56
#define V_LN2_SHORT_ 0x1.62e42fefa38p-1
#define V_LN2_REST_ 0x1.ef35793c7673p-45
#define V_LOG2E_ 0x1.71547652b82fep+0
#define V_EXP_LOW_ -0x1.37ea8e219ecebp+9
#define V_EXP_HIGH_ 710.0
#define V_EXPM1_LOW_ -40.0
#define V_NORMAL_ 0x1p-1022
#define V_SQRT_HALF_BITS_ 0x3fe6a09e667f3bcd
#define V_ONE_BITS_ 0x3ff0000000000000
#define V_ERF_MIDDLE_ 1.0
#define V_TANH_HIGH_ 80.0
#define V_ERF_HIGH_ 6.0
#define V_EXP_ \
	0x1.000000000000cp-1, 0x1.5555555555561p-3, 0x1.555555554ffa7p-5, 0x1.111111110d534p-7, \
		0x1.6c16c185c78b6p-10, 0x1.a01a01bb306efp-13, 0x1.a01996376af28p-16, \
		0x1.71dddf30b6efdp-19, 0x1.28b0a248af907p-22, 0x1.af8665a35796ep-26
#define V_LOG_ \
	0x1.5555555555558p-1, 0x1.99999999951fep-2, 0x1.2492492e08013p-2, 0x1.c71c62cb0101ap-3, \
		0x1.7462bba51baa2p-3, 0x1.39fd87dde0f98p-3, 0x1.2b6220cf76b04p-3
#define V_TANH_ \
	-0x1.5555555555552p-2, 0x1.1111111110c2cp-3, -0x1.ba1ba1b9d0685p-5, 0x1.664f48709c24dp-6, \
		-0x1.226e32cca84afp-7, 0x1.d6d359f242d34p-9, -0x1.7d9c31067a932p-10, \
		0x1.350b7e5be9226p-11, -0x1.f1132232f3011p-13, 0x1.801b75328a47ap-14, \
		-0x1.fac684c9c677ap-16, 0x1.960849fe8da66p-18
#define V_ERF_ \
	0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b34p-4, -0x1.b82ce31284f38p-6, \
		0x1.565bcd0dbd921p-8, -0x1.c02db3db49762p-11, 0x1.f9a321e4b84f9p-14, \
		-0x1.f4d1e434bc0cfp-17, 0x1.b9df305cad6f7p-20, -0x1.5f1f40faeea79p-23, \
		0x1.f7b99d7c8709ap-27, -0x1.38ac2290d3965p-30, 0x1.062759c5be8ecp-34
#define V_ERFCX_ \
	0x1.058671b52c776p-2, -0x1.b57034efd3f53p-2, 0x1.eeea7dc8a7883p-3, -0x1.437f0b68cedc1p-4, \
		0x1.e947158a90eaap-9, 0x1.ca95ed9366971p-8, -0x1.bc258b84fa412p-11, \
		-0x1.016b5782ac793p-10, 0x1.6d2f9227390dp-15, 0x1.6d8078752d6cap-13, \
		0x1.cfcda00e08773p-16, -0x1.bd25e9b9df621p-16, -0x1.a5bcc0873bba6p-17
#endif

/* c[0] + x * (c[1] + x * (...)) */
NN_INLINE vr v_horner(vr x, const real *c, int n)
{
	vr sum = v_set(c[n - 1]);
	NN_UNROLL
	for (int i = n - 2; i >= 0; i--)
		sum = v_fma(sum, x, v_set(c[i]));
	return sum;
}

#define V_POLYNOMIAL_(x, ...) \
	({ \
		const real c_[] = { __VA_ARGS__ }; \
		v_horner(x, c_, sizeof c_ / sizeof *c_); \
	})

/* 2^k for an integral k in the range of normal exponents. */
NN_INLINE vr v_power2(vr k)
{
	return v_asreal(vi_shl(vi_add(v_toint(k), vi_set(V_BIAS_)), V_BITS_));
}

/* x = *k * ln 2 + *r with integral k and |r| <= ln 2 / 2; returns e^r - 1 - r. */
NN_INLINE vr v_exp_reduced(vr x, vr *k, vr *r)
{
	vr n = v_round(v_mul(x, v_set(V_LOG2E_)));
	*r = v_fnma(n, v_set(V_LN2_LO_), v_fnma(n, v_set(V_LN2_HI_), x));
	*k = n;
	return v_mul(V_POLYNOMIAL_(*r, V_EXP_), v_mul(*r, *r));
}

/* The scale 2^k is applied in two halves, so that results may overflow. */
NN_MATH vr v_exp(vr x)
{
	const vr low = v_set(V_EXP_LOW_);
	vm cut = v_lt(x, low);
	vr k, r, half;
	x = v_max(low, v_min(v_set(V_EXP_HIGH_), x));
	vr p = v_exp_reduced(x, &k, &r);
	p = v_add(v_set(1), v_add(r, p));
	half = v_round(v_mul(k, v_set((real)0.5)));
	p = v_mul(v_mul(p, v_power2(half)), v_power2(v_sub(k, half)));
	return v_select(cut, v_zero(), p);
}

/* The same of an x between V_EXP_LOW_ and -V_EXP_LOW_, or NaN: powers of 2 that are normal. */
NN_MATH vr v_exp_middle(vr x)
{
	vr k, r, p = v_exp_reduced(x, &k, &r);
	return v_mul(v_add(v_set(1), v_add(r, p)), v_power2(k));
}

/* The same of an x that is not positive. */
NN_MATH vr v_exp_negative(vr x)
{
	const vr low = v_set(V_EXP_LOW_);
	return v_select(v_lt(x, low), v_zero(), v_exp_middle(v_max(low, x)));
}

/*
 * 2 * (2^(k-1) * e^r - 1/2), where 2^k may be out of range though the result is not; what rounding
 * took from r comes back.
 */
NN_MATH vr v_expm1(vr x)
{
	vr k, r, y = v_max(v_set(V_EXPM1_LOW_), v_min(v_set(V_EXP_HIGH_), x));
	vr p = v_exp_reduced(y, &k, &r);
	vr lost = v_fnma(k, v_set(V_LN2_LO_), v_sub(v_fnma(k, v_set(V_LN2_HI_), y), r));
	vr scale = v_power2(v_sub(k, v_set(1)));
	vr half = v_fma(v_add(p, lost), scale, v_fma(r, scale, v_sub(scale, v_set((real)0.5))));
	return v_select(v_eq(k, v_zero()), v_select(v_eq(x, v_zero()), x, v_add(r, p)),
			v_add(half, half));
}

/*
 * log(2^k (1 + f)), -0.3 < f < 0.42; with s = f / (2 + f) it is 2 s + s * s^2 * polynomial(s^2)
 * (fdlibm's form).
 */
NN_INLINE vr v_log_reduced(vr k, vr f)
{
	vr s = v_div(f, v_add(v_set(2), f)), z = v_mul(s, s);
	vr r = v_mul(z, V_POLYNOMIAL_(z, V_LOG_));
	vr h = v_mul(v_mul(v_set((real)0.5), f), f);
	vr low = v_fma(s, v_add(h, r), v_mul(k, v_set(V_LN2_REST_)));
	return v_fma(k, v_set(V_LN2_SHORT_), v_sub(f, v_sub(h, low)));
}

/* positive normal x = 2^*k * m, sqrt(1/2) <= m < sqrt(2) */
NN_INLINE vr v_split(vr x, vr *k)
{
	vi i = vi_add(v_asint(x), vi_set((r_int)V_ONE_BITS_ - (r_int)V_SQRT_HALF_BITS_));
	vi mantissa = vi_and(i, vi_set(((r_int)1 << V_BITS_) - 1));
	*k = v_sub(v_fromint(vi_shr(i, V_BITS_)), v_set(V_BIAS_));
	return v_asreal(vi_add(mantissa, vi_set((r_int)V_SQRT_HALF_BITS_)));
}

NN_MATH vr v_log(vr x)
{
	const vr infinity = v_set((real)__builtin_inff()), nan = v_set((real)__builtin_nanf(""));
	vr k, m = v_split(x, &k);
	vr y = v_log_reduced(k, v_sub(m, v_set(1)));
	y = v_select(v_lt(x, infinity), y, x); /* infinity, NaN */
	y = v_select(v_lt(v_abs(x), v_set(V_NORMAL_)), v_neg(infinity), y);
	return v_select(v_le(x, v_set(-V_NORMAL_)), nan, y);
}

/* For 0 <= x <= 1: the rounding error of 1 + x goes into f. */
NN_MATH vr v_log1p_unit(vr x)
{
	vr u = v_add(v_set(1), x), k;
	vr m = v_split(u, &k), error = v_sub(x, v_sub(u, v_set(1)));
	vr y = v_log_reduced(k, v_fma(error, v_power2(v_neg(k)), v_sub(m, v_set(1))));
	return v_select(v_eq(x, v_zero()), x, y);
}

/* sign of s, magnitude of x >= 0 */
NN_INLINE vr v_copysign(vr x, vr s)
{
	vi sign = v_asint(v_set((real)-0.0));
	return v_asreal(vi_or(v_asint(x), vi_and(v_asint(s), sign)));
}

/* A polynomial near 0, else 1 - 2 / (e^2|x| + 1). */
NN_MATH vr v_tanh(vr x)
{
	vr a = v_abs(x), z = v_mul(a, a);
	vr near = v_fma(v_mul(V_POLYNOMIAL_(z, V_TANH_), z), a, a); /* (tanh a - a) / a^3 */
	vr e = v_exp_middle(v_min(v_set(V_TANH_HIGH_), v_add(a, a)));
	vr far = v_sub(v_set(1), v_div(v_set(2), v_add(e, v_set(1))));
	return v_copysign(v_select(v_lt(a, v_set((real)0.625)), near, far), x);
}

/*
 * 1 / (1 + e^-x) or, for x < 0, e^x / (1 + e^x): the quotient, corrected by the remainder for the
 * unrounded 1 + e.
 */
NN_MATH vr v_sigmoid(vr x)
{
	vr e = v_exp_negative(v_neg(v_abs(x))), one = v_set(1);
	vr sum = v_add(one, e), lost = v_sub(e, v_sub(sum, one)), inverse = v_div(one, sum);
	vr n = v_select(v_lt(x, v_zero()), e, one), q = v_mul(n, inverse);
	return v_fma(v_fnma(q, lost, v_fnma(q, sum, n)), inverse, q);
}

/*
 * erf x = x + x * polynomial(x^2) near 0, else 1 - e^-(a a) * polynomial((a - 2) / (a + 2)), a =
 * |x|.
 */
NN_MATH vr v_erf(vr x)
{
	vr a = v_min(v_set(V_ERF_HIGH_), v_abs(x)), z = v_mul(a, a);
	vr near = v_fma(V_POLYNOMIAL_(z, V_ERF_), a, a); /* erf(a) / a - 1 */
	vr u = v_div(v_sub(a, v_set(2)), v_add(a, v_set(2)));
	vr far = v_fnma(v_exp_middle(v_neg(z)), V_POLYNOMIAL_(u, V_ERFCX_), v_set(1));
	return v_copysign(v_select(v_lt(a, v_set(V_ERF_MIDDLE_)), near, far), x);
}

/* log(1 + e^x) = max(x, 0) + log1p(e^-|x|) */
NN_MATH vr v_softplus(vr x)
{
	return v_add(v_max(v_zero(), x), v_log1p_unit(v_exp_negative(v_neg(v_abs(x)))));
}

#endif
