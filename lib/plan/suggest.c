/* Command lines whose plans fit: what they give up, tried alone, then together. */
#include <string.h>

#include "base/memory.h"
#include "plan/fit.h"
#include "plan/suggest.h"

struct search {
	const struct nn_plan *plan;
	const struct nn_command *command;
	struct nn_suggestion *found;
	struct nn_concession taken[NN_SUGGESTIONS];
	size_t n;
};

static bool fits(const struct nn_plan *plan, const struct nn_concession *c)
{
	struct nn_variant v;

	return nn_concede(&v, plan, c);
}

static bool take(struct search *s, const struct nn_concession *c)
{
	struct nn_variant v;

	if (!nn_concede(&v, s->plan, c) ||
	    (c->level[NN_RECOMPUTE] && v.plan.fit.again_flops == 0)) /* that gives nothing */
		return false;
	s->found[s->n] = (struct nn_suggestion){ .total = nn_variant_need(&v, s->plan) };
	nn_variant_command(&s->found[s->n].command, s->command, c, &v);
	s->taken[s->n++] = *c;
	return true;
}

static unsigned kinds_of(const struct nn_concession *c)
{
	unsigned kinds = 0;

	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		kinds |= (unsigned)(c->level[kind] > 0) << kind;
	return kinds;
}

/* ---- sets of kinds ---- */

/* One level each, or all of them. */
static struct nn_concession concession_of(unsigned kinds, bool all)
{
	struct nn_concession c = { 0 };

	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		c.level[kind] = (kinds >> kind & 1) * (all ? nn_concession_kinds[kind].levels : 1);
	return c;
}

/* The next of the same kinds, levels counted like digits. false: that was the last. */
static bool next_levels(struct nn_concession *c)
{
	for (int kind = 0; kind < NN_CONCESSIONS; kind++) {
		if (c->level[kind] && c->level[kind] < nn_concession_kinds[kind].levels) {
			c->level[kind]++;
			return true;
		}
		c->level[kind] = c->level[kind] > 0;
	}
	return false;
}

static unsigned possible_kinds(const struct nn_plan *plan, const struct nn_command *command)
{
	unsigned kinds = 0;

	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		kinds |= (unsigned)nn_may_concede(plan, command, kind) << kind;
	return kinds;
}

/* Is all that an earlier suggestion gives up given up here too? */
static bool covers(const struct search *s, unsigned kinds)
{
	for (size_t i = 0; i < s->n; i++)
		if ((kinds_of(&s->taken[i]) & kinds) == kinds_of(&s->taken[i]))
			return true;
	return false;
}

static bool is_taken(const struct search *s, const struct nn_concession *c)
{
	for (size_t i = 0; i < s->n; i++)
		if (memcmp(s->taken[i].level, c->level, sizeof c->level) == 0)
			return true;
	return false;
}

/* ---- the search ---- */

/* The mildest levels of these kinds that fit. */
static void try_mildest(struct search *s, unsigned kinds)
{
	struct nn_concession c = concession_of(kinds, false);

	if (covers(s, kinds))
		return;
	while (!take(s, &c) && next_levels(&c))
		;
}

/* Any that fit and are not there yet. */
static void try_all(struct search *s, unsigned kinds)
{
	struct nn_concession c = concession_of(kinds, false);

	do {
		if (!is_taken(s, &c))
			take(s, &c);
	} while (s->n < NN_SUGGESTIONS && next_levels(&c));
}

/* Sets of these kinds, small ones first. */
static void each_set(struct search *s, unsigned kinds,
		     void (*look)(struct search *s, unsigned kinds))
{
	for (int size = 1; size <= NN_CONCESSIONS; size++)
		for (unsigned set = 0; set <= kinds && s->n < NN_SUGGESTIONS; set++)
			if ((set & ~kinds) == 0 && __builtin_popcount(set) == size)
				look(s, set);
}

size_t nn_suggest(const struct nn_plan *plan, const struct nn_command *command,
		  struct nn_suggestion found[NN_SUGGESTIONS])
{
	struct search s = { .plan = plan, .command = command, .found = found };
	unsigned kinds = possible_kinds(plan, command);
	struct nn_concession all = concession_of(kinds, true);

	if (fits(plan, &all)) {
		each_set(&s, kinds, try_mildest);
		each_set(&s, kinds, try_all);
	}
	return s.n;
}

void nn_suggest_notes(const struct nn_plan *plan, const struct nn_command *command,
		      struct nn_text *text)
{
	struct nn_suggestion found[NN_SUGGESTIONS];
	size_t n = nn_suggest(plan, command, found);

	for (size_t i = 0; i < n; i++) {
		nn_text_addf(text, "%s   # %zu\n", found[i].command.data, found[i].total);
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
