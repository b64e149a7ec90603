/*
 * A backend of Triton that computes with nn.h, so that nn-serve and Triton differ in the server alone.
 * The model is <version directory>/net.st, its one input and output are vectors of f32.
 *
 * The server's functions are declared here as its documentation describes them: its headers are in no package.
 */
#include "nn.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *failure; /* TRITONSERVER_Error, NULL: none */
enum { INVALID_ARGUMENT = 3, FP32 = 11, CPU_MEMORY = 0, FINAL = 1, RELEASE_ALL = 1 };

failure TRITONSERVER_ErrorNew(int code, const char *message);
void TRITONSERVER_ErrorDelete(failure error);
failure TRITONBACKEND_ModelRepository(void *model, int *type, const char **location);
failure TRITONBACKEND_ModelVersion(void *model, uint64_t *version);
failure TRITONBACKEND_ModelInstanceModel(void *instance, void **model);
failure TRITONBACKEND_ModelInstanceState(void *instance, void **state);
failure TRITONBACKEND_ModelInstanceSetState(void *instance, void *state);
failure TRITONBACKEND_RequestInputByIndex(void *request, uint32_t index, void **input);
failure TRITONBACKEND_InputProperties(void *input, const char **name, int *type, const int64_t **shape,
				      uint32_t *dims, uint64_t *bytes, uint32_t *buffers);
failure TRITONBACKEND_InputBuffer(void *input, uint32_t index, const void **buffer, uint64_t *bytes,
				  int *memory, int64_t *memory_id);
failure TRITONBACKEND_ResponseNew(void **response, void *request);
failure TRITONBACKEND_ResponseOutput(void *response, void **output, const char *name, int type,
				     const int64_t *shape, uint32_t dims);
failure TRITONBACKEND_OutputBuffer(void *output, void **buffer, uint64_t bytes, int *memory,
				   int64_t *memory_id);
failure TRITONBACKEND_ResponseSend(void *response, uint32_t flags, failure error);
failure TRITONBACKEND_RequestRelease(void *request, uint32_t flags);

/* Of an instance: a session and room for the rows of a batch. */
struct state {
	struct nn_model *model;
	struct nn_session *session;
	size_t in, out;
	float *x, *y; /* MOST rows each */
};

enum { MOST = 64 }; /* max_batch_size, and what a session takes */

failure TRITONBACKEND_ModelInstanceInitialize(void *instance)
{
	struct state *state = calloc(1, sizeof *state);
	struct nn_error err = {0};
	char path[PATH_MAX];
	const char *location;
	uint64_t version;
	void *model;
	int type;

	TRITONBACKEND_ModelInstanceModel(instance, &model);
	TRITONBACKEND_ModelRepository(model, &type, &location);
	TRITONBACKEND_ModelVersion(model, &version);
	snprintf(path, sizeof path, "%s/%d/net.st", location, (int)version);
	if (!(state->model = nn_model_open(path, &err)) ||
	    !(state->session = nn_session_open(state->model, NULL, &err)))
		return TRITONSERVER_ErrorNew(INVALID_ARGUMENT, err.text);
	state->in = nn_session_input_size(state->session, 0);
	state->out = nn_session_output_size(state->session, 0);
	state->x = malloc(MOST * state->in * sizeof(float));
	state->y = malloc(MOST * state->out * sizeof(float));
	return TRITONBACKEND_ModelInstanceSetState(instance, state);
}

failure TRITONBACKEND_ModelInstanceFinalize(void *instance)
{
	struct state *state;

	TRITONBACKEND_ModelInstanceState(instance, (void **)&state);
	nn_session_close(state->session);
	nn_model_close(state->model);
	free(state->x);
	free(state->y);
	free(state);
	return NULL;
}

/* Append a request's rows to x; returns how many there are. */
static size_t rows_of(struct state *state, void *request, float *x)
{
	const int64_t *shape;
	uint64_t bytes, part;
	uint32_t dims, n;
	int64_t memory_id;
	int type, memory;
	const void *buffer;
	const char *name;
	void *input;

	TRITONBACKEND_RequestInputByIndex(request, 0, &input);
	TRITONBACKEND_InputProperties(input, &name, &type, &shape, &dims, &bytes, &n);
	for (uint32_t i = 0; i < n; i++) {
		TRITONBACKEND_InputBuffer(input, i, &buffer, &part, &memory, &memory_id);
		memcpy(x, buffer, part);
		x += part / sizeof *x;
	}
	return bytes / sizeof(float) / state->in;
}

static void answer(struct state *state, void *request, const float *y, size_t rows)
{
	int64_t shape[2] = {(int64_t)rows, (int64_t)state->out}, memory_id = 0;
	size_t bytes = rows * state->out * sizeof *y;
	int memory = CPU_MEMORY;
	void *response, *output, *buffer;

	TRITONBACKEND_ResponseNew(&response, request);
	TRITONBACKEND_ResponseOutput(response, &output, "output", FP32, shape, 2);
	TRITONBACKEND_OutputBuffer(output, &buffer, bytes, &memory, &memory_id);
	memcpy(buffer, y, bytes);
	TRITONBACKEND_ResponseSend(response, FINAL, NULL);
	TRITONBACKEND_RequestRelease(request, RELEASE_ALL);
}

failure TRITONBACKEND_ModelInstanceExecute(void *instance, void **requests, uint32_t n)
{
	size_t rows[MOST], all = 0;
	struct state *state;
	struct nn_error err = {0};

	TRITONBACKEND_ModelInstanceState(instance, (void **)&state);
	for (uint32_t i = 0; i < n; i++)
		all += rows[i] = rows_of(state, requests[i], state->x + all * state->in);
	if (nn_session_predict(state->session, (const float *const[]){state->x}, all,
			       (float *const[]){state->y}, &err))
		return TRITONSERVER_ErrorNew(INVALID_ARGUMENT, err.text);
	all = 0;
	for (uint32_t i = 0; i < n; i++) {
		answer(state, requests[i], state->y + all * state->out, rows[i]);
		all += rows[i];
	}
	return NULL;
}
