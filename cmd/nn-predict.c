/* nn-predict: read rows, print what a model says of them. */
#include <unistd.h>

#include "base/files.h"
#include "base/flush.h"
#include "base/memory.h"
#include "device/products.h"
#include "cmd/tool.h"
#include "data/picture/samples.h"
#include "model/weights.h"
#include "predict/predict.h"

/* Operands, and what they stand for. */
static int check_files(const struct nn_predict *p, const struct nn_opt_list *options,
		       struct nn_error *err)
{
	struct nn_file_use *files = nn_alloc(p->n_others + 2, sizeof *files, err);
	int status;

	if (!files)
		return -1;
	files[0] = (struct nn_file_use){ .path = p->model, .each = nn_weights_each_file };
	if (!p->options.info)
		files[1] = (struct nn_file_use){ .path = p->data ? p->data : "-",
						 .each = nn_samples_each_file };
	for (size_t k = 0; k < p->n_others; k++)
		files[2 + k] =
			(struct nn_file_use){ .path = p->others[k], .each = nn_weights_each_file };
	status = nn_files_check(options, files, p->n_others + 2, err);
	nn_free(files);
	return status;
}

/* Models first, and DATA where there is one; others move to the front of the operands. 0 or 2. */
static int take_operands(struct nn_predict *p, char **operands, int n)
{
	bool several = p->options.ensemble != NN_ENSEMBLE_NONE;

	if (n < 1)
		return nn_tool_usage("a model file is missing; see nn-predict --help");
	p->model = operands[0];
	p->others = (const char *const *)operands + 1;
	for (int i = 1; i < n; i++) {
		if (p->options.info)
			return nn_tool_usage("--info reads a model alone, got a second operand: %s",
					     operands[i]);
		if (several && nn_predict_is_model(operands[i]))
			operands[1 + p->n_others++] = operands[i];
		else if (!p->data)
			p->data = operands[i];
		else if (several && access(p->data, F_OK) < 0)
			return nn_tool_usage("expected models and one file of data, but %s is not "
					     "there",
					     p->data);
		else if (several)
			return nn_tool_usage(
				"expected models and one file of data, got %s and %s, which are no "
				"model files",
				p->data, operands[i]);
		else
			return nn_tool_usage(
				"expected a model and one file of data, got a third operand: %s; "
				"--ensemble=mean takes several models",
				operands[i]);
	}
	return 0;
}

/* --info, logged as the one answer it is. */
static int inform(const struct nn_predict *p, const struct nn_std_options *std,
		  struct nn_error *err)
{
	struct nn_tool_log log = { 0 };
	int status = nn_tool_log_open(&log, p->list, std, err);

	if (status == 0)
		status = nn_predict_info(p->model, p->output, err);
	return nn_tool_log_end(&log, status, err);
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

	if ((status = take_operands(&p, argv + 1, n)))
		return status;
	nn_flush_set(true);
	nn_tool_quiet(std.quiet);
	p.options.score = nn_opt_given(&options, "score");
	p.options.thresholded = nn_opt_given(&options, "threshold");
	if (nn_opt_given(&options, "precision"))
		p.precision = 1 + (int)nn_dtype_computed(nn_std_dtype(&std));
	p.products = nn_products_asked(&std);
	p.device = std.device;
	p.device_batch = nn_opt_given(&options, "batch") ? p.options.batch : 1;
	p.output = std.output;
	p.log = std.log;
	p.list = &options;
	p.threads = (int)std.threads;
	p.seed = std.seed;
	status = nn_predict_check(&p.options, &err);
	if (status == 0 && p.options.info)
		status = nn_predict_check_info(&options, &err);
	if (status == 0)
		status = nn_products_check(&std, &err);
	if (status == 0)
		status = check_files(&p, &options, &err);
	if (status == 0 && std.dry_run && p.options.model_text)
		status = nn_net_check(p.options.model_text, &err);
	if (status == 0)
		status = nn_tool_check_devices(std.device, NN_TOOL_ONE, &err);
	if (p.options.against) {
		p.others = &p.options.against;
		p.n_others = 1;
	}
	if (status == 0 && !std.dry_run)
		status = p.options.info       ? inform(&p, &std, &err)
			 : p.options.generate ? nn_predict_generate(&p, &err)
					      : nn_predict_run(&p, &err);
	return nn_tool_end(status, &err);
}
