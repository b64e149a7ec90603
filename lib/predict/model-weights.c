/* A model's file and weights: all of them, or those of a rank. */
#include "base/memory.h"
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

/* Parameters that are here; NULL where they lie in the file as they are wanted. */
static int count_params(const struct nn_model *model, size_t *counts, bool *here,
			struct nn_error *err)
{
	const struct nn_program *program = model->program;
	const struct nn_part_cut cut = { .first = model->part.first, .last = model->part.last };

	for (int i = 0; i < program->n_params; i++)
		here[i] = !model->part.ranks;
	if (model->part.ranks && nn_part_params(&cut, program, here, err) < 0)
		return -1;
	for (int i = 0; i < program->n_params; i++)
		counts[i] = here[i] && !nn_model_file_values(model->file, model->device->dtype, i)
				    ? nn_shape_count(&program->params[i].desc.shape)
				    : 0;
	return 0;
}

/* Of its file: params[n_params], nn_free. */
static const void **read_params(const struct nn_model *model, void ***own, struct nn_error *err)
{
	size_t n = (size_t)model->program->n_params;
	enum nn_dtype dtype = model->device->dtype;
	const void **params = nn_alloc(n + 1, sizeof *params, err);
	size_t *counts = nn_alloc(n + 1, sizeof *counts, err);
	bool *here = nn_alloc(n + 1, sizeof *here, err);
	int status = params && counts && here ? count_params(model, counts, here, err) : -1;

	*own = status == 0 ? nn_params_some(model->program, dtype, counts, err) : NULL;
	if (!*own || nn_model_file_params(model->file, dtype, *own, err) < 0) {
		nn_free(params);
		params = NULL;
	}
	for (size_t i = 0; params && i < n; i++)
		params[i] = !here[i]    ? NULL
			    : (*own)[i] ? (*own)[i]
					: nn_model_file_values(model->file, dtype, (int)i);
	nn_free(counts);
	nn_free(here);
	return params;
}

int nn_model_load_weights(struct nn_model *model, const void *const *params, struct nn_error *err)
{
	struct nn_graph_options options = { .device = model->device,
					    .max_rows = 1,
					    .first = model->part.first,
					    .last = model->part.last };
	const void **read = NULL;
	void **own = NULL;
	int status = 0;

	if (!params) {
		params = read = read_params(model, &own, err);
		status = read ? 0 : -1;
	}
	if (status == 0)
		status = nn_graph_bind(&model->weights, model->program, &options, err);
	if (status == 0)
		status = nn_graph_load(model->weights, params, err);
	nn_free(own);
	nn_free(read);
	if (status == 0 && model->file)
		nn_model_file_drop(model->file);
	return status;
}
