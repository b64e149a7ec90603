/* The option list of nn-bench. */
#include "bench/bench.h"
#include "cmd/tool.h"
#include "data/data.h"

static const struct nn_opt_table tables[] = {
	{ "Measuring", nn_bench_opts, NULL, NULL },
	{ "Data", nn_data_opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

static const struct nn_opt_word verbs[] = {
#define NN_VERB(name, operands, fewest, most, each, check, options, help) { #name, operands, help },
#include "bench/verbs.def"
#undef NN_VERB
	{ NULL, NULL, NULL },
};

const struct nn_opt_list nn_bench_list = {
	.tool = "nn-bench",
	.usage = "nn-bench VERB [OPTION]... [OPERAND]...",
	.brief = "Measure on this machine which device, how fast, how large, and what bounds it.",
	.example = "nn-bench run --batch=1:256*4 digits.st",
	.words = verbs,
	.tables = tables,
};
