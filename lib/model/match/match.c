/*
 * Weights from elsewhere taken by a net: what its text leaves open follows from the tensors, which
 * then become its parameters.
 */
#include <string.h>

#include "base/memory.h"
#include "model/match/keras.h"
#include "model/match/match.h"
#include "model/net.h"

#define MOST_SIZES 32 /* different lengths that are tried in place of what the text leaves open */

/* What the text may leave open. */
struct guess {
	const struct nn_shape *input; /* NULL: the text says it */
	size_t size;                  /* in place of `?`; 0: of the layer's own tensors */
	bool invented;                /* input is the length of some tensor: vectors, or not? */
};

struct match {
	struct nn_match m;
	struct nn_net *net;
	const char *place;
	size_t *sizes;           /* [n_outputs] that names say, or a guess */
	bool unnamed;            /* an open size is not among them */
	size_t dims[MOST_SIZES]; /* of vectors and matrices, each once */
	size_t n_dims;
	struct guess taken;    /* the one that fits, else the first that resolves */
	struct nn_shape input; /* its input */
	bool shapeless;        /* what fits wants to know the shape of samples */
	bool resolved;
	int ways;            /* in all */
	struct nn_error err; /* why the first guess does not resolve */
};

/* ---- what names say ---- */

static size_t named_size(const struct match *x, const struct nn_net_entry *line)
{
	const struct nn_weight_name *bias = nn_match_line(&x->m, line, "bias");
	const struct nn_weight_name *weight = nn_match_line(&x->m, line, "weight");
	const struct nn_shape *shape = bias     ? &bias->tensor->shape
				       : weight ? &weight->tensor->shape
						: NULL;

	if (!shape || shape->rank == 0)
		return 0;
	return !bias && nn_match_layout(&x->m, weight) == NN_WEIGHTS_KERAS
		       ? shape->dim[shape->rank - 1]
		       : shape->dim[0];
}

/* The length of vectors that the first layer with a matrix takes; 0: none is named. */
static size_t named_input(const struct match *x)
{
	for (int i = 0; i < x->net->n_layers; i++) {
		const struct nn_net_entry *line = &x->net->lines[x->net->layer_lines[i]];
		const struct nn_weight_name *weight = nn_match_line(&x->m, line, "weight");

		if (!weight)
			continue;
		if (weight->tensor->shape.rank != 2)
			return 0;
		return weight->tensor->shape
			.dim[nn_match_layout(&x->m, weight) != NN_WEIGHTS_KERAS];
	}
	return 0;
}

static void take_sizes(struct match *x)
{
	for (size_t o = 0; o < x->net->n_outputs; o++) {
		x->sizes[o] = named_size(x, &x->net->lines[x->net->output_lines[o]]);
		x->unnamed |= x->net->outputs[o].open && x->sizes[o] == 0;
	}
	for (size_t i = 0; i < x->m.names.n; i++) {
		const struct nn_shape *shape = &x->m.names.names[i].tensor->shape;

		for (int d = 0; d < shape->rank && shape->rank <= 2; d++) {
			size_t k = 0;

			while (k < x->n_dims && x->dims[k] != shape->dim[d])
				k++;
			if (k == x->n_dims && k < MOST_SIZES)
				x->dims[x->n_dims++] = shape->dim[d];
		}
	}
}

/* ---- trying ---- */

static int resolve(struct match *x, const struct guess *guess, struct nn_error *err)
{
	for (size_t o = 0; guess->size && o < x->net->n_outputs; o++)
		if (x->net->outputs[o].open)
			x->sizes[o] = guess->size;
	return nn_net_resolve(x->net, guess->input, x->sizes, err);
}

/* Pairs for the program there is: 0, 1 or 2 ways. */
static int pair(struct match *x, struct nn_error *err)
{
	const struct nn_program *program = nn_net_program(x->net);

	nn_free(x->m.pairs);
	x->m.pairs = nn_alloc((size_t)program->n_params, sizeof *x->m.pairs, err);
	if (!x->m.pairs)
		return -1;
	return nn_match_names(&x->m, program) ? 1 : nn_match_shapes(&x->m, program, err);
}

static bool from_keras(const struct match *x)
{
	const struct nn_program *program = nn_net_program(x->net);

	for (int p = 0; p < program->n_params; p++)
		if (x->m.pairs[p].layout == NN_WEIGHTS_KERAS)
			return true;
	return false;
}

/* One more guess; the first that resolves is what errors speak of. */
static int try_guess(struct match *x, const struct guess *guess, struct nn_error *err)
{
	struct nn_error why;
	int ways;

	if (x->ways > 1)
		return 0;
	if (resolve(x, guess, &why) < 0) {
		if (why.code == NN_ENOMEM)
			return nn_fail(err, why.code, "%s", why.text);
		if (!x->resolved && !*x->err.text)
			x->err = why;
		return 0;
	}
	ways = pair(x, err);
	/* a flattened picture has its kernel in another order than a vector of that length */
	if (ways > 0 && guess->invented && !x->net->inputs[0].vector && from_keras(x)) {
		x->shapeless = true;
		return 0;
	}
	if (ways > 0 || !x->resolved) {
		x->taken = *guess;
		if (guess->input) {
			x->input = *guess->input;
			x->taken.input = &x->input;
		}
	}
	x->resolved = true;
	if (ways > 0)
		x->ways += ways;
	return ways < 0 ? -1 : 0;
}

static int try_sizes(struct match *x, const struct nn_shape *input, bool invented,
		     struct nn_error *err)
{
	struct guess guess = { .input = input, .invented = invented };
	int status = 0;

	if (!x->unnamed)
		return try_guess(x, &guess, err);
	for (size_t i = 0; i < x->n_dims && status == 0; i++) {
		guess.size = x->dims[i];
		status = try_guess(x, &guess, err);
	}
	return status;
}

static bool shaped(const struct nn_net *net)
{
	for (size_t i = 0; i < net->n_inputs; i++)
		if (!net->inputs[i].shaped)
			return false;
	return true;
}

/* The shape of samples: the text's, the data's, what names say, or a length of some tensor. */
static int try_inputs(struct match *x, const struct nn_shape *sample, struct nn_error *err)
{
	struct nn_shape vector = nn_shape1(named_input(x));
	int status = 0;

	if (shaped(x->net) || x->net->n_inputs > 1)
		return try_sizes(x, NULL, false, err);
	if (sample && !x->net->inputs[0].vector)
		return try_sizes(x, sample, false, err);
	if (vector.dim[0] > 0 && try_sizes(x, &vector, true, err) < 0)
		return -1;
	if (x->ways > 0)
		return 0;
	if (sample)
		status = try_sizes(x, sample, false, err);
	for (size_t i = 0; i < x->n_dims && status == 0 && !sample; i++) {
		vector = nn_shape1(x->dims[i]);
		status = try_sizes(x, &vector, true, err);
	}
	if ((x->resolved && !x->shapeless) || x->ways > 0 || status < 0)
		return status;
	x->resolved = false;
	*x->err.text = '\0';
	return try_sizes(x, NULL, false, err); /* says what is missing */
}

/* ---- the end of it ---- */

static int fail_match(struct match *x, struct nn_error *err)
{
	struct nn_error ignored;

	if (!x->resolved)
		return nn_fail(err, x->err.code, "%s", x->err.text);
	if (resolve(x, &x->taken, &ignored) < 0)
		return nn_fail(err, ignored.code, "%s", ignored.text);
	if (x->ways == 0 && nn_match_names_fail(&x->m, nn_net_program(x->net), x->place, err) < 0)
		return -1;
	return nn_match_forms_fail(&x->m, nn_net_program(x->net), x->ways, x->place, err);
}

/* The pairs that were found, for a program with the defaults of where they come from. */
static int settle(struct match *x, struct nn_error *err)
{
	if (resolve(x, &x->taken, err) < 0 || pair(x, err) < 0)
		return -1;
	if (!from_keras(x))
		return 0;
	nn_net_take_keras(x->net);
	return resolve(x, &x->taken, err);
}

int nn_weights_match(struct nn_st **st, struct nn_net *net, const struct nn_weights_as *as,
		     const char *place, struct nn_error *err)
{
	struct match x = { .m.layout = as->layout, .net = net, .place = place };
	struct nn_st *own = nn_alloc(1, sizeof *own, err);
	int status = -1;

	x.sizes = nn_alloc(net->n_outputs, sizeof *x.sizes, err);
	if (own && x.sizes && nn_keras_cells(st, net, place, err) == 0 &&
	    nn_weight_names_read(&x.m.names, *st, place, err) == 0) {
		nn_match_strip(&x.m, net);
		take_sizes(&x);
		status = try_inputs(&x, as->sample, err);
	}
	if (status == 0)
		status = x.ways == 1 ? settle(&x, err) : fail_match(&x, err);
	if (status == 0)
		status = nn_match_take(own, &x.m, nn_net_program(net), place, err);
	nn_weight_names_free(&x.m.names);
	nn_free(x.m.pairs);
	nn_free(x.sizes);
	if (status < 0) {
		nn_st_free(own);
		return -1;
	}
	own->base = *st;
	*st = own;
	return 0;
}
