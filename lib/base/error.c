/* Errors as one line of text, made where the cause is known. */
#include "config.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Sentences are made here and clipped to what a struct nn_error holds: paths may be long. */
#define SENTENCE 8192

static int put(struct nn_error *err, enum nn_code code, const char *text)
{
	err->code = code;
	nn_one_line(err->text, sizeof err->text, text);
	return -1;
}

/* The format, ": " and what follows. */
static void join(char text[SENTENCE], const char *rest, const char *format, va_list args)
{
	size_t n;

	if (vsnprintf(text, SENTENCE, format, args) < 0)
		strcpy(text, format);
	n = strlen(text);
	if (rest)
		snprintf(text + n, SENTENCE - n, ": %s", rest);
}

int nn_fail(struct nn_error *err, enum nn_code code, const char *format, ...)
{
	char text[SENTENCE];
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	join(text, NULL, format, args);
	va_end(args);
	return put(err, code, text);
}

int nn_fail_errno(struct nn_error *err, enum nn_code code, const char *format, ...)
{
	char text[SENTENCE], reason[128];
	int number = errno;
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	join(text, strerror_r(number, reason, sizeof reason), format, args);
	va_end(args);
	return put(err, code, text);
}

int nn_fail_at(struct nn_error *err, const char *format, ...)
{
	char text[SENTENCE];
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	join(text, err->text, format, args);
	va_end(args);
	return put(err, err->code, text);
}

_Noreturn void nn_bug(const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "nntools: %s:%d: this should not happen: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

/*
 * One character of bytes[0..n) as it may stand in a message; *step: the bytes it takes. Returns the
 * length of shown (at most 4).
 */
static size_t show(const char *bytes, size_t n, char shown[8], size_t *step)
{
	unsigned char c = (unsigned char)bytes[0];
	size_t length = nn_utf8_length(bytes, n);

	*step = length ? length : 1;
	if (c == '\n') {
		memcpy(shown, "\\n", 2);
		return 2;
	}
	if (length == 0 || c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)bytes[1] < 0xa0)) {
		*step = 1;
		return (size_t)sprintf(shown, "\\x%02X", c);
	}
	memcpy(shown, bytes, length);
	return length;
}

char *nn_quote(char buffer[NN_QUOTED], const char *bytes, size_t n)
{
	size_t at = 0, step;

	for (size_t i = 0, count = 0; i < n; i += step, count++) {
		if (count == 40) {
			memcpy(buffer + at, "...", 3);
			at += 3;
			break;
		}
		at += show(bytes + i, n - i, buffer + at, &step);
	}
	buffer[at] = '\0';
	return buffer;
}

char *nn_one_line(char *buffer, size_t room, const char *text)
{
	size_t n = strlen(text), head = room / 3, i = 0, at = 0, step, length, whole = 0;
	char shown[8];

	for (size_t j = 0; j < n; j += step)
		whole += show(text + j, n - j, shown, &step);
	if (whole < room)
		head = room;
	for (; i < n; i += step) {
		length = show(text + i, n - i, shown, &step);
		if (at + length >= head)
			break;
		memcpy(buffer + at, shown, length);
		at += length;
		whole -= length;
	}
	if (i < n) {
		memcpy(buffer + at, "...", 3);
		at += 3;
		for (; at + whole >= room; i += step)
			whole -= show(text + i, n - i, shown, &step);
	}
	for (; i < n; i += step) {
		length = show(text + i, n - i, shown, &step);
		memcpy(buffer + at, shown, length);
		at += length;
	}
	buffer[at] = '\0';
	return buffer;
}
