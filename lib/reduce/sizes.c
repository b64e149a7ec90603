/* The sizes of --bench: 4, 1K:64M*2, and lists of those. */
#include <string.h>

#include "base/number.h"
#include "reduce/allreduce.h"

int nn_allreduce_sizes(const char *list, size_t sizes[NN_ALLREDUCE_SIZES], struct nn_error *err)
{
	int n = 0;

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t length = strcspn(at, ","), first_n = strcspn(at, ":,"), last_n = 0,
		       factor_n = 0;
		const char *last = at + first_n + 1, *factor = NULL;
		uint64_t first = 0, to = 0, times = 2;
		bool range = first_n < length, good = nn_parse_size(at, first_n, &first);

		if (range) {
			last_n = strcspn(last, "*,");
			good = good && nn_parse_size(last, last_n, &to);
			if (last[last_n] == '*') {
				factor = last + last_n + 1;
				factor_n = strcspn(factor, ",");
				good = good && nn_parse_u64(factor, factor_n, &times) && times > 1;
			}
		}
		to = range ? to : first;
		if (good && to > (uint64_t)1 << 40)
			return nn_fail(err, NN_EUSAGE, "--sizes=%s: expected sizes of at most 1T",
				       list);
		if (!good || first == 0 || to < first)
			return nn_fail(
				err, NN_EUSAGE,
				"--sizes=%s: expected sizes or FIRST:LAST*FACTOR, such as 1K:64M*2",
				list);
		for (uint64_t size = first; size <= to; size *= times) {
			if (n == NN_ALLREDUCE_SIZES)
				return nn_fail(err, NN_EUSAGE,
					       "--sizes=%s: expected at most %d sizes", list,
					       NN_ALLREDUCE_SIZES);
			sizes[n++] = (size_t)size;
		}
	}
	return n;
}

int nn_allreduce_check_sizes(const char *value, struct nn_error *err)
{
	size_t sizes[NN_ALLREDUCE_SIZES];

	return nn_allreduce_sizes(value, sizes, err) < 0 ? -1 : 0;
}
