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

/* From the file to where they are packed. */
static int load_file(struct nn_model *model, int threads, struct nn_error *err)
{
	struct nn_graph_values values = { get, model };
	struct nn_pool *pool = NULL;
	int status = 0;

	if (threads != 0 && nn_graph_block(model->weights) >= WORTH_THREADS / sizeof(float)) {
		threads = threads < 0 ? nn_cpu_count() : threads;
		threads = threads < MOST_THREADS ? threads : MOST_THREADS;
		status = nn_pool_new(&pool, threads, err);
	}
	if (status == 0)
		status = nn_graph_load_values(model->weights, &values, pool, err);
	nn_pool_free(pool);
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
		return -1;
	if (source->params)
		return nn_graph_load(model->weights, source->params, err);
	if (load_file(model, source->threads, err) < 0)
		return -1;
	nn_model_file_drop(model->file);
	return 0;
}
