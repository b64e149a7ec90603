/* Reading the JSON of an infer request: members of objects, and what its parts share. */
#ifndef NN_SERVE_PROTOCOL_V2_MEMBERS_H
#define NN_SERVE_PROTOCOL_V2_MEMBERS_H

#include "serve/protocol/query.h"

/* Raw bytes behind the JSON that no tensor has taken yet; what holds for all outputs. */
struct nn_v2_bodies {
	const char *raw;
	size_t left;
	bool binary;
};

struct nn_v2_member {
	const char *name;
	int (*take)(struct nn_query *q, void *arg);
};

/* The object that comes next; members that are not in the list, or are null, are passed over. */
int nn_v2_take_object(struct nn_query *q, const struct nn_v2_member *members, size_t n, void *arg);
#define NN_V2_TAKE_OBJECT(q, members, arg) \
	nn_v2_take_object(q, members, sizeof members / sizeof *members, arg)
int nn_v2_take_array(struct nn_query *q, int (*take)(struct nn_query *q, void *arg), void *arg);
int nn_v2_take_count(struct nn_query *q, size_t *count);
int nn_v2_take_bool(struct nn_query *q, bool *value);

/* The array of inputs that comes next; arg: struct nn_v2_bodies (v2-input.c). */
int nn_v2_take_inputs(struct nn_query *q, void *arg);

#endif
