/* A line for each cell. */
#include <string.h>

#include "onnx/cell.h"

static const struct nn_onnx_cell cells[] = {
	{ "RNN", "rnn", NN_CELL_RNN, 1, { 0 }, { "Tanh" }, 1, false },
	{ "RNN", "rnn", NN_CELL_RNN_RELU, 1, { 0 }, { "Relu" }, 1, false },
	/* i f g o there i o f g */
	{ "LSTM",
	  "lstm",
	  NN_CELL_LSTM,
	  4,
	  { 0, 2, 3, 1 },
	  { "Sigmoid", "Tanh", "Tanh" },
	  3,
	  false },
	/* r z n there z r n */
	{ "GRU", "gru", NN_CELL_GRU, 3, { 1, 0, 2 }, { "Sigmoid", "Tanh" }, 2, true },
};

const struct nn_onnx_cell *nn_onnx_cell_named(const char *op)
{
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		if (strcmp(cells[i].op, op) == 0)
			return &cells[i];
	return NULL;
}

const struct nn_onnx_cell *nn_onnx_cell_of(enum nn_recurrent_cell kind)
{
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		if (cells[i].kind == kind)
			return &cells[i];
	return NULL;
}
