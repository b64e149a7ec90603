/*
 * The small things every room stands on: messages, text, memory, shapes, random numbers, SHA-256.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/shape.h"
#include "base/text.h"
#include "tap.h"

/* ok, and what was found where it was not `want`. */
static void is(const char *got, const char *want, const char *claim)
{
	if (!ok(strcmp(got, want) == 0, "%s", claim))
		note("got  %s\n# want %s", got, want);
}

static void messages(void)
{
	struct nn_error err = { 0 };
	char quoted[NN_QUOTED], line[16], name[3000];

	ok(nn_fail(&err, NN_EUSAGE, "%s:%d: expected %d values", "a.csv", 17, 3) == -1 &&
		   err.code == NN_EUSAGE,
	   "nn_fail is -1");
	is(err.text, "a.csv:17: expected 3 values", "and holds code and sentence");
	ok(nn_fail_at(&err, "%s", "b.toml") == -1 && err.code == NN_EUSAGE,
	   "nn_fail_at keeps the code");
	is(err.text, "b.toml: a.csv:17: expected 3 values", "and puts its place in front");
	errno = ENOENT;
	nn_fail_errno(&err, NN_EFAIL, "x.npy");
	is(err.text, "x.npy: No such file or directory", "nn_fail_errno says why");
	ok(nn_fail(NULL, NN_EFAIL, "x") == -1 && nn_fail_at(NULL, "x") == -1 &&
		   nn_fail_errno(NULL, NN_EFAIL, "x") == -1,
	   "no place for an error is allowed");
	nn_fail(&err, NN_EFAIL, "%s: is\tno file",
		"a\nb\x01\xff\xc3\xa9\xc2\x9b"
		"31m");
	is(err.text, "a\\nb\\x01\\xFF\xc3\xa9\\xC2\\x9B31m: is\\x09no file",
	   "a message is one line of printable UTF-8 whatever a name holds");
	memset(name, 'd', sizeof name);
	name[sizeof name - 1] = '\0';
	nn_fail(&err, NN_EFAIL, "%s: expected 3 columns, got 4", name);
	ok(strlen(err.text) == sizeof err.text - 1 && strncmp(err.text, "ddd", 3) == 0 &&
		   strstr(err.text, "...ddd") && strstr(err.text, "d: expected 3 columns, got 4"),
	   "a long name loses its middle, not the sentence behind it");
	nn_fail_at(&err, "%s", name);
	ok(strstr(err.text, "d: expected 3 columns, got 4") != NULL,
	   "also when a place is put in front");
	is(nn_one_line(line, sizeof line, "123456789012345"), "123456789012345",
	   "what fits exactly stays whole");
	is(nn_one_line(line, sizeof line, "1234567890123456"), "1234...90123456",
	   "one more is cut in the middle");
	is(nn_quote(quoted, "relu\n\x7f\x80z", 8), "relu\\n\\x7F\\x80z",
	   "quoting shows control and non-UTF-8 bytes");
	is(nn_quote(quoted, "1234567890123456789012345678901234567890", 40),
	   "1234567890123456789012345678901234567890", "40 characters are quoted whole");
	is(nn_quote(quoted, "12345678901234567890123456789012345678901", 41),
	   "1234567890123456789012345678901234567890...", "41 are cut");
	memset(name, '\xff', 100);
	ok(strlen(nn_quote(quoted, name, 100)) == 163, "40 bytes as \\xHH fit");
	is(nn_quote(quoted, "\xe2\x82", 2), "\\xE2\\x82",
	   "a sequence cut off is shown byte by byte");
	is(nn_quote(quoted, "", 0), "", "nothing is quoted as nothing");
}

static const char *layer(const void *arg, size_t i)
{
	static const char *const names[] = { "dense", "dropout", "relu", "conv2d", "a", NULL };

	(void)arg;
	return names[i];
}

static void suggests(const char *word, const char *want)
{
	const char *got = nn_did_you_mean(word, layer, NULL);

	if (!ok(want ? got && strcmp(got, want) == 0 : !got, "did you mean: %s -> %s", word,
		want ? want : "nothing"))
		note("got %s", got ? got : "nothing");
}

static void texts(void)
{
	struct nn_text text = { 0 };
	char *big = malloc(100000);

	nn_text_add(&text, "");
	is(text.data, "", "adding nothing makes an empty string");
	nn_text_addf(&text, "%d-%s", 5, "x");
	nn_text_add_bytes(&text, "\0y", 2);
	ok(text.length == 5 && memcmp(text.data, "5-x\0y", 6) == 0,
	   "bytes and formats are appended");
	nn_text_clear(&text);
	nn_text_add_json(&text, "a\"\\\n\t\x01\xc3\xa9\xff/\x7f\0", 12);
	is(text.data, "\"a\\\"\\\\\\n\\t\\u0001\xc3\xa9\xef\xbf\xbd/\\u007f\\u0000\"",
	   "JSON strings are escaped and valid UTF-8");
	nn_text_clear(&text);
	for (int i = 0; i < 200; i++)
		nn_text_addf(&text, "%d", i % 10);
	ok(text.length == strlen(text.data) && text.length == 200 &&
		   strcmp(text.data + 195, "56789") == 0,
	   "formats are whole wherever the room ends");
	nn_text_clear(&text);
	if (big) {
		memset(big, 'z', 100000);
		for (int i = 0; i < 10; i++)
			nn_text_add_bytes(&text, big, 100000);
	}
	ok(text.length == 1000000 && text.data[999999] == 'z' && !text.failed, "a million bytes");
	nn_text_free(&text);
	ok(!text.data && text.length == 0, "freeing leaves it empty");
	free(big);
	ok(nn_utf8_prefix("a\xc3\xa9\xf0\x9f\x98\x80", 7) == 7, "UTF-8 of one, two and four bytes");
	ok(nn_utf8_prefix("\xc0\x80", 2) == 0 && nn_utf8_prefix("\xed\xa0\x80", 3) == 0 &&
		   nn_utf8_prefix("\xf4\x90\x80\x80", 4) == 0 &&
		   nn_utf8_prefix("\xe0\x9f\xbf", 3) == 0 && nn_utf8_prefix("\x80", 1) == 0,
	   "overlong, surrogates and too large are none");
	suggests("dens", "dense");
	suggests("desne", "dense");
	suggests("rleu", "relu");
	suggests("conv3d", "conv2d");
	suggests("dropuot", "dropout");
	suggests("softmax", NULL);
	suggests("xy", NULL);
	suggests("", NULL);
	suggests("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "aaaaaaaaa",
		 NULL);
}

static bool all_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

static void blocks(void)
{
	struct nn_error err = { 0 };
	size_t sizes[] = { 0, 1, 63, 64, 1000, 200000, 5000000 }, n = 0, bad = 0;
	unsigned char *block = NULL, *grown;
	void *zero = nn_alloc(0, 8, &err);

	ok(zero != NULL, "no bytes are a valid block");
	nn_free(zero);
	nn_free(NULL);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		block = nn_alloc(sizes[i], 1, &err);
		bad += !block || (uintptr_t)block % NN_ALIGN != 0 || !all_zero(block, sizes[i]);
		if (block)
			memset(block, 0xa5, sizes[i]);
		nn_free(block);
	}
	ok(bad == 0, "blocks are zeroed and aligned to 64");
	block = NULL;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		grown = nn_realloc(block, n, sizes[i], &err);
		bad += !grown || (uintptr_t)grown % NN_ALIGN != 0;
		if (!grown)
			break;
		for (size_t j = 0; j < n; j++)
			bad += grown[j] != (unsigned char)(j * 7);
		for (n = 0; n < sizes[i]; n++)
			grown[n] = (unsigned char)(n * 7);
		block = grown;
	}
	grown = nn_realloc(block, n, 100, &err);
	for (size_t j = 0; grown && j < 100; j++)
		bad += grown[j] != (unsigned char)(j * 7);
	ok(bad == 0, "growing and shrinking keeps the bytes and the alignment");
	nn_free(grown);
	ok(!nn_alloc(SIZE_MAX / 2, 3, &err) && err.code == NN_ENOMEM,
	   "a product that overflows is out of memory");
	is(err.text, "cannot allocate 9223372036854775807 x 3 bytes", "and says so");
	ok(!nn_alloc(SIZE_MAX, 1, &err) && !nn_realloc(NULL, 0, SIZE_MAX - 8, &err),
	   "so is a size near the end of all");
	grown = (unsigned char *)nn_strndup("abcdef", 3, &err);
	is(grown ? (char *)grown : "", "abc", "strings are copied");
	nn_free(grown);
}

/* Bytes of address space in use. */
static unsigned long long address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	if (file && fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

static void machine(void)
{
	struct rlimit old, less;
	size_t limited;

	ok(nn_memory_available() > 1 << 20, "there is memory");
	ok(nn_memory_resident() > 0 && nn_memory_peak() >= nn_memory_resident() / 2,
	   "this process has some of it");
	if (getrlimit(RLIMIT_AS, &old) == 0) {
		less = old;
		less.rlim_cur = (rlim_t)address_space() + ((rlim_t)64 << 20);
		setrlimit(RLIMIT_AS, &less);
		limited = nn_memory_available();
		setrlimit(RLIMIT_AS, &old);
		ok(limited <= (size_t)65 << 20, "an address space limit leaves what is below it");
	}
	ok(nn_now_s() > 0 && nn_now_s() >= 0, "there is a clock");
}

static void shapes(void)
{
	struct nn_shape s = nn_shape3(3, 32, 20), scalar = { 0 },
			huge = nn_shape3(0, SIZE_MAX / 2, 4), big = nn_shape2(SIZE_MAX / 4, 4);
	struct nn_shape wide = { .rank = NN_MAX_RANK };
	char text[NN_SHAPE_TEXT];
	size_t bytes = 1;

	is(nn_shape_text(text, &s), "3x32x20", "a shape as text");
	is(nn_shape_text(text, &scalar), "scalar", "a single value as text");
	for (int i = 0; i < NN_MAX_RANK; i++)
		wide.dim[i] = SIZE_MAX;
	ok(strlen(nn_shape_text(text, &wide)) == 8 * 20 + 7, "the longest shape fits");
	ok(nn_shape_count(&s) == 1920 && nn_shape_count(&scalar) == 1, "elements");
	ok(nn_shape_check(&s, 4, &bytes) && bytes == 7680, "bytes");
	ok(!nn_shape_check(&big, 8, &bytes), "bytes that overflow are refused");
	ok(!nn_shape_check(&huge, 1, &bytes), "also where a dimension is 0");
	big = nn_shape4(1, 0, 7, 2);
	ok(nn_shape_check(&big, 8, &bytes) && bytes == 0, "a dimension of 0 is no bytes");
	ok(nn_shape_equal(&s, &s) && !nn_shape_equal(&s, &scalar) && !nn_shape_equal(&s, &big),
	   "equal shapes");
	ok(nn_dtype_size(NN_BF16) == 2 && nn_dtype_size(NN_BOOL) == 1 &&
		   strcmp(nn_dtype_name(NN_U16), "u16") == 0 && nn_dtype_float(NN_F16) &&
		   !nn_dtype_float(NN_I8),
	   "types have sizes and names");
}

/* Known answers of the Random123 library (kat_vectors, philox4x32 10). */
static void philox(void)
{
	static const struct {
		uint32_t c[4], k[2], want[4];
	} known[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { ~0u, ~0u, ~0u, ~0u },
		  { ~0u, ~0u },
		  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
		  { 0xa4093822, 0x299f31d0 },
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};
	uint32_t out[4];
	int bad = 0;

	for (size_t i = 0; i < 3; i++) {
		nn_philox(known[i].k[0] | (uint64_t)known[i].k[1] << 32,
			  known[i].c[0] | (uint64_t)known[i].c[1] << 32, known[i].c[2],
			  known[i].c[3], out);
		bad += memcmp(out, known[i].want, sizeof out) != 0;
	}
	ok(bad == 0, "random: the published answers of Philox4x32-10");
	nn_philox(5, 6, 7, 2, out);
	for (uint64_t i = 0; i < 4; i++)
		bad += nn_random_u32(5, 6, 7, 8 + i) != out[i];
	ok(bad == 0, "random: elements are the lanes of consecutive blocks");
	ok(nn_uniform(0) == 0 && nn_uniform(UINT32_MAX) == 1 - 0x1p-24f,
	   "random: uniform numbers are in [0, 1)");
}

/* FIPS 180-4's examples. */
static void sha256(void)
{
	static const char a[] = "abc",
			  b[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	struct nn_sha256 sha;
	char hex[NN_SHA256_HEX];

	nn_sha256_init(&sha);
	nn_sha256_add(&sha, a, 3);
	nn_sha256_hex(&sha, hex);
	is(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	   "SHA-256 of abc");
	nn_sha256_init(&sha);
	for (size_t i = 0; i < 56; i++)
		nn_sha256_add(&sha, b + i, 1);
	nn_sha256_hex(&sha, hex);
	is(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
	   "SHA-256 of 56 bytes, one by one");
	for (size_t size = 1000; size <= 10000;
	     size *= 10) { /* large pieces may go through the CPU's own instructions */
		static char block[10000];

		nn_sha256_init(&sha);
		memset(block, 'a', sizeof block);
		for (size_t i = 0; i < 1000000; i += size)
			nn_sha256_add(&sha, block, size);
		nn_sha256_hex(&sha, hex);
		is(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		   size == 1000 ? "SHA-256 of a million bytes"
				: "SHA-256 of a million bytes in large pieces");
	}
	nn_sha256_init(&sha);
	nn_sha256_hex(&sha, hex);
	is(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	   "SHA-256 of nothing");
}

/* The values of the reference implementation. */
static void fnv1a(void)
{
	ok(nn_fnv1a(NN_FNV1A, "foobar", 6) == UINT64_C(0x85944171f73967e8) &&
		   nn_fnv1a(nn_fnv1a(NN_FNV1A, "foo", 3), "bar", 3) ==
			   nn_fnv1a(NN_FNV1A, "foobar", 6) &&
		   nn_fnv1a(NN_FNV1A, "", 0) == UINT64_C(0xcbf29ce484222325),
	   "FNV-1a of nothing, at once, in pieces");
}

static void descriptors(void)
{
	char bytes[4] = "", full[1] = "";
	int ends[2];

	if (pipe(ends) < 0)
		return;
	ok(nn_write_all(ends[1], "whole", 5) && nn_read_all(ends[0], bytes, 3) &&
		   memcmp(bytes, "who", 3) == 0,
	   "descriptors: as many bytes as are asked for");
	close(ends[1]);
	ok(!nn_read_all(ends[0], bytes, 3) && errno == 0 && nn_read_some(ends[0], bytes, 3) == 0,
	   "descriptors: an end before that is told");
	close(ends[0]);
	ok(!nn_read_all(ends[0], bytes, 3) && errno == EBADF && !nn_write_all(ends[1], full, 1) &&
		   errno == EBADF,
	   "descriptors: errors are told");
}

static void medians(void)
{
	double one[] = { 3 }, even[] = { 4, -1, 9, 2 }, odd[] = { 7, 7, -0.5, 1e300, 0 };

	ok(nn_median(one, 1) == 3 && nn_median(even, 4) == 4 && nn_median(odd, 5) == 7,
	   "median: the middle, of two the larger one");
	ok(even[0] == -1 && even[1] == 2 && even[2] == 4 && even[3] == 9,
	   "median: values are in order after it");
}

int main(void)
{
	messages();
	texts();
	blocks();
	machine();
	shapes();
	philox();
	sha256();
	fnv1a();
	descriptors();
	medians();
	return tap_done();
}
