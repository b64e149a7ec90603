/* nn-allreduce: arrays of several files or ranks, reduced to one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/allreduce.h"

/* What can be told from the command line alone; status. */
static int check(const struct allreduce_options *o, const struct nn_std_options *std, int n, char **files, bool rank)
{
	if (o->algorithm == NN_MPI && std->reproducible)
		return nn_tool_usage("--algorithm=mpi: MPI adds in an order of its own; say --reproducible=no, too");
	if (o->bench && (n > 0 || o->stream))
		return nn_tool_usage("--bench: makes its own arrays, found %s", n > 0 ? files[0] : "--stream");
	if (!o->model != !(o->step_ms > 0))
		return nn_tool_usage(o->model ? "--model=%s: needs --step-ms, the time of a step" : "--step-ms: needs --model", o->model);
	if (o->model && !o->bench)
		return nn_tool_usage("--model=%s: needs --bench", o->model);
	if (o->bench)
		return 0;
	if (n < 1 && (o->ranks || !(rank || o->stream)))
		return nn_tool_usage("no FILE given; see nn-allreduce --help");
	if (n > 1 && (o->ranks || rank || o->stream))
		return nn_tool_usage("%s: %s reads one FILE, found a second: %s", files[0],
				     o->stream && !o->ranks && !rank ? "--stream" : "each rank", files[1]);
	if (o->ranks > 1 && !strstr(files[0], "%r"))
		return nn_tool_usage("--ranks=%" PRIu64 ": expected %%r, the rank, in the name of FILE, found %s", o->ranks, files[0]);
	return 0;
}

int main(int argc, char **argv)
{
	struct allreduce_options options = {0};
	struct nn_std_options std = {0};
	uint64_t given[3] = {0};
	const struct nn_tool_values values[] = { { &options, &given[0] }, { &options, &given[1] }, { &std, &given[2] } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list list;
	struct nn_error err = {0};
	char **whole = nn_tool_arguments(argc, argv);
	int n = nn_tool_start(&list, &nn_allreduce_list, values, tables, argc, argv), status;
	bool rank = nn_comm_env_size() != 1;

	nn_tool_quiet(std.quiet);
	options.f64 = std.precision == 1;
	status = check(&options, &std, n, argv + 1, rank);
	if (status || std.dry_run) {
		free(whole);
		return status;
	}
	if (options.ranks > 1 && !rank)
		status = allreduce_launch(&options, whole, &err);
	else if (rank || options.ranks == 1 || options.stream || options.bench)
		status = allreduce_rank(&options, n ? argv[1] : "-", std.output, &err);
	else
		status = allreduce_files(&options, argv + 1, (size_t)n, std.output, &err);
	free(whole);
	return nn_tool_end(status, &err);
}
