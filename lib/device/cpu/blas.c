/* The module nn-openblas.so: OpenBLAS behind a small table, its own threads off. */
#include <cblas.h>

#include "base/module.h"
#include "device/cpu/blas.h"

char *openblas_get_corename(void);
void openblas_set_num_threads(int n);

static enum CBLAS_TRANSPOSE transposed(bool t)
{
	return t ? CblasTrans : CblasNoTrans;
}

static void gemm_f32(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a, size_t lda,
		     const float *b, size_t ldb, bool add, float *c, size_t ldc)
{
	/* One row is eight times as fast as a vector. */
	if (m == 1 && !ta) {
		cblas_sgemv(CblasRowMajor, transposed(!tb), (blasint)(tb ? n : k),
			    (blasint)(tb ? k : n), 1, b, (blasint)ldb, a, 1, add, c, 1);
		return;
	}
	cblas_sgemm(CblasRowMajor, transposed(ta), transposed(tb), (blasint)m, (blasint)n,
		    (blasint)k, 1, a, (blasint)lda, b, (blasint)ldb, add, c, (blasint)ldc);
}

static void gemm_f64(bool ta, bool tb, size_t m, size_t n, size_t k, const double *a, size_t lda,
		     const double *b, size_t ldb, bool add, double *c, size_t ldc)
{
	cblas_dgemm(CblasRowMajor, transposed(ta), transposed(tb), (blasint)m, (blasint)n,
		    (blasint)k, 1, a, (blasint)lda, b, (blasint)ldb, add, c, (blasint)ldc);
}

static const char *core(void)
{
	return openblas_get_corename();
}

static const struct nn_blas table = { .gemm_f32 = gemm_f32, .gemm_f64 = gemm_f64, .core = core };

/* Our pool cuts the work; two pools would fight for the cores. */
__attribute__((constructor)) static void one_thread(void)
{
	openblas_set_num_threads(1);
}

const struct nn_module nn_module = { .abi = NN_MODULE_ABI, .name = "openblas", .table = &table };
