/* embedding: a row of learned values for each category number. */
#include "base/error.h"
#include "model/layer.h"
#include "model/initial.h"

enum mode { EACH, SUM };
static const char *const modes[] = { [EACH] = "each", [SUM] = "sum", NULL };

struct embedding {
	size_t size, rows, padding;
	int mode;
	bool sparse;
	int init;
};

static const struct nn_layer_arg args[] = {
	{ .name = "SIZE",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct embedding, size),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Values of a row." },
	{ .name = "rows",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct embedding, rows),
	  .min = 1,
	  .max = (double)NN_MOST_ROWS,
	  .counted = true,
	  .help = "Rows of the table; without it what the input line or the data say." },
	{ .name = "padding",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct embedding, padding),
	  .fallback = "none",
	  .max = (double)NN_MOST_ROWS - 1,
	  .none = true,
	  .help = "A row that begins as zeros and is never trained." },
	{ .name = "mode",
	  .type = NN_ARG_CHOICE,
	  .offset = offsetof(struct embedding, mode),
	  .fallback = "each",
	  .choices = modes,
	  .help = "A row for each number, or their sum over the last dimension." },
	{ .name = "sparse",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct embedding, sparse),
	  .fallback = "no",
	  .help = "A step changes only the rows that its batch has." },
	NN_ARG_INIT(offsetof(struct embedding, init)),
	{ .name = NULL }
};

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct embedding *e = values;
	struct nn_embedding op = { e->rows, e->size, e->padding, e->mode == SUM, e->sparse };

	if (e->rows == 0)
		return nn_fail(err, NN_EFAIL,
			       "the text does not say how many rows the table has (rows=N)");
	return nn_expand_op(line, NN_OP_embedding, &op, err);
}

const struct nn_layer nn_layer_embedding = {
	.name = "embedding",
	.also = "embed,lookup",
	.brief = "A row of a table of learned values for each category number (torch.nn.Embedding; "
		 "mode=sum: torch.nn.EmbeddingBag).",
	.shapes = "N to N,SIZE; mode=sum: N to SIZE",
	.more = "Its input is an input line, whose columns then are categories: nn-data(5) says "
		"how values become numbers from 0. Several "
		"columns share the table, each with rows of its own; flatten behind it makes one "
		"vector of them. A number that is not a row, "
		"as of a value that training never had, is zeros. Parameter: weight [rows,SIZE].\n"
		"A gradient is kept for the rows that a batch has, whatever the size of the table. "
		"With sparse=no (the default) the "
		"optimizer does what PyTorch does with a dense gradient, in which all other rows "
		"are 0: with adam, momentum or weight decay "
		"all rows move in each step, which costs the reading and writing of the table. "
		"With sparse=yes it touches only rows "
		"of the batch, and what it keeps of them, as torch.optim.SparseAdam (eps stands "
		"where Adam has it): the choice for large tables. With plain sgd both "
		"are the same. lars and lamb, whose steps depend on whole tables, take sparse=no "
		"only.",
	.args = args,
	.size = sizeof(struct embedding),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
