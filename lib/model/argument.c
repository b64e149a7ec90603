/* Arguments of layers: words into a layer's struct and back. */
#include <ctype.h>
#include <string.h>
#include "base/memory.h"
#include "base/number.h"
#include "model/net.h"

bool nn_arg_by_place(const struct nn_layer_arg *arg)
{
	return isupper((unsigned char)arg->name[0]);
}

bool nn_parse_dims(const char *text, size_t n, size_t *dims, int *rank)
{
	const char *end = text + n;

	for (*rank = 0;; text++) {
		const char *x = memchr(text, 'x', (size_t)(end - text));
		uint64_t dim;

		if (*rank == NN_MAX_RANK ||
		    !nn_parse_u64(text, (size_t)((x ? x : end) - text), &dim) ||
		    (double)dim > NN_ARG_MAX)
			return false;
		dims[(*rank)++] = (size_t)dim;
		if (!x)
			return true;
		text = x;
	}
}

/* "a whole number from 1 to 100" for messages. */
static void describe(const struct nn_layer_arg *arg, struct nn_text *text)
{
	char low[NN_NUMBER], high[NN_NUMBER];

	nn_format_f64(low, arg->min);
	nn_format_f64(high, arg->max);
	switch (arg->type) {
	case NN_ARG_SIZE:
	case NN_ARG_INDEX:
		nn_text_addf(text, "a whole number from %.0f to %.0f%s", arg->min, arg->max,
			     arg->none ? " or none" : "");
		break;
	case NN_ARG_PAIR:
		nn_text_addf(text, "a number or HEIGHTxWIDTH, each from %.0f to %.0f", arg->min,
			     arg->max);
		break;
	case NN_ARG_SHAPE:
		nn_text_addf(text, "a shape of 1 to %d sizes, each from %.0f to %.0f", NN_MAX_RANK,
			     arg->min, arg->max);
		break;
	case NN_ARG_REAL:
		nn_text_addf(text, "a number %s %s and %s %s", arg->above ? "above" : "from", low,
			     arg->below ? "below" : "up to", high);
		break;
	case NN_ARG_YESNO:
		nn_text_add(text, "yes or no");
		break;
	case NN_ARG_CHOICE:
		for (size_t i = 0; arg->choices[i]; i++)
			nn_text_addf(text, "%s%s",
				     i == 0                ? ""
				     : arg->choices[i + 1] ? ", "
							   : " or ",
				     arg->choices[i]);
		break;
	}
}

static int refuse(const struct nn_layer_arg *arg, const char *word, size_t n, struct nn_error *err)
{
	struct nn_text wanted = { 0 };
	char quoted[NN_QUOTED];

	describe(arg, &wanted);
	nn_fail(err, NN_EFORMAT, "%s%s must be %s, not '%s'", arg->name,
		nn_arg_by_place(arg) ? "" : "=", wanted.data ? wanted.data : "another value",
		nn_quote(quoted, word, n));
	nn_text_free(&wanted);
	return -1;
}

static bool within(const struct nn_layer_arg *arg, const size_t *dims, int rank)
{
	for (int i = 0; i < rank; i++)
		if ((double)dims[i] < arg->min || (double)dims[i] > arg->max)
			return false;
	return rank > 0;
}

static bool parse_sizes(const struct nn_layer_arg *arg, const char *text, size_t n, void *value)
{
	size_t dims[NN_MAX_RANK], *pair = value;
	struct nn_shape *shape = value;
	int rank;

	if (!nn_parse_dims(text, n, dims, &rank) || !within(arg, dims, rank))
		return false;
	switch (arg->type) {
	case NN_ARG_SIZE:
		*(size_t *)value = dims[0];
		return rank == 1;
	case NN_ARG_PAIR:
		pair[0] = dims[0];
		pair[1] = dims[rank - 1];
		return rank <= 2;
	case NN_ARG_SHAPE:
		shape->rank = rank;
		memcpy(shape->dim, dims, (size_t)rank * sizeof dims[0]);
		return true;
	default:
		*(int *)value = (int)dims[0];
		return rank == 1;
	}
}

static bool parse_real(const struct nn_layer_arg *arg, const char *text, size_t n, double *value)
{
	return nn_parse_f64(text, n, value) &&
	       (arg->above ? *value > arg->min : *value >= arg->min) &&
	       (arg->below ? *value < arg->max : *value <= arg->max);
}

static bool is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(text, word, n) == 0;
}

int nn_arg_parse(const struct nn_layer_arg *arg, const char *text, size_t n, void *values,
		 struct nn_error *err)
{
	void *value = (char *)values + arg->offset;

	switch (arg->type) {
	case NN_ARG_REAL:
		return parse_real(arg, text, n, value) ? 0 : refuse(arg, text, n, err);
	case NN_ARG_YESNO:
		*(bool *)value = is(text, n, "yes");
		return *(bool *)value || is(text, n, "no") ? 0 : refuse(arg, text, n, err);
	case NN_ARG_CHOICE:
		for (int i = 0; arg->choices[i]; i++)
			if (is(text, n, arg->choices[i])) {
				*(int *)value = i;
				return 0;
			}
		return refuse(arg, text, n, err);
	default:
		if (arg->none && is(text, n, "none")) {
			*(size_t *)value = SIZE_MAX;
			return 0;
		}
		if (arg->open && is(text, n, "?")) {
			*(size_t *)value = 0;
			return 0;
		}
		return parse_sizes(arg, text, n, value) ? 0 : refuse(arg, text, n, err);
	}
}

static size_t value_size(enum nn_arg_type type)
{
	static const size_t sizes[] = {
		[NN_ARG_SIZE] = sizeof(size_t),
		[NN_ARG_PAIR] = sizeof(size_t[2]),
		[NN_ARG_SHAPE] = sizeof(struct nn_shape),
		[NN_ARG_INDEX] = sizeof(int),
		[NN_ARG_REAL] = sizeof(double),
		[NN_ARG_YESNO] = sizeof(bool),
		[NN_ARG_CHOICE] = sizeof(int),
	};

	return sizes[type];
}

static const struct nn_layer_arg *find(const struct nn_layer *layer, const char *name)
{
	for (const struct nn_layer_arg *arg = layer->args;; arg++)
		if (strcmp(arg->name, name) == 0)
			return arg;
}

void nn_args_default(const struct nn_layer *layer, void *values)
{
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++)
		if (arg->fallback &&
		    nn_arg_parse(arg, arg->fallback, strlen(arg->fallback), values, NULL))
			NN_BUG("%s: the default of %s is none of its values", layer->name,
			       arg->name);
}

void nn_args_complete(const struct nn_layer *layer, void *values, unsigned given)
{
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++)
		if (arg->like && !(given & 1u << (arg - layer->args)))
			memcpy((char *)values + arg->offset,
			       (char *)values + find(layer, arg->like)->offset,
			       value_size(arg->type));
}

static void print_value(const struct nn_layer_arg *arg, const void *value, struct nn_text *text)
{
	const size_t *pair = value;
	char number[NN_NUMBER], shape[NN_SHAPE_TEXT];

	switch (arg->type) {
	case NN_ARG_SIZE:
		nn_text_addf(text, "%zu", *pair);
		break;
	case NN_ARG_PAIR:
		nn_text_addf(text, "%zu", pair[0]);
		if (arg->cross || pair[0] != pair[1])
			nn_text_addf(text, "x%zu", pair[1]);
		break;
	case NN_ARG_SHAPE:
		nn_text_add(text, nn_shape_text(shape, value));
		break;
	case NN_ARG_INDEX:
		nn_text_addf(text, "%d", *(const int *)value);
		break;
	case NN_ARG_REAL:
		nn_format_f64(number, *(const double *)value);
		nn_text_add(text, number);
		break;
	case NN_ARG_YESNO:
		nn_text_add(text, *(const bool *)value ? "yes" : "no");
		break;
	case NN_ARG_CHOICE:
		nn_text_add(text, arg->choices[*(const int *)value]);
		break;
	}
}

/* Is the value what would hold if the argument were not given? */
static bool is_default(const struct nn_layer *layer, const struct nn_layer_arg *arg,
		       const void *values)
{
	const char *value = (const char *)values + arg->offset;
	union {
		size_t pair[2];
		struct nn_shape shape;
		double real;
		int index;
		bool yes;
	} usual = { .shape = { 0 } };
	struct nn_layer_arg at_zero = *arg;

	if (arg->like)
		return memcmp(value, (const char *)values + find(layer, arg->like)->offset,
			      value_size(arg->type)) == 0;
	at_zero.offset = 0;
	return arg->fallback &&
	       nn_arg_parse(&at_zero, arg->fallback, strlen(arg->fallback), &usual, NULL) == 0 &&
	       memcmp(value, &usual, value_size(arg->type)) == 0;
}

void nn_args_print(const struct nn_layer *layer, const void *values, struct nn_text *text)
{
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++) {
		if (!arg->always && is_default(layer, arg, values))
			continue;
		nn_text_addf(text, nn_arg_by_place(arg) ? " " : " %s=", arg->name);
		print_value(arg, (const char *)values + arg->offset, text);
	}
}

void *nn_net_entry_values(const struct nn_net_entry *line, struct nn_error *err)
{
	const struct nn_statement *statement = line->statement;
	void *values = nn_alloc(1, statement->layer->size, err);

	if (!values)
		return NULL;
	memcpy(values, statement->values, statement->layer->size);
	for (const struct nn_layer_arg *arg = statement->layer->args; arg && arg->name; arg++)
		if (arg->open && statement->open)
			*(size_t *)((char *)values + arg->offset) = line->size;
		else if (arg->counted && *(size_t *)((char *)values + arg->offset) == 0)
			*(size_t *)((char *)values + arg->offset) = line->rows;
	return values;
}
