/* Errors: the function that knows the cause writes the whole sentence, callers pass it up. */
#ifndef NN_BASE_ERROR_H
#define NN_BASE_ERROR_H

#include <stddef.h>
#include "nn.h"

/* Fill *err (which may be NULL) and return -1. */
int nn_fail(struct nn_error *err, enum nn_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As nn_fail, with ": " and strerror(errno) appended. */
int nn_fail_errno(struct nn_error *err, enum nn_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "PREFIX: " before the text of an error that comes from below (a file's name, a line); -1. */
int nn_fail_at(struct nn_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A mistake of ours, not of the user: say where and abort. */
#define NN_BUG(...) nn_bug(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void nn_bug(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * n bytes as they may stand in a message: control and non-UTF-8 bytes as \n or \xHH, cut after 40
 * characters with "...". Result in buffer (NN_QUOTED bytes suffice), which is returned.
 */
#define NN_QUOTED 192
char *nn_quote(char buffer[NN_QUOTED], const char *bytes, size_t n);

/*
 * text as one line: control and non-UTF-8 bytes as \n or \xHH; what does not fit is left out of the
 * middle, where a long name stands as a rule ("..."). All that nn_fail writes has gone through it.
 * room is at least 16; returns buffer.
 */
char *nn_one_line(char *buffer, size_t room, const char *text);

#endif
