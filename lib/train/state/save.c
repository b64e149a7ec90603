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
#include "train/state/save.h"
#include "train/state/saver.h"
#include "base/log.h"

/* ---- the thread ---- */

struct nn_state_facts nn_save_facts(const struct nn_train *t)
{
	return (struct nn_state_facts){
		.model = nn_net_text(t->task.net),
		.data = nn_dataset_hash(t->task.dataset),
		.valid = t->task.held_out ? nn_dataset_hash(t->task.held_out) : NULL,
		.options = t->kept.options_json,
		.list = t->setup.list,
	};
}

/*
 * All it reads stays as it is until its result is taken: the sets and counters of the snapshot, and
 * facts.
 */
static int write_snapshot(void *arg, struct nn_error *err)
{
	struct nn_train *t = arg;
	struct nn_state_facts facts = nn_save_facts(t);

	if (nn_state_write(t->kept.state_path, t->std->output, &t->kept.tensors, &facts,
			   &t->kept.snapshot.counters, &t->kept.snapshot.bytes, err) < 0)
		return -1;
	nn_train_tell_saved(t, t->kept.snapshot.counters.step);
	return 0;
}

int nn_save_open(struct nn_train *t, struct nn_error *err)
{
	t->kept.saved_step = UINT64_MAX;
	t->kept.snapshot.start_s = nn_now_s();
	return t->kept.state_path ? nn_saver_new(&t->kept.saver, write_snapshot, t, err) : 0;
}

void nn_save_close(struct nn_train *t)
{
	nn_saver_free(t->kept.saver);
	t->kept.saver = NULL;
}

/* ---- snapshots ---- */

static bool all_finite(const struct nn_train *t, const void *values, size_t n)
{
	const double *f64 = values;
	const float *f32 = values;
	bool finite = true;

	if (t->task.device->dtype == NN_F64)
		for (size_t i = 0; i < n; i++)
			finite &= isfinite(f64[i]) != 0;
	else
		for (size_t i = 0; i < n; i++)
			finite &= isfinite(f32[i]) != 0;
	return finite;
}

/* Of ranks that have parts of the network each set comes together on rank 0. */
static int together(struct nn_train *t, void *const *set, bool buffers, struct nn_error *err)
{
	if (t->layout.tensor && nn_tensor_collect(&t->worker, set, err) < 0)
		return -1;
	return t->layout.pipe ? nn_pipe_collect(&t->worker, set, buffers, err) : 0;
}

static int collect(struct nn_train *t, void **params, struct nn_error *err)
{
	nn_graph_save(nn_step_graph(t->worker.step), params);
	if (together(t, params, true, err) < 0)
		return -1;
	for (int p = 0; p < t->task.program->n_params; p++)
		if (params[p] &&
		    !all_finite(t, params[p],
				t->worker.keeps
					? t->worker.keeps[p]
					: nn_shape_count(&t->task.program->params[p].desc.shape)))
			return nn_fail(err, NN_EDIVERGED,
				       "step %llu: %s is no longer finite; a lower --lr or "
				       "--clip-norm may help",
				       (unsigned long long)t->counters.step,
				       t->task.program->params[p].name);
	return 0;
}

int nn_train_export_params(struct nn_train *t, struct nn_error *err)
{
	return collect(t, t->worker.params, err);
}

static int collect_slots(struct nn_train *t, struct nn_error *err)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(t->worker.step);

	for (size_t k = 0; k < nn_optimizer_slots(optimizer); k++) {
		void **set = t->kept.saver ? t->kept.tensors.set[NN_SET_SLOT0 + k]
			     : nn_layout_in_parts(&t->layout) ? t->worker.params
							      : NULL;

		if (nn_optimizer_save(optimizer, k, set, err) < 0 ||
		    together(t, set, false, err) < 0)
			return -1;
	}
	return 0;
}

static int begin(struct nn_train *t, struct nn_error *err)
{
	t->kept.snapshot.start_s = nn_now_s();
	if (collect(t, t->kept.saver ? t->kept.tensors.set[NN_SET_MODEL] : t->worker.params, err) <
	    0)
		return -1;
	if (collect_slots(t, err) < 0)
		return -1;
	if (t->kept.best && t->kept.saver)
		nn_params_copy(t->task.program, t->task.device->dtype, t->worker.keeps,
			       t->kept.tensors.set[NN_SET_BEST], t->kept.best);
	t->kept.snapshot.counters = t->counters;
	if (t->kept.replaces)
		nn_train_warn(t,
			      "%s: the state of an older run is replaced; --resume would have gone "
			      "on with it",
			      t->kept.state_path);
	t->kept.replaces = t->kept.snapshot.due = false;
	if (t->kept.saver)
		nn_saver_start(t->kept.saver);
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

static void write_failed(struct nn_train *t, const struct nn_error *why)
{
	nn_train_warn(t, "%s; the state needs %llu bytes, %llu are free; training goes on",
		      why->text, (unsigned long long)t->kept.snapshot.bytes,
		      (unsigned long long)free_bytes(t->kept.state_path));
	t->kept.save_failed = true;
	snprintf(t->kept.save_error, sizeof t->kept.save_error, "%s", why->text);
}

static void written(struct nn_train *t, double seconds)
{
	t->kept.save_failed = false;
	t->kept.saved_step = t->kept.snapshot.counters.step;
	t->clock.times.saves++;
	t->clock.times.saves_s += seconds;
	t->clock.times.saved_bytes += (double)t->kept.snapshot.bytes;
	nn_log_begin(t->told.log, "checkpoint");
	nn_log_count(t->told.log, "step", t->kept.saved_step);
	nn_log_string(t->told.log, "file", t->kept.state_path);
	nn_log_real(t->told.log, "seconds", seconds);
	nn_log_end(t->told.log);
}

static void settle(struct nn_train *t, bool wait)
{
	struct nn_saved saved;

	if (!nn_saver_take(t->kept.saver, wait, &saved))
		return;
	if (saved.status < 0)
		write_failed(t, &saved.why);
	else
		written(t, saved.end_s - t->kept.snapshot.start_s);
}

/* ---- when ---- */

bool nn_save_due(const struct nn_train *t)
{
	return t->kept.save_steps && t->counters.step % t->kept.save_steps == 0;
}

bool nn_save_late(const struct nn_train *t)
{
	return t->kept.save_s > 0 && nn_now_s() - t->kept.snapshot.start_s >= t->kept.save_s;
}

/* Does a snapshot need what other ranks have? */
static bool is_shared(const struct nn_train *t)
{
	return nn_layout_in_parts(&t->layout) ||
	       nn_optimizer_shared(nn_step_optimizer(t->worker.step));
}

/* Then all take it together: rank 0, which writes it, says whether. */
static int begin_all(struct nn_train *t, bool begins, struct nn_error *err)
{
	if (is_shared(t) && nn_comm_broadcast(t->layout.comm, 0, &begins, sizeof begins, err) < 0)
		return -1;
	return begins ? begin(t, err) : 0;
}

bool nn_save_ready(const struct nn_train *t)
{
	return t->kept.saver && t->kept.snapshot.due && !nn_saver_busy(t->kept.saver);
}

int nn_save_follow(struct nn_train *t, bool due, struct nn_error *err)
{
	if (!t->kept.saver && !is_shared(t))
		return 0;
	t->kept.snapshot.due |= due;
	if (t->kept.saver)
		settle(t, false);
	if (nn_layout_ranks(&t->layout) > 1 && !due) /* what ranks keep has not come together */
		return 0;
	return t->kept.snapshot.due
		       ? begin_all(t, t->kept.saver && !nn_saver_busy(t->kept.saver), err)
		       : 0;
}

int nn_save_newest(struct nn_train *t, struct nn_error *err)
{
	uint64_t step = t->counters.step;

	if (!t->kept.saver ||
	    (nn_saver_busy(t->kept.saver) && t->kept.snapshot.counters.step == step))
		return begin_all(t, false, err);
	settle(t, true);
	return begin_all(t, t->kept.saved_step != step, err);
}

void nn_save_wait(struct nn_train *t)
{
	if (t->kept.saver)
		settle(t, true);
}

int nn_save_end(struct nn_train *t, struct nn_error *err)
{
	nn_save_wait(t);
	return t->kept.save_failed
		       ? nn_fail(err, NN_EFAIL, "%s; the state was not written", t->kept.save_error)
		       : 0;
}
