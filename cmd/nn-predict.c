/* nn-predict: read rows, print what a model says of them. */
#include "base/files.h"
#include "base/flush.h"
#include "cmd/tool.h"
#include "model/weights.h"
#include "predict/predict.h"

struct inputs {
	const struct nn_opt_list *options;
	struct nn_error *err;
};

/* An input beside those of the options. */
static int check_input(void *arg, const char *path)
{
	const struct inputs *in = arg;
	const struct nn_file_use file = { .path = path };

	return nn_files_check(in->options, &file, 1, in->err);
}

/* Operands, and the arrays that one of weights may stand for. */
static int check_files(const struct nn_predict *p, const struct nn_opt_list *options,
		       struct nn_error *err)
{
	struct inputs in = { options, err };

	if (check_input(&in, p->model) < 0 ||
	    (!p->options.info && check_input(&in, p->data ? p->data : "-") < 0))
		return -1;
	return p->options.model_text || p->options.info
		       ? nn_weights_each(p->model, check_input, &in)
		       : 0;
}

int main(int argc, char **argv)
{
	struct nn_std_options std = { 0 };
	struct nn_predict p = { .warn = nn_tool_warn, .note = nn_tool_note };
	uint64_t given = 0, given_std = 0;
	const struct nn_tool_values values[] = { { &p.options, &given }, { &std, &given_std } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list options;
	struct nn_error err = { 0 };
	int n = nn_tool_start(&options, &nn_predict_list, values, tables, argc, argv), status;

	if (n < 1)
		return nn_tool_usage("a model file is missing; see nn-predict --help");
	if (n > 2)
		return nn_tool_usage(
			"expected a model and one file of data, got a third operand: %s", argv[3]);
	if (n > 1 && p.options.info)
		return nn_tool_usage("--info reads a model alone, got a second operand: %s",
				     argv[2]);
	nn_flush_set(true);
	nn_tool_quiet(std.quiet);
	p.options.model_text = nn_tool_example(p.options.model_text);
	p.options.score = nn_opt_given(&options, "score");
	p.options.thresholded = nn_opt_given(&options, "threshold");
	if (nn_opt_given(&options, "precision"))
		p.precision = 1 + (int)std.precision;
	p.any_order = !std.reproducible;
	p.device = std.device;
	p.device_batch = nn_opt_given(&options, "batch") ? p.options.batch : 1;
	p.model = argv[1];
	p.data = n > 1 ? argv[2] : NULL;
	p.output = std.output;
	p.log = std.log;
	p.list = &options;
	p.threads = (int)std.threads;
	status = nn_predict_check(&p.options, &err);
	if (status == 0)
		status = check_files(&p, &options, &err);
	if (status == 0 && !std.dry_run)
		status = p.options.info ? nn_predict_info(p.model, p.output, &err)
					: nn_predict_run(&p, &err);
	return nn_tool_end(status, &err);
}
