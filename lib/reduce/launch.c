/* The process that starts the ranks of nn-allreduce and watches them. */
#include "base/memory.h"
#include "base/output.h"
#include "base/pool.h"
#include "reduce/rank.h"

/* What a rank tells comes out under the tool's name. */
static void tell(void *arg, enum nn_say kind, const char *text)
{
	const struct nn_allreduce_host *host = arg;

	(kind == NN_SAY_WARNING ? host->warn : host->note)(host->arg, text);
}

/* What ranks that were ended at once left beside their outputs. */
static void sweep(const struct nn_allreduce *job)
{
	for (int r = 0; r < (int)job->options->ranks; r++) {
		char *name = nn_allreduce_name(job->std->output, r, NULL);

		if (name)
			nn_output_sweep(name);
		nn_free(name);
	}
}

int nn_allreduce_launch(const struct nn_allreduce *job, char *const *argv, struct nn_error *err)
{
	struct nn_allreduce_host host = job->host;
	const struct nn_launch launch = {
		.ranks = (int)job->options->ranks, .cores = nn_cpu_count(), .argv = argv, .say = tell, .arg = &host, .stop = host.stop,
	};
	int status = nn_launch_run(&launch, err);

	if (status < 0 && err->code == NN_ERANK && job->std->output)
		sweep(job);
	return status;
}
