/* Rows of formats that are read whole, as for training, and given one after another. */
#include "data/loader.h"
#include "data/rows/rows.h"

static int open_whole(struct nn_rows *r, bool targets, struct nn_error *err)
{
	struct nn_known known = { .schema = (struct nn_schema *)r->schema,
				  .coding = r->coding,
				  .dtype = r->dtype,
				  .target = r->target,
				  .weight = r->weight,
				  .passes = r->options.on_error != NN_ON_ERROR_FAIL };

	return nn_dataset_open_whole(&r->whole, r->input, r->format, targets, &known, err);
}

int nn_rows_put_whole(struct nn_rows *r, struct nn_rows_out *out, uint64_t row,
		      struct nn_error *err)
{
	bool targets = !r->scored && out->targets && r->options.want_target;
	struct nn_source source = nn_dataset_source(r->whole);
	struct nn_batch batch = nn_batch_of(&source, &row, 1);

	if (source.ops->lengths && out->beside && out->beside->lengths &&
	    source.ops->lengths(source.data, &row, 1, out->beside->lengths + out->n, err) < 0)
		return -1;
	if (out->beside && out->beside->weights && r->whole->weights)
		out->beside->weights[out->n] = r->whole->weights[row];
	for (size_t i = 0; i < r->schema->n_inputs; i++) {
		struct nn_place place = {
			.row_bytes = r->coding->inputs[i].size * nn_dtype_size(r->dtype),
			.copies = 1,
			.channels_last = r->channels_last && r->channels_last[i]
		};

		place.values = (char *)out->inputs[i] + out->n * place.row_bytes;
		if (nn_batch_input(&batch, i, 0, 1, &place, NULL, err) < 0)
			return -1;
	}
	for (size_t t = 0; targets && t < r->schema->n_targets; t++) {
		size_t bytes = nn_dataset_target_classes(r->whole, t) ? sizeof(int32_t)
								      : nn_dtype_size(r->dtype);

		if (nn_batch_target(&batch, t, 0, 1,
				    (char *)out->targets[t] +
					    out->n * nn_dataset_target_size(r->whole, t) * bytes,
				    err) < 0)
			return -1;
	}
	return 0;
}

/* The next row, unless it was bad when it was read. */
static int put_next(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	const struct nn_bad_row *bad = nn_bad_row(&r->whole->bad, r->bad_at);

	if (!bad || bad->row != r->at)
		return nn_rows_put_whole(r, out, r->at++, err);
	r->at += bad->there;
	r->bad_at++;
	return nn_fail(err, NN_EFORMAT, "%s", bad->why);
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	size_t rows = nn_dataset_rows(r->whole);

	while (out->n < out->max && (r->at < rows || r->bad_at < r->whole->bad.n)) {
		int bad;

		bad = put_next(r, out, err) < 0 ? nn_rows_take_bad(r, out, err) : 0;
		if (bad < 0 || (r->scored && nn_rows_put_scored(r, bad ? NULL : out, err) < 0))
			return -1;
		out->n += bad != 1;
	}
	r->ended = r->at == rows && r->bad_at == r->whole->bad.n;
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
