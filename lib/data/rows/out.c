/*
 * What becomes of a row for prediction besides its values: targets, also of a file of their own,
 * and where it is bad zeros and a reason.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/rows/rows.h"

void nn_rows_set_output(struct nn_rows *r, size_t target, const struct nn_shape *output)
{
	nn_coding_set_output(r->coding, target, output);
}

bool nn_rows_target_classes(const struct nn_rows *r, size_t target)
{
	if (r->scored || (r->whole && r->options.want_target))
		return nn_dataset_target_classes(r->scored ? r->scored : r->whole, target);
	return r->schema->targets[target].labels && r->schema->targets[target].n_columns == 1;
}

size_t nn_rows_target_size(const struct nn_rows *r, size_t target)
{
	if (r->scored || (r->whole && r->options.want_target))
		return nn_dataset_target_size(r->scored ? r->scored : r->whole, target);
	return r->schema->targets[target].n_columns;
}

static void put_zeros(struct nn_rows *r, struct nn_rows_out *out)
{
	size_t real = nn_dtype_size(r->dtype);

	for (size_t i = 0; i < r->schema->n_inputs; i++) {
		size_t bytes = r->coding->inputs[i].size * real;

		memset((char *)out->inputs[i] + out->n * bytes, 0, bytes);
	}
	for (size_t t = 0; out->targets && r->options.want_target && t < r->schema->n_targets;
	     t++) {
		size_t size = nn_rows_target_size(r, t);

		if (nn_rows_target_classes(r, t))
			memset((int32_t *)out->targets[t] + out->n * size, 0xff,
			       size * sizeof(int32_t));
		else
			memset((char *)out->targets[t] + out->n * size * real, 0, size * real);
	}
}

int nn_rows_put_scored(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	uint64_t row = r->scored_at++;

	if (row >= nn_dataset_rows(r->scored))
		return nn_fail(err, NN_EFORMAT, "%s: found %zu row%s, but %s has more",
			       r->scored->files.n ? r->scored->files.file[0].path
						  : nn_input_name(r->input),
			       nn_dataset_rows(r->scored), nn_s(nn_dataset_rows(r->scored)),
			       nn_input_name(r->input));
	for (size_t t = 0; out && out->targets && t < r->schema->n_targets; t++) {
		size_t size = nn_dataset_target_size(r->scored, t);
		size_t bytes = nn_dataset_target_classes(r->scored, t) ? sizeof(int32_t)
								       : nn_dtype_size(r->dtype);

		nn_dataset_fill_target(r->scored, t, &row, 1,
				       (char *)out->targets[t] + out->n * size * bytes);
	}
	return 0;
}

int nn_rows_take_bad(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	struct nn_error none;

	if (r->options.on_error == NN_ON_ERROR_FAIL)
		return -1;
	r->bad.n++;
	if (r->options.on_error == NN_ON_ERROR_SKIP)
		return 1;
	put_zeros(r, out);
	if (!out->bad)
		return 2;
	if (nn_block_reserve(&r->bad.texts, (r->bad.n_texts + 1) * sizeof err->text, &none) < 0)
		return -1;
	memcpy(nn_block_at(&r->bad.texts, r->bad.n_texts++ * sizeof err->text), err->text,
	       sizeof err->text);
	out->bad[out->n] = err->text; /* a sign; the place is known when the block is complete */
	return 2;
}

void nn_rows_place_bad(struct nn_rows *r, struct nn_rows_out *out)
{
	size_t k = 0;

	for (size_t i = 0; out->bad && i < out->n; i++)
		if (out->bad[i])
			out->bad[i] = (const char *)nn_block_at(&r->bad.texts,
								k++ * sizeof r->error.text);
}
