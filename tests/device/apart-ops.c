/* Kernels of ops that are called later: what a call points to is kept, its addresses translated. */
#include <string.h>

#include "apart-inside.h"

#define MAX_IN 16

/* A site whose attributes and shapes are its own: a caller's may be gone when its turn comes. */
struct own_site {
	union nn_op_attrs attrs;
	struct nn_shape in[MAX_IN];
};

static struct nn_site keep_site(struct own_site *own, const struct nn_site *from, enum nn_op_id op)
{
	struct nn_site site = *from;

	if (from->n_in > MAX_IN)
		nn_apart_stop("a call with more inputs than were foreseen");
	if (from->attrs) {
		memcpy(&own->attrs, from->attrs, nn_ops[op]->attrs_size);
		site.attrs = &own->attrs;
	}
	memcpy(own->in, from->in, (size_t)from->n_in * sizeof *own->in);
	site.in = own->in;
	site.queue = NULL;
	return site;
}

struct op_call {
	struct nn_call call;
	struct own_site site;
	enum nn_op_id op;
	bool backward;
	const void *x[MAX_IN], *w[NN_MAX_PARAMS];
	void *dx[MAX_IN], *dw[NN_MAX_PARAMS];
	bool dx_add[MAX_IN];
	struct nn_row_list list;
	size_t bounds[]; /* of leaves, then of groups */
};

struct nn_row_list nn_apart_list(const struct nn_row_list *list)
{
	struct nn_row_list l = *list;

	l.n = nn_apart_at(l.n);
	l.row = nn_apart_at(l.row);
	l.leaf = nn_apart_at(l.leaf);
	l.value = nn_apart_at(l.value);
	return l;
}

static void put_params(struct op_call *c, const struct nn_call *call)
{
	const struct nn_op *op = nn_ops[c->op];
	struct nn_op_param desc[NN_MAX_PARAMS];
	int n = op->params ? op->params(call->site.attrs, call->site.in, call->site.n_in, desc) : 0;

	for (int k = 0; k < n; k++) {
		c->w[k] = nn_apart_at(call->w[k]);
		if (call->dw && call->dw[k] && desc[k].role == NN_ROW_TABLE) {
			c->list = nn_apart_list(call->dw[k]);
			c->dw[k] = &c->list;
		} else if (call->dw) {
			c->dw[k] = nn_apart_at(call->dw[k]);
		}
	}
	c->call.w = (void *const *)c->w;
	c->call.dw = c->dw;
}

static void run_op(struct nn_apart_queue *q, void *what)
{
	const struct op_call *c = what;
	const struct nn_kernel *kernel = q->cpu->kernels[c->op];

	if (nn_apart.fail && c->op == NN_OP_dense && !q->failed)
		q->failed = nn_ops[c->op]->name;
	if (nn_apart.called)
		nn_apart.called(&c->call, c->backward);
	(c->backward ? kernel->backward : kernel->forward)(&c->call);
}

static void ask_op(const struct nn_call *call, enum nn_op_id op, bool backward)
{
	size_t n_leaf = call->leaf ? call->n_leaves + 1 : 0,
	       n_group = call->group ? call->n_groups + 1 : 0;
	struct op_call *c = nn_apart_ask(call->site.queue, run_op,
					 sizeof *c + (n_leaf + n_group) * sizeof *c->bounds);

	c->call = *call;
	c->call.site = keep_site(&c->site, &call->site, op);
	c->op = op;
	c->backward = backward;
	for (int i = 0; i < call->site.n_in; i++) {
		c->x[i] = nn_apart_at(call->x[i]);
		c->dx[i] = call->dx ? nn_apart_at(call->dx[i]) : NULL;
		c->dx_add[i] = call->dx_add && call->dx_add[i];
	}
	put_params(c, call);
	if (n_leaf)
		memcpy(c->bounds, call->leaf, n_leaf * sizeof *c->bounds);
	if (n_group)
		memcpy(c->bounds + n_leaf, call->group, n_group * sizeof *c->bounds);
	c->call.leaf = n_leaf ? c->bounds : NULL;
	c->call.group = n_group ? c->bounds + n_leaf : NULL;
	c->call.x = c->x;
	c->call.dx = c->dx;
	c->call.dx_add = c->dx_add;
	c->call.now = nn_apart_at(call->now);
	c->call.lengths = nn_apart_at(call->lengths);
	c->call.y = nn_apart_at(call->y);
	c->call.dy = nn_apart_at(call->dy);
	c->call.derived = nn_apart_at(call->derived);
	c->call.saved = nn_apart_at(call->saved);
	c->call.state = nn_apart_at(call->state);
	c->call.work = nn_apart_at(call->work);
	c->call.statistics = nn_apart_at(call->statistics);
}

/* derive, advance, pack and unpack: some pointers, and numbers. */
struct param_call {
	enum { DERIVE, ADVANCE, PACK, UNPACK } what;
	struct nn_site site;
	struct own_site own;
	enum nn_op_id op;
	const void *from, *w[NN_MAX_PARAMS];
	void *to;
	int param;
	size_t step, n_groups;
	struct nn_pool *pool;
};

static void run_param(struct nn_apart_queue *q, void *what)
{
	const struct param_call *c = what;
	const struct nn_kernel *k = q->cpu->kernels[c->op];

	if (c->what == DERIVE)
		k->derive(&c->site, c->w, c->to, c->pool);
	else if (c->what == ADVANCE)
		k->advance(&c->site, (void *const *)c->w, c->from, c->step, c->n_groups);
	else
		(c->what == PACK ? k->pack : k->unpack)(&c->site, c->param, c->from, c->to);
}

static struct param_call *ask_param(const struct nn_site *site, enum nn_op_id op,
				    const void *const *w)
{
	struct param_call *c = nn_apart_ask(site->queue, run_param, sizeof *c);
	struct nn_op_param desc[NN_MAX_PARAMS];
	int n = w ? nn_ops[op]->params(site->attrs, site->in, site->n_in, desc) : 0;

	c->site = keep_site(&c->own, site, op);
	c->op = op;
	for (int k = 0; k < n; k++)
		c->w[k] = nn_apart_at(w[k]);
	return c;
}

#define NN_OP(id, name) \
	static void forward_##id(const struct nn_call *call) \
	{ \
		ask_op(call, NN_OP_##id, false); \
	} \
	static void backward_##id(const struct nn_call *call) \
	{ \
		ask_op(call, NN_OP_##id, true); \
	} \
	static void derive_##id(const struct nn_site *site, const void *const *w, void *derived, \
				struct nn_pool *pool) \
	{ \
		struct param_call *c = ask_param(site, NN_OP_##id, w); \
\
		c->what = DERIVE; \
		c->to = nn_apart_at(derived); \
		c->pool = pool; \
	} \
	static void advance_##id(const struct nn_site *site, void *const *w, \
				 const void *statistics, size_t step, size_t n_groups) \
	{ \
		struct param_call *c = \
			ask_param(site, NN_OP_##id, (const void *const *)(uintptr_t)w); \
\
		c->what = ADVANCE; \
		c->from = nn_apart_at(statistics); \
		c->step = step; \
		c->n_groups = n_groups; \
	} \
	static void pack_##id(const struct nn_site *site, int param, const void *canonical, \
			      void *packed) \
	{ \
		struct param_call *c = ask_param(site, NN_OP_##id, NULL); \
\
		c->what = PACK; \
		c->param = param; \
		c->from = nn_apart_at(canonical); \
		c->to = nn_apart_at(packed); \
	} \
	static void unpack_##id(const struct nn_site *site, int param, const void *packed, \
				void *canonical) \
	{ \
		struct param_call *c = ask_param(site, NN_OP_##id, NULL); \
\
		c->what = UNPACK; \
		c->param = param; \
		c->from = nn_apart_at(packed); \
		c->to = nn_apart_at(canonical); \
	}
#include "op/ops.def"
#undef NN_OP

void nn_apart_kernels(const struct nn_device *cpu, struct nn_kernel *own,
		      const struct nn_kernel **table)
{
	for (int i = 0; i < NN_N_OPS; i++) {
		own[i] = *cpu->kernels[i];
		own[i].copies = NULL;
		own[i].updates = NULL; /* of nn_call.update nothing is translated */
		table[i] = &own[i];
	}
#define REPLACE(member, id) \
	if (own[NN_OP_##id].member) \
	own[NN_OP_##id].member = member##_##id
#define NN_OP(id, name) \
	REPLACE(forward, id); \
	REPLACE(backward, id); \
	REPLACE(derive, id); \
	REPLACE(advance, id); \
	REPLACE(pack, id); \
	REPLACE(unpack, id);
#include "op/ops.def"
#undef NN_OP
}
