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

int nn_bench_batches_or(const struct nn_bench *b, size_t usual, size_t batches[NN_BENCH_BATCHES],
			struct nn_error *err)
{
	batches[0] = usual;
	return b->options->batch ? nn_bench_batches(b->options->batch, batches, err) : 1;
}

int nn_bench_batch_or(const struct nn_bench *b, const char *verb, size_t usual, size_t *batch,
		      struct nn_error *err)
{
	size_t batches[NN_BENCH_BATCHES];
	int n = nn_bench_batches_or(b, usual, batches, err);

	*batch = batches[0];
	if (n > 1)
		return nn_fail(err, NN_EUSAGE, "--batch=%.40s: %s answers for one batch",
			       b->options->batch, verb);
	return n < 0 ? -1 : 0;
}
