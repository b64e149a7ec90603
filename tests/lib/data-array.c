/* Datasets of arrays: .npy, IDX, safetensors, and layouts of pictures. */
#include "data-show.h"

static void put_array(const char *name, const char *dtype, const char *shape, const void *data,
		      size_t n)
{
	char file[1024], dict[200];
	size_t length = (size_t)snprintf(
		dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n",
		dtype, shape);

	memcpy(file, "\x93NUMPY\1\0", 8);
	file[8] = (char)length, file[9] = 0;
	memcpy(file + 10, dict, length);
	memcpy(file + 10 + length, data, n);
	put_bytes(name, file, 10 + length + n);
}

static void arrays(void)
{
	static const float x[4] = { 1, 2, 3, 4 }, bad[4] = { 1, 2, 3, 0.0f / 0.0f },
			   probs[4] = { 0, 1, 0.5f, 0.5f };
	static const int64_t y[2] = { 7, 3 };
	static const double wide[2] = { 1e300, 1 };
	static const unsigned char u[4] = { 0, 51, 102, 255 };
	struct how h = { .data = "x.npy", .targets = "y.npy" };

	put_array("x.npy", "<f4", "2, 2", x, 16);
	put_array("y.npy", "<i8", "2,", y, 16);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[3,7]} 1 2 : 1; 3 4 : 0;",
		"npy: integers are classes, float arrays stay as they are");
	h.loss = 'n';
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":null} 1 2 : 7; 3 4 : 3;",
		"npy: integers as numbers");
	h.loss = 0, h.normalize = "standard";
	text_is(show(h),
		"{\"columns\":[{\"kind\":\"number\",\"mean\":2,\"sd\":1},{\"kind\":\"number\","
		"\"mean\":3,\"sd\":1}],\"shape\":[2]} "
		"{\"columns\":[null],\"labels\":[3,7]} -1 -1 : 1; 1 1 : 0;",
		"npy: --normalize=standard measures arrays");
	h.normalize = NULL;
	put_array("y.npy", "<i8", "2, 1", y, 16);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[3,7]} 1 2 : 1; 3 4 : 0;",
		"npy: [n,1] integers are classes");
	put_array("y.npy", "<i8", "1, 2", y, 16);
	text_is(show(h), "1: y.npy: found 1 row, expected 2 as in x.npy",
		"npy: as many targets as samples");
	put_array("y.npy", "<f4", "2, 2", x, 16);
	text_is(show(h),
		"{\"shape\":[2]} {\"columns\":[null,null],\"labels\":null} 1 2 : 1 2; 3 4 : 3 4;",
		"npy: float targets are numbers");
	h.loss = 'c';
	put_array("y.npy", "<f4", "2, 2", probs, 16);
	text_is(show(h),
		"{\"shape\":[2]} {\"columns\":[null,null],\"labels\":[0,1]} 1 2 : 0 1; 3 4 : 0.5 "
		"0.5;",
		"npy: float rows are probabilities for cross-entropy");
	put_array("y.npy", "<f4", "2,", probs, 8);
	text_is(show(h),
		"1: y.npy: found f32 values, but the loss wants classes: integers, or a row of "
		"probabilities",
		"npy: a float is no class");
	h.loss = 0;
	put_array("y.npy", "|b1", "2,", "\1\0", 2);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[0,1]} 1 2 : 1; 3 4 : 0;",
		"npy: bool is two classes");
	put_array("x.npy", "<f4", "2, 2", bad, 16);
	text_is(show(h), "1: x.npy: row 2, column 2: found nan, expected a finite number",
		"npy: NaN by row and column");
	put_array("x.npy", "<f8", "2,", wide, 16);
	text_is(show(h),
		"1: x.npy: row 1, column 1: found 1e300, expected a finite number within f32",
		"npy: f64 beyond f32");
	h.f64 = true;
	text_is(show(h), "{\"shape\":[1]} {\"columns\":[null],\"labels\":[0,1]} 1e300 : 1; 1 : 0;",
		"npy: f64 as f64, 1-d is one feature");
	h.f64 = false;
	put_array("x.npy", "|u1", "2, 2", u, 4);
	text_is(show(h),
		"{\"shape\":[2]} {\"columns\":[null],\"labels\":[0,1]} 0 51 : 1; 102 255 : 0;",
		"npy: u8 arrays are not scaled");
	put_array("x.npy", "<f2", "2,", "\0\x3c\0\xc1", 4);
	text_is(show(h), "{\"shape\":[1]} {\"columns\":[null],\"labels\":[0,1]} 1 : 1; -2.5 : 0;",
		"npy: f16");
	put_array("x.npy", ">i2", "2, 1, 1, 1", "\0\1\xff\xff", 4);
	h.as_is = true;
	text_is(show(h), "{\"shape\":[1,1,1]} {\"columns\":[null],\"labels\":[0,1]} 1 : 1; -1 : 0;",
		"npy: big-endian integers, any rank");
	put_array("x.npy", "<f4", "", x, 4);
	text_is(show(h), "1: x.npy: found a single value without dimensions, expected rows",
		"npy: 0-d is no samples");
	put_array("x.npy", "<f4", "0, 3", x, 0);
	put_array("y.npy", "<i8", "0,", x, 0);
	text_is(show(h), "{\"shape\":[3]} {\"columns\":[null],\"labels\":[]}", "npy: zero rows");
	put_array("x.npy", "<f4", "2, 0", x, 0);
	text_is(show(h), "1: x.npy: samples have no values", "npy: samples without values");
	put_array("x.npy", "<f4", "2, 2", x, 16);
	text_is(show((struct how){ .data = "x.npy" }),
		"1: x.npy: has no targets; give them as a second file",
		"npy: targets are a second file");
	text_is(show((struct how){ .data = "x.npy", .target = "y" }),
		"1: x.npy: is an array without columns, so --target=y is not in "
		"it; targets are a file of their own",
		"npy: --target has no column");
	put("t.csv", "label\nb\na\n");
	text_is(show((struct how){ .data = "x.npy", .targets = "t.csv" }),
		"{\"shape\":[2]} {\"columns\":[\"label\"],\"labels\":[\"a\",\"b\"]} 1 2 : 1; 3 4 : "
		"0;",
		"npy: targets from a CSV of one column");
	put("t.csv", "id,label\n1,b\n2,a\n");
	text_is(show((struct how){ .data = "x.npy", .targets = "t.csv" }),
		"2: --target=COLUMN is needed for t.csv; its columns: id, label",
		"npy: of two columns none is guessed");
	text_is(show((struct how){ .data = "x.npy", .targets = "t.csv", .target = "label" }),
		"{\"shape\":[2]} {\"columns\":[\"label\"],\"labels\":[\"a\",\"b\"]} 1 2 : 1; 3 4 : "
		"0;",
		"npy: --target names the column of TARGETS");
}

static void idx(void)
{
	static const char pictures[] = "\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\1\0\xff\x33\x66";
	static const char labels[] = "\0\0\x08\1\0\0\0\2\5\3";
	struct how h = { .data = "p", .targets = "l", .as_is = true };

	put_bytes("p", pictures, sizeof pictures - 1);
	put_bytes("l", labels, sizeof labels - 1);
	text_is(show(h),
		"{\"scale\":0.00392156862745098,\"shape\":[1,2,1]} "
		"{\"columns\":[null],\"labels\":[3,5]} 0 1 : 1; 0.20000002 0.40000004 : 0;",
		"idx: pictures are 1xHxW and scaled by 1/255");
	h.normalize = "none";
	text_is(show(h),
		"{\"shape\":[1,2,1]} {\"columns\":[null],\"labels\":[3,5]} 0 255 : 1; 51 102 : 0;",
		"idx: --normalize=none");
	h.normalize = "0.5", h.as_is = false;
	text_is(show(h),
		"{\"scale\":0.5,\"shape\":[2]} {\"columns\":[null],\"labels\":[3,5]} 0 127.5 : 1; "
		"25.5 51 : 0;",
		"idx: a factor");
	h.normalize = "standard";
	text_is(show(h),
		"{\"columns\":[{\"kind\":\"number\",\"mean\":25.5,\"sd\":25.5},{\"kind\":"
		"\"number\",\"mean\":178.5,\"sd\":76.5}],"
		"\"shape\":[2]} {\"columns\":[null],\"labels\":[3,5]} -1 1 : 1; 1 -1 : 0;",
		"idx: --normalize=standard");
	put_bytes("p", pictures, sizeof pictures - 2);
	text_is(show(h), "1: p: ends early: the IDX header promises 4 bytes of data, found 3",
		"idx: a short file");
	put_bytes("p", pictures, sizeof pictures);
	text_is(show(h), "1: p: other bytes follow the array", "idx: a long file");
	put_bytes("l", labels, sizeof labels - 2);
	put_bytes("p", pictures, sizeof pictures - 1);
	text_is(show(h), "1: l: ends early: the IDX header promises 2 bytes of data, found 1",
		"idx: short labels");
	if (run("gzip -kf p l 2>/dev/null; printf '\\0\\0\\010\\001\\0\\0\\0\\002\\005\\003' | "
		"gzip > l.gz; head -c 20 p.gz > cut.gz") == 0) {
		text_is(show((struct how){ .data = "p.gz", .targets = "l.gz" }),
			"{\"scale\":0.00392156862745098,\"shape\":[2]} "
			"{\"columns\":[null],\"labels\":[3,5]} 0 1 : 1; 0.20000002 0.40000004 : 0;",
			"idx: through gzip");
		text_is(show((struct how){ .data = "cut.gz", .targets = "l.gz" }),
			"1: cut.gz: the gzip data end early", "idx: cut gzip");
	}
	/* a header that promises four gigabytes to a pipe */
	if (run("mkfifo liar; printf "
		"'\\0\\0\\010\\003\\377\\377\\0\\0\\0\\0\\377\\0\\0\\0\\001\\0abc' > liar &") == 0)
		text_is(show((struct how){ .data = "liar", .targets = "l" }),
			"1: liar: the array ends early: expected 71775023844556800 bytes, found 3",
			"idx: a pipe is believed step by step");
}

static void tensors(void)
{
	static const char file[] =
		"{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
		"\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[8,10]}}";
	float x[2] = { 1, 2 };
	char bytes[300] = { (char)(sizeof file - 1) };

	memcpy(bytes + 8, file, sizeof file - 1);
	memcpy(bytes + 7 + sizeof file, x, 8);
	bytes[15 + sizeof file] = 4;
	put_bytes("d.st", bytes, 17 + sizeof file);
	text_is(show((struct how){ .data = "d.st" }),
		"{\"shape\":[1]} {\"columns\":[null],\"labels\":[0,4]} 1 : 1; 2 : 0;",
		"safetensors: x and y are data");
	bytes[10] = 'z';
	put_bytes("d.st", bytes, 17 + sizeof file);
	text_is(show((struct how){ .data = "d.st" }), "1: d.st: has no tensor x; its tensors: y, z",
		"safetensors: other names are listed");
}

static void layouts(void)
{
	static const float x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

	put_array("x.npy", "<f4", "1, 3, 2, 2", x, 48);
	put_array("y.npy", "|u1", "1,", "\1", 1);
	text_is(show((struct how){
			.data = "x.npy", .targets = "y.npy", .as_is = true, .last = true }),
		"{\"shape\":[3,2,2]} {\"columns\":[null],\"labels\":[1]} 1 5 9 2 6 10 3 7 11 4 8 "
		"12 : 0;",
		"fill: channels last, three of them");
	text_is(show((struct how){ .data = "x.npy",
				   .targets = "y.npy",
				   .shape = { 3, { 2, 3, 2 } },
				   .last = true }),
		"{\"shape\":[2,3,2]} {\"columns\":[null],\"labels\":[1]} 1 7 2 8 3 9 4 10 5 11 6 "
		"12 : 0;",
		"fill: channels last, two");
	csv_is("a,b,c,d,y\n1,2,3,4,5\n",
	       (struct how){ .loss = 'n', .shape = { 3, { 2, 1, 2 } }, .last = true },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"number\",\"name\":"
	       "\"b\"},{\"kind\":\"number\",\"name\":\"c\"},"
	       "{\"kind\":\"number\",\"name\":\"d\"}],\"shape\":[2,1,2]} " Y " 1 3 2 4 : 5;",
	       "fill: columns as channels, last");
	put_array("y.npy", "|u1", "1, 2, 2", "\3\1\1\3", 4);
	text_is(show((struct how){ .data = "x.npy", .targets = "y.npy", .as_is = true }),
		"{\"shape\":[3,2,2]} {\"columns\":[null],\"labels\":[1,3]} 1 2 3 4 5 6 7 8 9 10 11 "
		"12 : 1 0 0 1;",
		"targets: integers of [n,h,w] are a class per position");
}

int main(void)
{
	go_to_tmp();
	arrays();
	idx();
	tensors();
	layouts();
	nn_text_free(&shown);
	return tests_done();
}
