/*
 * Command lines that would fit: the one that was given with something given up, the network and the
 * global batch unchanged.
 *
 * Suggestions keep --ranks and differ in what they reduce: activations (computed again), threads,
 * leaves, f64, the optimizer's state; each set that is needed once, mildest first.
 */
#ifndef NN_PLAN_SUGGEST_H
#define NN_PLAN_SUGGEST_H

#include "base/text.h"
#include "plan/concession.h"

#define NN_SUGGESTIONS 3

struct nn_suggestion {
	struct nn_text command; /* begins with nn-train, quoted for the shell */
	size_t total;           /* its planned peak in bytes */
};

/*
 * Up to NN_SUGGESTIONS of them, each planned anew and found to fit; their number. They differ in
 * what they give up; only where there are fewer such do they differ in how much of it. Commands are
 * freed by the caller.
 */
size_t nn_suggest(const struct nn_plan *plan, const struct nn_command *command,
		  struct nn_suggestion found[NN_SUGGESTIONS]);
/*
 * The same as lines `COMMAND   # BYTES` added to text, and a line that says so where they are
 * fewer.
 */
void nn_suggest_notes(const struct nn_plan *plan, const struct nn_command *command,
		      struct nn_text *text);
/* What to say where only n were found. */
const char *nn_suggest_few(size_t n);

#endif
