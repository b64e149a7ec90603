/* Samples for the inputs of a program. */
#include "base/memory.h"
#include "step/made.h"

int nn_made_samples(struct nn_dataset **dataset, const struct nn_program *program,
		    const struct nn_made_target *targets, size_t rows, enum nn_dtype dtype,
		    uint64_t seed, struct nn_error *err)
{
	size_t n = (size_t)program->n_inputs;
	struct nn_shape *shapes = nn_alloc(n, sizeof *shapes, err);
	size_t *categories = nn_alloc(n, sizeof *categories, err);
	struct nn_made made = { .rows = rows,
				.inputs = shapes,
				.categories = categories,
				.n_inputs = n,
				.targets = targets,
				.n_targets = (size_t)program->n_outputs,
				.dtype = dtype,
				.seed = seed };
	int status = -1;

	for (size_t i = 0; shapes && categories && i < n; i++) {
		shapes[i] = program->values[program->inputs[i]].shape;
		categories[i] = nn_program_categories(program, (int)i);
	}
	if (shapes && categories)
		status = nn_dataset_make(dataset, &made, err);
	nn_free(shapes);
	nn_free(categories);
	return status;
}
