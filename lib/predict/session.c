/* Sessions: a graph of their own on the model's weights, and rows on their way in and out. */
#include <string.h>

#include "base/flush.h"
#include "base/memory.h"
#include "base/subnormal.h"
#include "predict/lengths.h"
#include "predict/session.h"
#include "predict/transform.h"

struct input {
	struct nn_transform transform;
	bool channels_last;
	void *rows; /* where the graph takes them from (nn_graph_input) */
	bool lent;  /* the graph reads a caller's rows */
	bool there; /* those of the next run are on the device */
};

struct output {
	struct nn_transform transform;
	const void *raw; /* of the last run */
};

struct nn_session {
	const struct nn_model *model; /* NULL: of a program */
	const struct nn_program *program;
	const struct nn_device *device;
	struct nn_pool *threads; /* its own */
	struct nn_graph *graph;
	size_t max_rows;
	struct nn_session_lengths lengths;
	bool steps;               /* each run is a step of the same rows */
	size_t step;              /* how many were */
	size_t n_inputs, n_outputs;
	struct input *inputs;
	struct output *outputs;
	struct nn_model_part part;
	struct nn_mirror *edges[2]; /* of a part, by enum nn_graph_side */
	struct nn_session_times *times; /* NULL: nobody asks */
};

/* ---- open and close ---- */

static int open_input(struct nn_session *s, size_t i, const struct nn_schema *schema,
		      struct nn_error *err)
{
	const struct nn_shape *shape = &s->program->values[s->program->inputs[i]].shape;
	struct input *in = &s->inputs[i];
	size_t size;

	in->rows = nn_graph_input(s->graph, (int)i, &size, &in->channels_last);
	return nn_transform_input(&in->transform, shape, in->channels_last,
				  schema && i < schema->n_inputs ? &schema->inputs[i] : NULL,
				  s->device->dtype, err);
}

static int open_output(struct nn_session *s, size_t o, const struct nn_schema *schema,
		       struct nn_error *err)
{
	const struct nn_shape *shape = &s->program->values[s->program->outputs[o].value].shape;
	struct output *out = &s->outputs[o];

	return nn_transform_output(&out->transform, shape,
				   schema && o < schema->n_targets ? &schema->targets[o] : NULL,
				   s->device->dtype, err);
}

static int open_edges(struct nn_session *s, enum nn_graph_side side, struct nn_error *err)
{
	size_t n = nn_graph_edges(s->graph, side);

	s->edges[side] = nn_alloc(n, sizeof *s->edges[side], err);
	if (!s->edges[side])
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct nn_graph_edge e = nn_graph_edge(s->graph, side, i);

		if (nn_mirror_of(&s->edges[side][i], nn_graph_queue(s->graph), e.value,
				 s->max_rows * e.row_bytes, err) < 0)
			return -1;
	}
	return 0;
}

static void close_edges(struct nn_session *s, enum nn_graph_side side)
{
	size_t n = s->graph && s->edges[side] ? nn_graph_edges(s->graph, side) : 0;

	for (size_t i = 0; i < n; i++)
		nn_mirror_free(&s->edges[side][i], nn_graph_queue(s->graph));
	nn_free(s->edges[side]);
}

static int open_session(struct nn_session *s, const struct nn_session_setup *setup,
			struct nn_error *err)
{
	const struct nn_schema *schema = setup->model ? setup->model->schema : NULL;
	struct nn_graph_options options = {
		.device = s->device,
		.pool = setup->pool,
		.max_rows = s->max_rows,
		.first = s->part.first,
		.last = s->part.last,
		.share = setup->model ? setup->model->weights : NULL,
		.states = s->steps ? s->max_rows : 0,
	};

	s->n_inputs = (size_t)s->program->n_inputs;
	s->n_outputs = (size_t)s->program->n_outputs;
	s->inputs = nn_alloc(s->n_inputs, sizeof *s->inputs, err);
	s->outputs = nn_alloc(s->n_outputs, sizeof *s->outputs, err);
	if (!s->inputs || !s->outputs || nn_graph_bind(&s->graph, s->program, &options, err) < 0)
		return -1;
	for (size_t i = 0; i < s->n_inputs; i++)
		if (open_input(s, i, schema, err) < 0)
			return -1;
	for (size_t o = 0; o < s->n_outputs; o++)
		if (open_output(s, o, schema, err) < 0)
			return -1;
	if (nn_session_lengths_open(&s->lengths, s->program, nn_graph_queue(s->graph), s->max_rows,
				    err) < 0 ||
	    open_edges(s, NN_SIDE_COMING, err) < 0)
		return -1;
	return open_edges(s, NN_SIDE_GOING, err);
}

int nn_session_new(struct nn_session **session, const struct nn_session_setup *setup,
		   struct nn_error *err)
{
	struct nn_session *s = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	s->model = setup->model;
	s->program = setup->program ? setup->program : setup->model->program;
	s->steps = setup->program && setup->model;
	s->device = setup->model ? setup->model->device : setup->device;
	s->max_rows = setup->max_rows;
	if (setup->model)
		s->part = setup->model->part;
	if (open_session(s, setup, err) < 0) {
		nn_session_close(s);
		return -1;
	}
	*session = s;
	return 0;
}

struct nn_session *nn_session_open(const struct nn_model *model,
				   const struct nn_session_options *options, struct nn_error *err)
{
	struct nn_session_options o = { 0 }; /* what a caller of an older nn.h does not know */
	struct nn_session_setup setup = { .model = model };
	struct nn_session *s = NULL;
	struct nn_pool *threads = NULL;
	uint64_t before;

	if (options && options->size < sizeof options->size) {
		nn_fail(err, NN_EUSAGE, "nn_session_open: options.size is not set");
		return NULL;
	}
	if (options)
		memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
	setup.max_rows = o.max_rows ? o.max_rows : 64;
	if (o.threads > 1 && nn_pool_new(&threads, o.threads, err) < 0)
		return NULL;
	setup.pool = threads;
	before = nn_flush_set(true);
	if (nn_session_new(&s, &setup, err) < 0)
		nn_pool_free(threads);
	else
		s->threads = threads;
	nn_flush_restore(before);
	return s;
}

void nn_session_close(struct nn_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->inputs && i < s->n_inputs; i++)
		nn_transform_fini(&s->inputs[i].transform);
	for (size_t o = 0; s->outputs && o < s->n_outputs; o++)
		nn_transform_fini(&s->outputs[o].transform);
	nn_free(s->inputs);
	nn_free(s->outputs);
	close_edges(s, NN_SIDE_COMING);
	close_edges(s, NN_SIDE_GOING);
	if (s->lengths.longest)
		nn_session_lengths_close(&s->lengths);
	nn_graph_free(s->graph);
	nn_pool_free(s->threads);
	nn_free(s);
}

int nn_session_load(struct nn_session *s, const void *const *params, struct nn_error *err)
{
	return nn_graph_load(s->graph, params, err);
}

/* ---- what it is ---- */

size_t nn_session_max_rows(const struct nn_session *s)
{
	return s->max_rows;
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
	return input < s->n_inputs ? s->inputs[input].transform.size : 0;
}

size_t nn_session_output_size(const struct nn_session *s, size_t output)
{
	return output < s->n_outputs ? s->outputs[output].transform.size : 0;
}

static size_t steps_of(const struct nn_session *s, int value)
{
	return s->program->values[value].lengths ? s->lengths.longest : 0;
}

size_t nn_session_steps(const struct nn_session *s, size_t input)
{
	return input < s->n_inputs ? steps_of(s, s->program->inputs[input]) : 0;
}

size_t nn_session_output_steps(const struct nn_session *s, size_t output)
{
	return output < s->n_outputs ? steps_of(s, s->program->outputs[output].value) : 0;
}

const char *nn_session_output_name(const struct nn_session *s, size_t output)
{
	const char *name = output < s->n_outputs ? s->program->outputs[output].name : NULL;

	return name ? name : "";
}

/* ---- a batch ---- */

static size_t row_bytes(const struct nn_session *s, const struct nn_transform *transform)
{
	return transform->size * nn_dtype_size(s->device->dtype);
}

/* The graph reads its own memory again. */
static void take_back(struct nn_session *s, size_t input)
{
	struct input *in = &s->inputs[input];

	if (in->lent)
		nn_graph_borrow(s->graph, (int)input, in->rows);
	in->lent = false;
}

void *nn_session_place(struct nn_session *s, size_t input, size_t first, bool *channels_last)
{
	struct input *in = &s->inputs[input];

	take_back(s, input);
	*channels_last = in->channels_last;
	return (char *)in->rows + first * row_bytes(s, &in->transform);
}

void nn_session_put(struct nn_session *s, size_t input, size_t first, size_t n, const void *rows,
		    enum nn_dtype dtype)
{
	bool channels_last;
	void *place = nn_session_place(s, input, first, &channels_last);

	nn_transform_in(&s->inputs[input].transform, rows, dtype, n, place);
}

void nn_session_lend(struct nn_session *s, size_t input, size_t n, const void *rows,
		     enum nn_dtype dtype)
{
	struct input *in = &s->inputs[input];

	if (nn_transform_is_identity(&in->transform, dtype) &&
	    (nn_graph_only_multiplies(s->graph, (int)input) ||
	     !nn_has_subnormal(rows, n * in->transform.size, dtype)) &&
	    nn_graph_borrow(s->graph, (int)input, rows))
		in->lent = true;
	else
		nn_session_put(s, input, 0, n, rows, dtype);
}

void nn_session_gather(struct nn_session *s, size_t input, const void *there,
		       const uint32_t *numbers, size_t n)
{
	if (nn_graph_reads(s->graph, (int)input))
		nn_graph_gather(s->graph, (int)input, there, numbers, n);
	s->inputs[input].there = true;
}

struct nn_queue *nn_session_queue(const struct nn_session *s)
{
	return nn_graph_queue(s->graph);
}

void nn_session_set_lengths(struct nn_session *s, size_t first, size_t n, const uint32_t *lengths)
{
	nn_session_lengths_set(&s->lengths, first, n, lengths);
}

size_t nn_session_length(const struct nn_session *s, size_t row)
{
	return s->lengths.longest ? ((const uint32_t *)s->lengths.rows.host)[row] : 0;
}

static size_t edge_bytes(const struct nn_session *s, enum nn_graph_side side, size_t i)
{
	return nn_graph_edge(s->graph, side, i).row_bytes;
}

static void send(struct nn_session *s, size_t n)
{
	for (size_t i = 0; i < s->n_inputs && s->part.rank == 0; i++) {
		if (!s->inputs[i].there)
			nn_graph_send(s->graph, (int)i, n);
		s->inputs[i].there = false;
	}
	for (size_t i = 0; i < nn_graph_edges(s->graph, NN_SIDE_COMING); i++)
		nn_mirror_send(&s->edges[NN_SIDE_COMING][i], nn_graph_queue(s->graph), 0,
			       n * edge_bytes(s, NN_SIDE_COMING, i));
}

static void fetch(struct nn_session *s, size_t n)
{
	bool last = s->part.rank + 1 >= s->part.ranks;

	for (size_t o = 0; o < s->n_outputs && last; o++)
		s->outputs[o].raw = nn_graph_fetch(s->graph, (int)o, n);
	for (size_t i = 0; i < nn_graph_edges(s->graph, NN_SIDE_GOING); i++)
		nn_mirror_fetch(&s->edges[NN_SIDE_GOING][i], nn_graph_queue(s->graph), 0,
				n * edge_bytes(s, NN_SIDE_GOING, i));
}

void nn_session_time(struct nn_session *s, struct nn_session_times *times)
{
	s->times = nn_graph_queue(s->graph) ? times : NULL;
}

static void moment(struct nn_session *s, int which)
{
	struct nn_queue *queue = nn_graph_queue(s->graph);

	if (s->times)
		queue->remote->moment(queue, which);
}

static void add_times(struct nn_session *s)
{
	struct nn_queue *queue = nn_graph_queue(s->graph);

	s->times->in += queue->remote->between(queue, 0, 1);
	s->times->compute += queue->remote->between(queue, 1, 2);
	s->times->out += queue->remote->between(queue, 2, 3);
	s->times->runs++;
}

int nn_session_run(struct nn_session *s, size_t n, struct nn_error *err)
{
	struct nn_span span = { .rows = n, .step = s->steps ? s->step++ : 0 };

	span.lengths = nn_session_lengths_run(&s->lengths, n);
	moment(s, 0);
	send(s, n);
	moment(s, 1);
	if (!s->model || !s->model->passing)
		nn_graph_forward(s->graph, &span);
	else if (nn_model_pass(s->model, s->graph, &span, err) < 0)
		return -1;
	moment(s, 2);
	fetch(s, n);
	moment(s, 3);
	if (nn_queue_wait(nn_graph_queue(s->graph), err) < 0)
		return -1;
	if (s->times)
		add_times(s);
	return 0;
}

size_t nn_session_edges(const struct nn_session *s, enum nn_graph_side side)
{
	return nn_graph_edges(s->graph, side);
}

struct nn_session_edge nn_session_edge(const struct nn_session *s, enum nn_graph_side side,
				       size_t edge)
{
	return (struct nn_session_edge){ s->edges[side][edge].host, edge_bytes(s, side, edge) };
}

size_t nn_session_raw_bytes(const struct nn_session *s, size_t output)
{
	return row_bytes(s, &s->outputs[output].transform);
}

void nn_session_answer(struct nn_session *s, size_t output, const void *raw)
{
	s->outputs[output].raw = raw;
}

const void *nn_session_raw(const struct nn_session *s, size_t output, size_t first)
{
	const struct output *out = &s->outputs[output];

	return (const char *)out->raw + first * row_bytes(s, &out->transform);
}

void nn_session_get(const struct nn_session *s, size_t output, size_t first, size_t n, void *values,
		    enum nn_dtype dtype)
{
	nn_transform_out(&s->outputs[output].transform, nn_session_raw(s, output, first), n, values,
			 dtype);
}
