/*
 * nn-train as several ranks: the process that starts them and stays, and what is different in a
 * rank.
 *
 * Ranks get a command line made from the options, NN_DEVICE, NN_THREADS and --config included. The
 * default of --threads is divided by the ranks of this host that have the same set of cores, so
 * ranks that srun has bound keep all of theirs. --max-restarts takes one rank less each time. More
 * ranks than leaves or memory allow are refused before mpirun starts.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "cmd/train.h"
#include "comm/peers.h"

#define SPEAK_S 3 /* in which the rank that speaks first ends all */

/* ---- the process that stays ---- */

/* What ranks tell comes out under the tool's name. */
static void tell(void *arg, enum nn_launch_kind kind, const char *text)
{
	if (kind == NN_SAY_WARNING)
		nn_tool_warn(arg, text);
	else
		nn_tool_note(arg, text);
}

/* One launch of n ranks; goes_on: from the checkpoint. */
static int launch(const struct nn_train_setup *setup, struct nn_launch *l, bool goes_on,
		  struct nn_error *err)
{
	const char *operands[] = { setup->data_path, setup->targets_path },
		   *more[] = { NULL, "--resume" };
	char ranks[40];
	char **argv;
	int status;

	snprintf(ranks, sizeof ranks, "--ranks=%d", l->ranks);
	more[0] = ranks;
	argv = nn_opt_arguments(setup->list, more, goes_on ? 2 : 1, operands,
				setup->targets_path ? 2 : 1, err);
	if (!argv)
		return -1;
	l->argv = argv;
	status = nn_launch_run(l, err);
	nn_opt_arguments_free(argv);
	if (status != 0)
		nn_train_sweep(setup);
	return status;
}

/* With one rank less: whole pipelines and groups of them; 0: no more. */
static int fewer(const struct nn_train_setup *setup, int ranks)
{
	int parts = (setup->train->ranks.pipeline ? atoi(setup->train->ranks.pipeline) : 1) *
		    (int)setup->train->ranks.tensor,
	    left = ranks > 1 ? ranks - 1 : 1;

	return left - left % parts;
}

static bool is_descriptor(const char *path)
{
	return path && (strcmp(path, "/dev/stdin") == 0 ||
			strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0 ||
			strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0);
}

/*
 * <(command) of a shell is a descriptor of this process alone: it becomes standard input, which
 * rank 0 gets.
 */
static int take_descriptor(const char **path, struct nn_error *err)
{
	int fd = open(*path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", *path);
	close(fd);
	*path = "-";
	return 0;
}

static int take_descriptors(struct nn_train_setup *setup, struct nn_error *err)
{
	const char **paths[] = { &setup->data_path, &setup->targets_path, &setup->train->valid };
	const char *taken = NULL;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		const char *path = *paths[i];

		if (taken && is_descriptor(path))
			return nn_fail(err, NN_EUSAGE,
				       "%s: ranks get one <(command) alone, which is %s; give the "
				       "other as a file or FIFO",
				       path, taken);
		if (is_descriptor(path) && take_descriptor(paths[i], err) < 0)
			return -1;
		taken = is_descriptor(path) || (path && nn_is_stdin(path)) ? path : taken;
	}
	return 0;
}

int train_launch(struct nn_train_setup *setup, const struct nn_ranks_options *ranks,
		 volatile sig_atomic_t *save, struct nn_error *err)
{
	uint64_t saved = 0, ever = 0, left = setup->train->max_restarts;
	struct nn_launch l = {
		.ranks = (int)ranks->ranks,
		.hosts = ranks->hosts,
		.hostfile = ranks->hostfile,
		.timeout_s = setup->train->timeout,
		.say = tell,
		.stop = &nn_tool_stop,
		.stops = &nn_tool_stops,
		.save = save,
		.saved = &saved,
		.last = setup->advice,
	};
	char note[200];
	int status;

	if (take_descriptors(setup, err) < 0)
		return -1;
	nn_tool_count_stops();
	for (;;) {
		status = launch(setup, &l, ever > 0, err);
		if (status == 0 && ever > 0)
			nn_train_forget(setup);
		if (status >= 0 || err->code != NN_ERANK || left == 0 || nn_tool_stop ||
		    fewer(setup, l.ranks) == 0)
			return status;
		ever = saved ? saved : ever;
		nn_tool_warn(NULL, err->text);
		l.ranks = fewer(setup, l.ranks);
		left--;
		if (ever)
			snprintf(note, sizeof note,
				 "going on from step %" PRIu64
				 " with %d rank%s; restarts left: %" PRIu64,
				 ever - 1, l.ranks, nn_s(l.ranks), left);
		else
			snprintf(note, sizeof note,
				 "beginning again with %d rank%s; restarts left: %" PRIu64, l.ranks,
				 nn_s(l.ranks), left);
		nn_tool_note(NULL, note);
	}
}

/* ---- a rank ---- */

static void tell_step(void *arg, uint64_t steps)
{
	atomic_store_explicit(&nn_attach_board(arg)->at, steps + 1, memory_order_relaxed);
}

static void tell_saved(void *arg, const char *path, uint64_t steps)
{
	if (atomic_load(&nn_attach_board(arg)->saved) == 0)
		nn_attach_say(arg, NN_SAY_STATE, 0, path);
	atomic_store(&nn_attach_board(arg)->saved, steps + 1);
}

/* The message of a rank without a launcher about another that is gone. */
static struct {
	struct nn_comm *comm;
	struct nn_peers *peers;
	struct nn_rank_status board;
	char state[512];
} unwatched;

static void note_step(void *arg, uint64_t steps)
{
	(void)arg;
	atomic_store_explicit(&unwatched.board.at, steps + 1, memory_order_relaxed);
}

static void note_saved(void *arg, const char *path, uint64_t steps)
{
	(void)arg;
	if (atomic_load(&unwatched.board.saved) == 0)
		snprintf(unwatched.state, sizeof unwatched.state, "%s", path);
	atomic_store(&unwatched.board.saved, steps + 1);
}

static void lost(void *arg, struct nn_error *err)
{
	uint64_t at = atomic_load(&unwatched.board.at), saved = atomic_load(&unwatched.board.saved);
	int status;

	(void)arg;
	if (at)
		nn_fail(err, NN_ERANK, "%s at step %" PRIu64, err->text, at - 1);
	if (saved)
		nn_fail(err, NN_ERANK, "%s; last checkpoint %s (step %" PRIu64 ")", err->text,
			unwatched.state, saved - 1);
	status = nn_tool_end(-1, err);
	nn_comm_abort(unwatched.comm, status);
	_exit(status);
}

static int join_unwatched(struct nn_train_setup *setup, struct nn_error *err)
{
	unwatched.comm = setup->comm;
	if (nn_peers_watch(&unwatched.peers, setup->comm, lost, NULL, err) < 0)
		return -1;
	if (unwatched.peers) {
		setup->host.at = note_step;
		setup->host.saved = note_saved;
	}
	return 0;
}

int train_join(struct nn_train_setup *setup, const struct nn_ranks_options *ranks,
	       struct nn_attach **attach, struct nn_error *err)
{
	const char *inputs[] = { setup->data_path, setup->targets_path };

	if (nn_attach(attach, err) < 0)
		return -1;
	nn_tool_attach(*attach);
	if (nn_attach_check_streams(*attach, inputs, 2, setup->std->output, err) < 0)
		return -1;
	if (*attach) {
		setup->host.progress = setup->std->quiet ? -1 : nn_attach_stderr(*attach);
		setup->host.arg = *attach;
		setup->host.at = tell_step;
		setup->host.saved = tell_saved;
	}
	if (nn_comm_open(&setup->comm, true, err) < 0)
		return -1;
	if (ranks->ranks && nn_comm_is_rank() && ranks->ranks != (uint64_t)setup->comm->size)
		return nn_fail(err, NN_EUSAGE, "--ranks=%" PRIu64 ": this is a rank of %d",
			       ranks->ranks, setup->comm->size);
	if (!*attach)
		return join_unwatched(setup, err);
	setup->comm->waiting = &nn_attach_board(*attach)->waiting;
	return 0;
}

/*
 * An error is told to the process that started the ranks, which ends them. Without it rank 0 speaks
 * first; what another finds alone, it says a moment later. MPI_Finalize would wait for ranks that
 * wait for this one.
 */
static int fail(const struct nn_train_setup *setup, const struct nn_attach *attach,
		const struct nn_error *err)
{
	int status;

	if (!attach && nn_comm_env_rank() > 0) {
		signal(SIGTERM, SIG_DFL); /* mpirun's word that another has spoken */
		sleep(SPEAK_S);
	}
	status = nn_tool_end(-1, err);
	if (!attach && setup->comm && setup->comm->size > 1)
		nn_comm_abort(setup->comm, status);
	else if (setup->comm && setup->comm->size == 1)
		nn_comm_close(setup->comm);
	return status;
}

int train_leave(const struct nn_train_setup *setup, struct nn_attach *attach, int status,
		int stopped, const struct nn_error *err)
{
	if (status < 0)
		return fail(setup, attach, err);
	nn_peers_end(unwatched.peers);
	nn_attach_leave(stopped ? NULL : attach, setup->comm, status, err);
	if (!stopped)
		return nn_tool_end(status, err);
	if (!attach)
		return 128 + stopped;
	/* mpirun takes it for success; after a failure it would kill the others */
	nn_attach_say(attach, NN_SAY_END, 128 + stopped, "");
	return 0;
}
