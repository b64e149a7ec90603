/* Errors as one line of text, made where the cause is known. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

int nn_fail(struct nn_error *err, enum nn_code code, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	err->code = code;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return -1;
}

int nn_fail_errno(struct nn_error *err, enum nn_code code, const char *format, ...)
{
	int number = errno;
	va_list args;
	int n;

	if (!err)
		return -1;
	err->code = code;
	va_start(args, format);
	n = vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof err->text)
		snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", strerror(number));
	return -1;
}

int nn_fail_at(struct nn_error *err, const char *format, ...)
{
	char text[sizeof err->text];
	va_list args;
	int n;

	if (!err)
		return -1;
	memcpy(text, err->text, sizeof text);
	va_start(args, format);
	n = vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof err->text)
		snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", text);
	return -1;
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

char *nn_quote(char buffer[NN_QUOTED], const char *bytes, size_t n)
{
	size_t at = 0, shown = 0;

	for (size_t i = 0; i < n; shown++) {
		unsigned char c = (unsigned char)bytes[i];
		size_t sequence = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

		if (shown == 40) {
			memcpy(buffer + at, "...", 3);
			at += 3;
			break;
		}
		if (c >= 0x20 && c != 0x7f && i + sequence <= n && nn_utf8_prefix(bytes + i, sequence) == sequence) {
			memcpy(buffer + at, bytes + i, sequence);
			at += sequence;
			i += sequence;
		} else if (c == '\n') {
			memcpy(buffer + at, "\\n", 2);
			at += 2;
			i++;
		} else {
			at += (size_t)sprintf(buffer + at, "\\x%02X", c);
			i++;
		}
	}
	buffer[at] = '\0';
	return buffer;
}
