/* What a training can do without so that its plan needs less memory, tried alone, then together. */
#include <string.h>

#include "plan/fit.h"
#include "plan/suggest.h"

/*
 * From what costs least to what costs most: how the work is done, its precision, how it learns.
 * What is trained stays: a narrower network is another one. Rows at once are none of them: as many
 * go through as fit.
 */
enum { RECOMPUTE, OFFLOAD, THREADS, LEAVES, PRECISION, OPTIMIZER, KINDS };

/* A plan as it would be. */
struct variant {
	struct nn_plan plan; /* of the two below */
	struct nn_task task;
	struct nn_recipe recipe;
	struct nn_instead instead[KINDS]; /* the options that say so */
	size_t n;
};

/* How much of each is given up; 0: nothing of it. */
struct levels {
	int of[KINDS];
};

/* ---- each of them; false: there is no such thing to give ---- */

static bool recompute(struct variant *v, int level, struct nn_instead *instead)
{
	size_t had = v->recipe.recompute;

	*instead = (struct nn_instead){ .option = "recompute" };
	v->recipe.recompute = (size_t)level;
	return had == 0;
}

static bool offload(struct variant *v, int level, struct nn_instead *instead)
{
	size_t had = v->recipe.offload;

	*instead = (struct nn_instead){ .option = "offload" };
	v->recipe.offload = (size_t)level;
	return had == 0;
}

static bool fewer_threads(struct variant *v, int level, struct nn_instead *instead)
{
	bool some = nn_pool_threads(v->task.pool) > level;

	*instead = (struct nn_instead){ "threads", "1", { NULL } };
	v->task.pool = NULL;
	return some;
}

static bool fewer_leaves(struct variant *v, int level, struct nn_instead *instead)
{
	size_t leaves = level == 1 ? 2 : 1, had = v->recipe.leaves;

	*instead = (struct nn_instead){ "leaves", level == 1 ? "2" : "1", { NULL } };
	v->recipe.leaves = leaves;
	return had > leaves && (size_t)nn_layout_n_sharers(v->plan.layout) <= leaves;
}

static bool less_precision(struct variant *v, int level, struct nn_instead *instead)
{
	bool some = v->task.device->dtype == NN_F64 && level == 1;

	*instead = (struct nn_instead){ "precision", "f32", { NULL } };
	if (some)
		v->task.device = nn_device_open(v->task.device->name, NN_F32, NULL);
	return some && v->task.device;
}

/* One with one slot, then one with none. */
static bool smaller_optimizer(struct variant *v, int level, struct nn_instead *instead)
{
	struct nn_recipe *r = &v->recipe;
	struct nn_optimizer_options had = nn_recipe_optimizer(r);
	size_t slots = level == 1 ? 1 : 0;

	r->optimizer = (int)nn_optimizer_keeping(slots);
	r->momentum = 0;
	r->nesterov = false;
	*instead = (struct nn_instead){ "optimizer",
					nn_optimizers[r->optimizer].name,
					{ "momentum", "nesterov" } };
	return nn_optimizer_count(&had) > slots;
}

static const struct {
	int levels;
	bool (*give)(struct variant *v, int level, struct nn_instead *instead);
} kinds[KINDS] = {
	{ 1, recompute },    { 1, offload },        { 1, fewer_threads },
	{ 2, fewer_leaves }, { 1, less_precision }, { 2, smaller_optimizer },
};

/* ---- a plan without them ---- */

struct search {
	const struct nn_plan *plan;
	const struct nn_command *command;
	struct nn_suggestion *found;
	struct levels most, taken[NN_SUGGESTIONS];
	size_t n;
};

static void begin(struct variant *v, const struct nn_plan *plan)
{
	*v = (struct variant){ .plan = *plan, .task = *plan->task, .recipe = *plan->task->recipe };
	v->plan.task = &v->task;
	v->task.recipe = &v->recipe;
}

static bool give(struct variant *v, int kind, int level)
{
	return kinds[kind].give(v, level, &v->instead[v->n++]);
}

/*
 * Planned so, of ranks with room for the norms of a --log that may be added. false: there is no
 * such thing to give, or the plan does not fit.
 */
static bool fits(const struct search *s, struct variant *v, const struct levels *l)
{
	begin(v, s->plan);
	if (nn_layout_n_sharers(s->plan->layout) > 1 || nn_layout_parts(s->plan->layout) > 1)
		v->task.logs = true;
	for (int kind = 0; kind < KINDS; kind++)
		if (l->of[kind] > s->most.of[kind] || (l->of[kind] && !give(v, kind, l->of[kind])))
			return false;
	return nn_fit_choose(&v->plan, &v->plan.fit, NULL) == 0 && v->plan.fit.fits;
}

static void take(struct search *s, const struct levels *l)
{
	struct nn_suggestion *to = &s->found[s->n];
	struct nn_fit fit;
	struct variant v;

	if (!fits(s, &v, l) ||
	    (l->of[RECOMPUTE] && v.plan.fit.again_flops == 0) || /* gives nothing */
	    (l->of[OFFLOAD] && v.plan.fit.spilled == 0))
		return;
	v.task.logs = s->plan->task->logs;
	if (nn_fit_plan(&v.plan, v.plan.fit.micro, &fit, NULL) < 0)
		fit = v.plan.fit;
	*to = (struct nn_suggestion){ .total = nn_fit_need(s->plan, &fit), .device = fit.device };
	nn_suggest_command(&to->command, s->command, v.instead, v.n);
	s->taken[s->n++] = *l;
}

/* ---- the search ---- */

/* Set number `set` of all, whose digits are levels, the first kind's the last; kinds it gives. */
static int levels_of(struct levels *l, int set)
{
	int given = 0;

	for (int kind = 0; kind < KINDS; set /= kinds[kind++].levels + 1) {
		l->of[kind] = set % (kinds[kind].levels + 1);
		given += l->of[kind] > 0;
	}
	return set > 0 ? 0 : given; /* 0: beyond the last */
}

/* Is all that an earlier suggestion gives up given up here too, or is it the same one? */
static bool repeats(const struct search *s, const struct levels *l, bool same)
{
	for (size_t i = 0; i < s->n; i++) {
		bool covered = true;

		for (int kind = 0; kind < KINDS; kind++)
			covered &= same ? s->taken[i].of[kind] == l->of[kind]
					: s->taken[i].of[kind] == 0 || l->of[kind] > 0;
		if (covered)
			return true;
	}
	return false;
}

/* Sets of few kinds first. */
static void look(struct search *s, bool same)
{
	struct levels l;

	for (int size = 1; size <= KINDS; size++)
		for (int set = 1, given; (given = levels_of(&l, set)) > 0 && s->n < NN_SUGGESTIONS;
		     set++)
			if (given == size && !repeats(s, &l, same))
				take(s, &l);
}

size_t nn_suggest(const struct nn_plan *plan, const struct nn_command *command,
		  struct nn_suggestion found[NN_SUGGESTIONS])
{
	struct search s = { .plan = plan, .command = command, .found = found };
	struct variant v;

	begin(&v, plan);
	/* a training that goes on from a state keeps all that a state holds */
	for (int kind = 0; kind < (command->resumes ? LEAVES : KINDS); kind++)
		if (give(&v, kind, kinds[kind].levels))
			s.most.of[kind] = kinds[kind].levels;
	if (fits(&s, &v, &s.most)) {
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

const char *nn_suggest_few(size_t n)
{
	return n == 0 ? "no number of threads or leaves, precision or optimizer would make this "
			"network fit; --tensor and --pipeline divide it among --ranks"
		      : "nothing else of threads, leaves, precision and optimizer would make this "
			"network fit; --tensor and --pipeline divide it among --ranks";
}
