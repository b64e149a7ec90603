/* nn-bench: measure models, operations and this machine. */
#include <string.h>

#include "base/flush.h"
#include "bench/bench.h"
#include "cmd/tool.h"

int main(int argc, char **argv)
{
	struct nn_bench_options options = { 0 };
	struct nn_data_options data = { 0 };
	struct nn_std_options std = { 0 };
	uint64_t given[3] = { 0 };
	const struct nn_tool_values values[] = { { &options, &given[0] },
						 { &data, &given[1] },
						 { &std, &given[2] } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list list;
	struct nn_error err = { 0 };
	struct nn_tool_log log = { 0 };
	int n = nn_tool_start(&list, &nn_bench_list, values, tables, argc, argv), status;
	struct nn_bench_setup setup = {
		.list = &list,
		.bench = &options,
		.data = &data,
		.std = &std,
		.host = { nn_tool_log_warn, nn_tool_note, nn_tool_doing, &log, &nn_tool_stop },
	};

	nn_flush_set(true);
	nn_tool_quiet(std.quiet);
	status = nn_bench_check(&setup, n, argv + 1, &err);
	if (status == 0) /* explain has rows of what can be measured here */
		status = nn_tool_check_devices(
			std.device, strcmp(argv[1], "explain") == 0 ? NN_TOOL_ABSENT : NN_TOOL_ONE,
			&err);
	if (status < 0 || std.dry_run)
		return nn_tool_end(status, &err);
	nn_tool_catch_stop();
	status = nn_tool_log_open(&log, &list, &std, &err);
	if (status == 0)
		status = nn_bench_run(&setup, n, argv + 1, &err);
	status = nn_tool_log_end(&log, status, &err);
	return status == 0 && nn_tool_stop ? 128 + nn_tool_stop : nn_tool_end(status, &err);
}
