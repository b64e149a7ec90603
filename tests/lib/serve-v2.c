/* The Open Inference Protocol, byte by byte: JSON, its binary extension, labels. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve-world.h"

#define INPUT(rest) "{\"inputs\":[{\"name\":\"input\"," rest "}]}"

static void test_v2(void)
{
	post(V2 "m/infer",
	     INPUT("\"shape\":[2,3],\"datatype\":\"FP32\",\"data\":[1,2,3,0.5,0.25,0.1]"));
	expect(200,
	       "{\"model_name\":\"m\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"output\","
	       "\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[6,3,0.85,0.1]}]}",
	       "v2: flat data in and out");
	post(V2 "half/infer", "{\"inputs\":[{\"data\":[[1],[3]],\"datatype\":\"FP32\",\"name\":"
			      "\"input\",\"shape\":[2,1]}],"
			      "\"id\":\"a\\\"1\"}");
	expect(200,
	       "{\"model_name\":\"half\",\"model_version\":\"123\",\"id\":\"a\\\"1\",\"outputs\":[{"
	       "\"name\":"
	       "\"output\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[2.5,3.5]}]}",
	       "v2: nested data before their datatype, an id");
	post(V2 "half/infer", INPUT("\"shape\":[1],\"datatype\":\"FP64\",\"data\":[1e38]"));
	expect(200, NULL, "v2: FP64 is taken");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"INT8\",\"data\":[1,-128,127]"));
	expect(200, NULL, "v2: INT8 is taken");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"BOOL\",\"data\":[true,false,1]"));
	ok(http.status == 200 && strstr(http.body, "\"data\":[2,1]"), "v2: BOOL is 0 and 1");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"UINT8\",\"data\":[1,2,256]"));
	expect_error(400, "UINT8", "v2: a number beyond its datatype is 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"INT32\",\"data\":[1,2,0.5]"));
	expect_error(400, "INT32", "v2: a fraction is no INT32");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP16\",\"data\":[1,2,3]"));
	expect_error(400, "binary", "v2: FP16 has no JSON form");
	post(V2 "m/infer",
	     INPUT("\"shape\":[1,3],\"datatype\":\"BYTES\",\"data\":[\"1\",\"2\",\"3\"]"));
	expect_error(400, "BYTES", "v2: strings for numbers are 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FLOAT\",\"data\":[1,2,3]"));
	expect_error(400, "FLOAT", "v2: an unknown datatype is 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1,NaN,3]"));
	expect_error(400, "NaN", "v2: NaN is no JSON");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1,2]"));
	expect_error(400, "shape", "v2: too few values are 400");
	post(V2 "m/infer", INPUT("\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]"));
	expect_error(400, "expected [-1,3]", "v2: a wrong shape is told");
	post(V2 "m/infer", INPUT("\"shape\":[0,3],\"datatype\":\"FP32\",\"data\":[]"));
	expect(200, NULL, "v2: no rows are answered");
	post(V2 "m/infer", INPUT("\"shape\":[1,3],\"datatype\":\"FP32\""));
	expect_error(400, "neither", "v2: an input without data is 400");
	post(V2 "m/infer",
	     INPUT("\"shape\":[1,3],\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1,2,3]"));
	expect_error(400, "twice", "v2: a member twice is 400");
	post(V2 "m/infer", "{\"inputs\":[]}");
	expect_error(400, "missing", "v2: an input that is missing is named");
	post(V2 "m/infer", "{}");
	expect_error(400, "missing", "v2: no inputs are 400");
}

static void test_v2_outputs(void)
{
	static const char pair[] =
		"{\"inputs\":[{\"name\":\"b\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[3]},"
		"{\"name\":\"a\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}],"
		"\"outputs\":[{\"name\":\"%s\"%s}]}";
	char body[512];

	snprintf(body, sizeof body, pair, "grid", "");
	post(V2 "pair/infer", body);
	expect(200,
	       "{\"model_name\":\"pair\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"grid\","
	       "\"datatype\":\"FP32\",\"shape\":[1,2,2],\"data\":[3,4,5,6]}]}",
	       "v2: several inputs in any order, one output of two");
	snprintf(body, sizeof body, pair, "grid", ",\"parameters\":{\"classification\":2}");
	post(V2 "pair/infer", body);
	ok(http.status == 200 && strstr(http.body, "\"datatype\":\"BYTES\",\"shape\":[1,2],"
						   "\"data\":[\"6.0:3\",\"5.0:2\"]"),
	   "v2: classification: the best, without labels");
	snprintf(body, sizeof body, pair, "other", "");
	post(V2 "pair/infer", body);
	expect_error(400, "other", "v2: an unknown output is named");
	snprintf(body, sizeof body, pair, "sum\"},{\"name\":\"sum", "");
	post(V2 "pair/infer", body);
	expect_error(400, "twice", "v2: an output twice is 400");
}

static void test_v2_binary(void)
{
	static const char json[] = INPUT("\"shape\":[1,3],\"datatype\":\"%s\","
					 "\"parameters\":{\"binary_data_size\":%d}");
	const float values[] = { 1, 2, 3 }, bad[] = { 1, NAN, 3 };
	char body[512], header[128];
	float out[2];
	int n;

	n = sprintf(body, json, "FP32", 12);
	memcpy(body + n, values, 12);
	sprintf(header, "inference-header-content-length: %d\n", n);
	http.headers = header;
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 12);
	ok(http.status == 200 && strstr(http.body, "[6,3]"), "v2: binary in, JSON out");
	memcpy(body + n, bad, 12);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 12);
	expect_error(400, "value 2 is not finite", "v2: NaN in binary data is 400");
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 11);
	expect_error(400, "found 11", "v2: binary data that end early are 400");
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 13);
	expect_error(400, "is not finite", "v2: bad values come first");
	memcpy(body + n, values, 12);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 13);
	expect_error(400, "belongs to no input", "v2: bytes that are nobody's are 400");
	n = sprintf(body, json, "BF16", 6);
	memcpy(body + n, "\x80\x3f\x00\x40\x40\x40", 6);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 6);
	ok(http.status == 200 && strstr(http.body, "[6,3]"), "v2: BF16 is binary");
	n = sprintf(body, json, "FP16", 6);
	memcpy(body + n, "\x00\x3c\x00\x40\x00\x42", 6);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 6);
	ok(http.status == 200 && strstr(http.body, "[6,3]"), "v2: FP16 is binary");
	n = sprintf(body, json, "BOOL", 3);
	memcpy(body + n, "\0\1\1", 3);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 3);
	ok(http.status == 200 && strstr(http.body, "[2,1]"), "v2: BOOL is binary");
	n = sprintf(body, json, "INT64", 24);
	memcpy(body + n, (int64_t[]){ -1, 2, 3 }, 24);
	sprintf(header, "Inference-Header-Content-Length: %d\n", n);
	send_bytes("POST", V2 "m/infer", body, (size_t)n + 24);
	ok(http.status == 200 && strstr(http.body, "[4,3]"), "v2: INT64 is binary");
	http.headers = "Inference-Header-Content-Length: 0\n";
	send_bytes("POST", V2 "m/infer", values, 12);
	memcpy(out, http.body + http.bytes - 8, 8);
	ok(http.status == 200 && out[0] == 6 && out[1] == 3 &&
		   strcmp(http.type, "application/octet-stream") == 0 &&
		   strstr(http.set, "Inference-Header-Content-Length: ") &&
		   strstr(http.body, "\"parameters\":{\"binary_data_size\":8}}]}"),
	   "v2: the body is the tensor, the answer binary");
	ok(strtoul(strstr(http.set, "Length: ") + 8, NULL, 10) == http.bytes - 8,
	   "v2: the header tells how long the JSON is");
	send_bytes("POST", V2 "m/infer", values, 11);
	expect_error(400, "12 bytes each", "v2: half a row is 400");
	http.headers = "Inference-Header-Content-Length: 99\n";
	post(V2 "m/infer", "{}");
	expect_error(400, "99", "v2: a header beyond the body is 400");
	http.headers = NULL;
}

static void test_v2_not_finite(void)
{
	post(V2 "m/infer",
	     INPUT("\"shape\":[2,3],\"datatype\":\"FP32\",\"data\":[3e38,3e38,1,-3e38,-3e38,0]"));
	ok(http.status == 200 && strstr(http.body, "\"data\":[null,1,null,0]"),
	   "v2: what is not finite is null in JSON");
}

static void test_v2_parameters(void)
{
	post(V2 "half/infer", "{\"parameters\":{\"priority\":3,\"timeout\":0},\"inputs\":[{"
			      "\"name\":\"input\",\"shape\":[1],"
			      "\"datatype\":\"FP32\",\"data\":[1]}]}");
	expect(200, NULL, "v2: a priority is taken");
	post(V2 "half/infer", "{\"parameters\":{\"priority\":\"high\"},\"inputs\":[{\"name\":"
			      "\"input\",\"shape\":[1],"
			      "\"datatype\":\"FP32\",\"data\":[1]}]}");
	expect_error(400, "number", "v2: but a number");
}

static void claims(void)
{
	test_v2();
	test_v2_outputs();
	test_v2_binary();
	test_v2_not_finite();
	test_v2_parameters();
}

int main(void)
{
	const struct nn_protocol_setup setup = { .max_depth = 100, .board = &board };

	return with_world(&setup, claims) || tap_done();
}
