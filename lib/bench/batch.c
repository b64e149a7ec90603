/* Lists of batch sizes: 1,32,1:1024*2. */
#include <string.h>

#include "base/number.h"
#include "bench/bench.h"

#define LARGEST ((uint64_t)1 << 30)

static int wrong(const char *list, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EUSAGE,
		       "--batch=%s: expected numbers of rows, N or FIRST:LAST*FACTOR with a factor "
		       "of at least 2, "
		       "such as 1,32,1:1024*2",
		       nn_quote(quoted, list, strlen(list)));
}

static bool number(const char **at, uint64_t least, uint64_t *value)
{
	size_t n = strspn(*at, "0123456789");
	bool good = nn_parse_u64(*at, n, value) && *value >= least && *value <= LARGEST;

	*at += n;
	return good;
}

int nn_bench_batches(const char *list, size_t batches[NN_BENCH_BATCHES], struct nn_error *err)
{
	const char *at = list;
	int n = 0;

	do {
		uint64_t first, last, factor = 2;

		at += n > 0;
		if (!number(&at, 1, &first))
			return wrong(list, err);
		last = first;
		if (*at == ':') {
			at++;
			if (!number(&at, first, &last) || *at++ != '*' || !number(&at, 2, &factor))
				return wrong(list, err);
		}
		for (; first <= last; first *= factor) {
			if (n == NN_BENCH_BATCHES)
				return nn_fail(err, NN_EUSAGE, "--batch: more than %d sizes",
					       NN_BENCH_BATCHES);
			batches[n++] = (size_t)first;
		}
	} while (*at == ',');
	return *at ? wrong(list, err) : n;
}
