/* Sessions: a graph of their own on the model's weights; and the free list that serves callers
 * without one. */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "predict/model.h"

struct nn_session {
	const struct nn_model *model;
	struct nn_pool *pool;
	struct nn_graph *graph;
	size_t max_rows;
	size_t n_inputs, n_outputs;
	struct nn_door *inputs, *outputs;
	void **tensors; /* the graph's inputs */
	void **staged;  /* rows on their way to a device with memory of its own; NULL: to the host's
			 */
	const void **in_at; /* where the callers' rows lie, [n_inputs] and [n_outputs] */
	void **out_at;
	void *rows;              /* one output in language order */
	struct nn_session *next; /* in the free list */
};

static int open_doors(struct nn_session *s, struct nn_error *err)
{
	size_t largest = 0, size;
	bool channels_last;

	for (size_t i = 0; i < s->n_inputs; i++) {
		if (nn_door_input(&s->inputs[i], s->model, s->graph, i, err) < 0)
			return -1;
		s->tensors[i] = nn_graph_input(s->graph, (int)i, &size, &channels_last);
		if (s->staged &&
		    !(s->staged[i] = nn_alloc(s->max_rows * size,
					      nn_dtype_size(s->model->device->dtype), err)))
			return -1;
	}
	for (size_t o = 0; o < s->n_outputs; o++) {
		if (nn_door_output(&s->outputs[o], s->model, o, err) < 0)
			return -1;
		if (s->outputs[o].size > largest)
			largest = s->outputs[o].size;
	}
	if (!nn_mul(largest, s->max_rows, &largest))
		return nn_fail(err, NN_ENOMEM, "%zu rows of output exceed the address space",
			       s->max_rows);
	s->rows = nn_alloc(largest, nn_dtype_size(s->model->device->dtype), err);
	return s->rows ? 0 : -1;
}

static int open_session(struct nn_session *s, int threads, struct nn_error *err)
{
	const struct nn_model *model = s->model;
	struct nn_graph_options options = {
		.device = model->device,
		.max_rows = s->max_rows,
		.share = model->weights,
	};

	s->n_inputs = (size_t)model->program->n_inputs;
	s->n_outputs = (size_t)model->program->n_outputs;
	s->inputs = nn_alloc(s->n_inputs, sizeof *s->inputs, err);
	s->outputs = nn_alloc(s->n_outputs, sizeof *s->outputs, err);
	s->tensors = nn_alloc(s->n_inputs, sizeof *s->tensors, err);
	if (model->device->copy_in && !(s->staged = nn_alloc(s->n_inputs, sizeof *s->staged, err)))
		return -1;
	s->in_at = nn_alloc(s->n_inputs, sizeof *s->in_at, err);
	s->out_at = nn_alloc(s->n_outputs, sizeof *s->out_at, err);
	if (!s->inputs || !s->outputs || !s->tensors || !s->in_at || !s->out_at)
		return -1;
	if (threads > 1 && nn_pool_new(&s->pool, threads, err) < 0)
		return -1;
	options.pool = s->pool;
	if (nn_graph_bind(&s->graph, model->program, &options, err) < 0)
		return -1;
	return open_doors(s, err);
}

struct nn_session *nn_session_open(const struct nn_model *model,
				   const struct nn_session_options *options, struct nn_error *err)
{
	struct nn_session_options o = { .max_rows = 64, .threads = 1 };
	struct nn_session *s;

	if (options && options->size < sizeof options->size) {
		nn_fail(err, NN_EUSAGE, "nn_session_open: options.size is not set");
		return NULL;
	}
	if (options && options->size >= sizeof o && options->max_rows)
		o.max_rows = options->max_rows;
	if (options && options->size >= sizeof o && options->threads > 1)
		o.threads = options->threads;
	s = nn_alloc(1, sizeof *s, err);
	if (!s)
		return NULL;
	s->model = model;
	s->max_rows = o.max_rows;
	if (open_session(s, o.threads, err) < 0) {
		nn_session_close(s);
		return NULL;
	}
	return s;
}

void nn_session_close(struct nn_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->inputs && i < s->n_inputs; i++)
		nn_door_fini(&s->inputs[i]);
	for (size_t o = 0; s->outputs && o < s->n_outputs; o++)
		nn_door_fini(&s->outputs[o]);
	nn_graph_free(s->graph);
	nn_pool_free(s->pool);
	nn_free(s->inputs);
	nn_free(s->outputs);
	for (size_t i = 0; s->staged && i < s->n_inputs; i++)
		nn_free(s->staged[i]);
	nn_free(s->staged);
	nn_free(s->tensors);
	nn_free(s->in_at);
	nn_free(s->out_at);
	nn_free(s->rows);
	nn_free(s);
}

size_t nn_session_n_inputs(const struct nn_session *s)
{
	return s->n_inputs;
}

size_t nn_session_n_outputs(const struct nn_session *s)
{
	return s->n_outputs;
}

size_t nn_session_input_size(const struct nn_session *s, size_t input)
{
	return input < s->n_inputs ? s->inputs[input].size : 0;
}

size_t nn_session_output_size(const struct nn_session *s, size_t output)
{
	return output < s->n_outputs ? s->outputs[output].size : 0;
}

const char *nn_session_output_name(const struct nn_session *s, size_t output)
{
	const char *name = output < s->n_outputs ? s->model->program->outputs[output].name : NULL;

	return name ? name : "";
}

/* One pass of n <= max_rows rows, from in_at to out_at. */
static void run(struct nn_session *s, size_t n, enum nn_dtype dtype)
{
	struct nn_span span = { .rows = n };

	for (size_t i = 0; i < s->n_inputs; i++) {
		if (s->staged) {
			nn_door_in(&s->inputs[i], s->in_at[i], dtype, n, s->staged[i]);
			s->model->device->copy_in(s->tensors[i], s->staged[i],
						  n * s->inputs[i].size *
							  nn_dtype_size(s->model->device->dtype));
			continue;
		}
		if (nn_door_is_open(&s->inputs[i], dtype) &&
		    nn_graph_borrow(s->graph, (int)i, s->in_at[i]))
			continue;
		nn_door_in(&s->inputs[i], s->in_at[i], dtype, n, s->tensors[i]);
		nn_graph_borrow(s->graph, (int)i, s->tensors[i]);
	}
	nn_graph_forward(s->graph, &span);
	for (size_t o = 0; o < s->n_outputs; o++) {
		nn_graph_read(s->graph, (int)o, n, s->rows);
		nn_door_out(&s->outputs[o], s->rows, n, s->out_at[o], dtype);
	}
}

/* All rows, max_rows at a time. */
static int predict(struct nn_session *s, const void *const *rows, size_t n, void *const *out,
		   enum nn_dtype dtype)
{
	size_t element = nn_dtype_size(dtype);

	for (size_t at = 0; at < n; at += s->max_rows) {
		for (size_t i = 0; i < s->n_inputs; i++)
			s->in_at[i] = (const char *)rows[i] + at * s->inputs[i].size * element;
		for (size_t o = 0; o < s->n_outputs; o++)
			s->out_at[o] = (char *)out[o] + at * s->outputs[o].size * element;
		run(s, n - at < s->max_rows ? n - at : s->max_rows, dtype);
	}
	return 0;
}

int nn_session_predict(struct nn_session *s, const float *const *rows, size_t n, float *const *out,
		       struct nn_error *err)
{
	(void)err; /* nothing can fail yet; the argument keeps the interface open */
	return predict(s, (const void *const *)rows, n, (void *const *)out, NN_F32);
}

int nn_session_predict_f64(struct nn_session *s, const double *const *rows, size_t n,
			   double *const *out, struct nn_error *err)
{
	(void)err;
	return predict(s, (const void *const *)rows, n, (void *const *)out, NN_F64);
}

/* ---- callers without a session ---- */

struct nn_idle {
	pthread_mutex_t lock;
	struct nn_session *first;
};

struct nn_idle *nn_idle_new(struct nn_error *err)
{
	struct nn_idle *idle = nn_alloc(1, sizeof *idle, err);

	if (idle)
		pthread_mutex_init(&idle->lock, NULL);
	return idle;
}

void nn_idle_free(struct nn_idle *idle)
{
	if (!idle)
		return;
	while (idle->first) {
		struct nn_session *s = idle->first;

		idle->first = s->next;
		nn_session_close(s);
	}
	pthread_mutex_destroy(&idle->lock);
	nn_free(idle);
}

static struct nn_session *borrow(const struct nn_model *model, struct nn_error *err)
{
	struct nn_idle *idle = model->idle;
	struct nn_session *s;

	pthread_mutex_lock(&idle->lock);
	s = idle->first;
	if (s)
		idle->first = s->next;
	pthread_mutex_unlock(&idle->lock);
	return s ? s : nn_session_open(model, NULL, err);
}

static void give_back(const struct nn_model *model, struct nn_session *s)
{
	struct nn_idle *idle = model->idle;

	pthread_mutex_lock(&idle->lock);
	s->next = idle->first;
	idle->first = s;
	pthread_mutex_unlock(&idle->lock);
}

/* Several tensors in a row: each row is taken apart and put together. */
static void predict_concatenated(struct nn_session *s, const float *row, size_t n, float *out)
{
	for (size_t r = 0; r < n; r++) {
		for (size_t i = 0; i < s->n_inputs; i++) {
			s->in_at[i] = row;
			row += s->inputs[i].size;
		}
		for (size_t o = 0; o < s->n_outputs; o++) {
			s->out_at[o] = out;
			out += s->outputs[o].size;
		}
		run(s, 1, NN_F32);
	}
}

int nn_model_predict(const struct nn_model *model, const float *rows, size_t n, float *out,
		     struct nn_error *err)
{
	struct nn_session *s = borrow(model, err);

	if (!s)
		return -1;
	if (s->n_inputs == 1 && s->n_outputs == 1)
		nn_session_predict(s, &rows, n, &out, err);
	else
		predict_concatenated(s, rows, n, out);
	give_back(model, s);
	return 0;
}
