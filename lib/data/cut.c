/* Cutting CSV: newlines outside quotes, 64 bytes at a time. */
#include <stdbool.h>
#include <string.h>

#include "base/mask.h"
#include "base/wide.h"
#include "data/csv.h"
#include "data/cut.h"

struct cutter {
	const char *text;
	size_t n, step, most;
	char separator;
	struct nn_part *parts;
	size_t n_parts;
	struct nn_part next;         /* where the part that is open began is parts[n_parts - 1]; this is the end of the last record */
	uint64_t lines;              /* all newlines so far */
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
			uint64_t upto = rest ^ (rest - 1);      /* this end and all bits below */

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

static inline uint64_t valid_bits(const struct cutter *c, size_t at)
{
	return c->n - at >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (c->n - at)) - 1;
}

NN_WIDE static void cut_plain(struct cutter *c)
{
	for (size_t at = 0; at < c->n; at += 64) {
		uint64_t newlines = nn_mask_equal(c->text + at, '\n') & valid_bits(c, at);

		take_window(c, at, newlines, newlines);
	}
}

/*
 * Every quote opens or closes; false when one that would open stands inside a field that has not begun with one, where it means
 * itself: then records have to be walked through.
 */
NN_WIDE static bool cut_quoted(struct cutter *c)
{
	uint64_t inside = 0, may_open = 1;       /* inside: all bits or none; may_open: bit 0, the byte before the window */

	for (size_t at = 0; at < c->n; at += 64) {
		uint64_t valid = valid_bits(c, at), quotes = nn_mask_equal(c->text + at, '"') & valid;
		uint64_t newlines = nn_mask_equal(c->text + at, '\n') & valid, within = nn_mask_odd(quotes) ^ inside;
		uint64_t before = quotes | (nn_mask_equal(c->text + at, c->separator) & valid) | newlines;

		if (quotes & within & ~(before << 1 | may_open))
			return false;
		take_window(c, at, newlines, newlines & ~within);
		inside = (uint64_t)((int64_t)within >> 63);
		may_open = before >> 63;
	}
	return true;
}

static void cut_walking(struct cutter *c)
{
	for (size_t at = 0;;) {
		uint64_t newlines;
		size_t n = nn_csv_record_length(c->text + at, c->n - at, c->separator, &newlines);

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
	c->parts[0] = c->next = (struct nn_part){0};
	c->n_parts = 1;
	c->lines = 0;
}

size_t nn_csv_cut(const char *text, size_t n, char separator, size_t step, struct nn_part *parts, size_t most,
		  struct nn_part *total)
{
	struct cutter c = { .text = text, .n = n, .step = step, .most = most, .separator = separator, .parts = parts };

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
