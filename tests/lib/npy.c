/*
 * .npy and IDX: types, orders of bytes and dimensions, and what is said of damaged files; halves.
 */
#include <float.h>
#include <math.h>

#include "base/whole.h"
#include "file/convert.h"
#include "file/idx.h"
#include "file/npy.h"
#include "files.h"

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

static int read_npy(const char *name, struct nn_npy_header *h, struct nn_block *block,
		    struct nn_error *err)
{
	struct nn_input *in;
	int status;

	if (nn_input_open(&in, name, err) < 0)
		return -1;
	status = nn_npy_next(in, h, err);
	if (status == 1)
		status = nn_npy_read(in, h, block, err) < 0 ? -1
							    : nn_input_end(in, "the array", err);
	nn_input_close(in);
	return status;
}

static void npy_fails(int version, const char *dict, size_t data, const char *wanted)
{
	char zeros[64] = "", text[500], claim[600];
	struct nn_block block = { 0 };
	struct nn_npy_header h;
	struct nn_error err = { 0 };

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
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 9,
		  "other bytes follow the array");
	npy_fails(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", 9,
		  "holds Python objects, expected "
		  "numbers; convert it: python3 -c \"import numpy as np; np.savez('w.npz', "
		  "*np.load('x.npy', allow_pickle=True))\"");
	npy_fails(1, "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n", 9,
		  "holds Python objects, expected "
		  "numbers; convert it: python3 -c \"import numpy as np; np.savez('w.npz', "
		  "**np.load('x.npy', allow_pickle=True).item())\"");
	npy_fails(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "structured arrays are not supported, expected one type of number");
	npy_fails(1, "{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "type '<U5' is not supported, expected f2 f4 f8 i1-i8 u1-u8 or b1");
	npy_fails(1, "{'descr': '=f4', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "type '=f4' does not say its order of bytes, expected <, > or | before it");
	npy_fails(1, "{'descr': '|f4', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "type '|f4' does not say its order of bytes, expected < or > before it");
	npy_fails(1,
		  "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 9223372036854775809), }\n",
		  8, "dimension 2 is above 2^63");
	npy_fails(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  "type '<c8' is not supported, expected f2 f4 f8 i1-i8 u1-u8 or b1");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }\n", 8,
		  "the header's fortran_order is neither True nor False");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }\n", 8,
		  "the header's shape is not a tuple");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n", 8,
		  "the header's shape is not a tuple of whole numbers");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }\n", 8,
		  "the header's shape is not a tuple of whole numbers");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }\n",
		  4, "found more than 8 dimensions (a fixed limit)");
	npy_fails(1,
		  "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, "
		  "4611686018427387904), }\n",
		  0, "the product of the dimensions overflows");
	npy_fails(1,
		  "{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952, 4), }\n",
		  0, "the product of the dimensions overflows");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False}\n", 0,
		  "the header is not a dict of descr, fortran_order, shape");
	npy_fails(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n", 0,
		  "the header has other keys than descr, fortran_order, shape");
	npy_fails(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", 8,
		  "the header is not a dict as numpy writes it");
	npy_fails(1, "{'descr': '<f4", 0, "the header's descr is not a string");
	npy_fails(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8,
		  ".npy version 4.0, expected 1.0, 2.0 or 3.0");
	put_bytes("x.npy", "\x93NUMPY\1\0\xff\xff{'de", 14);
	fails_as(read_npy("x.npy", &(struct nn_npy_header){ 0 }, &(struct nn_block){ 0 },
			  &(struct nn_error){ 0 }),
		 &(struct nn_error){ .code = NN_EFORMAT }, NN_EFORMAT, "",
		 "npy: a header of 65535 bytes is refused");
}

static void npy_good(void)
{
	static const float f[6] = { 1, 2, 3, 4, 5, 6 }, columns[6] = { 1, 4, 2, 5, 3, 6 };
	static const unsigned char big[8] = { 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0 };
	struct nn_block block = { 0 };
	struct nn_npy_header h;
	struct nn_error err = { 0 };

	put_npy("c.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", f,
		sizeof f);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && h.shape.rank == 2 &&
		   memcmp(block.data, f, sizeof f) == 0,
	   "npy: v1 is read");
	put_npy("c.npy", 2, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", columns,
		sizeof f);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && memcmp(block.data, f, sizeof f) == 0,
	   "npy: v2 and Fortran order are read");
	put_npy("c.npy", 3, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", big,
		sizeof big);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && ((float *)block.data)[0] == 1 &&
		   ((float *)block.data)[1] == -2.5,
	   "npy: v3 and big-endian are read");
	put_npy("c.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n",
		"\0\0\0\0\0\0\xf0\x3f", 8);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && h.shape.rank == 0 &&
		   *(double *)block.data == 1,
	   "npy: 0-d is read");
	put_npy("c.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 3), }\n", "", 0);
	ok(read_npy("c.npy", &h, &block, &err) == 0 && h.shape.dim[1] == 3,
	   "npy: an empty array is read");
	nn_block_free(&block);
}

/* Column-major of any rank: element (i, j, k, l) is i + 10 j + 100 k + 1000 l. */
static void npy_fortran4(void)
{
	static uint16_t values[3 * 40 * 2 * 35];
	struct nn_block block = { 0 };
	struct nn_npy_header h;
	struct nn_error err = { 0 };
	bool good = true;
	size_t at = 0;

	for (int l = 0; l < 35; l++)
		for (int k = 0; k < 2; k++)
			for (int j = 0; j < 40; j++)
				for (int i = 0; i < 3; i++)
					values[at++] = (uint16_t)(i + 3 * j + 120 * k + 240 * l);
	put_npy("f.npy", 1, "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 40, 2, 35), }\n",
		values, at * 2 < 16000 ? at * 2 : 0);
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
					good &= ((uint16_t *)block.data)[at++] ==
						(uint16_t)(i + 3 * j + 120 * k + 240 * l);
	ok(good, "npy: Fortran order of rank 4 becomes C order");
	nn_block_free(&block);
}

static void idx(void)
{
	struct nn_npy_header h;
	struct nn_error err = { 0 };
	struct nn_input *in;
	struct nn_block block = { 0 };

	put_bytes("i", "\0\0\x0b\2\0\0\0\1\0\0\0\2\0\1\xff\xff", 16);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) == 1 &&
		   h.shape.rank == 2 && h.dtype == NN_I16 &&
		   nn_npy_read(in, &h, &block, &err) == 0 &&
		   nn_whole_at(NN_I16, block.data, 0) == 1 &&
		   nn_whole_at(NN_I16, block.data, 1) == -1,
	   "idx: 16-bit values are big-endian");
	nn_input_close(in);
	nn_block_free(&block);
	put_bytes("i", "\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 17);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) < 0,
	   "idx: dimensions that overflow are refused");
	text_is(err.text, "i: the product of the IDX dimensions overflows", "idx: and say so");
	nn_input_close(in);
	put_bytes("i", "\0\0\x08\1\0\0\0\5abcd", 12);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) < 0,
	   "idx: a short file is refused");
	text_is(err.text, "i: ends early: the IDX header promises 5 bytes of data, found 4",
		"idx: with both lengths");
	nn_input_close(in);
	put_bytes("i", "\0\0\x08\3\0\0\0\5", 8);
	ok(nn_input_open(&in, "i", &err) == 0 && nn_idx_header(in, &h, &err) < 0,
	   "idx: a cut header is refused");
	nn_input_close(in);
}

static void halves(void)
{
	ok(nn_f16_to_f32(0x3c00) == 1 && nn_f16_to_f32(0xc100) == -2.5f &&
		   nn_f16_to_f32(1) == 0x1p-24f && nn_f16_to_f32(0x7bff) == 65504 &&
		   nn_f16_to_f32(0x7c00) > 1e38f && nn_bf16_to_f32(0x3f80) == 1,
	   "convert: half precision, subnormals included");
	float f[300] = { 0 };
	double d[300] = { 0 };

	for (int i = 0; i < 300; i++) {
		f[i] = i % 2 ? -FLT_MAX : FLT_MAX;
		d[i] = i % 2 ? -DBL_MAX : DBL_MAX;
	}
	ok(nn_find_not_finite(NN_F32, f, 300) == 300, "convert: finite values are found finite");
	f[299] = -1.0f / 0.0f;
	ok(nn_find_not_finite(NN_F32, f, 300) == 299, "convert: the first infinite value is found");
	f[255] = 0.0f / 0.0f;
	ok(nn_find_not_finite(NN_F32, f, 300) == 255, "convert: the first NaN is found");
	ok(nn_find_not_finite(NN_F64, d, 300) == 300, "convert: the largest doubles are finite");
	d[200] = -INFINITY;
	ok(nn_find_not_finite(NN_F64, d, 300) == 200, "convert: an infinite double is found");
}

int main(void)
{
	go_to_tmp();
	npy_errors();
	npy_good();
	npy_fortran4();
	idx();
	halves();
	return tests_done();
}
