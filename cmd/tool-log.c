/* --log of tools that have one answer to give: how they were called, warnings, how they ended. */
#include "config.h"
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "cmd/tool.h"

int nn_tool_log_open(struct nn_tool_log *l, const struct nn_opt_list *list,
		     const struct nn_std_options *std, struct nn_error *err)
{
	char *options;

	pthread_mutex_init(&l->lock, NULL);
	l->begin_s = nn_now_s();
	if (!std->log)
		return 0;
	if (nn_is_stdout(std->log) && (!std->output || nn_is_stdout(std->output)))
		return nn_fail(err, NN_EUSAGE, "--log=%s: stdout is for the result; log to a file",
			       std->log);
	if (nn_log_open(&l->log, std->log, false, err) < 0 || !(options = nn_opt_json(list, err)))
		return -1;
	nn_log_begin(l->log, "start");
	nn_log_string(l->log, "version", PACKAGE_VERSION);
	nn_log_string(l->log, "tool", list->tool);
	nn_log_json(l->log, "options", options);
	nn_log_end(l->log);
	nn_free(options);
	return 0;
}

void nn_tool_log_warn(void *arg, const char *text)
{
	struct nn_tool_log *l = arg;

	nn_tool_warn(NULL, text);
	if (!l->log)
		return;
	pthread_mutex_lock(&l->lock);
	nn_log_begin(l->log, "warning");
	nn_log_string(l->log, "text", text);
	nn_log_end(l->log);
	pthread_mutex_unlock(&l->lock);
}

int nn_tool_log_end(struct nn_tool_log *l, int status, struct nn_error *err)
{
	if (!l->log)
		return status;
	nn_log_begin(l->log, "end");
	nn_log_string(l->log, "reason", nn_tool_stop ? "signal" : status == 0 ? "done" : "error");
	if (status < 0)
		nn_log_string(l->log, "text", err->text);
	nn_log_real(l->log, "seconds", nn_now_s() - l->begin_s);
	nn_log_end(l->log);
	if (status == 0)
		status = nn_log_check(l->log, err);
	nn_log_close(l->log);
	return status;
}
