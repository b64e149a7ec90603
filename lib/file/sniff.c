/* What the first bytes of a file say it is: by content, never by name. */
#include <stdint.h>
#include <string.h>

#include "file/input.h"

static const struct {
	const char *kind;
	size_t at, n;
	const char *bytes;
} magics[] = {
	{ "npy", 0, 6, "\x93NUMPY" },
	{ "gzip", 0, 2, "\x1f\x8b" },
	{ "zip", 0, 4, "PK\3\4" },
	{ "zip", 0, 4, "PK\5\6" },
	{ "hdf5", 0, 8, "\x89HDF\r\n\x1a\n" },
	{ "png", 0, 8, "\x89PNG\r\n\x1a\n" },
	{ "jpeg", 0, 3, "\xff\xd8\xff" },
	{ "xz", 0, 6,
	  "\xfd"
	  "7zXZ\0" },
	{ "zstd", 0, 4, "\x28\xb5\x2f\xfd" },
	{ "tar", 257, 5, "ustar" },
};

/* 00 00 TT ND */
static bool is_idx(const unsigned char *b, size_t n)
{
	return n >= 4 && b[0] == 0 && b[1] == 0 &&
	       (b[2] == 8 || b[2] == 9 || (b[2] >= 0xb && b[2] <= 0xe)) && b[3] > 0;
}

static bool is_safetensors(const unsigned char *b, size_t n)
{
	return n >= 9 && b[8] == '{' && b[4] == 0 && b[5] == 0 && b[6] == 0 && b[7] == 0;
}

const char *nn_sniff(const unsigned char *bytes, size_t n)
{
	if (n == 0)
		return "empty";
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (n >= magics[i].at + magics[i].n &&
		    memcmp(bytes + magics[i].at, magics[i].bytes, magics[i].n) == 0)
			return magics[i].kind;
	if (is_safetensors(bytes, n))
		return "safetensors";
	if (is_idx(bytes, n))
		return "idx";
	/* an ONNX model is a protobuf message: field 1 (ir_version), a small number, then field 2
	 * or 7, length-delimited */
	if (n >= 3 && bytes[0] == 8 && bytes[1] > 0 && bytes[1] < 32 &&
	    (bytes[2] == 0x12 || bytes[2] == 0x3a))
		return "onnx";
	return "text";
}

int nn_input_sniff(struct nn_input *input, const char **kind, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got, before = 0;

	if (nn_input_some(input, &bytes, &got, err) < 0)
		return -1;
	/* nine bytes decide, or a line of text; waiting for the rest of a line keeps nobody waiting
	 */
	while (got < 9 && got > before && !memchr(bytes, '\n', got)) {
		before = got;
		if (nn_input_more(input, &bytes, &got, err) < 0)
			return -1;
	}
	*kind = nn_sniff(bytes, got);
	return 0;
}
