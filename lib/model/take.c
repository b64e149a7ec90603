/* Parameters taken from weights made elsewhere, for a net whose shapes are known. */
#include <string.h>

#include "base/memory.h"
#include "model/match/keras.h"
#include "model/match/match.h"
#include "model/net.h"
#include "model/stored.h"

/* Parameter p as its pair says, turned where it has to be. */
static int take_param(struct nn_st *st, const struct nn_match_pair *pair,
		      const struct nn_program *program, int p, const struct nn_keras_order *orders,
		      const char *place, struct nn_error *err)
{
	size_t i = st->n_tensors++;
	struct nn_st_tensor *t = &st->tensors[i];
	const char *name = pair->name->tensor->name;
	char quoted[NN_QUOTED];

	*t = *pair->name->tensor;
	t->name = st->names[i] = nn_strdup(program->params[p].name, err);
	if (!t->name)
		return -1;
	if (!nn_dtype_float(t->dtype))
		return nn_fail(err, NN_EFORMAT,
			       "%s: tensor '%s' is %s, wanted f32, f64, f16 or bf16", place,
			       nn_quote(quoted, name, strlen(name)), nn_dtype_name(t->dtype));
	if (pair->layout != NN_WEIGHTS_KERAS || !nn_keras_turns(program, p, orders))
		return 0;
	return nn_keras_turn(program, p, orders, t, &st->arrays[i], err);
}

int nn_match_take(struct nn_st *st, const struct nn_match *m, const struct nn_program *program,
		  const char *place, struct nn_error *err)
{
	struct nn_keras_order *orders = nn_keras_orders(program, err);
	int status = orders ? nn_st_reserve(st, (size_t)program->n_params, err) : -1;

	for (int p = 0; p < program->n_params && status == 0; p++)
		if (m->pairs[p].name)
			status = take_param(st, &m->pairs[p], program, p, orders, place, err);
	nn_free(orders);
	nn_st_sort(st->tensors, st->n_tensors);
	return status;
}

/* By name alone; what the file has not, or of another shape, goes into `left`. */
static int pair_some(struct nn_match *m, const struct nn_program *program, const char *place,
		     struct nn_text *left, struct nn_error *err)
{
	char shape[NN_SHAPE_TEXT];
	int taken = 0;

	for (int p = 0; p < program->n_params; p++) {
		const struct nn_weight_name *name = nn_match_name(m, program, p);
		enum nn_weights_layout layout = name ? nn_match_layout(m, name) : NN_WEIGHTS_AUTO;

		if (name && nn_match_fits(program, p, &name->tensor->shape, layout)) {
			m->pairs[p] = (struct nn_match_pair){ name, layout };
			taken++;
			continue;
		}
		nn_text_addf(left, "%s%s", left->length ? ", " : "", program->params[p].name);
		if (name)
			nn_text_addf(left, " (there %s)",
				     nn_shape_text(shape, &name->tensor->shape));
	}
	if (taken > 0)
		return 0;
	return nn_match_names_fail(m, program, place, err) < 0
		       ? -1
		       : nn_match_forms_fail(m, program, 0, place, err);
}

static int pair_all(struct nn_match *m, const struct nn_program *program, const char *place,
		    struct nn_error *err)
{
	int ways = nn_match_names(m, program) ? 1 : nn_match_shapes(m, program, err);

	if (ways == 1 || ways < 0)
		return ways < 0 ? -1 : 0;
	if (ways == 0 && nn_match_names_fail(m, program, place, err) < 0)
		return -1;
	return nn_match_forms_fail(m, program, ways, place, err);
}

int nn_weights_take(struct nn_st **st, const struct nn_net *net, const struct nn_weights_as *as,
		    const char *place, struct nn_text *left, struct nn_error *err)
{
	const struct nn_program *program = nn_net_program(net);
	struct nn_match m = { .layout = as->layout,
			      .hint = left ? NULL : "; --init-partial leaves it as initialized",
			      .pairs = nn_alloc((size_t)program->n_params, sizeof *m.pairs, err) };
	struct nn_st *own = nn_alloc(1, sizeof *own, err);
	int status = -1;

	if (nn_st_meta(*st, NN_META_STATE)) {
		nn_fail(err, NN_EFORMAT, "%s: is the state of a training run, not weights", place);
	} else if (own && m.pairs && nn_stored_widen(st, place, err) == 0 &&
		   nn_keras_cells(st, net, place, err) == 0 &&
		   nn_weight_names_read(&m.names, *st, place, err) == 0) {
		nn_match_strip(&m, net);
		status = left ? pair_some(&m, program, place, left, err)
			      : pair_all(&m, program, place, err);
	}
	if (status == 0)
		status = nn_match_take(own, &m, program, place, err);
	nn_weight_names_free(&m.names);
	nn_free(m.pairs);
	if (status < 0) {
		nn_st_free(own);
		return -1;
	}
	own->base = *st;
	*st = own;
	return 0;
}
