/* Datasets: what files become, which schema they give, how rows are ordered and split, and what is said of bad ones. */
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/text.h"
#include "data/data.h"
#include "files.h"

/* One way to open files; zero: a vector, the loss not known. */
struct how {
	const char *data, *targets, *target, *normalize, *valid, *valid_targets;
	int header;
	char loss;                   /* 'c' classes, 'n' numbers, 'b' numbers as they are */
	size_t size;
	struct nn_shape shape;       /* rank 0: none */
	bool as_is;                  /* no input line, first layer not dense */
	bool f64, last;
	const struct nn_schema *schema;
};

static struct nn_text shown;

static void add_value(const struct how *how, const void *values, size_t i, bool classes)
{
	char number[NN_NUMBER];

	if (classes)
		nn_text_addf(&shown, " %d", ((const int32_t *)values)[i]);
	else
		nn_text_addf(&shown, " %s", (how->f64 ? nn_format_f64(number, ((const double *)values)[i])
						      : nn_format_f32(number, ((const float *)values)[i]), number));
}

static void add_rows(const struct how *how, struct nn_dataset *ds)
{
	size_t n = nn_dataset_rows(ds), size = nn_shape_count(&nn_dataset_schema(ds)->inputs[0].shape);
	double *values = nn_alloc(n * size + 1, sizeof *values, NULL), *targets;
	uint64_t *rows = nn_alloc(n, sizeof *rows, NULL);

	for (size_t i = 0; i < n; i++)
		rows[i] = i;
	nn_dataset_fill_input(ds, 0, rows, n, how->last, values);
	for (size_t t = 0; t < nn_dataset_schema(ds)->n_targets; t++) {
		size_t width = nn_dataset_target_size(ds, t);

		targets = nn_alloc(n * width + 1, sizeof *targets, NULL);
		nn_dataset_fill_target(ds, t, rows, n, targets);
		for (size_t r = 0; r < n; r++) {
			for (size_t i = 0; t == 0 && i < size; i++)
				add_value(how, values, r * size + i, false);
			nn_text_add(&shown, " :");
			for (size_t i = 0; i < width; i++)
				add_value(how, targets, r * width + i, nn_dataset_target_classes(ds, t));
			nn_text_add(&shown, ";");
		}
		nn_free(targets);
	}
	nn_free(values);
	nn_free(rows);
}

/* Schema and rows as text, or "CODE: error". */
static const char *show(struct how how)
{
	struct nn_data_options options = { .target = how.target, .normalize = how.normalize, .header = how.header };
	struct nn_want_input input = { .shaped = how.shape.rank > 0, .shape = how.shape,
				       .vector = how.shape.rank == 0 && !how.as_is };
	struct nn_want_target target = { .classes = how.loss == 'c', .numbers = how.loss == 'n' || how.loss == 'b',
					 .plain = how.loss == 'b', .size = how.size };
	struct nn_want want = { .inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = how.f64 ? NN_F64 : NN_F32, .schema = how.schema };
	struct nn_dataset *ds = NULL, *valid = NULL;
	struct nn_error err = {0};
	uint64_t rows[64];

	nn_text_clear(&shown);
	if (nn_dataset_open(&ds, how.data, how.targets, &options, &want, &err) < 0)
		goto failed;
	if (how.valid && nn_dataset_open_like(&valid, how.valid, how.valid_targets, ds, &err) < 0)
		goto failed;
	for (size_t i = 0; i < 64; i++)
		rows[i] = i;
	if (nn_dataset_measure(ds, rows, nn_dataset_rows(ds), &err) < 0)
		goto failed;
	nn_schema_input_json(nn_dataset_schema(ds), &shown);
	nn_text_add(&shown, " ");
	nn_schema_target_json(nn_dataset_schema(ds), &shown);
	add_rows(&how, ds);
	if (valid) {
		nn_text_add(&shown, " |");
		add_rows(&how, valid);
		for (size_t i = 0; nn_dataset_notice(valid, i); i++)
			nn_text_addf(&shown, " %s", nn_dataset_notice(valid, i));
	}
	nn_dataset_free(valid);
	nn_dataset_free(ds);
	return shown.data;
failed:
	nn_dataset_free(valid);
	nn_dataset_free(ds);
	nn_text_clear(&shown);
	nn_text_addf(&shown, "%d: %s", err.code, err.text);
	return shown.data;
}

#define HINT "; --missing=mean fills it, --missing=drop leaves the row out"

static void csv_is(const char *csv, struct how how, const char *wanted, const char *claim)
{
	put("t.csv", csv);
	how.data = "t.csv";
	if (!how.target)
		how.target = "y";
	if (!how.normalize)
		how.normalize = "none";
	text_is(show(how), wanted, claim);
}

#define AB "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"number\",\"name\":\"b\"}],\"shape\":[2]} "
#define Y "{\"columns\":[\"y\"],\"labels\":null}"

static void tables(void)
{
	struct how n = { .loss = 'n' };
	const char *two = AB Y " 1 2 : 3; 4 5 : 6;";

	csv_is("a,b,y\n1,2,3\n4,5,6\n", n, two, "csv: plain");
	csv_is("a,b,y\n1,2,3\n4,5,6", n, two, "csv: the last line needs no newline");
	csv_is("a,b,y\r\n1,2,3\r\n4,5,6\r\n", n, two, "csv: CRLF");
	csv_is("a,b,y\r\n1,2,3\r\n4,5,6", n, two, "csv: CRLF without the last");
	csv_is("\xef\xbb\xbf" "a,b,y\n1,2,3\n4,5,6\n", n, two, "csv: a BOM");
	csv_is("a\tb\ty\n1\t2\t3\n4\t5\t6\n", n, two, "tsv: tabs");
	csv_is("\"a\",b,\"y\"\n1,\"2\",3\n\"4\",5,6\n", n, two, "csv: quoted names and numbers");
	csv_is("a,b,y\n1,2,3\n4,5,6\n\n\r\n\n", n, two, "csv: blank lines at the end are ignored");
	csv_is("a,y,b\n1,3,2\n4,6,5\n", n, two, "csv: the target is taken out wherever it stands");
	csv_is("a,b,y\n+1,2.,3e0\n.4e1,+5.0,6\n", n, two, "csv: signs, points and exponents");
	csv_is("a,b,y\n1e-400,-0,3\n16777217,0.1,1\n", n, AB Y " 0 -0 : 3; 16777216 0.1 : 1;",
	       "csv: underflow is 0, numbers are rounded once");
	/* the nearest double lies halfway between two floats, the number does not */
	csv_is("a,b,y\n0.003016072674654424,0.03857284225523472,3\n-4.171156167984009,0.006402610102668405,1\n", n,
	       AB Y " 0.0030160726 0.038572844 : 3; -4.1711564 0.0064026103 : 1;", "csv: not rounded twice on the way to f32");
	csv_is("a,b,y\n16777217,0.1,1\n", (struct how){ .loss = 'n', .f64 = true }, AB Y " 16777217 0.1 : 1;", "csv: f64");
	csv_is("1,2,3\n4,5,6\n", (struct how){ .loss = 'n', .target = "3" },
	       "{\"columns\":[{\"kind\":\"number\",\"position\":1},{\"kind\":\"number\",\"position\":2}],\"shape\":[2]} "
	       "{\"columns\":[3],\"labels\":null} 1 2 : 3; 4 5 : 6;", "csv: without a header columns count");
	csv_is("1,2,3\n4,5,6\n", (struct how){ .loss = 'n', .target = "3", .header = NN_HEADER_YES },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"1\"},{\"kind\":\"number\",\"name\":\"2\"}],\"shape\":[2]} "
	       "{\"columns\":[\"3\"],\"labels\":null} 4 5 : 6;", "csv: --header=yes makes names of numbers");
	csv_is("a,b,y\n", n, AB Y, "csv: no rows are no error");
	csv_is("a,b,y\n1,2,3\n4,5,6\n", (struct how){ .loss = 'n', .target = "b,y" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"}],\"shape\":[1]} {\"columns\":[\"b\",\"y\"],\"labels\":null}"
	       " 1 : 2 3; 4 : 5 6;", "csv: two target columns are one target");
	csv_is("\"a,\"\"x\",y\n1,2\n", (struct how){ .loss = 'n', .target = "\"a,\"\"x\"" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"y\"}],\"shape\":[1]} {\"columns\":[\"a,\\\"x\"],\"labels\":null} 2 : 1;",
	       "csv: a name with a comma and a quote");
	csv_is("a b,b,y\n1,2,3\n", (struct how){ .loss = 'n', .target = "a b" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"b\"},{\"kind\":\"number\",\"name\":\"y\"}],\"shape\":[2]} "
	       "{\"columns\":[\"a b\"],\"labels\":null} 2 3 : 1;", "csv: names with spaces");
}

static void categories(void)
{
	struct how n = { .loss = 'n' };

	csv_is("a,c,y\n1,red,3\n2,\"blu\ne\",4\n3,,5\n", n,
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"category\",\"name\":\"c\",\"values\":"
	       "[\"\",\"blu\\ne\",\"red\"]}],\"shape\":[4]} " Y " 1 0 0 1 : 3; 2 0 1 0 : 4; 3 1 0 0 : 5;",
	       "csv: text becomes one-hot, bytewise sorted, empty is a value, newlines may be quoted");
	csv_is("c,y\n,3\n,4\nx,5\n", n,
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"\",\"x\"]}],\"shape\":[2]} " Y
	       " 1 0 : 3; 1 0 : 4; 0 1 : 5;", "csv: empty fields before the first text are values too");
	csv_is("c,y\n,3\n7,4\n", n, "1: t.csv:2:1: empty field in column \"c\", expected a number" HINT,
	       "csv: empty fields before the first number are missing");
	csv_is("c,y\n,3\n,4\n", n, "1: t.csv:2:1: empty field in column \"c\", which has no value at all",
	       "csv: a column without values is an error");
	csv_is("c,y\nx,3\n12,4\n", n,
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"12\",\"x\"]}],\"shape\":[2]} " Y
	       " 0 1 : 3; 1 0 : 4;", "csv: in a text column a number is text");
	put("v.csv", "y,c\n5,x\n6,new\n7,new\n");
	csv_is("c,y\nx,3\nz,4\n", (struct how){ .loss = 'n', .valid = "v.csv" },
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"x\",\"z\"]}],\"shape\":[2]} " Y
	       " 1 0 : 3; 0 1 : 4; | 1 0 : 5; 0 0 : 6; 0 0 : 7;"
	       " v.csv: 2 values of column \"c\" were not in the training data; they count as all zeros",
	       "csv: a value unseen in training is all zeros, and counted");
	csv_is("c,y\na,1\nb,1\nc,1\nd,1\ne,1\nf,1\ng,1\nh,1\ni,1\nj,1\nk,1\nl,1\nm,1\nn,1\no,1\np,1\nq,1\nr,1\ns,1\nt,1\n"
	       "u,1\nv,1\nw,1\nx,1\ny,1\nz,1\naa,1\nbb,1\ncc,1\ndd,1\nee,1\nff,1\ngg,1\n", n,
	       "1: t.csv:34:1: column \"c\" has more than 32 different values of text; an embedding takes such a "
	       "column: in the model NAME: input columns=COLUMN, and embedding 16 from=NAME",
	       "csv: 33 values of text are too many");
}

static void table_errors(void)
{
	struct how n = { .loss = 'n' };

	csv_is("a,b,y\n1,2,3\n4,5\n", n, "1: t.csv:3: expected 3 columns, got 2", "csv: a short row");
	csv_is("a,b,y\n1,2,3,4\n", n, "1: t.csv:2: expected 3 columns, got 4", "csv: a long row");
	csv_is("a,b,y\n1,2,3\n4,x,6\n", n, "1: t.csv:3:2: found \"x\" in column \"b\", expected a number", "csv: a bad number");
	csv_is("a,b,y\n1,2,3\n\"q\nq\",5,6\n", n, "1: t.csv:3:1: found \"q\\nq\" in column \"a\", expected a number",
	       "csv: control characters are shown as escapes");
	csv_is("a,b,y\n1,\"2\",3\n\"4\n\",5x,6\n", n, "1: t.csv:3:1: found \"4\\n\" in column \"a\", expected a number",
	       "csv: lines count as they stand in the file");
	csv_is("c,b,y\n\"x\ny\",2,3\n\"z\nz\",x,6\n", n, "1: t.csv:5:2: found \"x\" in column \"b\", expected a number",
	       "csv: a field after a quoted newline stands in the next line");
	csv_is("a,b,y\n1,7,3\n1,,3\n", n, "1: t.csv:3:2: empty field in column \"b\", expected a number" HINT, "csv: a missing number");
	csv_is("a,b,y\n1,2,3\n1,nan,3\n", n, "1: t.csv:3:2: found \"nan\" in column \"b\", expected a finite number" HINT, "csv: NaN");
	csv_is("a,b,y\nNaN,2,3\n", n, "1: t.csv:2:1: found \"NaN\" in column \"a\", expected a finite number" HINT,
	       "csv: NaN in the first row is no text");
	csv_is("a,b,y\n1,-Infinity,3\n", n, "1: t.csv:2:2: found \"-Infinity\" in column \"b\", expected a finite number",
	       "csv: an infinity");
	csv_is("a,b,y\n1,1e39,3\n", n, "1: t.csv:2:2: found \"1e39\" in column \"b\", expected a number that f32 can hold",
	       "csv: overflow of f32");
	csv_is("a,b,y\n1,2,1e39\n", n, "1: t.csv:2:3: found \"1e39\" in column \"y\", expected a number that f32 can hold",
	       "csv: overflow of a target");
	csv_is("a,b,y\n1,1e309,3\n", (struct how){ .loss = 'n', .f64 = true },
	       "1: t.csv:2:2: found \"1e309\" in column \"b\", expected a number that f64 can hold", "csv: overflow of f64");
	csv_is("a,b,y\n1,2,3\n1,2 ,3\n", n, "1: t.csv:3:2: found \"2 \" in column \"b\", expected a number",
	       "csv: blanks are no part of a number");
	csv_is("a,b,y\n1, 2,3\n", n, "1: t.csv:2:2: found \" 2\" in column \"b\", expected a number",
	       "csv: blanks do not make a number text");
	csv_is("1, 2,3\n", (struct how){ .target = "3" }, "1: t.csv:1:2: found \" 2\" in column 2, expected a number",
	       "csv: blanks do not make a header");
	csv_is("a,b,y\n1,1,3\n1,0x10,3\n", n, "1: t.csv:3:2: found \"0x10\" in column \"b\", expected a number", "csv: no hexadecimals");
	csv_is("a,b,y\n\n1,2,3\n", n, "1: t.csv:2: empty line", "csv: a blank line between others");
	csv_is("a,b,y\n1,2\r,3\n", n, "1: t.csv:2: carriage return without a newline", "csv: a lone CR");
	csv_is("a,b,y\r1,2,3\r", n, "1: t.csv:1: carriage return without a newline", "csv: lines that end in CR alone");
	csv_is("a,b,y\n1,\xe9,3\n", n, "1: t.csv:2: byte 0xe9 is not UTF-8", "csv: Latin-1 is refused");
	csv_is("\xff\xfe" "a\0,\0", n, "1: t.csv: is UTF-16 or binary, expected text in UTF-8", "csv: UTF-16 is refused");
	csv_is("a,b,y\n1,\"2,3\n", n, "1: t.csv:2: a quote is never closed", "csv: an open quote");
	csv_is("a,b,y\n1,\"2\"x,3\n", n, "1: t.csv:2:2: other characters follow the closing quote", "csv: text after a quote");
	csv_is("a,a,y\n1,2,3\n", n, "1: t.csv: column \"a\" occurs twice", "csv: a needed column that occurs twice");
	csv_is("y\n1\n", n, "1: t.csv: no columns are left as input", "csv: a target alone");
	csv_is("", n, "1: t.csv: is empty, expected CSV or TSV, .npy, IDX, .npz or safetensors", "csv: an empty file");
	csv_is("\n\n", n, "1: t.csv: has no rows", "csv: nothing but newlines");
	csv_is("a,b,yy\n1,2,3\n", n, "1: --target=y: t.csv has no such column; its columns: a, b, yy", "csv: a wrong target");
	csv_is("a,b,price\n1,2,3\n", (struct how){ .target = "prise" },
	       "1: --target=prise: t.csv has no such column; did you mean price?", "csv: a target misspelt");
	csv_is("a,b,y\n1,2,3\n", (struct how){ .target = "y,y" }, "2: --target: a column of t.csv is named twice", "csv: target twice");
	put("t.csv", "a,b,y\n1,2,3\n");
	text_is(show((struct how){ .data = "t.csv" }), "2: --target=COLUMN is needed for t.csv; its columns: a, b, y",
		"csv: --target is never guessed");
	text_is(show((struct how){ .data = "nowhere" }), "1: nowhere: cannot open: No such file or directory", "data: a missing file");
	text_is(show((struct how){ .data = "." }), "1: .: is a directory, expected a file", "data: a directory");
	text_is(show((struct how){ .data = "-", .targets = "-" }), "2: stdin cannot be both data and targets", "data: stdin twice");
	csv_is("a,b,y\n1,2,3\n", (struct how){ .loss = 'n', .shape = { 2, { 1, 3 } } },
	       "1: t.csv: samples are 2 (2 values), the input line says 1x3 (3)", "csv: columns that do not fill the input line");
}

static void meanings(void)
{
	csv_is("a,b,y\n1,2,3\n", (struct how){ 0 }, "2: t.csv: the integers of y could be classes or numbers; say "
	       "--loss=cross-entropy for classes or --loss=mse for a number", "targets: integers of a CSV are ambiguous");
	csv_is("a,b,y\n1,2,3.0\n4,5,6\n", (struct how){ 0 }, AB Y " 1 2 : 3; 4 5 : 6;", "targets: a point makes numbers");
	csv_is("a,b,y\n1,2,3e0\n4,5,6\n", (struct how){ 0 }, AB Y " 1 2 : 3; 4 5 : 6;", "targets: an exponent makes numbers");
	csv_is("a,b,y\n1,2,no\n4,5,yes\n6,7,no\n", (struct how){ 0 },
	       AB "{\"columns\":[\"y\"],\"labels\":[\"no\",\"yes\"]} 1 2 : 0; 4 5 : 1; 6 7 : 0;", "targets: text makes classes");
	csv_is("a,b,y\n1,2,9\n4,5,-10\n6,7,9\n", (struct how){ .loss = 'c' },
	       AB "{\"columns\":[\"y\"],\"labels\":[-10,9]} 1 2 : 1; 4 5 : 0; 6 7 : 1;", "targets: integers are ordered by value");
	csv_is("a,b,y\n1,2,2\n4,5,1\n", (struct how){ .loss = 'c', .size = 4 },
	       AB "{\"columns\":[\"y\"],\"labels\":[0,1,2,3]} 1 2 : 2; 4 5 : 1;",
	       "targets: with a size N, labels in 0..N-1 are class numbers");
	csv_is("a,b,y\n1,2,4\n4,5,1\n", (struct how){ .loss = 'c', .size = 4 },
	       AB "{\"columns\":[\"y\"],\"labels\":[1,4]} 1 2 : 1; 4 5 : 0;", "targets: others are ranks among the labels");
	csv_is("a,b,y\n1,2,4\n4,5,1\n6,7,2\n", (struct how){ .loss = 'c', .size = 2 },
	       "1: t.csv: found 3 different labels, the output line has room for 2", "targets: more labels than the output line has");
	csv_is("a,b,y\n1,2,4.5\n", (struct how){ .loss = 'c' }, "1: t.csv:2: y is a number with a point or exponent, but the loss "
	       "wants classes; --loss=mse learns numbers", "targets: fractions are no classes");
	csv_is("a,b,y\n1,2,x\n", (struct how){ .loss = 'n' }, "1: t.csv: y is text, but the loss wants numbers",
	       "targets: text is no number");
	csv_is("a,y,b\n1,x,2\n", (struct how){ .target = "y,b" }, "1: t.csv: y is text among 2 target columns; several class "
	       "targets need named outputs", "targets: two class targets");
	csv_is("a,b,y\n1,0.25,0.75\n", (struct how){ .loss = 'c', .target = "b,y" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"}],\"shape\":[1]} "
	       "{\"columns\":[\"b\",\"y\"],\"labels\":[\"b\",\"y\"]} 1 : 0.25 0.75;", "targets: columns of probabilities");
	csv_is("a,b,y\n1,0.25,7\n", (struct how){ .loss = 'c', .target = "b,y" },
	       "1: t.csv: row 1, column 2: found 7, expected a probability", "targets: 7 is no probability");
	csv_is("a,b,y\n1,2,99999999999999999999\n", (struct how){ .loss = 'c' }, "1: t.csv: row 1: a label beyond 2^53",
	       "targets: labels that are too large");
	put("v.csv", "a,b,y\n1,2,5\n3,4,7\n");
	csv_is("a,b,y\n1,2,7\n4,5,9\n", (struct how){ .loss = 'c', .valid = "v.csv" },
	       AB "{\"columns\":[\"y\"],\"labels\":[5,7,9]} 1 2 : 1; 4 5 : 2; | 1 2 : 0; 3 4 : 1;",
	       "targets: labels of training and held-out rows are joined");
	csv_is("a,b,y\n1,2,u\n4,5,x\n", (struct how){ .valid = "v.csv" },
	       AB "{\"columns\":[\"y\"],\"labels\":[\"5\",\"7\",\"u\",\"x\"]} 1 2 : 2; 4 5 : 3; | 1 2 : 0; 3 4 : 1;",
	       "targets: held-out numbers are text where labels are");
	put("v.csv", "a,b,y\n1,2,u\n");
	csv_is("a,b,y\n1,2,7\n4,5,9\n", (struct how){ .loss = 'c', .valid = "v.csv" },
	       "1: v.csv:2:3: found \"u\" in column \"y\", expected an integer, as all other labels are",
	       "targets: held-out text where labels are integers");
}

static void normalizing(void)
{
	csv_is("a,b,y\n1,5,10.5\n3,5,12.5\n", (struct how){ .normalize = "auto" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":2,\"name\":\"a\",\"sd\":1},{\"kind\":\"number\",\"mean\":5,\"name\":\"b\",\"sd\":1}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null,\"mean\":[11.5],\"sd\":[1]} -1 0 : -1; 1 0 : 1;",
	       "normalize: auto standardizes columns and targets; a deviation of 0 counts as 1");
	csv_is("a,b,y\n1,5,1\n3,5,0\n", (struct how){ .normalize = "auto", .loss = 'b' },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":2,\"name\":\"a\",\"sd\":1},{\"kind\":\"number\",\"mean\":5,\"name\":\"b\",\"sd\":1}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null} -1 0 : 1; 1 0 : 0;", "normalize: targets of bce stay");
	csv_is("a,b,y\n1,5,10.5\n5,6,12.5\n", (struct how){ .normalize = "minmax" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":4},{\"kind\":\"number\",\"mean\":5,\"name\":\"b\",\"sd\":1}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null,\"mean\":[11.5],\"sd\":[1]} 0 0 : -1; 1 1 : 1;",
	       "normalize: minmax takes inputs to 0..1");
	csv_is("a,b,y\n1,5,10.5\n5,6,12.5\n", (struct how){ .normalize = "0.5" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":0,\"name\":\"a\",\"sd\":2},{\"kind\":\"number\",\"mean\":0,\"name\":\"b\",\"sd\":2}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null} 0.5 2.5 : 10.5; 2.5 3 : 12.5;", "normalize: a factor");
	csv_is("a,b,y\n1,5,10.5\n", (struct how){ .normalize = "bogus" },
	       "2: --normalize=bogus: expected auto, none, standard, minmax or a factor above 0", "normalize: a wrong word");
}

/* ---- arrays ---- */

static void put_array(const char *name, const char *dtype, const char *shape, const void *data, size_t n)
{
	char file[1024], dict[200];
	size_t length = (size_t)snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", dtype, shape);

	memcpy(file, "\x93NUMPY\1\0", 8);
	file[8] = (char)length, file[9] = 0;
	memcpy(file + 10, dict, length);
	memcpy(file + 10 + length, data, n);
	put_bytes(name, file, 10 + length + n);
}

static void arrays(void)
{
	static const float x[4] = { 1, 2, 3, 4 }, bad[4] = { 1, 2, 3, 0.0f / 0.0f }, probs[4] = { 0, 1, 0.5f, 0.5f };
	static const int64_t y[2] = { 7, 3 };
	static const double wide[2] = { 1e300, 1 };
	static const unsigned char u[4] = { 0, 51, 102, 255 };
	struct how h = { .data = "x.npy", .targets = "y.npy" };

	put_array("x.npy", "<f4", "2, 2", x, 16);
	put_array("y.npy", "<i8", "2,", y, 16);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[3,7]} 1 2 : 1; 3 4 : 0;",
		"npy: integers are classes, float arrays stay as they are");
	h.loss = 'n';
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":null} 1 2 : 7; 3 4 : 3;", "npy: integers as numbers");
	h.loss = 0, h.normalize = "standard";
	text_is(show(h), "{\"columns\":[{\"kind\":\"number\",\"mean\":2,\"sd\":1},{\"kind\":\"number\",\"mean\":3,\"sd\":1}],\"shape\":[2]} "
		"{\"columns\":[null],\"labels\":[3,7]} -1 -1 : 1; 1 1 : 0;", "npy: --normalize=standard measures arrays");
	h.normalize = NULL;
	put_array("y.npy", "<i8", "2, 1", y, 16);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[3,7]} 1 2 : 1; 3 4 : 0;", "npy: [n,1] integers are classes");
	put_array("y.npy", "<i8", "1, 2", y, 16);
	text_is(show(h), "1: y.npy: found 1 rows, expected 2 as in x.npy", "npy: as many targets as samples");
	put_array("y.npy", "<f4", "2, 2", x, 16);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null,null],\"labels\":null} 1 2 : 1 2; 3 4 : 3 4;", "npy: float targets are numbers");
	h.loss = 'c';
	put_array("y.npy", "<f4", "2, 2", probs, 16);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null,null],\"labels\":[0,1]} 1 2 : 0 1; 3 4 : 0.5 0.5;",
		"npy: float rows are probabilities for cross-entropy");
	put_array("y.npy", "<f4", "2,", probs, 8);
	text_is(show(h), "1: y.npy: found f32 values, but the loss wants classes: integers, or a row of probabilities",
		"npy: a float is no class");
	h.loss = 0;
	put_array("y.npy", "|b1", "2,", "\1\0", 2);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[0,1]} 1 2 : 1; 3 4 : 0;", "npy: bool is two classes");
	put_array("x.npy", "<f4", "2, 2", bad, 16);
	text_is(show(h), "1: x.npy: row 2, column 2: found nan, expected a finite number", "npy: NaN by row and column");
	put_array("x.npy", "<f8", "2,", wide, 16);
	text_is(show(h), "1: x.npy: row 1, column 1: found 1e300, expected a finite number within f32", "npy: f64 beyond f32");
	h.f64 = true;
	text_is(show(h), "{\"shape\":[1]} {\"columns\":[null],\"labels\":[0,1]} 1e300 : 1; 1 : 0;", "npy: f64 as f64, 1-d is one feature");
	h.f64 = false;
	put_array("x.npy", "|u1", "2, 2", u, 4);
	text_is(show(h), "{\"shape\":[2]} {\"columns\":[null],\"labels\":[0,1]} 0 51 : 1; 102 255 : 0;", "npy: u8 arrays are not scaled");
	put_array("x.npy", "<f2", "2,", "\0\x3c\0\xc1", 4);
	text_is(show(h), "{\"shape\":[1]} {\"columns\":[null],\"labels\":[0,1]} 1 : 1; -2.5 : 0;", "npy: f16");
	put_array("x.npy", ">i2", "2, 1, 1, 1", "\0\1\xff\xff", 4);
	h.as_is = true;
	text_is(show(h), "{\"shape\":[1,1,1]} {\"columns\":[null],\"labels\":[0,1]} 1 : 1; -1 : 0;", "npy: big-endian integers, any rank");
	put_array("x.npy", "<f4", "", x, 4);
	text_is(show(h), "1: x.npy: found a single value without dimensions, expected rows", "npy: 0-d is no samples");
	put_array("x.npy", "<f4", "0, 3", x, 0);
	put_array("y.npy", "<i8", "0,", x, 0);
	text_is(show(h), "{\"shape\":[3]} {\"columns\":[null],\"labels\":[]}", "npy: zero rows");
	put_array("x.npy", "<f4", "2, 0", x, 0);
	text_is(show(h), "1: x.npy: samples have no values", "npy: samples without values");
	put_array("x.npy", "<f4", "2, 2", x, 16);
	text_is(show((struct how){ .data = "x.npy" }), "1: x.npy: has no targets; give them as a second file", "npy: targets are a second file");
	text_is(show((struct how){ .data = "x.npy", .target = "y" }), "1: x.npy: is an array without columns, so --target=y is not in "
		"it; targets are a file of their own", "npy: --target has no column");
	put("t.csv", "label\nb\na\n");
	text_is(show((struct how){ .data = "x.npy", .targets = "t.csv" }),
		"{\"shape\":[2]} {\"columns\":[\"label\"],\"labels\":[\"a\",\"b\"]} 1 2 : 1; 3 4 : 0;", "npy: targets from a CSV of one column");
	put("t.csv", "id,label\n1,b\n2,a\n");
	text_is(show((struct how){ .data = "x.npy", .targets = "t.csv" }),
		"2: --target=COLUMN is needed for t.csv; its columns: id, label", "npy: of two columns none is guessed");
	text_is(show((struct how){ .data = "x.npy", .targets = "t.csv", .target = "label" }),
		"{\"shape\":[2]} {\"columns\":[\"label\"],\"labels\":[\"a\",\"b\"]} 1 2 : 1; 3 4 : 0;", "npy: --target names the column of TARGETS");
}

static void idx(void)
{
	static const char pictures[] = "\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\1\0\xff\x33\x66";
	static const char labels[] = "\0\0\x08\1\0\0\0\2\5\3";
	struct how h = { .data = "p", .targets = "l", .as_is = true };

	put_bytes("p", pictures, sizeof pictures - 1);
	put_bytes("l", labels, sizeof labels - 1);
	text_is(show(h), "{\"scale\":0.00392156862745098,\"shape\":[1,2,1]} {\"columns\":[null],\"labels\":[3,5]} 0 1 : 1; 0.20000002 0.40000004 : 0;",
		"idx: pictures are 1xHxW and scaled by 1/255");
	h.normalize = "none";
	text_is(show(h), "{\"shape\":[1,2,1]} {\"columns\":[null],\"labels\":[3,5]} 0 255 : 1; 51 102 : 0;", "idx: --normalize=none");
	h.normalize = "0.5", h.as_is = false;
	text_is(show(h), "{\"scale\":0.5,\"shape\":[2]} {\"columns\":[null],\"labels\":[3,5]} 0 127.5 : 1; 25.5 51 : 0;", "idx: a factor");
	h.normalize = "standard";
	text_is(show(h), "{\"columns\":[{\"kind\":\"number\",\"mean\":25.5,\"sd\":25.5},{\"kind\":\"number\",\"mean\":178.5,\"sd\":76.5}],"
		"\"shape\":[2]} {\"columns\":[null],\"labels\":[3,5]} -1 1 : 1; 1 -1 : 0;", "idx: --normalize=standard");
	put_bytes("p", pictures, sizeof pictures - 2);
	text_is(show(h), "1: p: ends early: the IDX header promises 4 bytes of data, found 3", "idx: a short file");
	put_bytes("p", pictures, sizeof pictures);
	text_is(show(h), "1: p: other bytes follow the array", "idx: a long file");
	put_bytes("l", labels, sizeof labels - 2);
	put_bytes("p", pictures, sizeof pictures - 1);
	text_is(show(h), "1: l: ends early: the IDX header promises 2 bytes of data, found 1", "idx: short labels");
	if (run("gzip -kf p l 2>/dev/null; printf '\\0\\0\\010\\001\\0\\0\\0\\002\\005\\003' | gzip > l.gz; head -c 20 p.gz > cut.gz") == 0) {
		text_is(show((struct how){ .data = "p.gz", .targets = "l.gz" }),
			"{\"scale\":0.00392156862745098,\"shape\":[2]} {\"columns\":[null],\"labels\":[3,5]} 0 1 : 1; 0.20000002 0.40000004 : 0;",
			"idx: through gzip");
		text_is(show((struct how){ .data = "cut.gz", .targets = "l.gz" }), "1: cut.gz: the gzip data end early", "idx: cut gzip");
	}
	/* a header that promises four gigabytes to a pipe */
	if (run("mkfifo liar; printf '\\0\\0\\010\\003\\377\\377\\0\\0\\0\\0\\377\\0\\0\\0\\001\\0abc' > liar &") == 0)
		text_is(show((struct how){ .data = "liar", .targets = "l" }),
			"1: liar: the array ends early: expected 71775023844556800 bytes, found 3", "idx: a pipe is believed step by step");
}

static void tensors(void)
{
	static const char file[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
				   "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[8,10]}}";
	float x[2] = { 1, 2 };
	char bytes[300] = { (char)(sizeof file - 1) };

	memcpy(bytes + 8, file, sizeof file - 1);
	memcpy(bytes + 7 + sizeof file, x, 8);
	bytes[15 + sizeof file] = 4;
	put_bytes("d.st", bytes, 17 + sizeof file);
	text_is(show((struct how){ .data = "d.st" }), "{\"shape\":[1]} {\"columns\":[null],\"labels\":[0,4]} 1 : 1; 2 : 0;",
		"safetensors: x and y are data");
	bytes[10] = 'z';
	put_bytes("d.st", bytes, 17 + sizeof file);
	text_is(show((struct how){ .data = "d.st" }), "1: d.st: has no tensor x; its tensors: y, z", "safetensors: other names are listed");
}

static void layouts(void)
{
	static const float x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

	put_array("x.npy", "<f4", "1, 3, 2, 2", x, 48);
	put_array("y.npy", "|u1", "1,", "\1", 1);
	text_is(show((struct how){ .data = "x.npy", .targets = "y.npy", .as_is = true, .last = true }),
		"{\"shape\":[3,2,2]} {\"columns\":[null],\"labels\":[1]} 1 5 9 2 6 10 3 7 11 4 8 12 : 0;", "fill: channels last, three of them");
	text_is(show((struct how){ .data = "x.npy", .targets = "y.npy", .shape = { 3, { 2, 3, 2 } }, .last = true }),
		"{\"shape\":[2,3,2]} {\"columns\":[null],\"labels\":[1]} 1 7 2 8 3 9 4 10 5 11 6 12 : 0;", "fill: channels last, two");
	csv_is("a,b,c,d,y\n1,2,3,4,5\n", (struct how){ .loss = 'n', .shape = { 3, { 2, 1, 2 } }, .last = true },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"number\",\"name\":\"b\"},{\"kind\":\"number\",\"name\":\"c\"},"
	       "{\"kind\":\"number\",\"name\":\"d\"}],\"shape\":[2,1,2]} " Y " 1 3 2 4 : 5;", "fill: columns as channels, last");
	put_array("y.npy", "|u1", "1, 2, 2", "\3\1\1\3", 4);
	text_is(show((struct how){ .data = "x.npy", .targets = "y.npy", .as_is = true }),
		"{\"shape\":[3,2,2]} {\"columns\":[null],\"labels\":[1,3]} 1 2 3 4 5 6 7 8 9 10 11 12 : 1 0 0 1;",
		"targets: integers of [n,h,w] are a class per position");
}

/* ---- several inputs and targets, start models ---- */

static void several(void)
{
	static const char *const wide[] = { "a", "c" }, *const city[] = { "c" };
	struct nn_want_input inputs[2] = { { .name = "wide", .columns = wide, .n_columns = 2 },
					   { .name = "city", .columns = city, .n_columns = 1 } };
	struct nn_want_target targets[2] = { { .columns = "y" }, { .name = "steer", .columns = "z", .numbers = true } };
	struct nn_want want = { .inputs = inputs, .n_inputs = 2, .targets = targets, .n_targets = 2, .dtype = NN_F32 };
	struct nn_data_options options = { .normalize = "none" };
	struct nn_dataset *ds;
	struct nn_error err = {0};
	uint64_t rows[2] = { 1, 0 };
	float values[6], z[2];
	int32_t y[2];

	put("t.csv", "z,a,c,y,unused\n5,1,p,no,?\n6,2,q,yes,\n");
	if (!ok(nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0 && nn_dataset_measure(ds, rows, 2, &err) == 0,
		"inputs: two of them share a column"))
		return;
	nn_text_clear(&shown);
	nn_schema_input_json(nn_dataset_schema(ds), &shown);
	nn_schema_target_json(nn_dataset_schema(ds), &shown);
	text_is(shown.data, "[{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"p\",\"q\"]}],"
		"\"name\":\"wide\",\"shape\":[3]},{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"p\",\"q\"]}],"
		"\"name\":\"city\",\"shape\":[2]}][{\"columns\":[\"y\"],\"labels\":[\"no\",\"yes\"]},{\"columns\":[\"z\"],\"labels\":null,"
		"\"name\":\"steer\"}]", "schema: several inputs and targets are arrays");
	nn_dataset_fill_input(ds, 0, rows, 2, false, values);
	ok(values[0] == 2 && values[1] == 0 && values[2] == 1 && values[3] == 1 && values[4] == 1 && values[5] == 0,
	   "fill: rows are gathered by number");
	nn_dataset_fill_input(ds, 1, rows, 2, false, values);
	ok(values[0] == 0 && values[1] == 1 && values[2] == 1 && values[3] == 0, "fill: the second input");
	nn_dataset_fill_target(ds, 0, rows, 2, y);
	nn_dataset_fill_target(ds, 1, rows, 2, z);
	ok(y[0] == 1 && y[1] == 0 && z[0] == 6 && z[1] == 5, "fill: both targets");
	nn_dataset_free(ds);
}

static void start_models(void)
{
	struct nn_schema *schema;
	struct nn_error err = {0};
	const char *input = "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":2},{\"kind\":\"category\",\"name\":\"c\","
			    "\"values\":[\"x\",\"z\"]}],\"shape\":[3]}";

	if (!ok(nn_schema_parse(&schema, input, "{\"columns\":[\"y\"],\"labels\":[4,2]}", &err) == 0, "schema: is parsed"))
		return;
	csv_is("c,y,a\nz,4,3\nx,2,1\n", (struct how){ .schema = schema, .normalize = "auto" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":2},{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"x\",\"z\"]}],"
	       "\"shape\":[3]} {\"columns\":[\"y\"],\"labels\":[4,2]} 1 0 1 : 0; 0 1 0 : 1;",
	       "start model: columns by name, its scales, its labels in its order");
	csv_is("c,y,a\nz,5,3\n", (struct how){ .schema = schema },
	       "1: t.csv: row 1: a label that is not among those of the start model", "start model: a new label");
	csv_is("y,a\n4,3\n", (struct how){ .schema = schema }, "1: t.csv: has no column \"c\"; its columns: y, a", "start model: a missing column");
	nn_schema_free(schema);
}

static void schema_fails(const char *input, const char *target, const char *wanted)
{
	struct nn_schema *schema = NULL;
	struct nn_error err = {0};
	int status = nn_schema_parse(&schema, input, target, &err);
	char claim[200];

	snprintf(claim, sizeof claim, "schema: %s", wanted);
	fails_as(status, &err, NN_EFORMAT, wanted, claim);
	if (status == 0)
		nn_schema_free(schema);
}

static void schemas(void)
{
	schema_fails("3", NULL, "nn.input: JSON: '[' or '{' expected near '3'");
	schema_fails("{}", NULL, "nn.input: shape is no array of at most 8 numbers");
	schema_fails("{\"shape\":[0]}", NULL, "nn.input: shape[0] is no whole number from 1");
	schema_fails("{\"shape\":[4294967296,4294967296,4294967296]}", NULL, "nn.input: the product of the shape's dimensions overflows");
	schema_fails("{\"shape\":[2],\"columns\":[{\"kind\":\"number\"}]}", NULL, "nn.input: columns give 1 values, the shape has 2");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"text\"}]}", NULL,
		     "nn.input: columns[0]: kind is neither \"number\", \"category\" nor \"hash\"");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"number\",\"mean\":0,\"sd\":0}]}", NULL,
		     "nn.input: columns[0]: mean and sd are not two numbers, sd above 0");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"category\",\"values\":[1]}]}", NULL, "nn.input: columns[0]: values is no string");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"number\",\"name\":7}]}", NULL, "nn.input: columns[0]: name is no string");
	schema_fails("{\"shape\":[3],\"columns\":[{\"kind\":\"number\",\"name\":\"b\"},{\"kind\":\"number\",\"name\":\"a\"},"
		     "{\"kind\":\"number\",\"name\":\"b\"}]}", NULL, "nn.input: two columns are named \"b\"");
	schema_fails("{\"shape\":[1],\"scale\":\"1\"}", NULL, "nn.input: scale is no number other than 0");
	schema_fails("[{\"shape\":[1]},4]", NULL, "nn.input: [1]: is no object");
	schema_fails(NULL, "{\"columns\":[]}", "nn.target: columns is no array of names");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":[1,\"a\"]}", "nn.target: labels[1] is no whole number");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":[\"a\",1]}", "nn.target: labels is no string");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":null,\"mean\":[1],\"sd\":[-1]}", "nn.target: sd[0] is no number above 0");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":null,\"mean\":[1,2],\"sd\":[1]}", "nn.target: mean is no array of 1 numbers");
}

/* ---- order ---- */

static void shuffles(void)
{
	uint64_t rows[1000], order[1000], again[1000];
	bool seen[1000] = {0}, all = true, inside = true;
	size_t counts[3][3] = {{0}};
	uint32_t x[4];

	for (size_t i = 0; i < 1000; i++)
		rows[i] = i;
	nn_shuffle(7, 3, rows, order, 1000, UINT64_MAX);
	nn_shuffle(7, 3, rows, again, 1000, UINT64_MAX);
	for (size_t i = 0; i < 1000; i++)
		seen[order[i]] = true;
	for (size_t i = 0; i < 1000; i++)
		all &= seen[i];
	ok(all && memcmp(order, rows, sizeof rows) != 0, "shuffle: a permutation");
	ok(memcmp(order, again, sizeof again) == 0, "shuffle: the same for the same seed and epoch");
	nn_shuffle(7, 4, rows, again, 1000, UINT64_MAX);
	ok(memcmp(order, again, sizeof again) != 0, "shuffle: another for another epoch");
	nn_shuffle(8, 3, rows, again, 1000, UINT64_MAX);
	ok(memcmp(order, again, sizeof again) != 0, "shuffle: another for another seed");
	nn_shuffle(7, 3, rows, order, 1000, 0);
	ok(memcmp(order, rows, sizeof rows) == 0, "shuffle: none");
	nn_shuffle(7, 3, rows, order, 1000, 300);
	for (size_t i = 0; i < 1000; i++)
		inside &= order[i] / 300 == i / 300;
	ok(inside && memcmp(order, rows, sizeof rows) != 0, "shuffle: inside windows");
	nn_shuffle(7, 3, rows, order, 1, UINT64_MAX);
	nn_shuffle(7, 3, rows, order, 0, UINT64_MAX);
	ok(order[0] == 0, "shuffle: of one row and of none");
	for (uint64_t seed = 0; seed < 3000; seed++) {
		nn_shuffle(seed, 0, rows, order, 3, UINT64_MAX);
		for (size_t i = 0; i < 3; i++)
			counts[i][order[i]]++;
	}
	all = true;
	for (size_t i = 0; i < 9; i++)       /* 1000 expected, deviation 26 */
		all &= counts[i / 3][i % 3] > 870 && counts[i / 3][i % 3] < 1130;
	ok(all, "shuffle: every row is equally likely at every place");
	/* the definition, for two rows: k = 1, n = 2 takes the highest bit */
	nn_shuffle(42, 5, rows, order, 2, UINT64_MAX);
	nn_philox(42, (5ull << 40) + 1, NN_STREAM_SHUFFLE, 0, x);
	ok(order[0] == (x[1] >> 31 ? 0 : 1), "shuffle: is what data.h defines");
}

static size_t count_held(const bool *held, size_t begin, size_t end)
{
	size_t n = 0;

	for (size_t i = begin; i < end; i++)
		n += held[i];
	return n;
}

static void splits(void)
{
	struct nn_data_options options = { .target = "y", .normalize = "none" };
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .classes = true };
	struct nn_want want = { .inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32 };
	struct nn_dataset *ds;
	struct nn_error err = {0};
	static bool held[100], again[100];
	struct nn_text csv = {0};

	nn_text_add(&csv, "a,y\n");
	for (int i = 0; i < 100; i++)        /* 15 of class 0, 25 of 1, 60 of 2 */
		nn_text_addf(&csv, "%d,%d\n", i, i < 15 ? 0 : i < 40 ? 1 : 2);
	put("t.csv", csv.data);
	if (!ok(nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0, "split: data"))
		return;
	ok(nn_split(ds, 0.1, 1, held, &err) == 0 && count_held(held, 0, 15) == 2 && count_held(held, 15, 40) == 2 &&
	   count_held(held, 40, 100) == 6, "split: stratified, equal remainders go to the smaller class");
	ok(nn_split(ds, 0.29, 1, held, &err) == 0 && count_held(held, 0, 100) == 29, "split: 0.29 of 100 is 29");
	nn_split(ds, 0.1, 1, held, &err);
	nn_split(ds, 0.1, 2, again, &err);
	ok(memcmp(held, again, sizeof held) != 0, "split: another seed, other rows");
	nn_split(ds, 0.1, 1, again, &err);
	ok(memcmp(held, again, sizeof held) == 0, "split: the same seed, the same rows");
	nn_dataset_free(ds);
	target = (struct nn_want_target){ .numbers = true };
	if (nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0) {
		uint64_t largest = 0, least = UINT64_MAX;

		nn_split(ds, 0.25, 9, held, &err);
		for (size_t i = 0; i < 100; i++) {
			uint32_t x[4];
			uint64_t value;

			nn_philox(9, i, NN_STREAM_SPLIT, 0, x);
			value = (uint64_t)x[1] << 32 | x[0];
			if (held[i] && value > largest)
				largest = value;
			if (!held[i] && value < least)
				least = value;
		}
		ok(count_held(held, 0, 100) == 25 && largest < least, "split: the rows with the smallest Philox values");
		ok(nn_split(ds, 0, 9, held, &err) == 0 && count_held(held, 0, 100) == 0 &&
		   nn_split(ds, 0.999, 9, held, &err) == 0 && count_held(held, 0, 100) == 99, "split: nothing and nearly all");
		nn_dataset_free(ds);
	}
	nn_text_free(&csv);
}

/* A row that is left out keeps its number: the others are held out as if it were there. */
static void splits_around_missing(void)
{
	struct nn_data_options options = { .target = "y", .missing = NN_MISSING_DROP };
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .numbers = true };
	struct nn_want want = { .inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32 };
	bool held[100], again[100], kept = true;
	size_t n = 0;
	struct nn_text csv = {0};
	struct nn_dataset *ds;
	struct nn_error err;

	for (int hole = 0; hole < 2; hole++) {
		nn_text_clear(&csv);
		nn_text_add(&csv, "a,y\n");
		for (int i = 0; i < 100; i++)
			nn_text_addf(&csv, hole && (i == 3 || held[i]) && i < 50 ? ",%d\n" : "1,%d\n", i);
		put("t.csv", csv.data);
		if (!ok(nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0, "split: data"))
			break;
		nn_split(ds, 0.25, 9, hole ? again : held, &err);
		for (size_t i = 0; i < 100; i++)
			kept &= nn_dataset_left_out(ds, i) == (hole && (i == 3 || held[i]) && i < 50);
		for (size_t i = 0; i < 100; i++)
			n += nn_dataset_left_out(ds, i);
		nn_dataset_free(ds);
	}
	ok(kept, "missing: the rows without a value are left out, and no others");
	for (size_t i = 50; i < 100; i++)
		kept &= !held[i] || again[i];
	ok(kept && count_held(again, 0, 100) == (100 - n) / 4,
	   "split: rows left out are never held out, the others by their numbers in the data as given");
	nn_text_free(&csv);
}

static void files_stay(void)
{
	struct nn_data_options options = { .target = "y" };
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .numbers = true };
	struct nn_want want = { .inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32 };
	struct nn_dataset *a, *b;
	struct nn_error err = {0};

	put("t.csv", "a,y\n1,2\n");
	put("u.csv", "a,y\n1,2\n");
	if (nn_dataset_open(&a, "t.csv", NULL, &options, &want, &err) < 0 || nn_dataset_open(&b, "u.csv", NULL, &options, &want, &err) < 0)
		return;
	text_is(nn_dataset_hash(a), nn_dataset_hash(b), "hash: equal for equal files");
	ok(nn_dataset_unchanged(a, &err) == 0, "dataset: unchanged files");
	put("t.csv", "a,y\n1,2\n3,4\n");
	fails_as(nn_dataset_unchanged(a, &err), &err, NN_EFAIL, "t.csv: changed while training", "dataset: a changed file is named");
	unlink("u.csv");
	ok(nn_dataset_unchanged(b, &err) == 0, "dataset: a removed file does no harm");
	nn_dataset_free(b);
	if (nn_dataset_open(&b, "t.csv", NULL, &options, &want, &err) == 0) {
		ok(strcmp(nn_dataset_hash(a), nn_dataset_hash(b)) != 0, "hash: other for other files");
		nn_dataset_free(b);
	}
	nn_dataset_free(a);
}

int main(void)
{
	go_to_tmp();
	tables();
	categories();
	table_errors();
	meanings();
	normalizing();
	arrays();
	idx();
	tensors();
	layouts();
	several();
	start_models();
	schemas();
	shuffles();
	splits();
	splits_around_missing();
	files_stay();
	nn_text_free(&shown);
	return tests_done();
}
