/* Shapes of inputs, rows as objects, and inputs put together into the rows of a job. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "predict/encode.h"
#include "serve/protocol/feed.h"

/* ---- shapes ---- */

static const char *dims_text(char text[200], const size_t *dims, unsigned rank)
{
	size_t n = 1;

	strcpy(text, "[");
	for (unsigned i = 0; i < rank; i++)
		n += (size_t)snprintf(text + n, 200 - n, "%s%zu", i ? "," : "", dims[i]);
	strcpy(text + n, "]");
	return text;
}

/* Are these the dimensions of one row, of whatever length? */
static bool is_row(const struct nn_port *port, const size_t *dims, unsigned rank)
{
	if (!port->fixed)
		return rank == 0 || (rank == 1 && dims[0] == 1);
	if (rank != (unsigned)port->shape.rank)
		return port->steps && rank == 1 && dims[0] == 0;
	for (unsigned i = port->steps > 0; i < rank; i++)
		if (dims[i] != port->shape.dim[i])
			return false;
	return true;
}

/* rows: what stands before a row's own dimensions. */
static int wrong_shape(struct nn_query *q, const struct nn_port *port, const char *rows,
		       const size_t *dims, unsigned rank)
{
	unsigned skip = port->steps > 0;
	char found[200], wanted[200];

	dims_text(wanted, port->shape.dim + skip,
		  port->fixed ? (unsigned)port->shape.rank - skip : 0);
	return nn_query_fail(q, 400, "input \"%s\": found shape %s, expected [%s%s%s", port->name,
			     dims_text(found, dims, rank), rows,
			     *rows && wanted[1] != ']' ? "," : "", wanted + 1);
}

static int check_steps(struct nn_query *q, const struct nn_port *port, size_t row, size_t steps)
{
	return steps > 0 && steps <= port->steps
		       ? 0
		       : nn_query_fail(
				 q, 400,
				 "input \"%s\": row %zu has %zu step%s, the model takes 1 to %zu",
				 port->name, row + 1, steps, nn_s(steps), port->steps);
}

int nn_feed_shape(struct nn_query *q, size_t input, const size_t *dims, unsigned rank)
{
	const struct nn_port *port = &q->served->inputs[input];

	/* No rows at all need not say of what they are none. */
	if (rank == 0 || !(is_row(port, dims + 1, rank - 1) || (rank == 1 && dims[0] == 0)))
		return wrong_shape(q, port, port->steps ? "-1,-1" : "-1", dims, rank);
	nn_query_fed(q, input)->rows = dims[0];
	if (!port->steps || dims[0] == 0)
		return 0;
	nn_query_fed(q, input)->steps = dims[1];
	return check_steps(q, port, 0, dims[1]);
}

int nn_feed_length(struct nn_query *q, size_t input, size_t row, const size_t *dims, unsigned rank)
{
	const struct nn_port *port = &q->served->inputs[input];

	if (!is_row(port, dims, rank)) {
		wrong_shape(q, port, "-1", dims, rank);
		return nn_fail_at(&q->error, "row %zu", row + 1);
	}
	if (check_steps(q, port, row, dims[0]) < 0 ||
	    nn_block_reserve(&q->lengths, (row + 1) * sizeof(uint32_t), &q->error) < 0)
		return -1;
	((uint32_t *)q->lengths.data)[row] = (uint32_t)dims[0];
	return 0;
}

/* Room for so many rows as the job has them: short ones may take much more than they did. */
static int reserve_rows(struct nn_query *q, size_t rows)
{
	size_t bytes;

	if (!nn_mul(rows, q->served->row_in * sizeof(float), &bytes) ||
	    (bytes > (size_t)256 << 20 && bytes > nn_memory_available() / 4))
		return nn_query_fail(q, 413, "%zu rows do not fit into memory", rows);
	return nn_block_reserve(&q->in, bytes, &q->error);
}

/* ---- a table's rows ---- */

/* Fields of row r are cells first[c] + r, or r * columns + c. */
static int encode(struct nn_query *q, bool by_row)
{
	const struct nn_served *served = q->served;
	size_t columns = served->n_inputs;
	const size_t *offsets = q->offsets.data;
	struct nn_encoder_unseen unseen = { 0 };
	const char **fields;
	char what[160];

	if (reserve_rows(q, q->job.rows) < 0 ||
	    nn_block_reserve(&q->out, columns * sizeof *fields, &q->error) < 0)
		return -1;
	fields = q->out.data;
	for (size_t r = 0; r < q->job.rows; r++) {
		for (size_t c = 0; c < columns; c++)
			fields[c] = q->cells.data + 1 +
				    offsets[by_row ? r * columns + c : nn_query_fed(q, c)->at + r];
		if (nn_model_encode_counting(served->model, fields,
					     (float *)q->in.data + r * served->row_in, &unseen,
					     &q->error) < 0)
			return nn_fail_at(&q->error, "row %zu", r + 1);
	}
	snprintf(what, sizeof what,
		 "%llu value%s of column \"%.60s\" %s not in the training data; %s as all zeros",
		 (unsigned long long)unseen.n, nn_s(unseen.n), served->inputs[unseen.field].name,
		 unseen.n == 1 ? "was" : "were", unseen.n == 1 ? "it counts" : "they count");
	nn_query_unseen(q, unseen.n, what);
	q->job.in = q->in.data;
	return 0;
}

/* ---- rows as objects ---- */

/* Where the numbers of an input begin in a row of a plain net. */
static size_t place_of(const struct nn_served *served, size_t input)
{
	size_t place = 0;

	for (size_t i = 0; i < input; i++)
		place += served->inputs[i].size;
	return place;
}

/* A row's values and, where it is shorter than can be, zeros. */
static void fill_up(float *to, const struct nn_port *port, const float *values, size_t n)
{
	memcpy(to, values, n * sizeof *to);
	memset(to + n, 0, (port->size - n) * sizeof *to);
}

/* What is too long has to be counted: it is read before it goes to its place. */
static int take_steps(struct nn_query *q, size_t row, size_t input)
{
	const struct nn_served *served = q->served;
	size_t most = q->exchange->bytes / 2 + 2;
	struct nn_pull_dims dims;

	if (nn_block_reserve(&q->values, most * sizeof(float), &q->error) < 0 ||
	    nn_pull_f32s(&q->pull, q->values.data, most, &dims) < 0 ||
	    nn_feed_length(q, input, row, dims.size, dims.rank) < 0)
		return -1;
	fill_up((float *)q->in.data + row * served->row_in + place_of(served, input),
		&served->inputs[input], q->values.data, dims.count);
	return 0;
}

static int take_member(struct nn_query *q, size_t row, size_t input)
{
	const struct nn_served *served = q->served;
	const struct nn_port *port = &served->inputs[input];
	struct nn_pull_dims dims;
	size_t first;

	if (served->table) {
		if (nn_feed_any(q, true, &first, &dims) < 0)
			return -1;
		if (!is_row(port, dims.size, dims.rank))
			return wrong_shape(q, port, "", dims.size, dims.rank);
		/* Members come in any order: each cell to its place. */
		nn_query_fed(q, input)->at = ((size_t *)q->offsets.data)[--q->n_cells];
		return 0;
	}
	if (port->steps)
		return take_steps(q, row, input);
	if (nn_pull_f32s(&q->pull,
			 (float *)q->in.data + row * served->row_in + place_of(served, input),
			 port->size, &dims) < 0)
		return -1;
	return is_row(port, dims.size, dims.rank) ? 0
						  : wrong_shape(q, port, "", dims.size, dims.rank);
}

/* {"b64": "..."} in place of the only input, a text; at its key. */
static bool is_base64(const struct nn_query *q)
{
	const struct nn_served *served = q->served;

	return served->n_inputs == 1 && served->inputs->text && nn_pull_is(&q->pull, "b64") &&
	       strcmp(served->inputs->name, "b64") != 0;
}

static int take_base64(struct nn_query *q)
{
	if (nn_feed_base64(q) < 0)
		return -1;
	nn_query_fed(q, 0)->at = ((size_t *)q->offsets.data)[--q->n_cells];
	return 0;
}

static int find_member(struct nn_query *q, size_t *input)
{
	const struct nn_served *served = q->served;

	/* They mostly come in the model's order. */
	if (*input < served->n_inputs && nn_pull_is(&q->pull, served->inputs[*input].name))
		return 0;
	return nn_feed_find(q, q->pull.text, q->pull.length, input);
}

/* A whole object, all inputs of a row. */
static int take_object(struct nn_query *q, size_t row)
{
	const struct nn_served *served = q->served;
	size_t n = 0, input = 0;
	enum nn_pull_kind kind;
	bool bytes = false;

	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull,
				    "expected an object whose keys are the %zu inputs of the model",
				    served->n_inputs);
	for (; (kind = nn_pull_next(&q->pull)) == NN_PULL_KEY; n++, input++) {
		if (n > 0 && (bytes || is_base64(q)))
			return nn_pull_fail(&q->pull,
					    "expected {\"b64\": \"...\"} and nothing else");
		bytes = is_base64(q);
		if (bytes)
			input = 0;
		else if (find_member(q, &input) < 0)
			return -1;
		nn_query_fed(q, input)->rows = row + 1;
		if ((bytes ? take_base64(q) : take_member(q, row, input)) < 0)
			return -1;
	}
	if (kind == NN_PULL_BAD)
		return -1;
	for (size_t i = 0; n < served->n_inputs && i < served->n_inputs; i++)
		if (nn_query_fed(q, i)->rows != row + 1)
			return nn_query_fail(q, 400, "row %zu: the input \"%s\" is missing",
					     row + 1, served->inputs[i].name);
	return 0;
}

/* The cells of a row, in the order of columns. */
static int keep_cells(struct nn_query *q)
{
	size_t n = q->served->n_inputs;

	if (nn_block_reserve(&q->offsets, (q->n_cells + n) * sizeof(size_t), &q->error) < 0)
		return -1;
	for (size_t c = 0; c < n; c++)
		((size_t *)q->offsets.data)[q->n_cells++] = nn_query_fed(q, c)->at;
	return 0;
}

int nn_feed_objects(struct nn_query *q)
{
	bool table = q->served->table, lengths = q->served->lengths;
	size_t rows = 0, most = q->exchange->bytes / 2 + q->served->row_in + 2;

	if (!table && nn_block_reserve(&q->in, most * sizeof(float), &q->error) < 0)
		return -1;
	if (nn_pull_next(&q->pull) != NN_PULL_ARRAY)
		return nn_pull_fail(&q->pull, "expected an array of rows");
	for (; nn_pull_peek(&q->pull) != NN_PULL_ARRAY_END; rows++)
		if ((lengths && reserve_rows(q, rows + 1) < 0) || take_object(q, rows) < 0 ||
		    (table && keep_cells(q) < 0))
			return -1;
	if (nn_pull_next(&q->pull) == NN_PULL_BAD)
		return -1;
	q->job.rows = rows;
	q->job.in = q->in.data;
	q->job.lengths = lengths && rows ? q->lengths.data : NULL;
	return table ? encode(q, true) : 0;
}

/* ---- inputs put together ---- */

/* Where the shape said it of all. */
static int spread_length(struct nn_query *q, const struct nn_fed *fed)
{
	if (nn_block_reserve(&q->lengths, q->job.rows * sizeof(uint32_t), &q->error) < 0)
		return -1;
	for (size_t r = 0; r < q->job.rows; r++)
		((uint32_t *)q->lengths.data)[r] = (uint32_t)fed->steps;
	return 0;
}

/* The rows of an input to their places; from: one after another as they came. */
static void place_rows(struct nn_query *q, size_t input, const float *from)
{
	const struct nn_port *port = &q->served->inputs[input];
	float *to = (float *)q->in.data + place_of(q->served, input);
	const uint32_t *lengths = q->lengths.data;

	for (size_t r = 0; r < q->job.rows; r++, to += q->served->row_in) {
		size_t n = port->steps ? port->size / port->steps * lengths[r] : port->size;

		fill_up(to, port, from, n);
		from += n;
	}
}

static int interleave(struct nn_query *q)
{
	if (reserve_rows(q, q->job.rows) < 0)
		return -1;
	for (size_t i = 0; i < q->served->n_inputs; i++) {
		const struct nn_fed *fed = nn_query_fed(q, i);

		if (fed->steps && spread_length(q, fed) < 0)
			return -1;
		place_rows(q, i, (const float *)q->values.data + fed->at);
	}
	q->job.in = q->in.data;
	q->job.lengths = q->served->lengths && q->job.rows ? q->lengths.data : NULL;
	return 0;
}

int nn_feed_finish(struct nn_query *q)
{
	const struct nn_served *served = q->served;
	struct nn_fed *fed = q->fed.data;

	for (size_t i = 0; i < served->n_inputs; i++)
		if (fed[i].kind == NN_FED_NOT)
			return nn_query_fail(q, 400, "the input \"%s\" is missing",
					     served->inputs[i].name);
		else if (fed[i].rows != fed[0].rows)
			return nn_query_fail(q, 400,
					     "the input \"%s\" has %zu row%s, \"%s\" has %zu",
					     served->inputs[i].name, fed[i].rows, nn_s(fed[i].rows),
					     served->inputs[0].name, fed[0].rows);
	q->job.rows = served->n_inputs ? fed[0].rows : 0;
	if (served->table)
		return encode(q, false);
	if (served->n_inputs > 1 || q->served->lengths)
		return interleave(q);
	q->job.in = (const float *)q->values.data + fed[0].at;
	return 0;
}
