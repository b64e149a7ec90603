/*
 * rnn, lstm, gru: layers over the steps of a sequence, stacked and in both directions; last: the
 * last step.
 */
#include "model/layer.h"
#include "model/initial.h"

enum { TANH, RELU };
static const char *const nonlinearities[] = { [TANH] = "tanh", [RELU] = "relu", NULL };

struct recurrent {
	size_t units, layers;
	bool bidirectional, bias;
	int nonlinearity;
	int init;
};

#define UNITS \
	{ \
		.name = "UNITS", .type = NN_ARG_SIZE, .offset = offsetof(struct recurrent, units), \
		.min = 1, .max = NN_ARG_MAX, \
		.help = "Values of the state, and of each step of the output." \
	}
#define LAYERS \
	{ \
		.name = "layers", .type = NN_ARG_SIZE, \
		.offset = offsetof(struct recurrent, layers), .fallback = "1", .min = 1, \
		.max = NN_RECURRENT_LAYERS, \
		.help = "Layers on top of each other: the next one goes through the steps that " \
			"one gave." \
	}
#define BIDIRECTIONAL \
	{ \
		.name = "bidirectional", .type = NN_ARG_YESNO, \
		.offset = offsetof(struct recurrent, bidirectional), .fallback = "no", \
		.help = "A second one goes from the last step to the first; each step then has " \
			"2*UNITS values, those of the first direction before the others." \
	}
#define BIAS \
	{ \
		.name = "bias", .type = NN_ARG_YESNO, .offset = offsetof(struct recurrent, bias), \
		.fallback = "yes", .help = "Add learned constants, two of them as PyTorch has it." \
	}

static const struct nn_layer_arg rnn_args[] = { UNITS,
						LAYERS,
						BIDIRECTIONAL,
						{ .name = "nonlinearity",
						  .type = NN_ARG_CHOICE,
						  .offset =
							  offsetof(struct recurrent, nonlinearity),
						  .fallback = "tanh",
						  .choices = nonlinearities,
						  .help = "What a step's sum goes through." },
						BIAS,
						NN_ARG_INIT(offsetof(struct recurrent, init)),
						{ .name = NULL } };

static const struct nn_layer_arg gated_args[] = {
	UNITS,           LAYERS, BIDIRECTIONAL, BIAS, NN_ARG_INIT(offsetof(struct recurrent, init)),
	{ .name = NULL }
};

/* The op of one direction, or with two of them both, joined step by step. */
static int expand_layer(const struct nn_expansion *line, const struct nn_recurrent *op,
			bool bidirectional, struct nn_error *err)
{
	struct nn_recurrent back = *op;
	struct nn_concat join = { .dim = 1 };
	struct nn_expansion both = *line;
	int ways[2];

	ways[0] = nn_expand_op(line, NN_OP_recurrent, op, err);
	if (ways[0] < 0 || !bidirectional)
		return ways[0];
	back.reverse = true;
	ways[1] = nn_expand_op(line, NN_OP_recurrent, &back, err);
	if (ways[1] < 0)
		return -1;
	both.in = ways;
	both.n_in = 2;
	return nn_expand_op(&both, NN_OP_concat, &join, err);
}

static int expand_cell(const struct nn_expansion *line, enum nn_recurrent_cell cell,
		       const struct recurrent *values, struct nn_error *err)
{
	struct nn_recurrent op = { .cell = cell, .units = values->units, .bias = values->bias };
	struct nn_expansion layer = *line;
	int y = -1;

	for (; op.layer < values->layers; op.layer++) {
		y = expand_layer(&layer, &op, values->bidirectional, err);
		if (y < 0)
			return -1;
		layer.in = &y;
	}
	return y;
}

static int expand_rnn(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct recurrent *r = values;

	return expand_cell(line, r->nonlinearity == RELU ? NN_CELL_RNN_RELU : NN_CELL_RNN, r, err);
}

static int expand_lstm(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return expand_cell(line, NN_CELL_LSTM, values, err);
}

static int expand_gru(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return expand_cell(line, NN_CELL_GRU, values, err);
}

static int expand_last(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	(void)values;
	return nn_expand_op(line, NN_OP_last, NULL, err);
}

#define PARAMETERS(gates) \
	"Parameters of layer k: weight_ih_lk [" gates \
	"UNITS,N], N the values of a step of its input, " \
	"weight_hh_lk [" gates "UNITS,UNITS], bias_ih_lk and bias_hh_lk [" gates \
	"UNITS]; those of " \
	"the direction from the last step to the first have _reverse behind their names. All " \
	"begin " \
	"uniform within 1/sqrt(UNITS)."

const struct nn_layer nn_layer_rnn = {
	.name = "rnn",
	.also = "simplernn,elman,recurrent",
	.brief = "A state goes through the steps: that of a step is tanh of weighted sums of the "
		 "step's values and of the state before it (torch.nn.RNN).",
	.shapes = "T,N to T,UNITS: T steps of N values; bidirectional: to T,2*UNITS",
	.more = "The state begins as zeros. " PARAMETERS(""),
	.args = rnn_args,
	.size = sizeof(struct recurrent),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_rnn,
};

const struct nn_layer nn_layer_lstm = {
	.name = "lstm",
	.also = "long-short-term-memory",
	.brief = "A state and a cell go through the steps; gates learn what of the cell is kept, "
		 "what is added to it and what is shown of it (torch.nn.LSTM).",
	.shapes = "T,N to T,UNITS: T steps of N values; bidirectional: to T,2*UNITS",
	.more = "State and cell begin as zeros. The rows of parameters are those of the gates i, "
		"f, "
		"g and o. " PARAMETERS("4*"),
	.args = gated_args,
	.size = sizeof(struct recurrent),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_lstm,
};

const struct nn_layer nn_layer_gru = {
	.name = "gru",
	.also = "gated-recurrent-unit",
	.brief =
		"A state goes through the steps; gates learn what of it is kept and what of it the "
		"new one sees (torch.nn.GRU).",
	.shapes = "T,N to T,UNITS: T steps of N values; bidirectional: to T,2*UNITS",
	.more = "The state begins as zeros. The rows of parameters are those of the gates r, z and "
		"n; the reset gate r is applied behind the product. " PARAMETERS("3*"),
	.args = gated_args,
	.size = sizeof(struct recurrent),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_gru,
};

const struct nn_layer nn_layer_last = {
	.name = "last",
	.also = "last-step,laststep",
	.brief = "The values of the last step.",
	.shapes = "T,N to N",
	.more = "Behind rnn, lstm or gru: what these have made of the whole sequence.",
	.min_in = 1,
	.max_in = 1,
	.expand = expand_last,
};
