/* Going through a prediction phase by phase under the bench's clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "bench/phases.h"
#include "bench/start.h"
#include "bench/trial.h"
#include "data/data.h"
#include "file/npy.h"
#include "predict/model.h"
#include "predict/session.h"

struct walk {
	struct nn_bench *b;
	const struct nn_bench_model *subject;
	struct nn_phases *p;
	const struct nn_device *device;
	char directory[256], model_path[300], rows_path[300];
	const char
		*model_file; /* what is loaded: the subject's own file, or the one that was made */
	bool readable;       /* rows of a .npy suit the model */

	struct nn_model *model;
	struct nn_session *session;
	void **in, **out;
};

static double now(const struct walk *w)
{
	const struct nn_clock *clock = w->b->setup.clock ? w->b->setup.clock : &nn_clock_real;

	return clock->now(clock->arg);
}

/* ---- files ---- */

static int write_model(struct walk *w, struct nn_error *err)
{
	const struct nn_bench_model *s = w->subject;
	struct nn_output *output;

	w->model_file = s->path;
	if (s->path)
		return 0;
	snprintf(w->model_path, sizeof w->model_path, "%s/m.safetensors", w->directory);
	w->model_file = w->model_path;
	if (nn_output_open(&output, w->model_path, true, err) < 0)
		return -1;
	return nn_output_close(output,
			       nn_model_file_write(output, s->net, s->dtype,
						   (const void *const *)s->params, NULL, NULL, NULL,
						   err),
			       err);
}

static int write_rows(struct walk *w, struct nn_error *err)
{
	const struct nn_program *program = w->subject->program;
	struct nn_shape shape = program->values[program->inputs[0]].shape;
	size_t n = w->p->rows * nn_shape_count(&shape);
	struct nn_output *output;
	int status;

	if (program->n_inputs != 1 || shape.rank + 1 > NN_MAX_RANK)
		return 0;
	memmove(shape.dim + 1, shape.dim, sizeof(size_t) * (size_t)shape.rank);
	shape.dim[0] = w->p->rows;
	shape.rank++;
	snprintf(w->rows_path, sizeof w->rows_path, "%s/rows.npy", w->directory);
	if (nn_output_open(&output, w->rows_path, true, err) < 0)
		return -1;
	status = nn_npy_write_header(output, NN_F32, &shape, err);
	for (size_t i = 0; i < n && status == 0; i++) {
		float value = (float)(i * 2654435761u % 65536) / 65536;

		status = nn_output_write(output, &value, sizeof value, err);
	}
	w->readable = true;
	return nn_output_close(output, status, err);
}

static int make_files(struct walk *w, struct nn_error *err)
{
	snprintf(w->directory, sizeof w->directory, "%s/nn-bench.XXXXXX", nn_temporary_folder());
	if (!mkdtemp(w->directory)) {
		int status = nn_fail_errno(err, NN_EFAIL, "%s", w->directory);

		*w->directory = '\0';
		return status;
	}
	return write_model(w, err) < 0 ? -1 : write_rows(w, err);
}

static void remove_files(struct walk *w)
{
	if (*w->model_path)
		unlink(w->model_path);
	if (*w->rows_path)
		unlink(w->rows_path);
	if (*w->directory)
		rmdir(w->directory);
}

/* ---- a process ---- */

/* What cannot be had stays unknown. */
static void start_processes(struct walk *w, int runs)
{
	struct nn_phases *p = w->p;
	char path[4096], threads[32];
	const char *program = nn_start_beside("nn-predict", path, sizeof path);
	const char *const version[] = { program, "--version", NULL };
	const char *whole[] = {
		program, threads, "--device=cpu", w->model_file, w->rows_path, NULL
	};
	struct nn_start start;

	snprintf(threads, sizeof threads, "--threads=%d", w->b->threads);
	if (!program || nn_start_measure(version, runs, &start, NULL) < 0)
		return;
	p->s[NN_PHASE_EXEC] = start.exec_s;
	p->s[NN_PHASE_LIBRARIES] = start.ready_s;
	if (w->readable && strcmp(p->device_name, "cpu") == 0 &&
	    nn_start_measure(whole, runs, &start, NULL) == 0)
		p->whole_s = start.whole_s;
}

/* ---- this process ---- */

static size_t real_size(const struct walk *w)
{
	return nn_dtype_size(w->device->dtype);
}

static int load(struct walk *w, struct nn_error *err)
{
	struct nn_model_source source = { .path = w->model_file,
					  .precision = 1 + (int)w->device->dtype,
					  .device = w->device };

	return nn_model_load(&w->model, &source, err);
}

/* -1: such rows do not suit the model. */
static int read_rows(struct walk *w, struct nn_error *err)
{
	struct nn_rows_options o = { 0 };
	struct nn_rows *rows;
	size_t done = 0, n = 1;
	bool end;
	int status;

	if (nn_rows_open(&rows, w->rows_path, NULL, w->model->schema, &o, w->device->dtype, err) <
	    0)
		return -1;
	do {
		void *at = (char *)w->in[0] +
			   done * nn_shape_count(&w->model->schema->inputs[0].shape) * real_size(w);

		status = nn_rows_next(rows, w->p->rows - done, &at, NULL, NULL, &n, &end, err);
		done += n;
	} while (status == 0 && n > 0 && done < w->p->rows);
	nn_rows_close(rows);
	return status;
}

static void predict(void *arg)
{
	struct walk *w = arg;

	nn_trial_predict(w->session, w->device->dtype, w->in, w->p->rows, w->out);
}

static int open_session(struct walk *w, struct nn_error *err)
{
	struct nn_session_options o = { .size = sizeof o,
					.max_rows = w->p->rows,
					.threads = w->b->threads };

	w->session = nn_session_open(w->model, &o, err);
	return w->session ? 0 : -1;
}

/* As nn-predict answers a .npy. */
static int write_answers(struct walk *w, struct nn_error *err)
{
	const struct nn_program *program = w->subject->program;
	struct nn_output *output;
	int status = nn_output_open(&output, "/dev/null", true, err);

	if (status < 0)
		return -1;
	for (int o = 0; o < program->n_outputs && status == 0; o++) {
		const struct nn_shape *shape = &program->values[program->outputs[o].value].shape;
		struct nn_shape all = nn_shape2(w->p->rows, nn_shape_count(shape));

		status = nn_npy_write_header(output, w->device->dtype, &all, err);
		if (status == 0)
			status = nn_output_write(output, w->out[o],
						 w->p->rows * nn_shape_count(shape) * real_size(w),
						 err);
	}
	return nn_output_close(output, status, err);
}

/* ---- the device ---- */

/* What remains of a time; not known where a part of it is not. */
static double remainder_of(double s)
{
	return isnan(s) ? s : fmax(0, s);
}

/*
 * Later calls, and the copies in them by the device's own clock: what the host does for them beside
 * that is the computation's. *call_s: all of a call.
 */
static int measure_calls(struct walk *w, double *call_s, struct nn_error *err)
{
	const struct nn_measure_call call = { predict, w };
	struct nn_session_times times = { 0 };
	struct nn_measure m = { 0 };
	double *s = w->p->s;
	int status;

	w->p->copies = w->device->remote != NULL;
	nn_session_time(w->session, &times);
	status = nn_bench_measure(w->b, &call, 1, &m, err);
	nn_session_time(w->session, NULL);
	if (status < 0)
		return -1;
	*call_s = m.n ? m.mean_s : NAN;
	if (m.n == 0 && !nn_bench_stopped(w->b))
		nn_bench_too_short(w->b, "compute", &m);
	if (w->p->absent) {
		w->p->instead_s = *call_s;
		return 0;
	}
	s[NN_PHASE_COMPUTE] = *call_s;
	if (m.n && times.runs) {
		s[NN_PHASE_COPY_IN] = times.in / (double)times.runs;
		s[NN_PHASE_COPY_OUT] = times.out / (double)times.runs;
		w->p->there_s = times.compute / (double)times.runs;
		s[NN_PHASE_COMPUTE] =
			remainder_of(*call_s - s[NN_PHASE_COPY_IN] - s[NN_PHASE_COPY_OUT]);
	}
	return 0;
}

static int open_device(struct walk *w, struct nn_error *err)
{
	double start = now(w);
	struct nn_error absent;
	bool int8;

	w->device = nn_bench_device_for(w->b, w->p->device_name, w->subject, true, &int8, &absent);
	w->p->s[NN_PHASE_DEVICE] = now(w) - start;
	if (w->device)
		return 0;
	if (absent.code != NN_ENODEV)
		return nn_fail(err, absent.code, "%s", absent.text);
	w->p->absent = true;
	w->p->s[NN_PHASE_DEVICE] = NAN;
	snprintf(w->p->why_absent, sizeof w->p->why_absent, "%s", absent.text);
	w->device = nn_bench_device_for(w->b, "cpu", w->subject, true, &int8, err);
	return w->device ? 0 : -1;
}

static int walk(struct walk *w, struct nn_error *err)
{
	double *s = w->p->s, start, first, call;
	struct nn_error unreadable;

	if (open_device(w, err) < 0)
		return -1;
	w->in = nn_bench_model_rows(w->subject, false, w->p->rows, w->device->dtype, err);
	w->out = nn_bench_model_rows(w->subject, true, w->p->rows, w->device->dtype, err);
	if (!w->in || !w->out)
		return -1;
	start = now(w);
	if (load(w, err) < 0)
		return -1;
	s[NN_PHASE_LOAD] = now(w) - start;
	start = now(w);
	w->readable = w->readable && read_rows(w, &unreadable) == 0;
	s[NN_PHASE_INPUT] = w->readable ? now(w) - start : NAN;
	start = now(w);
	if (open_session(w, err) < 0)
		return -1;
	predict(w);
	first = now(w) - start;
	if (measure_calls(w, &call, err) < 0)
		return -1;
	if (!w->p->absent)
		s[NN_PHASE_FIRST] = remainder_of(first - call);
	start = now(w);
	if (write_answers(w, err) < 0)
		return -1;
	s[NN_PHASE_OUTPUT] = now(w) - start;
	return 0;
}

int nn_phases_measure(struct nn_bench *b, const struct nn_bench_model *subject, int runs,
		      struct nn_phases *p, struct nn_error *err)
{
	struct walk w = { .b = b, .subject = subject, .p = p };
	int status;

	p->whole_s = p->instead_s = p->there_s = NAN;
	for (int i = 0; i < NN_N_PHASES; i++)
		p->s[i] = NAN;
	status = make_files(&w, err);
	if (status == 0)
		status = walk(&w, err);
	if (status == 0 && !nn_bench_stopped(b))
		start_processes(&w, runs);
	remove_files(&w);
	nn_free(w.in);
	nn_free(w.out);
	nn_session_close(w.session);
	nn_model_close(w.model);
	return status;
}
