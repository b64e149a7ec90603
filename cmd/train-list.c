/* The option list of nn-train. */
#include "cmd/tool.h"
#include "comm/options.h"
#include "data/data.h"
#include "train/options.h"

static const struct nn_opt_table tables[] = {
	{ "Training", nn_train_opts, NULL, NULL },
	{ "Training", nn_train_run_opts, NULL, NULL },
	{ "Parallel", nn_parallel_opts, NULL, NULL },
	{ "Ranks", nn_ranks_opts, NULL, NULL },
	{ "Data", nn_data_opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_train_list = {
	.tool = "nn-train",
	.usage = "nn-train [OPTION]... -m MODEL DATA [TARGETS]   > model.safetensors",
	.brief = "Train MODEL on DATA and write a model file for nn-predict.",
	.example = "nn-train -m 'dense 32, relu, dense ?' --target=species iris.csv -o iris.st",
	.tables = tables,
};
