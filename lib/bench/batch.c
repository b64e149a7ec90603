/* Lists of batch sizes: 1,32,1:1024*2. */
#include <string.h>

#include "base/number.h"
#include "bench/bench.h"

int nn_bench_batches(const char *list, size_t batches[NN_BENCH_BATCHES], struct nn_error *err)
{
	static const struct nn_ranges rows = { nn_parse_u64, (uint64_t)1 << 30, 0 };
	int n = nn_parse_ranges(list, &rows, batches, NN_BENCH_BATCHES);
	char quoted[NN_QUOTED];

	if (n >= 0)
		return n;
	if (n == NN_RANGES_ROOM)
		return nn_fail(err, NN_EUSAGE, "--batch: more than %d sizes", NN_BENCH_BATCHES);
	return nn_fail(err, NN_EUSAGE,
		       "--batch=%s: expected numbers of rows, N or FIRST:LAST*FACTOR with a factor "
		       "of at least 2, such as 1,32,1:1024*2",
		       nn_quote(quoted, list, strlen(list)));
}
