/* A training planned anew with less of something. */
#include "model/widen.h"
#include "train/plan/fit-ranks.h"
#include "train/plan/vary.h"

#define ROUND 8 /* widths are multiples of it where they can be */

const unsigned char nn_give_degrees[NN_GIVE_KINDS] = {
	[NN_GIVE_THREADS] = 1,   [NN_GIVE_LEAVES] = 2, [NN_GIVE_PRECISION] = 1,
	[NN_GIVE_OPTIMIZER] = 2, [NN_GIVE_WIDTH] = 1,
};

static size_t slots(const struct nn_train_options *o)
{
	struct nn_optimizer_options options = { .kind = (enum nn_optimizer_kind)o->optimizer,
						.momentum = o->momentum };

	return nn_optimizer_bytes(&options, 1, 1, NN_F32) / nn_dtype_size(NN_F32) - 1;
}

static bool give_up_threads(struct nn_variant *v, int degree)
{
	(void)degree;
	if (v->std.threads <= 1)
		return false;
	v->std.threads = 1;
	v->train.pool = NULL;
	return true;
}

static bool give_up_leaves(struct nn_variant *v, int degree)
{
	size_t leaves = degree == 1 ? 2 : 1;

	if (v->options.leaves <= leaves || (size_t)nn_fit_sharers(&v->train) > leaves)
		return false;
	v->options.leaves = leaves;
	return true;
}

static bool give_up_precision(struct nn_variant *v, int degree)
{
	struct nn_error err;

	(void)degree;
	if (v->std.precision != 1)
		return false;
	v->std.precision = 0;
	v->train.device = nn_device_open(v->train.device->name, NN_F32, &err);
	return v->train.device != NULL;
}

static bool give_up_optimizer(struct nn_variant *v, int degree)
{
	struct nn_train_options *o = &v->options;

	if (slots(o) < (degree == 1 ? 2 : 1))
		return false;
	o->optimizer = degree == 1 ? NN_RMSPROP : NN_SGD;
	o->momentum = 0;
	o->nesterov = false;
	return true;
}

static size_t narrower(void *arg, size_t out)
{
	double width = (double)out * *(const double *)arg;
	size_t n = width < 1 ? 1 : (size_t)width;

	return n >= 2 * ROUND && n < out ? n / ROUND * ROUND : n;
}

/* The canonical text with narrower layers. */
static bool give_up_width(struct nn_variant *v, double width)
{
	struct nn_text text = { 0 };
	struct nn_error err;
	bool made = nn_widened(v->train.net, narrower, &width, &text, &err) == 0 &&
		    nn_net_parse(&v->net, "-m", text.data, text.length, true, &err) == 0 &&
		    nn_net_resolve(v->net, NULL, NULL, &err) == 0;

	nn_text_free(&text);
	if (made)
		v->train.program = nn_net_program(v->net);
	return made;
}

bool nn_may_give_up(const struct nn_train *t, int kind)
{
	const struct nn_train_options *o = t->options;

	if (o->resume && kind != NN_GIVE_THREADS)
		return false;
	switch (kind) {
	case NN_GIVE_THREADS:
		return t->std->threads > 1;
	case NN_GIVE_LEAVES:
		return o->leaves > 1;
	case NN_GIVE_PRECISION:
		return t->std->precision == 1;
	case NN_GIVE_OPTIMIZER:
		return slots(o) > 0;
	default:
		return !t->start && nn_widens_hidden(t->net);
	}
}

bool nn_vary(struct nn_variant *v, const struct nn_train *t, const struct nn_change *c)
{
	static bool (*const give_up[NN_GIVE_WIDTH])(struct nn_variant * v, int degree) = {
		[NN_GIVE_THREADS] = give_up_threads,
		[NN_GIVE_LEAVES] = give_up_leaves,
		[NN_GIVE_PRECISION] = give_up_precision,
		[NN_GIVE_OPTIMIZER] = give_up_optimizer,
	};
	struct nn_error err;

	*v = (struct nn_variant){ .train = *t, .options = *t->options, .std = *t->std };
	v->train.options = &v->options;
	v->train.std = &v->std;
	for (int kind = 0; kind < NN_GIVE_WIDTH; kind++)
		if (c->degree[kind] && !give_up[kind](v, c->degree[kind]))
			return false;
	if (c->degree[NN_GIVE_WIDTH] && !give_up_width(v, c->width))
		return false;
	if ((c->rows ? nn_fit_plan(&v->train, c->rows, &v->fit, &err)
		     : nn_fit_choose(&v->train, &v->fit, &err)) < 0)
		return false;
	return v->fit.fits;
}

void nn_variant_free(struct nn_variant *v)
{
	nn_net_free(v->net);
}
