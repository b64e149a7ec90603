/* Model text into lines of words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/memory.h"
#include "model/lex.h"

int nn_text_fail(const char *place, int line, enum nn_code code, struct nn_error *err,
		 const char *format, ...)
{
	char text[sizeof err->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (line == 0)
		return nn_fail(err, code, "%s: %s", place, text);
	return nn_fail(err, code, "%s:%d: %s", place, line, text);
}

void nn_lexer_init(struct nn_lexer *lexer, const char *place, const char *text, size_t n,
		   bool is_inline)
{
	*lexer = (struct nn_lexer){
		.place = place,
		.code = is_inline ? NN_EUSAGE : NN_EFORMAT,
		.is_inline = is_inline,
		.at = text,
		.end = text + n,
		.bad = text + nn_utf8_prefix(text, n),
		.line = 1,
	};
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		lexer->at += 3;
}

void nn_lexer_fini(struct nn_lexer *lexer)
{
	nn_free(lexer->words);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Line ends are \n and \r\n. */
static bool at_newline(const struct nn_lexer *lexer)
{
	return lexer->at < lexer->end &&
	       (*lexer->at == '\n' ||
		(*lexer->at == '\r' && lexer->at + 1 < lexer->end && lexer->at[1] == '\n'));
}

static void take_newline(struct nn_lexer *lexer)
{
	lexer->at += *lexer->at == '\r' ? 2 : 1;
	lexer->line++;
}

/* Inline, a comma before white space ends a line. */
static bool at_comma(const struct nn_lexer *lexer)
{
	return lexer->is_inline && lexer->at + 1 < lexer->end && *lexer->at == ',' &&
	       (is_blank(lexer->at[1]) || lexer->at[1] == '\n' || lexer->at[1] == '\r');
}

/* Over the comma and, where nothing else follows on its line, the newline. */
static void take_comma(struct nn_lexer *lexer)
{
	lexer->at++;
	while (lexer->at < lexer->end && is_blank(*lexer->at))
		lexer->at++;
	if (at_newline(lexer))
		take_newline(lexer);
	else
		lexer->line++;
}

/* May the byte stand in model text? Newlines are not asked about. */
static int check_byte(const struct nn_lexer *lexer, struct nn_error *err)
{
	unsigned char c = (unsigned char)*lexer->at;
	char quoted[NN_QUOTED];

	if (lexer->at >= lexer->bad)
		return nn_text_fail(lexer->place, lexer->line, lexer->code, err,
				    "byte '%s' is not UTF-8 text", nn_quote(quoted, lexer->at, 1));
	if ((c < 0x20 && c != '\t') || c == 0x7f)
		return nn_text_fail(lexer->place, lexer->line, lexer->code, err,
				    "control byte '%s' in model text",
				    nn_quote(quoted, lexer->at, 1));
	return 0;
}

static int skip_comment(struct nn_lexer *lexer, struct nn_error *err)
{
	for (; lexer->at < lexer->end && !at_newline(lexer); lexer->at++)
		if (check_byte(lexer, err))
			return -1;
	return 0;
}

static int add_word(struct nn_lexer *lexer, const char *text, size_t n, struct nn_error *err)
{
	if (lexer->n_words == lexer->room) {
		size_t room = lexer->room ? 2 * lexer->room : 16;
		void *words = nn_realloc(lexer->words, lexer->room * sizeof *lexer->words,
					 room * sizeof *lexer->words, err);

		if (!words)
			return -1;
		lexer->words = words;
		lexer->room = room;
	}
	lexer->words[lexer->n_words++] = (struct nn_word){ text, n };
	return 0;
}

/* A word: up to a blank, a line's end, a comment or a brace outside quotes. */
static int take_word(struct nn_lexer *lexer, struct nn_error *err)
{
	const char *start = lexer->at;
	bool quoted = false;

	for (; lexer->at < lexer->end && !at_newline(lexer); lexer->at++) {
		char c = *lexer->at;

		if (!quoted && (is_blank(c) || c == '#' || c == '{' || c == '}' || at_comma(lexer)))
			break;
		if (check_byte(lexer, err))
			return -1;
		if (c == '"')
			quoted = !quoted;
	}
	if (quoted)
		return nn_text_fail(lexer->place, lexer->line, lexer->code, err,
				    "a quote is opened and not closed on this line");
	return add_word(lexer, start, (size_t)(lexer->at - start), err);
}

/* One step within a line: 1 at the end of the line, 0 before it, -1. */
static int step(struct nn_lexer *lexer, struct nn_error *err)
{
	if (at_newline(lexer)) {
		take_newline(lexer);
		return lexer->n_words > 0;
	}
	if (at_comma(lexer)) {
		take_comma(lexer);
		return lexer->n_words > 0;
	}
	if (is_blank(*lexer->at)) {
		lexer->at++;
		return 0;
	}
	if (*lexer->at == '#')
		return skip_comment(lexer, err);
	if (lexer->n_words == 0)
		lexer->words_line = lexer->line;
	if (*lexer->at == '}' && lexer->n_words > 0)
		return 1;
	if (*lexer->at == '{' || *lexer->at == '}')
		return add_word(lexer, lexer->at++, 1, err) ? -1 : 1;
	return take_word(lexer, err);
}

int nn_lexer_next(struct nn_lexer *lexer, struct nn_error *err)
{
	lexer->n_words = 0;
	while (lexer->at < lexer->end) {
		int ended = step(lexer, err);

		if (ended)
			return ended;
	}
	return lexer->n_words > 0;
}

const char *nn_word_find(const struct nn_word *word, char c)
{
	bool quoted = false;

	for (size_t i = 0; i < word->n; i++) {
		if (word->text[i] == '"')
			quoted = !quoted;
		else if (!quoted && word->text[i] == c)
			return word->text + i;
	}
	return NULL;
}

char *nn_word_unquote(const struct nn_word *word, struct nn_error *err)
{
	char *plain = nn_alloc(word->n + 1, 1, err);
	bool quoted = false;
	size_t n = 0;

	for (size_t i = 0; plain && i < word->n; i++) {
		if (word->text[i] != '"') {
			plain[n++] = word->text[i];
		} else if (quoted && i + 1 < word->n && word->text[i + 1] == '"') {
			plain[n++] = '"';
			i++;
		} else {
			quoted = !quoted;
		}
	}
	return plain;
}

int nn_word_plain(struct nn_word *word, char **memory, struct nn_error *err)
{
	*memory = NULL;
	if (!memchr(word->text, '"', word->n))
		return 0;
	if (!(*memory = nn_word_unquote(word, err)))
		return -1;
	*word = (struct nn_word){ *memory, strlen(*memory) };
	return 0;
}

bool nn_word_is(const struct nn_word *word, const char *text)
{
	return strlen(text) == word->n && memcmp(word->text, text, word->n) == 0;
}

bool nn_is_name(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && (i == 0 || (!(c >= '0' && c <= '9') && c != '_')))
			return false;
	}
	return n > 0 && n <= NN_NAME_LENGTH;
}

void nn_print_column(struct nn_text *text, const char *name, const char *special)
{
	bool quotes = strpbrk(name, special) != NULL;

	nn_text_add(text, quotes ? "\"" : "");
	for (const char *c = name; *c; c++)
		nn_text_add(text, *c == '"' ? "\"\"" : (char[]){ *c, 0 });
	nn_text_add(text, quotes ? "\"" : "");
}
