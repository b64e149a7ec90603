/*
 * Products by cuBLASLt. What it takes to ask for a product of some shape, the library's first
 * choice of an algorithm with it, is found out once for a queue and kept.
 *
 * The library's matrices lie by columns: c = a b of rows is c' = b' a' of columns, so that its A is
 * our b.
 */
#include <pthread.h>
#include <string.h>

#include <cublasLt.h>

#include "base/memory.h"
#include "base/module.h"
#include "device/cuda/blas.h"

#define NN_STRING_OF(x) #x
#define NN_STRING(x) NN_STRING_OF(x)
#define NN_LIBRARY "libcublasLt.so." NN_STRING(CUBLAS_VER_MAJOR)

/* ---- the library ---- */

#define NN_FUNCTIONS(F) \
	F(Create) \
	F(GetStatusString) \
	F(MatmulDescCreate) \
	F(MatmulDescSetAttribute) \
	F(MatmulDescDestroy) \
	F(MatrixLayoutCreate) \
	F(MatrixLayoutDestroy) \
	F(MatmulPreferenceCreate) \
	F(MatmulPreferenceSetAttribute) \
	F(MatmulPreferenceDestroy) \
	F(MatmulAlgoGetHeuristic) \
	F(Matmul)

static struct {
#define NN_MEMBER(name) __typeof__(cublasLt##name) *name;
	NN_FUNCTIONS(NN_MEMBER)
} lt;

static const struct nn_module_function functions[] = {
#define NN_ROW(name) { "cublasLt" #name, (void *)&lt.name },
	NN_FUNCTIONS(NN_ROW)
};

#define NN_DEVICES 64
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;
static cublasLtHandle_t handles[NN_DEVICES]; /* by number; kept until the process ends */

int nn_cuda_blas_load(struct nn_error *err)
{
	int status = 0;

	pthread_mutex_lock(&lock);
	if (!loaded)
		status = nn_module_library(NN_LIBRARY, functions,
					   sizeof functions / sizeof functions[0], err);
	loaded = status == 0;
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- a queue ---- */

struct shape {
	size_t m, n, k, align[3]; /* of a, b, c: bytes of which their addresses are multiples */
	bool ta, tb;
};

struct plan {
	struct plan *next;
	struct shape shape;
	cublasLtMatmulDesc_t what;
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulAlgo_t algo;
};

struct nn_cuda_blas {
	cublasLtHandle_t handle;
	cudaStream_t stream;
	cudaDataType_t type; /* of all matrices, and of factors of products */
	cublasComputeType_t compute;
	struct plan *plans;
};

/* The library rounds factors that lie in memory as f32; sums are f32. */
static const cublasComputeType_t of_f32[NN_N_PRODUCTS] = {
	[NN_PRODUCTS_ANY_ORDER] = CUBLAS_COMPUTE_32F,
	[NN_PRODUCTS_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32,
	[NN_PRODUCTS_BF16] = CUBLAS_COMPUTE_32F_FAST_16BF,
	[NN_PRODUCTS_F16] = CUBLAS_COMPUTE_32F_FAST_16F,
};

struct nn_cuda_blas *nn_cuda_blas_new(int number, const struct nn_device *device, void *stream,
				      struct nn_error *err)
{
	struct nn_cuda_blas *blas = nn_alloc(1, sizeof *blas, err);
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS;

	if (!blas)
		return NULL;
	pthread_mutex_lock(&lock);
	if (!handles[number])
		status = lt.Create(&handles[number]);
	pthread_mutex_unlock(&lock);
	if (status != CUBLAS_STATUS_SUCCESS) {
		nn_fail(err, NN_ENODEV, "device cuda:%d: cublasLtCreate: %s", number,
			lt.GetStatusString(status));
		nn_free(blas);
		return NULL;
	}
	blas->handle = handles[number];
	blas->stream = stream;
	blas->type = device->dtype == NN_F64 ? CUDA_R_64F : CUDA_R_32F;
	blas->compute = device->dtype == NN_F64 ? CUBLAS_COMPUTE_64F
						  : of_f32[nn_cuda_products(device)];
	return blas;
}

static void free_plan(struct plan *p)
{
	if (p->what)
		lt.MatmulDescDestroy(p->what);
	if (p->a)
		lt.MatrixLayoutDestroy(p->a);
	if (p->b)
		lt.MatrixLayoutDestroy(p->b);
	if (p->c)
		lt.MatrixLayoutDestroy(p->c);
	nn_free(p);
}

void nn_cuda_blas_free(struct nn_cuda_blas *blas)
{
	while (blas && blas->plans) {
		struct plan *p = blas->plans;

		blas->plans = p->next;
		free_plan(p);
	}
	nn_free(blas);
}

/* ---- shapes ---- */

/* The first call that fails ends a function with its status. */
#define NN_TRY(call) \
	do { \
		cublasStatus_t status_ = (call); \
		if (status_ != CUBLAS_STATUS_SUCCESS) \
			return status_; \
	} while (0)

static cublasStatus_t describe(const struct nn_cuda_blas *blas, struct plan *p)
{
	const struct shape *s = &p->shape;
	const int32_t first = s->tb ? CUBLAS_OP_T : CUBLAS_OP_N,
		      second = s->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
	const size_t a_row = s->ta ? s->m : s->k, a_rows = s->ta ? s->k : s->m,
		     b_row = s->tb ? s->k : s->n, b_rows = s->tb ? s->n : s->k;

	NN_TRY(lt.MatmulDescCreate(&p->what, blas->compute, blas->type));
	NN_TRY(lt.MatmulDescSetAttribute(p->what, CUBLASLT_MATMUL_DESC_TRANSA, &first,
					 sizeof first));
	NN_TRY(lt.MatmulDescSetAttribute(p->what, CUBLASLT_MATMUL_DESC_TRANSB, &second,
					 sizeof second));
	NN_TRY(lt.MatrixLayoutCreate(&p->a, blas->type, a_row, a_rows, (int64_t)a_row));
	NN_TRY(lt.MatrixLayoutCreate(&p->b, blas->type, b_row, b_rows, (int64_t)b_row));
	return lt.MatrixLayoutCreate(&p->c, blas->type, s->n, s->m, (int64_t)s->n);
}

static cublasStatus_t prefer(const struct shape *s, cublasLtMatmulPreference_t preference)
{
	const struct {
		cublasLtMatmulPreferenceAttributes_t which;
		size_t align;
	} aligned[] = { { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, s->align[1] },
			{ CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, s->align[0] },
			{ CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, s->align[2] },
			{ CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, s->align[2] } };
	const uint64_t room = NN_CUDA_WORKSPACE;

	NN_TRY(lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
					       &room, sizeof room));
	for (size_t i = 0; i < sizeof aligned / sizeof aligned[0]; i++) {
		const uint32_t align = (uint32_t)aligned[i].align;

		NN_TRY(lt.MatmulPreferenceSetAttribute(preference, aligned[i].which, &align,
						       sizeof align));
	}
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t choose(const struct nn_cuda_blas *blas, struct plan *p)
{
	cublasLtMatmulPreference_t preference = NULL;
	cublasLtMatmulHeuristicResult_t found;
	cublasStatus_t status;
	int n = 0;

	memset(&found, 0, sizeof found);
	NN_TRY(lt.MatmulPreferenceCreate(&preference));
	status = prefer(&p->shape, preference);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = lt.MatmulAlgoGetHeuristic(blas->handle, p->what, p->b, p->a, p->c, p->c,
						   preference, 1, &found, &n);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = n < 1 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state;
	p->algo = found.algo;
	lt.MatmulPreferenceDestroy(preference);
	return status;
}

static size_t alignment(const void *p)
{
	const size_t low = (uintptr_t)p & -(uintptr_t)p;

	return low == 0 || low > 256 ? 256 : low;
}

static cublasStatus_t find(struct nn_cuda_blas *blas, const struct nn_cuda_matmul *m,
			   const struct plan **found)
{
	struct shape s;
	struct plan *p = blas->plans;
	cublasStatus_t status;

	memset(&s, 0, sizeof s); /* compared as bytes */
	s.m = m->m;
	s.n = m->n;
	s.k = m->k;
	s.align[0] = alignment(m->a);
	s.align[1] = alignment(m->b);
	s.align[2] = alignment(m->c);
	s.ta = m->ta;
	s.tb = m->tb;
	while (p && memcmp(&p->shape, &s, sizeof s) != 0)
		p = p->next;
	*found = p;
	if (p)
		return CUBLAS_STATUS_SUCCESS;
	if (!(p = nn_alloc(1, sizeof *p, NULL)))
		return CUBLAS_STATUS_ALLOC_FAILED;
	p->shape = s;
	status = describe(blas, p);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = choose(blas, p);
	if (status != CUBLAS_STATUS_SUCCESS) {
		free_plan(p);
		return status;
	}
	p->next = blas->plans;
	*found = blas->plans = p;
	return CUBLAS_STATUS_SUCCESS;
}

const char *nn_cuda_blas_run(struct nn_cuda_blas *blas, const struct nn_cuda_matmul *m)
{
	const float one = 1, beta = m->add;
	const double one_f64 = 1, beta_f64 = m->add;
	const bool f64 = blas->type == CUDA_R_64F;
	const struct plan *p;
	cublasStatus_t status = find(blas, m, &p);

	if (status == CUBLAS_STATUS_SUCCESS)
		status = lt.Matmul(blas->handle, p->what, f64 ? (const void *)&one_f64 : &one, m->b,
				   p->b, m->a, p->a, f64 ? (const void *)&beta_f64 : &beta, m->c,
				   p->c, m->c, p->c, &p->algo, m->work, NN_CUDA_WORKSPACE,
				   blas->stream);
	return status == CUBLAS_STATUS_SUCCESS ? NULL : lt.GetStatusString(status);
}
