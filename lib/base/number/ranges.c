/* Lists of whole numbers and of ranges that grow by a factor: 1,32,1K:64M*2. */
#include <string.h>

#include "base/number.h"

/* FIRST[:LAST[*FACTOR]] of n bytes. */
static int read_range(const struct nn_ranges *r, const char *at, size_t n, uint64_t range[3])
{
	const char *colon = memchr(at, ':', n),
		   *star = colon ? memchr(colon, '*', (size_t)(at + n - colon)) : NULL;
	size_t first_n = colon ? (size_t)(colon - at) : n,
	       last_n = star ? (size_t)(star - colon) - 1 : n - first_n - 1;

	range[2] = star ? 0 : r->factor;
	if (!r->parse(at, first_n, &range[0]) ||
	    (colon && !r->parse(colon + 1, last_n, &range[1])) ||
	    (star && !nn_parse_u64(star + 1, (size_t)(at + n - star) - 1, &range[2])))
		return NN_RANGES_WRONG;
	if (!colon) {
		range[1] = range[0];
		range[2] = 2;
	}
	if (range[1] > r->most)
		return NN_RANGES_MOST;
	return range[0] == 0 || range[1] < range[0] || range[2] < 2 ? NN_RANGES_WRONG : 0;
}

int nn_parse_ranges(const char *list, const struct nn_ranges *r, size_t *values, int room)
{
	int count = 0;

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		uint64_t range[3];
		int status = read_range(r, at, strcspn(at, ","), range);

		if (status < 0)
			return status;
		for (uint64_t value = range[0];; value *= range[2]) {
			if (count == room)
				return NN_RANGES_ROOM;
			values[count++] = (size_t)value;
			if (value > range[1] / range[2])
				break;
		}
	}
	return count;
}
