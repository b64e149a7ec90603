/*
 * Command lines that would fit: the given one with a concession, the network and the global batch
 * unchanged.
 *
 * Suggestions keep --ranks and differ in what they reduce: activations (computed again), threads, a
 * state that nobody asked for, leaves, f64, the optimizer's state; each set that is needed once,
 * mildest first.
 */
#ifndef NN_PLAN_SUGGEST_H
#define NN_PLAN_SUGGEST_H

#include "base/option.h"
#include "base/text.h"
#include "plan/plan.h"

#define NN_SUGGESTIONS 3

struct nn_suggestion {
	struct nn_text command; /* begins with nn-train, quoted for the shell */
	size_t total, device;   /* its planned peak in bytes; on a device's own memory; 0: none */
};

/* The command line that a plan is made for. */
struct nn_command {
	const struct nn_opt_list *list;
	const char *model, *data_path, *targets_path; /* paths NULL: not given */
	bool resumes, keeps;                          /* it resumes from a state; it asks for one */
};

/*
 * Find up to NN_SUGGESTIONS, each planned anew and found to fit; returns their number. They differ
 * in the kind of concession, and only where there are fewer kinds in its level. The caller frees the
 * commands.
 */
size_t nn_suggest(const struct nn_plan *plan, const struct nn_command *command,
		  struct nn_suggestion found[NN_SUGGESTIONS]);
/* A line `COMMAND   # BYTES` or `COMMAND   # BYTES, BYTES on the device`. */
void nn_suggest_line(struct nn_text *text, const struct nn_suggestion *suggestion);
/* The same as such lines added to text, and a line that says so where they are fewer. */
void nn_suggest_notes(const struct nn_plan *plan, const struct nn_command *command,
		      struct nn_text *text);
/* The sentence for fewer than NN_SUGGESTIONS: n were found. */
const char *nn_suggest_few(size_t n);

/* Inside: an option that a suggestion gives, in place of these of the command line (NULL: none). */
struct nn_instead {
	const char *option, *value; /* value NULL: it takes none */
	const char *also[3];
};
/* The command line with n of them, quoted for the shell. */
void nn_suggest_command(struct nn_text *text, const struct nn_command *command,
			const struct nn_instead *instead, size_t n);

#endif
