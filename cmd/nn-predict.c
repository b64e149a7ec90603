/* nn-predict: read rows, print what a model says of them. */
#include "base/pool.h"
#include "cmd/tool.h"
#include "predict/predict.h"

int main(int argc, char **argv)
{
	struct nn_std_options std = { 0 };
	struct nn_predict p = { .warn = nn_tool_warn, .note = nn_tool_note };
	uint64_t given = 0, given_std = 0;
	const struct nn_tool_values values[] = { { &p.options, &given }, { &std, &given_std } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list options;
	struct nn_error err = { 0 };
	int n = nn_tool_start(&options, &nn_predict_list, values, tables, argc, argv);

	if (n < 1)
		return nn_tool_usage("a model file is missing; see nn-predict --help");
	if (n > 2)
		return nn_tool_usage(
			"expected a model and one file of data, got a third operand: %s", argv[3]);
	nn_tool_quiet(std.quiet);
	p.options.score = nn_opt_given(&options, "score");
	if (nn_opt_given(&options, "precision"))
		p.precision = 1 + (int)(std.precision == 1 ? NN_F64 : NN_F32);
	p.any_order = !std.reproducible;
	p.device = std.device;
	p.device_batch = nn_opt_given(&options, "batch") ? p.options.batch : 1;
	p.model = argv[1];
	p.data = n > 1 ? argv[2] : NULL;
	p.output = std.output;
	p.threads = (int)std.threads;
	return nn_tool_end(std.dry_run ? 0 : nn_predict_run(&p, &err), &err);
}
