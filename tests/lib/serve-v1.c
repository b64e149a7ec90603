/* TensorFlow Serving's protocol, byte by byte: what is answered to rows, columns and nonsense. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve-world.h"

static void test_v1(void)
{
	post(V1 "m:predict", "{\"instances\":[[1,2,3],[0.5,0.25,0.1]]}");
	expect(200, "{\"predictions\":[[6.0,3.0],[0.85,0.1]]}", "v1: rows in, rows out");
	ok(strcmp(http.type, "application/json") == 0 &&
		   strstr(http.set, "Server-Timing: read;dur="),
	   "v1: an answer is JSON and says where its time went");
	post(V1 "m:predict", "{\"signature_name\":\"serving_default\",\"inputs\":[[1,2,3]]}");
	expect(200, "{\"outputs\":[[6.0,3.0]]}", "v1: columns in, columns out");
	post(V1 "half:predict", "{\"instances\":[1.0,2.0,5.0]}");
	expect(200, "{\"predictions\":[2.5,3.0,4.5]}",
	       "v1: half_plus_two takes and answers bare numbers");
	post(V1 "half:predict", "{\"instances\":[[1.0],[2.0]]}");
	expect(200, "{\"predictions\":[2.5,3.0]}", "v1: a value in an array is a row too");
	post(V1 "half/versions/123:predict", "{\"instances\":[2]}");
	expect(200, "{\"predictions\":[3.0]}", "v1: a version is served");
	post(V1 "half/labels/stable:predict", "{\"instances\":[2]}");
	expect(200, "{\"predictions\":[3.0]}", "v1: a label is served");
	post(V1 "half:predict", "{\"instances\":[NaN,-Infinity,Infinity]}");
	expect(200, "{\"predictions\":[NaN,-Infinity,Infinity]}",
	       "v1: numbers that are not go in and out");
	post(V1 "half:predict", "{\"instances\":[]}");
	expect(200, "{\"predictions\":[]}", "v1: no rows are answered by no rows");
	post(V1 "m:predict", "{\"instances\":[{\"input\":[1,2,3]}]}");
	expect(200, "{\"predictions\":[[6.0,3.0]]}", "v1: rows may be objects");
	post(V1 "pair:predict", "{\"instances\":[{\"b\":3,\"a\":[1,2]},{\"a\":[0,0],\"b\":0.5}]}");
	expect(200,
	       "{\"predictions\":[{\"sum\":6.0,\"grid\":[[3.0,4.0],[5.0,6.0]]},"
	       "{\"sum\":0.5,\"grid\":[[0.5,1.5],[2.5,3.5]]}]}",
	       "v1: several inputs and outputs by name, a row at a time");
	post(V1 "pair:predict", "{\"inputs\":{\"b\":[3,0.5],\"a\":[[1,2],[0,0]]}}");
	expect(200,
	       "{\"outputs\":{\"sum\":[6.0,0.5],\"grid\":[[[3.0,4.0],[5.0,6.0]],[[0.5,1.5],[2.5,3."
	       "5]]]}}",
	       "v1: several inputs and outputs by name, one at a time");
	ok(held == 0, "v1: no request keeps its model");
}

static void test_v1_numbers(void)
{
	post(V1 "half:predict", "{\"instances\":[-3.7530863,1e10,-4,2e-7,1e38,1e-30]}");
	expect(200, "{\"predictions\":[0.123456836,5e+09,0.0,2.0,5e+37,2.0]}",
	       "v1: 6 digits where they read back, else 9");
}

static void test_v1_numbers_read_back(void)
{
	char body[64];
	bool good = true;
	uint32_t x = 12345;

	for (int i = 0; i < 20000; i++) {
		float value, back;
		uint32_t bits;

		x = x * 1664525 + 1013904223;
		bits = (x & 0x80000000) | (x >> 1 & 0x3fffffff) | 0x10000000;
		memcpy(&value, &bits, sizeof value);
		snprintf(body, sizeof body, "{\"instances\":[[0,0,%.9g]]}", (double)value);
		post(V1 "m:predict", body);
		if (http.status != 200)
			continue;
		back = strtof(strchr(http.body, ',') + 1, NULL);
		good &= back == value;
	}
	ok(good, "v1: what is written reads back to the same float");
}

static void test_v1_errors(void)
{
	post(V1 "nobody:predict", "{\"instances\":[1]}");
	expect_error(404, "no such model", "v1: an unknown model is 404");
	post(V1 "half/versions/7:predict", "{\"instances\":[1]}");
	expect_error(404, "no such model", "v1: an unknown version is 404");
	post(V1 "half/labels/canary:predict", "{\"instances\":[1]}");
	expect_error(400, "canary", "v1: an unknown label is 400");
	post(V1 "half:predict", "{\"instances\":[1],\"inputs\":[1]}");
	expect_error(400, "instances", "v1: both instances and inputs are 400");
	post(V1 "half:predict", "{\"instances\":[1],\"instances\":[1]}");
	expect_error(400, "twice", "v1: instances twice are 400");
	post(V1 "half:predict", "{\"instances\":[1],\"other\":{\"a\":1,\"a\":2}}");
	expect_error(400, "the key a twice", "v1: a key twice in what is skipped is 400");
	post(V1 "half:predict", "{}");
	expect_error(400, "instances", "v1: neither instances nor inputs are 400");
	post(V1 "half:predict", "{\"signature_name\":\"other\",\"instances\":[1]}");
	expect_error(400, "other", "v1: an unknown signature is 400");
	post(V1 "half:predict", "{\"instances\":[1]} x");
	expect_error(400, "JSON, byte", "v1: bytes behind the JSON are 400");
	post(V1 "half:predict", "{\"instances\":[1");
	expect_error(400, "JSON, byte", "v1: JSON that ends early is 400");
	post(V1 "half:predict", "");
	expect_error(400, "JSON", "v1: no body is 400");
	post(V1 "half:predict", "{\"instances\":[1e39]}");
	expect_error(400, "1e39", "v1: a number beyond f32 is 400");
	post(V1 "m:predict", "{\"instances\":[[1,2]]}");
	expect_error(400, "found shape [1,2], expected [-1,3]", "v1: a wrong shape is told");
	post(V1 "m:predict", "{\"instances\":[[1,2,3],[1,2]]}");
	expect_error(400, "array of 2", "v1: ragged rows are 400");
	post(V1 "m:predict", "{\"instances\":[[1,2,\"x\"]]}");
	expect_error(400, "number", "v1: a string for a number is 400");
	post(V1 "pair:predict", "{\"instances\":[{\"a\":[1,2]}]}");
	expect_error(400, "\\\"b\\\" is missing", "v1: a missing input is named");
	post(V1 "pair:predict", "{\"instances\":[{\"a\":[1,2],\"a\":[1,2]}]}");
	expect_error(400, "twice", "v1: an input twice is 400");
	post(V1 "pair:predict", "{\"instances\":[{\"a\":[1,2],\"b\":1,\"c\":1}]}");
	expect_error(400, "no input \\\"c\\\"", "v1: an extra input is named");
	post(V1 "pair:predict", "{\"inputs\":{\"a\":[[1,2]],\"b\":[1,2]}}");
	expect_error(400, "rows", "v1: inputs of different numbers of rows are 400");
	post(V1 "pair:predict", "{\"instances\":[[1,2,3]]}");
	expect_error(400, "object", "v1: several inputs want objects");
	ok(held == 0, "v1: no error keeps its model");
}

static void claims(void)
{
	test_v1();
	test_v1_numbers();
	test_v1_numbers_read_back();
	test_v1_errors();
}

int main(void)
{
	const struct nn_protocol_setup setup = { .max_depth = 100, .board = &board };

	return with_world(&setup, claims) || tap_done();
}
