/* Losses, optimizers and sums that are called later. */
#include "apart-inside.h"

static void run_loss(struct nn_apart_queue *q, void *what)
{
	q->cpu->loss(what);
}

static void loss(const struct nn_loss_call *call)
{
	struct nn_loss_call *c = nn_apart_ask(call->queue, run_loss, sizeof *c);

	*c = *call;
	c->queue = NULL;
	c->logits = nn_apart_at(call->logits);
	c->classes = nn_apart_at(call->classes);
	c->numbers = nn_apart_at(call->numbers);
	c->class_weights = nn_apart_at(call->class_weights);
	c->row_weights = nn_apart_at(call->row_weights);
	c->now = nn_apart_at(call->now);
	c->row_loss = nn_apart_at(call->row_loss);
	c->dlogits = nn_apart_at(call->dlogits);
}

struct update {
	struct nn_update u;
	struct nn_row_list rows;
	void *direction;
};

static void run_update(struct nn_apart_queue *q, void *what)
{
	const struct update *c = what;

	if (c->direction)
		q->cpu->direction(&c->u, c->direction);
	else
		q->cpu->update(&c->u);
}

static void direction(const struct nn_update *update, void *to)
{
	struct update *c = nn_apart_ask(update->queue, run_update, sizeof *c);

	c->u = *update;
	c->u.queue = NULL;
	c->u.w = nn_apart_at(update->w);
	c->u.g = nn_apart_at(update->g);
	for (int k = 0; k < NN_MAX_SLOTS; k++)
		c->u.slot[k] = nn_apart_at(update->slot[k]);
	c->u.now = nn_apart_at(update->now);
	c->u.ratio = nn_apart_at(update->ratio);
	if (update->rows) {
		c->rows = nn_apart_list(update->rows);
		c->u.rows = &c->rows;
	}
	c->direction = nn_apart_at(to);
}

static void update(const struct nn_update *update)
{
	direction(update, NULL);
}

struct row_sum {
	struct nn_row_sum sum;
	struct nn_row_list entries, sums;
};

static void run_sum_rows(struct nn_apart_queue *q, void *what)
{
	q->cpu->sum_rows(&((const struct row_sum *)what)->sum);
}

static void sum_rows(const struct nn_row_sum *sum)
{
	struct row_sum *c = nn_apart_ask(sum->queue, run_sum_rows, sizeof *c);

	c->sum = *sum;
	c->entries = nn_apart_list(sum->entries);
	c->sums = nn_apart_list(sum->sums);
	c->sum.entries = &c->entries;
	c->sum.sums = &c->sums;
	c->sum.work = nn_apart_at(sum->work);
	c->sum.queue = NULL;
}

struct array_call {
	void *a;
	const void *b;
	size_t n;
	struct nn_pool *pool;
	double *result;
	bool squares;
};

static void run_add(struct nn_apart_queue *q, void *what)
{
	const struct array_call *c = what;

	q->cpu->add(NULL, c->a, c->b, c->n, c->pool);
}

static void add(struct nn_queue *queue, void *a, const void *b, size_t n, struct nn_pool *pool)
{
	struct array_call *c = nn_apart_ask(queue, run_add, sizeof *c);

	*c = (struct array_call){ .a = nn_apart_at(a), .b = nn_apart_at(b), .n = n, .pool = pool };
}

static void run_sum(struct nn_apart_queue *q, void *what)
{
	const struct array_call *c = what;

	(c->squares ? q->cpu->sum_squares : q->cpu->sum)(NULL, c->b, c->n, c->result);
}

static void ask_sum(struct nn_queue *queue, const void *values, size_t n, double *result,
		    bool squares)
{
	struct array_call *c = nn_apart_ask(queue, run_sum, sizeof *c);

	*c = (struct array_call){
		.b = nn_apart_at(values), .n = n, .result = nn_apart_at(result), .squares = squares
	};
}

static void sum(struct nn_queue *queue, const void *values, size_t n, double *result)
{
	ask_sum(queue, values, n, result, false);
}

static void sum_squares(struct nn_queue *queue, const void *values, size_t n, double *result)
{
	ask_sum(queue, values, n, result, true);
}

struct list_call {
	struct nn_row_list list;
	double *result;
};

static void run_sum_list_squares(struct nn_apart_queue *q, void *what)
{
	const struct list_call *c = what;

	q->cpu->sum_list_squares(NULL, &c->list, c->result);
}

static void sum_list_squares(struct nn_queue *queue, const struct nn_row_list *list, double *result)
{
	struct list_call *c = nn_apart_ask(queue, run_sum_list_squares, sizeof *c);

	*c = (struct list_call){ nn_apart_list(list), nn_apart_at(result) };
}

static void run_count(struct nn_apart_queue *q, void *what)
{
	q->cpu->count(what);
}

static void count(const struct nn_count_call *call)
{
	struct nn_count_call *c = nn_apart_ask(call->queue, run_count, sizeof *c);

	*c = *call;
	c->queue = NULL;
	c->logits = nn_apart_at(call->logits);
	c->classes = nn_apart_at(call->classes);
	c->numbers = nn_apart_at(call->numbers);
	c->row_weights = nn_apart_at(call->row_weights);
	c->sd = nn_apart_at(call->sd);
	c->counts = nn_apart_at(call->counts);
}

static void run_clip(struct nn_apart_queue *q, void *what)
{
	q->cpu->clip(what);
}

static void clip(const struct nn_clip_call *call)
{
	struct nn_clip_call *c = nn_apart_ask(call->queue, run_clip, sizeof *c);

	*c = *call;
	c->queue = NULL;
	c->role = nn_apart_at(call->role);
	c->squares = nn_apart_at(call->squares);
	c->work = nn_apart_at(call->work);
	c->norm = nn_apart_at(call->norm);
	c->now = nn_apart_at(call->now);
}

static void run_ratio(struct nn_apart_queue *q, void *what)
{
	q->cpu->ratio(what);
}

static void ratio(const struct nn_ratio_call *call)
{
	struct nn_ratio_call *c = nn_apart_ask(call->queue, run_ratio, sizeof *c);

	*c = *call;
	c->queue = NULL;
	c->role = nn_apart_at(call->role);
	c->w = nn_apart_at(call->w);
	c->g = nn_apart_at(call->g);
	c->now = nn_apart_at(call->now);
	c->ratio = nn_apart_at(call->ratio);
}

struct hold_call {
	const double *losses;
	size_t step, n;
	struct nn_now *now;
};

static void run_hold(struct nn_apart_queue *q, void *what)
{
	const struct hold_call *c = what;

	q->cpu->hold(NULL, c->losses, c->step, c->n, c->now);
}

static void hold(struct nn_queue *queue, const double *losses, size_t step, size_t n,
		 struct nn_now *now)
{
	struct hold_call *c = nn_apart_ask(queue, run_hold, sizeof *c);

	*c = (struct hold_call){ nn_apart_at(losses), step, n, nn_apart_at(now) };
}

void nn_apart_functions(struct nn_device *device)
{
	device->loss = loss;
	device->update = update;
	device->direction = direction;
	device->sum_rows = sum_rows;
	device->add = add;
	device->sum = sum;
	device->sum_squares = sum_squares;
	device->sum_list_squares = sum_list_squares;
	device->count = count;
	device->clip = clip;
	device->ratio = ratio;
	device->hold = hold;
}
