/* The stack and the values of the pickle machine. */
#include "base/limit.h"
#include "base/memory.h"
#include "file/torch/pickle-machine.h"

int nn_pickle_fail(const struct nn_pickle_machine *m, const char *what)
{
	return nn_fail(m->err, NN_EFORMAT, "the pickle %s at byte %zu", what,
		       (size_t)(m->at - m->bytes));
}

/* Room for one more of n elements of `size` bytes. */
int nn_pickle_grow(struct nn_pickle_machine *m, void *list, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 64;
	void **place = list, *grown;
	char said[NN_LIMIT_TEXT];

	if (n >= nn_limit(NN_LIMIT_PICKLE_VALUES))
		return nn_fail(m->err, NN_EFORMAT, "the pickle has more than %s at byte %zu",
			       nn_limit_said(NN_LIMIT_PICKLE_VALUES, 0, said),
			       (size_t)(m->at - m->bytes));
	if (n < *room)
		return 0;
	grown = nn_realloc(*place, *room * size, more * size, m->err);
	if (!grown)
		return -1;
	*place = grown;
	*room = more;
	return 0;
}

/* ---- values and the stack ---- */

int nn_pickle_push_old(struct nn_pickle_machine *m, uint32_t value)
{
	if (nn_pickle_grow(m, &m->stack, m->n_stack, &m->stack_room, sizeof *m->stack) < 0)
		return -1;
	m->stack[m->n_stack++] = value;
	return 0;
}

int nn_pickle_push(struct nn_pickle_machine *m, const struct nn_pickle_value *value)
{
	if (nn_pickle_grow(m, &m->p->values, m->p->n_values, &m->values_room, sizeof *value) < 0)
		return -1;
	m->p->values[m->p->n_values] = *value;
	return nn_pickle_push_old(m, m->p->n_values++);
}

int nn_pickle_push_int(struct nn_pickle_machine *m, enum nn_pickle_kind kind, int64_t i)
{
	return nn_pickle_push(m, &(struct nn_pickle_value){ .kind = kind, .i = i });
}

/* Values above the last mark, or all there are. */
uint32_t nn_pickle_above(const struct nn_pickle_machine *m)
{
	return m->n_stack - (m->n_marks ? m->marks[m->n_marks - 1] : 0);
}

/* The value `depth` below the top of the stack. */
struct nn_pickle_value *nn_pickle_under(struct nn_pickle_machine *m, uint32_t depth)
{
	return &m->p->values[m->stack[m->n_stack - 1 - depth]];
}

int nn_pickle_need(const struct nn_pickle_machine *m, uint32_t n)
{
	return nn_pickle_above(m) >= n ? 0 : nn_pickle_fail(m, "wants values that it has not");
}

/* One more item of value number `owner`. */
static int add_item(struct nn_pickle_machine *m, uint32_t owner, uint32_t key, uint32_t value)
{
	struct nn_pickle_value *v;
	uint32_t n;

	if (m->p->n_items == 0)
		m->p->n_items = 1;
	n = m->p->n_items;
	if (nn_pickle_grow(m, &m->p->items, n, &m->items_room, sizeof *m->p->items) < 0)
		return -1;
	m->p->items[n] = (struct nn_pickle_item){ key, value, 0 };
	m->p->n_items++;
	v = &m->p->values[owner];
	if (v->last)
		m->p->items[v->last].next = n;
	else
		v->first = n;
	v->last = n;
	v->n++;
	return 0;
}

/* The uppermost n values become a tuple. */
int nn_pickle_tuple(struct nn_pickle_machine *m, uint32_t n)
{
	uint32_t first = m->n_stack - n, tuple;

	if (nn_pickle_push(m, &(struct nn_pickle_value){ .kind = NN_PICKLE_LIST }) < 0)
		return -1;
	tuple = m->stack[m->n_stack - 1];
	for (uint32_t i = 0; i < n; i++)
		if (add_item(m, tuple, 0, m->stack[first + i]) < 0)
			return -1;
	m->n_stack = first;
	return nn_pickle_push_old(m, tuple);
}

/* The uppermost n values go into the list or, by pairs, into the dict below them. */
int nn_pickle_put(struct nn_pickle_machine *m, uint32_t n, enum nn_pickle_kind kind)
{
	uint32_t first = m->n_stack - n, owner, step = kind == NN_PICKLE_DICT ? 2 : 1;

	if (first == 0 || n % step)
		return nn_pickle_fail(m, "adds items to nothing");
	owner = m->stack[first - 1];
	if (m->p->values[owner].kind != kind)
		return nn_pickle_fail(m, "adds items to what has none");
	for (uint32_t i = first; i < m->n_stack; i += step)
		if (add_item(m, owner, step == 2 ? m->stack[i] : 0, m->stack[i + step - 1]) < 0)
			return -1;
	m->n_stack = first;
	return 0;
}

/* ---- bytes ---- */

int nn_pickle_number(struct nn_pickle_machine *m, int size, uint64_t *value)
{
	if (m->end - m->at < size)
		return nn_pickle_fail(m, "ends early");
	*value = 0;
	for (int i = size; i-- > 0;)
		*value = *value << 8 | m->at[i];
	m->at += size;
	return 0;
}
