/* Members of objects in an infer request. */
#include "serve/protocol/v2-members.h"

int nn_v2_take_object(struct nn_query *q, const struct nn_v2_member *members, size_t n, void *arg)
{
	enum nn_pull_kind kind;

	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull, "expected an object");
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY) {
		size_t i = 0;

		while (i < n && !nn_pull_is(&q->pull, members[i].name))
			i++;
		if (i < n && nn_pull_peek(&q->pull) == NN_PULL_NULL)
			i = n;
		if ((i < n ? members[i].take(q, arg) : nn_pull_skip(&q->pull)) < 0)
			return -1;
	}
	return kind == NN_PULL_BAD ? -1 : 0;
}

int nn_v2_take_array(struct nn_query *q, int (*take)(struct nn_query *q, void *arg), void *arg)
{
	if (nn_pull_next(&q->pull) != NN_PULL_ARRAY)
		return nn_pull_fail(&q->pull, "expected an array");
	while (nn_pull_peek(&q->pull) != NN_PULL_ARRAY_END)
		if (take(q, arg) < 0)
			return -1;
	return nn_pull_next(&q->pull) == NN_PULL_BAD ? -1 : 0;
}

int nn_v2_take_count(struct nn_query *q, size_t *count)
{
	uint64_t value;

	if (nn_pull_next(&q->pull) != NN_PULL_NUMBER || !nn_pull_u64(&q->pull, &value))
		return nn_pull_fail(&q->pull, "expected a whole number that is not negative");
	*count = value;
	return 0;
}

int nn_v2_take_bool(struct nn_query *q, bool *value)
{
	enum nn_pull_kind kind = nn_pull_next(&q->pull);

	if (kind != NN_PULL_TRUE && kind != NN_PULL_FALSE)
		return nn_pull_fail(&q->pull, "expected true or false");
	*value = kind == NN_PULL_TRUE;
	return 0;
}
