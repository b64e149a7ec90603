/*
 * nn-cuda.so as it is, over a runtime of CUDA that is no more than its calls: kernels in their host
 * form, work done when it is asked for, memory that of the host. Any call can be made to fail.
 *
 * NN_CUDA_FAULT=N: the Nth call fails; N:lost: and all after it, as of a device that fell off the
 * bus; N:busy: as of one that another process has to itself. NN_CUDA_CALLS=FILE: how many calls
 * there were; NN_CUDA_SENT=FILE: bytes copied to the device; NN_CUDA_NODES=FILE: the kernels,
 * copies and clearings of the graph launched last, a line each; NN_CUDA_DRIVER=no: there is none.
 * CUDA_VISIBLE_DEVICES: 0 and unset are the one device. NN_CUDA_ROOM=BYTES: of its memory;
 * NN_CUDA_TAKEN=BYTES: of that others take as soon as someone has asked how much there is.
 * NN_CUDA_COLUMNS=BYTES: of the columns of convolutions that are in memory at a time.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_runtime_api.h"
#include "device/cuda/cuda.h"

#define NN_CUDA_KERNEL(name) \
	extern const struct nn_cuda_kernel nn_simt_##name##_f32, nn_simt_##name##_f64;
#include "device/cuda/kernels.def"

_Thread_local bool nn_cuda_backwards;

/* A launch, a copy of lines, bytes set, or what a library does. */
struct work {
	struct work *next;
	void (*call)(const void *args);
	const struct nn_cuda_kernel *kernel;
	size_t blocks;
	char *to;
	const char *from; /* NULL: set to 0 */
	size_t to_line, from_line, bytes, lines;
	size_t args[];
};

struct stream {
	bool capturing;
	struct work *first, **end;
};

/* ---- faults ---- */

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static unsigned long calls, sent;

static cudaError_t call(cudaError_t how)
{
	static bool lost;
	const char *fault = getenv("NN_CUDA_FAULT"),
		   *kind = fault ? strchr(fault, ':') : NULL;
	bool fails;

	pthread_mutex_lock(&counting);
	calls++;
	fails = fault && strtoul(fault, NULL, 10) == calls;
	lost = lost || (fails && kind);
	if (lost)
		how = strcmp(kind, ":busy") == 0 ? cudaErrorDevicesUnavailable
						 : cudaErrorLaunchFailure;
	fails = fails || lost;
	pthread_mutex_unlock(&counting);
	return fails ? how : cudaSuccess;
}

#define CALL(how) \
	do { \
		cudaError_t error_ = call(how); \
		if (error_ != cudaSuccess) \
			return error_; \
	} while (0)

__attribute__((destructor)) static void tell_calls(void)
{
	const char *const names[] = { getenv("NN_CUDA_CALLS"), getenv("NN_CUDA_SENT") };

	for (int i = 0; i < 2 && calls; i++) {
		FILE *file = names[i] ? fopen(names[i], "w") : NULL;

		if (file) {
			fprintf(file, "%lu\n", i ? sent : calls);
			fclose(file);
		}
	}
}

const char *cudaGetErrorString(cudaError_t error)
{
	switch (error) {
	case cudaSuccess:
		return "no error";
	case cudaErrorMemoryAllocation:
		return "out of memory";
	case cudaErrorInsufficientDriver:
		return "CUDA driver version is insufficient for CUDA runtime version";
	case cudaErrorNoDevice:
		return "no CUDA-capable device is detected";
	case cudaErrorDevicesUnavailable:
		return "CUDA-capable device(s) is/are busy or unavailable";
	default:
		return "unspecified launch failure";
	}
}

cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

/* ---- devices ---- */

size_t nn_runtime_columns(void)
{
	const char *bytes = getenv("NN_CUDA_COLUMNS");

	return bytes ? strtoul(bytes, NULL, 10) : (size_t)64 << 20;
}

cudaError_t cudaGetDeviceCount(int *n)
{
	const char *driver = getenv("NN_CUDA_DRIVER"), *visible = getenv("CUDA_VISIBLE_DEVICES");

	CALL(cudaErrorNoDevice);
	if (driver && strcmp(driver, "no") == 0)
		return cudaErrorInsufficientDriver;
	if (visible && strcmp(visible, "0") != 0)
		return cudaErrorNoDevice;
	*n = 1;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number)
{
	CALL(cudaErrorNoDevice);
	snprintf(properties->name, sizeof properties->name, "runtime of the tests %d", number);
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number)
{
	(void)attribute;
	(void)number;
	CALL(cudaErrorNoDevice);
	*value = 132; /* multiprocessors, as an H200 has */
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int number)
{
	(void)number;
	return call(cudaErrorNoDevice);
}

/* ---- work ---- */

static void run(const struct work *w)
{
	if (w->call) {
		w->call(w->args);
		return;
	}
	if (w->kernel) {
		nn_cuda_backwards = !nn_cuda_backwards;
		((void (*)(const void *args, size_t blocks))w->kernel->run)(w->args, w->blocks);
		return;
	}
	for (size_t i = 0; i < w->lines; i++)
		if (w->from)
			memmove(w->to + i * w->to_line, w->from + i * w->from_line, w->bytes);
		else
			memset(w->to, 0, w->bytes);
}

static struct work *work_new(size_t bytes)
{
	struct work *w = calloc(1, sizeof *w + bytes);

	if (!w)
		abort();
	return w;
}

static void do_work(struct stream *stream, struct work *w)
{
	if (stream->capturing) {
		*stream->end = w;
		stream->end = &w->next;
		return;
	}
	run(w);
	free(w);
}

/* Of a library beside the runtime (cublaslt.c): run(what), of so many bytes, in the stream's order. */
void nn_runtime_ask(cudaStream_t stream, void (*run)(const void *), const void *what, size_t bytes);
void nn_runtime_ask(cudaStream_t stream, void (*run)(const void *), const void *what, size_t bytes)
{
	struct work *w = work_new(bytes);

	w->call = run;
	memcpy(w->args, what, bytes);
	do_work(stream, w);
}

static const struct nn_cuda_kernel *kernel_of(const void *function)
{
	static const struct nn_cuda_kernel *const kernels[] = {
#define NN_CUDA_KERNEL(name) &nn_simt_##name##_f32, &nn_simt_##name##_f64,
#include "device/cuda/kernels.def"
	};

	for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
		if ((const void *)kernels[i]->run == function)
			return kernels[i];
	abort();
}

/* Of sm_90: kernels wait for one another by themselves; here work is done when it is asked for. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
	CALL(cudaErrorLaunchFailure);
	kernel_of(kernel);
	attributes->ptxVersion = 90;
	return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **args)
{
	const struct nn_cuda_kernel *k = kernel_of(kernel);
	struct work *w;

	if (how->blockDim.x != k->threads ||
	    how->numAttrs != (how->gridDim.x <= NN_CUDA_FEW_BLOCKS) ||
	    how->attrs->id != cudaLaunchAttributeProgrammaticStreamSerialization)
		abort();
	CALL(cudaErrorLaunchFailure);
	w = work_new(k->bytes);
	w->kernel = k;
	w->blocks = how->gridDim.x;
	memcpy(w->args, args[0], k->bytes);
	do_work(how->stream, w);
	return cudaSuccess;
}

static cudaError_t copy(void *to, size_t to_line, const void *from, size_t from_line, size_t bytes,
			size_t lines, cudaStream_t stream)
{
	struct work *w;

	CALL(cudaErrorLaunchFailure);
	w = work_new(0);
	w->to = to;
	w->to_line = to_line;
	w->from = from;
	w->from_line = from_line;
	w->bytes = bytes;
	w->lines = lines;
	do_work(stream, w);
	return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
	if (kind == cudaMemcpyHostToDevice) {
		pthread_mutex_lock(&counting);
		sent += bytes;
		pthread_mutex_unlock(&counting);
	}
	return copy(to, bytes, from, bytes, bytes, bytes > 0, stream);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_line, const void *from, size_t from_line,
			      size_t bytes, size_t lines, int kind, cudaStream_t stream)
{
	(void)kind;
	return copy(to, to_line, from, from_line, bytes, lines, stream);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
	(void)value;
	return copy(memory, bytes, NULL, 0, bytes, bytes > 0, stream);
}

/* ---- streams, events and graphs ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	(void)flags;
	CALL(cudaErrorMemoryAllocation);
	*stream = calloc(1, sizeof **stream);
	return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	free(stream);
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	(void)stream;
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	(void)stream;
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	(void)stream;
	(void)event;
	(void)flags;
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
	(void)mode;
	CALL(cudaErrorLaunchFailure);
	stream->capturing = true;
	stream->first = NULL;
	stream->end = &stream->first;
	return cudaSuccess;
}

static void free_work(struct work *w)
{
	while (w) {
		struct work *next = w->next;

		free(w);
		w = next;
	}
}

/* Whatever else, the stream captures no more. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	cudaError_t error = call(cudaErrorLaunchFailure);

	stream->capturing = false;
	if (error != cudaSuccess) {
		free_work(stream->first);
		return error;
	}
	*graph = work_new(0);
	(*graph)->next = stream->first;
	return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned flags)
{
	(void)flags;
	CALL(cudaErrorMemoryAllocation);
	*exec = work_new(0);
	(*exec)->next = graph->next;
	graph->next = NULL;
	return cudaSuccess;
}

static void tell_nodes(const struct work *w)
{
	const char *name = getenv("NN_CUDA_NODES");
	FILE *file = name ? fopen(name, "w") : NULL;

	for (; file && w; w = w->next)
		fprintf(file, "%s\n",
			w->kernel ? w->kernel->name : w->call ? "call" : w->from ? "copy" : "clear");
	if (file)
		fclose(file);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	(void)stream;
	CALL(cudaErrorLaunchFailure);
	tell_nodes(exec->next);
	for (const struct work *w = exec->next; w; w = w->next)
		run(w);
	return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	free_work(graph);
	return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	free_work(exec);
	return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	CALL(cudaErrorMemoryAllocation);
	*event = malloc(1);
	return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	(void)event;
	(void)stream;
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	(void)event;
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	(void)from;
	(void)to;
	*ms = 0;
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

/* ---- memory ---- */

static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static size_t held;
static bool asked;

static size_t bytes_of(const char *name, size_t usual)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : usual;
}

static size_t all_bytes(void)
{
	return bytes_of("NN_CUDA_ROOM", (size_t)1 << 30);
}

static size_t free_bytes(void)
{
	size_t taken = held + (asked ? bytes_of("NN_CUDA_TAKEN", 0) : 0);

	return taken < all_bytes() ? all_bytes() - taken : 0;
}

static void *some_memory(size_t bytes)
{
	void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);

	if (memory)
		memset(memory, 0xff, bytes);
	return memory;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
	CALL(cudaErrorMemoryAllocation);
	pthread_mutex_lock(&taking);
	*memory = bytes <= free_bytes() ? some_memory(bytes) : NULL;
	held += malloc_usable_size(*memory);
	pthread_mutex_unlock(&taking);
	return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
	pthread_mutex_lock(&taking);
	held -= malloc_usable_size(memory);
	pthread_mutex_unlock(&taking);
	return cudaFreeHost(memory);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	(void)flags;
	CALL(cudaErrorMemoryAllocation);
	*memory = some_memory(bytes);
	return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory)
{
	free(memory);
	return call(cudaErrorLaunchFailure);
}

cudaError_t cudaMemGetInfo(size_t *room, size_t *all)
{
	CALL(cudaErrorNoDevice);
	pthread_mutex_lock(&taking);
	*room = free_bytes();
	*all = all_bytes();
	asked = true;
	pthread_mutex_unlock(&taking);
	return cudaSuccess;
}
