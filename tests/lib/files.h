/* What the tests of files share: TAP lines, small files in TMPDIR, and "this error, exactly". */
#ifndef TESTS_LIB_FILES_H
#define TESTS_LIB_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static int n_tests, n_failed;

static inline bool ok(bool good, const char *claim)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++n_tests, claim);
	n_failed += !good;
	return good;
}

static inline void text_is(const char *found, const char *wanted, const char *claim)
{
	if (!ok(found && strcmp(found, wanted) == 0, claim))
		printf("# found:  %s\n# wanted: %s\n", found ? found : "(nothing)", wanted);
}

/* A call failed with this text (and code 1). */
static inline void fails_as(int status, const struct nn_error *err, enum nn_code code,
			    const char *wanted, const char *claim)
{
	if (!ok(status < 0 && strcmp(err->text, wanted) == 0 && err->code == code, claim))
		printf("# status: %d, code %d\n# found:  %s\n# wanted: %s\n", status,
		       status < 0 ? (int)err->code : 0, status < 0 ? err->text : "", wanted);
}

/* Tests run in a directory of their own, so that names in messages are short. */
static inline void go_to_tmp(void)
{
	static char name[256];
	const char *tmp = getenv("TMPDIR");

	snprintf(name, sizeof name, "%s/nn-files.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(name) || chdir(name) < 0) {
		printf("Bail out! no directory for files\n");
		exit(1);
	}
}

static inline void leave_tmp(void)
{
	char command[300], here[256];

	if (getcwd(here, sizeof here) && strstr(here, "/nn-files.") && chdir("/") == 0) {
		snprintf(command, sizeof command, "rm -rf '%s'", here);
		if (system(command) != 0)
			printf("# %s stays\n", here);
	}
}

static inline void put_bytes(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(name, "wb");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
		printf("Bail out! cannot write %s\n", name);
		exit(1);
	}
}

static inline void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static inline int run(const char *command)
{
	return system(command);
}

static inline int tests_done(void)
{
	leave_tmp();
	printf("1..%d\n", n_tests);
	return n_failed != 0;
}

#endif
