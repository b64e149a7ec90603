/* Saving: copies of parameters, slots and counters are taken between two steps; hashing and the
 * disk are the thread's. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/ranks.h"
#include "train/save.h"

/* ---- the thread ---- */

/* All it reads stays as it is until its result is taken: the sets and counters of the snapshot, and
 * facts. */
static int write_snapshot(void *arg, struct nn_error *err)
{
	struct nn_train *t = arg;
	struct nn_state_facts facts = nn_checkpoint_facts(t);

	if (nn_state_write(t->state_path, &t->tensors, &facts, &t->snapshot.counters,
			   &t->snapshot.bytes, err) < 0)
		return -1;
	nn_train_tell_saved(t, t->snapshot.counters.step);
	return 0;
}

int nn_save_open(struct nn_train *t, struct nn_error *err)
{
	t->saved_step = UINT64_MAX;
	t->snapshot.start_s = nn_now_s();
	return t->state_path ? nn_saver_new(&t->saver, write_snapshot, t, err) : 0;
}

void nn_save_close(struct nn_train *t)
{
	nn_saver_free(t->saver);
	t->saver = NULL;
}

/* ---- snapshots ---- */

static bool all_finite(const struct nn_train *t, const void *values, size_t n)
{
	const double *f64 = values;
	const float *f32 = values;
	bool finite = true;

	if (t->device->dtype == NN_F64)
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
	if (t->tensor && nn_tensor_collect(t, set, err) < 0)
		return -1;
	return t->pipe ? nn_pipe_collect(t, set, buffers, err) : 0;
}

static int collect(struct nn_train *t, void **params, struct nn_error *err)
{
	nn_graph_save(nn_step_graph(t->step), params);
	if (together(t, params, true, err) < 0)
		return -1;
	for (int p = 0; p < t->program->n_params; p++)
		if (params[p] &&
		    !all_finite(t, params[p],
				t->keeps ? t->keeps[p]
					 : nn_shape_count(&t->program->params[p].desc.shape)))
			return nn_fail(err, NN_EDIVERGED,
				       "step %llu: %s is no longer finite; a lower --lr or "
				       "--clip-norm may help",
				       (unsigned long long)t->counters.step,
				       t->program->params[p].name);
	return 0;
}

int nn_train_collect(struct nn_train *t, struct nn_error *err)
{
	return collect(t, t->params, err);
}

static int collect_slots(struct nn_train *t, struct nn_error *err)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(t->step);

	for (size_t k = 0; k < nn_optimizer_slots(optimizer); k++) {
		void **set = t->saver               ? t->tensors.set[NN_SET_SLOT0 + k]
			     : nn_train_in_parts(t) ? t->params
						    : NULL;

		if (nn_optimizer_save(optimizer, k, set, err) < 0 ||
		    together(t, set, false, err) < 0)
			return -1;
	}
	return 0;
}

static int begin(struct nn_train *t, struct nn_error *err)
{
	t->snapshot.start_s = nn_now_s();
	if (collect(t, t->saver ? t->tensors.set[NN_SET_MODEL] : t->params, err) < 0)
		return -1;
	if (collect_slots(t, err) < 0)
		return -1;
	if (t->best && t->saver)
		nn_params_copy(t->program, t->device->dtype, t->keeps, t->tensors.set[NN_SET_BEST],
			       t->best);
	t->snapshot.counters = t->counters;
	if (t->replaces)
		nn_train_warn(t,
			      "%s: the state of an older run is replaced; --resume would have gone "
			      "on with it",
			      t->state_path);
	t->replaces = t->snapshot.due = false;
	if (t->saver)
		nn_saver_start(t->saver);
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
		      why->text, (unsigned long long)t->snapshot.bytes,
		      (unsigned long long)free_bytes(t->state_path));
	t->save_failed = true;
	snprintf(t->save_error, sizeof t->save_error, "%s", why->text);
}

static void written(struct nn_train *t, double seconds)
{
	t->save_failed = false;
	t->saved_step = t->snapshot.counters.step;
	t->times.saves++;
	t->times.saves_s += seconds;
	t->times.saved_bytes += (double)t->snapshot.bytes;
	nn_log_begin(t->log, "checkpoint");
	nn_log_count(t->log, "step", t->saved_step);
	nn_log_string(t->log, "file", t->state_path);
	nn_log_real(t->log, "seconds", seconds);
	nn_log_end(t->log);
}

static void settle(struct nn_train *t, bool wait)
{
	struct nn_saved saved;

	if (!nn_saver_take(t->saver, wait, &saved))
		return;
	if (saved.status < 0)
		write_failed(t, &saved.why);
	else
		written(t, saved.end_s - t->snapshot.start_s);
}

/* ---- when ---- */

bool nn_save_due(const struct nn_train *t)
{
	return t->save_steps && t->counters.step % t->save_steps == 0;
}

bool nn_save_late(const struct nn_train *t)
{
	return t->save_s > 0 && nn_now_s() - t->snapshot.start_s >= t->save_s;
}

/* Does a snapshot need what other ranks have? */
static bool is_shared(const struct nn_train *t)
{
	return nn_train_in_parts(t) || nn_optimizer_shared(nn_step_optimizer(t->step));
}

/* Then all take it together: rank 0, which writes it, says whether. */
static int begin_all(struct nn_train *t, bool begins, struct nn_error *err)
{
	if (is_shared(t) && nn_comm_broadcast(t->comm, 0, &begins, sizeof begins, err) < 0)
		return -1;
	return begins ? begin(t, err) : 0;
}

bool nn_save_ready(const struct nn_train *t)
{
	return t->saver && t->snapshot.due && !nn_saver_busy(t->saver);
}

int nn_save_follow(struct nn_train *t, bool due, struct nn_error *err)
{
	if (!t->saver && !is_shared(t))
		return 0;
	t->snapshot.due |= due;
	if (t->saver)
		settle(t, false);
	if (nn_train_ranks(t) > 1 && !due) /* what ranks keep has not come together */
		return 0;
	return t->snapshot.due ? begin_all(t, t->saver && !nn_saver_busy(t->saver), err) : 0;
}

int nn_save_newest(struct nn_train *t, struct nn_error *err)
{
	uint64_t step = t->counters.step;

	if (!t->saver || (nn_saver_busy(t->saver) && t->snapshot.counters.step == step))
		return begin_all(t, false, err);
	settle(t, true);
	return begin_all(t, t->saved_step != step, err);
}

void nn_save_wait(struct nn_train *t)
{
	if (t->saver)
		settle(t, true);
}

int nn_save_end(struct nn_train *t, struct nn_error *err)
{
	nn_save_wait(t);
	return t->save_failed
		       ? nn_fail(err, NN_EFAIL, "the state could not be written: %s", t->save_error)
		       : 0;
}
