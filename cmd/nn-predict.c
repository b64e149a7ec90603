/* nn-predict: read rows, print what a model says of them. */
#include <string.h>

#include "base/pool.h"
#include "cmd/tool.h"
#include "predict/predict.h"

static const char *const usage =
	"nn-predict [OPTION]... MODEL [DATA]\n"
	"nn-predict [OPTION]... -m TEXT WEIGHTS [DATA]";

int main(int argc, char **argv)
{
	struct nn_std_options std = {0};
	struct nn_predict p = { .warn = nn_tool_warn };
	uint64_t given = 0;
	const struct nn_opt_table tables[] = {
		{ "Prediction", nn_predict_opts, &p.options, &given },
		{ "Standard", nn_std_opts, &std, NULL },
		{ 0 },
	};
	const struct nn_opt_list options = {
		.tool = "nn-predict", .usage = usage, .tables = tables,
		.brief = "Predict with a model: one record out for each record in, in order, as they come.",
	};
	struct nn_error err = {0};
	int n = nn_tool_start(&options, argc, argv);
	bool f64;

	if (n < 1)
		return nn_tool_usage("a model file is missing");
	if (n > 2)
		return nn_tool_usage("at most a model and a data file are taken, got a third: %s", argv[3]);
	p.options.score = nn_opt_given(&options, "score");
	f64 = nn_opt_given(&options, "precision");
	p.precision = f64 ? 1 + (std.precision == 1 ? NN_F64 : NN_F32) : 0;
	p.model = argv[1];
	p.data = n > 1 ? argv[2] : NULL;
	p.output = std.output;
	p.threads = std.threads ? (int)std.threads : nn_cpu_count();
	if (std.dry_run)
		return nn_tool_end(0, NULL);
	return nn_tool_end(nn_predict_run(&p, &err), &err);
}
