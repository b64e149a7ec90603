/*
 * The reduction core beside a plain program: all types, operations and numbers of leaves, bit for
 * bit.
 */
#include <stdlib.h>

#include "comm-plain.h"
#include "base/half.h"
#include "comm/loops.h"
#include "tap.h"

#define COUNT 2500 /* some tiles and a piece of one */
#define LEAVES 17

static const enum nn_dtype types[] = {
	NN_F32, NN_F64, NN_F16, NN_BF16, NN_I8,  NN_U8,
	NN_I16, NN_U16, NN_I32, NN_U32,  NN_I64, NN_U64,
};
#define N_TYPES (sizeof types / sizeof *types)

struct reduce_arrays {
	_Alignas(64) char leaf[LEAVES][COUNT * 8], out[COUNT * 8], plain[COUNT * 8];
	const void *leaves[LEAVES];
};

static void fill(struct reduce_arrays *a, enum nn_dtype dtype, size_t n, uint64_t seed, bool wild)
{
	for (size_t k = 0; k < n; k++) {
		plain_fill(dtype, a->leaf[k], COUNT, seed * 100 + k, wild);
		a->leaves[k] = a->leaf[k];
	}
}

/* Does what was found agree with the plain program, and the bytes, where all fits? */
static bool agrees(const struct reduce_arrays *a, const struct nn_reduce *r,
		   const struct nn_reduce_found *found, const void *out, struct reduce_arrays *to)
{
	size_t overflow = SIZE_MAX, nan = 0, size = nn_dtype_size(r->dtype);

	for (size_t i = 0; i < COUNT; i++)
		if (!plain_reduce(r, a->leaves, i, to->plain) && overflow == SIZE_MAX)
			overflow = i;
	for (size_t i = 0; i < COUNT && nn_dtype_float(r->dtype); i++) {
		union plain p = plain_load(r->dtype, to->plain, i);

		nan += r->dtype == NN_F64 ? isnan(p.d) : isnan(p.f);
	}
	if (found->overflow != overflow || (overflow == SIZE_MAX && found->nan != nan)) {
		note("%s %s of %zu: overflow %zu, expected %zu; NaN %zu, expected %zu",
		     nn_reduce_ops[r->op], nn_dtype_name(r->dtype), r->n, found->overflow, overflow,
		     found->nan, nan);
		return false;
	}
	for (size_t i = 0; i < COUNT && overflow == SIZE_MAX; i++)
		if (memcmp((const char *)out + i * size, to->plain + i * size, size) != 0) {
			note("%s %s of %zu: value %zu differs", nn_reduce_ops[r->op],
			     nn_dtype_name(r->dtype), r->n, i);
			return false;
		}
	return true;
}

static void test_leaves(struct reduce_arrays *a, struct nn_pool *pool, bool wild)
{
	for (size_t t = 0; t < N_TYPES; t++)
		for (int op = 0; nn_reduce_ops[op]; op++) {
			bool good = true;

			for (size_t n = 1; n <= LEAVES && good; n++) {
				const struct nn_reduce r = { types[t], (enum nn_reduce_op)op, n };
				struct nn_reduce_found found;

				fill(a, types[t], n, 1000 * t + n, wild);
				nn_reduce_leaves(&r, a->leaves, COUNT, a->out, pool, &found);
				good = agrees(a, &r, &found, a->out, a);
			}
			ok(good, "reduce: %s of %s%s is the plain program's, 1 to %d leaves",
			   nn_reduce_ops[op], nn_dtype_name(types[t]), wild ? ", any bits," : "",
			   LEAVES);
		}
}

/* The result in place of a leaf. */
static void test_in_place(struct reduce_arrays *a, struct reduce_arrays *b)
{
	bool good = true;

	for (size_t t = 0; t < N_TYPES; t++)
		for (size_t n = 1; n <= 5; n++)
			for (size_t k = 0; k < n; k++) {
				const struct nn_reduce r = { types[t], NN_REDUCE_MEAN, n };
				struct nn_reduce_found found;

				fill(a, types[t], n, t + n, true);
				fill(b, types[t], n, t + n, true);
				nn_reduce_leaves(&r, a->leaves, COUNT, a->leaf[k], NULL, &found);
				good &= agrees(b, &r, &found, a->leaf[k], a);
			}
	ok(good, "reduce: the result may take the place of any leaf");
}

/* Step by step along another way than the leaves take: ((0 1)(2 3)) by halves, as ranks would. */
static void test_steps(struct reduce_arrays *a)
{
	static float p[4][COUNT * 2];
	bool good = true;

	for (size_t t = 0; t < N_TYPES; t++)
		for (int op = 0; nn_reduce_ops[op]; op++) {
			const struct nn_reduce r = { types[t], (enum nn_reduce_op)op, 4 };
			struct nn_reduce_found found = { 0, SIZE_MAX };
			bool over = false;

			fill(a, types[t], 4, 7 * t + 3, false);
			for (size_t k = 0; k < 4; k++)
				nn_reduce_begin(&r, a->leaves[k], p[k], COUNT);
			over |= nn_reduce_combine(&r, p[2], p[3], p[3], COUNT);
			over |= nn_reduce_combine(&r, p[0], p[1], p[0], COUNT);
			over |= nn_reduce_combine(&r, p[0], p[3], p[3], COUNT);
			found.nan = nn_reduce_end(&r, p[3], a->out, COUNT);
			good &= over || agrees(a, &r, &found, a->out, a);
		}
	ok(good, "reduce: partial results combined by hand give the bytes of all leaves at once");
}

/*
 * Every half there is, through f32 and back; and every f32 near a half is rounded as the definition
 * says.
 */
static void test_halves(void)
{
	bool good = true, near = true;

	for (unsigned h = 0; h < 65536; h++) {
		const uint16_t from = (uint16_t)h;
		const void *leaf = &from;
		uint16_t f16 = 1, bf16 = 1;
		struct nn_reduce_found found;
		struct nn_reduce r = { NN_F16, NN_REDUCE_SUM, 1 };

		nn_reduce_leaves(&r, &leaf, 1, &f16, NULL, &found);
		r.dtype = NN_BF16;
		nn_reduce_leaves(&r, &leaf, 1, &bf16, NULL, &found);
		good &= (h & 0x7fff) > 0x7c00 ? f16 == 0x7e00 : f16 == h;
		good &= (h & 0x7fff) > 0x7f80 ? bf16 == 0x7fc0 : bf16 == h;
	}
	ok(good, "reduce: every f16 and bf16 survives f32");
	for (uint64_t seed = 1, i = 0; i < 400000; i++) {
		uint64_t bits = plain_random(&seed);
		uint32_t word = (uint32_t)bits;
		float f, partial;
		uint16_t f16, bf16;
		struct nn_reduce r = { NN_F16, NN_REDUCE_SUM, 1 };

		if (i % 2) /* halves and the middles between them, and their neighbours */
			word = (word & 0x8fffe000) + 0x33000000 + (bits >> 40 & 0x1000) +
			       (uint32_t)(bits >> 50 & 1);
		memcpy(&f, &word, 4);
		partial = f;
		nn_reduce_end(&r, &partial, &f16, 1);
		r.dtype = NN_BF16;
		nn_reduce_end(&r, &partial, &bf16, 1);
		near &= f16 == plain_to_half(f, plain_f16, 0x7c00, 0x7e00) &&
			bf16 == plain_to_half(f, plain_bf16_value, 0x7f80, 0x7fc0);
	}
	ok(near, "reduce: f32 is rounded to the nearest f16 and bf16, the even one of two");
}

/* The instructions for halves, where this CPU has them, beside the loops for every CPU. */
static void test_instructions(enum nn_dtype type)
{
	static float wide[2][COUNT];
	static uint16_t half[2][COUNT];
	const struct nn_half *some = nn_half(type, false), *plain = nn_half(type, true);
	bool same = true;

	for (uint64_t seed = 5, round = 0; round < 200; round++) {
		size_t n = COUNT - round, nan;

		plain_fill(type, half[0], n, plain_random(&seed), true);
		some->widen(half[0], wide[0], n);
		plain->widen(half[0], wide[1], n);
		for (size_t i = 0; i < n; i++)
			same &= memcmp(&wide[0][i], &wide[1][i], 4) == 0 ||
				(isnan(wide[0][i]) && isnan(wide[1][i]));
		plain_fill(NN_F32, wide[0], n, plain_random(&seed), round % 2);
		for (size_t i = 0; i < n; i++) /* most of them where halves are */
			wide[0][i] *= i % 4 ? 0x1p-8f : 0x1p-18f;
		nan = some->narrow(wide[0], half[0], (float)(1 + round % 5), n);
		same &= nan == plain->narrow(wide[0], half[1], (float)(1 + round % 5), n) &&
			memcmp(half[0], half[1], 2 * n) == 0;
	}
	ok(same, "reduce: %s by the instructions for it is %s by the plain loops",
	   nn_dtype_name(type), nn_dtype_name(type));
}

/*
 * Divisions by products: values and divisors at the ends of ranges and around their multiples,
 * beside a division.
 */
static void test_quotients(void)
{
	static int64_t in[COUNT], out[COUNT], kept[COUNT];

	for (size_t t = 4; t < N_TYPES; t++) {
		size_t size = nn_dtype_size(types[t]);
		uint64_t seed = t;
		bool good = true;

		for (size_t round = 0; round < 400 && good; round++) {
			uint64_t bits = plain_random(&seed);
			size_t d = round < 300 ? round + 1 : (size_t)(bits >> (1 + bits % 60)) | 1;

			for (size_t i = 0; i < COUNT; i++) {
				uint64_t x = plain_random(&seed), multiple = x % 4096 * d;

				x = x >> 62 == 0   ? multiple - (x >> 60 & 3) + 1
				    : x >> 62 == 1 ? 0 - (x & 7)
				    : x >> 62 == 2 ? x
						   : x >> (x & 63);
				x = i % 16 ? x : (UINT64_C(1) << (8 * size - 1)) - (i & 16 ? 1 : 0);
				memcpy((char *)in + i * size, &x, size);
			}
			memcpy(kept, in, sizeof in);
			nn_loops(types[t])->end(in, out, d, COUNT);
			nn_loops(types[t])->end(in, in, d, COUNT);
			good &= memcmp(in, out, COUNT * size) == 0;
			for (size_t i = 0; i < COUNT && good; i++) {
				__int128 q = plain_load(types[t], kept, i).i / (__int128)d;

				good = plain_load(types[t], out, i).i == q;
				if (!good)
					note("%s: %lld / %zu", nn_dtype_name(types[t]),
					     (long long)plain_load(types[t], kept, i).i, d);
			}
		}
		ok(good, "reduce: quotients of %s are rounded toward zero",
		   nn_dtype_name(types[t]));
	}
}

int main(void)
{
	struct reduce_arrays *a = aligned_alloc(64, sizeof *a), *b = aligned_alloc(64, sizeof *b);
	struct nn_pool *pool = NULL;

	if (!a || !b || nn_pool_new(&pool, 2, NULL) < 0)
		return 1;
	test_leaves(a, NULL, false);
	test_leaves(a, pool, true);
	test_in_place(a, b);
	test_steps(a);
	test_halves();
	test_instructions(NN_F16);
	test_instructions(NN_BF16);
	test_quotients();
	nn_pool_free(pool);
	free(a);
	free(b);
	return tap_done();
}
