/*
 * The cut of a batch: leaves at fixed bounds, spans as large as the micro-batch allows along the
 * tree of leaves.
 */
#include "base/memory.h"
#include "step/cut.h"

size_t nn_group_count(size_t rows, size_t group)
{
	size_t n = rows / group, rest = rows % group;

	return n == 0 ? 1 : n + (rest * 2 >= group && rest > 0);
}

/* What the recursion over the tree knows; cut NULL: it only counts. */
struct leaf_cutter {
	size_t rows, n_leaves;
	size_t group, n_groups; /* rows of a group of batch norm, 0 without; how many */
	size_t micro;
	struct nn_cut_run run;
	struct nn_cut *cut;
	struct nn_cut_size size; /* so far */
};

static struct leaf_cutter cutter_of(size_t rows, size_t n_leaves, size_t group, size_t micro,
				    struct nn_cut_run run)
{
	struct leaf_cutter c = {
		.rows = rows, .n_leaves = n_leaves, .group = group, .micro = micro, .run = run
	};

	if (group && micro <= SIZE_MAX - group)
		c.micro = (micro + group - 1) / group * group;
	if (group)
		c.n_groups = nn_group_count(rows, group);
	return c;
}

/* The first row of a group, or the end of all; the first group, or row, of a leaf. */
static size_t group_row(const struct leaf_cutter *c, size_t group)
{
	return group >= c->n_groups ? c->rows : group * c->group;
}

static size_t leaf_unit(const struct leaf_cutter *c, size_t leaf)
{
	return (size_t)((unsigned __int128)leaf * (c->group ? c->n_groups : c->rows) / c->n_leaves);
}

static size_t leaf_row(const struct leaf_cutter *c, size_t leaf)
{
	return c->group ? group_row(c, leaf_unit(c, leaf)) : leaf_unit(c, leaf);
}

static size_t leaf_group(const struct leaf_cutter *c, size_t leaf)
{
	return c->group ? leaf_unit(c, leaf) : 0;
}

static void store_span(struct leaf_cutter *c, struct nn_cut_span span, size_t leaf, size_t n_groups)
{
	struct nn_cut *cut = c->cut;
	size_t *bounds = cut->bounds + c->size.n_bounds, n_leaves = span.span.n_leaves,
	       rows = span.span.rows;
	bool whole = span.span.first && span.last;

	for (size_t i = 0; i <= n_leaves; i++)
		bounds[i] = whole ? cut->leaf[leaf + i] - span.row : i * rows;
	span.span.leaf = bounds;
	if (c->group) {
		size_t *g = bounds + n_leaves + 1;

		for (size_t i = 0; i <= n_groups; i++)
			g[i] = group_row(c, span.group + i) - span.row;
		span.span.group = g;
		span.span.n_groups = n_groups;
	}
	cut->spans[c->size.n_spans] = span;
}

static void add_span(struct leaf_cutter *c, struct nn_cut_span span, size_t rows, size_t n_groups)
{
	struct nn_cut_size *size = &c->size;
	size_t n_leaves = (size_t)1 << span.level, leaf = span.node << span.level;
	struct nn_cut_node node;

	span.last = leaf_row(c, leaf + n_leaves) == span.row + rows;
	span.span.rows = rows;
	span.span.n_leaves = n_leaves;
	span.span.first = leaf_row(c, leaf) == span.row;
	span.span.leaf_number = leaf;
	if (c->cut)
		store_span(c, span, leaf, n_groups);
	if (span.last && nn_cut_waits_at(c->run, &span, &node))
		size->waits |= 1u << node.level;
	if (rows > size->max_rows)
		size->max_rows = rows;
	if (n_leaves > size->max_leaves)
		size->max_leaves = n_leaves;
	size->n_bounds += n_leaves + 1 + (c->group ? n_groups + 1 : 0);
	size->n_spans++;
}

/* One leaf in pieces: rows, or whole groups of batch norm, at least one. */
static void cut_leaf(struct leaf_cutter *c, size_t leaf)
{
	size_t row = leaf_row(c, leaf), end = leaf_row(c, leaf + 1), group = leaf_group(c, leaf);

	while (row < end) {
		size_t rows = end - row < c->micro ? end - row : c->micro, n_groups = 0;

		if (c->group) {
			for (n_groups = 1; group_row(c, group + n_groups) < end &&
					   group_row(c, group + n_groups + 1) - row <= c->micro;)
				n_groups++;
			rows = group_row(c, group + n_groups) - row;
		}
		add_span(c, (struct nn_cut_span){ .node = leaf, .row = row, .group = group }, rows,
			 n_groups);
		row += rows;
		group += n_groups;
	}
}

static void cut_node(struct leaf_cutter *c, unsigned level, size_t node)
{
	size_t leaf = node << level, n = (size_t)1 << level;
	size_t row = leaf_row(c, leaf), rows = leaf_row(c, leaf + n) - row;

	if (leaf >= c->run.to || leaf + n <= c->run.from)
		return;
	if (rows <= c->micro && leaf >= c->run.from && leaf + n <= c->run.to) {
		size_t first = leaf_group(c, leaf);

		add_span(c,
			 (struct nn_cut_span){
				 .level = level, .node = node, .row = row, .group = first },
			 rows, leaf_group(c, leaf + n) - first);
	} else if (level == 0) {
		cut_leaf(c, leaf);
	} else {
		cut_node(c, level - 1, 2 * node);
		cut_node(c, level - 1, 2 * node + 1);
	}
}

static unsigned levels_of(size_t n_leaves)
{
	unsigned levels = 0;

	while ((size_t)1 << levels < n_leaves)
		levels++;
	return levels;
}

struct nn_cut_size nn_cut_measure(size_t rows, size_t n_leaves, size_t group, size_t micro,
				  struct nn_cut_run run)
{
	struct leaf_cutter c = cutter_of(rows, n_leaves, group, micro, run);

	cut_node(&c, levels_of(n_leaves), 0);
	return c.size;
}

struct nn_cut_run nn_cut_share(size_t n_leaves, int rank, int ranks)
{
	size_t r = (size_t)rank, n = (size_t)ranks;

	return (struct nn_cut_run){ r * n_leaves / n, (r + 1) * n_leaves / n };
}

size_t nn_cut_nodes(struct nn_cut_run run, struct nn_cut_node nodes[NN_CUT_NODES])
{
	size_t n = 0;

	while (run.from < run.to) {
		unsigned level = 0;

		while (!(run.from >> level & 1) && run.from + ((size_t)2 << level) <= run.to)
			level++;
		nodes[n++] = (struct nn_cut_node){ level, run.from >> level };
		run.from += (size_t)1 << level;
	}
	return n;
}

/* Its parent reaches beyond the run. */
bool nn_cut_tops(struct nn_cut_run run, struct nn_cut_node node)
{
	size_t parent = node.node >> 1, from = parent << (node.level + 1);

	return from < run.from || from + ((size_t)2 << node.level) > run.to;
}

bool nn_cut_waits_at(struct nn_cut_run run, const struct nn_cut_span *span,
		     struct nn_cut_node *node)
{
	*node = (struct nn_cut_node){ span->level, span->node };
	while ((node->node & 1) && !nn_cut_tops(run, *node))
		*node = (struct nn_cut_node){ node->level + 1, node->node >> 1 };
	return !nn_cut_tops(run, *node);
}

static int take_arrays(struct nn_cut *cut, const struct nn_cut_size *size, bool groups,
		       struct nn_error *err)
{
	cut->leaf = nn_alloc(cut->n_leaves + 1, sizeof *cut->leaf, err);
	cut->spans = nn_alloc(size->n_spans, sizeof *cut->spans, err);
	cut->bounds = nn_alloc(size->n_bounds, sizeof *cut->bounds, err);
	if (groups)
		cut->group_of_leaf = nn_alloc(cut->n_leaves + 1, sizeof *cut->group_of_leaf, err);
	return cut->leaf && cut->spans && cut->bounds && (!groups || cut->group_of_leaf) ? 0 : -1;
}

struct nn_cut *nn_cut_new(size_t rows, size_t n_leaves, size_t group, size_t micro,
			  struct nn_cut_run run, struct nn_error *err)
{
	struct nn_cut_size size = nn_cut_measure(rows, n_leaves, group, micro, run);
	struct leaf_cutter c = cutter_of(rows, n_leaves, group, micro, run);
	struct nn_cut *cut = nn_alloc(1, sizeof *cut, err);

	if (!cut)
		return NULL;
	*cut = (struct nn_cut){ .rows = rows,
				.n_leaves = n_leaves,
				.levels = levels_of(n_leaves),
				.run = run,
				.n_spans = size.n_spans,
				.max_rows = size.max_rows,
				.max_leaves = size.max_leaves };
	if (take_arrays(cut, &size, group > 0, err) < 0) {
		nn_cut_free(cut);
		return NULL;
	}
	for (size_t i = 0; i <= n_leaves; i++) {
		cut->leaf[i] = leaf_row(&c, i);
		if (group)
			cut->group_of_leaf[i] = leaf_group(&c, i);
	}
	c.cut = cut;
	cut_node(&c, cut->levels, 0);
	return cut;
}

void nn_cut_free(struct nn_cut *cut)
{
	if (!cut)
		return;
	nn_free(cut->leaf);
	nn_free(cut->group_of_leaf);
	nn_free(cut->spans);
	nn_free(cut->bounds);
	nn_free(cut);
}
