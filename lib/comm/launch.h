/*
 * Ranks of one's own: this tool once more under mpirun, watched by the process that stays.
 *
 * Ranks and the process that started them talk over a socket of the abstract namespace (its name
 * is in NN_LAUNCH; only the same user is admitted): nothing lies in a directory, and the end of
 * either side is seen at once. The last known step and checkpoint of a rank are in memory shared
 * with the watching process: exact, and one store a step. Progress is a step done, a tenth of a
 * core computing, or being ready to compute where no core is free; none is asked for before the
 * first step, since a pipe may be read for hours. Ranks of other hosts connect by TCP with a secret
 * token, report once a second, and are lost after twenty seconds of silence. mpirun that is
 * missing, refuses root or cannot start ranks is status 3. Ranks are never bound to cores.
 */
#ifndef NN_COMM_LAUNCH_H
#define NN_COMM_LAUNCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/text.h"

/*
 * Messages between ranks and their parent: packets on a socket that leaves no name in any directory
 * and that only the same user may use, from other hosts over TCP. Each side sees the end of the
 * other at once, whatever its cause.
 */
enum nn_launch_kind {
	/*
	 * a rank; its number is the status, the text Open MPI's number of the job; from a remote
	 * rank: token, process id, host
	 */
	NN_SAY_HELLO = 'h',
	NN_SAY_STREAMS = 's', /* to rank 0: standard input, output and error of the parent */
	NN_SAY_SIGNAL = 'q',  /* to rank 0: a signal, its number is the status */
	NN_SAY_WARNING = 'w',
	NN_SAY_NOTE = 'n',
	NN_SAY_STATE = 'c', /* the file of the checkpoints, said with the loss of a rank */
	NN_SAY_BOARD = 'b', /* of a remote rank, every second: its board as the text */
	NN_SAY_END = 'e',   /* the rank's exit status and, unless 0, its one line */
};

/* Where a rank is: memory that it shares with the process that watches. */
struct nn_rank_status {
	_Atomic uint64_t at;      /* 1 + steps done; 0: not yet, or no more, at work on steps */
	_Atomic uint64_t saved;   /* 1 + steps of the newest checkpoint; 0: none */
	_Atomic uint32_t waiting; /* threads that wait for a message */
	_Atomic uint64_t cpu_ms;  /* of a remote rank: its processor time */
};

struct nn_launch {
	int ranks;
	/* as mpirun's --host and --hostfile; NULL: this host, or what a batch system says */
	const char *hosts, *hostfile;
	int cores;         /* of this machine: with more ranks a note says so; 0: no note */
	double timeout_s;  /* a rank without progress for so long ends the job; 0: never */
	char *const *argv; /* arguments of each rank, argv[0] included, NULL at the end */
	void (*say)(void *arg, enum nn_launch_kind kind,
		    const char *text); /* warnings and notes of ranks */
	void *arg;
	struct nn_text
		*last; /* notes that follow the error of a rank, a line each; NULL: they are said */
	const volatile sig_atomic_t *stop; /* a signal's number: end the ranks */
	const volatile sig_atomic_t
		*stops; /* how many came: the first is passed to rank 0 as its own, the second ends
			   the ranks; NULL: the first ends them */
	volatile sig_atomic_t
		*save;   /* a signal's number: passed to rank 0, and set to 0; NULL: none */
	uint64_t *saved; /* out: 1 + steps of the newest checkpoint, 0: none; may be NULL */
};

/*
 * Run this program as `ranks` ranks under mpirun, in a process group of its own, and wait for all.
 * 0, or the status of a rank that ended without a line (128 + signal), or -1 with the line of the
 * first rank that failed, NN_ERANK where one was lost ("rank 1 (pid 4711) was killed by signal 9 at
 * step 118; last checkpoint m.state.safetensors (step 100)"), NN_ENODEV where mpirun is missing or
 * refuses. When it returns no rank and no mpirun is left.
 */
int nn_launch_run(const struct nn_launch *launch, struct nn_error *err);

/* ---- in a rank ---- */

struct nn_attach;
struct nn_comm;

/*
 * Connect to the parent of this rank: *attach NULL where there is none (plain
 * mpirun). Rank 0 gets its standard input and output from there, and the signals that are passed
 * on. When that process is gone this one gets SIGTERM, two seconds later SIGKILL.
 */
int nn_attach(struct nn_attach **attach, struct nn_error *err);
void nn_attach_say(struct nn_attach *attach, enum nn_launch_kind kind, int status,
		   const char *text);
/*
 * Tell the process that started this rank how it ended, as nn_tool_end: the exit status, which is
 * returned, and the one line of a status below 0. The first call counts.
 */
int nn_attach_end(struct nn_attach *attach, int status, const struct nn_error *err);
/*
 * Close comm. The end is sent first (attach NULL: not at all), because MPI_Finalize waits for
 * mpirun, which may be stopped.
 */
void nn_attach_leave(struct nn_attach *attach, struct nn_comm *comm, int status,
		     const struct nn_error *err);
/*
 * Rank 0: a descriptor of the standard error of that process, which may be a terminal; -1
 * elsewhere.
 */
int nn_attach_stderr(const struct nn_attach *attach);
/*
 * Rank 0 on another host than that process has none of its standard streams: NN_EUSAGE where one of
 * inputs[n] (paths, or NULL) is its standard input, or output ("-" or NULL) its standard output.
 * attach NULL: 0.
 */
int nn_attach_check_streams(const struct nn_attach *attach, const char *const *inputs, size_t n,
			    const char *output, struct nn_error *err);
/* The progress of this rank, for the parent. */
struct nn_rank_status *nn_attach_board(struct nn_attach *attach);

/* ---- inside ---- */

#define NN_PACKET 2048

struct nn_launch_message {
	int kind; /* enum nn_launch_kind */
	int status;
	char text[NN_PACKET];
};

/* What NN_LAUNCH holds: NAME, or NAME TOKEN ADDRESS:PORT ... for other hosts. */
#define NN_LAUNCH_NAME 400

/* Over TCP a packet follows its length (uint32_t). What came, at most n bytes; 0 at the end, -1. */
long nn_launch_message_receive(int fd, bool remote, void *packet, size_t n);
bool nn_launch_message_send(int fd, bool remote, const void *packet, size_t n);

/*
 * A listening socket for ranks of other hosts, its token and its addresses, appended to `name`
 * (NN_LAUNCH_NAME) as " TOKEN ADDRESS:PORT ...". Returns the socket, or -1.
 */
int nn_rendezvous_open(char token[33], char *name, struct nn_error *err);
/* Through one of its addresses: the connected socket and a copy of the token, or -1. */
int nn_rendezvous_find(const char *name, char token[33]);

/* Do all ranks run on this host? */
bool nn_launch_local(const struct nn_launch *launch);
/*
 * mpirun with its options, in a process group of its own; *out is the end of a pipe with all that
 * it writes.
 */
int nn_launch_start(const struct nn_launch *launch, const char *name, pid_t *pid, int *out,
		    struct nn_error *err);
/*
 * The signal that ended this rank, from mpirun's output, or 0. mpirun knows process ids of its own
 * host only.
 */
int nn_launch_signal(const char *words, int rank, long pid);

#endif
