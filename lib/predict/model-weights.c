/* A model's file and weights: all of them, or those of a rank. */
#include "base/memory.h"
#include "base/pool.h"
#include "predict/model.h"
#include "predict/part.h"

/* Which parameters of the file are this rank's. */
static int choose_params(void *arg, const struct nn_program *program, bool *wanted,
			 struct nn_error *err)
{
	struct nn_part_cut cuts[NN_MOST_PARTS];
	struct nn_model_part *part = arg;

	if (nn_part_cuts(cuts, part->ranks, program, err) < 0)
		return -1;
	part->first = cuts[part->rank].first;
	part->last = cuts[part->rank].last;
	return nn_part_params(&cuts[part->rank], program, wanted, err);
}

int nn_model_read_file(struct nn_model *model, const struct nn_model_source *source,
		       struct nn_error *err)
{
	struct nn_params_choice choice = { choose_params, &model->part };

	model->part = source->part;
	if (!model->part.ranks)
		return nn_model_file_read(&model->file, source->path, source->as, err);
	return nn_model_file_read_some(&model->file, source->path, &choice, err);
}

/* What is worth threads, and how many of them. */
#define WORTH_THREADS ((size_t)4 << 20)
#define MOST_THREADS 8

static const void *get(void *arg, int param, size_t first, size_t n, void *room,
		       struct nn_error *err)
{
	const struct nn_model *model = arg;

	return nn_model_file_some(model->file, model->device->dtype, param, first, n, room, err);
}

/* NULL: the caller alone. */
static int open_pool(struct nn_pool **pool, const struct nn_model *model, struct nn_error *err)
{
	int threads = model->threads;

	*pool = NULL;
	if (threads == 0 || nn_graph_block(model->weights) < WORTH_THREADS / sizeof(float))
		return 0;
	threads = threads < 0 ? nn_cpu_count() : threads;
	return nn_pool_new(pool, threads < MOST_THREADS ? threads : MOST_THREADS, err);
}

/* From the file to where they are packed. */
static int load_file(struct nn_model *model, enum nn_graph_load which, struct nn_error *err)
{
	struct nn_graph_values values = { get, model };
	struct nn_pool *pool;
	int status;

	if (open_pool(&pool, model, err) < 0)
		return -1;
	status = nn_graph_load_values(model->weights, &values, which, pool, err);
	nn_pool_free(pool);
	if (status == 0 && which != NN_LOAD_SOME)
		nn_model_file_drop(model->file);
	return status;
}

int nn_model_load_weights(struct nn_model *model, const struct nn_model_source *source,
			  struct nn_error *err)
{
	struct nn_graph_options options = { .device = model->device,
					    .max_rows = 1,
					    .first = model->part.first,
					    .last = model->part.last };

	if (nn_graph_bind(&model->weights, model->program, &options, err) < 0)
		return err->code != NN_ENOMEM
			       ? -1
			       : nn_fail_at(err, "%s", source->path ? source->path : "-m");
	if (source->params)
		return nn_graph_load(model->weights, source->params, err);
	model->threads = source->threads;
	model->passing = source->passing && nn_graph_has_rest(model->weights);
	return load_file(model, model->passing ? NN_LOAD_SOME : NN_LOAD_ALL, err);
}

int nn_model_load_rest(struct nn_model *model, struct nn_error *err)
{
	if (!model->passing)
		return 0;
	model->passing = false;
	return load_file(model, NN_LOAD_REST, err);
}

int nn_model_pass(const struct nn_model *model, struct nn_graph *graph, const struct nn_span *span,
		  struct nn_error *err)
{
	struct nn_graph_values values = { get, (void *)(uintptr_t)model };
	struct nn_pool *pool;
	int status;

	if (open_pool(&pool, model, err) < 0)
		return -1;
	status = nn_graph_pass(graph, span, &values, pool, err);
	nn_pool_free(pool);
	return status;
}
