/*
 * Gradients of tables among ranks: each rank's lists of rows to all, which sum them alike. No dense
 * table is made anywhere.
 */
#include <string.h>

#include "base/memory.h"
#include "parallel/tables.h"

/* The three arrays of part of a list as messages. */
static void add_messages(struct nn_message *messages, size_t *n, int peer,
			 const struct nn_row_list *list, size_t from, size_t count, size_t size)
{
	struct nn_message parts[] = {
		{ peer, list->row + from, count * sizeof *list->row },
		{ peer, list->leaf + from, count * sizeof *list->leaf },
		{ peer, (char *)list->value + from * list->width * size,
		  count * list->width * size },
	};

	memcpy(messages + *n, parts, sizeof parts);
	*n += sizeof parts / sizeof *parts;
}

static void copy_list(struct nn_row_list *to, size_t at, const struct nn_row_list *from,
		      size_t size)
{
	memcpy(to->row + at, from->row, *from->n * sizeof *from->row);
	memcpy(to->leaf + at, from->leaf, *from->n * sizeof *from->leaf);
	memcpy((char *)to->value + at * to->width * size, from->value,
	       *from->n * from->width * size);
}

/* counts: entries of each rank. */
static int share_list(struct nn_comm *c, const uint64_t *counts, struct nn_row_list *mine,
		      struct nn_row_list *all, size_t size, struct nn_message *messages,
		      struct nn_error *err)
{
	size_t n_sends = 0, n_receives = 0;
	struct nn_message *receives = messages + 3 * (size_t)c->size;

	*all->n = 0;
	for (int r = 0; r < c->size; r++) {
		if (counts[r] > all->room - *all->n)
			NN_BUG("rank %d has %llu rows of a table", r,
			       (unsigned long long)counts[r]);
		if (r == c->rank) {
			copy_list(all, *all->n, mine, size);
		} else {
			add_messages(messages, &n_sends, r, mine, 0, *mine->n, size);
			add_messages(receives, &n_receives, r, all, *all->n, counts[r], size);
		}
		*all->n += counts[r];
	}
	return nn_comm_exchange(c, messages, n_sends, receives, n_receives, err);
}

static int host_list(struct nn_row_list *list, size_t *n, size_t width, size_t size,
		     struct nn_error *err)
{
	*list = (struct nn_row_list){ .width = width, .room = *n, .n = n };
	list->row = nn_alloc(*n, sizeof *list->row, err);
	list->leaf = nn_alloc(*n, sizeof *list->leaf, err);
	list->value = nn_alloc(*n * width, size, err);
	return list->row && list->leaf && list->value ? 0 : -1;
}

static void free_list(struct nn_row_list *list)
{
	nn_free(list->row);
	nn_free(list->leaf);
	nn_free(list->value);
}

/* Between a list of the device's and one of the host's, with their counts. */
static void read_list(struct nn_queue *queue, struct nn_row_list *to,
		      const struct nn_row_list *from, size_t size)
{
	nn_queue_read(queue, to->row, from->row, *to->n * sizeof *to->row);
	nn_queue_read(queue, to->leaf, from->leaf, *to->n * sizeof *to->leaf);
	nn_queue_read(queue, to->value, from->value, *to->n * to->width * size);
}

static void write_list(struct nn_queue *queue, struct nn_row_list *to,
		       const struct nn_row_list *from, size_t size)
{
	nn_queue_write(queue, to->row, from->row, *from->n * sizeof *from->row);
	nn_queue_write(queue, to->leaf, from->leaf, *from->n * sizeof *from->leaf);
	nn_queue_write(queue, to->value, from->value, *from->n * from->width * size);
	nn_queue_write(queue, to->n, from->n, sizeof *from->n);
}

/* The same for lists that are not the host's, through copies that are. */
static int share_there(struct nn_queue *queue, struct nn_comm *c, const uint64_t *counts,
		       const struct nn_row_list *mine, struct nn_row_list *all, size_t size,
		       struct nn_message *messages, struct nn_error *err)
{
	size_t n = counts[c->rank], n_all = 0;
	struct nn_row_list own = { 0 }, both = { 0 };
	int status = -1;

	for (int r = 0; r < c->size; r++)
		n_all += counts[r];
	if (host_list(&own, &n, mine->width, size, err) < 0 ||
	    host_list(&both, &n_all, mine->width, size, err) < 0)
		goto out;
	read_list(queue, &own, mine, size);
	status = share_list(c, counts, &own, &both, size, messages, err);
	if (status == 0)
		write_list(queue, all, &both, size);
out:
	free_list(&own);
	free_list(&both);
	return status;
}

int nn_tables_share(struct nn_graph *graph, struct nn_comm *c, size_t n_leaves, enum nn_dtype dtype,
		    struct nn_error *err)
{
	size_t n_tables = (size_t)nn_graph_tables(graph), ranks = (size_t)c->size;
	struct nn_queue *queue = nn_graph_queue(graph);
	struct nn_message *messages;
	uint64_t *mine, *all, *counts;
	int status = 0;

	if (n_tables == 0)
		return 0;
	mine = nn_alloc(n_tables * (1 + ranks) + ranks, sizeof *mine, err);
	messages = nn_alloc(6 * ranks, sizeof *messages, err);
	if (!mine || !messages) {
		nn_free(mine);
		nn_free(messages);
		return -1;
	}
	for (size_t i = 0; i < n_tables; i++)
		mine[i] = nn_graph_table_count(graph, (int)i);
	all = mine + n_tables;
	counts = all + n_tables * ranks;
	status = nn_comm_all_gather(c, mine, all, n_tables * sizeof *mine, err);
	for (size_t i = 0; status == 0 && i < n_tables; i++) {
		for (size_t r = 0; r < ranks; r++)
			counts[r] = all[r * n_tables + i];
		struct nn_row_list *sums = nn_graph_table_sums(graph, (int)i),
				   *entries = nn_graph_table_entries(graph, (int)i);

		status = queue ? share_there(queue, c, counts, sums, entries, nn_dtype_size(dtype),
					     messages, err)
			       : share_list(c, counts, sums, entries, nn_dtype_size(dtype),
					    messages, err);
	}
	if (status == 0)
		nn_graph_sum_tables(graph, 0, n_leaves);
	nn_free(mine);
	nn_free(messages);
	return status;
}

static int pass(struct nn_comm *c, bool sends, const struct nn_message *messages, size_t n,
		struct nn_error *err)
{
	return sends ? nn_comm_exchange(c, messages, n, NULL, 0, err)
		     : nn_comm_exchange(c, NULL, 0, messages, n, err);
}

static int pass_list(struct nn_comm *c, int peer, bool sends, const struct nn_row_list *list,
		     size_t n, size_t size, struct nn_error *err)
{
	struct nn_message messages[3];
	size_t count = 0;

	add_messages(messages, &count, peer, list, 0, n, size);
	return pass(c, sends, messages, count, err);
}

/* The same for a list that is not the host's, through a copy that is. */
static int pass_there(struct nn_queue *queue, struct nn_comm *c, int peer, bool sends,
		      struct nn_row_list *list, size_t n, size_t size, struct nn_error *err)
{
	struct nn_row_list host = { 0 };
	int status = host_list(&host, &n, list->width, size, err);

	if (status == 0 && sends)
		read_list(queue, &host, list, size);
	if (status == 0)
		status = pass_list(c, peer, sends, &host, n, size, err);
	if (status == 0 && !sends)
		write_list(queue, list, &host, size);
	free_list(&host);
	return status;
}

int nn_tables_pass(struct nn_graph *graph, struct nn_comm *c, int peer, bool sends,
		   enum nn_dtype dtype, struct nn_error *err)
{
	struct nn_queue *queue = nn_graph_queue(graph);
	size_t size = nn_dtype_size(dtype);

	for (int i = 0; i < nn_graph_tables(graph); i++) {
		struct nn_row_list *list = nn_graph_table_sums(graph, i);
		uint64_t n = sends ? nn_graph_table_count(graph, i) : 0;

		if (pass(c, sends, &(struct nn_message){ peer, &n, sizeof n }, 1, err) < 0)
			return -1;
		if (n > list->room)
			NN_BUG("rank %d has %llu rows of a table", peer, (unsigned long long)n);
		if (!queue)
			*list->n = (size_t)n;
		if ((queue ? pass_there(queue, c, peer, sends, list, n, size, err)
			   : pass_list(c, peer, sends, list, n, size, err)) < 0)
			return -1;
	}
	return 0;
}
