/*
 * Batches made ahead: the rows and their order are those of a loader that makes none, whatever the
 * threads and the memory; a stage that is slow gets workers and is named; errors come in order.
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "data/ahead/verdict.h"
#include "data/data.h"
#include "data/loader.h"
#include "tap.h"

#define ROWS 100
#define BATCH 16
#define BATCHES 7
#define EPOCHS 3

/* ---- a source whose row r is the bytes r, r + 1, r + 2, r + 3 after two stages ---- */

static struct {
	double decode_s;  /* a row takes so long */
	uint64_t bad;     /* a row that cannot be decoded; ROWS: none */
	uint64_t bad_too; /* another one */
} is;

static void put_row(uint64_t row, unsigned char *to)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(row + (uint64_t)i);
}

static int decode_row(uint64_t row, unsigned char *to, struct nn_error *err)
{
	struct timespec slow = { 0, (long)(is.decode_s * 1e9) };

	if (is.decode_s > 0)
		nanosleep(&slow, NULL);
	if (row == is.bad || row == is.bad_too)
		return nn_fail(err, NN_EFORMAT, "row %llu", (unsigned long long)row);
	put_row(row, to);
	return 0;
}

static int read_stage(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	(void)data;
	if (nn_block_reserve(&rows->bytes, rows->n, err) < 0)
		return -1;
	for (size_t i = 0; i < rows->n; i++)
		*nn_block_at(&rows->bytes, i) = (unsigned char)rows->rows[i];
	return 0;
}

static int decode_stage(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	(void)data;
	for (size_t i = 0; i < rows->n; i++)
		if (decode_row(*nn_block_at(&rows->bytes, i), rows->to + 4 * i, err) < 0)
			return -1;
	return 0;
}

static void sizes(const void *data, size_t *row_bytes, size_t *handed_bytes)
{
	(void)data;
	*row_bytes = 4;
	*handed_bytes = 1;
}

static int fill_made(const void *data, size_t input, const uint64_t *rows,
		     const unsigned char *made, size_t n, bool last, void *values,
		     struct nn_error *err)
{
	(void)data;
	(void)input;
	(void)rows;
	(void)last;
	(void)err;
	memcpy(values, made, 4 * n);
	return 0;
}

static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n, bool last,
		      void *values, struct nn_error *err)
{
	(void)data;
	(void)input;
	(void)last;
	for (size_t i = 0; i < n; i++)
		if (decode_row(rows[i], (unsigned char *)values + 4 * i, err) < 0)
			return -1;
	return 0;
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n,
		       void *values, struct nn_error *err)
{
	(void)data;
	(void)target;
	(void)err;
	memcpy(values, rows, n * sizeof *rows);
	return 0;
}

static const struct nn_source_stages stages = {
	.n = 2,
	.stage = { { "read", true, read_stage }, { "decode", false, decode_stage } },
	.sizes = sizes,
	.fill_input = fill_made,
};
static const struct nn_source_ops ops = { .fill_input = fill_input,
					  .fill_target = fill_target,
					  .stages = &stages };

static uint64_t all[ROWS];

static struct nn_loader_options options_of(size_t memory, int threads)
{
	return (struct nn_loader_options){ .source = { &ops, NULL, ROWS },
					   .rows = all,
					   .n = ROWS,
					   .batch = BATCH,
					   .seed = 5,
					   .window = UINT64_MAX,
					   .ahead = memory,
					   .threads = threads,
					   .whole = true };
}

/* ---- what is drawn ---- */

/* The bytes of a batch, filled in two pieces. */
static bool draw(struct nn_loader *loader, uint64_t number, unsigned char *values, size_t *n,
		 struct nn_error *err)
{
	struct nn_batch b;
	uint64_t targets[BATCH];

	if (nn_loader_draw(loader, number, &b, err) < 0)
		return false;
	*n = 4 * b.n;
	for (size_t half = 0; half < 2; half++) {
		size_t from = half * (b.n / 2), to = half ? b.n : b.n / 2;

		if (to > from &&
		    b.source.ops->fill_input(b.source.data, 0, b.rows + from, to - from, false,
					     values + 4 * from, err) < 0)
			return false;
	}
	return nn_batch_target(&b, 0, 0, b.n, targets, err) == 0 &&
	       memcmp(targets, b.rows, b.n * sizeof *targets) == 0;
}

/* Are batches those of a loader without anything ahead? */
static bool same(size_t memory, int threads, bool whole)
{
	struct nn_loader_options o = options_of(memory, threads), p = options_of(0, 1);
	struct nn_loader loader = { 0 }, plain = { 0 };
	unsigned char a[4 * BATCH], b[4 * BATCH];
	struct nn_error err;
	bool good;

	o.whole = whole;
	good = nn_loader_init(&loader, &o, &err) == 0 && nn_loader_init(&plain, &p, &err) == 0;
	for (uint64_t i = 0; good && i < (uint64_t)EPOCHS * BATCHES; i++) {
		uint64_t number = i < 10 ? i : i + 4; /* and on from somewhere else */
		size_t n = 0, m = 0;

		good = draw(&loader, number, a, &n, &err) && draw(&plain, number, b, &m, &err) &&
		       n == m && memcmp(a, b, n) == 0;
	}
	good = good && (loader.ahead != NULL) == (memory > 1000);
	nn_loader_fini(&loader);
	nn_loader_fini(&plain);
	return good;
}

static void draws(void)
{
	ok(same(100000, 1, true), "ahead: batches have the same rows in the same order");
	ok(same(100000, 4, true), "ahead: and with four threads a stage");
	ok(same(1200, 2, true), "ahead: and with memory for two batches");
	ok(same(100, 2, true), "ahead: memory for less has nothing made ahead, and the same rows");
	ok(same(100000, 2, false), "ahead: and where the part that is taken has to be seen first");
}

/* ---- a stage that is slow ---- */

static void widens(void)
{
	struct nn_loader_options o = options_of(100000, 4);
	struct nn_loader loader = { 0 };
	unsigned char values[4 * BATCH];
	struct nn_error err = { 0 };
	struct nn_stage_figures slow = { 0 };
	struct nn_ahead_verdict verdict = { 0 };
	struct nn_text text = { 0 };
	double begin = nn_now_s();
	bool good = nn_loader_init(&loader, &o, &err) == 0;
	size_t n;

	is.decode_s = 0.002;
	for (uint64_t i = 0; good && slow.workers < 4 && nn_now_s() - begin < 10; i++) {
		good = draw(&loader, i, values, &n, &err);
		if (loader.ahead)
			slow = nn_stages_figures(nn_ahead_stages(loader.ahead), 1);
	}
	is.decode_s = 0;
	ok(good && slow.workers == 4, "ahead: a slow stage gets all the workers it may have");
	if (loader.ahead)
		verdict = nn_ahead_judge(loader.ahead);
	ok(verdict.input_bound && verdict.slowest.name &&
		   strcmp(verdict.slowest.name, "decode") == 0,
	   "ahead: and is named, as steps wait for it");
	if (loader.ahead)
		nn_ahead_sentence(loader.ahead, &text);
	ok(text.data && strncmp(text.data, "input-bound: decode, 4 of 4 workers busy ", 41) == 0,
	   "ahead: in one sentence");
	note("%s", text.data ? text.data : "");
	ok(loader.ahead && nn_stages_figures(nn_ahead_stages(loader.ahead), 0).workers == 1,
	   "ahead: the stage that is not keeps one");
	ok(loader.ahead && nn_ahead_figures(loader.ahead).bytes <= 100000,
	   "ahead: batches take no more than the memory");
	nn_text_free(&text);
	nn_loader_fini(&loader);
}

/* ---- rows that cannot be made ---- */

static void fails(void)
{
	uint64_t in_order[ROWS];
	struct nn_error err = { 0 };
	unsigned char values[4 * BATCH];
	bool good = true;

	for (int threads = 1; threads <= 4 && good; threads += 3) {
		struct nn_loader_options o = options_of(100000, threads);
		struct nn_loader loader = { 0 };
		char text[30];
		size_t n;

		nn_shuffle(o.seed, 0, all, in_order, ROWS, UINT64_MAX);
		is.bad = in_order[2 * BATCH + 9];
		is.bad_too = in_order[2 * BATCH + 3];
		snprintf(text, sizeof text, "row %llu", (unsigned long long)is.bad_too);
		good = nn_loader_init(&loader, &o, &err) == 0 &&
		       draw(&loader, 0, values, &n, &err) && draw(&loader, 1, values, &n, &err) &&
		       !draw(&loader, 2, values, &n, &err) && strcmp(err.text, text) == 0;
		nn_loader_fini(&loader);
	}
	is.bad = is.bad_too = ROWS;
	ok(good, "ahead: the error is that of the first row of the batch, when its turn comes");
}

int main(void)
{
	is.bad = is.bad_too = ROWS;
	for (size_t i = 0; i < ROWS; i++)
		all[i] = i;
	draws();
	widens();
	fails();
	return tap_done();
}
