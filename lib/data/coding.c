/* A schema made ready for work. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/real.h"
#include "data/coding.h"

int nn_coding_new(struct nn_coding **coding, const struct nn_schema *schema, enum nn_dtype dtype,
		  struct nn_error *err)
{
	struct nn_coding *c = nn_alloc(1, sizeof *c, err);

	if (!c)
		return -1;
	c->dtype = dtype;
	c->inputs = nn_alloc(schema->n_inputs, sizeof *c->inputs, err);
	c->targets = nn_alloc(schema->n_targets, sizeof *c->targets, err);
	if (!c->inputs || !c->targets) {
		nn_coding_free(c);
		return -1;
	}
	c->n_inputs = schema->n_inputs;
	c->n_targets = schema->n_targets;
	for (size_t i = 0; i < c->n_targets; i++)
		c->targets[i].ignored = -1;
	*coding = c;
	return 0;
}

static void free_input(struct nn_input_code *code)
{
	nn_free(code->words);
	nn_free(code->place);
	nn_free(code->first);
	nn_free(code->mean);
	nn_free(code->sd);
	nn_free(code->missing);
	*code = (struct nn_input_code){ 0 };
}

void nn_coding_free(struct nn_coding *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_inputs; i++)
		free_input(&c->inputs[i]);
	for (size_t i = 0; i < c->n_targets; i++) {
		nn_free(c->targets[i].mean);
		nn_free(c->targets[i].sd);
	}
	for (size_t i = 0; i < c->n_pool; i++)
		nn_words_free(c->pool[i]);
	nn_free(c->pool);
	nn_free(c->inputs);
	nn_free(c->targets);
	nn_free(c);
}

struct nn_words *nn_coding_words(struct nn_coding *c, bool integers, struct nn_error *err)
{
	if (c->n_pool == c->pool_room) {
		size_t room = c->pool_room ? 2 * c->pool_room : 16;
		struct nn_words **pool =
			nn_realloc(c->pool, c->pool_room * sizeof *pool, room * sizeof *pool, err);

		if (!pool)
			return NULL;
		c->pool = pool;
		c->pool_room = room;
	}
	if (nn_words_new(&c->pool[c->n_pool], integers, err) < 0) {
		nn_words_free(c->pool[c->n_pool]);
		return NULL;
	}
	return c->pool[c->n_pool++];
}

/* A deviation that becomes 0 in this type would divide by zero. */
static int put_scale(enum nn_dtype dtype, void *mean, void *sd, size_t i, double m, double s,
		     struct nn_error *err)
{
	if (dtype != NN_F64 && (float)s == 0)
		return nn_fail(err, NN_EFORMAT, "a deviation of %g is 0 in f32", s);
	nn_real_put(dtype, mean, i, m);
	nn_real_put(dtype, sd, i, s);
	return 0;
}

static int take_words(struct nn_coding *c, struct nn_input_code *code, size_t i,
		      const struct nn_column *column, struct nn_error *err)
{
	const int32_t *order;

	code->categories = true;
	if (!code->words[i]) {
		code->words[i] = nn_coding_words(c, false, err);
		if (!code->words[i])
			return -1;
		for (size_t v = 0; v < column->n_values; v++)
			if (nn_words_add(code->words[i], column->values[v],
					 strlen(column->values[v]), err) < 0)
				return -1;
	}
	return nn_words_sort(code->words[i], &order, &code->place[i], err);
}

static int take_missing(struct nn_coding *c, struct nn_input_code *code,
			const struct nn_column *columns, size_t n, struct nn_error *err)
{
	if (!code->missing && !(code->missing = nn_alloc(n, nn_dtype_size(c->dtype), err)))
		return -1;
	for (size_t i = 0; i < n; i++)
		nn_real_put(c->dtype, code->missing, i,
			    columns[i].fills ? columns[i].missing : NAN);
	return 0;
}

static int take_scales(struct nn_coding *c, struct nn_input_code *code,
		       const struct nn_column *columns, size_t n, struct nn_error *err)
{
	size_t real = nn_dtype_size(c->dtype);

	if (!code->mean)
		code->mean = nn_alloc(n, real, err);
	if (!code->sd)
		code->sd = nn_alloc(n, real, err);
	if (!code->mean || !code->sd)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (put_scale(c->dtype, code->mean, code->sd, i,
			      columns[i].scaled ? columns[i].mean : 0,
			      columns[i].scaled ? columns[i].sd : 1, err) < 0)
			return -1;
	return 0;
}

int nn_coding_input(struct nn_coding *c, size_t input, const struct nn_input_schema *schema,
		    bool raw, struct nn_error *err)
{
	struct nn_input_code *code = &c->inputs[input];
	size_t n = schema->columns ? schema->n_columns : 0;
	bool scaled = false, fills = false;
	size_t first = 0;

	code->rows = schema->rows;
	code->size = nn_shape_count(&schema->shape);
	code->channels = schema->shape.rank == 3 ? schema->shape.dim[0] : 1;
	code->positions = code->channels ? code->size / code->channels : 0;
	code->scale = schema->scale;
	for (int byte = 0; byte < 256; byte++)
		code->character[byte] = -1;
	for (size_t i = 0; i < schema->characters.n; i++)
		code->character[schema->characters.bytes[i]] = (int16_t)i;
	if (!code->words) {
		code->words = nn_alloc(n, sizeof *code->words, err);
		code->place = nn_alloc(n, sizeof *code->place, err);
		if (!code->words || !code->place)
			return -1;
	}
	nn_free(code->first);
	if (!(code->first = nn_alloc(n, sizeof *code->first, err)))
		return -1;
	code->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		scaled |= schema->columns[i].scaled && !raw;
		fills |= schema->columns[i].fills;
		code->first[i] = first;
		first += schema->columns[i].n_values;
		if (schema->columns[i].category &&
		    take_words(c, code, i, &schema->columns[i], err) < 0)
			return -1;
	}
	if (fills && take_missing(c, code, schema->columns, n, err) < 0)
		return -1;
	return scaled ? take_scales(c, code, schema->columns, n, err) : 0;
}

static int32_t add_label(struct nn_words *words, const char *label, struct nn_error *err)
{
	int64_t value;

	if (!nn_words_integers(words))
		return nn_words_add(words, label, strlen(label), err);
	if (nn_parse_i64(label, strlen(label), &value))
		return nn_words_add_integer(words, value, err);
	return nn_fail(err, NN_EFORMAT, "the labels are integers, \"%s\" is none", label);
}

static int take_labels(struct nn_coding *c, struct nn_target_code *code,
		       const struct nn_target_schema *schema, struct nn_error *err)
{
	int32_t id;

	code->labels = nn_coding_words(c, schema->integer_labels, err);
	if (!code->labels)
		return -1;
	for (size_t i = 0; i < schema->n_labels; i++) {
		if ((id = add_label(code->labels, schema->labels[i], err)) < 0)
			return -1;
		if (id != (int32_t)i)
			return nn_fail(err, NN_EFORMAT, "nn.target: a label occurs twice");
	}
	if (schema->ignored && (code->ignored = add_label(code->labels, schema->ignored, err)) < 0)
		return -1;
	code->fixed = true; /* classes are in the order of the schema: no places */
	return 0;
}

int nn_coding_target(struct nn_coding *c, size_t target, const struct nn_target_schema *schema,
		     struct nn_error *err)
{
	struct nn_target_code *code = &c->targets[target];
	size_t real = nn_dtype_size(c->dtype);

	code->n_columns = schema->n_columns;
	if (schema->labels && !code->labels && take_labels(c, code, schema, err) < 0)
		return -1;
	if (!schema->mean)
		return 0;
	if (!code->mean)
		code->mean = nn_alloc(schema->n_columns, real, err);
	if (!code->sd)
		code->sd = nn_alloc(schema->n_columns, real, err);
	if (!code->mean || !code->sd)
		return -1;
	for (size_t i = 0; i < schema->n_columns; i++)
		if (put_scale(c->dtype, code->mean, code->sd, i, schema->mean[i], schema->sd[i],
			      err) < 0)
			return -1;
	return 0;
}

void nn_coding_set_output(struct nn_coding *c, size_t target, const struct nn_shape *output)
{
	c->targets[target].positions = nn_shape_positions(output) > 1;
	c->targets[target].channels = output->rank == 3 && output->dim[0] > 1 ? output->dim[0] : 0;
}

int nn_coding_schema(struct nn_coding *c, const struct nn_schema *schema, bool raw,
		     struct nn_error *err)
{
	for (size_t i = 0; i < schema->n_inputs; i++)
		if (nn_coding_input(c, i, &schema->inputs[i], raw, err) < 0)
			return -1;
	for (size_t i = 0; i < schema->n_targets; i++)
		if (nn_coding_target(c, i, &schema->targets[i], err) < 0)
			return -1;
	return 0;
}
