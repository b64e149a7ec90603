/* nn-allreduce: arrays of several files, or of ranks, reduced to one. */
#ifndef NN_REDUCE_ALLREDUCE_H
#define NN_REDUCE_ALLREDUCE_H

#include <signal.h>
#include "base/option.h"
#include "bench/report/report.h"
#include "comm/comm.h"
#include "comm/launch.h"
#include "comm/options.h"

struct nn_allreduce_options {
	enum nn_reduce_op op;
	enum nn_algorithm algorithm;
	bool stream;
	bool bench;
	const char *sizes;
	enum nn_report_format to;
	const char *model; /* NULL: no prediction for a model */
	double step_ms;
};
extern const struct nn_opt nn_allreduce_opts[], nn_allreduce_bench_opts[];

/* What the program around it offers. */
struct nn_allreduce_host {
	void (*warn)(void *arg, const char *text);
	void (*note)(void *arg, const char *text);
	void *arg;
	/* a rank's messages go there from now on; NULL: they do not */
	void (*attach)(struct nn_attach *attach);
	int (*end)(int status,
		   const struct nn_error *err); /* says the line of an error; the exit status */
	const volatile sig_atomic_t *stop;
};

struct nn_allreduce {
	const struct nn_opt_list *list; /* all options */
	const struct nn_allreduce_options *options;
	const struct nn_ranks_options *ranks; /* checked */
	const struct nn_std_options *std;
	struct nn_allreduce_host host;
	char **files; /* operands */
	int n;
};

/*
 * What the command line alone rules out; `rank`: this process is a rank. 0 or -1 with
 * NN_EUSAGE.
 */
int nn_allreduce_check(const struct nn_allreduce *job, bool rank, struct nn_error *err);
/* Several files in one process. 0 or -1. */
int nn_allreduce_files(const struct nn_allreduce *job, struct nn_error *err);
/*
 * This process is a rank, or the only one: its file or frames among those of all. 0, -1, or the
 * status of what another rank explains.
 */
int nn_allreduce_rank(const struct nn_allreduce *job, struct nn_error *err);
/*
 * This program with its options as ranks->ranks ranks under mpirun; the status of the whole, or -1.
 */
int nn_allreduce_launch(const struct nn_allreduce *job, struct nn_error *err);

/* --bench in a rank: rows of rank 0 to std->output (NULL: stdout), notes. 0 or -1. */
int nn_allreduce_bench(const struct nn_allreduce *job, struct nn_comm *comm, struct nn_error *err);
#define NN_ALLREDUCE_SIZES 256
/* Bytes, of a list of FIRST or FIRST:LAST*FACTOR: how many, or -1 with NN_EUSAGE. */
int nn_allreduce_sizes(const char *list, size_t sizes[NN_ALLREDUCE_SIZES], struct nn_error *err);
int nn_allreduce_check_sizes(const char *value, struct nn_error *err);

#endif
