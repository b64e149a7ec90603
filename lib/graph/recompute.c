/*
 * Activations that are dropped after forward and computed again in backward (Chen, Xu, Zhang,
 * Guestrin: Training Deep Nets with Sublinear Memory Cost, 2016). The nodes are cut into segments;
 * what one segment leaves to the next is kept, and of what it has inside the cheapest is dropped:
 * backward has it computed again when a step first needs it. Which cut and which price, several of
 * each are tried on the list of steps, whose memory is then seen.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"

struct recompute {
	const struct nn_bound *b;
	const struct nn_graph_options *options;
	const struct nn_steps *steps; /* without the pass */
	int *producer;                /* [n_values], by root: a node, -1 */
	int *forward;                 /* [n_nodes] its step */
	double *bytes,
		*work;  /* [n_nodes] that stay from forward to backward; of computing it again */
	double *prices; /* [n_nodes] work for a byte, sorted */
	double *value_bytes;         /* [n_values] */
	bool *may, *again;           /* [n_nodes]: may be dropped; is, in the choice at hand */
	bool *done;                  /* [n_nodes]: its step is there, in the pass at hand */
	int *segment, *stack, *list; /* [n_nodes] */
	const struct nn_planned_step *first; /* of the list that the pass changes */
};

/* ---- the pass ---- */

/* Node that made what is used, where that was dropped, or -1. */
static int dropped(const struct recompute *r, const struct nn_step_use *use)
{
	int node = use->memory == NN_STEP_SAVED   ? use->index
		   : use->memory == NN_STEP_VALUE ? r->producer[use->index]
						  : -1;

	return node >= 0 && r->again[node] ? node : -1;
}

static void put_again(const struct recompute *r, struct nn_steps *to,
		      const struct nn_planned_step *step)
{
	struct nn_planned_step again = *step;

	again.again = true;
	again.use = to->n_uses;
	again.n_uses = 0;
	nn_steps_add(to, &again);
	for (int u = step->use; u < step->use + step->n_uses; u++) {
		struct nn_step_use use = to->uses[u];

		if (dropped(r, &use) >= 0)
			use.memory =
				use.memory == NN_STEP_SAVED ? NN_STEP_SAVED_AGAIN : NN_STEP_AGAIN;
		nn_steps_use(to, use.memory, use.index);
	}
}

/* What a step needs of dropped nodes joins the stack. */
static int push_needed(struct recompute *r, const struct nn_steps *to,
		       const struct nn_planned_step *step, int top)
{
	for (int u = step->use; u < step->use + step->n_uses; u++) {
		int node = dropped(r, &to->uses[u]);

		if (node >= 0 && !r->done[node]) {
			r->done[node] = true;
			r->stack[top++] = node;
		}
	}
	return top;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Scratch for the statistics of a call; never read. */
static size_t statistics_bytes(const struct recompute *r, const struct nn_bound_node *node)
{
	const struct nn_kernel *kernel = r->b->device->kernels[node->op];
	struct nn_site site = nn_bound_site(r->b, node);
	size_t n = kernel->statistics ? kernel->statistics(&site) : 0,
	       group = n ? nn_program_group(r->b->program) : 0;

	return n ? (r->options->max_rows / (group ? group : 1) + 1) * n *
			       nn_dtype_size(r->b->device->dtype)
		 : 0;
}

static void each(void *arg, struct nn_steps *to, const struct nn_planned_step *step)
{
	struct recompute *r = arg;
	int n = 0, top;

	if (!step->backward) {
		nn_steps_add(to, step);
		return;
	}
	for (top = push_needed(r, to, step, 0); top > 0;) {
		int node = r->list[n++] = r->stack[--top];

		top = push_needed(r, to, &r->first[r->forward[node]], top);
	}
	qsort(r->list, (size_t)n, sizeof *r->list, by_number);
	for (int i = 0; i < n; i++) {
		struct nn_planned_step again = r->first[r->forward[r->list[i]]];

		again.scratch[NN_SCRATCH_ROOM] = statistics_bytes(r, &r->b->nodes[r->list[i]]);
		put_again(r, to, &again);
	}
	put_again(r, to, step);
}

static int pass(void *arg, struct nn_steps *steps, struct nn_error *err)
{
	struct recompute *r = arg;

	memset(r->done, 0, (size_t)r->b->n_nodes * sizeof *r->done);
	r->first = steps->step;
	return nn_steps_pass(steps, each, r, err);
}

/* ---- what a choice takes ---- */

static int try_choice(struct recompute *r, double *bytes, double *work, struct nn_error *err)
{
	int status = nn_steps_try(r->steps, pass, r, r->b, r->value_bytes, bytes, err);

	*work = 0;
	for (int i = 0; i < r->b->n_nodes; i++)
		*work += r->done[i] ? r->work[i] : 0;
	return status;
}

/* ---- choices ---- */

/* Into how many segments, what share of the nodes, whether the last one keeps all. */
static const int cuts[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64 };
static const double shares[] = { 1, 0.75, 0.5, 0.25 };
#define N_CUTS (int)(sizeof cuts / sizeof *cuts)
#define N_SHARES (int)(sizeof shares / sizeof *shares)
#define N_CHOICES (2 * N_CUTS * N_SHARES)
/* Of more nodes some choices alone are looked at: many segments, whole, but for the last. */
#define MANY 500
#define FIRST_OF_MANY (2 * N_SHARES * 5 + 1)
#define NEXT_OF_MANY (2 * N_SHARES)

static double price(const struct recompute *r, int node)
{
	return r->work[node] / (r->bytes[node] + 1);
}

static void choose(struct recompute *r, int choice)
{
	int n = r->b->n_nodes, segment = 0;
	bool last_kept = choice % 2;
	double share = shares[choice / 2 % N_SHARES], all = 0, sum = 0,
	       most = r->prices[(int)((n - 1) * share)];

	for (int i = 0; i < n; i++) {
		r->again[i] = r->may[i] && price(r, i) <= most;
		all += r->again[i] ? r->bytes[i] : 0;
	}
	for (int i = 0; i < n; i++) {
		r->segment[i] = segment;
		sum += r->again[i] ? r->bytes[i] : 0;
		if (sum * cuts[choice / 2 / N_SHARES] > all) {
			sum = 0;
			segment++;
		}
	}
	segment = r->segment[n - 1];
	for (int i = n; i-- > 0;) {
		const struct nn_bound_node *node = &r->b->nodes[i];

		r->again[i] &= !(last_kept && r->segment[i] == segment);
		/* what it reads from an earlier segment stays */
		if (!r->again[i] && !(node->backward && nn_bound_needs(node) & NN_OP_NEEDS_X))
			continue;
		for (int k = 0; k < node->n_in; k++) {
			int from = r->producer[nn_bound_root(r->b, node->in[k])];

			if (from >= 0 && r->segment[from] != r->segment[i])
				r->again[from] = false;
		}
	}
}

/* The choice with the least work among those within the limit, else the fewest bytes. */
static int find_best(struct recompute *r, int *best, struct nn_error *err)
{
	double target = (double)r->options->recompute * (double)r->options->max_rows, least,
	       least_work = 0, bytes, work;
	int n = r->b->n_nodes, next = n > MANY ? NEXT_OF_MANY * (1 + n / (20 * MANY)) : 1;

	*best = -1;
	if (nn_steps_peak(r->steps, r->b, r->value_bytes, &least, err) < 0)
		return -1;
	if (least <= target)
		return 0;
	for (int c = n > MANY ? FIRST_OF_MANY : 0; c < N_CHOICES; c += next) {
		bool better;

		choose(r, c);
		if (try_choice(r, &bytes, &work, err) < 0)
			return -1;
		better = bytes <= target && least <= target ? work < least_work
			 : bytes != least                   ? bytes < least
							    : work < least_work;
		if (better) {
			*best = c;
			least = bytes;
			least_work = work;
		}
	}
	return 0;
}

/* ---- what is known of nodes ---- */

static int by_price(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define ELEMENT_WORK 4 /* of a number that is read or written, in FLOP */

static void measure(struct recompute *r)
{
	const struct nn_bound *b = r->b;
	double row = (double)nn_dtype_size(b->device->dtype) * (double)r->options->max_rows;

	for (int i = 0; i < b->n_values; i++) {
		r->producer[i] = -1;
		r->value_bytes[i] = (double)nn_bound_count(b, i) * row;
	}
	for (int i = 0; i < b->program->n_inputs; i++) /* which have memory of their own */
		r->value_bytes[b->inputs[i]] = 0;
	for (int i = 0; i < b->n_nodes; i++) {
		const struct nn_bound_node *node = &b->nodes[i];

		r->producer[nn_bound_root(b, node->out)] = i;
		/* a carried state would advance twice */
		r->may[i] = !(node->sharded && nn_op_is_table(node->op)) && !node->state_bytes;
		r->work[i] = (double)nn_bound_flops(node) +
			     ELEMENT_WORK * (double)nn_bound_count(b, node->out);
	}
	for (int t = 0; t < r->steps->n; t++) {
		const struct nn_planned_step *step = &r->steps->step[t];

		if (step->node >= 0 && !step->backward) {
			r->forward[step->node] = t;
			r->bytes[step->node] += (double)step->saved;
		}
		for (int u = step->use; u < step->use + step->n_uses; u++) {
			const struct nn_step_use *use = &r->steps->uses[u];
			int from = use->memory == NN_STEP_VALUE ? r->producer[use->index] : -1;

			if (from >= 0 && step->node < 0) /* the caller's */
				r->may[from] = false;
			if (from >= 0 && step->backward && r->segment[from]++ == 0)
				r->bytes[from] += r->value_bytes[use->index];
		}
	}
	for (int i = 0; i < b->n_nodes; i++)
		r->prices[i] = price(r, i);
	qsort(r->prices, (size_t)b->n_nodes, sizeof *r->prices, by_price);
}

static int take(struct recompute *r, struct nn_error *err)
{
	size_t n = (size_t)r->b->n_nodes, n_values = (size_t)r->b->n_values;

	r->producer = nn_alloc(n_values + 4 * n, sizeof *r->producer, err);
	r->value_bytes = nn_alloc(n_values + 3 * n, sizeof *r->value_bytes, err);
	r->may = nn_alloc(3 * n, sizeof *r->may, err);
	if (!r->producer || !r->value_bytes || !r->may)
		return -1;
	r->forward = r->producer + n_values;
	r->segment = r->forward + n;
	r->stack = r->segment + n;
	r->list = r->stack + n;
	r->bytes = r->value_bytes + n_values;
	r->work = r->bytes + n;
	r->prices = r->work + n;
	r->again = r->may + n;
	r->done = r->again + n;
	return 0;
}

int nn_steps_recompute(struct nn_steps *steps, struct nn_bound *b,
		       const struct nn_graph_options *options, struct nn_error *err)
{
	struct recompute r = { .b = b, .options = options, .steps = steps };
	int best = -1, status = b->training && b->n_nodes ? take(&r, err) : 0;

	if (status == 0 && r.may) {
		measure(&r);
		status = find_best(&r, &best, err);
	}
	if (status == 0 && best >= 0) {
		b->again = nn_alloc((size_t)b->n_nodes, sizeof *b->again, err);
		choose(&r, best);
		status = b->again ? pass(&r, steps, err) : -1;
		if (b->again)
			memcpy(b->again, r.done, (size_t)b->n_nodes * sizeof *b->again);
	}
	nn_free(r.producer);
	nn_free(r.value_bytes);
	nn_free(r.may);
	return status;
}
