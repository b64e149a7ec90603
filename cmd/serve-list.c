/* The option list of nn-serve. */
#include "cmd/tool.h"
#include "serve/serve.h"

static const struct nn_opt_table tables[] = {
	{ "Serving", nn_serve_opts, NULL, NULL },
	{ "Standard", nn_std_opts_no_output, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_serve_list = {
	.tool = "nn-serve",
	.usage = "nn-serve [OPTION]... [NAME=]MODEL...",
	.brief = "Answer requests over HTTP with models: TensorFlow Serving and Open Inference "
		 "Protocol "
		 "clients, CSV, JSON lines and .npy.",
	.example = "nn-serve --listen=127.0.0.1:8080 digits=digits.st",
	.tables = tables,
};
