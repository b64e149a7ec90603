/*
 * Layers that older opsets write as several nodes: layernorm, gelu, silu. Each is recognized from
 * the node that no other pattern begins with; what lies between belongs to nobody else.
 */
#include <math.h>
#include <string.h>

#include "onnx/graph.h"

static struct nn_onnx_node *node_at(struct nn_onnx_graph *g, int i)
{
	return i >= 0 ? &g->nodes[i] : NULL;
}

static bool is_op(const struct nn_onnx_node *n, const char *op)
{
	return n && n->live && n->proto->op_type && strcmp(n->proto->op_type, op) == 0 &&
	       !n->inside && !n->match.layer && n->proto->n_output >= 1 && n->out[0] >= 0;
}

static int in_of(const struct nn_onnx_node *n, size_t i)
{
	return i < n->proto->n_input ? n->in[i] : -1;
}

/* The node that gives a value, if it is that op. */
static struct nn_onnx_node *giver(struct nn_onnx_graph *g, int value, const char *op)
{
	struct nn_onnx_node *n = value >= 0 ? node_at(g, g->values[value].node) : NULL;

	return is_op(n, op) ? n : NULL;
}

/* The only node that takes what n gives, if it is that op. */
static struct nn_onnx_node *taker(struct nn_onnx_graph *g, const struct nn_onnx_node *n,
				  const char *op)
{
	const struct nn_onnx_value *v = n && n->out[0] >= 0 ? &g->values[n->out[0]] : NULL;
	struct nn_onnx_node *found =
		v && !v->output && v->uses == 1 ? node_at(g, v->first_use) : NULL;

	return is_op(found, op) ? found : NULL;
}

static bool is_about(const struct nn_onnx_graph *g, int value, double wanted)
{
	const struct nn_onnx_constant *c = value >= 0 ? g->values[value].constant : NULL;

	return c && c->count == 1 && fabs(nn_onnx_real(c, 0) - wanted) <= 1e-5 * fabs(wanted);
}

/* The other input of a node with two. */
static int other(const struct nn_onnx_node *n, int value)
{
	return n->proto->n_input != 2 ? -1 : n->in[0] == value ? n->in[1] : n->in[0];
}

static void set(struct nn_onnx_node *last, const char *layer, int in)
{
	last->inside = false;
	last->match = (struct nn_onnx_match){ layer, in, -1, -1, 0 };
}

/* x * sigmoid(x) */
static void match_silu(struct nn_onnx_graph *g, struct nn_onnx_node *sigmoid)
{
	struct nn_onnx_node *mul = taker(g, sigmoid, "Mul");
	int x = in_of(sigmoid, 0);

	if (!mul || x < 0 || other(mul, sigmoid->out[0]) != x)
		return;
	sigmoid->inside = true;
	set(mul, "silu", x);
}

/* What erf is taken of: x / sqrt(2), as a division or product. */
static struct nn_onnx_node *before_erf(struct nn_onnx_graph *g, const struct nn_onnx_node *erf,
				       int *x)
{
	struct nn_onnx_node *div = giver(g, in_of(erf, 0), "Div"),
			    *mul = giver(g, in_of(erf, 0), "Mul");

	if (div && is_about(g, in_of(div, 1), sqrt(2))) {
		*x = in_of(div, 0);
		return taker(g, div, "Erf") ? div : NULL;
	}
	for (size_t i = 0; mul && i < 2; i++)
		if (is_about(g, in_of(mul, i), sqrt(0.5))) {
			*x = in_of(mul, 1 - i);
			return taker(g, mul, "Erf") ? mul : NULL;
		}
	return NULL;
}

/* (1 + erf(x / sqrt(2))) * x * 0.5, in any order of the last two products */
static void match_gelu(struct nn_onnx_graph *g, struct nn_onnx_node *erf)
{
	int x = -1, factor;
	struct nn_onnx_node *before = before_erf(g, erf, &x), *add = taker(g, erf, "Add");
	struct nn_onnx_node *mul = taker(g, add, "Mul"), *half, *last;

	if (!before || !add || !mul || x < 0 || !is_about(g, other(add, erf->out[0]), 1))
		return;
	factor = other(mul, add->out[0]);
	half = giver(g, factor, "Mul");
	if (factor == x || is_about(g, factor, 0.5)) {
		last = taker(g, mul, "Mul");
		if (!last || (factor == x ? !is_about(g, other(last, mul->out[0]), 0.5)
					  : other(last, mul->out[0]) != x))
			return;
		mul->inside = true;
	} else {
		last = mul;
		if (!half || taker(g, half, "Mul") != mul || !is_about(g, other(half, x), 0.5))
			return;
		half->inside = true;
	}
	before->inside = erf->inside = add->inside = true;
	set(last, "gelu", x);
}

/* The mean over the last axis, kept: known by its axis, or taken for it and checked on import. */
static bool is_last_mean(const struct nn_onnx_graph *g, const struct nn_onnx_node *n)
{
	const Onnx__Attribute *a = nn_onnx_attribute(n->proto, "axes");
	const struct nn_onnx_value *v = nn_onnx_in(g, n, 1);

	if (!nn_onnx_int(n->proto, "keepdims", 1))
		return false;
	if (a)
		return a->n_ints == 1 && a->ints[0] == -1;
	return v && v->constant && v->constant->count == 1 && nn_onnx_is_whole(v->constant) &&
	       nn_onnx_whole(v->constant, 0) == -1;
}

/* The square of d's output: Pow(d, 2) or Mul(d, d). */
static struct nn_onnx_node *square(struct nn_onnx_graph *g, const struct nn_onnx_node *d, int at)
{
	struct nn_onnx_node *n = node_at(g, at);

	if (is_op(n, "Pow") && in_of(n, 0) == d->out[0] && is_about(g, in_of(n, 1), 2))
		return n;
	return is_op(n, "Mul") && in_of(n, 0) == d->out[0] && in_of(n, 1) == d->out[0] ? n : NULL;
}

/* The constant that a product or sum has beside what n gives; NULL node: there is none. */
static struct nn_onnx_node *with_constant(struct nn_onnx_graph *g, struct nn_onnx_node *n,
					  const char *op, int *constant)
{
	struct nn_onnx_node *next = taker(g, n, op);
	int c = next ? other(next, n->out[0]) : -1;

	if (c < 0 || !g->values[c].constant || g->values[c].constant->count < 2)
		return NULL;
	*constant = c;
	return next;
}

/* d / sqrt(mean(d * d) + eps) * weight + bias with d = x - mean(x) */
static void match_layernorm(struct nn_onnx_graph *g, struct nn_onnx_node *mean)
{
	struct nn_onnx_node *d = taker(g, mean, "Sub"), *squared, *variance, *plus, *root, *div;
	struct nn_onnx_node *scaled, *shifted, *last;
	int x = in_of(mean, 0), weight = -1, bias = -1, eps;

	if (!d || x < 0 || in_of(d, 0) != x || in_of(d, 1) != mean->out[0] ||
	    !is_last_mean(g, mean) || g->values[d->out[0]].output)
		return;
	squared = square(g, d, g->values[d->out[0]].first_use);
	variance = taker(g, squared, "ReduceMean");
	plus = variance && is_last_mean(g, variance) ? taker(g, variance, "Add") : NULL;
	root = taker(g, plus, "Sqrt");
	div = taker(g, root, "Div");
	if (!div || in_of(div, 0) != d->out[0] ||
	    g->values[d->out[0]].uses != 2 + (in_of(squared, 1) == d->out[0]))
		return;
	eps = other(plus, variance->out[0]);
	if (eps < 0 || !g->values[eps].constant || g->values[eps].constant->count != 1)
		return;
	scaled = with_constant(g, div, "Mul", &weight);
	shifted = with_constant(g, scaled ? scaled : div, "Add", &bias);
	last = shifted ? shifted : scaled ? scaled : div;
	mean->inside = d->inside = squared->inside = variance->inside = plus->inside =
		root->inside = div->inside = true;
	if (scaled)
		scaled->inside = true;
	set(last, "layernorm", x);
	last->match.weight = weight;
	last->match.bias = bias;
	last->match.eps = nn_onnx_real(g->values[eps].constant, 0);
}

void nn_onnx_match(struct nn_onnx_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++) {
		struct nn_onnx_node *n = &g->nodes[i];

		if (is_op(n, "Sigmoid"))
			match_silu(g, n);
		else if (is_op(n, "Erf"))
			match_gelu(g, n);
		else if (is_op(n, "ReduceMean"))
			match_layernorm(g, n);
	}
}
