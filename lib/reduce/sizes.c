/* The sizes of --bench: 4, 1K:64M*2, and lists of those. */
#include "base/number.h"
#include "reduce/allreduce.h"

int nn_allreduce_sizes(const char *list, size_t sizes[NN_ALLREDUCE_SIZES], struct nn_error *err)
{
	static const struct nn_ranges bytes = { nn_parse_size, (uint64_t)1 << 40, 2 };
	int n = nn_parse_ranges(list, &bytes, sizes, NN_ALLREDUCE_SIZES);

	if (n >= 0)
		return n;
	if (n == NN_RANGES_ROOM)
		return nn_fail(err, NN_EUSAGE, "--sizes=%s: expected at most %d sizes", list,
			       NN_ALLREDUCE_SIZES);
	if (n == NN_RANGES_MOST)
		return nn_fail(err, NN_EUSAGE, "--sizes=%s: expected sizes of at most 1T", list);
	return nn_fail(err, NN_EUSAGE,
		       "--sizes=%s: expected sizes or FIRST:LAST*FACTOR, such as 1K:64M*2", list);
}

int nn_allreduce_check_sizes(const char *value, struct nn_error *err)
{
	size_t sizes[NN_ALLREDUCE_SIZES];

	return nn_allreduce_sizes(value, sizes, err) < 0 ? -1 : 0;
}
