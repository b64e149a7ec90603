/* Command lines whose plans fit: what they give up, tried alone, then together. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "plan/fit.h"
#include "plan/suggest.h"

#define LEAST_WIDTH 1e-6 /* a share of the widths below which a network is no longer the same */
#define TRIES 12         /* of widths */
#define MOST 0.96        /* of the limit is taken, since widths are free to be chosen */
#define NEARLY 0.92      /* and so much at least, if that is soon found */
#define WORTH 1.1        /* to give up something more, layers should be wider by so much for it */

struct search {
	const struct nn_plan *plan;
	const struct nn_command *command;
	struct nn_suggestion *found;
	struct nn_concession taken[NN_SUGGESTIONS];
	size_t n;
	bool all;     /* of layers and something else: all levels of that */
	double worth; /* what layers have to gain by something else */
};

static bool fits(const struct nn_plan *plan, const struct nn_concession *c)
{
	struct nn_variant v;
	bool found = nn_concede(&v, plan, c);

	nn_variant_free(&v);
	return found;
}

static bool take(struct search *s, const struct nn_concession *c)
{
	struct nn_variant v;
	bool fits = nn_concede(&v, s->plan, c);

	if (fits) {
		s->found[s->n] = (struct nn_suggestion){ .total = nn_variant_need(&v, s->plan) };
		nn_variant_command(&s->found[s->n].command, s->command, c, &v);
		s->taken[s->n++] = *c;
	}
	nn_variant_free(&v);
	return fits;
}

static unsigned kinds_of(const struct nn_concession *c)
{
	unsigned kinds = 0;

	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		kinds |= (unsigned)(c->level[kind] > 0) << kind;
	return kinds;
}

/* ---- sets of kinds ---- */

#define WIDTH (1u << NN_LESS_WIDTH)

static unsigned char levels(int kind)
{
	return kind == NN_LESS_WIDTH ? 1 : nn_concession_kinds[kind].levels;
}

/* One level each, or all of them. */
static struct nn_concession concession_of(unsigned kinds, bool all)
{
	struct nn_concession c = { .width = 1 };

	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		c.level[kind] = (kinds >> kind & 1) * (all ? levels(kind) : 1);
	return c;
}

/* The next of the same kinds, levels counted like digits. false: that was the last. */
static bool next_levels(struct nn_concession *c)
{
	for (int kind = 0; kind < NN_CONCESSIONS; kind++) {
		if (c->level[kind] && c->level[kind] < levels(kind)) {
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

/* Plan it with as many rows at once as without it. *total: in bytes, 0: none. */
static bool fits_well(const struct nn_plan *plan, struct nn_concession c, double *total)
{
	struct nn_variant v;
	bool fits;

	c.rows = plan->fit.micro;
	fits = nn_concede(&v, plan, &c) &&
	       (double)nn_fit_need(plan, &v.plan.fit) <= MOST * (double)plan->fit.limit;
	*total = (double)nn_fit_need(plan, &v.plan.fit);
	nn_variant_free(&v);
	return fits;
}

/*
 * The widest layers that fit with a concession, nearly: what they take is about a line over the
 * square of their width, so the next try is where the line through the last two meets the limit, or
 * in the middle of what is known where that says nothing. least: at least as wide, a share; 0: any.
 * false: not even those fit.
 */
static bool find_width(const struct nn_plan *plan, double least, struct nn_concession *c)
{
	double limit = (double)plan->fit.limit, low = least * least, high = 1, at = 1,
	       total = (double)nn_fit_need(plan, &plan->fit), next = limit / total;

	c->width = least;
	if (least >= 1 || (least > 0 && !fits_well(plan, *c, &total)))
		return false;
	at = least > 0 ? low : 1;
	for (int i = 0; i < TRIES && high > LEAST_WIDTH * LEAST_WIDTH; i++) {
		double was = at, had = total;
		bool fits;

		at = next > low && next < high ? next : (low + high) / 2;
		c->width = sqrt(at);
		fits = fits_well(plan, *c, &total);
		*(fits ? &low : &high) = at;
		if (total == 0 || (fits && total > NEARLY * limit))
			break;
		next = at + ((MOST + NEARLY) / 2 * limit - total) * (at - was) / (total - had);
	}
	c->width = sqrt(low);
	return low > 0;
}

/* Narrower layers, if they are wider than without the rest of it. */
static void try_narrower(struct search *s, unsigned kinds)
{
	struct nn_concession c = concession_of(kinds | WIDTH, s->all);
	double least = 0;

	if (is_taken(s, &c))
		return;
	for (size_t i = 0; i < s->n; i++) {
		unsigned had = kinds_of(&s->taken[i]);

		if ((had & (kinds | WIDTH)) == had && had != (kinds | WIDTH))
			least = fmax(least, s->taken[i].width * s->worth);
	}
	if (find_width(s->plan, least, &c))
		take(s, &c);
}

/* Sets of these kinds, small ones first. */
static void each_set(struct search *s, unsigned kinds, int least,
		     void (*look)(struct search *s, unsigned kinds))
{
	for (int size = least; size <= NN_CONCESSIONS; size++)
		for (unsigned set = 0; set <= kinds && s->n < NN_SUGGESTIONS; set++)
			if ((set & ~kinds) == 0 && __builtin_popcount(set) == size)
				look(s, set);
}

size_t nn_suggest(const struct nn_plan *plan, const struct nn_command *command,
		  struct nn_suggestion found[NN_SUGGESTIONS])
{
	struct search s = {
		.plan = plan, .command = command, .found = found, .all = true, .worth = WORTH
	};
	unsigned kinds = possible_kinds(plan, command), others = kinds & ~WIDTH;
	struct nn_concession all = concession_of(others, true);
	bool wide = fits(plan, &all);

	if (wide)
		each_set(&s, others, 1, try_mildest);
	if (kinds & WIDTH)
		each_set(&s, others, 0, try_narrower);
	if (wide)
		each_set(&s, others, 1, try_all);
	for (s.all = false; (kinds & WIDTH) && s.worth >= 1; s.worth -= WORTH - 1)
		each_set(&s, others, 1, try_narrower);
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
	return n == 0 ? "no number of threads or leaves, precision, optimizer or width of layers "
			"would make it fit"
		      : "nothing else of threads, leaves, precision, optimizer and widths of "
			"layers would make it fit";
}
