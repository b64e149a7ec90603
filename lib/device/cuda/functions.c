/* Losses, optimizers, sums and counts of the device. */
#include "device/cpu/sum.h"
#include "device/cuda/launch.h"

#define NN_BLOCK 4096 /* numbers of a block of nn_sum */
#define NN_AT_ONCE 16 /* blocks of numbers that a block of threads sums */

static void loss(const struct nn_loss_call *call)
{
	NN_ARGS(struct nn_loss_args, a);

	a.n = call->rows;
	a.kind = (int)call->kind;
	a.positions = call->positions;
	a.columns = call->columns;
	a.logits = call->logits;
	a.numbers = call->numbers;
	a.classes = call->classes;
	a.class_weights = call->class_weights;
	a.row_weights = call->row_weights;
	a.now = call->now;
	a.row_loss = call->row_loss;
	a.dlogits = call->dlogits;
	if (a.n > 0 && call->classes && call->dlogits && a.positions == 1 && a.columns <= NN_BLOCK)
		nn_cuda_launch(call->queue, &NN_SIMT(wide_loss), (a.n + 15) / 16, &a);
	else
		NN_ASK(call->queue, loss, a);
}

/* Leaves from `at` on, as many as a launch has. */
static struct nn_bounds some_leaves(const size_t *leaf, size_t n, size_t at)
{
	struct nn_bounds b = { .n = n - at < NN_BOUNDS ? n - at : NN_BOUNDS, .unit = 1 };

	memcpy(b.at, leaf + at, (b.n + 1) * sizeof *leaf);
	return b;
}

void NN_CUDA(count_leaves)(const struct nn_count_call *call, const size_t *leaf, size_t n,
			   size_t step)
{
	for (size_t at = 0; at < n; at += NN_BOUNDS) {
		NN_ARGS(struct nn_count_args, a);

		a.call = *call;
		a.call.queue = NULL;
		a.call.counts += at * step;
		a.leaf = some_leaves(leaf, n, at);
		a.leaf.unit = call->positions * (call->classes ? 1 : call->columns);
		a.step = step;
		nn_cuda_launch(call->queue, &NN_SIMT(count), a.leaf.n, &a);
	}
}

static void count(const struct nn_count_call *call)
{
	const size_t rows[2] = { 0, call->rows };

	NN_CUDA(count_leaves)(call, rows, call->rows > 0, 0);
}

struct nn_update NN_CUDA(update_there)(const struct nn_update *update)
{
	struct nn_update u;

	memcpy(&u, update, sizeof u); /* padding too */
	u.pool = NULL;
	u.queue = NULL;
	u.rows = NULL;
	return u;
}

static void direction(const struct nn_update *update, void *to)
{
	NN_ARGS(struct nn_update_args, a);

	a.n = update->n;
	a.u = NN_CUDA(update_there)(update);
	a.direction = to;
	if (update->rows) {
		a.rows = *update->rows;
		a.listed = true;
		if (!update->every)
			a.n = a.rows.room * a.rows.width;
	}
	NN_ASK(update->queue, update, a);
}

void NN_CUDA(update)(const struct nn_update *update)
{
	direction(update, NULL);
}

static void add(struct nn_queue *queue, void *to, const void *b, size_t n, struct nn_pool *pool)
{
	NN_ARGS(struct nn_join_args, a);

	(void)pool;
	a.n = n;
	a.y = to;
	a.x[0] = b;
	NN_ASK(queue, add_arrays, a);
}

/* Of *rows times n numbers, at most `most`. */
static void sum_of(struct nn_queue *queue, const void *values, const size_t *rows, size_t n,
		   size_t most, bool squares, double *result)
{
	size_t blocks = (most + NN_BLOCK - 1) / NN_BLOCK;
	NN_ARGS(struct nn_sum_args, a);

	if (blocks > NN_CUDA_SUMS)
		NN_BUG("a sum of %zu numbers", most);
	a.n = n;
	a.rows = rows;
	a.values = values;
	a.squares = squares;
	a.partial = nn_cuda_sums(queue);
	a.result = result;
	nn_cuda_launch(queue, &NN_SIMT(sum_blocks),
		       blocks ? (blocks + NN_AT_ONCE - 1) / NN_AT_ONCE : 1, &a);
	if (blocks > 1)
		nn_cuda_launch(queue, &NN_SIMT(sum_tree), 1, &a);
}

static void sum(struct nn_queue *queue, const void *values, size_t n, double *result)
{
	sum_of(queue, values, NULL, n, n, false, result);
}

static void sum_squares(struct nn_queue *queue, const void *values, size_t n, double *result)
{
	sum_of(queue, values, NULL, n, n, true, result);
}

static void sum_list_squares(struct nn_queue *queue, const struct nn_row_list *list, double *result)
{
	sum_of(queue, list->value, list->n, list->width, list->room * list->width, true, result);
}

static void clip(const struct nn_clip_call *call)
{
	NN_ARGS(struct nn_clip_args, a);

	a.n = 1;
	a.call = *call;
	a.call.queue = NULL;
	NN_ASK(call->queue, clip, a);
}

static void ratio(const struct nn_ratio_call *call)
{
	NN_ARGS(struct nn_ratio_args, a);

	a.n = call->n;
	a.call = *call;
	a.call.queue = NULL;
	NN_ASK(call->queue, ratio, a);
}

static void hold(struct nn_queue *queue, const double *losses, size_t step, size_t n,
		 struct nn_now *now)
{
	NN_ARGS(struct nn_hold_args, a);

	a.n = 1;
	a.losses = losses;
	a.step = step;
	a.leaves = n;
	a.now = now;
	NN_ASK(queue, hold, a);
}

static bool are_short(const size_t *leaf, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (leaf[i + 1] - leaf[i] > NN_BLOCK)
			return false;
	return true;
}

void NN_CUDA(sum_losses)(const struct nn_losses_call *call)
{
	const real *loss = call->row_loss;
	const bool whole = are_short(call->leaf, call->n);

	for (size_t i = 0; !whole && i < call->n; i++)
		sum(call->queue, loss + call->leaf[i], call->leaf[i + 1] - call->leaf[i],
		    call->losses + i * call->step);
	for (size_t at = 0; whole && at < call->n; at += NN_BOUNDS) {
		NN_ARGS(struct nn_losses_args, a);

		a.row_loss = loss;
		a.leaf = some_leaves(call->leaf, call->n, at);
		a.losses = call->losses + at * call->step;
		a.step = call->step;
		a.now = call->n <= NN_BOUNDS ? call->now : NULL;
		nn_cuda_launch(call->queue, &NN_SIMT(sum_losses), 1, &a);
	}
	if (call->now && (!whole || call->n > NN_BOUNDS))
		hold(call->queue, call->losses, call->step, call->n, call->now);
}

void NN_CUDA(functions)(struct nn_device *device)
{
	device->loss = loss;
	device->update = NN_CUDA(update);
	device->direction = direction;
	device->sum_rows = NN_CUDA(sum_rows);
	device->add = add;
	device->sum = sum;
	device->sum_squares = sum_squares;
	device->sum_list_squares = sum_list_squares;
	device->count = count;
	device->clip = clip;
	device->ratio = ratio;
	device->hold = hold;
}
