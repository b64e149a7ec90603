/* nn-allreduce: arrays of several files or ranks, reduced to one. */
#include <stdlib.h>

#include "cmd/tool.h"
#include "reduce/allreduce.h"

/* The process that started the ranks has the log, else the first of them. */
static bool logs(void)
{
	return !nn_comm_is_rank() || (nn_comm_env_rank() == 0 && !getenv("NN_LAUNCH"));
}

int main(int argc, char **argv)
{
	struct nn_allreduce_options options = { 0 };
	struct nn_ranks_options ranks = { 0 };
	struct nn_std_options std = { 0 };
	uint64_t given[4] = { 0 };
	const struct nn_tool_values values[] = { { &options, &given[0] },
						 { &ranks, &given[1] },
						 { &options, &given[2] },
						 { &std, &given[3] } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list list;
	struct nn_error err = { 0 };
	struct nn_tool_log log = { 0 };
	int n = nn_tool_start(&list, &nn_allreduce_list, values, tables, argc, argv), status;
	const struct nn_allreduce job = {
		.list = &list,
		.options = &options,
		.ranks = &ranks,
		.std = &std,
		.files = argv + 1,
		.n = n,
		.host = { nn_tool_log_warn, nn_tool_note, &log, nn_tool_attach, nn_tool_end,
			  &nn_tool_stop },
	};
	bool rank = nn_comm_env_size() != 1, several = false;

	nn_tool_quiet(std.quiet);
	status = nn_ranks_check(&ranks, &several, &err);
	if (status == 0)
		status = nn_allreduce_check(&job, rank, &err);
	if (status == 0)
		status = nn_tool_check_devices(std.device, NN_TOOL_ONE, &err);
	if (status == 0 && !std.dry_run && logs())
		status = nn_tool_log_open(&log, &list, &std, &err);
	if (status == 0 && !std.dry_run) {
		if (several && !nn_comm_is_rank()) {
			nn_tool_catch_stop();
			status = nn_allreduce_launch(&job, &err);
		} else if (rank || ranks.ranks || options.stream || options.bench) {
			status = nn_allreduce_rank(&job, &err);
		} else {
			status = nn_allreduce_files(&job, &err);
		}
	}
	return nn_tool_end(nn_tool_log_end(&log, status, &err), &err);
}
