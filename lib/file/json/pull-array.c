/* Nested arrays of JSON as one array in row-major order, and the dimensions they turn out to have.
 */
#include "base/text.h"
#include "config.h"
#include <math.h>

#include "base/number-list.h"
#include "file/json/pull-inside.h"

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
		return nn_pull_fail(p, "found more than %d dimensions (a fixed limit)",
				    NN_PULL_RANK);
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
	n->dims->count++;
	return 0;
}

/* What to do with values: each as the current token, or before that as many as list takes. */
struct reader {
	int (*leaf)(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg);
	size_t (*list)(const char **text, const char *end, void *arg, size_t i);
	void *arg;
	bool objects; /* leaf takes them */
};

/* Numbers of the array that is open, as long as they are read without looking closer. */
static void read_list(struct nn_pull *p, struct nesting *n, const struct reader *reader)
{
	const char *at;
	size_t got;

	if (n->level == 0 || (n->known && n->level != n->dims->rank) ||
	    nn_pull_peek(p) != NN_PULL_NUMBER)
		return;
	at = p->at;
	got = reader->list(&at, p->end, reader->arg, n->dims->count);
	if (got == 0)
		return;
	nn_pull_pass(p, at);
	n->known = true;
	n->dims->rank = n->level;
	n->dims->count += got;
	n->counts[n->level - 1] += got;
}

static int take(struct nn_pull *p, struct nesting *n, const struct reader *reader)
{
	enum nn_pull_kind kind = nn_pull_next(p);

	if (kind == NN_PULL_BAD)
		return -1;
	if (kind == NN_PULL_ARRAY)
		return open_array(p, n);
	if (kind == NN_PULL_ARRAY_END && n->level > 0)
		return close_array(p, n);
	if (kind < NN_PULL_STRING && !(kind == NN_PULL_OBJECT && reader->objects))
		return nn_pull_fail(p, "expected numbers or other values in arrays");
	if (count_value(p, n) < 0)
		return -1;
	return reader->leaf(p, kind, n->dims->count - 1, reader->arg);
}

static int read_array(struct nn_pull *p, const struct reader *reader, struct nn_pull_dims *dims)
{
	struct nesting n = { .dims = dims };

	dims->rank = 0;
	dims->count = 0;
	for (unsigned i = 0; i < NN_PULL_RANK; i++)
		dims->size[i] = UNKNOWN;
	do {
		if (reader->list)
			read_list(p, &n, reader);
		if (take(p, &n, reader) < 0)
			return -1;
	} while (n.level > 0);
	return 0;
}

int nn_pull_array(struct nn_pull *p,
		  int (*leaf)(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg),
		  void *arg, struct nn_pull_dims *dims)
{
	return read_array(p, &(struct reader){ .leaf = leaf, .arg = arg, .objects = true }, dims);
}

/* ---- of numbers ---- */

struct numbers {
	void *to;
	size_t most;
};

static int refuse(struct nn_pull *p, const char *expected)
{
	char quoted[NN_QUOTED];

	return nn_pull_fail(p, "found %s, expected %s", nn_quote(quoted, p->text, p->length),
			    expected);
}

static int check(struct nn_pull *p, enum nn_pull_kind kind, size_t i, const struct numbers *numbers)
{
	static const char *const found[] = { [NN_PULL_STRING] = "a string",
					     [NN_PULL_TRUE] = "true",
					     [NN_PULL_FALSE] = "false",
					     [NN_PULL_NULL] = "null" };

	if (kind != NN_PULL_NUMBER)
		return nn_pull_fail(p, "found %s, expected a number", found[kind]);
	if (i >= numbers->most)
		return nn_pull_fail(p, "found more than %zu value%s", numbers->most,
				    nn_s(numbers->most));
	return 0;
}

/* nulls: what becomes of a null, before it is refused as no number. */
#define LEAF(type, name, expected, nulls) \
	static int leaf_##name(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg) \
	{ \
		struct numbers *numbers = arg; \
		nulls(type); \
		if (check(p, kind, i, numbers) < 0) \
			return -1; \
		return nn_pull_##name(p, (type *)numbers->to + i) ? 0 : refuse(p, expected); \
	}
#define TAKEN(type) \
	if (p->nulls && kind == NN_PULL_NULL && i < numbers->most) { \
		((type *)numbers->to)[i] = (type)NAN; \
		return 0; \
	}
#define REFUSED(type)

LEAF(float, f32, "a number in the range of 32-bit floats", TAKEN)
LEAF(double, f64, "a number in the range of 64-bit floats", TAKEN)
LEAF(int64_t, i64, "a whole number in the range of 64-bit integers", REFUSED)
LEAF(uint64_t, u64, "a whole number in the range of unsigned 64-bit integers", REFUSED)

static size_t list_f32(const char **text, const char *end, void *arg, size_t i)
{
	struct numbers *numbers = arg;

	return nn_parse_list_f32(text, end, (float *)numbers->to + i, numbers->most - i);
}

static size_t list_f64(const char **text, const char *end, void *arg, size_t i)
{
	struct numbers *numbers = arg;

	return nn_parse_list_f64(text, end, (double *)numbers->to + i, numbers->most - i);
}

int nn_pull_f32s(struct nn_pull *p, float *to, size_t most, struct nn_pull_dims *dims)
{
	struct numbers numbers = { to, most };

	return read_array(p, &(struct reader){ leaf_f32, list_f32, &numbers, false }, dims);
}

int nn_pull_f64s(struct nn_pull *p, double *to, size_t most, struct nn_pull_dims *dims)
{
	struct numbers numbers = { to, most };

	return read_array(p, &(struct reader){ leaf_f64, list_f64, &numbers, false }, dims);
}

int nn_pull_i64s(struct nn_pull *p, int64_t *to, size_t most, struct nn_pull_dims *dims)
{
	struct numbers numbers = { to, most };

	return read_array(p, &(struct reader){ leaf_i64, NULL, &numbers, false }, dims);
}

int nn_pull_u64s(struct nn_pull *p, uint64_t *to, size_t most, struct nn_pull_dims *dims)
{
	struct numbers numbers = { to, most };

	return read_array(p, &(struct reader){ leaf_u64, NULL, &numbers, false }, dims);
}
