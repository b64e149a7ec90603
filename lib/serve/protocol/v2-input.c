/* .../infer: an input, from its JSON or from the bytes behind it. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "serve/protocol/feed.h"
#include "serve/protocol/v2-members.h"

struct tensor {
	struct nn_v2_bodies *infer;
	size_t input; /* SIZE_MAX: its name has not come yet */
	enum nn_datatype type;
	size_t dims[NN_PULL_RANK], count;
	unsigned rank;
	bool shaped, read, cells, binary; /* read: data have come; cells: as such */
	size_t first, bytes;
	struct nn_pull_dims nesting;
};

static int take_input_name(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;

	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected the name of an input");
	if (nn_feed_find(q, q->pull.text, q->pull.length, &t->input) < 0)
		return -1;
	if (nn_query_fed(q, t->input)->kind != NN_FED_NOT)
		return nn_pull_fail(&q->pull, "found the input \"%s\" twice",
				    q->served->inputs[t->input].name);
	return 0;
}

static int take_shape(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;
	uint64_t dims[NN_PULL_RANK];
	struct nn_pull_dims nesting;

	if (nn_pull_u64s(&q->pull, dims, NN_PULL_RANK, &nesting) < 0)
		return -1;
	if (nesting.rank != 1)
		return nn_pull_fail(&q->pull, "expected a shape, an array of whole numbers");
	t->shaped = true;
	t->rank = (unsigned)nesting.count;
	t->count = 1;
	for (unsigned i = 0; i < t->rank; i++) {
		t->dims[i] = dims[i];
		if (!nn_mul(t->count, t->dims[i], &t->count))
			return nn_pull_fail(&q->pull,
					    "the shape has more values than can be counted");
	}
	return 0;
}

static int take_datatype(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;
	char quoted[NN_QUOTED];

	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected a datatype");
	t->type = nn_datatype_find(q->pull.text, q->pull.length);
	if (t->type == NN_DATATYPES)
		return nn_pull_fail(
			&q->pull,
			"found the datatype %s, expected FP32, BYTES or another of the protocol",
			nn_quote(quoted, q->pull.text, q->pull.length));
	return 0;
}

static int take_binary_size(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;

	t->binary = true;
	return nn_v2_take_count(q, &t->bytes);
}

static int take_input_parameters(struct nn_query *q, void *arg)
{
	static const struct nn_v2_member members[] = { { "binary_data_size", take_binary_size } };

	return NN_V2_TAKE_OBJECT(q, members, arg);
}

/* Floats go to their place where it is known by then that they are; else they are kept. */
static int take_data(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;

	t->read = true;
	if (t->input != SIZE_MAX && (t->type == NN_DT_FP32 || t->type == NN_DT_FP64) &&
	    !q->served->table)
		return nn_feed_json(q, t->input, &t->nesting);
	t->cells = true;
	return nn_feed_any(q, false, &t->first, &t->nesting);
}

static void put_dims(struct nn_text *text, const size_t *dims, unsigned rank)
{
	for (unsigned i = 0; i < rank; i++)
		nn_text_addf(text, "%s%zu", i ? "," : "", dims[i]);
}

/* As many values as there should be, in other lists. */
static int fail_nested(struct nn_query *q, const struct tensor *t)
{
	struct nn_text found = { 0 }, wanted = { 0 };

	put_dims(&found, t->nesting.size, t->nesting.rank);
	put_dims(&wanted, t->dims, t->rank);
	nn_query_fail(q, 400,
		      "input \"%s\": the data do not have its shape: found lists of [%s], expected "
		      "[%s] or one list of %zu",
		      q->served->inputs[t->input].name, found.failed ? "" : found.data,
		      wanted.failed ? "" : wanted.data, t->count);
	nn_text_free(&found);
	nn_text_free(&wanted);
	return -1;
}

/* Data are flat or nested as the shape says. */
static int check_data(struct nn_query *q, const struct tensor *t)
{
	const struct nn_pull_dims *nesting = &t->nesting;
	bool same = nesting->rank == t->rank;

	for (unsigned i = 0; same && i < t->rank; i++)
		same = nesting->size[i] == t->dims[i];
	if (nesting->count == t->count && (same || nesting->rank == 1))
		return 0;
	if (nesting->count == t->count)
		return fail_nested(q, t);
	return nn_query_fail(
		q, 400, "input \"%s\": the data (%zu value%s) do not have its shape (%zu value%s)",
		q->served->inputs[t->input].name, nesting->count, nn_s(nesting->count), t->count,
		nn_s(t->count));
}

static int finish_tensor(struct nn_query *q, struct tensor *t)
{
	const char *name = t->input < q->served->n_inputs ? q->served->inputs[t->input].name : NULL;

	if (!name || !t->shaped || t->type == NN_DT_ANY)
		return nn_query_fail(q, 400, "an input has no \"%s\"",
				     !name        ? "name"
				     : !t->shaped ? "shape"
						  : "datatype");
	if (t->read == t->binary)
		return nn_query_fail(q, 400,
				     "input \"%s\": expected \"data\" or \"binary_data_size\", %s",
				     name, t->read ? "not both" : "found neither");
	if (nn_feed_shape(q, t->input, t->dims, t->rank) < 0)
		return -1;
	if (t->binary) {
		if (t->bytes > t->infer->left)
			return nn_query_fail(
				q, 400,
				"input \"%s\": expected %zu byte%s behind the JSON, found %zu",
				name, t->bytes, nn_s(t->bytes), t->infer->left);
		t->infer->raw += t->bytes;
		t->infer->left -= t->bytes;
		return nn_feed_binary(q, t->input, t->type, t->infer->raw - t->bytes, t->bytes,
				      t->count);
	}
	if (t->type == NN_DT_FP16 || t->type == NN_DT_BF16)
		return nn_query_fail(q, 400,
				     "input \"%s\": %s has no JSON form, send it as binary data",
				     name, nn_datatype_names[t->type]);
	if (check_data(q, t) < 0)
		return -1;
	return t->cells ? nn_feed_cells(q, t->input, t->type, t->first, t->count) : 0;
}

static int take_input(struct nn_query *q, void *arg)
{
	static const struct nn_v2_member members[] = {
		{ "name", take_input_name },   { "shape", take_shape },
		{ "datatype", take_datatype }, { "parameters", take_input_parameters },
		{ "data", take_data },
	};
	struct tensor t = { .infer = arg, .input = SIZE_MAX };

	return NN_V2_TAKE_OBJECT(q, members, &t) < 0 ? -1 : finish_tensor(q, &t);
}

int nn_v2_take_inputs(struct nn_query *q, void *arg)
{
	return nn_v2_take_array(q, take_input, arg);
}
