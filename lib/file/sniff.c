/* What the first bytes of a file say it is: by content, never by name. */
#include <string.h>

#include "file/sniff.h"

#define MOST_MAGICS 6
#define MOST_BLANKS 4096 /* that are waited for */

struct magic {
	size_t at, n;
	const char *bytes;
};
#define NN_MAGIC(at, n, bytes) { at, n, bytes },
#define NN_NO_MAGIC { 0, 0, NULL },

static const struct {
	const char *word;
	struct magic magics[MOST_MAGICS];
} formats[] = {
#define FORMAT(id, ...) [NN_FORMAT_##id] = { #id, { __VA_ARGS__ } },
#define OTHER(id, ...) FORMAT(id, __VA_ARGS__)
#include "file/formats.def"
};

const char *nn_format_word(enum nn_format_id id)
{
	return formats[id].word;
}

const char *nn_format_article(enum nn_format_id id)
{
	return strchr("aehiox", formats[id].word[0]) ? "an" : "a";
}

/*
 * An ONNX model is a protobuf message: field 1 (ir_version), a small number, then one of its other
 * fields: 2, 3, 4, 6, 7, 8 or 14, length-delimited, or 5, a number.
 */
static bool is_onnx(const unsigned char *b, size_t n)
{
	return n >= 3 && b[0] == 8 && b[1] > 0 && b[1] < 32 && b[2] &&
	       strchr("\x12\x1a\x22\x28\x32\x3a\x42\x72", b[2]);
}

/* Zstandard may begin with a frame that says nothing of the data (RFC 8878): 16 magic numbers. */
static bool is_skippable(const unsigned char *b, size_t n)
{
	return n >= 4 && b[0] >= 0x50 && b[0] <= 0x5f && memcmp(b + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool fits(const struct magic *m, const unsigned char *bytes, size_t n)
{
	return m->bytes && n >= m->at + m->n && memcmp(bytes + m->at, m->bytes, m->n) == 0;
}

/* Blanks at the beginning, behind a byte order mark. */
static size_t blanks(const unsigned char *bytes, size_t n)
{
	size_t i = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (i < n && (bytes[i] == ' ' || bytes[i] == '\t'))
		i++;
	return i;
}

enum nn_format_id nn_sniff(const unsigned char *bytes, size_t n)
{
	enum nn_format_id found = NN_FORMAT_text;
	size_t longest = 0, skipped;

	if (n == 0)
		return NN_FORMAT_empty;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		for (size_t k = 0; k < MOST_MAGICS; k++) {
			const struct magic *m = &formats[i].magics[k];

			if (!fits(m, bytes, n) || m->n <= longest)
				continue;
			found = (enum nn_format_id)i;
			longest = m->n;
		}
	if (longest > 0)
		return found;
	skipped = blanks(bytes, n);
	return is_onnx(bytes, n)                      ? NN_FORMAT_onnx
	       : is_skippable(bytes, n)               ? NN_FORMAT_zstd
	       : skipped < n && bytes[skipped] == '{' ? NN_FORMAT_jsonl
						      : found;
}

/* A name with a NUL behind it: what tells a tar stands further on. */
static bool may_be_tar(const unsigned char *bytes, size_t n)
{
	return n < 262 && memchr(bytes, '\0', n) && !memchr(bytes, '\n', n) &&
	       nn_sniff(bytes, n) == NN_FORMAT_text;
}

/* A line of blanks so far: what tells a table from JSON lines may follow. */
static bool may_be_lines(const unsigned char *bytes, size_t n)
{
	return n < MOST_BLANKS && blanks(bytes, n) == n;
}

int nn_input_sniff(struct nn_input *input, enum nn_format_id *id, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got, before = 0;

	if (nn_input_is_folder(input)) {
		*id = NN_FORMAT_folder;
		return 0;
	}
	if (nn_input_some(input, &bytes, &got, err) < 0)
		return -1;
	/*
	 * nine bytes decide, or a line of text; waiting for the rest of a line keeps nobody waiting
	 */
	while (got > before && (got < 9 ? !memchr(bytes, '\n', got)
					: may_be_tar(bytes, got) || may_be_lines(bytes, got))) {
		before = got;
		if (nn_input_more(input, &bytes, &got, err) < 0)
			return -1;
	}
	*id = nn_sniff(bytes, got);
	return 0;
}
