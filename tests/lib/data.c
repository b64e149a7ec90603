/* Datasets: what tables become, which schema they give, and what is said of bad ones. */
#include "base/text.h"
#include "data/data.h"
#include "data-show.h"

static void tables(void)
{
	struct how n = { .loss = 'n' };
	const char *two = AB Y " 1 2 : 3; 4 5 : 6;";

	csv_is("a,b,y\n1,2,3\n4,5,6\n", n, two, "csv: plain");
	csv_is("a,b,y\n1,2,3\n4,5,6", n, two, "csv: the last line needs no newline");
	csv_is("a,b,y\r\n1,2,3\r\n4,5,6\r\n", n, two, "csv: CRLF");
	csv_is("a,b,y\r\n1,2,3\r\n4,5,6", n, two, "csv: CRLF without the last");
	csv_is("\xef\xbb\xbf"
	       "a,b,y\n1,2,3\n4,5,6\n",
	       n, two, "csv: a BOM");
	csv_is("a\tb\ty\n1\t2\t3\n4\t5\t6\n", n, two, "tsv: tabs");
	csv_is("\"a\",b,\"y\"\n1,\"2\",3\n\"4\",5,6\n", n, two, "csv: quoted names and numbers");
	csv_is("a,b,y\n1,2,3\n4,5,6\n\n\r\n\n", n, two, "csv: blank lines at the end are ignored");
	csv_is("a,y,b\n1,3,2\n4,6,5\n", n, two, "csv: the target is taken out wherever it stands");
	csv_is("a,b,y\n+1,2.,3e0\n.4e1,+5.0,6\n", n, two, "csv: signs, points and exponents");
	csv_is("a,b,y\n1e-400,-0,3\n16777217,0.1,1\n", n, AB Y " 0 -0 : 3; 16777216 0.1 : 1;",
	       "csv: underflow is 0, numbers are rounded once");
	/* the nearest double lies halfway between two floats, the number does not */
	csv_is("a,b,y\n0.003016072674654424,0.03857284225523472,3\n-4.171156167984009,0."
	       "006402610102668405,1\n",
	       n, AB Y " 0.0030160726 0.038572844 : 3; -4.1711564 0.0064026103 : 1;",
	       "csv: not rounded twice on the way to f32");
	csv_is("a,b,y\n16777217,0.1,1\n", (struct how){ .loss = 'n', .f64 = true },
	       AB Y " 16777217 0.1 : 1;", "csv: f64");
	csv_is("1,2,3\n4,5,6\n", (struct how){ .loss = 'n', .target = "3" },
	       "{\"columns\":[{\"kind\":\"number\",\"position\":1},{\"kind\":\"number\","
	       "\"position\":2}],\"shape\":[2]} "
	       "{\"columns\":[3],\"labels\":null} 1 2 : 3; 4 5 : 6;",
	       "csv: without a header columns count");
	csv_is("1,2,3\n4,5,6\n",
	       (struct how){ .loss = 'n', .target = "3", .header = NN_HEADER_YES },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"1\"},{\"kind\":\"number\",\"name\":"
	       "\"2\"}],\"shape\":[2]} "
	       "{\"columns\":[\"3\"],\"labels\":null} 4 5 : 6;",
	       "csv: --header=yes makes names of numbers");
	csv_is("a,b,y\n", n, AB Y, "csv: no rows are no error");
	csv_is("a,b,y\n1,2,3\n4,5,6\n", (struct how){ .loss = 'n', .target = "b,y" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"}],\"shape\":[1]} "
	       "{\"columns\":[\"b\",\"y\"],\"labels\":null}"
	       " 1 : 2 3; 4 : 5 6;",
	       "csv: two target columns are one target");
	csv_is("\"a,\"\"x\",y\n1,2\n", (struct how){ .loss = 'n', .target = "\"a,\"\"x\"" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"y\"}],\"shape\":[1]} "
	       "{\"columns\":[\"a,\\\"x\"],\"labels\":null} 2 : 1;",
	       "csv: a name with a comma and a quote");
	csv_is("a b,b,y\n1,2,3\n", (struct how){ .loss = 'n', .target = "a b" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"b\"},{\"kind\":\"number\",\"name\":"
	       "\"y\"}],\"shape\":[2]} "
	       "{\"columns\":[\"a b\"],\"labels\":null} 2 3 : 1;",
	       "csv: names with spaces");
	csv_is("a;y;b,\"x\n1;3;2\n", n,
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"number\",\"name\":"
	       "\"b,\\\"x\"}],\"shape\":[2]} " Y " 1 2 : 3;",
	       "csv: a quote behind a comma means itself where a semicolon separates");
}

static void categories(void)
{
	struct how n = { .loss = 'n' };

	csv_is("a,c,y\n1,red,3\n2,\"blu\ne\",4\n3,,5\n", n,
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"category\",\"name\":"
	       "\"c\",\"values\":"
	       "[\"\",\"blu\\ne\",\"red\"]}],\"shape\":[4]} " Y
	       " 1 0 0 1 : 3; 2 0 1 0 : 4; 3 1 0 0 : 5;",
	       "csv: text becomes one-hot, bytewise sorted, empty is a value, newlines may be "
	       "quoted");
	csv_is("c,y\n,3\n,4\nx,5\n", n,
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"\",\"x\"]}],"
	       "\"shape\":[2]} " Y " 1 0 : 3; 1 0 : 4; 0 1 : 5;",
	       "csv: empty fields before the first text are values too");
	csv_is("c,y\n,3\n7,4\n", n,
	       "1: t.csv:2:1: empty field in column \"c\", expected a number" HINT,
	       "csv: empty fields before the first number are missing");
	csv_is("c,y\n,3\n,4\n", n,
	       "1: t.csv:2:1: no value in column \"c\", in this row and in all others",
	       "csv: a column without values is an error");
	csv_is("c,y\n12,4\nx,3\nx,3\n", n,
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"12\",\"x\"]}],"
	       "\"shape\":[2]} " Y " 1 0 : 4; 0 1 : 3; 0 1 : 3;",
	       "csv: in a text column a number is text");
	csv_is("c,y\nx,3\nNA,4\n12,4\n", n,
	       "1: t.csv:2:1: found \"x\" in column \"c\", expected a number",
	       "csv: a column is text where more than half of its values are no numbers");
	csv_is("c,y\nx,3\nNA,4\n ? ,5\nnull,6\n,7\nNone,8\n", n,
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"\",\"None\","
	       "\"x\"]}],"
	       "\"shape\":[3]} " Y
	       " 0 0 1 : 3; 1 0 0 : 4; 1 0 0 : 5; 1 0 0 : 6; 1 0 0 : 7; 0 1 0 : 8;",
	       "csv: missing words are the value \"\" of a text column");
	put("v.csv", "y,c\n5,x\n6,new\n7,new\n");
	csv_is("c,y\nx,3\nz,4\n", (struct how){ .loss = 'n', .valid = "v.csv" },
	       "{\"columns\":[{\"kind\":\"category\",\"name\":\"c\",\"values\":[\"x\",\"z\"]}],"
	       "\"shape\":[2]} " Y " 1 0 : 3; 0 1 : 4; | 1 0 : 5; 0 0 : 6; 0 0 : 7;"
	       " v.csv: 2 values of column \"c\" were not in the training data; they count as all "
	       "zeros",
	       "csv: a value unseen in training is all zeros, and counted");
	csv_is("c,y\na,1\nb,1\nc,1\nd,1\ne,1\nf,1\ng,1\nh,1\ni,1\nj,1\nk,1\nl,1\nm,1\nn,1\no,1\np,"
	       "1\nq,1\nr,1\ns,1\nt,1\n"
	       "u,1\nv,1\nw,1\nx,1\ny,1\nz,1\naa,1\nbb,1\ncc,1\ndd,1\nee,1\nff,1\ngg,1\n",
	       n,
	       "1: t.csv:34:1: column \"c\" has more than 32 different values of text (\"a\" "
	       "in line 2 is no number); an embedding takes such a column: in the model NAME: "
	       "input columns=COLUMN, and embedding 16 from=NAME; input columns=OTHERS leaves it "
	       "out",
	       "csv: 33 values of text are too many");
}

static void field_errors(void)
{
	struct how n = { .loss = 'n' };

	csv_is("a,b,y\n1,2,3\n4,5\n", n, "1: t.csv:3: expected 3 columns, got 2",
	       "csv: a short row");
	csv_is("a,b,y\n1,2,3,4\n", n, "1: t.csv:2: expected 3 columns, got 4", "csv: a long row");
	csv_is("a,b,y\n1,2,3\n4,x,6\n", n,
	       "1: t.csv:3:2: found \"x\" in column \"b\", expected a number", "csv: a bad number");
	csv_is("a,b,y\n1,2,3\n\"q\nq\",5,6\n", n,
	       "1: t.csv:3:1: found \"q\\nq\" in column \"a\", expected a number",
	       "csv: control characters are shown as escapes");
	csv_is("a,b,y\n1,\"2\",3\n\"4\n\",5x,6\n", n,
	       "1: t.csv:3:1: found \"4\\n\" in column \"a\", expected a number",
	       "csv: lines count as they stand in the file");
	csv_is("c,b,y\n\"x\ny\",2,3\n\"z\nz\",x,6\n", n,
	       "1: t.csv:5:2: found \"x\" in column \"b\", expected a number",
	       "csv: a field after a quoted newline stands in the next line");
	csv_is("a,b,y\n1,7,3\n1,,3\n", n,
	       "1: t.csv:3:2: empty field in column \"b\", expected a number" HINT,
	       "csv: a missing number");
	csv_is("a,b,y\n1,2,3\n1,nan,3\n", n,
	       "1: t.csv:3:2: found \"nan\" in column \"b\", expected a finite number" HINT,
	       "csv: NaN");
	csv_is("a,b,y\nNaN,2,3\n1,2,3\n", n,
	       "1: t.csv:2:1: found \"NaN\" in column \"a\", expected a finite number" HINT,
	       "csv: NaN in the first row is no text");
	csv_is("a,b,y\n1,-Infinity,3\n", n,
	       "1: t.csv:2:2: found \"-Infinity\" in column \"b\", expected a finite number",
	       "csv: an infinity");
	csv_is("a,b,y\n1,1e39,3\n", n,
	       "1: t.csv:2:2: found \"1e39\" in column \"b\", expected a number that f32 can hold",
	       "csv: overflow of f32");
	csv_is("a,b,y\n1,2,1e39\n", n,
	       "1: t.csv:2:3: found \"1e39\" in column \"y\", expected a number that f32 can hold",
	       "csv: overflow of a target");
	csv_is("a,b,y\n1,1e309,3\n", (struct how){ .loss = 'n', .f64 = true },
	       "1: t.csv:2:2: found \"1e309\" in column \"b\", expected a number that f64 can hold",
	       "csv: overflow of f64");
	csv_is("a,b,y\n1,2,3\n 1,2 \t, 3.5 \n", n, AB Y " 1 2 : 3; 1 2 : 3.5;",
	       "csv: blanks around a number do no harm");
	csv_is("a,b,y\n1,2,3\n1,2 5,3\n", n,
	       "1: t.csv:3:2: found \"2 5\" in column \"b\", expected a number",
	       "csv: blanks within a number are an error");
	csv_is("1, 2,4\n", (struct how){ .target = "3" },
	       "2: t.csv: the integers of the target could be classes or numbers; say "
	       "--loss=cross-entropy for classes or --loss=mse for a number",
	       "csv: blanks do not make a header");
	csv_is("1,NA,4\n2,3,5\n", n, "1: --target=y: t.csv has no such column; its columns: 1 to 3",
	       "csv: a missing value does not make a header");
	csv_is("a,b,y\n1,1,3\n1,0x10,3\n", n,
	       "1: t.csv:3:2: found \"0x10\" in column \"b\", expected a number",
	       "csv: no hexadecimals");
}

static void text_errors(void)
{
	struct how n = { .loss = 'n' };

	csv_is("a,b,y\n\n1,2,3\n", n, "1: t.csv:2: empty line", "csv: a blank line between others");
	csv_is("a,b,y\n1,2\r,3\n", n, "1: t.csv:2: carriage return without a newline",
	       "csv: a lone CR");
	csv_is("a,b,y\r1,2,3\r", n, "1: t.csv:1: carriage return without a newline",
	       "csv: lines that end in CR alone");
	csv_is("a,b,y\n1,\xe9,3\n", n, "1: t.csv:2: byte 0xe9 is not UTF-8",
	       "csv: Latin-1 is refused");
	csv_is("\xff\xfe"
	       "a\0,\0",
	       n, "1: t.csv: is UTF-16 or binary, expected text in UTF-8",
	       "csv: UTF-16 is refused");
	csv_is("a,b,y\n1,\"2,3\n", n, "1: t.csv:2: a quote is never closed", "csv: an open quote");
	csv_is("a;y;b,\"x\n1;3;\"\n", n, "1: t.csv:2: a quote is never closed",
	       "csv: an open quote after one that means itself");
	csv_is("a,b,y\n1,\"2\"x,3\n", n, "1: t.csv:2:2: other characters follow the closing quote",
	       "csv: text after a quote");
}

static void column_errors(void)
{
	struct how n = { .loss = 'n' };

	csv_is("a,a,y\n1,2,3\n", n, "1: t.csv: column \"a\" occurs twice",
	       "csv: a needed column that occurs twice");
	csv_is("y\n1\n", n, "1: t.csv: no columns are left as input", "csv: a target alone");
	csv_is("", n,
	       "1: t.csv: is empty, expected CSV or TSV, JSON lines, LIBSVM, .npy, IDX, .npz, "
	       "safetensors, CIFAR, PNG, JPEG, tar or a folder of pictures",
	       "csv: an empty file");
	csv_is("\n\n", n, "1: t.csv: has no rows", "csv: nothing but newlines");
	csv_is("a,b,yy\n1,2,3\n", n,
	       "1: --target=y: t.csv has no such column; its columns: a, b, yy",
	       "csv: a wrong target");
	csv_is("a,b,price\n1,2,3\n", (struct how){ .target = "prise" },
	       "1: --target=prise: t.csv has no such column; did you mean price?",
	       "csv: a target misspelt");
	csv_is("a,b,y\n1,2,3\n", (struct how){ .target = "y,y" },
	       "2: --target: a column of t.csv is named twice", "csv: target twice");
	put("t.csv", "a,b,y\n1,2,3\n");
	text_is(show((struct how){ .data = "t.csv" }),
		"2: --target=COLUMN is needed for t.csv; its columns: a, b, y",
		"csv: --target is never guessed");
	text_is(show((struct how){ .data = "nowhere" }),
		"1: nowhere: cannot open: No such file or directory", "data: a missing file");
	text_is(show((struct how){ .data = "/dev" }),
		"1: /dev: has no file that is named .png, .jpg or .jpeg", "data: a directory");
	text_is(show((struct how){ .data = "-", .targets = "-" }),
		"2: stdin cannot be both data and targets", "data: stdin twice");
	csv_is("a,b,y\n1,2,3\n", (struct how){ .loss = 'n', .shape = { 2, { 1, 3 } } },
	       "1: t.csv: samples are 2 (2 values), the input line says 1x3 (3)",
	       "csv: columns that do not fill the input line");
}

static void meanings(void)
{
	csv_is("a,b,y\n1,2,3\n", (struct how){ 0 },
	       "2: t.csv: the integers of y could be classes or numbers; say "
	       "--loss=cross-entropy for classes or --loss=mse for a number",
	       "targets: integers of a CSV are ambiguous");
	csv_is("a,b,y\n1,2,3.0\n4,5,6\n", (struct how){ 0 }, AB Y " 1 2 : 3; 4 5 : 6;",
	       "targets: a point makes numbers");
	csv_is("a,b,y\n1,2,3e0\n4,5,6\n", (struct how){ 0 }, AB Y " 1 2 : 3; 4 5 : 6;",
	       "targets: an exponent makes numbers");
	csv_is("a,b,y\n1,2,no\n4,5,yes\n6,7,no\n", (struct how){ 0 },
	       AB "{\"columns\":[\"y\"],\"labels\":[\"no\",\"yes\"]} 1 2 : 0; 4 5 : 1; 6 7 : 0;",
	       "targets: text makes classes");
	csv_is("a,b,y\n1,2,9\n4,5,-10\n6,7,9\n", (struct how){ .loss = 'c' },
	       AB "{\"columns\":[\"y\"],\"labels\":[-10,9]} 1 2 : 1; 4 5 : 0; 6 7 : 1;",
	       "targets: integers are ordered by value");
	csv_is("a,b,y\n1,2,2\n4,5,1\n", (struct how){ .loss = 'c', .size = 4 },
	       AB "{\"columns\":[\"y\"],\"labels\":[0,1,2,3]} 1 2 : 2; 4 5 : 1;",
	       "targets: with a size N, labels in 0..N-1 are class numbers");
	csv_is("a,b,y\n1,2,4\n4,5,1\n", (struct how){ .loss = 'c', .size = 4 },
	       AB "{\"columns\":[\"y\"],\"labels\":[1,4]} 1 2 : 1; 4 5 : 0;",
	       "targets: others are ranks among the labels");
	csv_is("a,b,y\n1,2,4\n4,5,1\n6,7,2\n", (struct how){ .loss = 'c', .size = 2 },
	       "1: t.csv: found 3 different labels, the output line has room for 2",
	       "targets: more labels than the output line has");
	csv_is("a,b,y\n1,2,7\n4,5,3+\n6,7,7\n", (struct how){ .loss = 'c' },
	       AB "{\"columns\":[\"y\"],\"labels\":[\"3+\",\"7\"]} 1 2 : 1; 4 5 : 0; 6 7 : 1;",
	       "targets: where one label is text, all are");
	csv_is("a,b,y\n1,2,7\n4,5,3+\n6,7,7\n", (struct how){ 0 },
	       "1: t.csv:3:3: found \"3+\" in column \"y\", expected a number; "
	       "--loss=cross-entropy takes all as labels",
	       "targets: an odd one among numbers is named, and what would make it a label");
	csv_is("a,b,y\n1,2,u\n4,5,NA\n", (struct how){ 0 },
	       "1: t.csv:3:3: found \"NA\" in column \"y\", expected a label" DROP,
	       "targets: a missing label is no class");
	csv_is("a,b,y\n1,2,1\n4,5,\n", (struct how){ .loss = 'c' },
	       "1: t.csv:3:3: empty field in column \"y\", expected a label" DROP,
	       "targets: an empty label is no class");
	csv_is("a,b,y\n1,2,4.5\n", (struct how){ .loss = 'c' },
	       "1: t.csv:2: y is a number with a point or exponent, but the loss "
	       "wants classes; --loss=mse learns numbers",
	       "targets: fractions are no classes");
	csv_is("a,b,y\n1,2,x\n", (struct how){ .loss = 'n' },
	       "1: t.csv: y is text, but the loss wants numbers", "targets: text is no number");
	csv_is("a,y,b\n1,x,2\n", (struct how){ .target = "y,b" },
	       "1: t.csv: y is text among 2 target columns; several class "
	       "targets need named outputs",
	       "targets: two class targets");
	csv_is("a,b,y\n1,0.25,0.75\n", (struct how){ .loss = 'c', .target = "b,y" },
	       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"}],\"shape\":[1]} "
	       "{\"columns\":[\"b\",\"y\"],\"labels\":[\"b\",\"y\"]} 1 : 0.25 0.75;",
	       "targets: columns of probabilities");
	csv_is("a,b,y\n1,0.25,7\n", (struct how){ .loss = 'c', .target = "b,y" },
	       "1: t.csv: row 1, column 2: found 7, expected a probability",
	       "targets: 7 is no probability");
	csv_is("a,b,y\n1,2,99999999999999999999\n", (struct how){ .loss = 'c' },
	       "1: t.csv: row 1: a label beyond 2^53", "targets: labels that are too large");
	put("v.csv", "a,b,y\n1,2,5\n3,4,7\n");
	csv_is("a,b,y\n1,2,7\n4,5,9\n", (struct how){ .loss = 'c', .valid = "v.csv" },
	       AB "{\"columns\":[\"y\"],\"labels\":[5,7,9]} 1 2 : 1; 4 5 : 2; | 1 2 : 0; 3 4 : 1;",
	       "targets: labels of training and held-out rows are joined");
	csv_is("a,b,y\n1,2,u\n4,5,x\n", (struct how){ .valid = "v.csv" },
	       AB "{\"columns\":[\"y\"],\"labels\":[\"5\",\"7\",\"u\",\"x\"]} 1 2 : 2; 4 5 : 3; | "
		  "1 2 : 0; 3 4 : 1;",
	       "targets: held-out numbers are text where labels are");
	put("v.csv", "a,b,y\n1,2,u\n");
	csv_is("a,b,y\n1,2,7\n4,5,9\n", (struct how){ .loss = 'c', .valid = "v.csv" },
	       "1: v.csv:2:3: found \"u\" in column \"y\", expected an integer, as all other "
	       "labels are",
	       "targets: held-out text where labels are integers");
}

static void normalizing(void)
{
	csv_is("a,b,y\n1,5,10.5\n3,5,12.5\n", (struct how){ .normalize = "auto" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":2,\"name\":\"a\",\"sd\":1},{\"kind\":"
	       "\"number\",\"mean\":5,\"name\":\"b\",\"sd\":1}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null,\"mean\":[11.5],\"sd\":[1]} -1 "
	       "0 : -1; 1 0 : 1;",
	       "normalize: auto standardizes columns and targets; a deviation of 0 counts as 1");
	csv_is("a,b,y\n1,5,1\n3,5,0\n", (struct how){ .normalize = "auto", .loss = 'b' },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":2,\"name\":\"a\",\"sd\":1},{\"kind\":"
	       "\"number\",\"mean\":5,\"name\":\"b\",\"sd\":1}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null} -1 0 : 1; 1 0 : 0;",
	       "normalize: targets of bce stay");
	csv_is("a,b,y\n1,5,10.5\n5,6,12.5\n", (struct how){ .normalize = "minmax" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":4},{\"kind\":"
	       "\"number\",\"mean\":5,\"name\":\"b\",\"sd\":1}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null,\"mean\":[11.5],\"sd\":[1]} 0 "
	       "0 : -1; 1 1 : 1;",
	       "normalize: minmax takes inputs to 0..1");
	csv_is("a,b,y\n1,5,10.5\n5,6,12.5\n", (struct how){ .normalize = "0.5" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":0,\"name\":\"a\",\"sd\":2},{\"kind\":"
	       "\"number\",\"mean\":0,\"name\":\"b\",\"sd\":2}],"
	       "\"shape\":[2]} {\"columns\":[\"y\"],\"labels\":null} 0.5 2.5 : 10.5; 2.5 3 : 12.5;",
	       "normalize: a factor");
	csv_is("a,b,y\n1,5,10.5\n", (struct how){ .normalize = "bogus" },
	       "2: --normalize=bogus: expected auto, none, standard, minmax or a factor above 0",
	       "normalize: a wrong word");
}

/* ---- several inputs and targets, start models ---- */

static void several(void)
{
	static const char *const wide[] = { "a", "c" }, *const city[] = { "c" };
	struct nn_want_input inputs[2] = { { .name = "wide", .columns = wide, .n_columns = 2 },
					   { .name = "city", .columns = city, .n_columns = 1 } };
	struct nn_want_target targets[2] = { { .columns = "y" },
					     { .name = "steer", .columns = "z", .numbers = true } };
	struct nn_want want = {
		.inputs = inputs, .n_inputs = 2, .targets = targets, .n_targets = 2, .dtype = NN_F32
	};
	struct nn_data_options options = { .normalize = "none" };
	struct nn_dataset *ds;
	struct nn_error err = { 0 };
	uint64_t rows[2] = { 1, 0 };
	float values[6], z[2];
	int32_t y[2];

	put("t.csv", "z,a,c,y,unused\n5,1,p,no,?\n6,2,q,yes,\n");
	if (!ok(nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0 &&
			nn_dataset_measure(ds, rows, 2, &err) == 0,
		"inputs: two of them share a column"))
		return;
	nn_text_clear(&shown);
	nn_schema_input_json(nn_dataset_schema(ds), &shown);
	nn_schema_target_json(nn_dataset_schema(ds), &shown);
	text_is(shown.data,
		"[{\"columns\":[{\"kind\":\"number\",\"name\":\"a\"},{\"kind\":\"category\","
		"\"name\":\"c\",\"values\":[\"p\",\"q\"]}],"
		"\"name\":\"wide\",\"shape\":[3]},{\"columns\":[{\"kind\":\"category\",\"name\":"
		"\"c\",\"values\":[\"p\",\"q\"]}],"
		"\"name\":\"city\",\"shape\":[2]}][{\"columns\":[\"y\"],\"labels\":[\"no\",\"yes\"]"
		"},{\"columns\":[\"z\"],\"labels\":null,"
		"\"name\":\"steer\"}]",
		"schema: several inputs and targets are arrays");
	nn_dataset_fill_input(ds, 0, rows, 2, false, values);
	ok(values[0] == 2 && values[1] == 0 && values[2] == 1 && values[3] == 1 && values[4] == 1 &&
		   values[5] == 0,
	   "fill: rows are gathered by number");
	nn_dataset_fill_input(ds, 1, rows, 2, false, values);
	ok(values[0] == 0 && values[1] == 1 && values[2] == 1 && values[3] == 0,
	   "fill: the second input");
	nn_dataset_fill_target(ds, 0, rows, 2, y);
	nn_dataset_fill_target(ds, 1, rows, 2, z);
	ok(y[0] == 1 && y[1] == 0 && z[0] == 6 && z[1] == 5, "fill: both targets");
	nn_dataset_free(ds);
}

static void start_models(void)
{
	struct nn_schema *schema;
	struct nn_error err = { 0 };
	const char *input = "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":2}"
			    ",{\"kind\":\"category\",\"name\":\"c\","
			    "\"values\":[\"x\",\"z\"]}],\"shape\":[3]}";

	if (!ok(nn_schema_parse(&schema, input, "{\"columns\":[\"y\"],\"labels\":[4,2]}", &err) ==
			0,
		"schema: is parsed"))
		return;
	csv_is("c,y,a\nz,4,3\nx,2,1\n", (struct how){ .schema = schema, .normalize = "auto" },
	       "{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":2},{\"kind\":"
	       "\"category\",\"name\":\"c\",\"values\":[\"x\",\"z\"]}],"
	       "\"shape\":[3]} {\"columns\":[\"y\"],\"labels\":[4,2]} 1 0 1 : 0; 0 1 0 : 1;",
	       "start model: columns by name, its scales, its labels in its order");
	csv_is("c,y,a\nz,5,3\n", (struct how){ .schema = schema },
	       "1: t.csv: row 1: a label that is not among those of the start model (unknown: "
	       "\"5\"); other classes want -m TEXT --init=MODEL --init-partial",
	       "start model: a new label");
	csv_is("y,a\n4,3\n", (struct how){ .schema = schema },
	       "1: t.csv: has no column \"c\"; its columns: y, a", "start model: a missing column");
	nn_schema_free(schema);
}

static void schema_fails(const char *input, const char *target, const char *wanted)
{
	struct nn_schema *schema = NULL;
	struct nn_error err = { 0 };
	int status = nn_schema_parse(&schema, input, target, &err);
	char claim[200];

	snprintf(claim, sizeof claim, "schema: %s", wanted);
	fails_as(status, &err, NN_EFORMAT, wanted, claim);
	if (status == 0)
		nn_schema_free(schema);
}

static void schemas(void)
{
	schema_fails("3", NULL, "nn.input: expected an object");
	schema_fails("{}", NULL, "nn.input: shape: expected an array of at most 8 numbers");
	schema_fails("{\"shape\":[0]}", NULL, "nn.input: shape[0]: expected a whole number from 1");
	schema_fails("{\"shape\":[4294967296,4294967296,4294967296]}", NULL,
		     "nn.input: the product of the shape's dimensions overflows");
	schema_fails("{\"shape\":[2],\"columns\":[{\"kind\":\"number\"}]}", NULL,
		     "nn.input: columns give 1 value, the shape has 2");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"text\"}]}", NULL,
		     "nn.input: columns[0]: kind is neither \"number\", \"category\" nor \"hash\"");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"number\",\"mean\":0,\"sd\":0}]}",
		     NULL, "nn.input: columns[0]: mean and sd are not two numbers, sd above 0");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"category\",\"values\":[1]}]}", NULL,
		     "nn.input: columns[0]: values: expected a string");
	schema_fails("{\"shape\":[1],\"columns\":[{\"kind\":\"number\",\"name\":7}]}", NULL,
		     "nn.input: columns[0]: name: expected a string");
	schema_fails("{\"shape\":[3],\"columns\":[{\"kind\":\"number\",\"name\":\"b\"},{\"kind\":"
		     "\"number\",\"name\":\"a\"},"
		     "{\"kind\":\"number\",\"name\":\"b\"}]}",
		     NULL, "nn.input: two columns are named \"b\"");
	schema_fails("{\"shape\":[1],\"scale\":\"1\"}", NULL,
		     "nn.input: scale: expected a number other than 0");
	schema_fails("[{\"shape\":[1]},4]", NULL, "nn.input: [1]: expected an object");
	schema_fails(NULL, "{\"columns\":[]}", "nn.target: columns: expected an array of names");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":[1,\"a\"]}",
		     "nn.target: labels[1]: expected a whole number");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":[\"a\",1]}",
		     "nn.target: labels: expected a string");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":null,\"mean\":[1],\"sd\":[-1]}",
		     "nn.target: sd[0]: expected a number above 0");
	schema_fails(NULL, "{\"columns\":[\"y\"],\"labels\":null,\"mean\":[1,2],\"sd\":[1]}",
		     "nn.target: mean: expected an array of 1 number");
}

int main(void)
{
	go_to_tmp();
	tables();
	categories();
	field_errors();
	text_errors();
	column_errors();
	meanings();
	normalizing();
	several();
	start_models();
	schemas();
	nn_text_free(&shown);
	return tests_done();
}
