/*
 * One op at one site on one device: a pass forward and backward in any cut, results as bytes.
 */
#ifndef TESTS_TABLE_TRIAL_H
#define TESTS_TABLE_TRIAL_H

#include "bench/op/trial.h"
#include "step/cut.h"

#define MAX_INPUTS 3
#define MAX_LEAVES 16
#define MAX_GROUPS 64
#define SAMPLE 1000003
#define SEED 77

/* The data of a site, in double but representable in float. Parameters are canonical. */
struct data {
	const struct nn_op_site *site;
	struct nn_shape out;
	struct nn_op_param params[NN_MAX_PARAMS];
	int n_params;
	double *x[MAX_INPUTS], *w[NN_MAX_PARAMS], *dy, *old[MAX_INPUTS];
	size_t n_x[MAX_INPUTS], n_w[NN_MAX_PARAMS], n_y; /* of all rows */
	struct nn_cut *cut;
	const struct nn_span *span; /* of all rows: leaves and groups */
};

enum cut {
	WHOLE,
	BY_LEAF,
	BY_PIECE,
	BY_ROW
}; /* a leaf a call; a leaf in two calls; prediction: a row a call */

struct how {
	const struct nn_device *device;
	int threads;
	bool training, add, no_dx;
	bool forward; /* of training alone */
	bool shared; /* y and dx in the memory of others, as device.h allows it */
	enum cut cut;
};

/* What a pass left in the arrays of its trial; dw: packed, of a table all its rows. */
struct result {
	struct nn_op_trial *t;
	void *y, *dx[MAX_INPUTS], *dw[NN_MAX_PARAMS], *w[NN_MAX_PARAMS];
	size_t n_dw[NN_MAX_PARAMS];
	bool guarded; /* nothing was written behind saved and work */
	void *sums;   /* of a table */
};

void data_init(struct data *d, const struct nn_op_site *site);
void data_fini(struct data *d);
/* Forward and, in training that is not of forward alone, backward. */
void result_make(struct result *r, const struct data *d, const struct how *how);
void result_free(struct result *r);

double *doubles(size_t n);
double real_at(const struct result *r, const void *array, size_t i);
/* Parameter p's gradient, or value, in canonical order. */
double *canonical(const struct result *r, const void *packed, int p);

#endif
