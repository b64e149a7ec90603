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
	{ .name = "ranks", .letter = 'n', .type = NN_OPT_COUNT, .offset = AT(ranks), .arg = "N", .min = 1, .max = 4096,
	  .help = "run as N processes, each with a file of its own: %r in FILE and -o is the rank, from 0",
	  .man = "Needs Open MPI's mpirun. Without %r in the name given with -o rank 0 writes the one result. As root mpirun wants "
		 "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the environment." },
	{ .name = "stream", .type = NN_OPT_FLAG, .offset = AT(stream),
	  .help = "reduce .npy arrays that follow each other, step by step, until all ranks end together",
	  .man = "Each rank reads one array and writes one, the result, before it reads the next. FILE is standard input where it is "
		 "not given and mpirun or srun has started the ranks." },
	{ .name = "algorithm", .type = NN_OPT_CHOICE, .offset = AT(algorithm), .arg = "auto|mpi|ring|halving|tree", .fallback = "auto",
	  .choices = nn_algorithms, .help = "the way values take between ranks; only mpi may change a byte of the result",
	  .man = "ring: in round i each rank sends a piece to the rank i places on; a piece's owner adds what all sent, and results go "
		 "round. halving: recursive halving with neighbours first, then doubling. tree: whole arrays along the tree, for short "
		 "ones. auto: the fastest of these three for an array of that size, measured on the first run of so many ranks and kept. mpi: MPI_Allreduce in its own "
		 "order, which needs --reproducible=no." },
	{ .name = NULL },
};

static const char *const formats[] = { "table", "md", "csv", "json", "jsonl", NULL };

static const struct nn_opt bench_opts[] = {
	{ .name = "bench", .type = NN_OPT_FLAG, .offset = AT(bench), .help = "measure instead: a row for each size",
	  .man = "Arrays are f32, or f64 with --precision=f64." },
	{ .name = "sizes", .type = NN_OPT_CUSTOM, .offset = AT(sizes), .arg = "LIST", .fallback = "1K:64M*2",
	  .check = allreduce_check_sizes, .help = "bytes of an array: sizes and ranges FIRST:LAST*FACTOR, separated by commas" },
	{ .name = "to", .type = NN_OPT_CHOICE, .offset = AT(to), .arg = "FORMAT", .fallback = "table", .choices = formats,
	  .help = "format of the rows: table, md, csv, json or jsonl" },
	{ .name = "model", .letter = 'm', .type = NN_OPT_STRING, .offset = AT(model), .arg = "MODEL",
	  .help = "say how many of N ranks' steps would remain for this model, a file or text, with --step-ms" },
	{ .name = "step-ms", .type = NN_OPT_REAL, .offset = AT(step_ms), .arg = "T", .min = 0.000001, .max = 1000000000,
	  .help = "milliseconds that one rank's step takes without the others" },
	{ .name = NULL },
};

static const struct nn_opt_table tables[] = {
	{ "Reduction", opts, NULL, NULL },
	{ "Measuring", bench_opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_allreduce_list = {
	.tool = "nn-allreduce",
	.usage = "nn-allreduce [OPTION]... FILE...   > result\n"
		 "nn-allreduce [OPTION]... --ranks=N FILE.%r\n"
		 "nn-allreduce [OPTION]... --ranks=N --bench",
	.brief = "Reduce the arrays of several files or ranks to one, value by value: averages of models, sums of gradients.",
	.tables = tables,
};
