/*
 * What the module nn-openblas.so offers: products in any order of summation, on the calling thread.
 */
#ifndef NN_DEVICE_CPU_BLAS_H
#define NN_DEVICE_CPU_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

/*
 * c[m][n] = a b, or c + a b with add; a is [m][k], or [k][m] if ta; b is [k][n], or [n][k] if tb.
 * Leading dimensions in elements.
 */
struct nn_blas {
	void (*gemm_f32)(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a, size_t lda,
			 const float *b, size_t ldb, bool add, float *c, size_t ldc);
	void (*gemm_f64)(bool ta, bool tb, size_t m, size_t n, size_t k, const double *a,
			 size_t lda, const double *b, size_t ldb, bool add, double *c, size_t ldc);
	const char *(*core)(void); /* whose kernels it chose */
};

/* The module's table; NULL before nn_cpu_blas_open succeeded once. */
const struct nn_blas *nn_cpu_blas(void);
int nn_cpu_blas_open(struct nn_error *err);

/*
 * Was OpenBLAS faster than our kernels for dense layers of that shape and type on this machine?
 * Answers are kept in $XDG_CACHE_HOME/nntools/products; what is not there is measured: measure
 * fills seconds of both.
 */
bool nn_cpu_blas_wins(const char *key,
		      void (*measure)(const void *arg, double *ours_s, double *blas_s),
		      const void *arg);

#endif
