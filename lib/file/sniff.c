/* What the first bytes of a file say it is: by content, never by name. */
#include <stdint.h>
#include <string.h>

#include "file/input.h"

#define MOST_MAGICS 6

/* n 0: any bytes. */
struct magic {
	size_t at, n;
	const char *bytes;
};
#define NN_MAGIC(at, n, bytes) { at, n, bytes },
#define NN_ANYTHING { 0, 0, "" },

static const struct {
	const char *kind;
	struct magic magics[MOST_MAGICS];
} kinds[] = {
/* formats of data, */
#define FORMAT(kind, name, magics, ...) { kind, { magics } },
#include "file/formats.def"
#undef FORMAT
	/* and others that are named where one of these was wanted */
	{ "gzip", { { 0, 2, "\x1f\x8b" } } },
	{ "hdf5", { { 0, 8, "\x89HDF\r\n\x1a\n" } } },
	{ "png", { { 0, 8, "\x89PNG\r\n\x1a\n" } } },
	{ "jpeg", { { 0, 3, "\xff\xd8\xff" } } },
	{ "xz",
	  { { 0, 6,
	      "\xfd"
	      "7zXZ\0" } } },
	{ "zstd", { { 0, 4, "\x28\xb5\x2f\xfd" } } },
	{ "tar", { { 257, 5, "ustar" } } },
};

/*
 * An ONNX model is a protobuf message: field 1 (ir_version), a small number, then field 2 or 7,
 * length-delimited.
 */
static bool is_onnx(const unsigned char *b, size_t n)
{
	return n >= 3 && b[0] == 8 && b[1] > 0 && b[1] < 32 && (b[2] == 0x12 || b[2] == 0x3a);
}

/* Do the bytes begin with it? A text is what begins with nothing else. */
static bool fits(const struct magic *m, const unsigned char *bytes, size_t n)
{
	return m->bytes && n >= m->at + m->n && memcmp(bytes + m->at, m->bytes, m->n) == 0;
}

const char *nn_sniff(const unsigned char *bytes, size_t n)
{
	const char *kind = NULL;
	size_t longest = 0;

	if (n == 0)
		return "empty";
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (size_t k = 0; k < MOST_MAGICS; k++) {
			const struct magic *m = &kinds[i].magics[k];

			if (!fits(m, bytes, n) || (kind && m->n <= longest))
				continue;
			kind = kinds[i].kind;
			longest = m->n;
		}
	return longest == 0 && is_onnx(bytes, n) ? "onnx" : kind;
}

int nn_input_sniff(struct nn_input *input, const char **kind, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got, before = 0;

	if (nn_input_some(input, &bytes, &got, err) < 0)
		return -1;
	/*
	 * nine bytes decide, or a line of text; waiting for the rest of a line keeps nobody waiting
	 */
	while (got < 9 && got > before && !memchr(bytes, '\n', got)) {
		before = got;
		if (nn_input_more(input, &bytes, &got, err) < 0)
			return -1;
	}
	*kind = nn_sniff(bytes, got);
	return 0;
}
