/* Command lines that would fit: the one that was given with the fewest changes, the global batch unchanged. */
#ifndef NN_TRAIN_SUGGEST_H
#define NN_TRAIN_SUGGEST_H

#include "base/text.h"
#include "train/job.h"

#define NN_SUGGESTIONS 3

struct nn_suggestion {
	struct nn_text command;          /* begins with nn-train, quoted for the shell */
	size_t total;                    /* its planned peak in bytes */
};

/* Up to NN_SUGGESTIONS of them, each planned anew and found to fit; their number. Commands are freed by the caller. */
size_t nn_suggest(const struct nn_train *train, struct nn_suggestion found[NN_SUGGESTIONS]);
/* The same as lines `COMMAND   # BYTES` added to text. */
void nn_suggest_notes(const struct nn_train *train, struct nn_text *text);

#endif
