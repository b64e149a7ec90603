/* Sites that nobody thought of. */
#ifndef TESTS_TABLE_RANDOM_H
#define TESTS_TABLE_RANDOM_H

#include "table/sites.h"

struct random_site {
	struct site site;
	char name[48];
	union {
		struct nn_conv2d conv2d;
		struct nn_dense dense;
		struct nn_pool2d pool2d;
		struct nn_batchnorm batchnorm;
	} attrs;
};

/* The site of this number: it stays where r is. */
void random_site_make(struct random_site *r, uint64_t seed);

#endif
