/* Model text into lines of words: comments, quotes, braces, and commas in the inline form. */
#ifndef NN_MODEL_LEX_H
#define NN_MODEL_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/text.h"

struct nn_word {
	const char *text; /* in the source, quotes and all */
	size_t n;
};

struct nn_lexer {
	const char *place; /* for messages: a file's name, "-m" */
	enum nn_code code; /* of errors */
	bool is_inline;
	const char *at, *end, *bad; /* bad: the first byte that is not UTF-8, or end */
	int line;                   /* where `at` is, from 1 */

	struct nn_word *words; /* of the line read last */
	size_t n_words, room;
	int words_line; /* its number */
};

void nn_lexer_init(struct nn_lexer *lexer, const char *place, const char *text, size_t n,
		   bool is_inline);
void nn_lexer_fini(struct nn_lexer *lexer);
/*
 * The words of the next line that has any. A brace is a word of its own: "{" ends its line, "}" is
 * a line. 1: words were read, 0: end of the text, -1: error.
 */
int nn_lexer_next(struct nn_lexer *lexer, struct nn_error *err);

/* Fail with "PLACE:LINE: ..."; line 0: "PLACE: ...". */
int nn_text_fail(const char *place, int line, enum nn_code code, struct nn_error *err,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

#define NN_NAME_LENGTH 100 /* bytes of a name as it is written */

bool nn_word_is(const struct nn_word *word, const char *text);
/* May a line have this name? */
bool nn_is_name(const char *text, size_t n);
/* The first `c` of a word outside quotes, or NULL. */
const char *nn_word_find(const struct nn_word *word, char c);
/* The word without its quotes ("" inside quotes is one quote); NULL: out of memory. */
char *nn_word_unquote(const struct nn_word *word, struct nn_error *err);
/* The same as a word, which has none then: *memory is what it lies in, or NULL, for nn_free. */
int nn_word_plain(struct nn_word *word, char **memory, struct nn_error *err);
/* A column's name, in quotes where it has one of the special characters. */
void nn_print_column(struct nn_text *text, const char *name, const char *special);

#endif
