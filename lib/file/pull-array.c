/* Nested arrays of JSON as one array in row-major order, and the dimensions they turn out to have.
 */
#include "config.h"

#include "file/pull.h"

#define UNKNOWN SIZE_MAX

/* ---- how arrays are nested ---- */

struct nesting {
	struct nn_pull_dims *dims;
	bool known;                  /* the rank is, by a value or an empty array */
	unsigned level;              /* arrays that are open */
	size_t counts[NN_PULL_RANK]; /* of elements, by level */
};

static int open_array(struct nn_pull *p, struct nesting *n)
{
	if (n->known && n->level == n->dims->rank)
		return nn_pull_fail(p, "found an array, expected a value as before");
	if (n->level == NN_PULL_RANK)
		return nn_pull_fail(p, "found more than %d dimensions", NN_PULL_RANK);
	if (n->level > 0)
		n->counts[n->level - 1]++;
	n->counts[n->level++] = 0;
	return 0;
}

static int close_array(struct nn_pull *p, struct nesting *n)
{
	size_t *size = &n->dims->size[--n->level], count = n->counts[n->level];

	if (*size == UNKNOWN)
		*size = count;
	if (*size != count)
		return nn_pull_fail(p, "found an array of %zu, expected %zu as before", count,
				    *size);
	if (!n->known) { /* it is empty */
		n->known = true;
		n->dims->rank = n->level + 1;
	}
	return 0;
}

static int count_value(struct nn_pull *p, struct nesting *n)
{
	if (!n->known) {
		n->known = true;
		n->dims->rank = n->level;
	}
	if (n->level != n->dims->rank)
		return nn_pull_fail(p, "found a value, expected an array as before");
	if (n->level > 0)
		n->counts[n->level - 1]++;
	return 0;
}

int nn_pull_array(struct nn_pull *p,
		  int (*leaf)(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg),
		  void *arg, struct nn_pull_dims *dims)
{
	struct nesting n = { .dims = dims };
	enum nn_pull_kind kind;

	dims->rank = 0;
	dims->count = 0;
	for (unsigned i = 0; i < NN_PULL_RANK; i++)
		dims->size[i] = UNKNOWN;
	do {
		kind = nn_pull_next(p);
		if (kind == NN_PULL_BAD)
			return -1;
		if (kind == NN_PULL_ARRAY) {
			if (open_array(p, &n) < 0)
				return -1;
		} else if (kind == NN_PULL_ARRAY_END && n.level > 0) {
			if (close_array(p, &n) < 0)
				return -1;
		} else if (kind < NN_PULL_STRING) {
			return nn_pull_fail(p, "expected numbers or other values in arrays");
		} else if (count_value(p, &n) < 0 || leaf(p, kind, dims->count, arg) < 0) {
			return -1;
		} else {
			dims->count++;
		}
	} while (n.level > 0);
	return 0;
}

/* ---- of numbers ---- */

struct numbers {
	void *to;
	size_t most;
};

static int check(struct nn_pull *p, enum nn_pull_kind kind, size_t i, const struct numbers *numbers)
{
	if (kind != NN_PULL_NUMBER)
		return nn_pull_fail(p, "found a value of another kind, expected a number");
	if (i >= numbers->most)
		return nn_pull_fail(p, "found more than %zu values", numbers->most);
	return 0;
}

static int refuse(struct nn_pull *p, const char *expected)
{
	char quoted[NN_QUOTED];

	return nn_pull_fail(p, "found %s, expected %s", nn_quote(quoted, p->text, p->length),
			    expected);
}

#define NUMBERS(type, name, expected) \
	static int leaf_##name(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg) \
	{ \
		struct numbers *numbers = arg; \
		if (check(p, kind, i, numbers) < 0) \
			return -1; \
		return nn_pull_##name(p, (type *)numbers->to + i) ? 0 : refuse(p, expected); \
	} \
	int nn_pull_##name##s(struct nn_pull *p, type *to, size_t most, struct nn_pull_dims *dims) \
	{ \
		struct numbers numbers = { to, most }; \
		return nn_pull_array(p, leaf_##name, &numbers, dims); \
	}

NUMBERS(float, f32, "a number in the range of 32-bit floats")
NUMBERS(double, f64, "a number in the range of 64-bit floats")
NUMBERS(int64_t, i64, "a whole number in the range of 64-bit integers")
NUMBERS(uint64_t, u64, "a whole number in the range of unsigned 64-bit integers")
