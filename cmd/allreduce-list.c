/* The option list of nn-allreduce. */
#include "cmd/tool.h"
#include "reduce/allreduce.h"

static const struct nn_opt_table tables[] = {
	{ "Reduction", nn_allreduce_opts, NULL, NULL },
	{ "Ranks", nn_ranks_opts, NULL, NULL },
	{ "Measuring", nn_allreduce_bench_opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_allreduce_list = {
	.tool = "nn-allreduce",
	.usage = "nn-allreduce [OPTION]... FILE...   > result\n"
		 "nn-allreduce [OPTION]... --ranks=N FILE.%r   (%r is the rank, from 0)\n"
		 "nn-allreduce [OPTION]... --ranks=N --bench",
	.brief = "Reduce the arrays of several files or ranks to one, value by value: averages of "
		 "models, sums of gradients.",
	.example = "nn-allreduce shard0.st shard1.st -o mean.st",
	.tables = tables,
};
