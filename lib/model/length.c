/*
 * Input lines: their shape, of which `?` as the first dimension says that rows are of different
 * length, and max=, the longest there may be.
 */
#include "base/number.h"
#include "model/net.h"

static int fail_shape(const struct nn_net *net, const struct nn_statement *statement,
		      const struct nn_word *word, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_statement_fail(
		net, statement, err,
		"the shape must be numbers AxBxC, at most %d, not '%s'; ?xB are rows "
		"of any number of steps of B values",
		NN_MAX_RANK, nn_quote(quoted, word->text, word->n));
}

/* AxBxC; of ?xBxC the first dimension is left 0. */
static bool read_shape(const struct nn_word *word, struct nn_statement *statement)
{
	struct nn_shape *shape = &statement->shape;
	struct nn_shape inner = { 0 };

	statement->lengths = word->n > 0 && word->text[0] == '?';
	if (!statement->lengths)
		return nn_parse_dims(word->text, word->n, shape->dim, &shape->rank);
	if (word->n > 1 && (word->text[1] != 'x' ||
			    !nn_parse_dims(word->text + 2, word->n - 2, inner.dim, &inner.rank)))
		return false;
	*shape = (struct nn_shape){ .rank = inner.rank + 1 };
	for (int d = 0; d < inner.rank && d + 1 < NN_MAX_RANK; d++)
		shape->dim[d + 1] = inner.dim[d];
	return inner.rank < NN_MAX_RANK;
}

int nn_input_shape(const struct nn_net *net, struct nn_statement *statement,
		   const struct nn_word *word, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	struct nn_shape step;
	bool zero = false;
	size_t bytes;

	nn_quote(quoted, word->text, word->n);
	if (statement->shaped)
		return nn_statement_fail(net, statement, err, "'%s' is a second shape", quoted);
	if (!read_shape(word, statement))
		return fail_shape(net, statement, word, err);
	step = statement->shape;
	if (statement->lengths)
		step.dim[0] = 1;
	for (int d = 0; d < step.rank; d++)
		zero |= step.dim[d] == 0;
	if (zero || !nn_shape_check(&step, sizeof(double), &bytes))
		return nn_statement_fail(net, statement, err,
					 zero ? "a size of %s is 0" : "a shape of %s is too large",
					 quoted);
	statement->shaped = true;
	return 0;
}

int nn_input_max(const struct nn_net *net, struct nn_statement *statement,
		 const struct nn_word *value, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	uint64_t longest;

	if (!nn_parse_u64(value->text, value->n, &longest) || longest == 0 ||
	    (double)longest > NN_ARG_MAX)
		return nn_statement_fail(net, statement, err,
					 "max= must be a whole number from 1, not '%s'",
					 nn_quote(quoted, value->text, value->n));
	statement->longest = (size_t)longest;
	return 0;
}

int nn_net_check_lengths(const struct nn_net *net, struct nn_error *err)
{
	int n = 0;

	for (int i = 0; i < net->n_lines; i++) {
		const struct nn_statement *statement = net->lines[i].statement;

		if (statement->kind != NN_STATEMENT_INPUT || !statement->lengths)
			continue;
		if (n++)
			return nn_statement_fail(net, statement, err,
						 "a net has one input of rows of different length "
						 "(?), this is the second");
		if (statement->columns || statement->crosses || statement->hash)
			return nn_statement_fail(
				net, statement, err,
				"rows of different length (?) are in no columns of a "
				"table");
	}
	return 0;
}
