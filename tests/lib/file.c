/* Inputs: blocks, checksums, gzip, peeking, stamps, digests, kinds of files, and JSON. */
#include <sys/stat.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "file/input.h"
#include "file/json/json.h"
#include "file/sniff.h"
#include "files.h"

/* ---- blocks ---- */

/*
 * Grown step by step as data come, every 4096th byte written: nothing is lost, what is new is 0,
 * and large ones begin with a large page.
 */
static void blocks(void)
{
	struct nn_block block = { 0 };
	bool kept = true, zero = true, aligned = true;
	size_t written = 0;

	for (size_t bytes = 5000; bytes < (size_t)40 << 20; bytes += bytes / 4 + (1 << 20)) {
		if (nn_block_reserve(&block, bytes, NULL) < 0)
			break;
		aligned &=
			bytes < (size_t)4 << 20 || (uintptr_t)block.data % ((size_t)2 << 20) == 0;
		for (size_t at = 0; at < written; at += 4096)
			kept &= *nn_block_at(&block, at) == (unsigned char)(at / 4096 * 7 + 1);
		for (size_t at = written; at < bytes; at += 4096) {
			zero &= *nn_block_at(&block, at) == 0;
			*nn_block_at(&block, at) = (unsigned char)(at / 4096 * 7 + 1);
			written = at + 4096;
		}
	}
	nn_block_free(&block);
	ok(written > (size_t)30 << 20 && kept && zero,
	   "blocks: what was there stays as a block grows, what is new is 0");
	ok(aligned, "blocks: from 4 MiB on they begin where a large page can");
}

/* ---- CRC-32 ---- */

static uint32_t crc_bit_by_bit(uint32_t crc, const unsigned char *bytes, size_t n)
{
	for (crc = ~crc; n > 0; n--) {
		crc ^= *bytes++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/*
 * Of every length around those at which the way of computing changes, from odd places, in one part
 * and in two.
 */
static void checksums(void)
{
	static unsigned char bytes[5000];
	bool whole = true, parts = true;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * i * 31 >> 3 ^ i);
	ok(nn_crc32(0, "123456789", 9) == 0xcbf43926, "crc: of 123456789 it is cbf43926");
	for (size_t n = 0; n < 4900; n += n < 90 || (n > 1000 && n < 1200) ? 1 : 173) {
		uint32_t wanted = crc_bit_by_bit(0, bytes + n % 19, n);

		whole &= nn_crc32(0, bytes + n % 19, n) == wanted;
		parts &= nn_crc32(nn_crc32(0, bytes + n % 19, n / 3), bytes + n % 19 + n / 3,
				  n - n / 3) == wanted;
	}
	ok(whole && parts, "crc: any length, in one part or two, is as bit by bit");
}

/* ---- inputs ---- */

/* All of path in memory, or the error. */
static int slurp(const char *path, char *text, size_t room, size_t *n, struct nn_error *err)
{
	struct nn_input *in;
	int status;

	if (nn_input_open(&in, path, err) < 0)
		return -1;
	status = nn_input_read(in, text, room - 1, n, err);
	nn_input_close(in);
	text[status < 0 ? 0 : *n] = '\0';
	return status;
}

static void slurp_is(const char *path, const char *wanted, const char *claim)
{
	static char text[1 << 16];
	struct nn_error err;
	size_t n;

	text_is(slurp(path, text, sizeof text, &n, &err) < 0 ? err.text : text, wanted, claim);
}

static void cut(const char *from, const char *to, long n)
{
	char command[200];

	snprintf(command, sizeof command, "head -c %ld %s > %s", n, from, to);
	if (run(command) != 0)
		printf("# failed: %s\n", command);
}

static void inputs(void)
{
	char long_name[300];

	put("a", "some text");
	put("empty", "");
	slurp_is("a", "some text", "input: a file is read");
	slurp_is("empty", "", "input: an empty file is the end");
	slurp_is("nowhere", "nowhere: cannot open: No such file or directory",
		 "input: a missing file is named");
	slurp_is(".", ".: is a directory, expected a file",
		 "input: a directory is refused by name");
	slurp_is("/dev/zero", "/dev/zero: is a device, expected a file or pipe",
		 "input: a device is refused by name");
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	ok(nn_input_open(&(struct nn_input *){ 0 }, long_name, &(struct nn_error){ 0 }) < 0,
	   "input: a name that is too long is an error");
	if (run("mkfifo pipe; (printf 'one '; sleep 0.05; printf two) > pipe &") == 0)
		slurp_is("pipe", "one two", "input: a FIFO is read to its end");
}

static void gzip(void)
{
	char text[64];
	struct nn_error err;
	size_t n;

	if (run("gzip -k a && cat a.gz a.gz > two.gz && (cat a.gz; printf junk) > junk.gz && (cat "
		"a.gz; printf '\\037junk') > junk2.gz") != 0) {
		ok(true, "gzip: # skip no gzip");
		return;
	}
	slurp_is("a.gz", "some text", "gzip: is taken off");
	slurp_is("two.gz", "some textsome text", "gzip: members are concatenated");
	slurp_is("junk.gz", "junk.gz: other bytes follow the gzip data",
		 "gzip: bytes after it are an error");
	slurp_is("junk2.gz", "junk2.gz: other bytes follow the gzip data",
		 "gzip: half a magic after it is an error");
	for (long i = 2; i < 29; i += 3) {
		cut("a.gz", "cut.gz", i);
		slurp_is("cut.gz", "cut.gz: the gzip data end early",
			 "gzip: a cut file is an error");
	}
	cut("a.gz", "bad.gz", 1000);
	if (run("printf '\\377' | dd of=bad.gz bs=1 seek=$(($(stat -c %s bad.gz) - 6)) "
		"conv=notrunc 2>/dev/null") == 0)
		slurp_is("bad.gz", "bad.gz: the gzip data are damaged (incorrect data check)",
			 "gzip: a wrong CRC is an error");
	cut("a.gz", "len.gz", 1000);
	if (run("printf '\\377' | dd of=len.gz bs=1 seek=$(($(stat -c %s len.gz) - 1)) "
		"conv=notrunc 2>/dev/null") == 0)
		slurp_is("len.gz", "len.gz: the gzip data are damaged (incorrect length check)",
			 "gzip: a wrong length is an error");
	if (run("head -c 40000000 /dev/zero | gzip -9 > zeros.gz") == 0) {
		struct nn_input *in;
		struct nn_block block = { 0 };

		ok(nn_input_open(&in, "zeros.gz", &err) == 0 &&
			   nn_input_load(in, &block, 0, 40000000, "zeros", &err) == 0 &&
			   nn_input_end(in, "zeros", &err) == 0,
		   "gzip: zeros pass (1030:1)");
		nn_block_free(&block);
		nn_input_close(in);
	}
	ok(slurp("a.gz", text, 5, &n, &err) == 0 && strcmp(text, "some") == 0,
	   "gzip: a part can be read");
}

static void peeking(void)
{
	const unsigned char *b;
	struct nn_error err;
	struct nn_input *in = NULL;
	size_t got;
	int ends[2];

	if (pipe(ends) < 0 || dup2(ends[0], 0) < 0)
		return;
	ok(write(ends[1], "abc", 3) == 3 && nn_input_open(&in, "-", &err) == 0 &&
		   nn_input_is_pipe(in) && nn_input_ready(in),
	   "input: a pipe with bytes in it is ready");
	ok(nn_input_some(in, &b, &got, &err) == 0 && got == 3 && memcmp(b, "abc", 3) == 0,
	   "input: what has arrived is there without waiting for more");
	ok(!nn_input_ready(in) && nn_input_held(in, &got) && got == 3,
	   "input: an empty pipe is not ready");
	nn_input_take(in, 1);
	ok(write(ends[1], "def", 3) == 3 && nn_input_ready(in) &&
		   nn_input_more(in, &b, &got, &err) == 0 && got == 5 && memcmp(b, "bcdef", 5) == 0,
	   "input: more is added to what is there");
	close(ends[1]);
	ok(nn_input_peek(in, &b, 100, &got, &err) == 0 && got == 5 && nn_input_left(in) == -1,
	   "input: peek gives less only at the end");
	nn_input_close(in);
	close(ends[0]);
}

static void stamps(void)
{
	struct nn_stamp stamp;
	struct nn_error err;
	struct nn_input *in;

	put("stamped", "1");
	if (nn_input_open(&in, "stamped", &err) < 0)
		return;
	nn_input_stamp(in, &stamp);
	nn_input_close(in);
	ok(nn_stamp_holds(&stamp, "stamped"), "input: an unchanged file is unchanged");
	put("stamped", "12");
	ok(!nn_stamp_holds(&stamp, "stamped"), "input: a changed file is seen");
	unlink("stamped");
	ok(nn_stamp_holds(&stamp, "stamped"), "input: a removed file does no harm");
}

static void digest_of(const char *path, char hex[NN_SHA256_HEX])
{
	static char text[3 << 20];
	struct nn_sha256 hash;
	struct nn_error err;
	struct nn_input *in;
	size_t n;

	nn_sha256_init(&hash);
	if (nn_input_open(&in, path, &err) < 0)
		return;
	if (nn_input_watch(in, &err) == 0 &&
	    nn_input_peek(in, &(const unsigned char *){ 0 }, 7, &n, &err) == 0 &&
	    nn_input_read(in, text, sizeof text, &n, &err) == 0)
		nn_input_digest(in, &hash);
	nn_sha256_hex(&hash, hex);
	nn_input_close(in);
}

static void digests(void)
{
	static char text[2500000];
	char a[NN_SHA256_HEX], b[NN_SHA256_HEX];

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 7 + i / 251);
	put_bytes("big", text, sizeof text);
	digest_of("big", a);
	if (run("mkfifo big.pipe; cat big > big.pipe &") == 0) {
		digest_of("big.pipe", b);
		text_is(b, a, "input: a pipe has the digest of the file");
	}
	text[1200000]++;
	put_bytes("big", text, sizeof text);
	digest_of("big", b);
	text_is(b, a, "input: the middle does not count in a digest");
	text[2499999]++;
	put_bytes("big", text, sizeof text);
	digest_of("big", b);
	ok(strcmp(a, b) != 0, "input: the last byte counts in a digest");
	text[2499999]--;
	text[0]++;
	put_bytes("big", text, sizeof text);
	digest_of("big", b);
	ok(strcmp(a, b) != 0, "input: the first byte counts in a digest");
}

static void sniffing(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *format;
	} rows[] = {
		{ "", 0, "empty" },
		{ "a,b\n", 4, "text" },
		{ "\x93NUMPY\1\0", 8, "npy" },
		{ "\x1f\x8b\x08", 3, "gzip" },
		{ "PK\3\4", 4, "zip" },
		{ "\0\0\x08\3", 4, "idx" },
		{ "\x10\0\0\0\0\0\0\0{", 9, "safetensors" },
		{ "\x89PNG\r\n\x1a\n", 8, "png" },
		{ "\xff\xd8\xff\xe0", 4, "jpeg" },
		{ "\xfd"
		  "7zXZ\0",
		  6, "xz" },
		{ "\x28\xb5\x2f\xfd", 4, "zstd" },
		{ "\x89HDF\r\n\x1a\n", 8, "hdf5" },
		{ "\x08\7\x12\4", 4, "onnx" },
	};
	char tar[300] = "name", claim[80];

	memcpy(tar + 257, "ustar", 5);
	text_is(nn_format_word(nn_sniff((unsigned char *)tar, sizeof tar)), "tar", "sniff: tar");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(claim, sizeof claim, "sniff: %s", rows[i].format);
		text_is(nn_format_word(nn_sniff((const unsigned char *)rows[i].bytes, rows[i].n)),
			rows[i].format, claim);
	}
}

/* ---- JSON ---- */

static void json(void)
{
	static const char written[] = " {\"a\":[1, {\"\\u0062\":[]}] ,\"n\":1.50e0,\"s\":\"x\"} ";
	const char *digits, *text = "{\"b\":[1,2.5,\"x\\u00e9\",null,true,{}],\"a\":-3}";
	const struct nn_json *b, *value;
	struct nn_error err;
	char deep[250];
	size_t n;
	struct nn_json *j = nn_json_parse(text, strlen(text), &err);

	if (!ok(j != NULL, "json: parses"))
		return;
	b = nn_json_get(j, "b");
	ok(nn_json_size(b) == 6 && nn_json_number(nn_json_at(b, 1)) == 2.5 &&
		   strcmp(nn_json_string(nn_json_at(b, 2), &n), "x\xc3\xa9") == 0 && n == 3 &&
		   nn_json_type(nn_json_at(b, 3)) == NN_JSON_NULL &&
		   nn_json_type(nn_json_at(b, 4)) == NN_JSON_BOOL &&
		   nn_json_type(nn_json_at(b, 5)) == NN_JSON_OBJECT && !nn_json_at(b, 6),
	   "json: an array has its values");
	ok(strcmp(nn_json_key(j, 0, &value), "a") == 0 && nn_json_number(value) == -3 &&
		   strcmp(nn_json_key(j, 1, &value), "b") == 0 && value == b &&
		   !nn_json_get(j, "c"),
	   "json: keys are sorted and found");
	nn_json_free(j);
	ok(!nn_json_parse("{\"a\":1,\"a\":2}", 13, &err) && strstr(err.text, "duplicate key a"),
	   "json: duplicates are refused");
	memset(deep, '[', 101), memset(deep + 101, ']', 101);
	ok(!nn_json_parse(deep, 202, &err), "json: 101 levels are refused");
	text_is(err.text, "JSON is nested more than 100 deep (--limit=depth=200)", "json: and why");
	j = nn_json_parse(deep + 1, 200, &err);
	ok(j != NULL, "json: 100 levels are taken");
	nn_json_free(j);
	ok(!nn_json_parse("[1,", 3, &err), "json: cut text is refused");
	j = nn_json_parse("[18446744073709551615,-9223372036854775808]", 43, &err);
	digits = nn_json_source(nn_json_at(j, 0), &n);
	ok(digits && n == 20 && memcmp(digits, "18446744073709551615", n) == 0 &&
		   !nn_json_whole(nn_json_at(j, 0)) && nn_json_number(nn_json_at(j, 0)) == 0x1p64 &&
		   nn_json_integer(nn_json_at(j, 1)) == INT64_MIN,
	   "json: whole numbers beyond 64 bits are numbers, with their digits");
	nn_json_free(j);
	j = nn_json_parse(written, strlen(written), &err);
	digits = nn_json_source(nn_json_get(j, "a"), &n);
	ok(digits == strchr(written, '[') && n == strlen("[1, {\"\\u0062\":[]}]"),
	   "json: arrays are known as they were written");
	digits = nn_json_source(nn_json_get(j, "n"), &n);
	ok(digits && n == 6 && memcmp(digits, "1.50e0", n) == 0, "json: and so are numbers");
	ok(nn_json_source(j, &n) == written + 1 && n == strlen(written) - 2 &&
		   !nn_json_source(nn_json_get(j, "s"), &n),
	   "json: and objects, but no strings");
	nn_json_free(j);
	ok(!nn_json_parse("[\"\xff\"]", 5, &err), "json: what is not UTF-8 is refused");
}

int main(void)
{
	go_to_tmp();
	blocks();
	checksums();
	inputs();
	gzip();
	peeking();
	stamps();
	digests();
	sniffing();
	json();
	return tests_done();
}
