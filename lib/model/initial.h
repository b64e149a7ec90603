/*
 * Initial values of parameters: the choices of init=, shared by the layers that take it.
 *
 * init= knows default (that of PyTorch's layer), kaiming-uniform, xavier-uniform and zeros; no
 * normal distributions.
 */
#ifndef NN_MODEL_INITIAL_H
#define NN_MODEL_INITIAL_H

#include "model/layer.h"

enum nn_initial { NN_INITIAL_DEFAULT, NN_INITIAL_KAIMING, NN_INITIAL_XAVIER, NN_INITIAL_ZEROS };

extern const char *const nn_initial_names[];

/* The row init= of a layer's arguments. */
#define NN_ARG_INIT(at) \
	{ \
		.name = "init", .type = NN_ARG_CHOICE, .offset = (at), .fallback = "default", \
		.choices = nn_initial_names, .help = "Initial values, see INITIAL VALUES." \
	}

#endif
