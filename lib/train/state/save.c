/*
 * Saving: copies of parameters, slots and counters are taken between two steps; hashing and the
 * disk are the thread's.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/memory.h"
#include "model/model.h"
#include "parallel/pipeline.h"
#include "parallel/tensor.h"
#include "parallel/ranks.h"
#include "train/state/carried.h"
#include "train/state/save.h"
#include "train/state/saver.h"
#include "base/log.h"

/* ---- the thread ---- */

struct nn_state_facts nn_save_facts(const struct nn_keeping *k)
{
	return (struct nn_state_facts){
		.model = nn_net_text(k->worker->task->net),
		.data = nn_dataset_hash(k->worker->task->dataset),
		.valid = k->worker->task->held_out ? nn_dataset_hash(k->worker->task->held_out)
						   : NULL,
		.options = k->options_json,
		.list = k->list,
	};
}

/*
 * All it reads stays as it is until its result is taken: the sets and counters of the snapshot, and
 * facts.
 */
static int write_snapshot(void *arg, struct nn_error *err)
{
	struct nn_keeping *k = arg;
	const struct nn_counters *c = &k->snapshot.counters;
	struct nn_state_facts facts = nn_save_facts(k);

	facts.finished = c->done || c->step >= k->worker->task->planned;
	if (nn_state_write(k->state_path, k->output, &k->tensors, &facts, c, &k->snapshot.bytes,
			   err) < 0)
		return -1;
	nn_tell_saved(k->telling, k->state_path, c->step);
	return 0;
}

int nn_save_open(struct nn_keeping *k, struct nn_error *err)
{
	k->saved_step = UINT64_MAX;
	k->snapshot.start_s = nn_now_s();
	return k->state_path ? nn_saver_new(&k->saver, write_snapshot, k, err) : 0;
}

void nn_save_close(struct nn_keeping *k)
{
	nn_saver_free(k->saver);
	k->saver = NULL;
}

/* ---- snapshots ---- */

static bool all_finite(enum nn_dtype dtype, const void *values, size_t n)
{
	const double *f64 = values;
	const float *f32 = values;
	bool finite = true;

	if (dtype == NN_F64)
		for (size_t i = 0; i < n; i++)
			finite &= isfinite(f64[i]) != 0;
	else
		for (size_t i = 0; i < n; i++)
			finite &= isfinite(f32[i]) != 0;
	return finite;
}

/* Of ranks that have parts of the network each set comes together on rank 0. */
static int together(struct nn_keeping *k, void *const *set, bool buffers, struct nn_error *err)
{
	if (k->worker->layout->tensor && nn_tensor_gather(k->worker, set, err) < 0)
		return -1;
	return k->worker->layout->pipe ? nn_pipe_gather(k->worker, set, buffers, err) : 0;
}

static int gather_params(struct nn_keeping *k, void **params, struct nn_error *err)
{
	const struct nn_worker *w = k->worker;
	const struct nn_program *program = w->task->program;

	nn_graph_save(nn_step_graph(w->step), params);
	if (nn_queue_wait(nn_graph_queue(nn_step_graph(w->step)), err) < 0 ||
	    together(k, params, true, err) < 0)
		return -1;
	for (int p = 0; p < program->n_params; p++)
		if (params[p] &&
		    !all_finite(w->task->device->dtype, params[p],
				w->keeps ? w->keeps[p]
					 : nn_shape_count(&program->params[p].desc.shape)))
			return nn_fail(err, NN_EDIVERGED,
				       "step %llu: %s is no longer finite; a lower --lr or "
				       "--clip-norm may help",
				       (unsigned long long)w->counters->step,
				       program->params[p].name);
	return 0;
}

int nn_save_export_params(struct nn_keeping *k, struct nn_error *err)
{
	return gather_params(k, k->worker->params, err);
}

static int collect_slots(struct nn_keeping *k, struct nn_error *err)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(k->worker->step);

	for (size_t i = 0; i < nn_optimizer_slots(optimizer); i++) {
		void **set = k->saver ? k->tensors.set[NN_SET_SLOT0 + i]
			     : nn_layout_in_parts(k->worker->layout) ? k->worker->params
								     : NULL;

		if (nn_optimizer_save(optimizer, i, set, err) < 0 ||
		    together(k, set, false, err) < 0)
			return -1;
	}
	return 0;
}

static int begin(struct nn_keeping *k, struct nn_error *err)
{
	k->snapshot.start_s = nn_now_s();
	if (gather_params(k, k->saver ? k->tensors.set[NN_SET_MODEL] : k->worker->params, err) < 0)
		return -1;
	if (collect_slots(k, err) < 0 || nn_carried_collect(k, err) < 0)
		return -1;
	if (k->best && k->saver)
		nn_params_copy(k->worker->task->program, k->worker->task->device->dtype,
			       k->worker->keeps, k->tensors.set[NN_SET_BEST], k->best);
	k->snapshot.counters = *k->worker->counters;
	k->snapshot.due = false;
	if (k->saver)
		nn_saver_start(k->saver);
	return 0;
}

/* ---- what came of them ---- */

static uint64_t free_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');
	char directory[4096] = ".";
	struct statvfs fs;

	if (slash)
		snprintf(directory, sizeof directory, "%.*s",
			 slash == path ? 1 : (int)(slash - path), path);
	return statvfs(directory, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
}

static void write_failed(struct nn_keeping *k, const struct nn_error *why)
{
	nn_tell_warning(k->telling,
			"%s; the state needs %llu bytes, %llu are free; training goes on",
			why->text, (unsigned long long)k->snapshot.bytes,
			(unsigned long long)free_bytes(k->state_path));
	k->save_failed = true;
	snprintf(k->save_error, sizeof k->save_error, "%s", why->text);
}

static void written(struct nn_keeping *k, double seconds)
{
	k->save_failed = false;
	k->saved_step = k->snapshot.counters.step;
	nn_log_begin(k->telling->log, "checkpoint");
	nn_log_count(k->telling->log, "step", k->saved_step);
	nn_log_string(k->telling->log, "file", k->state_path);
	nn_log_real(k->telling->log, "seconds", seconds);
	nn_log_end(k->telling->log);
}

static void take_result(struct nn_keeping *k, bool wait)
{
	struct nn_saved saved;

	if (!nn_saver_take(k->saver, wait, &saved))
		return;
	if (saved.status < 0)
		write_failed(k, &saved.why);
	else
		written(k, saved.end_s - k->snapshot.start_s);
}

/* ---- when ---- */

bool nn_save_due(const struct nn_keeping *k)
{
	return k->save_steps && k->worker->counters->step % k->save_steps == 0;
}

bool nn_save_late(const struct nn_keeping *k)
{
	return k->saver && k->save_s > 0 && nn_now_s() - k->snapshot.start_s >= k->save_s;
}

/* Does a snapshot need what other ranks have? */
static bool is_shared(const struct nn_keeping *k)
{
	return (k->tensors.carried && nn_layout_ranks(k->worker->layout) > 1) ||
	       nn_layout_in_parts(k->worker->layout) ||
	       nn_optimizer_shared(nn_step_optimizer(k->worker->step));
}

/* Then all take it together: rank 0, which writes it, says whether. */
static int begin_all(struct nn_keeping *k, bool begins, struct nn_error *err)
{
	if (is_shared(k) &&
	    nn_comm_broadcast(k->worker->layout->comm, 0, &begins, sizeof begins, err) < 0)
		return -1;
	return begins ? begin(k, err) : 0;
}

bool nn_save_ready(const struct nn_keeping *k)
{
	return k->saver && k->snapshot.due && !nn_saver_busy(k->saver);
}

int nn_save_follow(struct nn_keeping *k, bool due, struct nn_error *err)
{
	if (!k->saver && !is_shared(k))
		return 0;
	k->snapshot.due |= due;
	/* Ranks that step alone have come together for it: later they would, at a step that the
	 * disk chooses. */
	if (k->saver)
		take_result(k, due && k->worker->layout->strategy->alone);
	if (nn_layout_ranks(k->worker->layout) > 1 &&
	    !due) /* what ranks keep has not come together */
		return 0;
	return k->snapshot.due ? begin_all(k, k->saver && !nn_saver_busy(k->saver), err) : 0;
}

int nn_save_newest(struct nn_keeping *k, struct nn_error *err)
{
	uint64_t step = k->worker->counters->step;

	if (!k->saver || (nn_saver_busy(k->saver) && k->snapshot.counters.step == step))
		return begin_all(k, false, err);
	take_result(k, true);
	return begin_all(k, k->saved_step != step, err);
}

void nn_save_wait(struct nn_keeping *k)
{
	if (k->saver)
		take_result(k, true);
}

int nn_save_end(struct nn_keeping *k, struct nn_error *err)
{
	nn_save_wait(k);
	return k->save_failed
		       ? nn_fail(err, NN_EFAIL, "%s; the state was not written", k->save_error)
		       : 0;
}
