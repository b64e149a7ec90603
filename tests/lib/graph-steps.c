/*
 * The list of steps: its order, and what a pass that inserts steps may rely on. Each number of a
 * net with one input, dense layers and nothing to fuse is a node's.
 */
#include <stdlib.h>

#include "graph/instance.h"
#include "tap.h"

#define LAYERS 4
#define ROWS 32

static struct nn_program *chain(void)
{
	struct nn_program *program = nn_program_new(NULL);
	struct nn_shape shape = nn_shape1(16);
	struct nn_dense dense = { .out = 16, .bias = true };
	int value = nn_program_input(program, &shape, NULL);

	for (int i = 0; i < LAYERS; i++)
		value = nn_program_add(program, NN_OP_dense, &dense, &value, 1, "d", i, NULL);
	nn_program_output(program, value, NULL, NULL);
	return program;
}

struct fixture {
	struct nn_program *program;
	struct nn_graph_options options;
	struct nn_bound bound;
	struct nn_steps steps, after;
	struct nn_memory_plan plan;
};

static void set_up(struct fixture *f, bool training)
{
	*f = (struct fixture){ .program = chain() };
	f->options = (struct nn_graph_options){ .device = nn_device_open("cpu", NN_F32, NULL),
						.max_rows = ROWS,
						.max_leaves = 1,
						.training = training };
	f->bound = (struct nn_bound){ .program = f->program,
				      .device = f->options.device,
				      .training = training };
	if (nn_bound_lower(&f->bound, NULL) || nn_bound_fuse(&f->bound, NULL) ||
	    nn_bound_place(&f->bound, NULL) ||
	    nn_steps_make(&f->steps, &f->after, &f->bound, &f->options, NULL))
		exit(1);
}

static void make_plan(struct fixture *f)
{
	if (nn_memory_plan_make(&f->plan, &f->bound, &f->options, &f->steps, &f->after, NULL))
		exit(1);
}

static void tear_down(struct fixture *f)
{
	nn_memory_plan_fini(&f->plan);
	nn_steps_fini(&f->steps);
	nn_steps_fini(&f->after);
	nn_bound_fini(&f->bound);
	nn_program_free(f->program);
}

/* The caller, the nodes, the caller, the nodes backward, the caller. */
static bool in_order(const struct nn_steps *s)
{
	bool right = s->n == 2 * LAYERS + 3 && s->turn == LAYERS + 1;

	for (int i = 0; right && i < s->n; i++) {
		const struct nn_planned_step *step = &s->step[i];
		bool caller = i == 0 || i == s->turn || i == s->n - 1;

		right = (step->fill == NULL) == caller &&
			step->backward == (!caller && i > s->turn);
		if (!caller)
			right &= step->node == (i < s->turn ? i - 1 : 2 * LAYERS + 1 - i) &&
				 step->event == (i < s->turn ? -1 : step->node);
	}
	return right;
}

/* Does other memory overlap what the first node makes? */
static bool is_reused(const struct fixture *f)
{
	size_t bytes = ROWS * 16 * sizeof(float);
	int own = nn_bound_root(&f->bound, f->bound.nodes[0].out);
	size_t at = f->plan.value[own];

	for (int v = 0; v < f->bound.n_values; v++)
		if (v != own && f->plan.value[v] != NN_NOWHERE && f->plan.value[v] < at + bytes &&
		    at < f->plan.value[v] + bytes)
			return true;
	return false;
}

static int fill_nothing(struct nn_graph *graph, const struct nn_planned_step *step,
			struct nn_graph_step *made, struct nn_error *err)
{
	(void)graph, (void)step, (void)made, (void)err;
	return 0;
}

/* Behind the last node's step forward one that reads what the first node made. */
static void read_late(void *arg, struct nn_steps *to, const struct nn_planned_step *step)
{
	const struct nn_bound *b = arg;

	nn_steps_add(to, step);
	if (step->node == LAYERS - 1 && !step->backward) {
		nn_steps_add(to, &(struct nn_planned_step){ .fill = fill_nothing,
							    .node = step->node,
							    .event = -1,
							    .use = to->n_uses });
		nn_steps_use(to, NN_STEP_VALUE, nn_bound_root(b, b->nodes[0].out));
	}
}

static void passes_keep_memory(void)
{
	struct fixture plain, late;

	set_up(&plain, false);
	make_plan(&plain);
	set_up(&late, false);
	ok(nn_steps_pass(&late.steps, read_late, &late.bound, NULL) == 0 &&
		   late.steps.n == plain.steps.n + 1,
	   "steps: a pass adds one");
	ok(late.steps.turn == plain.steps.turn + 1 && late.steps.step[late.steps.turn].fill == NULL,
	   "steps: a step put in before the caller's turn moves the turn");
	make_plan(&late);
	ok(is_reused(&plain) && !is_reused(&late),
	   "steps: what an inserted step reads is kept until then, and else given away");
	tear_down(&plain);
	tear_down(&late);
}

/* More scratch for one step, and memory that stays, without a word to the plan. */
static void needs_are_met(void)
{
	struct fixture plain, needy;
	size_t place = NN_NOWHERE;

	set_up(&plain, true);
	make_plan(&plain);
	set_up(&needy, true);
	needy.steps.step[1].scratch[NN_SCRATCH_ROOM] = 4096;
	nn_steps_add(&needy.after, &(struct nn_planned_step){
					   .fill = fill_nothing, .keeps = 640, .kept = &place });
	make_plan(&needy);
	ok(needy.plan.memory.workspace == plain.plan.memory.workspace + 4096 &&
		   needy.plan.memory.derived == plain.plan.memory.derived + 640,
	   "steps: the plan has the scratch and the memory that steps ask for");
	ok(place != NN_NOWHERE && place + 640 <= needy.plan.slot,
	   "steps: and says where the memory is that stays");
	tear_down(&plain);
	tear_down(&needy);
}

int main(void)
{
	struct fixture f;

	set_up(&f, true);
	ok(in_order(&f.steps), "steps: forward, the caller's turn, backward with its events");
	tear_down(&f);
	passes_keep_memory();
	needs_are_met();
	return tap_done();
}
