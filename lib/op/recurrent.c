/*
 * recurrent: a layer that goes through the steps of a sequence and hands its state on from step to
 * step, as one direction of one layer of nn.RNN, nn.LSTM and nn.GRU; last: the last step.
 */
#include <string.h>

#include "op/common.h"
#include "op/notation.h"

static const struct {
	const char *name;
	size_t gates;
} cells[NN_N_CELLS] = {
	[NN_CELL_RNN] = { "rnn", 1 },
	[NN_CELL_RNN_RELU] = { "rnn-relu", 1 },
	[NN_CELL_LSTM] = { "lstm", 4 },
	[NN_CELL_GRU] = { "gru", 3 },
};

size_t nn_cell_gates(enum nn_recurrent_cell cell)
{
	return cells[cell].gates;
}

static int steps_of_values(const struct nn_shape *in, int n_in, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	if (nn_op_one_input(n_in, err))
		return -1;
	if (in->rank != 2 || in->dim[0] == 0 || in->dim[1] == 0)
		return nn_fail(err, NN_EFAIL,
			       "wants steps x values (TxN, as \"input 100x2\" gives), got %s",
			       nn_shape_text(text, in));
	return 0;
}

static int recurrent_infer(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_shape *out, struct nn_error *err)
{
	const struct nn_recurrent *a = attrs;

	if (steps_of_values(in, n_in, err))
		return -1;
	if (a->units == 0)
		return nn_fail(err, NN_EFAIL, "units must be at least 1");
	*out = nn_shape2(in->dim[0], a->units);
	return nn_op_check_size(out, err);
}

/* As nn.LSTM names them: of layer n, and of the way back. */
#define NAMES(n, way) \
	{ \
		"weight_ih_l" #n way, "weight_hh_l" #n way, "bias_ih_l" #n way, "bias_hh_l" #n way \
	}
#define LAYER(n) \
	{ \
		NAMES(n, ""), NAMES(n, "_reverse") \
	}
static const char *const names[NN_RECURRENT_LAYERS][2][NN_MAX_PARAMS] = {
	LAYER(0), LAYER(1), LAYER(2), LAYER(3), LAYER(4), LAYER(5), LAYER(6), LAYER(7)
};

static int recurrent_params(const void *attrs, const struct nn_shape *in, int n_in,
			    struct nn_op_param out[NN_MAX_PARAMS])
{
	const struct nn_recurrent *a = attrs;
	const char *const *name = names[a->layer][a->reverse];
	size_t gates = a->units;

	(void)n_in;
	/* Too large a product is found where the shape is checked. */
	if (!nn_mul(gates, cells[a->cell].gates, &gates))
		gates = SIZE_MAX;
	out[0] = nn_op_param(name[0], NN_WEIGHT, NN_INIT_KAIMING_UNIFORM,
			     nn_shape2(gates, in->dim[1]), a->units);
	out[1] = nn_op_param(name[1], NN_WEIGHT, NN_INIT_KAIMING_UNIFORM,
			     nn_shape2(gates, a->units), a->units);
	out[2] = nn_op_param(name[2], NN_BIAS, NN_INIT_BIAS_UNIFORM, nn_shape1(gates), a->units);
	out[3] = nn_op_param(name[3], NN_BIAS, NN_INIT_BIAS_UNIFORM, nn_shape1(gates), a->units);
	return a->bias ? 4 : 2;
}

static uint64_t recurrent_flops(const void *attrs, const struct nn_shape *in, int n_in,
				const struct nn_shape *out)
{
	const struct nn_recurrent *a = attrs;

	(void)n_in;
	(void)out;
	return nn_op_count(2 * in->dim[0], nn_op_count(cells[a->cell].gates, a->units, 1),
			   in->dim[1] + a->units);
}

/* ROWSxSTEPSxIN,CELL,UNITS */
static void recurrent_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_recurrent *a = attrs;
	size_t n = strcspn(r->at, ",");

	r->wrong |= in->rank != 2 || r->at[n] != ',';
	for (a->cell = 0; a->cell < NN_N_CELLS; a->cell++)
		if (strlen(cells[a->cell].name) == n && memcmp(r->at, cells[a->cell].name, n) == 0)
			break;
	r->wrong |= a->cell == NN_N_CELLS;
	if (r->wrong) {
		a->cell = NN_CELL_RNN;
		return;
	}
	r->at += n + 1;
	a->units = nn_op_read_size(r);
}

static void recurrent_write(const void *attrs, struct nn_text *text)
{
	const struct nn_recurrent *a = attrs;

	nn_text_addf(text, ",%s,%zu", cells[a->cell].name, a->units);
}

static enum nn_stepping recurrent_step(void *attrs, const struct nn_shape *in)
{
	(void)in;
	return ((const struct nn_recurrent *)attrs)->reverse ? NN_STEPS_AT_ONCE : NN_STEPS_ANY;
}

const struct nn_op nn_op_recurrent = {
	.name = "recurrent",
	.attrs_size = sizeof(struct nn_recurrent),
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_NEEDS_X | NN_OP_HAS_STATE | NN_OP_READS_LENGTHS,
	.step = recurrent_step,
	.lengths = nn_op_inner_lengths,
	.infer = recurrent_infer,
	.params = recurrent_params,
	.flops = recurrent_flops,
	.form = "ROWSxSTEPSxIN,CELL,UNITS, CELL being rnn, rnn-relu, lstm or gru",
	.read = recurrent_read,
	.write = recurrent_write,
};

static int last_infer(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		      struct nn_error *err)
{
	(void)attrs;
	if (steps_of_values(in, n_in, err))
		return -1;
	*out = nn_shape1(in->dim[1]);
	return 0;
}

static enum nn_lengths last_lengths(const void *attrs, const struct nn_shape *in)
{
	(void)attrs;
	(void)in;
	return NN_LENGTHS_ENDED;
}

const struct nn_op nn_op_last = {
	.name = "last",
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_READS_LENGTHS,
	.lengths = last_lengths,
	.infer = last_infer,
	.flops = nn_op_no_flops,
	.form = "ROWSxSTEPSxN",
};
