/* Where the ops are tried: attributes, input shapes, rows. */
#ifndef TESTS_TABLE_SITES_H
#define TESTS_TABLE_SITES_H

#include "device/device.h"

struct site {
	const char *name;
	enum nn_op_id op;
	const void *attrs;
	struct nn_shape in[3];
	int n_in;
	size_t rows;
	size_t n_leaves;
};

extern const struct site sites[];
extern const size_t n_sites;

#endif
