/* A training of one process without a run around it. */
#include "base/memory.h"
#include "model/model.h"
#include "parallel/strategy.h"
#include "plan/alone.h"

struct nn_layout nn_alone_layout(void)
{
	static const struct nn_parallel_options none;

	return (struct nn_layout){
		.options = &none, .strategy = &nn_strategy_sync, .sharing = 1, .on_host = 1
	};
}

static int load(struct nn_alone *a, const struct nn_task *task, const void *const *params,
		struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(a->worker.step);
	void **initial;
	int status = -1;

	if (params)
		return nn_graph_load(graph, params, err);
	initial = nn_params_new(task->program, task->device->dtype, err);
	if (initial && nn_net_init(task->net, task->seed, task->device->dtype, initial, err) == 0)
		status = nn_graph_load(graph, (const void *const *)initial, err);
	nn_free(initial);
	return status;
}

int nn_alone_open(struct nn_alone *a, const struct nn_task *task,
		  const struct nn_step_options *step, const void *const *params,
		  struct nn_error *err)
{
	struct nn_loader_options drawn = { .source = nn_dataset_source(task->dataset),
					   .augment = task->augment,
					   .n = task->n_rows,
					   .batch = step->batch,
					   .seed = step->seed,
					   .window = task->window,
					   .prefetch = true };

	*a = (struct nn_alone){ .layout = nn_alone_layout(), .self.size = 1 };
	a->self.whole = a->layout.comm = &a->self;
	a->worker = (struct nn_worker){
		.task = task, .layout = &a->layout, .counters = &a->counters, .loader = &a->loader
	};
	drawn.rows = a->rows = nn_alloc(task->n_rows, sizeof *a->rows, err);
	for (uint64_t i = 0; a->rows && i < task->n_rows; i++)
		a->rows[i] = i;
	if (!a->rows || nn_loader_init(&a->loader, &drawn, err) < 0 ||
	    nn_step_new(&a->worker.step, step, err) < 0)
		return -1;
	return load(a, task, params, err);
}

void nn_alone_close(struct nn_alone *a)
{
	nn_step_free(a->worker.step);
	nn_loader_fini(&a->loader);
	nn_free(a->rows);
	*a = (struct nn_alone){ 0 };
}

int nn_alone_step(struct nn_alone *a, uint64_t number, double lr, struct nn_step_result *result,
		  struct nn_error *err)
{
	const struct nn_strategy_update update = { .number = number, .lr = lr };
	struct nn_control wish = { 0 };

	return a->layout.strategy->step(&a->worker, &update, &wish, result, err);
}
