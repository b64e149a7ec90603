/* The option list of nn-allreduce. */
#include <stddef.h>

#include "cmd/allreduce.h"

#define AT(member) offsetof(struct allreduce_options, member)

static const struct nn_opt opts[] = {
	{ .name = "op", .type = NN_OPT_CHOICE, .offset = AT(op), .arg = "mean|sum|min|max|prod", .fallback = "mean",
	  .choices = nn_reduce_ops, .help = "what becomes of the values at one place",
	  .man = "A mean is the sum, then one division; of whole numbers it is rounded toward zero. A sum or product of whole numbers "
		 "that does not fit into their type is an error. f16 and bf16 are added as f32 and rounded once. NaN wins; how many "
		 "values of the result are NaN is said on standard error." },
	{ .name = NULL },
};

static const struct nn_opt_table tables[] = {
	{ "Reduction", opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_allreduce_list = {
	.tool = "nn-allreduce",
	.usage = "nn-allreduce [OPTION]... FILE...   > result",
	.brief = "Reduce the arrays of several files to one, value by value: averages of models, sums of gradients.",
	.tables = tables,
};
