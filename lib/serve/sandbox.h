/*
 * After the start a server reads its models, answers on sockets that are there, and does nothing
 * else: no_new_privs, resource limits, Landlock (files) and seccomp (system calls), as far as the
 * kernel has them.
 *
 * seccomp holds for all threads at once. Landlock holds for the caller and threads that it starts
 * from then on: it comes before those that speak to clients. What is denied fails with EPERM or
 * EACCES; nothing is killed but programs of another architecture.
 */
#ifndef NN_SERVE_SANDBOX_H
#define NN_SERVE_SANDBOX_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct nn_sandbox_setup {
	/* Files and directories with what is in them, NULL-terminated; those that are not there are
	 * left out. */
	const char *const *read;
	const char *const *write; /* directories where files are made, appended to and removed */
	/* A device other than the CPU: its driver may use ioctl and memory that is code. */
	bool device;
};

/*
 * What this kernel lacks is added to note, a sentence each, nothing where all is there. -1: it has
 * it, and refused.
 */
int nn_sandbox_enter(const struct nn_sandbox_setup *setup, struct nn_text *note,
		     struct nn_error *err);

/* Inside: its parts. */
int nn_sandbox_files(const struct nn_sandbox_setup *setup, struct nn_text *note,
		     struct nn_error *err);
int nn_sandbox_calls(const struct nn_sandbox_setup *setup, struct nn_text *note,
		     struct nn_error *err);

#endif
