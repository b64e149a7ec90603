/* Rows of --ranks and of what belongs to it. */
#include "comm/options.h"

#define AT(field) offsetof(struct nn_ranks_options, field)

const struct nn_opt nn_ranks_opts[] = {
	{ .name = "ranks", .letter = 'n', .type = NN_OPT_COUNT, .offset = AT(ranks), .arg = "N", .min = 1, .max = 4096,
	  .help = "run as N processes that work together, started with mpirun",
	  .man = "Needs Open MPI's mpirun. As root mpirun wants OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the "
		 "environment." },
	{ .name = "timeout", .type = NN_OPT_SECONDS, .offset = AT(timeout), .arg = "SECONDS", .fallback = "300", .min = 1, .max = 1e9,
	  .help = "end a job of ranks when one makes no progress for so long",
	  .man = "After 60 seconds a warning names the rank. Reading data is no lack of progress, and neither is computing." },
	{ .name = NULL },
};
