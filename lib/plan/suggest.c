/* What a training can do without so that its plan needs less memory, tried alone, then together. */
#include <string.h>

#include "plan/fit.h"
#include "plan/suggest.h"

/*
 * From what costs least to what costs most: how the work is done, its precision, how it learns.
 * What is trained stays: a narrower network is another one. Rows at once are none of them: as many
 * go through as fit. Of two of a kind the second gives up more. A set of them is its bits.
 */
enum {
	RECOMPUTE,
	OFFLOAD,
	ONE_THREAD,
	NO_STATE,
	TWO_LEAVES,
	ONE_LEAF,
	F32,
	ONE_SLOT,
	NO_SLOT,
	GIFTS
};

#define BIT(gift) (1u << (gift))
#define KINDS 7

static const struct {
	unsigned kind;
	struct nn_instead instead; /* the optimizer's value is that of the variant */
} gifts[GIFTS] = {
	[RECOMPUTE] = { BIT(0), { .option = "recompute" } },
	[OFFLOAD] = { BIT(1), { .option = "offload" } },
	[ONE_THREAD] = { BIT(2), { "threads", "1", { NULL } } },
	[NO_STATE] = { BIT(3), { "checkpoint", "no", { NULL } } },
	[TWO_LEAVES] = { BIT(4), { "leaves", "2", { NULL } } },
	[ONE_LEAF] = { BIT(4), { "leaves", "1", { NULL } } },
	[F32] = { BIT(5), { "precision", "f32", { NULL } } },
	[ONE_SLOT] = { BIT(6), { "optimizer", NULL, { "momentum", "nesterov" } } },
	[NO_SLOT] = { BIT(6), { "optimizer", NULL, { "momentum", "nesterov" } } },
};

/* A plan as it would be. */
struct variant {
	struct nn_plan plan; /* of the three below */
	struct nn_budget budget;
	struct nn_task task;
	struct nn_recipe recipe;
	struct nn_instead instead[KINDS]; /* the options that say so */
	size_t n;
};

struct search {
	const struct nn_plan *plan;
	const struct nn_command *command;
	struct nn_suggestion *found;
	unsigned possible, taken[NN_SUGGESTIONS]; /* sets */
	size_t n;
};

static bool fewer_leaves(struct variant *v, size_t leaves)
{
	size_t had = v->recipe.leaves;

	v->recipe.leaves = leaves;
	return had > leaves && (size_t)nn_layout_n_sharers(v->plan.layout) <= leaves;
}

static bool smaller_optimizer(struct variant *v, size_t slots)
{
	struct nn_recipe *r = &v->recipe;
	struct nn_optimizer_options had = nn_recipe_optimizer(r);

	r->optimizer = (int)nn_optimizer_keeping(slots);
	r->momentum = 0;
	r->nesterov = false;
	v->instead[v->n - 1].value = nn_optimizers[r->optimizer].name;
	return nn_optimizer_count(&had) > slots;
}

/* false: there is no such thing to give. */
static bool give(struct variant *v, int gift)
{
	struct nn_recipe *r = &v->recipe;
	bool kept = v->budget.a_state;

	v->instead[v->n++] = gifts[gift].instead;
	switch (gift) {
	case RECOMPUTE:
		return !r->recompute && (r->recompute = 1);
	case OFFLOAD:
		return !r->offload && (r->offload = 1);
	case ONE_THREAD:
		gift = nn_pool_threads(v->task.pool);
		v->task.pool = NULL;
		return gift > 1;
	case NO_STATE:
		v->budget.keeps_state = v->budget.a_state = false;
		return kept;
	case TWO_LEAVES:
	case ONE_LEAF:
		return fewer_leaves(v, gift == TWO_LEAVES ? 2 : 1);
	case F32:
		return v->task.device->dtype == NN_F64 &&
		       (v->task.device = nn_device_open(v->task.device->name, NN_F32, NULL));
	default:
		return smaller_optimizer(v, gift == ONE_SLOT ? 1 : 0);
	}
}

static unsigned kinds_of(unsigned set)
{
	unsigned kinds = 0;

	for (int i = 0; i < GIFTS; i++)
		kinds |= set & BIT(i) ? gifts[i].kind : 0;
	return kinds;
}

static void begin(struct variant *v, const struct nn_plan *plan)
{
	*v = (struct variant){ .plan = *plan,
			       .budget = *plan->budget,
			       .task = *plan->task,
			       .recipe = *plan->task->recipe };
	v->plan.budget = &v->budget;
	v->plan.task = &v->task;
	v->task.recipe = &v->recipe;
}

/*
 * Planned so, of ranks with room for the norms of a --log that may be added. false: there is no
 * such thing to give, or the plan does not fit.
 */
static bool fits(const struct nn_plan *plan, struct variant *v, unsigned set)
{
	begin(v, plan);
	if (nn_layout_n_sharers(plan->layout) > 1 || nn_layout_parts(plan->layout) > 1)
		v->task.logs = true;
	for (int i = 0; i < GIFTS; i++)
		if (set & BIT(i) && !give(v, i))
			return false;
	return nn_fit_choose(&v->plan, &v->plan.fit, NULL) == 0 && v->plan.fit.fits;
}

static void take(struct search *s, unsigned set)
{
	struct nn_suggestion *to = &s->found[s->n];
	struct nn_fit fit;
	struct variant v;

	if (!fits(s->plan, &v, set) ||
	    (set & BIT(RECOMPUTE) && v.plan.fit.again_flops == 0) || /* gives nothing */
	    (set & BIT(OFFLOAD) && v.plan.fit.spilled == 0))
		return;
	fit = v.plan.fit;
	if (v.task.logs != s->plan->task->logs) { /* what the command itself will choose */
		v.task.logs = s->plan->task->logs;
		if (nn_fit_choose(&v.plan, &fit, NULL) < 0)
			fit = v.plan.fit;
	}
	*to = (struct nn_suggestion){ .total = nn_fit_need(s->plan, &fit), .device = fit.device };
	nn_suggest_command(&to->command, s->command, v.instead, v.n);
	s->taken[s->n++] = set;
}

/* Is all that an earlier suggestion gives up given up here too, or is it the same one? */
static bool repeats(const struct search *s, unsigned set, bool same)
{
	for (size_t i = 0; i < s->n; i++)
		if (same ? s->taken[i] == set : !(kinds_of(s->taken[i]) & ~kinds_of(set)))
			return true;
	return false;
}

/* Sets of few kinds first, one of a kind. */
static void look(struct search *s, bool same)
{
	for (int size = 1; size <= KINDS; size++)
		for (unsigned set = 1; set < BIT(GIFTS) && s->n < NN_SUGGESTIONS; set++)
			if (!(set & ~s->possible) && __builtin_popcount(set) == size &&
			    __builtin_popcount(kinds_of(set)) == size && !repeats(s, set, same))
				take(s, set);
}

size_t nn_suggest(const struct nn_plan *plan, const struct nn_command *command,
		  struct nn_suggestion found[NN_SUGGESTIONS])
{
	struct search s = { .plan = plan, .command = command, .found = found };
	unsigned most = 0; /* of each kind what gives up more */
	struct variant v;

	/* a resumed training keeps all that its state holds */
	for (int i = 0; i < (command->resumes ? NO_STATE : GIFTS); i++) {
		begin(&v, plan);
		if (!give(&v, i) || (i == NO_STATE && command->keeps))
			continue;
		s.possible |= BIT(i);
		if (i > 0 && gifts[i].kind == gifts[i - 1].kind)
			most &= ~BIT(i - 1);
		most |= BIT(i);
	}
	if (fits(plan, &v, most)) {
		look(&s, false);
		look(&s, true);
	}
	return s.n;
}

void nn_suggest_line(struct nn_text *text, const struct nn_suggestion *s)
{
	nn_text_addf(text, "%s   # %zu", s->command.data, s->total);
	if (s->device)
		nn_text_addf(text, ", %zu on the device", s->device);
	nn_text_add(text, "\n");
}

void nn_suggest_notes(const struct nn_plan *plan, const struct nn_command *command,
		      struct nn_text *text)
{
	struct nn_suggestion found[NN_SUGGESTIONS];
	size_t n = nn_suggest(plan, command, found);

	for (size_t i = 0; i < n; i++) {
		nn_suggest_line(text, &found[i]);
		nn_text_free(&found[i].command);
	}
	if (n < NN_SUGGESTIONS)
		nn_text_addf(text, "%s\n", nn_suggest_few(n));
}

#define DIVIDE " would make this network fit; --tensor and --pipeline divide it among --ranks"

const char *nn_suggest_few(size_t n)
{
	return n == 0 ? "no number of threads or leaves, precision or optimizer" DIVIDE
		      : "nothing else of threads, leaves, precision and optimizer" DIVIDE;
}
