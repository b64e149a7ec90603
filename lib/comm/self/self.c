/* One rank, without peers. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comm/transport.h"

static int self_open(void **state, bool threads, int *rank, int *size, struct nn_error *err)
{
	(void)threads;
	(void)err;
	*state = NULL;
	*rank = 0;
	*size = 1;
	return 0;
}

static void self_close(void *state)
{
	(void)state;
}

/* With no other rank to end, what follows an error is what the caller does anyway. */
static void self_abort(void *state, int status)
{
	(void)state;
	(void)status;
}

static int self_send(void *state, int to, int tag, const void *data, size_t bytes,
		     struct nn_request *request, struct nn_error *err)
{
	(void)state, (void)tag, (void)data, (void)bytes, (void)request, (void)err;
	NN_BUG("a message to rank %d of 1", to);
}

static int self_receive(void *state, int from, int tag, void *data, size_t bytes,
			struct nn_request *request, struct nn_error *err)
{
	return self_send(state, from, tag, data, bytes, request, err);
}

static int self_wait(void *state, struct nn_request *requests, size_t n, struct nn_error *err)
{
	(void)state, (void)requests, (void)n, (void)err;
	return 0;
}

static int self_wait_any(void *state, struct nn_request *requests, size_t n, size_t *which,
			 struct nn_error *err)
{
	(void)state, (void)requests, (void)n, (void)which, (void)err;
	NN_BUG("one rank waits for any of %zu messages", n);
}

static void self_progress(void *state)
{
	(void)state;
}

static int self_allreduce(void *state, const struct nn_reduce *reduce, const void *in, void *out,
			  size_t count, struct nn_error *err)
{
	(void)state, (void)err;
	if (in != out)
		memcpy(out, in, count * nn_dtype_size(reduce->dtype));
	return 0;
}

const struct nn_transport nn_transport_self = {
	.name = "self",
	.open = self_open,
	.close = self_close,
	.abort = self_abort,
	.send = self_send,
	.receive = self_receive,
	.wait = self_wait,
	.progress = self_progress,
	.wait_any = self_wait_any,
	.allreduce = self_allreduce,
};
