/* Lengths on their way to a session's graph; rows of which nothing is said are as long as can be. */
#include <string.h>

#include "predict/lengths.h"

static void forget(struct nn_session_lengths *l)
{
	uint32_t *to = nn_mirror_write(&l->rows, l->queue);

	for (size_t r = 0; r < l->max_rows; r++)
		to[r] = (uint32_t)l->longest;
	l->ran = false;
}

int nn_session_lengths_open(struct nn_session_lengths *l, const struct nn_program *program,
			    struct nn_queue *queue, size_t max_rows, struct nn_error *err)
{
	int input = nn_program_lengths(program);

	if (input < 0)
		return 0;
	if (nn_mirror_new(&l->rows, queue, max_rows * sizeof(uint32_t), err) < 0)
		return -1;
	l->queue = queue;
	l->max_rows = max_rows;
	l->longest = program->values[program->inputs[input]].shape.dim[0];
	forget(l);
	return 0;
}

void nn_session_lengths_close(struct nn_session_lengths *l)
{
	nn_mirror_free(&l->rows, l->queue);
}

void nn_session_lengths_set(struct nn_session_lengths *l, size_t first, size_t n,
			    const uint32_t *from)
{
	if (!l->longest)
		return;
	if (l->ran)
		forget(l);
	if (n)
		memcpy((uint32_t *)nn_mirror_write(&l->rows, l->queue) + first, from,
		       n * sizeof *from);
}

const uint32_t *nn_session_lengths_run(struct nn_session_lengths *l, size_t n)
{
	if (!l->longest)
		return NULL;
	if (l->ran)
		forget(l);
	nn_mirror_send(&l->rows, l->queue, 0, n * sizeof(uint32_t));
	l->ran = true;
	return l->rows.there;
}
