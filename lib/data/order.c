/*
 * The order of rows: permutations for epochs and the choice of held-out rows, both from Philox
 * alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/data.h"

uint64_t nn_draw_below(uint64_t seed, enum nn_stream stream, uint64_t index, uint64_t n)
{
	uint64_t least = -n % n; /* 2^64 mod n */

	for (uint32_t block = 0;; block++) {
		uint32_t x[4];

		nn_philox(seed, index, stream, block, x);
		for (int half = 0; half < 4; half += 2) {
			uint64_t u = (uint64_t)x[half + 1] << 32 | x[half];
			unsigned __int128 product = (unsigned __int128)u * n;

			if ((uint64_t)product >= least)
				return (uint64_t)(product >> 64);
		}
	}
}

void nn_shuffle(uint64_t seed, uint64_t epoch, const uint64_t *rows, uint64_t *order, size_t n,
		uint64_t window)
{
	if (n && order != rows)
		memcpy(order, rows, n * sizeof *order);
	for (size_t begin = 0, m; window && begin < n; begin += m) {
		m = n - begin < window ? n - begin : (size_t)window;
		for (size_t k = m - 1; k > 0; k--) {
			size_t j = (size_t)nn_draw_below(seed, NN_STREAM_SHUFFLE,
							 (epoch << 40) + begin + k, k + 1);
			uint64_t t = order[begin + k];

			order[begin + k] = order[begin + j];
			order[begin + j] = t;
		}
	}
}

struct valued {
	uint64_t value, row;
	int32_t class;
};

static int by_class_and_value(const void *a, const void *b)
{
	const struct valued *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/*
 * floor(f n) for the decimal number that f stands for: the product may lie a few roundings below a
 * whole number.
 */
static size_t share(double f, size_t n)
{
	double product = f * (double)n, near = nearbyint(product);

	return (size_t)(fabs(product - near) <= 4 * 0x1p-52 * product ? near : floor(product));
}

struct group {
	size_t begin, n, take;
	uint64_t remainder; /* of f n, in units that make equal fractions equal */
	int32_t class;
};

static int by_remainder(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->remainder != y->remainder)
		return x->remainder > y->remainder ? -1 : 1;
	return x->class < y->class ? -1 : 1;
}

/*
 * Each class gives its share; the classes with the largest remainders give one more until all is
 * given.
 */
static void apportion(struct group *groups, struct group **order, size_t n_groups, size_t total,
		      double fraction)
{
	size_t given = 0;

	for (size_t g = 0; g < n_groups; g++) {
		groups[g].take = share(fraction, groups[g].n);
		groups[g].remainder = (uint64_t)llround(
			(fraction * (double)groups[g].n - (double)groups[g].take) * 1e9);
		given += groups[g].take;
		order[g] = &groups[g];
	}
	qsort(order, n_groups, sizeof *order, by_remainder);
	for (size_t g = 0; g < n_groups && given < total; g++) {
		order[g]->take++;
		given++;
	}
}

/* The target that rows are stratified by; n_targets: none. */
static size_t stratum(const struct nn_dataset *ds, size_t n_targets)
{
	size_t t = 0;

	while (t < n_targets &&
	       !(nn_dataset_target_classes(ds, t) && nn_dataset_target_size(ds, t) == 1))
		t++;
	return t;
}

static int class_of(const struct nn_dataset *ds, size_t target, uint64_t row, int32_t *class,
		    struct nn_error *err)
{
	struct nn_source source = nn_dataset_source(ds);

	return source.ops->fill_target(source.data, target, &row, 1, class, err);
}

/* The rows that are not left out, by class and then by value. *n of them; NULL on failure. */
static struct valued *in_order(const struct nn_dataset *ds, uint64_t split_seed,
			       size_t *rows_in_order, struct nn_error *err)
{
	size_t rows = nn_dataset_rows(ds), n = 0;
	size_t n_targets = nn_dataset_schema((struct nn_dataset *)ds)->n_targets,
	       target = stratum(ds, n_targets);
	struct valued *v = nn_alloc(rows, sizeof *v, err);

	if (!v)
		return NULL;
	for (size_t i = 0; i < rows; i++) {
		uint32_t x[4];

		if (nn_dataset_left_out(ds, i))
			continue;
		nn_philox(split_seed, i, NN_STREAM_SPLIT, 0, x);
		v[n] = (struct valued){ (uint64_t)x[1] << 32 | x[0], i, 0 };
		if (target < n_targets && class_of(ds, target, i, &v[n].class, err) < 0) {
			nn_free(v);
			return NULL;
		}
		n++;
	}
	qsort(v, n, sizeof *v, by_class_and_value);
	*rows_in_order = n;
	return v;
}

static int split_drawn(const struct nn_dataset *ds, double fraction, uint64_t split_seed,
		       bool *held, struct nn_error *err)
{
	size_t n, n_groups = 0;
	struct valued *v = in_order(ds, split_seed, &n, err);
	struct group *groups = NULL, **order = NULL;
	int status = -1;

	if (!v)
		return -1;
	memset(held, 0, nn_dataset_rows(ds) * sizeof *held);
	for (size_t i = 0; i < n; i++)
		n_groups += i == 0 || v[i].class != v[i - 1].class;
	groups = nn_alloc(n_groups, sizeof *groups, err);
	order = nn_alloc(n_groups, sizeof *order, err);
	if (!groups || !order)
		goto out;
	for (size_t i = 0, g = 0; i < n; i++) {
		g += i > 0 && v[i].class != v[i - 1].class;
		if (groups[g].n++ == 0)
			groups[g].begin = i;
		groups[g].class = v[i].class;
	}
	apportion(groups, order, n_groups, share(fraction, n), fraction);
	for (size_t g = 0; g < n_groups; g++)
		for (size_t i = 0; i < groups[g].take; i++)
			held[v[groups[g].begin + i].row] = true;
	status = 0;
out:
	nn_free(v);
	nn_free(groups);
	nn_free(order);
	return status;
}

/* Neighbours in a text are alike: its end is held out, and its folds are runs of windows. */
static bool is_text(const struct nn_dataset *ds)
{
	return nn_dataset_schema((struct nn_dataset *)ds)->inputs[0].characters.n > 0;
}

int nn_split(const struct nn_dataset *ds, double fraction, uint64_t split_seed, bool *held,
	     struct nn_error *err)
{
	size_t n = nn_dataset_rows(ds), taken = share(fraction, n);

	if (!is_text(ds))
		return split_drawn(ds, fraction, split_seed, held, err);
	for (size_t i = 0; i < n; i++)
		held[i] = i >= n - taken;
	return 0;
}

int nn_fold(const struct nn_dataset *ds, uint64_t folds, uint64_t split_seed, uint32_t *fold,
	    struct nn_error *err)
{
	size_t rows = nn_dataset_rows(ds), n, begin = 0;
	struct valued *v;

	for (size_t i = 0; is_text(ds) && i < rows; i++)
		fold[i] = (uint32_t)((unsigned __int128)i * folds / rows) + 1;
	if (is_text(ds))
		return 0;
	v = in_order(ds, split_seed, &n, err);
	if (!v)
		return -1;
	memset(fold, 0, nn_dataset_rows(ds) * sizeof *fold);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && v[i].class != v[i - 1].class)
			begin = i;
		fold[v[i].row] = (uint32_t)((i - begin) % folds) + 1;
	}
	nn_free(v);
	return 0;
}
