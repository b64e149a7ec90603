/* Tables, byte by byte: rows of columns, text among them, into classes, in both protocols. */
#include <stdio.h>
#include <string.h>

#include "serve-world.h"

static void test_tables(void)
{
	static const char want[] = "{\"model_name\":\"t\",\"model_version\":\"1\",\"outputs\":["
				   "{\"name\":\"probs\",\"datatype\":\"FP32\",\"shape\":[2,3],"
				   "\"data\":[0.3,0.04,0.125,0.02,0.2,0.125]},"
				   "{\"name\":\"class\",\"datatype\":\"BYTES\",\"shape\":[2],"
				   "\"data\":[\"cat\",\"dog\"]}]}";
	char body[600], header[128];
	int n;

	post(V1 "t:predict", "{\"instances\":[{\"age\":30,\"colour\":\"blue\"}]}");
	expect(200, "{\"predictions\":[{\"probs\":[0.3,0.04,0.125],\"class\":\"cat\"}]}",
	       "table: rows of objects, probabilities and class");
	post(V1 "t:predict", "{\"inputs\":{\"colour\":[\"b\",\"c\"],\"age\":[1,[2]]}}");
	expect_error(400, "JSON", "table: a ragged column is 400");
	post(V1 "t:predict", "{\"inputs\":{\"colour\":[\"bl\\u0075e\"],\"age\":[30]}}");
	expect(200, "{\"outputs\":{\"probs\":[[0.3,0.04,0.125]],\"class\":[\"cat\"]}}",
	       "table: columns, with an escape");
	post(V1 "t:predict", "{\"instances\":[{\"age\":null,\"colour\":\"blue\"}]}");
	expect_error(400, "row 1: column \\\"age\\\"",
		     "table: what is missing is named by row and column");
	post(V2 "t/infer",
	     "{\"inputs\":[{\"name\":\"colour\",\"shape\":[2],\"datatype\":\"BYTES\","
	     "\"data\":[\"blue\",\"abcdefghijklmnopqrst\"]},{\"name\":\"age\",\"shape\":[2,1],"
	     "\"datatype\":\"FP32\",\"data\":[30,2]}]}");
	expect(200, want, "table: v2, a tensor per column");
	post(V2 "t/infer",
	     "{\"inputs\":[{\"name\":\"colour\",\"shape\":[1],\"datatype\":\"FP32\","
	     "\"data\":[1]},{\"name\":\"age\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[2]}]}");
	expect_error(400, "expected BYTES", "table: numbers for text are 400");
	n = sprintf(body,
		    "{\"inputs\":[{\"name\":\"colour\",\"shape\":[2],\"datatype\":\"BYTES\","
		    "\"parameters\":{\"binary_data_size\":32}},{\"name\":\"age\",\"shape\":[2],"
		    "\"datatype\":\"INT16\",\"parameters\":{\"binary_data_size\":4}}]}");
	memcpy(body + n, "\4\0\0\0blue\24\0\0\0abcdefghijklmnopqrst\36\0\2\0", 36);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	http.headers = header;
	send_bytes("POST", V2 "t/infer", body, (size_t)n + 36);
	expect(200, want, "table: binary strings and numbers");
	body[n] = 5;
	send_bytes("POST", V2 "t/infer", body, (size_t)n + 36);
	expect_error(400, "string 2 of 2", "table: binary strings that do not add up are 400");
	http.headers = NULL;
	post(V1 "t:predict", "{\"instances\":[{\"age\":1,\"colour\":\"unseen\"},"
			     "{\"age\":1,\"colour\":\"b\"},{\"age\":1,\"colour\":\"unseen\"}]}");
	ok(http.status == 200 && nn_board_find(&board, "t", NN_TALLY_UNSEEN).n == 2 &&
		   strstr(told, "2 values of column \"colour\" were not in the training data") ==
			   told,
	   "table: values that the training data did not have are counted and told");
	post(V1 "t:classify", "{\"examples\":[{\"age\":30,\"colour\":\"blue\"}]}");
	expect(200, "{\"results\":[[[\"cat\",0.3],[\"dog\",0.04],[\"o\\\"x\",0.125]]]}",
	       "v1: classify");
	post(V1 "half:classify", "{\"examples\":[{\"input\":1}]}");
	expect_error(400, "no labels", "v1: no labels, no classify");
	post(V1 "half:regress", "{\"examples\":[{\"input\":1},{\"input\":2}]}");
	expect(200, "{\"results\":[2.5,3.0]}", "v1: regress");
	post(V1 "t:regress", "{\"examples\":[]}");
	expect_error(400, "one number", "v1: classes are no regress");
}

/* TensorFlow Serving's way with bytes. */
static void test_base64(void)
{
	static const struct {
		const char *value, *word;
	} wrong[] = { { "{\"b64\":\"Ymx1Z\"}", "not base64" },
		      { "{\"b64\":\"Ym x1\"}", "not base64" },
		      { "{\"b64\":\"/////w==\"}", "not text" },
		      { "{\"b64\":\"AAAA\"}", "not text" },
		      { "{\"b64\":7}", "expected a string" },
		      { "{\"b32\":\"Ymx1ZQ==\"}", "b64" },
		      { "{}", "b64" },
		      { "{\"b64\":\"Ymx1ZQ==\",\"x\":1}", "nothing else" } };
	char body[200];

	post(V1 "t:predict", "{\"instances\":[{\"age\":30,\"colour\":{\"b64\":\"Ymx1ZQ==\"}}]}");
	expect(200, "{\"predictions\":[{\"probs\":[0.3,0.04,0.125],\"class\":\"cat\"}]}",
	       "table: a text may be base64 in a row");
	post(V1 "t:predict",
	     "{\"inputs\":{\"colour\":[\"blue\",{\"b64\":\"Ymx1ZQ\"}],\"age\":[30,30]}}");
	expect(200,
	       "{\"outputs\":{\"probs\":[[0.3,0.04,0.125],[0.3,0.04,0.125]],\"class\":[\"cat\","
	       "\"cat\"]}}",
	       "table: and in a column, without padding too");
	post(V1 "t:classify", "{\"examples\":[{\"age\":30,\"colour\":{\"b64\":\"Ymx1ZQ==\"}}]}");
	expect(200, "{\"results\":[[[\"cat\",0.3],[\"dog\",0.04],[\"o\\\"x\",0.125]]]}",
	       "table: and in examples");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		snprintf(body, sizeof body, "{\"instances\":[{\"age\":30,\"colour\":%s}]}",
			 wrong[i].value);
		post(V1 "t:predict", body);
		expect_error(400, wrong[i].word, wrong[i].value);
	}
	post(V1 "half:predict", "{\"instances\":[{\"b64\":\"AAAA\"}]}");
	expect_error(400, "b64", "v1: a number is no base64");
	post(V2 "t/infer", "{\"inputs\":[{\"name\":\"colour\",\"shape\":[1],\"datatype\":\"BYTES\","
			   "\"data\":[{\"b64\":\"Ymx1ZQ==\"}]},{\"name\":\"age\",\"shape\":[1],"
			   "\"datatype\":\"FP32\",\"data\":[30]}]}");
	expect_error(400, "JSON", "v2: has no base64");
}

static void test_binary_labels(void)
{
	post(V2 "t/infer",
	     "{\"inputs\":[{\"name\":\"colour\",\"shape\":[1],\"datatype\":\"BYTES\","
	     "\"data\":[\"blue\"]},{\"name\":\"age\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":["
	     "30]}],"
	     "\"outputs\":[{\"name\":\"class\"},{\"name\":\"probs\",\"parameters\":"
	     "{\"classification\":2}}],\"parameters\":{\"binary_data_output\":true}}");
	ok(http.status == 200 && http.bytes > 35 &&
		   memcmp(http.body + http.bytes - 35,
			  "\3\0\0\0cat\11\0\0\0000.3:0:cat\13\0\0\0000.125:2:o\"x", 35) == 0,
	   "v2: labels and best classes as binary strings");
}

static void claims(void)
{
	test_tables();
	test_base64();
	test_binary_labels();
}

int main(void)
{
	const struct nn_protocol_setup setup = { .max_depth = 100, .board = &board };

	return with_world(&setup, claims) || tap_done();
}
