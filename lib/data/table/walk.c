/* Walking through records: quotes that open where a field begins, close, and are doubled. */
#include "base/wide.h"
#include "data/table/scan.h"
#include "data/table/walk.h"

bool nn_walk_on(struct nn_walk *w, const char *text, size_t n, char separator)
{
	for (; w->at < n; w->at++) {
		char c = text[w->at];

		if (w->inside) {
			/* "" goes out and in again */
			w->closed = c == '"';
			w->inside = !w->closed;
			w->newlines += c == '\n';
			continue;
		}
		if (c == '\n')
			return true;
		if (c == '\r' && w->at + 1 == n)
			return false;
		if (c == '\r' && text[w->at + 1] != '\n')
			w->lone_cr = true;
		if (c == '"' && (w->fresh || w->closed))
			w->inside = true;
		w->fresh =
			separator ? c == separator : c == ',' || c == '\t' || c == ';' || c == '|';
		w->closed = false;
	}
	return false;
}

NN_WIDE(bool, walk_fast, (struct nn_walk * w, const char *text, size_t n, char separator),
	(w, text, n, separator))
{
	struct nn_quotes state = { 0, 1 };

	*w = (struct nn_walk){ 0 };
	for (size_t at = 0; at < n; at += 64) {
		const char *p = text + at;
		uint64_t valid = nn_window_bits(n - at), quotes = nn_mask_equal(p, '"') & valid,
			 within, ends, record, cr;
		uint64_t newlines = nn_mask_equal(p, '\n') & valid;

		if (!nn_quotes_window(&state, quotes, nn_mask_equal(p, separator) & valid, newlines,
				      &within))
			return false;
		ends = newlines & ~within;
		record = ends ? ends ^ (ends - 1) : valid; /* bytes up to the end */
		cr = nn_mask_equal(p, '\r') & ~within & record;
		cr &= ~(newlines >> 1 | (uint64_t)(p[64] == '\n') << 63);
		w->lone_cr |= cr != 0;
		w->found |= (quotes & record ? NN_SCAN_QUOTE : 0) | (cr ? NN_SCAN_CR : 0) |
			    (nn_mask_equal(p, 0) & record ? NN_SCAN_NUL : 0) |
			    (nn_mask_high(p) & record ? NN_SCAN_HIGH : 0);
		w->newlines += (uint64_t)__builtin_popcountll(newlines & within & record);
		if (ends) {
			w->at = at + (size_t)__builtin_ctzll(ends);
			return true;
		}
	}
	return false;
}

bool nn_walk_fast(struct nn_walk *w, const char *text, size_t n, char separator)
{
	if (walk_fast(w, text, n, separator))
		return true;
	*w = (struct nn_walk){ .fresh = true };
	return false;
}

size_t nn_walk_record(const char *text, size_t n, char separator, uint64_t *newlines)
{
	struct nn_walk w;

	if (!nn_walk_fast(&w, text, n, separator) && !nn_walk_on(&w, text, n, separator))
		w.at = n;
	*newlines = w.newlines;
	return w.at;
}
