/* Sites that nobody thought of. */
#ifndef TESTS_TABLE_RANDOM_H
#define TESTS_TABLE_RANDOM_H

#include "bench/op/site.h"

struct random_site {
	struct nn_op_site site;
	struct nn_shape in[2];
	char name[48];
	union nn_op_attrs attrs;
};

/* The site of this number: it stays where r is. */
void random_site_make(struct random_site *r, uint64_t seed);

#endif
