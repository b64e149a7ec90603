/*
 * The product kernels of every instruction set this machine has, for one type (NN_T_f32 or
 * NN_T_f64).
 */
#ifndef NN_TESTS_PRODUCT_SETS_H
#define NN_TESTS_PRODUCT_SETS_H

#include "device/cpu/vec/kernel.h"

#define EACH_FUNCTION(F) \
	F(conv_panels) \
	F(conv_packed) \
	F(conv_pack) \
	F(conv_unpack) \
	F(conv_rotated_panels) \
	F(conv_rotated) \
	F(conv_rotate) \
	F(conv_forward) \
	F(conv_input_gradient) \
	F(conv_weight_gradient) \
	F(conv_bias_gradient) \
	F(dense_panels) F(dense_packed) F(dense_pack) F(dense_unpack) F(dense_scratch) \
		F(dense_forward) F(dense_plain) F(dense_input_gradient) F(dense_weight_gradient) \
			F(dense_bias_gradient) F(leaf_add) F(fma_peak)

#define NN_SUFFIX_OF(isa) NN_CAT(NN_SUFFIX_T, _##isa)
#undef NN_SUFFIX
#define NN_SUFFIX NN_SUFFIX_OF(generic)
#include "device/cpu/product/product.h"

struct kernels {
	const char *isa;
#define F(name) __typeof__(NN_K(name)) *name;
	EACH_FUNCTION(F)
#undef F
};

#define F(name) NN_K(name),
static const struct kernels generic = { "generic", EACH_FUNCTION(F) };

#ifdef __x86_64__
#undef NN_SUFFIX
#define NN_SUFFIX NN_SUFFIX_OF(avx512)
#include "device/cpu/product/product.h"
static const struct kernels avx512 = { "avx512", EACH_FUNCTION(F) };
#undef NN_SUFFIX
#define NN_SUFFIX NN_SUFFIX_OF(avx2)
#include "device/cpu/product/product.h"
static const struct kernels avx2 = { "avx2", EACH_FUNCTION(F) };
#elif defined __aarch64__
#undef NN_SUFFIX
#define NN_SUFFIX NN_SUFFIX_OF(neon)
#include "device/cpu/product/product.h"
static const struct kernels neon = { "neon", EACH_FUNCTION(F) };
#endif
#undef F

static const struct kernels *sets[3];
static int n_sets;

static void find_sets(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		sets[n_sets++] = &avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		sets[n_sets++] = &avx2;
#elif defined __aarch64__
	sets[n_sets++] = &neon;
#endif
	sets[n_sets++] = &generic;
}

#endif
