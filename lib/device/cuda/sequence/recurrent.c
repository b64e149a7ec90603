/* recurrent: the products of the input at once, then those of the state, step by step. */
#include "device/cuda/product/product.h"
#include "device/cuda/sequence/recurrent.h"

struct recurrence {
	const struct nn_recurrent *attrs;
	size_t steps, units, sums; /* sums: products of a position, gates * units */
	size_t kept;           /* of a position for backward: gates; gru: the state's part of n */
	bool lstm, gru, plain; /* plain: products of the input are a library's (plain.c) */
	struct nn_conv x, h;
};

static struct recurrence recurrence_of(const struct nn_site *site, bool plain)
{
	const struct nn_recurrent *attrs = site->attrs;
	struct recurrence r = { .attrs = attrs,
				.steps = site->in[0].dim[0],
				.units = attrs->units,
				.sums = nn_cell_gates(attrs->cell) * attrs->units,
				.lstm = attrs->cell == NN_CELL_LSTM,
				.gru = attrs->cell == NN_CELL_GRU,
				.plain = plain };

	r.kept = r.lstm || r.gru ? 4 * r.units : r.units;
	r.x = NN_CUDA(matrix)(site->in[0].dim[1], r.sums);
	r.h = NN_CUDA(matrix)(r.units, r.sums);
	return r;
}

static real *take(char **room, size_t reals)
{
	real *taken = (real *)(void *)*room;

	*room += nn_cuda_rounded(reals * sizeof(real));
	return taken;
}

/* What all steps are told: a thread for each unit of each row. */
static struct nn_recurrent_args args_of(const struct nn_call *call, const struct recurrence *r)
{
	size_t positions = call->rows * r->steps;
	NN_ARGS(struct nn_recurrent_args, a);

	a.n = call->rows * r->units;
	a.steps = r->steps;
	a.units = r->units;
	a.sums = r->sums;
	a.kept = r->kept;
	a.cell = (int)r->attrs->cell;
	a.lengths = call->lengths;
	a.bias = r->attrs->bias ? call->w[3] : NULL;
	a.gates = call->saved;
	if (a.gates) {
		a.before = a.gates + positions * r->kept;
		a.cells = a.before + positions * r->units;
		a.first_cells = a.cells + (r->lstm ? positions * r->units : 0);
	}
	a.state = call->state;
	return a;
}

/* Step i of the way, which goes back where the layer does. */
static void go_to(const struct recurrence *r, struct nn_recurrent_args *a, size_t i)
{
	bool reverse = r->attrs->reverse;

	a->t = reverse ? r->steps - 1 - i : i;
	a->earlier = reverse ? a->t + 1 : a->t - 1;
	a->at_first = i == 0;
	a->at_last = i == r->steps - 1;
}

/* Has a step's kernel its product of m x n elements, too? */
static bool are_together(const struct nn_call *call, const struct recurrence *r, size_t m, size_t n)
{
	return r->units % NN_STEP_UNITS == 0 && NN_CUDA(are_few)(call->site.queue, m, n);
}

static struct nn_recurrent_step_args together(const struct nn_recurrent_args *a,
					      const struct nn_product_args *p, size_t m, size_t n,
					      size_t depth)
{
	NN_ARGS(struct nn_recurrent_step_args, s);

	s.t.p = *p;
	s.t.m = m;
	s.t.n = n;
	s.t.depth = depth;
	s.r = *a;
	return s;
}

/* Products of the state that step a->t begins with: the output before, or what the rows left. */
static struct nn_product_args state_products(const struct nn_call *call, const struct recurrence *r,
					     const struct nn_recurrent_args *a)
{
	NN_ARGS(struct nn_product_args, p);

	p.n = call->rows * r->sums;
	p.c = r->h;
	p.x = a->at_first ? a->state : a->y + a->earlier * r->units;
	p.c.x_row = a->at_first ? (r->lstm ? 2 : 1) * r->units : r->steps * r->units;
	p.w = call->w[1];
	p.bias = a->bias;
	p.y = (real *)(uintptr_t)a->of_state;
	return p;
}

static void step(const struct nn_call *call, const struct recurrence *r,
		 const struct nn_recurrent_args *a)
{
	const struct nn_product_args p = state_products(call, r, a);

	if (are_together(call, r, call->rows, r->sums)) {
		const struct nn_recurrent_step_args s =
			together(a, &p, call->rows, r->sums, p.x ? r->units : 0);

		nn_cuda_launch(call->site.queue, &NN_SIMT(recurrent_step),
			       (call->rows + 7) / 8 * (r->units / NN_STEP_UNITS), &s);
		return;
	}
	if (p.x)
		NN_CUDA(product)(call->site.queue, &p);
	NN_ASK(call->site.queue, recurrent, *a);
}

static void forward(const struct nn_call *call, bool plain)
{
	const struct recurrence r = recurrence_of(&call->site, plain);
	struct nn_recurrent_args a = args_of(call, &r);
	char *work = call->work, *room = work + (plain ? NN_CUDA_WORKSPACE : 0);
	NN_ARGS(struct nn_product_args, p);

	p.n = call->rows * r.steps * r.sums;
	p.c = r.x;
	p.x = call->x[0];
	p.w = call->w[0];
	p.bias = r.attrs->bias ? call->w[2] : NULL;
	p.y = take(&room, p.n);
	if (plain)
		NN_CUDA(plain_product)(call->site.queue, &p, work);
	else
		NN_CUDA(product)(call->site.queue, &p);
	a.ahead = p.y;
	a.c = take(&room, a.n);
	a.of_state = take(&room, call->rows * r.sums);
	a.y = call->y;
	for (size_t i = 0; i < r.steps; i++) {
		go_to(&r, &a, i);
		step(call, &r, &a);
	}
	if (a.state)
		NN_ASK(call->site.queue, recurrent_keep, a);
}

/* Gradients of the parameters, from those of all positions' sums. */
static void weight_gradients(const struct nn_call *call, const struct recurrence *r,
			     const struct nn_recurrent_args *steps, void *work, char *room)
{
	NN_ARGS(struct nn_weights_args, a);

	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, r->steps, &room);
	for (int k = 0; k < 2; k++) {
		const bool plain = k == 0 && r->plain;

		a.c = k ? r->h : r->x;
		a.x = k ? steps->before : call->x[0];
		a.dy = k ? steps->of_h : steps->of_x;
		if (plain)
			NN_CUDA(plain_weights)(call, k, &a, work);
		NN_CUDA(gradients)(call, plain ? -1 : k, r->attrs->bias ? 2 + k : -1, &a, &room);
	}
}

/* Of the state that the step behind a->t began with, to dh; of gru it has what that step keeps. */
static struct nn_product_args state_gradient(const struct nn_call *call, const struct recurrence *r,
					     const struct nn_recurrent_args *a)
{
	NN_ARGS(struct nn_product_args, p);

	p.n = a->n;
	p.c = r->h;
	p.c.y_row = r->steps * r->sums;
	p.w = call->w[1];
	if (!a->at_last)
		p.dy = a->of_h + (r->attrs->reverse ? a->t - 1 : a->t + 1) * r->sums;
	p.dx = a->dh;
	p.add = r->gru;
	return p;
}

static void step_back(const struct nn_call *call, const struct recurrence *r,
		      const struct nn_recurrent_args *a)
{
	const struct nn_product_args p = state_gradient(call, r, a);

	if (are_together(call, r, call->rows, r->units)) {
		const struct nn_recurrent_step_args s =
			together(a, &p, call->rows, r->units, a->at_last ? 0 : r->sums);

		nn_cuda_launch(call->site.queue, &NN_SIMT(recurrent_step_back),
			       (call->rows + 7) / 8 * ((r->units + 15) / 16), &s);
		return;
	}
	if (!a->at_last)
		NN_CUDA(input_gradient)(call->site.queue, &p);
	NN_ASK(call->site.queue, recurrent_back, *a);
}

static void backward(const struct nn_call *call, bool plain)
{
	const struct recurrence r = recurrence_of(&call->site, plain);
	struct nn_recurrent_args a = args_of(call, &r);
	size_t sums = call->rows * r.steps * r.sums;
	char *work = call->work, *room = work + (plain ? NN_CUDA_WORKSPACE : 0);
	NN_ARGS(struct nn_product_args, p);

	a.dy = call->dy;
	a.of_x = a.of_h = take(&room, sums);
	if (r.gru)
		a.of_h = take(&room, sums);
	a.dh = take(&room, a.n);
	a.dc = take(&room, a.n);
	for (size_t i = r.steps; i-- > 0;) {
		go_to(&r, &a, i);
		step_back(call, &r, &a);
	}
	weight_gradients(call, &r, &a, work, room);
	if (!call->dx[0])
		return;
	p.n = call->rows * r.steps * r.x.cin;
	p.c = r.x;
	p.w = call->w[0];
	p.dy = a.of_x;
	p.dx = call->dx[0];
	p.add = call->dx_add[0];
	if (plain)
		NN_CUDA(plain_input)(call->site.queue, &p, work);
	else
		NN_CUDA(input_gradient)(call->site.queue, &p);
}

/* ---- memory and packing ---- */

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	const struct recurrence r = recurrence_of(site, false);
	size_t step = r.kept + (r.lstm ? 2 : 1) * r.units;

	return site->training ? max_rows * (r.steps * step + (r.lstm ? r.units : 0)) * sizeof(real)
			      : 0;
}

static size_t state(const struct nn_site *site)
{
	const struct recurrence r = recurrence_of(site, false);

	return (r.lstm ? 2 : 1) * r.units * sizeof(real);
}

static size_t work_of(const struct nn_site *site, size_t max_rows, size_t max_leaves, bool plain)
{
	const struct recurrence r = recurrence_of(site, plain);
	size_t sums = nn_cuda_rounded(max_rows * r.steps * r.sums * sizeof(real)),
	       step = nn_cuda_rounded(max_rows * r.sums * sizeof(real)),
	       states = nn_cuda_rounded(max_rows * r.units * sizeof(real)),
	       x = plain ? 0 : NN_CUDA(leaves_bytes)(NN_CUDA(packed)(&r.x), max_leaves),
	       library = plain ? NN_CUDA_WORKSPACE : 0;

	return !site->training ? library + sums + states + step
			       : library + (r.gru ? 2 : 1) * sums + 2 * states + step +
					 nn_bounds_bytes(max_leaves) + x +
					 NN_CUDA(leaves_bytes)(NN_CUDA(packed)(&r.h), max_leaves) +
					 2 * NN_CUDA(leaves_bytes)(r.sums, max_leaves);
}

static size_t packed_of(const struct nn_site *site, int param, bool plain)
{
	const struct recurrence r = recurrence_of(site, plain);

	if (param == 0 && plain)
		return r.x.cin * r.x.cout;
	return param < 2 ? NN_CUDA(packed)(param ? &r.h : &r.x) : r.sums;
}

static void pack_any(const struct nn_site *site, int param, const void *from, void *to, bool unpack,
		     bool plain)
{
	const struct recurrence r = recurrence_of(site, plain);

	if (param == 0 && plain)
		NN_CUDA(plain_pack)(site->queue, &r.x, 0, 0, from, to, unpack);
	else if (param < 2)
		NN_CUDA(pack)(site->queue, param ? &r.h : &r.x, 0, 0, from, to, unpack);
	else
		nn_queue_copy(site->queue, to, from, r.sums * sizeof(real));
}

#define NN_RECURRENT(name, plain) \
	NN_KERNEL_FUNCTIONS(name, plain) \
	const struct nn_kernel NN_CUDA(op_##name) = { .forward = name##_forward, \
						      .backward = name##_backward, \
						      .saved = saved, \
						      .state = state, \
						      .work = name##_work, \
						      .packed = name##_packed, \
						      .pack = name##_pack, \
						      .unpack = name##_unpack };

NN_RECURRENT(recurrent, false)
NN_RECURRENT(recurrent_plain, true)
