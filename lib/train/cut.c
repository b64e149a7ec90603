/* The cut of a batch: leaves at fixed bounds, spans as large as the micro-batch allows along the
 * tree of leaves. */
#include "base/memory.h"
#include "train/cut.h"

size_t nn_group_count(size_t rows, size_t group)
{
	size_t n = rows / group, rest = rows % group;

	return n == 0 ? 1 : n + (rest * 2 >= group && rest > 0);
}

/* What the recursion over the tree knows; spans NULL: it only counts. */
struct cutter {
	struct nn_cut *cut;
	size_t micro;
	size_t n_groups, *group; /* row bounds of groups, or NULL */
	bool store;
	size_t n_spans, n_bounds;
};

static void add_span(struct cutter *c, struct nn_cut_span span, size_t leaf, size_t row,
		     size_t rows, size_t group, size_t n_groups)
{
	struct nn_cut *cut = c->cut;
	size_t *bounds = cut->bounds + c->n_bounds;
	size_t n_leaves = (size_t)1 << span.level,
	       whole = cut->leaf[leaf] == row && cut->leaf[leaf + n_leaves] == row + rows;

	c->n_bounds += n_leaves + 1 + (c->group ? n_groups + 1 : 0);
	c->n_spans++;
	if (!c->store)
		return;
	for (size_t i = 0; i <= n_leaves; i++)
		bounds[i] = whole ? cut->leaf[leaf + i] - row : i * rows;
	span.row = row;
	span.group = group;
	span.span.rows = rows;
	span.span.leaf = bounds;
	span.span.n_leaves = n_leaves;
	span.span.first = cut->leaf[leaf] == row;
	span.span.leaf_number = leaf;
	span.last = cut->leaf[leaf + n_leaves] == row + rows;
	if (c->group) {
		size_t *g = bounds + n_leaves + 1;
		for (size_t i = 0; i <= n_groups; i++)
			g[i] = c->group[group + i] - row;
		span.span.group = g;
		span.span.n_groups = n_groups;
	}
	if (rows > cut->max_rows)
		cut->max_rows = rows;
	if (n_leaves > cut->max_leaves)
		cut->max_leaves = n_leaves;
	cut->spans[c->n_spans - 1] = span;
}

/* One leaf in pieces: rows, or whole groups of batch norm, at least one. */
static void cut_leaf(struct cutter *c, size_t leaf)
{
	struct nn_cut_span span = { .level = 0, .node = leaf };
	size_t row = c->cut->leaf[leaf], end = c->cut->leaf[leaf + 1];
	size_t group = c->group ? c->cut->group_of_leaf[leaf] : 0;

	while (row < end) {
		size_t rows = end - row < c->micro ? end - row : c->micro, n_groups = 0;

		if (c->group) {
			for (n_groups = 1; c->group[group + n_groups] < end &&
					   c->group[group + n_groups + 1] - row <= c->micro;)
				n_groups++;
			rows = c->group[group + n_groups] - row;
		}
		add_span(c, span, leaf, row, rows, group, n_groups);
		row += rows;
		group += n_groups;
	}
}

static void cut_node(struct cutter *c, unsigned level, size_t node)
{
	size_t leaf = node << level, n = (size_t)1 << level;
	size_t row = c->cut->leaf[leaf], rows = c->cut->leaf[leaf + n] - row;
	const struct nn_cut_run *run = &c->cut->run;

	if (leaf >= run->to || leaf + n <= run->from)
		return;
	if (rows <= c->micro && leaf >= run->from && leaf + n <= run->to) {
		struct nn_cut_span span = { .level = level, .node = node };
		size_t first = c->group ? c->cut->group_of_leaf[leaf] : 0;
		add_span(c, span, leaf, row, rows, first,
			 c->group ? c->cut->group_of_leaf[leaf + n] - first : 0);
	} else if (level == 0) {
		cut_leaf(c, leaf);
	} else {
		cut_node(c, level - 1, 2 * node);
		cut_node(c, level - 1, 2 * node + 1);
	}
}

static void set_bounds(struct cutter *c, size_t group)
{
	struct nn_cut *cut = c->cut;

	for (size_t g = 0; c->group && g <= c->n_groups; g++)
		c->group[g] = g == c->n_groups ? cut->rows : g * group;
	for (size_t i = 0; i <= cut->n_leaves; i++) {
		size_t units = c->group ? c->n_groups : cut->rows;
		size_t at = (size_t)((unsigned __int128)i * units / cut->n_leaves);

		cut->leaf[i] = c->group ? c->group[at] : at;
		if (c->group)
			cut->group_of_leaf[i] = at;
	}
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

struct nn_cut *nn_cut_new(size_t rows, size_t n_leaves, size_t group, size_t micro,
			  struct nn_cut_run run, struct nn_error *err)
{
	struct nn_cut *cut = nn_alloc(1, sizeof *cut, err);
	struct cutter c = { .cut = cut, .micro = micro };

	if (!cut)
		return NULL;
	*cut = (struct nn_cut){ .rows = rows, .n_leaves = n_leaves, .run = run };
	while ((size_t)1 << cut->levels < n_leaves)
		cut->levels++;
	if (!(cut->leaf = nn_alloc(n_leaves + 1, sizeof *cut->leaf, err)))
		goto fail;
	if (group) {
		c.micro = micro > SIZE_MAX - group ? micro : (micro + group - 1) / group * group;
		c.n_groups = nn_group_count(rows, group);
		c.group = nn_alloc(c.n_groups + 1, sizeof *c.group, err);
		cut->group_of_leaf = nn_alloc(n_leaves + 1, sizeof *cut->group_of_leaf, err);
		if (!c.group || !cut->group_of_leaf)
			goto fail;
	}
	set_bounds(&c, group);
	cut_node(&c, cut->levels, 0);
	cut->n_spans = c.n_spans;
	cut->spans = nn_alloc(c.n_spans, sizeof *cut->spans, err);
	cut->bounds = nn_alloc(c.n_bounds, sizeof *cut->bounds, err);
	if (!cut->spans || !cut->bounds)
		goto fail;
	c.store = true;
	c.n_spans = c.n_bounds = 0;
	cut_node(&c, cut->levels, 0);
	nn_free(c.group);
	return cut;
fail:
	nn_free(c.group);
	nn_cut_free(cut);
	return NULL;
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
