/*
 * Fields of nn_model_encode: the row that the reader of tables makes of the same text, and errors
 * that name the column.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "data/data.h"
#include "predict/encode.h"
#include "tap.h"

static const char schema_json[] =
	"[{\"name\":\"n\",\"shape\":[5],\"columns\":["
	"{\"kind\":\"number\",\"name\":\"size\",\"mean\":2,\"sd\":4,\"missing\":7},"
	"{\"kind\":\"category\",\"name\":\"colour\",\"values\":[\"\",\"blue\",\"red\"]},"
	"{\"kind\":\"number\",\"name\":\"price\"}]},"
	"{\"name\":\"e\",\"shape\":[4],\"rows\":50,\"columns\":["
	"{\"kind\":\"category\",\"name\":\"town\",\"values\":[\"bonn\",\"ulm\"]},"
	"{\"kind\":\"category\",\"name\":\"colour\",\"values\":[\"\",\"blue\",\"red\"]},"
	"{\"kind\":\"hash\",\"of\":[\"town\"]},"
	"{\"kind\":\"hash\",\"of\":[\"colour\",\"street\"]}]}]";

static const char *const names[] = { "size", "colour", "price", "town", "street" };
enum { FIELDS = sizeof names / sizeof *names, VALUES = 9, ROWS = 5 };

static const char *const rows[ROWS][FIELDS] = {
	{ "1.5", "red", "-3e2", "ulm", "main" },       { "", "", "0.1", "bonn", "" },
	{ "nan", "blue", "7", "paris", "elm" },        { "16777217", "green", "1e-7", "", "main" },
	{ "-0", "red", "12345.678", "ulm", "k\"o\"" },
};

/* The same rows as a CSV file, columns in another order, and how its reader fills the inputs. */
static bool read_rows(const struct nn_schema *schema, float out[ROWS][VALUES])
{
	static const int order[FIELDS] = { 4, 1, 0, 3, 2 };
	struct nn_rows_options options = { 0 };
	struct nn_text csv = { 0 };
	char path[] = "/tmp/nn-encode.XXXXXX";
	int fd = mkstemp(path);
	float n[ROWS][5], e[ROWS][4];
	void *inputs[] = { n, e };
	struct nn_rows *reader = NULL;
	struct nn_error err = { 0 };
	size_t got = 0;
	bool end;

	for (int r = -1; r < ROWS; r++)
		for (int f = 0; f < FIELDS; f++) {
			const char *text = r < 0 ? names[order[f]] : rows[r][order[f]];

			nn_text_add(&csv, f ? ",\"" : "\"");
			for (; *text; text++)
				nn_text_add_bytes(&csv, *text == '"' ? "\"\"" : text,
						  *text == '"' ? 2 : 1);
			nn_text_add(&csv, f + 1 < FIELDS ? "\"" : "\"\n");
		}
	if (fd < 0 || write(fd, csv.data, csv.length) != (ssize_t)csv.length ||
	    nn_rows_open(&reader, path, NULL, schema, &options, NN_F32, &err) < 0 ||
	    nn_rows_next(reader, ROWS, inputs, NULL, NULL, &got, &end, &err) < 0)
		printf("# %s\n", err.text);
	for (size_t r = 0; r < got; r++) {
		memcpy(out[r], n[r], sizeof n[r]);
		memcpy(out[r] + 5, e[r], sizeof e[r]);
	}
	nn_rows_close(reader);
	nn_text_free(&csv);
	close(fd);
	unlink(path);
	return got == ROWS;
}

static void rows_agree(const struct nn_schema *schema, const struct nn_encoder *encoder)
{
	float wanted[ROWS][VALUES], row[VALUES];
	struct nn_error err = { 0 };

	ok(read_rows(schema, wanted), "encode: the reader of tables takes the rows");
	for (int r = 0; r < ROWS; r++) {
		bool same = nn_encoder_row(encoder, rows[r], row, NULL, &err) == 0;

		if (isnan(row[0]))
			row[0] = 7; /* what a session does with it */
		ok(same && memcmp(row, wanted[r], sizeof row) == 0,
		   "encode: row %d is what the reader of tables makes of it", r);
	}
}

static void refuses(const struct nn_encoder *encoder, int field, const char *text,
		    const char *wanted)
{
	const char *fields[FIELDS];
	float row[VALUES];
	struct nn_error err = { 0 };

	memcpy(fields, rows[0], sizeof fields);
	fields[field] = text;
	ok(nn_encoder_row(encoder, fields, row, NULL, &err) < 0 && err.code == NN_EFORMAT &&
		   strcmp(err.text, wanted) == 0,
	   "encode: %s", wanted);
}

static void nameless_agree(void)
{
	struct nn_schema *schema = NULL;
	struct nn_encoder *encoder = NULL;
	const char *fields[] = { "4", "x" };
	struct nn_error err = { 0 };
	float row[2];

	ok(nn_schema_parse(&schema,
			   "{\"columns\":[{\"kind\":\"number\",\"position\":1},"
			   "{\"kind\":\"number\",\"position\":3}],\"shape\":[2]}",
			   NULL, &err) == 0 &&
		   nn_encoder_new(&encoder, schema, &err) == 0 &&
		   strcmp(nn_encoder_field(encoder, 1), "") == 0 && !nn_encoder_field(encoder, 2),
	   "encode: columns without names are fields, too");
	ok(encoder && nn_encoder_row(encoder, fields, row, NULL, &err) < 0 &&
		   strcmp(err.text, "column 3: found \"x\", expected a number") == 0,
	   "encode: a column without a name is told by its position");
	nn_encoder_free(encoder);
	nn_schema_free(schema);
}

int main(void)
{
	struct nn_schema *schema = NULL;
	struct nn_encoder *encoder = NULL;
	struct nn_error err = { 0 };
	bool same;

	ok(nn_schema_parse(&schema, schema_json, NULL, &err) == 0 &&
		   nn_encoder_new(&encoder, schema, &err) == 0,
	   "encode: a schema of two inputs opens");
	if (!encoder) {
		printf("# %s\n", err.text);
		return tap_done();
	}
	same = nn_encoder_field(encoder, FIELDS) == NULL;
	for (size_t f = 0; f < FIELDS; f++)
		same &= strcmp(nn_encoder_field(encoder, f), names[f]) == 0;
	ok(same, "encode: a column that several inputs read, or that is hashed, is one field");
	rows_agree(schema, encoder);
	refuses(encoder, 0, "abc", "column \"size\": found \"abc\", expected a number");
	refuses(encoder, 2, NULL, "column \"price\": empty field, expected a number");
	refuses(encoder, 2, "nan", "column \"price\": found \"nan\", expected a number");
	refuses(encoder, 3, "1.5",
		"column \"town\": found \"1.5\", expected a category (text or a whole number)");
	nameless_agree();
	nn_encoder_free(encoder);
	nn_schema_free(schema);
	return tap_done();
}
