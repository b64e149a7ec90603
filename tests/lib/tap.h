/*
 * TAP for C programs: ok() prints a line per claim, tap_done() the plan; a failure makes the exit
 * status 1.
 */
#ifndef TESTS_LIB_TAP_H
#define TESTS_LIB_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_n, tap_failed;

/* good, and the claim as printf would write it; returns good. */
__attribute__((format(printf, 2, 3), unused)) static bool ok(bool good, const char *claim, ...)
{
	va_list args;

	printf("%sok %d - ", good ? "" : "not ", ++tap_n);
	va_start(args, claim);
	vprintf(claim, args);
	va_end(args);
	putchar('\n');
	tap_failed += !good;
	return good;
}

/* A line of explanation. */
__attribute__((format(printf, 1, 2), unused)) static void note(const char *text, ...)
{
	va_list args;

	printf("# ");
	va_start(args, text);
	vprintf(text, args);
	va_end(args);
	putchar('\n');
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_n);
	return tap_failed != 0;
}

#endif
