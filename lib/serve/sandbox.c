/* What a server gives up when it has started, in order. */
#include "config.h"
#include <sys/prctl.h>
#include <sys/resource.h>

#include "serve/sandbox.h"

/* No core dumps, in which keys and rows would lie; descriptors cannot become more. */
static int limit(struct nn_error *err)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_MSGQUEUE, &none) < 0 ||
	    getrlimit(RLIMIT_NOFILE, &files) < 0)
		return nn_fail_errno(err, NN_EFAIL, "--sandbox: resource limits");
	files.rlim_max = files.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return nn_fail_errno(err, NN_EFAIL, "--sandbox: resource limits");
	return 0;
}

int nn_sandbox_enter(const struct nn_sandbox_setup *setup, struct nn_text *note,
		     struct nn_error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return nn_fail_errno(err, NN_EFAIL, "--sandbox: no_new_privs");
	if (limit(err) < 0 || nn_sandbox_files(setup, note, err) < 0)
		return -1;
	return nn_sandbox_calls(setup, note, err);
}
