/* nn-train as several ranks: the process that starts them and stays, and what is different in a rank. */
#include <inttypes.h>
#include <unistd.h>

#include "cmd/train.h"

#define SPEAK_S 1                /* in which the rank that speaks first ends all */

/* What ranks tell comes out under the tool's name. */
static void tell(void *arg, enum nn_say kind, const char *text)
{
	if (kind == NN_SAY_WARNING)
		nn_tool_warn(arg, text);
	else
		nn_tool_note(arg, text);
}

int train_launch(const struct nn_train_setup *setup, const struct nn_ranks_options *ranks, volatile sig_atomic_t *save,
		 struct nn_error *err)
{
	const char *operands[] = { setup->data_path, setup->targets_path };
	char **argv = nn_opt_arguments(setup->list, operands, setup->targets_path ? 2 : 1, err);
	const struct nn_launch launch = {
		.ranks = (int)ranks->ranks, .argv = argv, .say = tell, .stop = &nn_tool_stop,
		.stops = &nn_tool_stops, .save = save,
	};
	int status = -1;

	if (argv) {
		nn_tool_count_stops();
		status = nn_launch_run(&launch, err);
	}
	nn_opt_arguments_free(argv);
	return status;
}

int train_join(struct nn_train_setup *setup, const struct nn_ranks_options *ranks, struct nn_attach **attach, struct nn_error *err)
{
	if (nn_attach(attach, err) < 0)
		return -1;
	nn_tool_attach(*attach);
	if (ranks->ranks && nn_comm_is_rank() && nn_comm_env_size() && (int)ranks->ranks != nn_comm_env_size())
		return nn_fail(err, NN_EUSAGE, "--ranks=%" PRIu64 ": this is a rank of %d", ranks->ranks, nn_comm_env_size());
	if (*attach)
		setup->host.progress = setup->std->quiet ? -1 : nn_attach_stderr(*attach);
	return nn_comm_open(&setup->comm, true, err);
}

/*
 * An error is told to the process that started the ranks, which ends them. Without it rank 0 speaks first; what another finds alone, it
 * says a moment later. MPI_Finalize would wait for ranks that wait for this one.
 */
static int fail(const struct nn_train_setup *setup, const struct nn_attach *attach, const struct nn_error *err)
{
	int status;

	if (!attach && nn_comm_env_rank() > 0) {
		signal(SIGTERM, SIG_DFL);            /* mpirun's word that another has spoken */
		sleep(SPEAK_S);
	}
	status = nn_tool_end(-1, err);
	if (!attach && setup->comm && setup->comm->size > 1)
		nn_comm_abort(setup->comm, status);
	return status;
}

int train_leave(const struct nn_train_setup *setup, struct nn_attach *attach, int status, int stopped, const struct nn_error *err)
{
	if (status < 0)
		return fail(setup, attach, err);
	if (setup->comm)
		nn_comm_close(setup->comm);
	if (!stopped)
		return nn_tool_end(status, err);
	if (!attach)
		return 128 + stopped;
	/* to mpirun this is no failure, for which it would kill the others */
	nn_attach_say(attach, NN_SAY_END, 128 + stopped, "");
	return 0;
}
