/* nn-allreduce: arrays of several files, reduced to one. */
#include "cmd/allreduce.h"

int main(int argc, char **argv)
{
	struct allreduce_options options = {0};
	struct nn_std_options std = {0};
	uint64_t given[2] = {0};
	const struct nn_tool_values values[] = { { &options, &given[0] }, { &std, &given[1] } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list list;
	struct nn_error err = {0};
	int n = nn_tool_start(&list, &nn_allreduce_list, values, tables, argc, argv);

	nn_tool_quiet(std.quiet);
	if (n < 1)
		return nn_tool_usage("no FILE given; see nn-allreduce --help");
	return nn_tool_end(std.dry_run ? 0 : allreduce_files(&options, argv + 1, (size_t)n, std.output, &err), &err);
}
