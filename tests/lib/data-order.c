/* The order of rows: shuffles, splits, missing numbers; and files that must not change. */
#include "base/memory.h"
#include "base/random.h"
#include "data/data.h"
#include "files.h"

static void shuffles(void)
{
	uint64_t rows[1000], order[1000], again[1000];
	bool seen[1000] = { 0 }, all = true, inside = true;
	size_t counts[3][3] = { { 0 } };
	uint32_t x[4];

	for (size_t i = 0; i < 1000; i++)
		rows[i] = i;
	nn_shuffle(7, 3, rows, order, 1000, UINT64_MAX);
	nn_shuffle(7, 3, rows, again, 1000, UINT64_MAX);
	for (size_t i = 0; i < 1000; i++)
		seen[order[i]] = true;
	for (size_t i = 0; i < 1000; i++)
		all &= seen[i];
	ok(all && memcmp(order, rows, sizeof rows) != 0, "shuffle: a permutation");
	ok(memcmp(order, again, sizeof again) == 0,
	   "shuffle: the same for the same seed and epoch");
	nn_shuffle(7, 4, rows, again, 1000, UINT64_MAX);
	ok(memcmp(order, again, sizeof again) != 0, "shuffle: another for another epoch");
	nn_shuffle(8, 3, rows, again, 1000, UINT64_MAX);
	ok(memcmp(order, again, sizeof again) != 0, "shuffle: another for another seed");
	nn_shuffle(7, 3, rows, order, 1000, 0);
	ok(memcmp(order, rows, sizeof rows) == 0, "shuffle: none");
	nn_shuffle(7, 3, rows, order, 1000, 300);
	for (size_t i = 0; i < 1000; i++)
		inside &= order[i] / 300 == i / 300;
	ok(inside && memcmp(order, rows, sizeof rows) != 0, "shuffle: inside windows");
	nn_shuffle(7, 3, rows, order, 1, UINT64_MAX);
	nn_shuffle(7, 3, rows, order, 0, UINT64_MAX);
	ok(order[0] == 0, "shuffle: of one row and of none");
	for (uint64_t seed = 0; seed < 3000; seed++) {
		nn_shuffle(seed, 0, rows, order, 3, UINT64_MAX);
		for (size_t i = 0; i < 3; i++)
			counts[i][order[i]]++;
	}
	all = true;
	for (size_t i = 0; i < 9; i++) /* 1000 expected, deviation 26 */
		all &= counts[i / 3][i % 3] > 870 && counts[i / 3][i % 3] < 1130;
	ok(all, "shuffle: every row is equally likely at every place");
	/* the definition, for two rows: k = 1, n = 2 takes the highest bit */
	nn_shuffle(42, 5, rows, order, 2, UINT64_MAX);
	nn_philox(42, (5ull << 40) + 1, NN_STREAM_SHUFFLE, 0, x);
	ok(order[0] == (x[1] >> 31 ? 0 : 1), "shuffle: is what data.h defines");
}

static size_t count_held(const bool *held, size_t begin, size_t end)
{
	size_t n = 0;

	for (size_t i = begin; i < end; i++)
		n += held[i];
	return n;
}

static void splits(void)
{
	struct nn_data_options options = { .target = "y", .normalize = "none" };
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .classes = true };
	struct nn_want want = {
		.inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32
	};
	struct nn_dataset *ds;
	struct nn_error err = { 0 };
	static bool held[100], again[100];
	struct nn_text csv = { 0 };

	nn_text_add(&csv, "a,y\n");
	for (int i = 0; i < 100; i++) /* 15 of class 0, 25 of 1, 60 of 2 */
		nn_text_addf(&csv, "%d,%d\n", i, i < 15 ? 0 : i < 40 ? 1 : 2);
	put("t.csv", csv.data);
	if (!ok(nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0, "split: data"))
		return;
	ok(nn_split(ds, 0.1, 1, held, &err) == 0 && count_held(held, 0, 15) == 2 &&
		   count_held(held, 15, 40) == 2 && count_held(held, 40, 100) == 6,
	   "split: stratified, equal remainders go to the smaller class");
	ok(nn_split(ds, 0.29, 1, held, &err) == 0 && count_held(held, 0, 100) == 29,
	   "split: 0.29 of 100 is 29");
	nn_split(ds, 0.1, 1, held, &err);
	nn_split(ds, 0.1, 2, again, &err);
	ok(memcmp(held, again, sizeof held) != 0, "split: another seed, other rows");
	nn_split(ds, 0.1, 1, again, &err);
	ok(memcmp(held, again, sizeof held) == 0, "split: the same seed, the same rows");
	nn_dataset_free(ds);
	target = (struct nn_want_target){ .numbers = true };
	if (nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0) {
		uint64_t largest = 0, least = UINT64_MAX;

		nn_split(ds, 0.25, 9, held, &err);
		for (size_t i = 0; i < 100; i++) {
			uint32_t x[4];
			uint64_t value;

			nn_philox(9, i, NN_STREAM_SPLIT, 0, x);
			value = (uint64_t)x[1] << 32 | x[0];
			if (held[i] && value > largest)
				largest = value;
			if (!held[i] && value < least)
				least = value;
		}
		ok(count_held(held, 0, 100) == 25 && largest < least,
		   "split: the rows with the smallest Philox values");
		ok(nn_split(ds, 0, 9, held, &err) == 0 && count_held(held, 0, 100) == 0 &&
			   nn_split(ds, 0.999, 9, held, &err) == 0 &&
			   count_held(held, 0, 100) == 99,
		   "split: nothing and nearly all");
		nn_dataset_free(ds);
	}
	nn_text_free(&csv);
}

/* A row that is left out keeps its number: the others are held out as if it were there. */
static void splits_around_missing(void)
{
	struct nn_data_options options = { .target = "y", .missing = NN_MISSING_DROP };
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .numbers = true };
	struct nn_want want = {
		.inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32
	};
	bool held[100], again[100], kept = true;
	size_t n = 0;
	struct nn_text csv = { 0 };
	struct nn_dataset *ds;
	struct nn_error err;

	for (int hole = 0; hole < 2; hole++) {
		nn_text_clear(&csv);
		nn_text_add(&csv, "a,y\n");
		for (int i = 0; i < 100; i++)
			nn_text_addf(&csv,
				     hole && (i == 3 || held[i]) && i < 50 ? ",%d\n" : "1,%d\n", i);
		put("t.csv", csv.data);
		if (!ok(nn_dataset_open(&ds, "t.csv", NULL, &options, &want, &err) == 0,
			"split: data"))
			break;
		nn_split(ds, 0.25, 9, hole ? again : held, &err);
		for (size_t i = 0; i < 100; i++)
			kept &= nn_dataset_left_out(ds, i) ==
				(hole && (i == 3 || held[i]) && i < 50);
		for (size_t i = 0; i < 100; i++)
			n += nn_dataset_left_out(ds, i);
		nn_dataset_free(ds);
	}
	ok(kept, "missing: the rows without a value are left out, and no others");
	for (size_t i = 50; i < 100; i++)
		kept &= !held[i] || again[i];
	ok(kept && count_held(again, 0, 100) == (100 - n) / 4,
	   "split: rows left out are never held out, the others by their numbers in the data as "
	   "given");
	nn_text_free(&csv);
}

static void files_stay(void)
{
	struct nn_data_options options = { .target = "y" };
	struct nn_want_input input = { .vector = true };
	struct nn_want_target target = { .numbers = true };
	struct nn_want want = {
		.inputs = &input, .n_inputs = 1, .targets = &target, .n_targets = 1, .dtype = NN_F32
	};
	struct nn_dataset *a, *b;
	struct nn_error err = { 0 };

	put("t.csv", "a,y\n1,2\n");
	put("u.csv", "a,y\n1,2\n");
	if (nn_dataset_open(&a, "t.csv", NULL, &options, &want, &err) < 0 ||
	    nn_dataset_open(&b, "u.csv", NULL, &options, &want, &err) < 0)
		return;
	text_is(nn_dataset_hash(a), nn_dataset_hash(b), "hash: equal for equal files");
	ok(nn_dataset_unchanged(a, &err) == 0, "dataset: unchanged files");
	put("t.csv", "a,y\n1,2\n3,4\n");
	fails_as(nn_dataset_unchanged(a, &err), &err, NN_EFAIL, "t.csv: changed while training",
		 "dataset: a changed file is named");
	unlink("u.csv");
	ok(nn_dataset_unchanged(b, &err) == 0, "dataset: a removed file does no harm");
	nn_dataset_free(b);
	if (nn_dataset_open(&b, "t.csv", NULL, &options, &want, &err) == 0) {
		ok(strcmp(nn_dataset_hash(a), nn_dataset_hash(b)) != 0,
		   "hash: other for other files");
		nn_dataset_free(b);
	}
	nn_dataset_free(a);
}

int main(void)
{
	go_to_tmp();
	shuffles();
	splits();
	splits_around_missing();
	files_stay();
	return tests_done();
}
