/* safetensors: round trips, odd ones, and what is said of damaged and of other files. */
#include "file/safetensors.h"
#include "files.h"

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
	struct nn_error err = { 0 };
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
	st_fails("[]", 0, "is not a safetensors file, expected a model");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3,
		 "the data ends early: expected 4 bytes, found 3");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5,
		 "other bytes follow the last tensor");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
		 "tensor \"w\" begins at 4, expected 0 (there is a hole)");
	st_fails("{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
		 "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
		 8, "tensor \"w\" begins at 4, expected 8 (tensors overlap)");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": data_offsets span 4 bytes, the shape needs 8");
	st_fails("{\"w\":{\"dtype\":\"F8_E5M2\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dtype F8_E5M2 is not supported");
	st_fails("{\"w\":{\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dtype is missing or no string");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[0,9007199254740994],"
		 "\"data_offsets\":[0,0]}}",
		 0, "tensor \"w\": dimension 2 is above 2^53");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": shape is missing or no array");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dimension 1 is no whole number");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
		 "tensor \"w\": dimension 1 is no whole number");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}",
		 4, "tensor \"w\": found 9 dimensions, expected at most 8 (a fixed limit)");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[0,9007199254740992,9007199254740992],\"data_"
		 "offsets\":[0,0]}}",
		 0, "tensor \"w\": the product of the dimensions overflows");
	st_fails("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
		 "tensor \"w\": data_offsets are not [BEGIN,END]");
	st_fails("{\"w\":3}", 0, "tensor \"w\": dtype is missing or no string");
	st_fails("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: \"a\" is not a string");
	st_fails("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
	st_fails("{\"a\\nb\":3}", 0, "tensor \"a\\nb\": dtype is missing or no string");
}

static void st_other_files(void)
{
	struct nn_error err = { 0 };
	struct nn_st *st;

	put("text", "input 3\ndense 4\n");
	fails_as(nn_st_read(&st, "text", &err), &err, NN_EFORMAT,
		 "text: looks like a text file, not a model", "safetensors: a text is named");
	put_bytes("zip", "PK\3\4aaaaaaaaaa", 14);
	fails_as(
		nn_st_read(&st, "zip", &err), &err, NN_EFORMAT,
		"zip: looks like a zip file, not a model; weights made elsewhere want a net beside "
		"them: -m TEXT",
		"safetensors: a zip file is named");
	put_bytes("h5", "\x89HDF\r\n\x1a\naa", 10);
	fails_as(nn_st_read(&st, "h5", &err), &err, NN_EFORMAT,
		 "h5: looks like an hdf5 file, not a model; weights made elsewhere want a net "
		 "beside "
		 "them: -m TEXT",
		 "safetensors: an HDF5 file is named");
	put_bytes("gz", "\x1f\x8b\x08\0aaaaaaaaaa", 14);
	fails_as(nn_st_read(&st, "gz", &err), &err, NN_EFORMAT,
		 "gz: looks like a gzip file, not a model",
		 "safetensors: a compressed model is refused by name");
	put_bytes("idx", "\0\0\x08\1\0\0\0\1a", 9);
	fails_as(nn_st_read(&st, "idx", &err), &err, NN_EFORMAT,
		 "idx: looks like an idx file, not a model", "safetensors: an IDX file is named");
	put("empty", "");
	fails_as(nn_st_read(&st, "empty", &err), &err, NN_EFORMAT,
		 "empty: is empty, expected a model", "safetensors: an empty file is named");
	put_bytes("huge", "\xff\xff\xff\xff\xff\xff\xff\xff{", 9);
	fails_as(nn_st_read(&st, "huge", &err), &err, NN_EFORMAT,
		 "huge: a header of 18446744073709551615 bytes, expected at most 100000000 (a fixed limit)",
		 "safetensors: a header's length is checked before it is read");
	put_bytes("lies", "\0\0\0\1\0\0\0\0{", 9);
	fails_as(nn_st_read(&st, "lies", &err), &err, NN_EFORMAT,
		 "lies: the header ends early: expected 16777216 bytes, found 1",
		 "safetensors: a header's length is compared with the file");
}

static size_t bytes_of(const char *name, char *bytes, size_t room)
{
	FILE *f = fopen(name, "rb");
	size_t n = f ? fread(bytes, 1, room, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static void st_round_trip(void)
{
	static const float w[6] = { 1, -2.5f, 3, 4, 5, 6 };
	static const int64_t n[1] = { 7 };
	static const unsigned char u[3] = { 1, 2, 3 };
	struct nn_st_tensor tensors[] = {
		{ "z.u", NN_U8, nn_shape1(3), u },
		{ "b", NN_F32, nn_shape2(2, 3), w },
		{ "a", NN_F32, nn_shape1(0), w },
		{ "count", NN_I64, { 0, { 0 } }, n },
	};
	struct nn_st_meta meta[] = { { "nn.version", "1" }, { "format", "pt" } };
	struct nn_output *out;
	struct nn_error err = { 0 };
	struct nn_st *st = NULL;
	const struct nn_st_tensor *t;
	double values[6];
	static char text[4096];
	size_t size, header;

	if (!ok(nn_output_open(&out, "r.st", true, &err) == 0 &&
			nn_st_write(out, tensors, 4, meta, 2, &err) == 0 &&
			nn_output_commit(out, &err) == 0 && nn_st_read(&st, "r.st", &err) == 0,
		"safetensors: what is written is read"))
		return;
	t = nn_st_find(st, "b");
	ok(st->n_tensors == 4 && t && t->dtype == NN_F32 && t->shape.rank == 2 &&
		   t->shape.dim[1] == 3 && memcmp(t->data, w, sizeof w) == 0 &&
		   !nn_st_find(st, "c"),
	   "safetensors: tensors come back by name");
	text_is(nn_st_meta(st, "format"), "pt", "safetensors: metadata come back");
	ok(nn_st_get(t, NN_F64, values, &err) == 0 && values[1] == -2.5,
	   "safetensors: values are converted");
	fails_as(nn_st_get(nn_st_find(st, "count"), NN_F64, values, &err), &err, NN_EFORMAT,
		 "tensor \"count\": found i64, expected floating point",
		 "safetensors: only floats are weights");
	nn_st_free(st);
	size = bytes_of("r.st", text, sizeof text);
	header = (unsigned char)text[0] + 256 * (size_t)(unsigned char)text[1];
	ok((8 + header) % 64 == 0 && size == 8 + header + 8 + 24 + 3,
	   "safetensors: data begin at a multiple of 64");
	ok(strncmp(text + 8,
		   "{\"__metadata__\":{\"format\":\"pt\",\"nn.version\":\"1\"},"
		   "\"count\":{\"data_offsets\":[0,8],\"dtype\":\"I64\",\"shape\":[]},"
		   "\"a\":{\"data_offsets\":[8,8],\"dtype\":\"F32\",\"shape\":[0]},"
		   "\"b\":{\"data_offsets\":[8,32],\"dtype\":\"F32\",\"shape\":[2,3]},"
		   "\"z.u\":{\"data_offsets\":[32,35],\"dtype\":\"U8\",\"shape\":[3]}}",
		   232) == 0,
	   "safetensors: written by alignment, then name, with sorted metadata");
}

/* A header of the reference writer, and one whose tensors are not aligned. */
static void st_odd(void)
{
	char data[32] = "\1\2\3";
	float f = 2.5f;
	struct nn_error err = { 0 };
	struct nn_st *st;
	const struct nn_st_tensor *t;

	memcpy(data + 3, &f, 4);
	put_st("odd.st",
	       "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3],\"more\":1},"
	       "\"f\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[3,7]}}   ",
	       data, 7);
	if (!ok(nn_st_read(&st, "odd.st", &err) == 0,
		"safetensors: padding and odd offsets are taken"))
		return;
	t = nn_st_find(st, "f");
	ok((uintptr_t)t->data % 4 == 0 && *(const float *)t->data == 2.5f,
	   "safetensors: tensors are aligned in memory");
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

int main(void)
{
	go_to_tmp();
	st_errors();
	st_other_files();
	st_round_trip();
	st_odd();
	return tests_done();
}
