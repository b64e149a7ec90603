/*
 * Work that goes through stages, each of them done by threads of its own: bytes are read, then
 * decoded. How many threads a stage has follows from what its work was measured to take.
 */
#ifndef NN_DATA_AHEAD_STAGES_H
#define NN_DATA_AHEAD_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/source.h"

struct nn_stages;

/* Some rows of a batch that go through the stages together. The caller's until it is put. */
struct nn_stage_work {
	struct nn_stage_rows rows;
	/* set when it is done */
	bool failed;
	struct nn_error error;
	/* the stages' own */
	struct nn_stage_work *next;
	size_t *left; /* works of its batch that are not done; of the caller's */
};

/*
 * threads: most of a stage that computes; one that waits for a disk may have more. No thread is
 * started yet.
 */
int nn_stages_new(struct nn_stages **stages, const struct nn_source *source, int threads,
		  struct nn_error *err);
/* Work that was not begun is left undone. NULL allowed. */
void nn_stages_free(struct nn_stages *stages);

/* Put n works in, which are done in this order; *left counts those that are not. */
int nn_stages_put(struct nn_stages *stages, struct nn_stage_work *work, size_t n, size_t *left,
		  struct nn_error *err);
/* Take out what was not begun, and wait for the rest: of all that was put nothing is at work. */
void nn_stages_drop(struct nn_stages *stages);
/*
 * Wait until *left is 0, at most so many seconds. True: it is, and `seconds` were waited.
 */
bool nn_stages_wait(struct nn_stages *stages, const size_t *left, double most_s);
/*
 * Threads for each stage, so that it gives `wanted` rows a second and a little more; called again
 * and again, it follows what the work takes. 0: not known, while rows are waited for: one more
 * where work lies ready.
 */
int nn_stages_resize(struct nn_stages *stages, double wanted, struct nn_error *err);

/* What a stage did so far. */
struct nn_stage_figures {
	const char *name;
	int workers, most; /* now; at most */
	uint64_t rows;
	double busy;       /* share of the workers' time that they worked */
	double queue;      /* rows that lay ready for it, in the mean */
	double row_s;      /* a row takes one worker; NAN: none was done */
	double rows_per_s; /* as many as all its workers can do; NAN: not known */
};
size_t nn_stages_count(const struct nn_stages *stages);
struct nn_stage_figures nn_stages_figures(struct nn_stages *stages, size_t stage);

#endif
