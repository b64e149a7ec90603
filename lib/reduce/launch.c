/*
 * The process that starts the ranks of nn-allreduce and watches them.
 *
 * --hosts and --hostfile as in nn-train, but no --timeout: ranks may wait for a pipe as long as it
 * takes.
 */
#include "base/memory.h"
#include "base/output.h"
#include "base/pool.h"
#include "reduce/rank.h"

/* What a rank tells comes out under the tool's name. */
static void tell(void *arg, enum nn_launch_kind kind, const char *text)
{
	const struct nn_allreduce_host *host = arg;

	(kind == NN_SAY_WARNING ? host->warn : host->note)(host->arg, text);
}

/* What ranks that were ended at once left beside their outputs. */
static void sweep(const struct nn_allreduce *job)
{
	for (int r = 0; r < (int)job->ranks->ranks; r++) {
		char *name = nn_allreduce_name(job->std->output, r, NULL);

		if (name)
			nn_output_sweep(name);
		nn_free(name);
	}
}

int nn_allreduce_launch(const struct nn_allreduce *job, struct nn_error *err)
{
	const struct nn_ranks_options *ranks = job->ranks;
	struct nn_allreduce_host host = job->host;
	struct nn_launch launch = {
		.ranks = (int)ranks->ranks,
		.hosts = ranks->hosts,
		.hostfile = ranks->hostfile,
		.cores = ranks->hosts || ranks->hostfile ? 0 : nn_cpu_count(),
		.say = tell,
		.arg = &host,
		.stop = host.stop,
	};
	char **argv = nn_opt_arguments(job->list, NULL, 0, (const char *const *)job->files,
				       (size_t)job->n, err);
	int status;

	if (!argv)
		return -1;
	launch.argv = argv;
	status = nn_launch_run(&launch, err);
	nn_opt_arguments_free(argv);
	if (status < 0 && err->code == NN_ERANK && job->std->output)
		sweep(job);
	return status;
}
