/* --log of nn-predict: what begins, what is warned of, how it ends; lines as nn-train writes them.
 */
#include "config.h"
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/sha256.h"
#include "predict/run.h"

int nn_run_open_log(struct nn_run *r, struct nn_error *err)
{
	r->begin_s = nn_now_s();
	if (r->p->log && nn_is_stdout(r->p->log) && (!r->p->output || nn_is_stdout(r->p->output)))
		return nn_fail(err, NN_EUSAGE,
			       "--log=%s: the answers go to stdout; give them a file with -o FILE",
			       r->p->log);
	return nn_log_open(&r->log, r->p->log, false, err);
}

static uint64_t count_parameters(const struct nn_program *program)
{
	uint64_t n = 0;

	for (int p = 0; p < program->n_params; p++)
		if (program->params[p].desc.role != NN_BUFFER)
			n += nn_shape_count(&program->params[p].desc.shape);
	return n;
}

/* The files of an ensemble, in order. */
static void log_members(struct nn_run *r)
{
	struct nn_text files = { 0 };

	for (size_t k = 0; k < r->n_members; k++) {
		nn_text_add(&files, k ? "," : "[");
		nn_text_add_json(&files, r->members[k].path, strlen(r->members[k].path));
	}
	nn_text_add(&files, "]");
	if (!files.failed)
		nn_log_json(r->log, "members", files.data);
	nn_text_free(&files);
}

int nn_run_log_start(struct nn_run *r, struct nn_error *err)
{
	const char *text = nn_net_text(r->model->net);
	char hex[NN_SHA256_HEX], *options;
	struct nn_sha256 sha;

	if (!nn_log_wanted(r->log))
		return 0;
	if (!(options = nn_opt_json(r->p->list, err)))
		return -1;
	nn_sha256_init(&sha);
	nn_sha256_add(&sha, text, strlen(text));
	nn_sha256_hex(&sha, hex);
	nn_log_begin(r->log, "start");
	nn_log_string(r->log, "version", PACKAGE_VERSION);
	nn_log_string(r->log, "model", text);
	nn_log_string(r->log, "model_sha256", hex);
	nn_log_count(r->log, "parameters", count_parameters(r->model->program));
	nn_log_json(r->log, "options", options);
	nn_log_string(r->log, "device", r->model->device->name);
	nn_log_string(r->log, "kernels", r->model->device->kind);
	nn_log_string(r->log, "precision", nn_dtype_name(r->model->device->dtype));
	nn_log_string(r->log, "file", r->p->model);
	if (r->ensemble)
		log_members(r);
	nn_log_string(r->log, "data", r->p->data ? r->p->data : "-");
	nn_log_count(r->log, "batch", r->batch);
	nn_log_end(r->log);
	nn_free(options);
	return 0;
}

void nn_run_warn(struct nn_run *r, const char *text)
{
	r->p->warn(r->p->arg, text);
	nn_log_begin(r->log, "warning");
	nn_log_string(r->log, "text", text);
	nn_log_end(r->log);
}

static int add_metric(void *arg, const char *name, double value, bool count)
{
	if (count)
		nn_log_count(arg, name, (uint64_t)value);
	else
		nn_log_real(arg, name, value);
	return 0;
}

/* The figures of --score, of several outputs each under its name. */
static void log_score(struct nn_run *r)
{
	for (size_t o = r->asked; o < r->asked + r->n_asked; o++) {
		const char *name = r->model->program->outputs[o].name;

		nn_log_begin(r->log, "score");
		nn_log_string(r->log, "output", nn_run_outputs(r) > 1 ? name : NULL);
		nn_log_open_object(r->log, "metrics");
		nn_run_each_figure(r, o, add_metric, r->log);
		nn_log_close_object(r->log);
		nn_log_end(r->log);
	}
}

int nn_run_log_end(struct nn_run *r, int status, struct nn_error *err)
{
	double seconds = nn_now_s() - r->begin_s;

	if (!r->log || !nn_log_wanted(r->log))
		return status;
	if (status == 0 && r->metrics)
		log_score(r);
	nn_log_begin(r->log, "end");
	nn_log_string(r->log, "reason", status == 0 ? "done" : "error");
	if (status < 0)
		nn_log_string(r->log, "text", err ? err->text : NULL);
	nn_log_count(r->log, "rows", r->n_rows);
	nn_log_count(r->log, "bad_rows", r->rows ? nn_run_bad(r) : 0);
	nn_log_real(r->log, "seconds", seconds);
	nn_log_real(r->log, "samples_per_s", seconds > 0 ? (double)r->n_rows / seconds : 0);
	nn_log_end(r->log);
	return status == 0 && nn_log_check(r->log, err) < 0 ? -1 : status;
}
