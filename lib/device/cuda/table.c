/* embedding, and the sums of a table's entries. */
#include "device/cuda/launch.h"

static struct nn_table_args table_of(const struct nn_call *call)
{
	const struct nn_embedding *e = call->site.attrs;
	const struct nn_shape *in = call->site.in;
	NN_ARGS(struct nn_table_args, a);

	a.rows = e->rows;
	a.size = e->size;
	a.padding = e->padding;
	a.sum = e->sum;
	a.together = e->sum ? in->dim[in->rank - 1] : 1;
	a.numbers = call->rows * nn_shape_count(in);
	a.x = call->x[0];
	a.w = call->w[0];
	a.y = call->y;
	a.dy = call->dy;
	return a;
}

static void forward(const struct nn_call *call)
{
	struct nn_table_args a = table_of(call);

	a.n = call->rows * nn_shape_count(&call->site.out);
	NN_ASK(call->site.queue, embedding, a);
}

static void backward(const struct nn_call *call)
{
	struct nn_table_args a = table_of(call);
	char *room = call->work;

	a.leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves,
				 nn_shape_count(call->site.in), &room);
	a.leaf_number = call->leaf_number;
	a.list = *(const struct nn_row_list *)call->dw[0];
	a.n = a.numbers * a.size;
	NN_ASK(call->site.queue, embedding_entries, a);
	a.n = 1;
	NN_ASK(call->site.queue, embedding_advance, a);
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	(void)max_rows;
	(void)threads;
	return site->training ? nn_bounds_bytes(max_leaves) : 0;
}

const struct nn_kernel
	NN_CUDA(op_embedding) = { .forward = forward, .backward = backward, .work = work };

void NN_CUDA(gather)(struct nn_queue *queue, void *to, const void *from, const uint32_t *rows,
		     size_t bytes, size_t n)
{
	const bool wide = (bytes | (uintptr_t)to | (uintptr_t)from) % sizeof(struct nn_wide) == 0;
	NN_ARGS(struct nn_gather_args, a);

	a.line = bytes / (wide ? sizeof(struct nn_wide) : sizeof(uint32_t));
	a.n = n * a.line;
	a.rows = rows;
	a.from = from;
	a.to = to;
	if (wide)
		NN_ASK(queue, gather_wide, a);
	else
		NN_ASK(queue, gather, a);
}

void NN_CUDA(sum_rows)(const struct nn_row_sum *sum)
{
	size_t room = sum->entries->room;
	NN_ARGS(struct nn_row_sum_args, a);

	a.entries = *sum->entries;
	a.sums = *sum->sums;
	a.first_leaf = sum->first_leaf;
	a.end_leaf = sum->end_leaf;
	a.a = sum->work;
	a.b = a.a + room;
	a.begin = (uint32_t *)(void *)(a.b + room);
	a.n = room * a.sums.width;
	if (room == 0)
		return;
	nn_cuda_launch(sum->queue, &NN_SIMT(sort_rows), 1, &a);
	NN_ASK(sum->queue, sum_rows, a);
}
