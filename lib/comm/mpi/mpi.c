/*
 * Open MPI carries the bytes: the module nn-mpi.
 *
 * Where a host has fewer processors than ranks no rank spins for a message: it would keep a core
 * from one that computes.
 */
#include <mpi.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/module.h"
#include "comm/comm.h"

#define SPIN_S 2e-3 /* of ranks that have a core each; others need the core */
#define NAP_MIN_NS 20000
#define SLACK_NS 1000 /* a nap ends that much late, in place of the 50 us that are usual */
#define NAP_MAX_NS 1000000
#define LOOKS 16     /* after each nap: one moves a fragment of a long message at most */
#define NO_TAG 32767 /* no channel has it */

_Static_assert(sizeof(MPI_Request) == sizeof(void *), "a request is a pointer in Open MPI");

struct state {
	MPI_Comm comm;
	double spin_s;
};

static int failed(int code, const char *what, struct nn_error *err)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int n = 0;

	MPI_Error_string(code, text, &n);
	return nn_fail(err, NN_ERANK, "%s: %s", what, text);
}

static int mpi_open(void **state, bool threads, int *rank, int *size, struct nn_error *err)
{
	int wanted = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, given, code;
	struct state *s = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	code = MPI_Init_thread(NULL, NULL, wanted, &given);
	if (code != MPI_SUCCESS || given < wanted) {
		nn_free(s);
		return nn_fail(err, NN_ENODEV,
			       code == MPI_SUCCESS ? "MPI was built without threads"
						   : "MPI cannot start");
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	s->comm = MPI_COMM_WORLD;
	s->spin_s = nn_comm_crowded() ? 0 : SPIN_S;
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	MPI_Comm_rank(s->comm, rank);
	MPI_Comm_size(s->comm, size);
	*state = s;
	return 0;
}

static void mpi_close(void *state)
{
	MPI_Finalize();
	nn_free(state);
}

static void mpi_abort(void *state, int status)
{
	struct state *s = state;

	MPI_Abort(s->comm, status);
}

static int mpi_send(void *state, int to, int tag, const void *data, size_t bytes,
		    struct nn_request *request, struct nn_error *err)
{
	struct state *s = state;
	int code = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, s->comm,
			     (MPI_Request *)&request->handle);

	return code == MPI_SUCCESS ? 0 : failed(code, "cannot send", err);
}

static int mpi_receive(void *state, int from, int tag, void *data, size_t bytes,
		       struct nn_request *request, struct nn_error *err)
{
	struct state *s = state;
	int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, s->comm,
			     (MPI_Request *)&request->handle);

	return code == MPI_SUCCESS ? 0 : failed(code, "cannot receive", err);
}

/*
 * Test, again and again, for all (which NULL) or any. A rank may wait for hours for another that
 * reads a pipe: it must not keep a core busy.
 */
static int await(const struct state *s, MPI_Request *all, int n, int *which, struct nn_error *err)
{
	struct timespec nap = { .tv_nsec = NAP_MIN_NS };
	double start = 0;
	int done = 0, code = MPI_SUCCESS;

	for (unsigned turn = s->spin_s > 0 ? 1 : 256 - LOOKS; !done; turn++) {
		code = which ? MPI_Testany(n, all, which, &done, MPI_STATUS_IGNORE)
			     : MPI_Testall(n, all, &done, MPI_STATUSES_IGNORE);
		if (code != MPI_SUCCESS)
			return failed(code, "a message was lost", err);
		if (done || turn % 256)
			continue;
		if (start == 0)
			start = nn_now_s();
		if (nn_now_s() - start < s->spin_s) {
			sched_yield();
			continue;
		}
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec * 5 / 4 < NAP_MAX_NS ? nap.tv_nsec * 5 / 4 : NAP_MAX_NS;
		turn = 255 - LOOKS;
	}
	return 0;
}

static int mpi_wait(void *state, struct nn_request *requests, size_t n, struct nn_error *err)
{
	return await(state, (MPI_Request *)(void *)requests, (int)n, NULL, err);
}

/*
 * A look for messages of a tag that nobody uses makes Open MPI move what it has. What fails is
 * found by those who wait for it.
 */
static void mpi_progress(void *state)
{
	struct state *s = state;
	int there = 0;

	for (int i = 0; i < LOOKS; i++)
		MPI_Iprobe(MPI_ANY_SOURCE, NO_TAG, s->comm, &there, MPI_STATUS_IGNORE);
}

static int mpi_wait_any(void *state, struct nn_request *requests, size_t n, size_t *which,
			struct nn_error *err)
{
	int index = 0, status;

	for (size_t i = 0; i < n; i++)
		if (!requests[i].handle)
			requests[i].handle = MPI_REQUEST_NULL;
	status = await(state, (MPI_Request *)(void *)requests, (int)n, &index, err);
	*which = (size_t)index;
	return status;
}

static int mpi_allreduce(void *state, const struct nn_reduce *reduce, const void *in, void *out,
			 size_t count, struct nn_error *err)
{
	static const struct {
		enum nn_dtype ours;
		MPI_Datatype theirs;
	} types[] = {
		{ NN_F32, MPI_FLOAT },    { NN_F64, MPI_DOUBLE },   { NN_I8, MPI_INT8_T },
		{ NN_U8, MPI_UINT8_T },   { NN_I16, MPI_INT16_T },  { NN_U16, MPI_UINT16_T },
		{ NN_I32, MPI_INT32_T },  { NN_U32, MPI_UINT32_T }, { NN_I64, MPI_INT64_T },
		{ NN_U64, MPI_UINT64_T },
	};
	static const MPI_Op ops[] = {
		[NN_REDUCE_MEAN] = MPI_SUM, [NN_REDUCE_SUM] = MPI_SUM,   [NN_REDUCE_MIN] = MPI_MIN,
		[NN_REDUCE_MAX] = MPI_MAX,  [NN_REDUCE_PROD] = MPI_PROD,
	};
	struct state *s = state;
	size_t i = 0;
	int code;

	while (i < sizeof types / sizeof *types && types[i].ours != reduce->dtype)
		i++;
	if (i == sizeof types / sizeof *types)
		return nn_fail(err, NN_EUSAGE, "--algorithm=mpi: MPI has no type for %s",
			       nn_dtype_name(reduce->dtype));
	code = MPI_Allreduce(in == out ? MPI_IN_PLACE : in, out, (int)count, types[i].theirs,
			     ops[reduce->op], s->comm);
	return code == MPI_SUCCESS ? 0 : failed(code, "MPI_Allreduce", err);
}

static const struct nn_transport transport = {
	.name = "mpi",
	.open = mpi_open,
	.close = mpi_close,
	.abort = mpi_abort,
	.send = mpi_send,
	.receive = mpi_receive,
	.wait = mpi_wait,
	.progress = mpi_progress,
	.wait_any = mpi_wait_any,
	.allreduce = mpi_allreduce,
};

const struct nn_module nn_module = { NN_MODULE_ABI, "mpi", &transport };
