/*
 * .npy headers (numpy.lib.format): a small dict of Python, parsed as numpy writes it and nothing
 * more.
 */
#include "config.h"
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "file/npy.h"

#define MAX_HEADER (NN_NPY_MOST_HEADER - 12)

struct parser {
	const char *at, *end;
	const char *file; /* its name, for a command that converts it */
};

static void blanks(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n'))
		p->at++;
}

static bool take(struct parser *p, char c)
{
	blanks(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool take_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	blanks(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
		return false;
	p->at += n;
	return true;
}

/* 'text' or "text", without escapes */
static bool take_string(struct parser *p, const char **text, size_t *n)
{
	const char *close;

	blanks(p);
	if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
		return false;
	close = memchr(p->at + 1, *p->at, (size_t)(p->end - p->at - 1));
	if (!close)
		return false;
	*text = p->at + 1;
	*n = (size_t)(close - *text);
	p->at = close + 1;
	return true;
}

static const struct {
	char word[3];
	enum nn_dtype dtype;
} types[] = {
	{ "f2", NN_F16 }, { "f4", NN_F32 }, { "f8", NN_F64 }, { "i1", NN_I8 },
	{ "i2", NN_I16 }, { "i4", NN_I32 }, { "i8", NN_I64 }, { "u1", NN_U8 },
	{ "u2", NN_U16 }, { "u4", NN_U32 }, { "u8", NN_U64 }, { "b1", NN_BOOL },
};

/* Can it stand in quotes in a command? */
static bool is_plain(const char *file)
{
	return *file && *file != '-' &&
	       file[strspn(file, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				 "0123456789._/+-")] == '\0';
}

/* A list of arrays goes by their order, a dict (a single object, without dimensions) by its names.
 */
static int fail_objects(const struct parser *p, struct nn_error *err)
{
	bool single = memmem(p->at, (size_t)(p->end - p->at), "()", 2) != NULL;

	return nn_fail(err, NN_EFORMAT,
		       "holds Python objects, expected numbers; convert it: "
		       "python3 -c \"import numpy as np; np.savez('w.npz', "
		       "%snp.load('%s', allow_pickle=True)%s)\"",
		       single ? "**" : "*", is_plain(p->file) ? p->file : "weights.npy",
		       single ? ".item()" : "");
}

static int parse_descr(struct parser *p, struct nn_npy_header *h, struct nn_error *err)
{
	const char *text;
	char quoted[NN_QUOTED];
	size_t n;

	blanks(p);
	if (!take_string(p, &text, &n))
		return nn_fail(
			err, NN_EFORMAT,
			p->at < p->end && *p->at == '['
				? "structured arrays are not supported, expected one type of number"
				: "the header's descr is not a string");
	if (n >= 2 && text[1] == 'O')
		return fail_objects(p, err);
	for (size_t i = 0; n == 3 && i < sizeof types / sizeof *types; i++) {
		if (memcmp(text + 1, types[i].word, 2) != 0)
			continue;
		if (!memchr("<>|", text[0], 3))
			return nn_fail(err, NN_EFORMAT,
				       "type '%s' does not say its order of bytes, expected <, > "
				       "or | before it",
				       nn_quote(quoted, text, n));
		h->dtype = types[i].dtype;
		if (text[0] == '|' && nn_dtype_size(h->dtype) > 1)
			return nn_fail(err, NN_EFORMAT,
				       "type '%s' does not say its order of bytes, expected < or > "
				       "before it",
				       nn_quote(quoted, text, n));
		h->swap = text[0] == '>' && nn_dtype_size(h->dtype) > 1;
		return 0;
	}
	return nn_fail(err, NN_EFORMAT,
		       "type '%s' is not supported, expected f2 f4 f8 i1-i8 u1-u8 or b1",
		       nn_quote(quoted, text, n));
}

static int parse_shape(struct parser *p, struct nn_npy_header *h, struct nn_error *err)
{
	struct nn_shape *s = &h->shape;
	bool comma = true;

	if (!take(p, '('))
		return nn_fail(err, NN_EFORMAT, "the header's shape is not a tuple");
	for (s->rank = 0; !take(p, ')'); s->rank++) {
		const char *digits;
		uint64_t dim;

		blanks(p);
		digits = p->at;
		while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
			p->at++;
		if (!comma || p->at == digits)
			return nn_fail(err, NN_EFORMAT,
				       "the header's shape is not a tuple of whole numbers");
		if (!nn_parse_u64(digits, (size_t)(p->at - digits), &dim) || dim > SIZE_MAX / 2)
			return nn_fail(err, NN_EFORMAT, "dimension %d is above 2^63", s->rank + 1);
		if (s->rank == NN_MAX_RANK)
			return nn_fail(err, NN_EFORMAT,
				       "found more than %d dimensions (a fixed limit)",
				       NN_MAX_RANK);
		s->dim[s->rank] = dim;
		comma = take(p, ',');
	}
	if (s->rank == 1 && !comma)
		return nn_fail(err, NN_EFORMAT, "the header's shape is not a tuple");
	if (!nn_shape_check(s, nn_dtype_size(h->dtype), &h->bytes))
		return nn_fail(err, NN_EFORMAT, "the product of the dimensions overflows");
	return 0;
}

static int parse_dict(struct parser *p, struct nn_npy_header *h, struct nn_error *err)
{
	static const char *const names[] = { "descr", "fortran_order", "shape" };
	struct parser shape = { 0 };
	int seen = 0;

	if (!take(p, '{'))
		return nn_fail(err, NN_EFORMAT, "the header is not a dict");
	while (!take(p, '}')) {
		const char *key;
		size_t n, k = 0;

		if (!take_string(p, &key, &n) || !take(p, ':'))
			return nn_fail(err, NN_EFORMAT,
				       "the header is not a dict as numpy writes it");
		while (k < 3 && (strlen(names[k]) != n || memcmp(names[k], key, n) != 0))
			k++;
		if (k == 3 || seen & 1 << k)
			return nn_fail(
				err, NN_EFORMAT,
				"the header has other keys than descr, fortran_order, shape");
		seen |= 1 << k;
		if (k == 0 && parse_descr(p, h, err) < 0)
			return -1;
		if (k == 1) {
			h->fortran = take_word(p, "True");
			if (!h->fortran && !take_word(p, "False"))
				return nn_fail(
					err, NN_EFORMAT,
					"the header's fortran_order is neither True nor False");
		}
		if (k == 2) {
			shape = *p; /* once more below, when the type is known */
			if (parse_shape(p, h, err) < 0)
				return -1;
		}
		if (!take(p, ',') && (blanks(p), p->at == p->end || *p->at != '}'))
			return nn_fail(err, NN_EFORMAT,
				       "the header is not a dict as numpy writes it");
	}
	blanks(p);
	if (seen != 7 || p->at != p->end)
		return nn_fail(err, NN_EFORMAT,
			       "the header is not a dict of descr, fortran_order, shape");
	return parse_shape(&shape, h, err);
}

/* Magic, version and length; *n bytes of dict follow. */
static int read_preamble(struct nn_input *input, size_t *n, struct nn_error *err)
{
	const unsigned char *b;
	size_t got, wide;

	if (nn_input_peek(input, &b, 12, &got, err) < 0)
		return -1;
	if (got >= 6 && memcmp(b, "\x93NUMPY", 6) != 0)
		return nn_fail(err, NN_EFORMAT, "%s: expected an .npy array, found other bytes",
			       nn_input_name(input));
	if (got < 12)
		return nn_fail(err, NN_EFORMAT, "%s: the .npy header ends early",
			       nn_input_name(input));
	if (b[6] < 1 || b[6] > 3 || b[7] != 0)
		return nn_fail(err, NN_EFORMAT, "%s: .npy version %d.%d, expected 1.0, 2.0 or 3.0",
			       nn_input_name(input), b[6], b[7]);
	wide = b[6] > 1;
	*n = b[8] | (size_t)b[9] << 8;
	if (wide)
		*n |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
	if (*n > MAX_HEADER)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: an .npy header of %zu bytes, expected at most %d (a fixed limit)",
			nn_input_name(input), *n, MAX_HEADER);
	nn_input_take(input, wide ? 12 : 10);
	return 0;
}

int nn_npy_header_only(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err)
{
	const unsigned char *b;
	struct parser p;
	size_t n = 0, got;

	*header = (struct nn_npy_header){ 0 };
	if (nn_input_peek(input, &b, 1, &got, err) < 0)
		return -1;
	if (got == 0)
		return 0;
	if (read_preamble(input, &n, err) < 0 || nn_input_peek(input, &b, n, &got, err) < 0)
		return -1;
	if (got < n)
		return nn_fail(err, NN_EFORMAT, "%s: the .npy header ends early",
			       nn_input_name(input));
	p = (struct parser){ (const char *)b, (const char *)b + n, nn_input_name(input) };
	if (parse_dict(&p, header, err) < 0)
		return nn_fail_at(err, "%s", nn_input_name(input));
	nn_input_take(input, n);
	return 1;
}

int nn_npy_next(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err)
{
	int status = nn_npy_header_only(input, header, err);
	int64_t left = nn_input_left(input);

	if (status != 1)
		return status;
	if (left >= 0 && (uint64_t)left < header->bytes)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: ends early: the .npy header promises %zu byte%s of data, found %lld",
			nn_input_name(input), header->bytes, nn_s(header->bytes), (long long)left);
	return 1;
}

int nn_npy_header(char text[NN_NPY_HEADER], size_t *length, enum nn_dtype dtype,
		  const struct nn_shape *shape, struct nn_error *err)
{
	char *dict = text + 10;
	const char *word = NULL;
	size_t n;
	int grow = 0;

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].dtype == dtype)
			word = types[i].word;
	if (!word)
		return nn_fail(err, NN_EFORMAT, ".npy has no type for %s", nn_dtype_name(dtype));
	n = (size_t)sprintf(dict, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
			    nn_dtype_size(dtype) > 1 ? '<' : '|', word);
	for (int i = 0; i < shape->rank; i++) {
		int digits = sprintf(dict + n, "%zu", shape->dim[i]);

		n += (size_t)digits;
		grow = i ? grow
			 : 21 - digits; /* numpy leaves room for the first dimension to grow */
		n += (size_t)sprintf(dict + n, "%s",
				     shape->rank == 1      ? ","
				     : i + 1 < shape->rank ? ", "
							   : "");
	}
	n += (size_t)sprintf(dict + n, "), }%*s", grow, "");
	do
		dict[n++] = ' ';
	while ((10 + n + 1) % 64);
	dict[n++] = '\n';
	memcpy(text, "\x93NUMPY\1", 8);
	text[8] = (char)(n & 255);
	text[9] = (char)(n >> 8);
	*length = 10 + n;
	return 0;
}

int nn_npy_write_header(struct nn_output *output, enum nn_dtype dtype, const struct nn_shape *shape,
			struct nn_error *err)
{
	char text[NN_NPY_HEADER];
	size_t n;

	return nn_npy_header(text, &n, dtype, shape, err) < 0
		       ? -1
		       : nn_output_write(output, text, n, err);
}
