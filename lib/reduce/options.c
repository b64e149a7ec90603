/* The options of nn-allreduce, and what they alone rule out. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/files.h"
#include "base/memory.h"
#include "bench/model.h"
#include "model/weights.h"
#include "reduce/rank.h"

#define AT(member) offsetof(struct nn_allreduce_options, member)

const struct nn_opt nn_allreduce_opts[] = {
	{ .name = "op",
	  .daily = "mean, sum, min, max or prod of each place (mean)",
	  .also = "reduce,operation",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(op),
	  .arg = "mean|sum|min|max|prod",
	  .fallback = "mean",
	  .choices = nn_reduce_ops,
	  .help = "what becomes of the values at one place",
	  .man = "A mean is the sum, then one division; of whole numbers it is rounded toward "
		 "zero. A sum or product of whole numbers "
		 "that does not fit into their type is an error. f16 and bf16 are added as f32 and "
		 "rounded once. NaN wins; how many "
		 "values of the result are NaN is said on standard error." },
	{ .name = "stream",
	  .daily = "reduce .npy arrays on a pipe, step by step",
	  .type = NN_OPT_FLAG,
	  .offset = AT(stream),
	  .help = "reduce .npy arrays that follow each other, step by step, until all ranks end "
		  "together",
	  .man = "Each rank reads one array and writes one, the result, before it reads the next. "
		 "FILE is standard input where it is "
		 "not given and mpirun or srun has started the ranks." },
	{ .name = "algorithm",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(algorithm),
	  .arg = "auto|mpi|ring|halving|tree",
	  .fallback = "auto",
	  .choices = nn_algorithms,
	  .help = "the way values take between ranks; only mpi may change a byte of the result",
	  .man = "ring: in round i each rank sends a piece to the rank i places on; a piece's "
		 "owner adds what all sent, and results go "
		 "round. halving: recursive halving with neighbours first, then doubling. tree: "
		 "whole arrays along the tree, for short "
		 "ones. auto: the fastest of these three for an array of that size, measured on "
		 "the first run of that number of ranks and kept. mpi: MPI_Allreduce in its own "
		 "order, which needs --reproducible=no." },
	{ .name = NULL },
};

const struct nn_opt nn_allreduce_bench_opts[] = {
	{ .name = "bench",
	  .daily = "measure: a row for each size",
	  .also = "benchmark",
	  .type = NN_OPT_FLAG,
	  .offset = AT(bench),
	  .help = "measure instead: a row for each size",
	  .man = "Arrays are f32, or f64 with --precision=f64." },
	{ .name = "sizes",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(sizes),
	  .arg = "LIST",
	  .fallback = "1K:64M*2",
	  .check = nn_allreduce_check_sizes,
	  .help = "bytes of an array: sizes and ranges FIRST:LAST*FACTOR, separated by commas" },
	{ .name = "to",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(to),
	  .arg = "FORMAT",
	  .fallback = "table",
	  .choices = nn_report_formats,
	  .help = "format of the rows: table, md, csv, json or jsonl" },
	{ .name = "model",
	  .letter = 'm',
	  .type = NN_OPT_STRING,
	  .offset = AT(model),
	  .arg = "MODEL",
	  .file = NN_OPT_READS,
	  .each_file = nn_weights_each_file,
	  .help = "say how many of N ranks' steps would remain for this model, a file or text, "
		  "with --step-ms" },
	{ .name = "step-ms",
	  .type = NN_OPT_REAL,
	  .offset = AT(step_ms),
	  .arg = "T",
	  .min = 0.000001,
	  .max = 1000000000,
	  .help = "milliseconds that one rank's step takes without the others" },
	{ .name = NULL },
};

/* Inputs, which the result may replace: those of all ranks that are started here. */
static int check_files(const struct nn_allreduce *job, uint64_t ranks, struct nn_error *err)
{
	size_t n = job->n == 1 && ranks > 1 ? (size_t)ranks : (size_t)job->n;
	struct nn_file_use *files = nn_alloc(n + 1, sizeof *files, err);
	char **names = nn_alloc(n + 1, sizeof *names, err);
	int status = files && names ? 0 : -1;

	for (size_t i = 0; status == 0 && i < n; i++) {
		names[i] = nn_allreduce_name(job->files[job->n == 1 ? 0 : i], (int)i, err);
		files[i] = (struct nn_file_use){ .path = names[i], .replaceable = true };
		status = names[i] ? 0 : -1;
	}
	if (status == 0)
		status = nn_files_check(job->list, files, n, err);
	for (size_t i = 0; names && i < n; i++)
		nn_free(names[i]);
	nn_free(names);
	nn_free(files);
	return status;
}

/* What only --bench reads. */
static int check_bench(const struct nn_allreduce *job, struct nn_error *err)
{
	static const char *const needs[] = { "sizes", "to" };

	for (size_t i = 0; i < sizeof needs / sizeof *needs && !job->options->bench; i++)
		if (nn_opt_given(job->list, needs[i]))
			return nn_fail(err, NN_EUSAGE, "--%s: needs --bench", needs[i]);
	return 0;
}

int nn_allreduce_check(const struct nn_allreduce *job, bool rank, struct nn_error *err)
{
	const struct nn_allreduce_options *o = job->options;
	char **files = job->files;
	uint64_t ranks = job->ranks->ranks;
	int n = job->n;

	if (nn_std_check_computed(job->std, err) < 0)
		return -1;
	if (job->std->precision == NN_PRECISION_TF32)
		return nn_fail(err, NN_EUSAGE,
			       "--precision=tf32: is a way to multiply; arrays are f32 or f64");
	if (o->algorithm == NN_ALGORITHM_MPI && job->std->reproducible)
		return nn_fail(err, NN_EUSAGE,
			       "--algorithm=mpi: MPI adds in an order of its own; say "
			       "--reproducible=no, too");
	if (o->bench && (n > 0 || o->stream))
		return nn_fail(err, NN_EUSAGE, "--bench: makes its own arrays, found %s",
			       n > 0 ? files[0] : "--stream");
	if (!o->model != !(o->step_ms > 0))
		return nn_fail(err, NN_EUSAGE,
			       o->model ? "--model=%s: needs --step-ms, the time of a step"
					: "--step-ms: needs --model",
			       o->model);
	if (o->model && !o->bench)
		return nn_fail(err, NN_EUSAGE, "--model=%s: needs --bench", o->model);
	if (check_bench(job, err) < 0)
		return -1;
	if (o->bench && job->std->dry_run && o->model && nn_bench_model_check(o->model, err) < 0)
		return -1;
	if (o->bench)
		return check_files(job, 0, err);
	if (n < 1 && (ranks || !(rank || o->stream)))
		return nn_fail(err, NN_EUSAGE, "no FILE given; see nn-allreduce --help");
	if (n > 1 && (ranks || rank || o->stream))
		return nn_fail(err, NN_EUSAGE, "%s: %s reads one FILE, found a second: %s",
			       files[0], o->stream && !ranks && !rank ? "--stream" : "each rank",
			       files[1]);
	if (ranks > 1 && !strstr(files[0], "%r"))
		return nn_fail(err, NN_EUSAGE,
			       "--ranks=%" PRIu64
			       ": expected %%r, the rank, in the name of FILE, found %s",
			       ranks, files[0]);
	return check_files(job, ranks, err);
}
