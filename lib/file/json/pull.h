/*
 * JSON a token at a time, as RFC 8259 has it and nothing besides: no recursion, no memory of its
 * own, numbers straight to where they belong. For requests; metadata goes through json.h.
 */
#ifndef NN_FILE_PULL_H
#define NN_FILE_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define NN_PULL_DEPTH 1024 /* the deepest that max_depth may allow */
#define NN_PULL_RANK 8     /* dimensions of an array of numbers */

enum nn_pull_kind {
	NN_PULL_BAD, /* the error is filled; so says every later call */
	NN_PULL_END, /* the document is whole, and nothing but blanks is behind it */
	NN_PULL_OBJECT,
	NN_PULL_OBJECT_END,
	NN_PULL_ARRAY,
	NN_PULL_ARRAY_END,
	NN_PULL_KEY, /* its value is what comes next */
	NN_PULL_STRING,
	NN_PULL_NUMBER,
	NN_PULL_TRUE,
	NN_PULL_FALSE,
	NN_PULL_NULL
};

struct nn_pull_keys; /* keys of objects, to be found twice */

struct nn_pull {
	/*
	 * The current key or string as UTF-8 without escapes (there may be NULs in it, none ends
	 * it), or the current number as it was written. In the document's own bytes: valid as long
	 * as they are.
	 */
	const char *text;
	size_t length;

	/* private to this room */
	char *begin, *at, *end;
	const char *token; /* where the current one begins: what messages tell */
	struct nn_error *err;
	struct nn_pull_keys *keys; /* or NULL */
	unsigned depth, max_depth;
	const char *depth_said; /* after max_depth in messages: an option, or "a fixed limit" */
	unsigned char state;
	bool words;
	bool nulls; /* set by who wants it: null is NaN among numbers of f32s and f64s */
	uint64_t objects[NN_PULL_DEPTH / 64]; /* a bit per open level: an object, not an array */
};

/*
 * A document of `bytes` bytes, which strings with escapes are written back to; nothing beyond them
 * is read. At most max_depth levels are open at once. words: NaN, Infinity and -Infinity are
 * numbers. Document and err (or NULL) have to live as long as p is used.
 */
void nn_pull_begin(struct nn_pull *p, char *text, size_t bytes, unsigned max_depth, bool words,
		   struct nn_error *err);
/*
 * From the beginning of a document on: keys that an object has twice are refused, in values that
 * are skipped as well. `keys` serves one document at a time, and any number one after the other; at
 * most `most` keys and objects may be open at once. It grows with the keys that are, to 16 to 32
 * bytes for each.
 */
void nn_pull_once(struct nn_pull *p, struct nn_pull_keys *keys);
struct nn_pull_keys *nn_pull_keys_new(size_t most, struct nn_error *err);
void nn_pull_keys_free(struct nn_pull_keys *keys); /* NULL allowed */
size_t nn_pull_keys_bytes(const struct nn_pull_keys *keys);

enum nn_pull_kind nn_pull_next(struct nn_pull *p);
/* What nn_pull_next will say, unless it turns out to be NN_PULL_BAD. */
enum nn_pull_kind nn_pull_peek(struct nn_pull *p);
/* The value that comes next, whole; 0, or -1. */
int nn_pull_skip(struct nn_pull *p);
/* Is the current key or string this word? */
bool nn_pull_is(const struct nn_pull *p, const char *word);
/* Ends with an error of the caller's: "JSON, byte N of the document: ..."; -1. */
int nn_pull_fail(struct nn_pull *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The current number, correctly rounded; -0 keeps its sign. false: beyond the type's range, and for
 * whole numbers one that has a point or an exponent, or is a word.
 */
bool nn_pull_f32(const struct nn_pull *p, float *value);
bool nn_pull_f64(const struct nn_pull *p, double *value);
bool nn_pull_i64(const struct nn_pull *p, int64_t *value);
bool nn_pull_u64(const struct nn_pull *p, uint64_t *value);

/* The dimensions of nested arrays; none for a value that is not in an array. */
struct nn_pull_dims {
	unsigned rank;
	size_t size[NN_PULL_RANK];
	size_t count; /* of values: their product */
};

/*
 * The value that comes next: numbers in arrays, however nested, or one number. They go in row-major
 * order to `to`, which has room for `most`. -1: it is something else, ragged, has more than `most`
 * values or one beyond the type (for f32s and f64s any number counts, for the others whole ones).
 */
int nn_pull_f32s(struct nn_pull *p, float *to, size_t most, struct nn_pull_dims *dims);
int nn_pull_f64s(struct nn_pull *p, double *to, size_t most, struct nn_pull_dims *dims);
int nn_pull_i64s(struct nn_pull *p, int64_t *to, size_t most, struct nn_pull_dims *dims);
int nn_pull_u64s(struct nn_pull *p, uint64_t *to, size_t most, struct nn_pull_dims *dims);
/*
 * The same for values of any kind: leaf is called with each as the current token and its number in
 * row-major order; it answers 0, or -1 after nn_pull_fail. Of an object it reads all to its end.
 */
int nn_pull_array(struct nn_pull *p,
		  int (*leaf)(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg),
		  void *arg, struct nn_pull_dims *dims);

#endif
