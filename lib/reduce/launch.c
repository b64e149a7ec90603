/* The process that starts the ranks of nn-allreduce and watches them. */
#include "base/pool.h"
#include "reduce/allreduce.h"

/* What a rank tells comes out under the tool's name. */
static void tell(void *arg, enum nn_say kind, const char *text)
{
	const struct nn_allreduce_host *host = arg;

	(kind == NN_SAY_WARNING ? host->warn : host->note)(host->arg, text);
}

int nn_allreduce_launch(const struct nn_allreduce *job, char *const *argv, struct nn_error *err)
{
	struct nn_allreduce_host host = job->host;
	const struct nn_launch launch = {
		.ranks = (int)job->options->ranks, .cores = nn_cpu_count(), .argv = argv, .say = tell, .arg = &host, .stop = host.stop,
	};

	return nn_launch_run(&launch, err);
}
