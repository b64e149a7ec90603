/* Lists of steps, and how a pass changes one. */
#include "base/memory.h"
#include "graph/steps.h"

/* Room for one more of n; false: out of memory. */
static bool grow(void **items, int n, int *room, size_t size)
{
	int more = *room ? 2 * *room : 64;
	void *grown;

	if (n < *room)
		return true;
	grown = nn_realloc(*items, (size_t)*room * size, (size_t)more * size, NULL);
	if (!grown)
		return false;
	*items = grown;
	*room = more;
	return true;
}

void nn_steps_add(struct nn_steps *s, const struct nn_planned_step *step)
{
	void *items = s->step;

	if (s->status == 0 && grow(&items, s->n, &s->room, sizeof *step)) {
		s->step = items;
		s->step[s->n++] = *step;
	} else {
		s->status = -1;
	}
}

void nn_steps_use(struct nn_steps *s, enum nn_step_block memory, int index)
{
	void *items = s->uses;

	if (s->status == 0 && grow(&items, s->n_uses, &s->room_uses, sizeof *s->uses)) {
		s->uses = items;
		s->uses[s->n_uses++] = (struct nn_step_use){ memory, index };
		s->step[s->n - 1].n_uses++;
	} else {
		s->status = -1;
	}
}

void nn_steps_fini(struct nn_steps *s)
{
	nn_free(s->step);
	nn_free(s->uses);
	*s = (struct nn_steps){ 0 };
}

int nn_steps_check(const struct nn_steps *s, struct nn_error *err)
{
	return s->status ? nn_fail(err, NN_ENOMEM, "cannot allocate a list of %d steps", s->n) : 0;
}

int nn_steps_pass(struct nn_steps *s,
		  void (*each)(void *arg, struct nn_steps *to, const struct nn_planned_step *step),
		  void *arg, struct nn_error *err)
{
	struct nn_steps to = *s;

	to.step = NULL;
	to.n = to.room = 0;
	for (int i = 0; i < s->n; i++) {
		if (i == s->turn)
			to.turn = to.n;
		each(arg, &to, &s->step[i]);
	}
	nn_free(s->step);
	*s = to;
	return nn_steps_check(s, err);
}
