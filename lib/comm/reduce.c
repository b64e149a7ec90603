/* Leaves along their tree, tile by tile in the first-level cache, so that memory is read once. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/whole.h"
#include "comm/loops.h"
#include "comm/reduce.h"

const char *const nn_reduce_ops[] = { "mean", "sum", "min", "max", "prod", NULL };

/* bytes of partial results: a few of them fit into the first-level cache */
#define TILE ((size_t)2 << 10)
#define PIECE ((size_t)64 << 10) /* values: what a thread claims; a multiple of all tiles */
#define DEPTH 33                 /* subtrees that wait for their right neighbour */

enum nn_dtype nn_reduce_partial(enum nn_dtype dtype)
{
	return dtype == NN_F16 || dtype == NN_BF16 ? NN_F32 : dtype;
}

static nn_combine *combine_of(const struct nn_reduce *r)
{
	static const int loop[] = {
		[NN_REDUCE_MEAN] = NN_LOOP_SUM,  [NN_REDUCE_SUM] = NN_LOOP_SUM,
		[NN_REDUCE_MIN] = NN_LOOP_MIN,   [NN_REDUCE_MAX] = NN_LOOP_MAX,
		[NN_REDUCE_PROD] = NN_LOOP_PROD,
	};

	return nn_loops(nn_reduce_partial(r->dtype))->combine[loop[r->op]];
}

void nn_reduce_begin(const struct nn_reduce *r, const void *leaf, void *partial, size_t count)
{
	if (nn_reduce_partial(r->dtype) != r->dtype)
		nn_half(r->dtype, false)->widen(leaf, partial, count);
	else if (leaf != partial)
		memcpy(partial, leaf, count * nn_dtype_size(r->dtype));
}

bool nn_reduce_combine(const struct nn_reduce *r, const void *left, const void *right, void *result,
		       size_t count)
{
	return combine_of(r)(left, right, result, count);
}

size_t nn_reduce_end(const struct nn_reduce *r, const void *partial, void *out, size_t count)
{
	size_t divisor = r->op == NN_REDUCE_MEAN ? r->n : 1;

	if (nn_reduce_partial(r->dtype) != r->dtype)
		return nn_half(r->dtype, false)->narrow(partial, out, (float)divisor, count);
	return nn_loops(r->dtype)->end(partial, out, divisor, count);
}

/* ---- exact whole numbers, for the rare values whose partial results leave the type ---- */

typedef __int128 exact;

/*
 * What lies outside of 2^65 is kept as far outside, so that only a factor 0 brings a product back.
 */
#define FAR ((exact)1 << 66)

/* False when the value does not fit into its type. */
static bool exact_store(enum nn_dtype dtype, exact value, void *values, size_t i)
{
	switch (dtype) {
	case NN_I8:
		return ((int8_t *)values)[i] = (int8_t)value, (int8_t)value == value;
	case NN_U8:
		return ((uint8_t *)values)[i] = (uint8_t)value, (uint8_t)value == value;
	case NN_I16:
		return ((int16_t *)values)[i] = (int16_t)value, (int16_t)value == value;
	case NN_U16:
		return ((uint16_t *)values)[i] = (uint16_t)value, (uint16_t)value == value;
	case NN_I32:
		return ((int32_t *)values)[i] = (int32_t)value, (int32_t)value == value;
	case NN_U32:
		return ((uint32_t *)values)[i] = (uint32_t)value, (uint32_t)value == value;
	case NN_I64:
		return ((int64_t *)values)[i] = (int64_t)value, (int64_t)value == value;
	case NN_U64:
		return ((uint64_t *)values)[i] = (uint64_t)value, (uint64_t)value == value;
	default:
		NN_BUG("%s is not a type of whole numbers", nn_dtype_name(dtype));
	}
}

static exact exact_product(exact a, exact b)
{
	exact p;

	if (__builtin_mul_overflow(a, b, &p))
		return (a < 0) != (b < 0) ? -FAR : FAR;
	return p > FAR ? FAR : p < -FAR ? -FAR : p;
}

/*
 * Values from..to of sums, means, products. The index of the first that does not fit, or SIZE_MAX.
 */
static size_t exact_values(const struct nn_reduce *r, const void *const *leaves, size_t from,
			   size_t to, void *out)
{
	size_t first = SIZE_MAX;

	for (size_t i = from; i < to; i++) {
		exact value = nn_whole_at(r->dtype, leaves[0], i);

		for (size_t k = 1; k < r->n; k++) {
			exact next = nn_whole_at(r->dtype, leaves[k], i);

			value = r->op == NN_REDUCE_PROD ? exact_product(value, next) : value + next;
		}
		if (r->op == NN_REDUCE_MEAN)
			value /= (exact)r->n;
		if (!exact_store(r->dtype, value, out, i) && first == SIZE_MAX)
			first = i;
	}
	return first;
}

/* ---- leaves ---- */

struct reduce_job {
	const struct nn_reduce *r;
	const void *const *leaves;
	size_t count;
	void *out;
	nn_combine *combine;
	size_t nan, overflow; /* of all pieces, updated atomically */
};

/*
 * Values at..at+n: subtrees that wait for their right neighbour lie on a stack, whose slot d has a
 * buffer; a leaf that needs no widening is pointed at where it lies. The last result goes straight
 * to out, or to the stack's first slot where it is wider. False when a whole number did not fit.
 */
static bool reduce_tile(const struct reduce_job *job, size_t at, size_t n, void *out, char *stack)
{
	const struct nn_reduce *r = job->r;
	size_t size = nn_dtype_size(r->dtype), wide = nn_dtype_size(nn_reduce_partial(r->dtype)),
	       depth = 0;
	const void *waiting[DEPTH] = { NULL };
	bool over = false;

	for (size_t k = 0; k < r->n; k++) {
		const void *leaf = (const char *)job->leaves[k] + at * size;

		waiting[depth] = leaf;
		if (wide != size) {
			waiting[depth] = stack + depth * TILE;
			nn_reduce_begin(r, leaf, stack + depth * TILE, n);
		}
		depth++;
		/*
		 * a complete subtree of 2^j leaves meets its neighbour; behind the last leaf all
		 * that wait are joined
		 */
		for (size_t j = k; depth > 1 && (j & 1 || k + 1 == r->n); j >>= 1) {
			void *to = depth == 2 && k + 1 == r->n && wide == size
					   ? out
					   : stack + (depth - 2) * TILE;

			over |= job->combine(waiting[depth - 2], waiting[depth - 1], to, n);
			waiting[--depth - 1] = to;
		}
	}
	if (wide == size && waiting[0] != out)
		memcpy(out, waiting[0], n * size); /* one leaf */
	return !over;
}

/*
 * In place of the result's tile, which may be one of the leaves, a tile is made aside where exact
 * values may be needed.
 */
static void reduce_piece(void *arg, size_t piece, int thread)
{
	struct reduce_job *job = arg;
	const struct nn_reduce *r = job->r;
	size_t size = nn_dtype_size(r->dtype),
	       end = (piece + 1) * PIECE < job->count ? (piece + 1) * PIECE : job->count, nan = 0;
	size_t tile = TILE / nn_dtype_size(nn_reduce_partial(r->dtype));
	bool whole = !nn_dtype_float(r->dtype), half = nn_reduce_partial(r->dtype) != r->dtype;
	_Alignas(64) char stack[(DEPTH + 1) * TILE];
	char *aside = stack + DEPTH * TILE;

	(void)thread;
	for (size_t at = piece * PIECE; at < end; at += tile) {
		size_t n = end - at < tile ? end - at : tile;
		char *out = (char *)job->out + at * size;
		size_t overflow;

		if (reduce_tile(job, at, n, whole ? aside : out, stack)) {
			nan += nn_reduce_end(r, whole ? aside : half ? stack : out, out, n);
			continue;
		}
		overflow = exact_values(r, job->leaves, at, at + n, job->out);
		while (overflow < __atomic_load_n(&job->overflow, __ATOMIC_RELAXED)) {
			size_t was = __atomic_load_n(&job->overflow, __ATOMIC_RELAXED);

			if (overflow < was)
				__atomic_compare_exchange_n(&job->overflow, &was, overflow, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		}
	}
	__atomic_fetch_add(&job->nan, nan, __ATOMIC_RELAXED);
}

void nn_reduce_leaves(const struct nn_reduce *r, const void *const *leaves, size_t count, void *out,
		      struct nn_pool *pool, struct nn_reduce_found *found)
{
	struct reduce_job job = {
		.r = r,
		.leaves = leaves,
		.count = count,
		.out = out,
		.combine = combine_of(r),
		.overflow = SIZE_MAX,
	};

	nn_pool_run(pool, (count + PIECE - 1) / PIECE, reduce_piece, &job);
	*found = (struct nn_reduce_found){ job.nan, job.overflow };
}

#define COUNT_NAN(BITS, INFINITE) \
	do { \
		const BITS *v = values; \
		for (size_t i = 0; i < count; i++) \
			nan += (BITS)(v[i] << 1) > (BITS)((BITS)(INFINITE) << 1); \
	} while (0)

size_t nn_reduce_nan(enum nn_dtype dtype, const void *values, size_t count)
{
	size_t nan = 0;

	switch (dtype) {
	case NN_F32:
		COUNT_NAN(uint32_t, 0x7f800000);
		break;
	case NN_F64:
		COUNT_NAN(uint64_t, UINT64_C(0x7ff0000000000000));
		break;
	case NN_F16:
		COUNT_NAN(uint16_t, 0x7c00);
		break;
	case NN_BF16:
		COUNT_NAN(uint16_t, 0x7f80);
		break;
	default:
		break;
	}
	return nan;
}
