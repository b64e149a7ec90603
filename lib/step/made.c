/* Samples for the inputs of a program. */
#include "base/memory.h"
#include "step/made.h"

/* Classes where the loss compares them, else numbers. */
static struct nn_made_target target_of(const struct nn_program *program, int output,
				       enum nn_loss_kind loss)
{
	const struct nn_shape *shape = &program->values[program->outputs[output].value].shape;

	return loss == NN_LOSS_CROSS_ENTROPY ? (struct nn_made_target){ nn_shape_positions(shape),
									nn_shape_columns(shape) }
					     : (struct nn_made_target){ nn_shape_count(shape), 0 };
}

int nn_made_samples(struct nn_dataset **dataset, const struct nn_program *program,
		    const struct nn_loss_spec *losses, size_t rows, enum nn_dtype dtype,
		    uint64_t seed, struct nn_error *err)
{
	size_t n = (size_t)program->n_inputs, n_targets = (size_t)program->n_outputs;
	struct nn_shape *shapes = nn_alloc(n, sizeof *shapes, err);
	size_t *categories = nn_alloc(n, sizeof *categories, err);
	struct nn_made_target *targets = nn_alloc(n_targets, sizeof *targets, err);
	struct nn_made made = { .rows = rows,
				.inputs = shapes,
				.categories = categories,
				.n_inputs = n,
				.targets = targets,
				.n_targets = n_targets,
				.dtype = dtype,
				.seed = seed };
	int status = -1;

	if (shapes && categories && targets) {
		for (size_t i = 0; i < n; i++) {
			shapes[i] = program->values[program->inputs[i]].shape;
			categories[i] = nn_program_categories(program, (int)i);
		}
		for (size_t i = 0; i < n_targets; i++)
			targets[i] = target_of(program, (int)i, losses[i].kind);
		status = nn_dataset_make(dataset, &made, err);
	}
	nn_free(shapes);
	nn_free(categories);
	nn_free(targets);
	return status;
}
