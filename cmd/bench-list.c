/* The option list of nn-bench. */
#include "bench/bench.h"
#include "cmd/tool.h"

static const struct nn_opt_table tables[] = {
	{ "Measuring", nn_bench_opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_bench_list = {
	.tool = "nn-bench",
	.usage =
#define NN_VERB(name, operands, fewest, most, options, help) \
	"nn-bench " #name " [OPTION]... " operands "\n"
#include "bench/verbs.def"
#undef NN_VERB
		,
	.brief = "Measure on this machine which device, how fast, how large, and what bounds it.",
	.tables = tables,
	.absent = "explain",
};
