/* Rows of formats that are read whole, as for training, and given one after another. */
#include "data/rows.h"

static int open_whole(struct nn_rows *r, bool targets, struct nn_error *err)
{
	struct nn_known known = { .schema = (struct nn_schema *)r->schema,
				  .coding = r->coding,
				  .dtype = r->dtype };

	return nn_dataset_open_whole(&r->whole, r->input, r->format, targets, &known, err);
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	size_t rows = nn_dataset_rows(r->whole);

	for (; out->n < out->max && r->at < rows; out->n++) {
		uint64_t row = r->at++;

		for (size_t i = 0; i < r->schema->n_inputs; i++)
			nn_dataset_fill_input(
				r->whole, i, &row, 1, r->channels_last && r->channels_last[i],
				(char *)out->inputs[i] + out->n * r->coding->inputs[i].size *
								 nn_dtype_size(r->dtype));
		if (r->scored && nn_rows_put_scored(r, out, err) < 0)
			return -1;
		for (size_t t = 0; !r->scored && out->targets && r->options.want_target &&
				   t < r->schema->n_targets;
		     t++) {
			size_t bytes = nn_dataset_target_classes(r->whole, t)
					       ? sizeof(int32_t)
					       : nn_dtype_size(r->dtype);

			nn_dataset_fill_target(
				r->whole, t, &row, 1,
				(char *)out->targets[t] +
					out->n * nn_dataset_target_size(r->whole, t) * bytes);
		}
	}
	r->ended = r->at == rows;
	return 0;
}

static int ready(struct nn_rows *r, struct nn_error *err)
{
	(void)r;
	(void)err;
	return 1;
}

static int64_t total(const struct nn_rows *r)
{
	return (int64_t)nn_dataset_rows(r->whole);
}

const struct nn_rows_ops nn_rows_whole = { open_whole, next_rows, ready, total };
