/*
 * A library libcublasLt for machines without a GPU, over the runtime of tests/device/runtime.c:
 * products as NVIDIA describes them. Matrices lie by columns, each `ld` elements behind the one
 * before; D = alpha op(A) op(B) + beta C, where the sum of an element is a chain of fused
 * multiply-adds in ascending order; tf32 rounds factors to 10 bits of mantissa, half away from
 * zero, bf16 and f16 to those types, half to even. What the library may refuse is refused: shapes that do not fit, addresses not aligned as
 * was said, an algorithm of another product, a workspace that is smaller than it may use or holds
 * nothing.
 *
 * NN_CUBLAS_FAULT=N: the Nth call fails. NN_CUBLAS_CALLS=FILE: how many calls there were, and how
 * many products.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublasLt.h"

struct cublasLtContext {
	int number;
};
struct cublas_desc {
	cublasComputeType_t compute;
	cudaDataType scale;
	int32_t transposed[2];
};
struct cublas_layout {
	cudaDataType type;
	uint64_t rows, columns;
	int64_t ld;
};
struct cublas_preference {
	uint64_t workspace;
	uint32_t align[4];
};

/* ---- calls ---- */

static unsigned long calls, products;

static cublasStatus_t call(cublasStatus_t how)
{
	const char *fault = getenv("NN_CUBLAS_FAULT");

	calls++;
	return fault && strtoul(fault, NULL, 10) == calls ? how : CUBLAS_STATUS_SUCCESS;
}

#define CALL(how) \
	do { \
		cublasStatus_t status_ = call(how); \
		if (status_ != CUBLAS_STATUS_SUCCESS) \
			return status_; \
	} while (0)

__attribute__((destructor)) static void tell_calls(void)
{
	const char *name = getenv("NN_CUBLAS_CALLS");
	FILE *file = name ? fopen(name, "w") : NULL;

	if (file) {
		fprintf(file, "%lu %lu\n", calls, products);
		fclose(file);
	}
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
	switch (status) {
	case CUBLAS_STATUS_SUCCESS:
		return "no error";
	case CUBLAS_STATUS_NOT_INITIALIZED:
		return "the library was not initialized";
	case CUBLAS_STATUS_ALLOC_FAILED:
		return "the resource allocation failed";
	case CUBLAS_STATUS_INVALID_VALUE:
		return "an unsupported value or parameter was passed to the function";
	case CUBLAS_STATUS_NOT_SUPPORTED:
		return "the functionality requested is not supported";
	default:
		return "the GPU program failed to execute";
	}
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	static struct cublasLtContext one = { 1 };

	CALL(CUBLAS_STATUS_NOT_INITIALIZED);
	*handle = &one;
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptions ---- */

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
					cudaDataType scale)
{
	CALL(CUBLAS_STATUS_ALLOC_FAILED);
	*desc = calloc(1, sizeof **desc);
	if (!*desc)
		abort();
	(*desc)->compute = compute;
	(*desc)->scale = scale;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
					      cublasLtMatmulDescAttributes_t which,
					      const void *value, size_t bytes)
{
	CALL(CUBLAS_STATUS_INVALID_VALUE);
	if (bytes != sizeof desc->transposed[0])
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&desc->transposed[which - CUBLASLT_MATMUL_DESC_TRANSA], value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
	free(desc);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
					  uint64_t rows, uint64_t columns, int64_t ld)
{
	CALL(CUBLAS_STATUS_ALLOC_FAILED);
	*layout = calloc(1, sizeof **layout);
	if (!*layout)
		abort();
	**layout = (struct cublas_layout){ type, rows, columns, ld };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
	free(layout);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
	CALL(CUBLAS_STATUS_ALLOC_FAILED);
	*preference = calloc(1, sizeof **preference);
	if (!*preference)
		abort();
	for (int i = 0; i < 4; i++)
		(*preference)->align[i] = 256;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
						    cublasLtMatmulPreferenceAttributes_t which,
						    const void *value, size_t bytes)
{
	const bool room = which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;

	CALL(CUBLAS_STATUS_INVALID_VALUE);
	if (bytes != (room ? sizeof preference->workspace : sizeof preference->align[0]))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (room)
		memcpy(&preference->workspace, value, bytes);
	else
		memcpy(&preference->align[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
		       value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
	free(preference);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- products ---- */

struct matmul {
	struct cublas_desc desc;
	struct cublas_layout layout[4]; /* A, B, C, D */
	const void *from[3];
	void *to, *workspace;
	size_t workspace_bytes;
	double alpha, beta;
};

/* Do A and B, transposed where they are, make D? */
static bool fits(const struct cublas_desc *desc, const struct cublas_layout l[4])
{
	const uint64_t m = desc->transposed[0] ? l[0].columns : l[0].rows,
		       k = desc->transposed[0] ? l[0].rows : l[0].columns,
		       k_of_b = desc->transposed[1] ? l[1].columns : l[1].rows,
		       n = desc->transposed[1] ? l[1].rows : l[1].columns;
	const bool f64 = desc->compute == CUBLAS_COMPUTE_64F;

	for (int i = 0; i < 4; i++)
		if (l[i].rows == 0 || l[i].columns == 0 || l[i].ld < (int64_t)l[i].rows ||
		    l[i].type != (f64 ? CUDA_R_64F : CUDA_R_32F))
			return false;
	return k == k_of_b && l[2].rows == m && l[2].columns == n && l[3].rows == m &&
	       l[3].columns == n && desc->scale == l[3].type;
}

/* What an algorithm was chosen for: a sum over all of it, alignments and the workspace beside it.
 */
static uint64_t print_of(const struct cublas_desc *desc, const struct cublas_layout l[4])
{
	uint64_t sum = (uint64_t)desc->compute;

	sum = sum * 1000003 + (uint64_t)(2 * desc->transposed[0] + desc->transposed[1]);
	for (int i = 0; i < 4; i++)
		sum = ((sum * 1000003 + l[i].rows) * 1000003 + l[i].columns) * 1000003 +
		      (uint64_t)l[i].ld;
	return sum;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
					      cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
					      cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
					      cublasLtMatmulPreference_t preference, int wanted,
					      cublasLtMatmulHeuristicResult_t results[], int *n)
{
	const struct cublas_layout l[4] = { *a, *b, *c, *d };

	*n = 0;
	CALL(CUBLAS_STATUS_NOT_SUPPORTED);
	if (!handle || wanted < 1 || !fits(desc, l))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(&results[0], 0, sizeof results[0]);
	results[0].algo.data[0] = print_of(desc, l);
	for (int i = 0; i < 4; i++)
		results[0].algo.data[1 + i] = preference->align[i];
	results[0].algo.data[5] = results[0].workspaceSize = preference->workspace;
	*n = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static size_t place(const struct matmul *m, int of, size_t row, size_t column)
{
	return of < 2 && m->desc.transposed[of] ? row * (size_t)m->layout[of].ld + column
						: column * (size_t)m->layout[of].ld + row;
}

/* Half of the last of 10 bits is added to the magnitude, and what is below cut off. */
static float tf32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	bits = (bits + 0x1000) & 0xffffe000u;
	memcpy(&value, &bits, sizeof bits);
	return value;
}

/* To nearest, half to even. */
static float bf16(float value)
{
	uint32_t bits;

	if (!isfinite(value))
		return value;
	memcpy(&bits, &value, sizeof bits);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
	memcpy(&value, &bits, sizeof bits);
	return value;
}

/* The same: 11 bits, fewer below 2^-14; infinite from 65520 on. */
static float f16(float value)
{
	int exponent;
	float unit;

	if (!isfinite(value) || value == 0)
		return value;
	frexpf(value, &exponent);
	unit = ldexpf(1, (exponent < -13 ? -13 : exponent) - 11);
	value = rintf(value / unit) * unit;
	return fabsf(value) < 65536 ? value : copysignf(INFINITY, value);
}

static float as_it_is(float value)
{
	return value;
}

static float element_f32(const struct matmul *m, size_t i, size_t j, size_t depth)
{
	float (*const rounded)(float) = m->desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32   ? tf32
					: m->desc.compute == CUBLAS_COMPUTE_32F_FAST_16BF ? bf16
					: m->desc.compute == CUBLAS_COMPUTE_32F_FAST_16F  ? f16
											  : as_it_is;
	const float *a = m->from[0], *b = m->from[1];
	float sum = 0;

	for (size_t k = 0; k < depth; k++)
		sum = fmaf(rounded(a[place(m, 0, i, k)]), rounded(b[place(m, 1, k, j)]), sum);
	sum *= (float)m->alpha;
	return m->beta == 0 ? sum
			    : sum + (float)m->beta * ((const float *)m->from[2])[place(m, 2, i, j)];
}

static double element_f64(const struct matmul *m, size_t i, size_t j, size_t depth)
{
	const double *a = m->from[0], *b = m->from[1];
	double sum = 0;

	for (size_t k = 0; k < depth; k++)
		sum = fma(a[place(m, 0, i, k)], b[place(m, 1, k, j)], sum);
	sum *= m->alpha;
	return m->beta == 0 ? sum : sum + m->beta * ((const double *)m->from[2])[place(m, 2, i, j)];
}

static void run(const void *what)
{
	const struct matmul *m = what;
	const size_t depth = m->desc.transposed[0] ? m->layout[0].rows : m->layout[0].columns;

	memset(m->workspace, 0xff, m->workspace_bytes);
	for (size_t j = 0; j < m->layout[3].columns; j++)
		for (size_t i = 0; i < m->layout[3].rows; i++) {
			size_t at = place(m, 3, i, j);

			if (m->desc.compute == CUBLAS_COMPUTE_64F)
				((double *)m->to)[at] = element_f64(m, i, j, depth);
			else
				((float *)m->to)[at] = element_f32(m, i, j, depth);
		}
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
			      const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
			      cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
			      cublasLtMatrixLayout_t c_layout, void *d,
			      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
			      void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
	/* of the runtime, which is loaded before */
	void (*ask)(cudaStream_t stream, void (*run)(const void *), const void *what, size_t bytes);
	void *found = dlsym(RTLD_DEFAULT, "nn_runtime_ask");
	const void *const matrices[4] = { a, b, c, d };
	const bool f64 = desc->scale == CUDA_R_64F;
	struct matmul m = { *desc,
			    { *a_layout, *b_layout, *c_layout, *d_layout },
			    { a, b, c },
			    d,
			    workspace,
			    workspace_bytes,
			    f64 ? *(const double *)alpha : (double)*(const float *)alpha,
			    f64 ? *(const double *)beta : (double)*(const float *)beta };

	CALL(CUBLAS_STATUS_EXECUTION_FAILED);
	if (!handle || !found || !fits(desc, m.layout) ||
	    algo->data[0] != print_of(desc, m.layout) || algo->data[5] > workspace_bytes ||
	    (uintptr_t)workspace % 256 != 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int i = 0; i < 4; i++)
		if ((uintptr_t)matrices[i] % algo->data[1 + i] != 0)
			return CUBLAS_STATUS_INVALID_VALUE;
	products++;
	memcpy(&ask, &found, sizeof ask);
	ask(stream, run, &m, sizeof m);
	return CUBLAS_STATUS_SUCCESS;
}
