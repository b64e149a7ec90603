/*
 * Tables read at once: the same rows, words and errors as record by record, for any threads and any
 * cuts.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "base/number-line.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/text.h"
#include "data/data.h"
#include "data/table/cut.h"
#include "data/table/table.h"
#include "files.h"

#define MOST_THREADS 4
#define LIMIT 4 /* words of a column */

static struct nn_pool *pools[MOST_THREADS + 1];
static struct nn_text expected, found;

/* ---- a table as text ---- */

struct table_rows {
	struct nn_block values, targets;
	size_t n;
};

static int read_slowly(struct nn_table *t, struct table_rows *rows, struct nn_error *err)
{
	size_t value_bytes = t->n_values * nn_dtype_size(t->dtype),
	       target_bytes = t->n_targets * sizeof(double);
	int status;

	for (rows->n = 0;; rows->n++) {
		nn_block_reserve(&rows->values, (rows->n + 1) * value_bytes + 1, NULL);
		nn_block_reserve(&rows->targets, (rows->n + 1) * target_bytes + 1, NULL);
		status = nn_table_next(t, nn_block_at(&rows->values, rows->n * value_bytes),
				       (double *)rows->targets.data + rows->n * t->n_targets, err);
		if (status != 1)
			return status == 0 ? 0 : -1;
	}
}

/* The last column is a target (integer labels: `labels`), the others are inputs of any kind. */
static void ask_for_columns(struct nn_table *t, struct nn_words **words, bool labels)
{
	for (size_t i = 0; i < t->width; i++) {
		struct nn_table_column *c = &t->columns[i];

		c->target = i + 1 == t->width;
		c->cell = c->target && labels ? NN_CELL_LABEL : NN_CELL_OPEN;
		c->slot = c->target ? t->n_targets++ : t->n_values++;
		c->limit = c->target ? 0 : LIMIT;
		c->grow = i != 1 || labels; /* column 2 counts what it does not know */
		nn_words_new(&words[i], c->cell == NN_CELL_LABEL, NULL);
		c->words = words[i];
	}
}

static void show_column(const struct nn_table_column *c, struct nn_text *text)
{
	nn_text_addf(text, " [%d %" PRIu64 " %" PRIu64 " %" PRIu64 ":", (int)c->cell, c->unseen,
		     c->empty_line, c->point_line);
	for (int32_t w = 0; c->cell >= NN_CELL_WORD && w < (int32_t)nn_words_count(c->words); w++)
		if (nn_words_integers(c->words))
			nn_text_addf(text, " %" PRId64, nn_words_integer(c->words, w));
		else
			nn_text_addf(text, " %s", nn_words_text(c->words, w));
	nn_text_add(text, "]");
}

static void show_rows(const struct nn_table *t, const struct table_rows *rows, struct nn_text *text)
{
	char number[NN_NUMBER];

	for (size_t r = 0; r < rows->n; r++) {
		for (size_t i = 0; i < t->n_values; i++) {
			size_t at = r * t->n_values + i;

			if (t->dtype == NN_F64)
				nn_format_f64(number, ((const double *)rows->values.data)[at]);
			else
				nn_format_f32(number, ((const float *)rows->values.data)[at]);
			nn_text_addf(text, " %s", number);
		}
		for (size_t i = 0; i < t->n_targets; i++) {
			nn_format_f64(number,
				      ((const double *)rows->targets.data)[r * t->n_targets + i]);
			nn_text_addf(text, " :%s", number);
		}
		nn_text_add(text, ";");
	}
}

struct table_how {
	int threads; /* 0: record by record */
	size_t block;
	bool labels, f64;
	int header;
};

/* Of a table that ends in an error the error alone: what came before it is nobody's. */
static void show(const char *file, struct table_how how, struct nn_text *text)
{
	struct nn_words *words[64] = { 0 };
	struct table_rows rows = { 0 };
	struct nn_input *input;
	struct nn_error err = { 0 };
	struct nn_table t = { 0 };
	int status;

	nn_text_clear(text);
	if (nn_input_open(&input, file, &err) < 0)
		exit(99);
	status = nn_table_open(&t, input, &(struct nn_table_form){ .header = how.header },
			       how.f64 ? NN_F64 : NN_F32, &err);
	if (status == 0 && t.width <= 64) {
		ask_for_columns(&t, words, how.labels);
		if (how.threads == 0)
			status = nn_table_sample(&t, &err) < 0 ? -1 : read_slowly(&t, &rows, &err);
		else
			status = nn_table_read(&t, pools[how.threads], how.block, &rows.values,
					       &rows.targets, &rows.n, &err);
	}
	if (status < 0) {
		nn_text_addf(text, "%d: %s", err.code, err.text);
	} else {
		show_rows(&t, &rows, text);
		for (size_t i = 0; i < t.width; i++)
			show_column(&t.columns[i], text);
	}
	nn_table_close(&t);
	nn_input_close(input);
	for (size_t i = 0; i < 64; i++)
		nn_words_free(words[i]);
	nn_block_free(&rows.values);
	nn_block_free(&rows.targets);
}

/* The same text for 1 to 4 threads and blocks of 1 byte to all of them in steps of `step`? */
static bool same(const char *text, size_t n, struct table_how how, size_t step)
{
	put_bytes("t.csv", text, n);
	how.threads = 0;
	show("t.csv", how, &expected);
	for (how.threads = 1; how.threads <= MOST_THREADS; how.threads++)
		for (how.block = 1; how.block <= n + step; how.block += step) {
			show("t.csv", how, &found);
			if (strcmp(expected.data, found.data) != 0) {
				printf("# %d threads, blocks of %zu bytes\n# found:  %s\n# wanted: "
				       "%s\n",
				       how.threads, how.block, found.data, expected.data);
				return false;
			}
		}
	return true;
}

/* ---- tables that were thought of ---- */

static const struct {
	const char *claim, *text, *wanted; /* wanted: how the result begins, NULL: any */
	bool labels;
} tables[] = {
	{ "numbers", "a,b,y\n1,2,3\n-4.5,6e2,.5\n7.,+8,9\n1,2,3\n4,5,6\n7,8,9\n",
	  " 1 2 :3; -4.5 600 :0.5;", false },
	{ "lines that end in CR LF", "a,b,y\r\n1,2,3\r\n4,5,6\r\n7,8,9\r\n1,2,3\r\n", " 1 2 :3;",
	  false },
	{ "a last line without a newline", "a,b,y\n1,2,3\n4,5,6\n7,8,9.5", NULL, false },
	{ "a last line that ends in CR", "a,b,y\n1,2,3\n4,5,6\n7,8,9.5\r", NULL, false },
	{ "no header", "1,2,3\n4,5,6\n7,8,9\n1,2,3\n", " 1 2 :3;", false },
	{ "a header alone", "a,b,y\n", " [1", false },
	{ "quotes with newlines, separators and quotes in them",
	  "a,b,y\n\"x\ny\",1,\"p,q\"\n\"a "
	  "\"\"b\"\"\n\",2,\"\n\n\"\n\"x\ny\",\"3\",\"p,q\"\n\"\"\"\",4,r\n",
	  NULL, false },
	{ "quotes that mean themselves",
	  "a,b,y\nx\",1,5\"\ny,2,6\"\"\nx\",3,\"5\"\"\"\n\"a\",4,5\n", NULL, false },
	{ "characters after a closing quote", "a,b,y\nx,1,p\nx,2,p\n\"x\"z,3,p\n",
	  "1: t.csv:4:1: other", false },
	{ "the line of a field within quotes", "a,b,y\nx,1,p\n\"x\n\n\",zz,p\nx,1,p\n",
	  "1: t.csv:5:2: found \"zz\"", false },
	{ "a quote that is never closed", "a,b,y\nx,1,p\n\"x,2,p\nx,3,p\n",
	  "1: t.csv:3: a quote is never closed", false },
	{ "blank lines at the end", "a,b,y\n1,2,3\n4,5,6\n\n\r\n\n", " 1 2 :3; 4 5 :6;", false },
	{ "a blank line before others", "a,b,y\n1,2,3\n\n4,5,6\n7,x,9\n", "1: t.csv:3: empty line",
	  false },
	{ "blank lines far before others",
	  "a,b,y\n1,2,3\n4,5,6\n\r\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n7,x,9\n",
	  "1: t.csv:4: empty line", false },
	{ "the first of two errors", "a,b,y\n1,2,3\n4,5,6\n4,z,6\n1,2\n4,5,6\n\n",
	  "1: t.csv:4:2: found \"z\"", false },
	{ "a short row", "a,b,y\n1,2,3\n4,5,6\n4,5\n1,x,2\n",
	  "1: t.csv:4: expected 3 columns, got 2", false },
	{ "a long row", "a,b,y\n1,2,3\n4,5,6\n4,5,6,7\n1,x,2\n",
	  "1: t.csv:4: expected 3 columns, got 4", false },
	{ "an empty row", "a,b,y\n1,2,3\n4,5,6\n,,\n", "1: t.csv:4:1: empty field", false },
	{ "a number that f32 cannot hold", "a,b,y\n1,2,3\n4,5,6\n4,1e39,6\n1,x,2\n",
	  "1: t.csv:4:2: found \"1e39\"", false },
	{ "a NUL", NULL, "1: t.csv:3: found a NUL byte", false },
	{ "a lone CR", "a,b,y\n1,2,3\n4\r,5,6\nx,8,9\n", "1: t.csv:3: carriage return", false },
	{ "bytes that are no UTF-8", "a,b,y\nx,2,3\n\xc3\xa9,5,6\n\xc3,7,8\nx,8,z\n",
	  "1: t.csv:4: byte 0xc3", false },
	{ "words in the order of the file",
	  "a,b,y\nd,1,z\nc,1,y\nb,1,x\na,1,w\nd,1,v\na,1,u\nb,1,z\nc,1,t\n", NULL, false },
	{ "one word too many", "a,b,y\nd,1,z\nc,1,y\nb,1,x\na,1,w\nd,1,v\ne,1,u\nb,1,z\nc,1,t\n",
	  "1: t.csv:7:1: column \"a\" has more than 4 different", false },
	{ "a word too many after an error",
	  "a,b,y\nd,1,z\nc,1,y\nb,1,x\na,1,w\nd,q,v\ne,1,u\nb,1,z\nc,1,t\n",
	  "1: t.csv:6:2: found \"q\"", false },
	{ "integer labels", "a,y\n1,300\n2,-5\n3,7\n4,300\n5,9\n6,12345678901\n7,7\n", NULL, true },
	{ "a label that is none", "a,y\n1,300\n2,-5\n3,7\n4,x\n5,9.5\n6,1\n7,7\n",
	  "1: t.csv:5:2: found \"x\"", true },
	{ "columns whose kind shows late", "a,b,y\n,1,\n,2,\n,3,\nx,4,\ny,5,p\n,6,q\n", NULL,
	  false },
	{ "a number after empty fields", "a,b,y\n,1,\n,2,\n,3,\nx,4,\ny,5,1\n,6,q\n",
	  "1: t.csv:2:3: empty field", false },
	{ "a column without values", "a,b,y\n,1,1\n,2,2\n,3,3\n", NULL, false },
	{ "TSV", "a\tb\ty\n1\t2\tp,q\n3\t4\t\"r\ts\"\n", NULL, false },
	{ "a byte order mark", "\xef\xbb\xbf\x61,b,y\n1,2,3\n4,5,6\n", " 1 2 :3;", false },
	{ "words that the schema does not have", "a,b,y\n1,p,1\n1,q,2.5\n2,,3\n3,p,4\n", NULL,
	  false },
	{ "one column", "y\n1\n2\n3\n4\n5\n6\n", NULL, false },
};

static void test_tables(void)
{
	static const char nul[] = "a,b,y\n1,2,3\n4,5\0,6\nx,8,9\n";
	char claim[200];

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		const char *text = tables[i].text ? tables[i].text : nul;
		size_t n = tables[i].text ? strlen(text) : sizeof nul - 1;
		struct table_how how = { .labels = tables[i].labels };
		bool good = same(text, n, how, 1);

		how.f64 = true;
		good = good && same(text, n, how, 3);
		how.f64 = false;
		how.threads = 0;
		put_bytes("t.csv", text, n);
		show("t.csv", how, &found);
		if (tables[i].wanted &&
		    strncmp(found.data, tables[i].wanted, strlen(tables[i].wanted)) != 0) {
			printf("# found:  %s\n# wanted: %s...\n", found.data, tables[i].wanted);
			good = false;
		}
		snprintf(claim, sizeof claim,
			 "table: %s: the same for 1 to 4 threads, cut at every byte",
			 tables[i].claim);
		ok(good, claim);
	}
}

/* ---- tables that were drawn ---- */

static uint32_t draw(uint32_t n)
{
	static uint64_t state = 7;

	return (uint32_t)(nn_lcg(&state) >> 33) % n;
}

static size_t draw_field(char *to, unsigned wild)
{
	static const char *const fields[] = {
		"1",
		"2.5",
		"-3e1",
		"0.12345678",
		"x",
		"y",
		"\"z\"",
		"\"a\nb\"",
		"\"c,d\"",
		"\"e\"\"f\"",
		"12345678901234567",
		"",
		"\"g\nh\n\ni\"",
		"q\"",
		"\"\"",
		"1e400",
		"\xc3\xa9",
		"r\r",
		"s\"t\"",
		"\"u\"v",
		"\"",
	};
	const char *field = fields[draw(wild < 8    ? 12
					: wild < 15 ? 15
						    : sizeof fields / sizeof *fields)];

	if (wild < 4 && draw(20))
		field = fields[draw(4)];
	strcpy(to, field);
	return strlen(to);
}

static size_t draw_table(char *to)
{
	unsigned wild = draw(20), columns = 1 + draw(4), rows = draw(30);
	const char *newline = draw(4) ? "\n" : "\r\n";
	size_t at = 0;

	for (unsigned i = 0; i < columns; i++)
		at += (size_t)sprintf(to + at, "%sc%u", i ? "," : "", i);
	at += (size_t)sprintf(to + at, "%s", newline);
	for (unsigned r = 0; r < rows; r++) {
		for (unsigned i = 0; i < columns + (wild > 10 && draw(40) == 0); i++) {
			if (i)
				to[at++] = ',';
			/* a column is mostly of one kind */
			if (wild < 12 && draw(30))
				at += (size_t)sprintf(to + at,
						      i % 2   ? "%u.5"
						      : i % 4 ? "\"w,%u\n\""
							      : "w%u",
						      draw(5));
			else
				at += draw_field(to + at, wild);
		}
		at += (size_t)sprintf(to + at, "%s%s", newline,
				      wild > 9 && draw(60) == 0 ? newline : "");
	}
	return draw(5) || at == 0 ? at : at - 1;
}

static void test_drawn(void)
{
	static char text[1 << 14];
	size_t n, good = 0, errors = 0, total = 200;

	for (size_t i = 0; i < total; i++) {
		n = draw_table(text);
		if (!same(text, n, (struct table_how){ .header = NN_HEADER_YES, .f64 = i % 2 },
			  1 + n / 20))
			break;
		good++;
		errors += strncmp(expected.data, "1: ", 3) == 0;
	}
	ok(good == total, "table: 200 drawn tables with quotes, words and errors: the same for 1 "
			  "to 4 threads and any cuts");
	if (!ok(errors > total / 5 && errors < total * 4 / 5,
		"table: some drawn tables are good and some are not"))
		printf("# %zu errors\n", errors);
}

/* ---- sizes ---- */

static void fill(char *to, size_t n, const char *with)
{
	size_t length = strlen(with);

	for (size_t i = 0; i < n; i++)
		to[i] = with[i % length];
}

static void says(const char *text, size_t n, const char *wanted, const char *claim)
{
	bool good = true;

	put_bytes("t.csv", text, n);
	for (int threads = 0; good && threads <= 3; threads++) {
		show("t.csv", (struct table_how){ .threads = threads }, &found);
		good = strncmp(found.data, wanted, strlen(wanted)) == 0;
	}
	if (!ok(good, claim))
		printf("# found:  %.200s\n# wanted: %s\n", found.data, wanted);
}

static void test_sizes(void)
{
	size_t room = (size_t)20 << 20, at;
	char *text = nn_alloc(room, 1, NULL);

	at = (size_t)sprintf(text, "a,y\n1,2\n\"");
	fill(text + at, ((size_t)16 << 20) + 10, "x\n");
	says(text, at + ((size_t)16 << 20) + 10, "1: t.csv:3: line longer than 16 MiB (--limit=line=32M)",
	     "table: a record of more than 16 MiB is an error");
	at = (size_t)sprintf(text, "a,y\n1,2\n\"");
	fill(text + at, ((size_t)17 << 20) + 10, "x\n");
	at += ((size_t)17 << 20) + 10;
	at += (size_t)sprintf(text + at, "\",3\n1,2\n");
	says(text, at, "1: t.csv:3: line longer than 16 MiB (--limit=line=32M)", "table: also when the file goes on");
	at = (size_t)sprintf(text, "a,y\nx,2\n\"");
	fill(text + at, ((size_t)1 << 20) + 1, "x\n");
	at += ((size_t)1 << 20) + 1;
	at += (size_t)sprintf(text + at, "\",3\n1,2,\n");
	says(text, at, "1: t.csv:3:1: field of 1048577 bytes, expected at most 1 MiB (--limit=field=2M)",
	     "table: a field of more than 1 MiB is an error");
	nn_free(text);
}

/* 10,000 records with the error in one of them: block borders and parts of the usual size. */
static void test_large(void)
{
	size_t room = (size_t)8 << 20, at = 0, lines = 60000, bad = 47123;
	char *text = nn_alloc(room, 1, NULL), wanted[100];
	bool good = true;

	at = (size_t)sprintf(text, "a,b,y\n");
	for (size_t i = 2; i <= lines; i++)
		at += (size_t)sprintf(text + at, "%zu,%u.%u,\"w%u\n\"%s", i, draw(1000),
				      draw(1000000), draw(3000), draw(2) ? "\r\n" : "\n");
	put_bytes("t.csv", text, at);
	show("t.csv", (struct table_how){ 0 }, &expected);
	for (int threads = 1; good && threads <= MOST_THREADS; threads++) {
		show("t.csv", (struct table_how){ .threads = threads }, &found);
		good = strcmp(found.data, expected.data) == 0;
	}
	ok(good && strchr(expected.data, ';'),
	   "table: 60,000 records, 3,000 words: the same for 1 to 4 threads");
	at = (size_t)sprintf(text, "a,b,y\n");
	for (size_t i = 2; i <= lines; i++)
		at += (size_t)sprintf(
			text + at, i == bad || i == bad + 1000 ? "%zu,zz,1\n" : "%zu,1,2.5\n", i);
	sprintf(wanted, "1: t.csv:%zu:2: found \"zz\" in column \"b\", expected a number", bad);
	says(text, at, wanted, "table: the first error of a long file, with its line");
	nn_free(text);
}

int main(void)
{
	go_to_tmp();
	for (int threads = 2; threads <= MOST_THREADS; threads++)
		if (nn_pool_new(&pools[threads], threads, NULL) < 0)
			return 99;
	test_tables();
	test_drawn();
	test_sizes();
	test_large();
	for (int threads = 2; threads <= MOST_THREADS; threads++)
		nn_pool_free(pools[threads]);
	nn_text_free(&expected);
	nn_text_free(&found);
	return tests_done();
}
