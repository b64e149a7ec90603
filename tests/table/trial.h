/*
 * One op at one site on one device: buffers, a pass forward and backward in any cut, results as
 * bytes.
 */
#ifndef TESTS_TABLE_TRIAL_H
#define TESTS_TABLE_TRIAL_H

#include "table/sites.h"

#define MAX_LEAVES 16
#define MAX_GROUPS 64

/* The data of a site, in double but representable in float. Parameters are canonical. */
struct data {
	const struct site *site;
	struct nn_shape out;
	struct nn_op_param params[NN_MAX_PARAMS];
	int n_params;
	double *x[3], *w[NN_MAX_PARAMS], *dy, *old[3];
	size_t n_x[3], n_w[NN_MAX_PARAMS], n_y; /* of all rows */
	size_t leaf[MAX_LEAVES + 1], n_leaves, group[MAX_GROUPS + 1], n_groups;
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
	bool shared; /* y and dx in the memory of others, as device.h allows it */
	enum cut cut;
};

/* Arrays of the device's type; dw packed. */
struct result {
	void *y, *dx[3], *dw[NN_MAX_PARAMS], *w[NN_MAX_PARAMS];
	size_t n_dw[NN_MAX_PARAMS];
	bool guarded; /* nothing was written behind saved and work */
};

void data_init(struct data *d, const struct site *site);
void data_fini(struct data *d);
/* Forward and, in training, backward. */
void result_make(struct result *r, const struct data *d, const struct how *how);
void result_free(struct result *r);

double *doubles(size_t n);
size_t real_size(const struct nn_device *device);
double real_at(const struct nn_device *device, const void *array, size_t i);
void reals(const struct nn_device *device, const double *from, void *to, size_t n);
/* Parameter p's gradient, or value, in canonical order. */
double *canonical(const struct data *d, const struct nn_device *device, const void *packed, int p);
/* Uniform in [-2, 2), multiples of 2^-20. */
double noise(void);

#endif
