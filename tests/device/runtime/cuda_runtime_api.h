/* What lib/device/cuda uses of the CUDA runtime, for the runtime of the tests (tests/device/runtime.c). */
#ifndef TESTS_DEVICE_RUNTIME_CUDA_RUNTIME_API_H
#define TESTS_DEVICE_RUNTIME_CUDA_RUNTIME_API_H

#include <stddef.h>

typedef enum {
	cudaSuccess = 0,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInsufficientDriver = 35,
	cudaErrorDevicesUnavailable = 46,
	cudaErrorNoDevice = 100,
	cudaErrorLaunchFailure = 719,
	cudaErrorUnknown = 999
} cudaError_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamNonBlocking = 1, cudaHostAllocDefault = 0 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum { cudaStreamCaptureModeThreadLocal = 1 };

typedef struct stream *cudaStream_t;
typedef struct event *cudaEvent_t;
typedef struct work *cudaGraph_t, *cudaGraphExec_t;
typedef struct {
	unsigned x, y, z;
} dim3;
struct cudaDeviceProp {
	char name[256];
};
struct cudaFuncAttributes {
	int ptxVersion;
};
enum { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
typedef struct {
	int id;
	struct {
		int programmaticStreamSerializationAllowed;
	} val;
} cudaLaunchAttribute;
typedef struct {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned numAttrs;
} cudaLaunchConfig_t;

cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number);
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number);
cudaError_t cudaSetDevice(int number);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemGetInfo(size_t *room, size_t *all);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_line, const void *from, size_t from_line,
			      size_t bytes, size_t lines, int kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **args);

/* In place of lib/device/cuda/queue.c's. */
size_t nn_runtime_columns(void);
#define NN_CUDA_COLUMNS nn_runtime_columns()

#endif
