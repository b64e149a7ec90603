/* nn-serve: answer requests with models. */
#include "base/pool.h"
#include "cmd/tool.h"
#include "device/products.h"
#include "serve/serve.h"

/* In --log. */
static void reloaded(void *arg, const char *model, uint64_t version, const char *wrong)
{
	struct nn_tool_log *log = arg;

	if (!log->log)
		return;
	pthread_mutex_lock(&log->lock);
	nn_log_begin(log->log, "reload");
	nn_log_string(log->log, "model", model);
	nn_log_count(log->log, "version", version);
	nn_log_string(log->log, "error", wrong);
	nn_log_end(log->log);
	pthread_mutex_unlock(&log->lock);
}

/* A row's answer is the same whoever shares its batch. */
static int check_products(const struct nn_std_options *std, struct nn_error *err)
{
	return nn_products_asked(std) == NN_PRODUCTS_OWN
		       ? 0
		       : nn_fail(err, NN_EUSAGE,
				 "%s: a served row's answer must not depend on the rows beside it; "
				 "nn-predict and nn-train take it",
				 nn_products_option(std));
}

int main(int argc, char **argv)
{
	struct nn_std_options std = { 0 };
	struct nn_serve serve = { .warn = nn_tool_log_warn,
				  .note = nn_tool_note,
				  .reloaded = reloaded };
	uint64_t given = 0, given_std = 0;
	const struct nn_tool_values values[] = { { &serve.options, &given }, { &std, &given_std } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list options;
	struct nn_tool_log log = { 0 };
	struct nn_error err = { 0 };
	int n = nn_tool_start(&options, &nn_serve_list, values, tables, argc, argv), status;

	if (n < 1)
		return nn_tool_usage("a model is missing; see nn-serve --help");
	argv[n + 1] = NULL;
	nn_tool_quiet(std.quiet);
	serve.models = (const char *const *)argv + 1;
	serve.device = std.device;
	serve.log = std.log;
	serve.threads = (int)std.threads ? (int)std.threads : nn_cpu_count();
	if (nn_opt_given(&options, "precision"))
		serve.precision = 1 + (int)nn_std_dtype(&std);
	status = check_products(&std, &err);
	if (status == 0)
		status = nn_std_check_computed(&std, &err);
	if (status == 0)
		status = nn_serve_check(&serve, &options, &err);
	if (status == 0)
		status = nn_tool_check_devices(std.device, NN_TOOL_SEVERAL, &err);
	if (status < 0 || std.dry_run)
		return nn_tool_end(status, &err);
	status = nn_tool_log_open(&log, &options, &std, &err);
	serve.arg = &log;
	if (status == 0)
		status = nn_serve_run(&serve, &err);
	return nn_tool_end(nn_tool_log_end(&log, status, &err), &err);
}
