/*
 * libFuzzer's door to ONNX files: `make fuzz`. Whatever the bytes are, they are tensors with a text
 * that the model language takes, or it is said why not.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "file/safetensors.h"
#include "model/model.h"
#include "model/onnx.h"

#define REQUIRE(claim) ((claim) ? (void)0 : abort())

extern const struct nn_module nn_module_onnx;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void parse(const struct nn_st *st)
{
	const char *text = nn_st_meta(st, "nn.model");
	struct nn_net *net = NULL;
	struct nn_error err = { 0 };

	REQUIRE(text);
	if (nn_net_parse(&net, "text", text, strlen(text), false, &err) < 0)
		REQUIRE(err.text[0]);
	nn_net_free(net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct nn_onnx *onnx = nn_module_onnx.table;
	struct nn_input *input;
	struct nn_error err = { 0 };
	struct nn_st *st = NULL;

	REQUIRE(nn_input_open_memory(&input, "m.onnx", &err) == 0);
	nn_input_give(input, data, n);
	if (onnx->read(&st, input, false, false, &err) == 0) {
		parse(st);
		nn_st_free(st);
	} else {
		REQUIRE(err.text[0]);
	}
	nn_input_close(input);
	return 0;
}
