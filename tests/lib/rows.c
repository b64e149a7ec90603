/*
 * Rows for prediction: columns by name, arrays one after another, a row in and a row out, bad rows,
 * targets to score.
 */
#include <fcntl.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/rows/rows.h"
#include "files.h"

struct rows_how {
	const char *data, *targets, *target, *input_json, *target_json;
	int header, on_error;
	bool score, scaled, last, broken;
	size_t max; /* rows per call; 0: 8 */
};

static struct nn_text shown;

static void add(const float *values, size_t n)
{
	char number[NN_NUMBER];

	for (size_t i = 0; i < n; i++) {
		nn_format_f32(number, values[i]);
		nn_text_addf(&shown, " %s", number);
	}
}

static size_t count(const struct nn_schema *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_inputs; i++)
		n += nn_shape_count(&s->inputs[i].shape);
	return n;
}

/* Blocks of rows in brackets, then notices; an error ends it. */
static void show_rows(struct nn_rows *rows, const struct nn_schema *schema,
		      const struct rows_how *how)
{
	size_t max = how->max ? how->max : 8, size = count(schema), n;
	float *inputs[2], targets[8][4];
	void *to[2] = { targets, NULL };
	const char *bad[8];
	struct nn_error err = { 0 };
	bool end;

	inputs[0] = nn_alloc(2 * max * size + 1, sizeof(float), NULL);
	inputs[1] = inputs[0] + max * size;
	for (;;) {
		end = false;
		if (nn_rows_next(rows, max, (void *const *)inputs, how->score ? to : NULL, bad, &n,
				 &end, &err) < 0) {
			nn_text_addf(&shown, " %d: %s", err.code, err.text);
			break;
		}
		if (n == 0 && !end)
			break;
		nn_text_add(&shown, "[");
		for (size_t r = 0; r < n; r++) {
			if (bad[r]) {
				nn_text_addf(&shown, " (%s)", bad[r]);
				continue;
			}
			for (size_t i = 0; i < schema->n_inputs; i++) {
				size_t width = nn_shape_count(&schema->inputs[i].shape);

				add(inputs[i] + r * width, width);
			}
			if (how->score && nn_rows_target_classes(rows, 0))
				nn_text_addf(&shown, " : %d", ((int32_t *)targets)[r]);
			else if (how->score) {
				size_t width = nn_rows_target_size(rows, 0);

				nn_text_add(&shown, " :");
				add((float *)targets + r * width, width);
			}
			nn_text_add(&shown, ";");
		}
		nn_text_add(&shown, end ? "]|" : "]");
	}
	if (nn_rows_bad(rows))
		nn_text_addf(&shown, " bad %d", (int)nn_rows_bad(rows));
	for (size_t i = 0; nn_rows_notice(rows, i); i++)
		nn_text_addf(&shown, " %s", nn_rows_notice(rows, i));
	nn_free(inputs[0]);
}

static struct nn_source right;

static int fill_broken(const void *data, size_t input, const uint64_t *rows, size_t n, bool last,
		       void *values, struct nn_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i] == 1)
			return nn_fail(err, NN_EFORMAT, "d.st: row 2: is broken");
	return right.ops->fill_input(data, input, rows, n, last, values, err);
}

/* What was read whole comes from a source whose second row fails. */
static void break_rows(struct nn_rows *rows)
{
	static struct nn_source_ops broken;

	right = nn_dataset_source(rows->whole);
	broken = *right.ops;
	broken.fill_input = fill_broken;
	rows->whole->source = right;
	rows->whole->source.ops = &broken;
}

/* What is shown first: of a table its separator, else the format. */
static const char *family(const struct nn_rows *rows)
{
	char separator = nn_rows_separator(rows);

	return nn_rows_none(rows)  ? "empty"
	       : separator == '\t' ? "tsv"
	       : separator == ','  ? "csv"
				   : nn_format_word(rows->format->id);
}

static const char *show(struct rows_how how)
{
	bool last[2] = { true, true };
	struct nn_rows_options options = { .header = how.header,
					   .on_error = how.on_error,
					   .target = how.target,
					   .want_target = how.score,
					   .channels_last = how.last ? last : NULL,
					   .scaled = how.scaled };
	struct nn_schema *schema;
	struct nn_rows *rows;
	struct nn_error err = { 0 };

	nn_text_clear(&shown);
	if (nn_schema_parse(&schema, how.input_json, how.target_json, &err) < 0) {
		nn_text_addf(&shown, "schema: %s", err.text);
		return shown.data;
	}
	if (nn_rows_open(&rows, how.data, how.targets, schema, &options, NN_F32, &err) < 0) {
		nn_text_addf(&shown, "%d: %s", err.code, err.text);
	} else {
		nn_text_addf(&shown, "%s%s%s", family(rows), nn_rows_header(rows) ? "+header" : "",
			     nn_rows_total(rows) >= 0 ? "+total" : "");
		if (how.broken)
			break_rows(rows);
		show_rows(rows, schema, &how);
		nn_rows_close(rows);
	}
	nn_schema_free(schema);
	return shown.data;
}

#define AB \
	"{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":2},{\"kind\":" \
	"\"category\",\"name\":\"b\"," \
	"\"values\":[\"x\",\"z\"]}],\"shape\":[3]}"
#define YES "{\"columns\":[\"y\"],\"labels\":[\"no\",\"yes\"]}"
#define NUMBERS \
	"{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"number\",\"name\":\"b\"}]" \
	",\"shape\":[2]}"
#define PLACES \
	"{\"columns\":[{\"kind\":\"number\",\"position\":1},{\"kind\":\"number\",\"position\":3}]" \
	",\"shape\":[2]}"

static void csv_is(const char *csv, struct rows_how how, const char *wanted, const char *claim)
{
	put("t.csv", csv);
	how.data = "t.csv";
	if (!how.input_json)
		how.input_json = AB;
	if (!how.target_json)
		how.target_json = YES;
	text_is(show(how), wanted, claim);
}

static void tables(void)
{
	csv_is("b,extra,a\nx,1,3\nz,2,5\n", (struct rows_how){ .scaled = true },
	       "csv+header[ 1 1 0; 2 0 1;]", "rows: columns by name, others ignored, scaled");
	csv_is("b\textra\ta\nx\t1\t3\nz\t2\t5\n", (struct rows_how){ 0 },
	       "tsv+header[ 3 1 0; 5 0 1;]", "rows: numbers as they stand, for doors");
	csv_is("b,a\nx,3\nz,5\n", (struct rows_how){ .max = 1 }, "csv+header[ 3 1 0;][ 5 0 1;]",
	       "rows: as many as asked for");
	csv_is("b,c\nx,3\n", (struct rows_how){ 0 },
	       "1: t.csv: has no column \"a\"; its columns: b, c",
	       "rows: a missing column is named");
	csv_is("b,aa\nx,3\n", (struct rows_how){ 0 },
	       "1: t.csv: has no column \"a\"; its columns: b, aa", "rows: and a near one");
	csv_is("b,a,a\nx,3,4\n", (struct rows_how){ 0 }, "1: t.csv: column \"a\" occurs twice",
	       "rows: a needed column that occurs twice");
	csv_is("b,a,c,c\nx,3,4,5\n", (struct rows_how){ 0 }, "csv+header[ 3 1 0;]",
	       "rows: an unneeded column may occur twice");
	csv_is("b,a\nx,3\nnew,5\nnew,6\n", (struct rows_how){ 0 },
	       "csv+header[ 3 1 0; 5 0 0; 6 0 0;] t.csv: 2 values of column \"b\" were not in "
	       "the training data; they count as all zeros",
	       "rows: unseen values are zeros and counted");
	csv_is("3,x\n", (struct rows_how){ .header = NN_HEADER_NO }, "csv[ 3 1 0;]",
	       "rows: --header=no takes columns in order");
	csv_is("3,4\n", (struct rows_how){ .input_json = NUMBERS },
	       "1: t.csv: has no header, but the model knows its columns by name (\"a\", ...); "
	       "--header=no takes them in order",
	       "rows: a header is missed");
	csv_is("3,x,7\n", (struct rows_how){ .header = NN_HEADER_NO },
	       "1: t.csv:1: expected 2 columns, got 3", "rows: in order there must be as many");
	csv_is("a,b\n", (struct rows_how){ 0 }, "csv+header", "rows: a header alone is no row");
	csv_is("", (struct rows_how){ 0 }, "empty+total", "rows: an empty input has no rows");
	csv_is("\n", (struct rows_how){ 0 }, "csv", "rows: a newline is no row");
	csv_is("1,2,3\n4,5,6\n", (struct rows_how){ .input_json = PLACES }, "csv[ 1 3; 4 6;]",
	       "rows: without names by position");
	csv_is("1,3\n4,6\n", (struct rows_how){ .input_json = PLACES }, "csv[ 1 3; 4 6;]",
	       "rows: or in order where others are left out");
	csv_is("p,q\n1,3\n4,6\n", (struct rows_how){ .input_json = PLACES },
	       "csv 1: t.csv:1:1: found \"p\" in column 1, expected a number; the model was "
	       "trained "
	       "without a header, --header=yes skips a line",
	       "rows: a model that knows no header expects none");
	csv_is("p,q\n1,3\n4,6\n",
	       (struct rows_how){ .input_json = PLACES, .header = NN_HEADER_YES },
	       "csv+header[ 1 3; 4 6;]", "rows: --header=yes skips it");
	csv_is("1\n", (struct rows_how){ .input_json = PLACES },
	       "1: t.csv:1: expected 2 columns, got 1", "rows: too few columns");
	csv_is("1,2,3,4\n5,6,7,8\n",
	       (struct rows_how){ .input_json = "{\"shape\":[2,1,2],\"scale\":0.5}", .last = true },
	       "csv[ 1 3 2 4; 5 7 6 8;]", "rows: a table for a model of arrays, channels last");
	csv_is("1,2,3\n", (struct rows_how){ .input_json = "{\"shape\":[4]}" },
	       "1: t.csv:1: expected 4 columns, got 3", "rows: and its width");
}

static void bad_rows(void)
{
	const char *csv = "a,b\n1,x\n\nq,z\n3,z\n4\n5,x\n";

	csv_is(csv, (struct rows_how){ 0 }, "csv+header[ 1 1 0;] 1: t.csv:3: empty line",
	       "rows: what came before a bad row is given");
	csv_is(csv, (struct rows_how){ .on_error = 1 }, "csv+header[ 1 1 0; 3 0 1; 5 1 0;] bad 3",
	       "rows: bad ones are left out");
	csv_is(csv, (struct rows_how){ .on_error = 2 },
	       "csv+header[ 1 1 0; (t.csv:3: empty line) (t.csv:4:1: found \"q\" in column \"a\", "
	       "expected a number) 3 0 1; (t.csv:6: expected 2 columns, got 1) 5 1 0;] bad 3",
	       "rows: bad ones are marked");
	csv_is("a,b\n1,x\n2,\"x\n", (struct rows_how){ .on_error = 2 },
	       "csv+header[ 1 1 0;] 1: t.csv:3: a quote is never closed",
	       "rows: what cannot be read on is no bad row");
	csv_is("a,b\n1,\xff\n3,x\n", (struct rows_how){ .on_error = 2 },
	       "csv+header[ (t.csv:2: byte 0xff is not UTF-8) 3 1 0;] bad 1",
	       "rows: what is not UTF-8 is a bad row");
}

static void scoring(void)
{
	csv_is("y,a,b\nyes,1,x\nno,2,z\nmaybe,3,z\n", (struct rows_how){ .score = true },
	       "csv+header[ 1 1 0 : 1; 2 0 1 : 0; 3 0 1 : -1;] t.csv: 1 label was not in the "
	       "training data and counts as wrong: \"maybe\"",
	       "score: labels of a column, unseen ones are class -1");
	csv_is("y,a,b\nm,1,x\nn,2,z\nm,3,z\no,1,z\np,1,z\n", (struct rows_how){ .score = true },
	       "csv+header[ 1 1 0 : -1; 2 0 1 : -1; 3 0 1 : -1; 1 0 1 : -1; 1 0 1 : -1;] t.csv: 5 "
	       "labels were not in the training data and count as wrong: \"m\", \"n\", \"o\", ...",
	       "score: the first of many unseen labels are named");
	csv_is("t,a,b\nyes,1,x\n", (struct rows_how){ .score = true, .target = "t" },
	       "csv+header[ 1 1 0 : 1;]", "score: --target where the name differs");
	csv_is("a,b\n1,x\n", (struct rows_how){ .score = true },
	       "1: t.csv: has no column \"y\"; its columns: a, b", "score: a missing target");
	csv_is("a,b\n1,x\n2,z\n", (struct rows_how){ .score = true, .targets = "y.csv" },
	       "1: y.csv: cannot open: No such file or directory",
	       "score: a missing file of targets");
	put("y.csv", "label\nno\nyes\n");
	csv_is("a,b\n1,x\n2,z\n", (struct rows_how){ .score = true, .targets = "y.csv" },
	       "csv+header[ 1 1 0 : 0; 2 0 1 : 1;]", "score: a file of targets");
	put("z.csv", "label\nno\nnone\n");
	csv_is("a,b\n1,x\n2,z\n", (struct rows_how){ .score = true, .targets = "z.csv" },
	       "csv+header[ 1 1 0 : 0; 2 0 1 : -1;] z.csv: 1 label was not in the training data "
	       "and counts as wrong: \"none\"",
	       "score: unseen labels of a file of targets are named, too");
	csv_is("a,b\n1,x\n2,z\n3,x\n", (struct rows_how){ .score = true, .targets = "y.csv" },
	       "csv+header[ 1 1 0 : 0; 2 0 1 : 1;] 1: y.csv: found 2 rows, but t.csv has more",
	       "score: targets too few");
	csv_is("a,b\n1,x\n", (struct rows_how){ .score = true, .targets = "y.csv" },
	       "csv+header[ 1 1 0 : 0;] 1: y.csv: found 2 rows, but t.csv has only 1",
	       "score: targets too many");
	csv_is("a,b\nq,x\n2,z\n",
	       (struct rows_how){ .score = true, .targets = "y.csv", .on_error = 1 },
	       "csv+header[ 2 0 1 : 1;] bad 1",
	       "score: a row that is left out takes its target along");
	csv_is("a,b,y\n1,x,3.5\n2,z,5.5\n",
	       (struct rows_how){
		       .score = true,
		       .target_json =
			       "{\"columns\":[\"y\"],\"labels\":null,\"mean\":[1.5],\"sd\":[2]}" },
	       "csv+header[ 1 1 0 : 1; 2 0 1 : 2;]", "score: numbers in standardized units");
	csv_is("a,b,y\n1,x,5\n2,z,7\n",
	       (struct rows_how){ .score = true,
				  .target_json = "{\"columns\":[\"y\"],\"labels\":[7,5]}" },
	       "csv+header[ 1 1 0 : 1; 2 0 1 : 0;]", "score: integer labels in the model's order");
	csv_is("a,b,p,q\n1,x,0.25,0.75\n",
	       (struct rows_how){ .score = true,
				  .target_json =
					  "{\"columns\":[\"p\",\"q\"],\"labels\":[\"p\",\"q\"]}" },
	       "csv+header[ 1 1 0 : 0.25 0.75;]", "score: probabilities of columns");
	csv_is("1,2,3\n4,5,6\n",
	       (struct rows_how){ .score = true,
				  .input_json = PLACES,
				  .target_json = "{\"columns\":[2],\"labels\":[2,5]}" },
	       "csv[ 1 3 : 0; 4 6 : 1;]", "score: by position");
	csv_is("1,2,3\n4,5,6\n",
	       (struct rows_how){ .score = true,
				  .input_json = NUMBERS,
				  .header = NN_HEADER_NO,
				  .target = "1",
				  .target_json = "{\"columns\":[\"y\"],\"labels\":[1,4]}" },
	       "csv[ 2 3 : 0; 5 6 : 1;]",
	       "score: --header=no with the number of the target's column");
}

static size_t array(char *file, const char *dtype, const char *order, const char *shape,
		    const void *data, size_t n)
{
	size_t length = (size_t)sprintf(file + 10,
					"{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n",
					dtype, order, shape);

	memcpy(file, "\x93NUMPY\1\0", 8);
	file[8] = (char)length, file[9] = 0;
	memcpy(file + 10 + length, data, n);
	return 10 + length + n;
}

static void arrays(void)
{
	static const float x[6] = { 1, 2, 3, 4, 5, 6 }, bad[6] = { 1, 2, 0.0f / 0.0f, 4, 5, 6 };
	static char file[2000];
	struct rows_how h = { .data = "x.npy",
			      .input_json = "{\"shape\":[2]}",
			      .target_json = "{\"columns\":[null],\"labels\":[3,7]}" };
	size_t n;

	put_bytes("x.npy", file, array(file, "<f4", "False", "3, 2", x, 24));
	text_is(show(h), "npy+total[ 1 2; 3 4; 5 6;]|", "rows: npy");
	h.max = 2;
	text_is(show(h), "npy+total[ 1 2; 3 4;][ 5 6;]|", "rows: npy in blocks");
	n = array(file, "<f4", "False", "1, 2", x, 8);
	n += array(file + n, "<f8", "False", "0, 2", x, 0);
	n += array(file + n, ">i2", "True", "2, 2", "\0\1\0\3\0\2\0\4", 8);
	put_bytes("x.npy", file, n);
	text_is(show(h), "npy+total[ 1 2;]|[]|[ 1 2; 3 4;]|",
		"rows: several arrays, each ends by itself, any type and order");
	put_bytes("x.npy", file, n - 1);
	text_is(show(h),
		"npy+total[ 1 2;]|[]| 1: x.npy: ends early: the .npy header promises 8 bytes of "
		"data, found 7",
		"rows: the last one is cut");
	put_bytes("x.npy", file, array(file, "<f4", "False", "2, 3", x, 24));
	text_is(show(h), "1: x.npy: samples are 3 (3 values), the model wants 2 (2)",
		"rows: npy of another width");
	put_bytes("x.npy", file, array(file, "<f4", "False", "2,", x, 8));
	text_is(show(h), "1: x.npy: samples are scalar (1 value), the model wants 2 (2)",
		"rows: 1-d is one feature");
	h.max = 8;
	put_bytes("x.npy", file, array(file, "<f4", "False", "3, 2", bad, 24));
	text_is(show(h),
		"npy+total[ 1 2;] 1: x.npy: row 2, column 1: found nan, expected a finite number",
		"rows: NaN by row and column");
	h.on_error = 1;
	text_is(show(h), "npy+total[ 1 2; 5 6;]| bad 1", "rows: a row with NaN is left out");
	h.on_error = 2;
	text_is(show(h),
		"npy+total[ 1 2; (x.npy: row 2, column 1: found nan, expected a finite number) 5 "
		"6;]| bad 1",
		"rows: or marked");
	h.on_error = 0;
	put_bytes("x.npy", file, array(file, "<f4", "False", "3, 2", x, 24));
	put_bytes("y.npy", file, array(file, "|u1", "False", "3,", "\7\3\11", 3));
	h.score = true, h.targets = "y.npy";
	text_is(show(h),
		"npy+total[ 1 2 : 1; 3 4 : 0; 5 6 : -1;]| y.npy: 1 label was not in the training "
		"data and counts as wrong: \"9\"",
		"score: npy labels");
	h.targets = NULL;
	text_is(show(h), "1: x.npy: is an array without targets; give them as a file of their own",
		"score: an array has no targets");
	h.score = false;
	h.input_json = "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"sd\":2},{\"kind\":"
		       "\"number\",\"mean\":0,\"sd\":1}],\"shape\":[2]}";
	h.scaled = true;
	text_is(show(h), "npy+total[ 0 2; 1 4; 2 6;]|", "rows: arrays scaled column by column");
	h.input_json = AB;
	put_bytes("x.npy", file, array(file, "<f4", "False", "2, 3", x, 24));
	text_is(show(h), "1: x.npy: is an array, but the model has columns of text",
		"rows: an array has no text");
	h.input_json = "{\"shape\":[1,1,2],\"scale\":0.5}";
	put_bytes("x.npy", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\2\1\2\3\4", 20);
	text_is(show(h), "idx+total[ 0.5 1; 1.5 2;]|", "rows: IDX pictures are scaled");
	put_bytes("x.npy", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\2\1\2\3\4x", 21);
	text_is(show(h), "idx+total[ 0.5 1; 1.5 2;]| 1: x.npy: other bytes follow the array",
		"rows: bytes after an IDX file");
	put_bytes("x.npy", file, array(file, "|u1", "False", "2, 1, 1, 2", "\1\2\3\4", 4));
	text_is(show(h), "npy+total[ 0.5 1; 1.5 2;]|",
		"rows: and so are bytes of three or more dimensions");
	put_bytes("x.npy", file, array(file, "|u1", "False", "2, 2", "\1\2\3\4", 4));
	text_is(show(h), "npy+total[ 1 2; 3 4;]|", "rows: other arrays are not");
	put_bytes("x.npy", "\x89HDF\r\n\x1a\naaa", 11);
	text_is(show(h),
		"1: x.npy: looks like an hdf5 file, expected CSV or TSV, JSON lines, LIBSVM, .npy, "
		"IDX, .npz, safetensors, CIFAR, PNG, JPEG, tar or a folder of pictures",
		"rows: another kind is named");
}

static void tensors(void)
{
	static const char header[] =
		"{\"x\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
		"\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[16,18]}}";
	static const float x[4] = { 1, 2, 3, 4 };
	char file[300] = { (char)(sizeof header - 1) };
	struct rows_how h = { .data = "d.st",
			      .input_json = "{\"shape\":[2]}",
			      .target_json = "{\"columns\":[null],\"labels\":[3,7]}" };

	memcpy(file + 8, header, sizeof header - 1);
	memcpy(file + 7 + sizeof header, x, 16);
	memcpy(file + 23 + sizeof header, "\7\3", 2);
	put_bytes("d.st", file, 25 + sizeof header);
	text_is(show(h), "safetensors+total[ 1 2; 3 4;]", "rows: safetensors");
	h.broken = true;
	text_is(show(h), "safetensors+total[ 1 2;] 1: d.st: row 2: is broken",
		"rows: those before one that its source cannot give are handed out");
	h.on_error = 2;
	text_is(show(h), "safetensors+total[ 1 2; (d.st: row 2: is broken)] bad 1",
		"rows: one that its source cannot give is marked");
	h.broken = false;
	h.on_error = 0;
	h.score = true;
	text_is(show(h), "safetensors+total[ 1 2 : 1; 3 4 : 0;]", "score: y beside x");
}

/* A row in, a row out: the next one has not been written yet. */
static void streaming(void)
{
	struct nn_rows_options options = { 0 };
	struct nn_schema *schema;
	struct nn_rows *rows = NULL;
	struct nn_error err = { 0 };
	float values[8][2];
	void *to[1] = { values };
	int ends[2];
	size_t n;

	if (pipe(ends) < 0 || dup2(ends[0], 0) < 0 ||
	    nn_schema_parse(&schema, NUMBERS, NULL, &err) < 0)
		return;
	ok(write(ends[1], "a,b\n", 4) == 4 &&
		   nn_rows_open(&rows, "-", NULL, schema, &options, NN_F32, &err) == 0,
	   "stream: a header is enough to begin");
	ok(nn_rows_would_block(rows), "stream: without a row it would block");
	ok(write(ends[1], "1,2\n", 4) == 4 && !nn_rows_would_block(rows),
	   "stream: with one it would not");
	ok(nn_rows_next(rows, 8, to, NULL, NULL, &n, NULL, &err) == 0 && n == 1 &&
		   values[0][1] == 2,
	   "stream: a row in, a row out");
	ok(write(ends[1], "3,4\n5,6\n7,", 10) == 10 &&
		   nn_rows_next(rows, 8, to, NULL, NULL, &n, NULL, &err) == 0 && n == 2 &&
		   values[1][0] == 5,
	   "stream: rows that lie ready are taken together");
	ok(nn_rows_would_block(rows), "stream: half a row would block");
	ok(write(ends[1], "8", 1) == 1 && nn_rows_would_block(rows), "stream: still half a row");
	close(ends[1]);
	ok(!nn_rows_would_block(rows) &&
		   nn_rows_next(rows, 8, to, NULL, NULL, &n, NULL, &err) == 0 && n == 1 &&
		   values[0][1] == 8,
	   "stream: the end completes it");
	ok(nn_rows_next(rows, 8, to, NULL, NULL, &n, NULL, &err) == 0 && n == 0,
	   "stream: then there is nothing");
	nn_rows_close(rows);
	nn_schema_free(schema);
	close(ends[0]);
}

static void streaming_arrays(void)
{
	struct nn_rows_options options = { 0 };
	struct nn_schema *schema;
	struct nn_rows *rows = NULL;
	struct nn_error err = { 0 };
	static const float x[4] = { 1, 2, 3, 4 };
	float values[8][2];
	void *to[1] = { values };
	char file[300];
	int ends[2];
	bool end = false;
	size_t n, length = array(file, "<f4", "False", "2, 2", x, 16);

	if (pipe(ends) < 0 || dup2(ends[0], 0) < 0 ||
	    nn_schema_parse(&schema, "{\"shape\":[2]}", NULL, &err) < 0)
		return;
	ok(write(ends[1], file, length - 8) == (ssize_t)length - 8 &&
		   nn_rows_open(&rows, "-", NULL, schema, &options, NN_F32, &err) == 0 &&
		   nn_rows_next(rows, 8, to, NULL, NULL, &n, &end, &err) == 0 && n == 1 &&
		   values[0][1] == 2 && !end,
	   "stream: the first row of an array");
	ok(nn_rows_would_block(rows), "stream: the second would block");
	ok(write(ends[1], file + length - 8, 8) == 8 &&
		   nn_rows_next(rows, 8, to, NULL, NULL, &n, &end, &err) == 0 && n == 1 &&
		   values[0][0] == 3 && end,
	   "stream: the array ends with its last row, without waiting for more");
	close(ends[1]);
	ok(nn_rows_next(rows, 8, to, NULL, NULL, &n, &end, &err) == 0 && n == 0 && !end,
	   "stream: the end of arrays");
	nn_rows_close(rows);
	nn_schema_free(schema);
	close(ends[0]);
}

int main(void)
{
	go_to_tmp();
	tables();
	bad_rows();
	scoring();
	arrays();
	tensors();
	streaming();
	streaming_arrays();
	nn_text_free(&shown);
	return tests_done();
}
