/* What a list of steps takes, before anything has a place: for passes that choose among lists. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"

int nn_steps_peak(const struct nn_steps *s, const struct nn_bound *b, const double *value_bytes,
		  double *most, struct nn_error *err)
{
	size_t line = (size_t)(b->n_values + b->n_nodes), n = NN_STEP_BLOCKS * line;
	int *time = nn_alloc(2 * n, sizeof *time, err);
	double *bytes = nn_alloc(n, sizeof *bytes, err),
	       *change = nn_alloc((size_t)s->n + 1, sizeof *change, err), live = 0;
	int status = time && bytes && change ? 0 : -1;

	for (int t = 0; t < s->n && status == 0; t++) {
		const struct nn_planned_step *step = &s->step[t];

		if (step->saved)
			bytes[NN_STEP_SAVED * line + (size_t)step->node] = (double)step->saved;
		for (int u = step->use; u < step->use + step->n_uses; u++) {
			size_t index = (size_t)s->uses[u].index,
			       at = (size_t)s->uses[u].memory * line + index;

			if (s->uses[u].memory <= NN_STEP_AGAIN)
				bytes[at] = value_bytes[index];
			else if (s->uses[u].memory == NN_STEP_SAVED_AGAIN)
				bytes[at] = bytes[NN_STEP_SAVED * line + index];
			time[2 * at] = time[2 * at] ? time[2 * at] : t + 1;
			time[2 * at + 1] = t + 1;
		}
	}
	for (size_t i = 0; i < n && status == 0; i++)
		if (time[2 * i]) {
			change[time[2 * i] - 1] += bytes[i];
			change[time[2 * i + 1]] -= bytes[i];
		}
	*most = 0;
	for (int t = 0; t < s->n && status == 0; t++)
		*most = fmax(*most, live += change[t]);
	nn_free(time);
	nn_free(bytes);
	nn_free(change);
	return status;
}

int nn_steps_try(const struct nn_steps *steps,
		 int (*pass)(void *arg, struct nn_steps *steps, struct nn_error *err), void *arg,
		 const struct nn_bound *b, const double *value_bytes, double *most,
		 struct nn_error *err)
{
	struct nn_steps copy = *steps;
	int status = -1;

	copy.step = nn_alloc((size_t)copy.n, sizeof *copy.step, err);
	copy.uses = nn_alloc((size_t)copy.n_uses, sizeof *copy.uses, err);
	copy.room = copy.n;
	copy.room_uses = copy.n_uses;
	if (copy.step && copy.uses) {
		memcpy(copy.step, steps->step, (size_t)copy.n * sizeof *copy.step);
		memcpy(copy.uses, steps->uses, (size_t)copy.n_uses * sizeof *copy.uses);
		status = pass(arg, &copy, err) < 0 ||
					 nn_steps_peak(&copy, b, value_bytes, most, err) < 0
				 ? -1
				 : 0;
	}
	nn_steps_fini(&copy);
	return status;
}
