/*
 * Reading safetensors: nothing in the header is believed before it was compared with the file.
 *
 * Files are read, not mapped: one that is truncated later must not become a SIGBUS. Large values may
 * stay there until they are wanted (later.c).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/json/json.h"
#include "file/safetensors.h"

#define MAX_HEADER 100000000
#define MAX_WHOLE 9007199254740992.0 /* 2^53: exact in JSON numbers */

/* What stands behind struct nn_st. */
struct owner {
	struct nn_block data;
	struct nn_json *header;
	struct tensor_span *spans;
	void *realigned; /* copies of tensors that lie badly in the file */
};

#define ELSEWHERE (UINT64_MAX - 63) /* not in data; a multiple of each type's size */

struct tensor_span {
	uint64_t begin, end;
	size_t tensor;
};

static const struct {
	const char *word;
	enum nn_dtype dtype;
} dtypes[] = {
	{ "BF16", NN_BF16 }, { "BOOL", NN_BOOL }, { "F16", NN_F16 }, { "F32", NN_F32 },
	{ "F64", NN_F64 },   { "I16", NN_I16 },   { "I32", NN_I32 }, { "I64", NN_I64 },
	{ "I8", NN_I8 },     { "U16", NN_U16 },   { "U32", NN_U32 }, { "U64", NN_U64 },
	{ "U8", NN_U8 },
};

/* "F32" as the header spells it; false: unknown. */
static bool dtype_of(const char *word, enum nn_dtype *dtype)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (strcmp(word, dtypes[i].word) == 0) {
			*dtype = dtypes[i].dtype;
			return true;
		}
	return false;
}

const char *nn_st_dtype_name(enum nn_dtype dtype)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (dtypes[i].dtype == dtype)
			return dtypes[i].word;
	return "?";
}

/* A whole number of the header; NULL, or what is wrong with it. */
static const char *not_whole(const struct nn_json *value, uint64_t *number)
{
	double d = nn_json_number(value);

	if (!nn_json_whole(value) || d < 0)
		return "no whole number";
	if (d > MAX_WHOLE)
		return "above 2^53";
	*number = (uint64_t)d;
	return NULL;
}

static int parse_shape(const struct nn_json *value, struct nn_st_tensor *tensor, uint64_t *bytes,
		       struct nn_error *err)
{
	size_t n = nn_json_size(value), total;
	uint64_t dim;

	if (nn_json_type(value) != NN_JSON_ARRAY)
		return nn_fail(err, NN_EFORMAT, "shape is missing or no array");
	if (n > NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT,
			       "found %zu dimensions, expected at most %d (a fixed limit)", n,
			       NN_MAX_RANK);
	tensor->shape.rank = (int)n;
	for (size_t i = 0; i < n; i++) {
		const char *wrong = not_whole(nn_json_at(value, i), &dim);

		if (wrong)
			return nn_fail(err, NN_EFORMAT, "dimension %zu is %s", i + 1, wrong);
		tensor->shape.dim[i] = dim;
	}
	if (!nn_shape_check(&tensor->shape, nn_dtype_size(tensor->dtype), &total))
		return nn_fail(err, NN_EFORMAT, "the product of the dimensions overflows");
	*bytes = total;
	return 0;
}

static int parse_tensor(const struct nn_json *value, struct nn_st_tensor *tensor,
			struct tensor_span *span, struct nn_error *err)
{
	const struct nn_json *offsets = nn_json_get(value, "data_offsets");
	const char *word = nn_json_string(nn_json_get(value, "dtype"), NULL);
	char quoted[NN_QUOTED];
	uint64_t bytes = 0;

	if (nn_json_type(value) != NN_JSON_OBJECT || !word)
		return nn_fail(err, NN_EFORMAT, "dtype is missing or no string");
	if (!dtype_of(word, &tensor->dtype))
		return nn_fail(err, NN_EFORMAT, "dtype %s is not supported",
			       nn_quote(quoted, word, strlen(word)));
	if (parse_shape(nn_json_get(value, "shape"), tensor, &bytes, err) < 0)
		return -1;
	if (nn_json_size(offsets) != 2 || nn_json_type(offsets) != NN_JSON_ARRAY ||
	    not_whole(nn_json_at(offsets, 0), &span->begin) ||
	    not_whole(nn_json_at(offsets, 1), &span->end) || span->begin > span->end)
		return nn_fail(err, NN_EFORMAT, "data_offsets are not [BEGIN,END]");
	if (span->end - span->begin != bytes)
		return nn_fail(err, NN_EFORMAT,
			       "data_offsets span %" PRIu64 " byte%s, the shape needs %" PRIu64,
			       span->end - span->begin, nn_s(span->end - span->begin), bytes);
	return 0;
}

static int parse_metadata(const struct nn_json *value, struct nn_st *st, struct nn_error *err)
{
	size_t n = nn_json_size(value);

	if (nn_json_type(value) != NN_JSON_OBJECT)
		return nn_fail(err, NN_EFORMAT, "__metadata__ is not an object");
	st->meta = nn_alloc(n, sizeof *st->meta, err);
	if (!st->meta)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct nn_json *text;
		char quoted[NN_QUOTED];

		st->meta[i].key = nn_json_key(value, i, &text);
		st->meta[i].value = nn_json_string(text, NULL);
		if (!st->meta[i].value)
			return nn_fail(err, NN_EFORMAT, "__metadata__: \"%s\" is not a string",
				       nn_quote(quoted, st->meta[i].key, strlen(st->meta[i].key)));
	}
	st->n_meta = n;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct tensor_span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Tensors have to cover the buffer exactly; *size becomes its length. */
static int check_cover(const struct nn_st *st, struct tensor_span *spans, uint64_t *size,
		       struct nn_error *err)
{
	uint64_t at = 0;

	qsort(spans, st->n_tensors, sizeof *spans, by_offset);
	for (size_t i = 0; i < st->n_tensors; i++) {
		if (spans[i].begin != at) {
			const char *name = st->tensors[spans[i].tensor].name;
			char quoted[NN_QUOTED];

			return nn_fail(err, NN_EFORMAT,
				       "tensor \"%s\" begins at %" PRIu64 ", expected %" PRIu64
				       " (%s)",
				       nn_quote(quoted, name, strlen(name)), spans[i].begin, at,
				       spans[i].begin < at ? "tensors overlap" : "there is a hole");
		}
		at = spans[i].end;
	}
	*size = at;
	return 0;
}

static int parse_header(struct nn_st *st, struct owner *own, const char *text, size_t n,
			uint64_t *size, struct nn_error *err)
{
	size_t members;

	if (n == 0 || text[0] != '{')
		return nn_fail(err, NN_EFORMAT, "the header does not begin with {");
	own->header = nn_json_parse(text, n, err);
	if (!own->header)
		return nn_fail_at(err, "header");
	members = nn_json_size(own->header);
	st->tensors = nn_alloc(members, sizeof *st->tensors, err);
	own->spans = nn_alloc(members, sizeof *own->spans, err);
	if (!st->tensors || !own->spans)
		return -1;
	for (size_t i = 0; i < members; i++) {
		const struct nn_json *value;
		const char *key = nn_json_key(own->header, i, &value);
		char quoted[NN_QUOTED];

		if (strcmp(key, "__metadata__") == 0) {
			if (parse_metadata(value, st, err) < 0)
				return -1;
			continue;
		}
		st->tensors[st->n_tensors].name = key;
		own->spans[st->n_tensors].tensor = st->n_tensors;
		if (parse_tensor(value, &st->tensors[st->n_tensors], &own->spans[st->n_tensors],
				 err) < 0)
			return nn_fail_at(err, "tensor \"%s\"", nn_quote(quoted, key, strlen(key)));
		st->n_tensors++;
	}
	return check_cover(st, own->spans, size, err);
}

/* Point tensors at their bytes; what is not aligned to its type is copied to where it is. */
static int place(struct nn_st *st, struct owner *own, struct nn_error *err)
{
	size_t odd = 0, at = 0;

	for (size_t i = 0; i < st->n_tensors; i++) {
		const struct tensor_span *s = &own->spans[i];

		if (s->begin % nn_dtype_size(st->tensors[s->tensor].dtype))
			odd += (s->end - s->begin + 63) / 64 * 64;
	}
	own->realigned = odd ? nn_alloc(odd, 1, err) : NULL;
	if (odd && !own->realigned)
		return -1;
	for (size_t i = 0; i < st->n_tensors; i++) {
		const struct tensor_span *s = &own->spans[i];
		struct nn_st_tensor *t = &st->tensors[s->tensor];

		if (s->begin == ELSEWHERE)
			continue;
		t->data = nn_block_at(&own->data, s->begin);
		if (s->begin % nn_dtype_size(t->dtype) == 0)
			continue;
		t->data = memcpy((char *)own->realigned + at, t->data, s->end - s->begin);
		at += (s->end - s->begin + 63) / 64 * 64;
	}
	return 0;
}

/* The first rows of each tensor, or the rows wanted, one after the other. */
static int read_some(struct nn_st *st, struct nn_input *input, const struct nn_st_part *part,
		     const bool *wanted, struct nn_error *err)
{
	struct owner *own = st->owner;
	bool seeks = wanted || nn_input_left(input) >= 0;
	size_t at = 0;

	for (size_t i = 0; i < st->n_tensors; i++) {
		struct tensor_span *s = &own->spans[i];
		size_t bytes = s->end - s->begin, n;

		n = !wanted             ? nn_st_cut(&st->tensors[s->tensor], part)
		    : wanted[s->tensor] ? bytes
					: 0;
		if (nn_block_reserve(&own->data, at + n + 1, err) < 0)
			return -1;
		if (!seeks)
			memset(nn_block_at(&own->data, at), 0, n);
		else if (nn_input_load(input, &own->data, at, n, "the data", err) < 0 ||
			 nn_input_skip(input, bytes - n, err) < 0)
			return -1;
		s->begin = at;
		s->end = at + n;
		at += (n + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	}
	return wanted && nn_input_end(input, "the last tensor", err) < 0 ? -1 : place(st, own, err);
}

static int read_wanted(struct nn_st *st, struct nn_input *input, const struct nn_st_part *part,
		       struct nn_error *err)
{
	bool *wanted = nn_alloc(st->n_tensors + 1, sizeof *wanted, err);
	int status = -1;

	if (wanted && part->choose(part->arg, st, wanted, err) == 0)
		status = read_some(st, input, part, wanted, err);
	for (size_t i = 0; i < st->n_tensors && status == 0; i++)
		if (!wanted[i])
			st->tensors[i].data = NULL;
	nn_free(wanted);
	return status;
}

/* May large values stay in the file? */
static bool may_wait(const struct nn_st *st, const struct nn_input *input, uint64_t size)
{
	int64_t left = nn_input_left(input);

	for (size_t i = 0; i < st->n_tensors; i++)
		if (st->tensors[i].dtype == NN_I8)
			return false;
	return left >= 0 && (uint64_t)left == size;
}

/* All but large values, which are found where they are. */
static int read_small(struct nn_st *st, struct nn_input *input, struct nn_error *err)
{
	struct owner *own = st->owner;
	uint64_t begin, at = 0;
	int fd = nn_input_reopen(input, &begin);

	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", nn_input_name(input));
	if (nn_st_later_open(st, fd, nn_input_name(input), err) < 0)
		return -1;
	for (size_t i = 0; i < st->n_tensors; i++) {
		struct tensor_span *s = &own->spans[i];
		size_t n = s->end - s->begin;

		if (n >= NN_ST_LATER) {
			nn_st_later_set(st, s->tensor, begin + s->begin);
			s->begin = s->end = ELSEWHERE;
			if (nn_input_pass(input, n, err) < 0)
				return -1;
			continue;
		}
		if (nn_block_reserve(&own->data, at + n + 1, err) < 0 ||
		    nn_input_load(input, &own->data, at, n, "the data", err) < 0)
			return -1;
		s->begin = at;
		s->end = at + n;
		at += (n + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	}
	if (nn_input_end(input, "the last tensor", err) < 0 || place(st, own, err) < 0)
		return -1;
	return 0;
}

static int read_data(struct nn_st *st, struct nn_input *input, uint64_t size, struct nn_error *err)
{
	struct owner *own = st->owner;

	if (nn_input_load(input, &own->data, 0, size, "the data", err) < 0 ||
	    nn_block_reserve(&own->data, 1, err) < 0 ||
	    nn_input_end(input, "the last tensor", err) < 0)
		return -1;
	return place(st, own, err);
}

static int read_all(struct nn_st *st, struct nn_input *input, struct nn_st_part *part,
		    struct nn_error *err)
{
	struct owner *own = st->owner;
	const char *name = nn_input_name(input);
	struct nn_block header = { 0 };
	const unsigned char *b;
	uint64_t n = 0, size = 0;
	size_t got;
	int status = -1;

	if (nn_input_peek(input, &b, 8, &got, err) < 0)
		return -1;
	for (size_t i = 0; i < got && i < 8; i++)
		n |= (uint64_t)b[i] << (8 * i);
	if (got < 8)
		return nn_fail(err, NN_EFORMAT,
			       "%s: ends after %zu byte%s, expected a safetensors header", name,
			       got, nn_s(got));
	if (n > MAX_HEADER)
		return nn_fail(err, NN_EFORMAT,
			       "%s: a header of %" PRIu64
			       " bytes, expected at most %d (a fixed limit)",
			       name, n, MAX_HEADER);
	nn_input_take(input, 8);
	if (nn_input_load(input, &header, 0, n, "the header", err) < 0)
		goto out;
	if (parse_header(st, own, (const char *)header.data, n, &size, err) < 0) {
		nn_fail_at(err, "%s", name);
		goto out;
	}
	nn_st_part(st, part);
	status = part->choose               ? read_wanted(st, input, part, err)
		 : part->rows < part->total ? read_some(st, input, part, NULL, err)
		 : part->later && may_wait(st, input, size) ? read_small(st, input, err)
					    : read_data(st, input, size, err);
out:
	nn_block_free(&header);
	return status;
}

int nn_st_read_part(struct nn_st **result, struct nn_input *input, struct nn_st_part *part,
		    struct nn_error *err)
{
	struct nn_st *st = nn_alloc(1, sizeof *st, err);

	if (!st)
		return -1;
	st->owner = nn_alloc(1, sizeof(struct owner), err);
	if (!st->owner || read_all(st, input, part, err) < 0) {
		nn_st_free(st);
		return -1;
	}
	*result = st;
	return 0;
}

int nn_st_read_input(struct nn_st **st, struct nn_input *input, struct nn_error *err)
{
	struct nn_st_part all = { 0 };

	return nn_st_read_part(st, input, &all, err);
}

void nn_st_drop(struct nn_st *st)
{
	struct owner *own = st->owner;

	if (st->base)
		nn_st_drop(st->base);
	nn_st_later_close(st);
	for (size_t i = 0; i < st->n_tensors; i++) {
		st->tensors[i].data = NULL;
		if (st->arrays)
			nn_block_free(&st->arrays[i]);
	}
	if (!own)
		return;
	nn_block_free(&own->data);
	nn_free(own->realigned);
	own->realigned = NULL;
}

void nn_st_free(struct nn_st *st)
{
	struct owner *own;

	if (!st)
		return;
	nn_st_free(st->base);
	nn_st_later_close(st);
	own = st->owner;
	if (own) {
		nn_block_free(&own->data);
		nn_json_free(own->header);
		nn_free(own->spans);
		nn_free(own->realigned);
		nn_free(own);
	}
	for (size_t i = 0; i < st->n_tensors && st->names; i++) {
		nn_free(st->names[i]);
		nn_block_free(&st->arrays[i]);
	}
	nn_free(st->names);
	nn_free(st->arrays);
	nn_free(st->tensors);
	nn_free(st->meta);
	nn_free(st);
}
