/* Models for tests of the server, made from a text: the same weights each time. */
#ifndef TESTS_LIB_SERVE_MODEL_H
#define TESTS_LIB_SERVE_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "model/model.h"
#include "predict/model.h"

/* Write a model file; the jsons are nn.input, nn.target and nn.train or NULL. */
static inline int serve_write_model(const char *path, const char *text, const char *input_json,
				    const char *target_json, const char *train_json,
				    struct nn_error *err)
{
	struct nn_output *output = NULL;
	struct nn_net *net = NULL;
	void **params = NULL;
	int status = nn_net_parse(&net, "-m", text, strlen(text), true, err);

	if (status == 0)
		status = nn_net_resolve(net, NULL, NULL, err);
	if (status == 0 && !(params = nn_params_new(nn_net_program(net), NN_F32, err)))
		status = -1;
	if (status == 0)
		status = nn_net_init(net, 7, NN_F32, params, err);
	if (status == 0)
		status = nn_output_open(&output, path, true, err);
	if (status == 0)
		status = nn_model_file_write(output, net, NN_F32, (const void *const *)params,
					     input_json, target_json, train_json, err);
	if (status == 0)
		status = nn_output_commit(output, err);
	nn_free(params);
	nn_net_free(net);
	return status;
}

/* NULL with the reason on stdout as TAP has it. */
static inline struct nn_model *serve_model(const char *text, const char *input_json,
					   const char *target_json, const char *train_json)
{
	char path[] = "/tmp/nn-serve.XXXXXX";
	struct nn_model *model = NULL;
	struct nn_error err = { 0 };
	int file = mkstemp(path);

	if (file >= 0)
		close(file);
	if (serve_write_model(path, text, input_json, target_json, train_json, &err) == 0)
		model = nn_model_open(path, &err);
	if (!model)
		printf("# %s\n", err.text);
	unlink(path);
	return model;
}

#endif
