/* A dataset without files: values that a seed decides, to measure or check a model with. */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "data/dataset.h"

/*
 * Value i of a stream: 24 random bits, which every type holds exactly (the finalizer of
 * SplitMix64).
 */
static uint32_t bits(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed << 40) + i * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((x ^ x >> 31) >> 40);
}

/* categories 0: as it is */
static void put(enum nn_dtype dtype, void *values, size_t i, uint32_t random, size_t categories)
{
	if (categories)
		nn_real_put(dtype, values, i, (double)(((uint64_t)random * categories) >> 24));
	else if (dtype == NN_U8)
		((uint8_t *)values)[i] = (uint8_t)random;
	else
		nn_real_put(dtype, values, i, random * 0x1p-24);
}

static int reserve(struct nn_block *block, size_t rows, size_t size, size_t element,
		   struct nn_error *err)
{
	size_t bytes;

	if (!nn_mul(rows, size, &bytes) || !nn_mul(bytes, element, &bytes))
		return nn_fail(err, NN_ENOMEM, "%zu rows exceed the address space", rows);
	return nn_block_reserve(block, bytes ? bytes : 1, err);
}

static int make_input(struct nn_dataset *ds, size_t i, const struct nn_shape *shape,
		      size_t categories, uint64_t seed, struct nn_error *err)
{
	struct nn_data_input *input = &ds->inputs[i];
	struct nn_input_schema *schema = &ds->schema->inputs[i];
	bool picture = shape->rank == 3 && !categories;
	enum nn_dtype dtype = picture ? NN_U8 : ds->dtype;
	size_t size = nn_shape_count(shape);

	schema->shape = *shape;
	schema->scale = picture ? 1.0 / 255 : 0;
	schema->rows = categories;
	if (reserve(&input->array.block, ds->rows, size, nn_dtype_size(dtype), err) < 0)
		return -1;
	input->array.data = input->array.block.data;
	for (size_t k = 0; k < ds->rows * size; k++)
		put(dtype, input->array.block.data, k, bits(seed + 2 * i, k), categories);
	input->source = (struct nn_row_block){ input->array.data, dtype, size, NULL, picture };
	return nn_coding_input(ds->coding, i, schema, false, err);
}

static int make_target(struct nn_dataset *ds, size_t i, const struct nn_made_target *made,
		       uint64_t seed, struct nn_error *err)
{
	struct nn_data_target *target = &ds->targets[i];
	size_t n = ds->rows * made->size;

	target->classes = made->classes > 0;
	target->size = made->size;
	if (reserve(&target->values, ds->rows, made->size,
		    target->classes ? sizeof(int32_t) : nn_dtype_size(ds->dtype), err) < 0)
		return -1;
	for (size_t k = 0; k < n; k++) {
		uint32_t random = bits(seed + 2 * i + 1, k);

		if (target->classes)
			((int32_t *)target->values.data)[k] = (int32_t)(random % made->classes);
		else
			put(ds->dtype, target->values.data, k, random, 0);
	}
	ds->coding->targets[i].n_columns = made->size;
	return 0;
}

static int make(struct nn_dataset *ds, const struct nn_made *made, struct nn_error *err)
{
	struct nn_schema *schema = ds->schema = nn_alloc(1, sizeof *schema, err);

	if (!schema)
		return -1;
	schema->inputs = nn_alloc(made->n_inputs, sizeof *schema->inputs, err);
	schema->targets = nn_alloc(made->n_targets, sizeof *schema->targets, err);
	ds->inputs = nn_alloc(made->n_inputs, sizeof *ds->inputs, err);
	ds->targets = nn_alloc(made->n_targets, sizeof *ds->targets, err);
	if (!schema->inputs || !schema->targets || !ds->inputs || !ds->targets)
		return -1;
	schema->n_inputs = made->n_inputs;
	schema->n_targets = made->n_targets;
	if (nn_coding_new(&ds->coding, schema, ds->dtype, err) < 0)
		return -1;
	for (size_t i = 0; i < made->n_inputs; i++)
		if (make_input(ds, i, &made->inputs[i], made->categories[i], made->seed, err) < 0)
			return -1;
	for (size_t i = 0; i < made->n_targets; i++)
		if (make_target(ds, i, &made->targets[i], made->seed, err) < 0)
			return -1;
	return 0;
}

int nn_dataset_make(struct nn_dataset **dataset, const struct nn_made *made, struct nn_error *err)
{
	struct nn_dataset *ds = nn_alloc(1, sizeof *ds, err);

	if (!ds)
		return -1;
	ds->rows = made->rows;
	ds->rows_known = true;
	ds->dtype = made->dtype;
	ds->rules.normalize = NN_NORMALIZE_NONE;
	if (make(ds, made, err) < 0) {
		nn_dataset_free(ds);
		return -1;
	}
	*dataset = ds;
	return 0;
}
