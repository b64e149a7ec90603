/* A string that grows, and the small text helpers that messages and parsers share. */
#ifndef NN_BASE_TEXT_H
#define NN_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Zero-initialize; data is NUL-terminated once anything was added. After a failed add `failed`
 * stays set and adds do nothing.
 */
struct nn_text {
	char *data;
	size_t length, room;
	bool failed;
};

void nn_text_add(struct nn_text *text, const char *string);
void nn_text_add_bytes(struct nn_text *text, const char *bytes, size_t n);
void nn_text_addf(struct nn_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nn_text_add_json(struct nn_text *text, const char *bytes,
		      size_t n);          /* quoted, escaped; bytes that are not UTF-8: U+FFFD */
void nn_text_clear(struct nn_text *text); /* length 0, room kept */
void nn_text_free(struct nn_text *text);

/* What makes a noun a plural where it is an s: "%zu row%s", n, nn_s(n). */
static inline const char *nn_s(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

/* Is word[0..n) one of the words of a list, which blanks or commas separate? */
bool nn_text_lists(const char *list, const char *word, size_t n);
/*
 * The candidate nearest to word (Damerau-Levenshtein, at most a third of its length and 3), or
 * NULL. next(arg, i) gives candidate i, NULL after the last.
 */
const char *nn_did_you_mean(const char *word, const char *(*next)(const void *arg, size_t i),
			    const void *arg);

/*
 * Bytes of the UTF-8 sequence that bytes[0..n), n > 0, begin with; 0 if it is not valid (RFC 3629).
 */
size_t nn_utf8_length(const char *bytes, size_t n);
/* Length of the valid UTF-8 prefix of bytes. */
size_t nn_utf8_prefix(const char *bytes, size_t n);

#endif
