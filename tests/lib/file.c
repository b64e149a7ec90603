/* Containers: inputs and gzip, safetensors, .npy, IDX, JSON, and what each says of damaged files. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "file/convert.h"
#include "file/idx.h"
#include "file/json.h"
#include "file/npy.h"
#include "file/safetensors.h"
#include "files.h"

/* ---- blocks ---- */

/* Grown step by step as data come, every 4096th byte written: nothing is lost, what is new is 0, and large ones begin with a large page. */
static void blocks(void)
{
	struct nn_block block = {0};
	bool kept = true, zero = true, aligned = true;
	size_t written = 0;

	for (size_t bytes = 5000; bytes < (size_t)40 << 20; bytes += bytes / 4 + (1 << 20)) {
		if (nn_block_reserve(&block, bytes, NULL) < 0)
			break;
		aligned &= bytes < (size_t)4 << 20 || (uintptr_t)block.data % ((size_t)2 << 20) == 0;
		for (size_t at = 0; at < written; at += 4096)
			kept &= *nn_block_at(&block, at) == (unsigned char)(at / 4096 * 7 + 1);
		for (size_t at = written; at < bytes; at += 4096) {
			zero &= *nn_block_at(&block, at) == 0;
			*nn_block_at(&block, at) = (unsigned char)(at / 4096 * 7 + 1);
			written = at + 4096;
		}
	}
	nn_block_free(&block);
	ok(written > (size_t)30 << 20 && kept && zero, "blocks: what was there stays as a block grows, what is new is 0");
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

/* Of every length around those at which the way of computing changes, from odd places, in one part and in two. */
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
		parts &= nn_crc32(nn_crc32(0, bytes + n % 19, n / 3), bytes + n % 19 + n / 3, n - n / 3) == wanted;
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
	slurp_is("nowhere", "nowhere: cannot open: No such file or directory", "input: a missing file is named");
	slurp_is(".", ".: is a directory, expected a file", "input: a directory is refused by name");
	slurp_is("/dev/zero", "/dev/zero: is a device, expected a file or pipe", "input: a device is refused by name");
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

	if (run("gzip -k a && cat a.gz a.gz > two.gz && (cat a.gz; printf junk) > junk.gz && (cat a.gz; printf '\\037junk') > junk2.gz") != 0) {
		ok(true, "gzip: # skip no gzip");
		return;
	}
	slurp_is("a.gz", "some text", "gzip: is taken off");
	slurp_is("two.gz", "some textsome text", "gzip: members are concatenated");
	slurp_is("junk.gz", "junk.gz: other bytes follow the gzip data", "gzip: bytes after it are an error");
	slurp_is("junk2.gz", "junk2.gz: other bytes follow the gzip data", "gzip: half a magic after it is an error");
	for (long i = 2; i < 29; i += 3) {
		cut("a.gz", "cut.gz", i);
		slurp_is("cut.gz", "cut.gz: the gzip data end early", "gzip: a cut file is an error");
	}
	cut("a.gz", "bad.gz", 1000);
	if (run("printf '\\377' | dd of=bad.gz bs=1 seek=$(($(stat -c %s bad.gz) - 6)) conv=notrunc 2>/dev/null") == 0)
		slurp_is("bad.gz", "bad.gz: the gzip data are damaged (incorrect data check)", "gzip: a wrong CRC is an error");
	cut("a.gz", "len.gz", 1000);
	if (run("printf '\\377' | dd of=len.gz bs=1 seek=$(($(stat -c %s len.gz) - 1)) conv=notrunc 2>/dev/null") == 0)
		slurp_is("len.gz", "len.gz: the gzip data are damaged (incorrect length check)",
			 "gzip: a wrong length is an error");
	if (run("head -c 40000000 /dev/zero | gzip -9 > zeros.gz") == 0) {
		struct nn_input *in;
		struct nn_block block = {0};

		ok(nn_input_open(&in, "zeros.gz", &err) == 0 &&
		   nn_input_load(in, &block, 0, 40000000, "zeros", &err) == 0 &&
		   nn_input_end(in, "zeros", &err) == 0, "gzip: zeros pass (1030:1)");
		nn_block_free(&block);
		nn_input_close(in);
	}
	ok(slurp("a.gz", text, 5, &n, &err) == 0 && strcmp(text, "some") == 0, "gzip: a part can be read");
}

static void peeking(void)
{
	const unsigned char *b;
	struct nn_error err;
	struct nn_input *in;
	size_t got;
	int ends[2];

	if (pipe(ends) < 0 || dup2(ends[0], 0) < 0)
		return;
	ok(write(ends[1], "abc", 3) == 3 && nn_input_open(&in, "-", &err) == 0 && nn_input_is_pipe(in) &&
	   nn_input_ready(in), "input: a pipe with bytes in it is ready");
	ok(nn_input_some(in, &b, &got, &err) == 0 && got == 3 && memcmp(b, "abc", 3) == 0,
	   "input: what has arrived is there without waiting for more");
	ok(!nn_input_ready(in) && nn_input_held(in, &got) && got == 3, "input: an empty pipe is not ready");
	nn_input_take(in, 1);
	ok(write(ends[1], "def", 3) == 3 && nn_input_ready(in) && nn_input_more(in, &b, &got, &err) == 0 && got == 5 &&
	   memcmp(b, "bcdef", 5) == 0, "input: more is added to what is there");
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
	if (nn_input_watch(in, &err) == 0 && nn_input_peek(in, &(const unsigned char *){ 0 }, 7, &n, &err) == 0 &&
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
	static const struct { const char *bytes; size_t n; const char *kind; } rows[] = {
		{ "", 0, "empty" }, { "a,b\n", 4, "text" }, { "\x93NUMPY\1\0", 8, "npy" }, { "\x1f\x8b\x08", 3, "gzip" },
		{ "PK\3\4", 4, "zip" }, { "\0\0\x08\3", 4, "idx" }, { "\x10\0\0\0\0\0\0\0{", 9, "safetensors" },
		{ "\x89PNG\r\n\x1a\n", 8, "png" }, { "\xff\xd8\xff\xe0", 4, "jpeg" }, { "\xfd" "7zXZ\0", 6, "xz" },
		{ "\x28\xb5\x2f\xfd", 4, "zstd" }, { "\x89HDF\r\n\x1a\n", 8, "hdf5" }, { "\x08\7\x12\4", 4, "onnx" },
	};
	char tar[300] = "name", claim[80];

	memcpy(tar + 257, "ustar", 5);
	text_is(nn_sniff((unsigned char *)tar, sizeof tar), "tar", "sniff: tar");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(claim, sizeof claim, "sniff: %s", rows[i].kind);
		text_is(nn_sniff((const unsigned char *)rows[i].bytes, rows[i].n), rows[i].kind, claim);
	}
}

/* ---- JSON ---- */

static void json(void)
{
	const char *text = "{\"b\":[1,2.5,\"x\\u00e9\",null,true,{}],\"a\":-3}";
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
	   nn_json_type(nn_json_at(b, 3)) == NN_JSON_NULL && nn_json_true(nn_json_at(b, 4)) &&
	   nn_json_type(nn_json_at(b, 5)) == NN_JSON_OBJECT && !nn_json_at(b, 6), "json: an array has its values");
	ok(strcmp(nn_json_key(j, 0, &value), "a") == 0 && nn_json_number(value) == -3 &&
	   strcmp(nn_json_key(j, 1, &value), "b") == 0 && value == b && !nn_json_get(j, "c"),
	   "json: keys are sorted and found");
	nn_json_free(j);
	ok(!nn_json_parse("{\"a\":1,\"a\":2}", 13, &err) && strstr(err.text, "duplicate"), "json: duplicates are refused");
	memset(deep, '[', 101), memset(deep + 101, ']', 101);
	ok(!nn_json_parse(deep, 202, &err), "json: 101 levels are refused");
	text_is(err.text, "JSON is nested more than 100 deep", "json: and why");
	j = nn_json_parse(deep + 1, 200, &err);
	ok(j != NULL, "json: 100 levels are taken");
	nn_json_free(j);
	ok(!nn_json_parse("[1,", 3, &err), "json: cut text is refused");
	ok(!nn_json_parse("[\"\xff\"]", 5, &err), "json: what is not UTF-8 is refused");
}

/* ---- safetensors ---- */

static void put_st(const char *name, const char *header, const void *data, size_t n)
{
	static char file[1 << 16];
	size_t length = strlen(header);

	for (int i = 0; i < 8; i++)
		file[i] = (char)(length >> (8 * i));
	memcpy(file + 8, header, length);
	if (n)
		memcpy(file + 8 + length, data, n);
	put_bytes(name, file, 8 + length + n);
}

static void st_fails(const char *header, size_t data, const char *wanted)
{
	char zeros[64] = "", text[300], claim[400];
	struct nn_error err = {0};
	struct nn_st *st;
	int status;

	put_st("m.st", header, zeros, data);
	status = nn_st_read(&st, "m.st", &err);
	snprintf(text, sizeof text, "m.st: %s", wanted);
	snprintf(claim, sizeof claim, "safetensors: %s", wanted);
	fails_as(status, &err, NN_EFORMAT, text, claim);
	if (status == 0)
		nn_st_free(st);
}

static void st_errors(void)
{
	st_fails("[]", 0, "is no safetensors file, expected a model");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3,
		 "the data ends early: expected 4 bytes, found 3");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "other bytes follow the last tensor");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
		 "tensor \"w\" begins at 4, expected 0 (there is a hole)");
	st_fails("{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
		 "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
		 "tensor \"w\" begins at 4, expected 8 (tensors overlap)");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": data_offsets span 4 bytes, the shape needs 8");
	st_fails("{\"w\":{\"dtype\":\"F8_E5M2\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dtype F8_E5M2 is not supported");
	st_fails("{\"w\":{\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "tensor \"w\": dtype is missing or no string");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "tensor \"w\": shape is missing or no array");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dimension 1 is no whole number");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dimension 1 is no whole number");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": found 9 dimensions, expected at most 8");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[0,9007199254740992,9007199254740992],\"data_offsets\":[0,0]}}", 0,
		 "tensor \"w\": the product of the dimensions overflows");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
		 "tensor \"w\": data_offsets are not [BEGIN,END]");
	st_fails("{\"w\":3}", 0, "tensor \"w\": dtype is missing or no string");
	st_fails("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: \"a\" is no string");
	st_fails("{\"__metadata__\":[]}", 0, "__metadata__ is no object");
	st_fails("{\"a\\nb\":3}", 0, "tensor \"a\\nb\": dtype is missing or no string");
}

static void st_other_files(void)
{
	struct nn_error err = {0};
	struct nn_st *st;

	put("text", "input 3\ndense 4\n");
	fails_as(nn_st_read(&st, "text", &err), &err, NN_EFORMAT, "text: looks like a text file, not a model",
		 "safetensors: a text is named");
	put_bytes("zip", "PK\3\4aaaaaaaaaa", 14);
	fails_as(nn_st_read(&st, "zip", &err), &err, NN_EFORMAT, "zip: looks like a zip file, not a model",
		 "safetensors: a zip file is named");
	put_bytes("gz", "\x1f\x8b\x08\0aaaaaaaaaa", 14);
	fails_as(nn_st_read(&st, "gz", &err), &err, NN_EFORMAT, "gz: looks like a gzip file, not a model",
		 "safetensors: a compressed model is refused by name");
	put_bytes("idx", "\0\0\x08\1\0\0\0\1a", 9);
	fails_as(nn_st_read(&st, "idx", &err), &err, NN_EFORMAT, "idx: looks like an idx file, not a model",
		 "safetensors: an IDX file is named");
	put("empty", "");
	fails_as(nn_st_read(&st, "empty", &err), &err, NN_EFORMAT, "empty: is empty, expected a model",
		 "safetensors: an empty file is named");
	put_bytes("huge", "\xff\xff\xff\xff\xff\xff\xff\xff{", 9);
	fails_as(nn_st_read(&st, "huge", &err), &err, NN_EFORMAT,
		 "huge: a header of 18446744073709551615 bytes, expected at most 100000000",
		 "safetensors: a header's length is checked before it is read");
	put_bytes("lies", "\0\0\0\1\0\0\0\0{", 9);
	fails_as(nn_st_read(&st, "lies", &err), &err, NN_EFORMAT,
		 "lies: the header ends early: expected 16777216 bytes, found 1",
		 "safetensors: a header's length is compared with the file");
}

static void st_round_trip(void)
{
	static const float w[6] = { 1, -2.5f, 3, 4, 5, 6 };
	static const int64_t n[1] = { 7 };
	static const unsigned char u[3] = { 1, 2, 3 };
	struct nn_st_tensor tensors[] = {
		{ "z.u", NN_U8, nn_shape1(3), u }, { "b", NN_F32, nn_shape2(2, 3), w }, { "a", NN_F32, nn_shape1(0), w },
		{ "count", NN_I64, { 0, { 0 } }, n },
	};
	struct nn_st_meta meta[] = { { "nn.version", "1" }, { "format", "pt" } };
	struct nn_output *out;
	struct nn_error err = {0};
	struct nn_st *st = NULL;
	const struct nn_st_tensor *t;
	double values[6];
	static char text[4096];
	size_t size, header;

	if (!ok(nn_output_open(&out, "r.st", true, &err) == 0 && nn_st_write(out, tensors, 4, meta, 2, &err) == 0 &&
		nn_output_commit(out, &err) == 0 && nn_st_read(&st, "r.st", &err) == 0, "safetensors: what is written is read"))
		return;
	t = nn_st_find(st, "b");
	ok(st->n_tensors == 4 && t && t->dtype == NN_F32 && t->shape.rank == 2 && t->shape.dim[1] == 3 &&
	   memcmp(t->data, w, sizeof w) == 0 && !nn_st_find(st, "c"), "safetensors: tensors come back by name");
	text_is(nn_st_meta(st, "format"), "pt", "safetensors: metadata come back");
	ok(nn_st_get(t, NN_F64, values, &err) == 0 && values[1] == -2.5, "safetensors: values are converted");
	fails_as(nn_st_get(nn_st_find(st, "count"), NN_F64, values, &err), &err, NN_EFORMAT,
		 "tensor \"count\": found i64, expected floating point", "safetensors: only floats are weights");
	nn_st_free(st);
	if (slurp("r.st", text, sizeof text, &size, &err) < 0)
		return;
	header = (unsigned char)text[0] + 256 * (size_t)(unsigned char)text[1];
	ok((8 + header) % 64 == 0 && size == 8 + header + 8 + 24 + 3, "safetensors: data begin at a multiple of 64");
	ok(strncmp(text + 8, "{\"__metadata__\":{\"format\":\"pt\",\"nn.version\":\"1\"},"
		   "\"count\":{\"data_offsets\":[0,8],\"dtype\":\"I64\",\"shape\":[]},"
		   "\"a\":{\"data_offsets\":[8,8],\"dtype\":\"F32\",\"shape\":[0]},"
		   "\"b\":{\"data_offsets\":[8,32],\"dtype\":\"F32\",\"shape\":[2,3]},"
		   "\"z.u\":{\"data_offsets\":[32,35],\"dtype\":\"U8\",\"shape\":[3]}}", 232) == 0,
	   "safetensors: written by alignment, then name, with sorted metadata");
}

/* A header of the reference writer, and one whose tensors are not aligned. */
static void st_odd(void)
{
	char data[32] = "\1\2\3";
	float f = 2.5f;
	struct nn_error err = {0};
	struct nn_st *st;
	const struct nn_st_tensor *t;

	memcpy(data + 3, &f, 4);
	put_st("odd.st", "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3],\"more\":1},"
	       "\"f\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[3,7]}}   ", data, 7);
	if (!ok(nn_st_read(&st, "odd.st", &err) == 0, "safetensors: padding and odd offsets are taken"))
		return;
	t = nn_st_find(st, "f");
	ok((uintptr_t)t->data % 4 == 0 && *(const float *)t->data == 2.5f, "safetensors: tensors are aligned in memory");
	nn_st_free(st);
	put_st("none.st", "{}", "", 0);
	ok(nn_st_read(&st, "none.st", &err) == 0 && st->n_tensors == 0 && !nn_st_find(st, "a"),
	   "safetensors: no tensors are no error");
	nn_st_free(st);
	if (run("mkfifo st.pipe; cat odd.st > st.pipe &") == 0) {
		ok(nn_st_read(&st, "st.pipe", &err) == 0, "safetensors: a FIFO is read");
		nn_st_free(st);
	}
}

/* ---- .npy and IDX ---- */

static void put_npy(const char *name, int version, const char *dict, const void *data, size_t n)
{
	static char file[1 << 14];
	size_t length = strlen(dict), at = version > 1 ? 12 : 10;

	memcpy(file, "\x93NUMPY", 6);
	file[6] = (char)version, file[7] = 0;
	for (size_t i = 8; i < at; i++)
		file[i] = (char)(length >> (8 * (i - 8)));
	memcpy(file + at, dict, length);
	if (n)
		memcpy(file + at + length, data, n);
	put_bytes(name, file, at + length + n);
}

static int read_npy(const char *name, struct nn_npy_header *h, struct nn_block *block, struct nn_error *err)
{
	struct nn_input *in;
	int status;

	if (nn_input_open(&in, name, err) < 0)
		return -1;
	status = nn_npy_next(in, h, err);
	if (status == 1)
		status = nn_npy_read(in, h, block, err) < 0 ? -1 : nn_input_end(in, "the array", err);
	nn_input_close(in);
	return status;
}

static void npy_fails(int version, const char *dict, size_t data, const char *wanted)
{
	char zeros[64] = "", text[500], claim[600];
	struct nn_block block = {0};
	struct nn_npy_header h;
	struct nn_error err = {0};

	put_npy("x.npy", version, dict, zeros, data);
	snprintf(text, sizeof text, "x.npy: %s", wanted);
	snprintf(claim, sizeof claim, "npy: %.90s", wanted);
	fails_as(read_npy("x.npy", &h, &block, &err), &err, NN_EFORMAT, text, claim);
	nn_block_free(&block);
}

static void npy_errors(void)
{
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 7,
		  "ends early: the .npy header promises 8 bytes of data, found 7");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 9, "other bytes follow the array");
	npy_fails(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", 9, "holds Python objects, expected "
		  "numbers; convert it: python3 -c \"import numpy as np; np.savez('w.npz', *np.load('weights.npy', allow_pickle=True))\"");
	npy_fails(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "structured arrays are not supported, expected one type of number");
	npy_fails(1, "{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "type '<U5' is not supported, expected f2 f4 f8 i1-i8 u1-u8 or b1");
	npy_fails(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "type '<c8' is not supported, expected f2 f4 f8 i1-i8 u1-u8 or b1");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }\n", 8,
		  "the header's fortran_order is neither True nor False");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }\n", 8, "the header's shape is no tuple");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n", 8,
		  "the header's shape is no tuple of whole numbers");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }\n", 8,
		  "the header's shape is no tuple of whole numbers");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }\n", 4,
		  "found more than 8 dimensions");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 4611686018427387904), }\n", 0,
		  "the product of the dimensions overflows");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952, 4), }\n", 0,
		  "the product of the dimensions overflows");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False}\n", 0,
		  "the header is no dict of descr, fortran_order, shape");
	npy_fails(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n", 0,
		  "the header has other keys than descr, fortran_order, shape");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", 8,
		  "the header is no dict as numpy writes it");
	npy_fails(1, "{'descr': '<f4", 0, "the header's descr is no string");
	npy_fails(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8, ".npy version 4.0, expected 1.0, 2.0 or 3.0");
	put_bytes("x.npy", "\x93NUMPY\1\0\xff\xff{'de", 14);
	fails_as(read_npy("x.npy", &(struct nn_npy_header){ 0 }, &(struct nn_block){ 0 }, &(struct nn_error){ 0 }),
		 &(struct nn_error){ .code = NN_EFORMAT }, NN_EFORMAT, "", "npy: a header of 65535 bytes is refused");
}

static void npy_good(void)
{
	static const float f[6] = { 1, 2, 3, 4, 5, 6 }, columns[6] = { 1, 4, 2, 5, 3, 6 };
	static const unsigned char big[8] = { 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0 };
	struct nn_block block = {0};
	struct nn_npy_header h;
	struct nn_error err = {0};

	put_npy("c.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", f, sizeof f);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && h.shape.rank == 2 && memcmp(block.data, f, sizeof f) == 0,
	   "npy: v1 is read");
	put_npy("c.npy", 2, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", columns, sizeof f);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && memcmp(block.data, f, sizeof f) == 0,
	   "npy: v2 and Fortran order are read");
	put_npy("c.npy", 3, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", big, sizeof big);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && ((float *)block.data)[0] == 1 && ((float *)block.data)[1] == -2.5,
	   "npy: v3 and big-endian are read");
	put_npy("c.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", "\0\0\0\0\0\0\xf0\x3f", 8);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && h.shape.rank == 0 && *(double *)block.data == 1, "npy: 0-d is read");
	put_npy("c.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 3), }\n", "", 0);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && h.shape.dim[1] == 3, "npy: an empty array is read");
	nn_block_free(&block);
}

/* Column-major of any rank: element (i, j, k, l) is i + 10 j + 100 k + 1000 l. */
static void npy_fortran4(void)
{
	static uint16_t values[3 * 40 * 2 * 35];
	struct nn_block block = {0};
	struct nn_npy_header h;
	struct nn_error err = {0};
	bool good = true;
	size_t at = 0;

	for (int l = 0; l < 35; l++)
		for (int k = 0; k < 2; k++)
			for (int j = 0; j < 40; j++)
				for (int i = 0; i < 3; i++)
					values[at++] = (uint16_t)(i + 3 * j + 120 * k + 240 * l);
	put_npy("f.npy", 1, "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 40, 2, 35), }\n", values,
		at * 2 < 16000 ? at * 2 : 0);
	if (at * 2 >= 16000) {
		FILE *f = fopen("f.npy", "ab");

		good = f && fwrite(values, 2, at, f) == at && fclose(f) == 0;
	}
	good = good && read_npy("f.npy", &h, &block, &err) == 0;
	at = 0;
	for (int i = 0; good && i < 3; i++)
		for (int j = 0; j < 40; j++)
			for (int k = 0; k < 2; k++)
				for (int l = 0; l < 35; l++)
					good &= ((uint16_t *)block.data)[at++] == (uint16_t)(i + 3 * j + 120 * k + 240 * l);
	ok(good, "npy: Fortran order of rank 4 becomes C order");
	nn_block_free(&block);
}

static void idx(void)
{
	struct nn_npy_header h;
	struct nn_error err = {0};
	struct nn_input *in;
	struct nn_block block = {0};

	put_bytes("i", "\0\0\x0b\2\0\0\0\1\0\0\0\2\0\1\xff\xff", 16);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) == 0 && h.shape.rank == 2 &&
	   h.dtype == NN_I16 && nn_npy_read(in, &h, &block, &err) == 0 && nn_whole(NN_I16, block.data, 0) == 1 &&
	   nn_whole(NN_I16, block.data, 1) == -1, "idx: 16-bit values are big-endian");
	nn_input_close(in);
	nn_block_free(&block);
	put_bytes("i", "\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 17);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) < 0, "idx: dimensions that overflow are refused");
	text_is(err.text, "i: the product of the IDX dimensions overflows", "idx: and say so");
	nn_input_close(in);
	put_bytes("i", "\0\0\x08\1\0\0\0\5abcd", 12);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) < 0, "idx: a short file is refused");
	text_is(err.text, "i: ends early: the IDX header promises 5 bytes of data, found 4", "idx: with both lengths");
	nn_input_close(in);
	put_bytes("i", "\0\0\x08\3\0\0\0\5", 8);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) < 0, "idx: a cut header is refused");
	nn_input_close(in);
}

static void halves(void)
{
	ok(nn_f16_to_f32(0x3c00) == 1 && nn_f16_to_f32(0xc100) == -2.5f && nn_f16_to_f32(1) == 0x1p-24f &&
	   nn_f16_to_f32(0x7bff) == 65504 && nn_f16_to_f32(0x7c00) > 1e38f && nn_bf16_to_f32(0x3f80) == 1,
	   "convert: half precision, subnormals included");
	float f[300] = {0};

	ok(nn_find_not_finite(NN_F32, f, 300) == 300, "convert: finite values are found finite");
	f[299] = -1.0f / 0.0f;
	ok(nn_find_not_finite(NN_F32, f, 300) == 299, "convert: the first infinite value is found");
	f[255] = 0.0f / 0.0f;
	ok(nn_find_not_finite(NN_F32, f, 300) == 255, "convert: the first NaN is found");
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
	st_errors();
	st_other_files();
	st_round_trip();
	st_odd();
	npy_errors();
	npy_good();
	npy_fortran4();
	idx();
	halves();
	return tests_done();
}
