/* Cutting CSV: newlines outside quotes, 64 bytes at a time. */
#include <stdbool.h>
#include <string.h>

#include "base/wide.h"
#include "data/table/cut.h"
#include "data/table/walk.h"

struct cutter {
	const char *text;
	size_t n, step, most;
	char separator;
	struct nn_part *parts;
	size_t n_parts;
	/*
	 * where the part that is open began is parts[n_parts - 1]; this is the end of the last
	 * record
	 */
	struct nn_part next;
	uint64_t lines; /* all newlines so far */
};

/* A record ends before `at`: does a part too? */
static inline void end_record(struct cutter *c, size_t at, uint64_t lines)
{
	struct nn_part *open = &c->parts[c->n_parts - 1];

	c->next.at = at;
	c->next.lines = lines;
	if (at - open->at >= c->step && c->n_parts < c->most) {
		open->n = at - open->at;
		c->parts[c->n_parts++] = c->next;
	}
}

/* 64 bytes from `at` on: newlines, and those of them that end a record. */
static inline void take_window(struct cutter *c, size_t at, uint64_t newlines, uint64_t ends)
{
	const struct nn_part *open = &c->parts[c->n_parts - 1];
	size_t records = c->next.records;

	if (ends && c->n_parts < c->most && at + 64 - open->at >= c->step) {
		/* a part may end here: one record after the other */
		for (uint64_t rest = ends; rest; rest &= rest - 1) {
			uint64_t upto = rest ^ (rest - 1); /* this end and all bits below */

			c->next.records = records + (size_t)__builtin_popcountll(ends & upto);
			end_record(c, at + (size_t)__builtin_ctzll(rest) + 1,
				   c->lines + (uint64_t)__builtin_popcountll(newlines & upto));
		}
	} else if (ends) {
		int last = 63 - __builtin_clzll(ends);

		c->next.records = records + (size_t)__builtin_popcountll(ends);
		c->next.at = at + (size_t)last + 1;
		c->next.lines = c->lines + (uint64_t)__builtin_popcountll(newlines << (63 - last));
	}
	c->lines += (uint64_t)__builtin_popcountll(newlines);
}

NN_WIDE(void, cut_plain, (struct cutter * c), (c))
{
	for (size_t at = 0; at < c->n; at += 64) {
		uint64_t newlines = nn_mask_equal(c->text + at, '\n') & nn_window_bits(c->n - at);

		take_window(c, at, newlines, newlines);
	}
}

/* False when the text has quotes that mean themselves. */
NN_WIDE(bool, cut_quoted, (struct cutter * c), (c))
{
	struct nn_quotes state = { 0, 1 };

	for (size_t at = 0; at < c->n; at += 64) {
		uint64_t valid = nn_window_bits(c->n - at),
			 newlines = nn_mask_equal(c->text + at, '\n') & valid, within;

		if (!nn_quotes_window(&state, nn_mask_equal(c->text + at, '"') & valid,
				      nn_mask_equal(c->text + at, c->separator) & valid, newlines,
				      &within))
			return false;
		take_window(c, at, newlines, newlines & ~within);
	}
	return true;
}

static void cut_walking(struct cutter *c)
{
	for (size_t at = 0;;) {
		uint64_t newlines;
		size_t n = nn_walk_record(c->text + at, c->n - at, c->separator, &newlines);

		if (n == c->n - at)
			return;
		at += n + 1;
		c->lines += newlines + 1;
		c->next.records++;
		end_record(c, at, c->lines);
	}
}

static void start(struct cutter *c)
{
	c->parts[0] = c->next = (struct nn_part){ 0 };
	c->n_parts = 1;
	c->lines = 0;
}

size_t nn_csv_cut(const char *text, size_t n, char separator, size_t step, struct nn_part *parts,
		  size_t most, struct nn_part *total)
{
	struct cutter c = { .text = text,
			    .n = n,
			    .step = step,
			    .most = most,
			    .separator = separator,
			    .parts = parts };

	start(&c);
	if (n == 0 || !memchr(text, '"', n)) {
		cut_plain(&c);
	} else if (!cut_quoted(&c)) {
		start(&c);
		cut_walking(&c);
	}
	*total = c.next;
	parts[c.n_parts - 1].n = c.next.at - parts[c.n_parts - 1].at;
	return c.n_parts - (parts[c.n_parts - 1].n == 0);
}
