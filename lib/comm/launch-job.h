/* Inside: a job of ranks as the process that watches it knows it. */
#ifndef NN_COMM_LAUNCH_JOB_H
#define NN_COMM_LAUNCH_JOB_H

#include <poll.h>
#include <sys/types.h>
#include <time.h>
#include "base/text.h"
#include "comm/launch.h"

#define NN_LAUNCH_END SIGINT /* tells mpirun to end; it hears no SIGTERM (launch-start.c) */

struct nn_launch_rank {
	int fd;      /* -1: not there yet, or gone */
	bool remote; /* fd is TCP, pid is of another host */
	long pid;
	char host[64]; /* of a remote one */
	bool said;     /* NN_SAY_END came */
	int status;
	struct nn_rank_status *board; /* of a local one shared with it, else a copy */
	double heard_s;               /* a remote one: when it last said something */
	int stopped;                  /* ticks in a row */
	uint64_t at, jiffies;         /* board and processor time (10 ms) at the last tick */
	double moved_s;               /* when it last made progress */
	uint64_t moved_jiffies;       /* and its processor time then */
	bool told;                    /* that it makes none */
	char text[NN_PACKET];
};

struct nn_launch_job {
	const struct nn_launch *l;
	struct nn_launch_rank *ranks;
	struct pollfd *polls; /* listeners, mpirun's words, a unidentified not yet known, ranks */
	int listener, door, out, unidentified; /* door: for ranks of other hosts, -1 */
	bool unidentified_remote;
	char token[33]; /* that these have to know */
	pid_t mpirun;
	time_t began;
	unsigned long number; /* of the job, as Open MPI counts; 0: not known */
	struct nn_text words;
	int first_lost; /* the first whose socket was closed unasked, -1 */
	/* the one that ended the job because it was stopped, or made no progress, -1 */
	int stopped, idle;
	int left;      /* ticks in a row that all ranks had ended well and mpirun was stopped */
	bool finished; /* so it was killed, and nothing is lost */
	double end_at; /* when to send what comes next; 0: nothing is wrong */
	int signals;   /* sent to mpirun so far */
	int passed_on; /* the first signal, 0: none */
	int stop;
	char state[512]; /* NN_SAY_STATE */
};

/*
 * launch-socket.c: where ranks find this process, and what they say. name (NN_LAUNCH_NAME) is what
 * NN_LAUNCH will hold.
 */
int nn_launch_listen(struct nn_launch_job *job, bool others, char *name, struct nn_error *err);
void nn_launch_close(struct nn_launch_job *job);
/* A connection has said hello: from now on it is a rank, or it is closed. */
void nn_launch_accept(struct nn_launch_job *job, bool door);
void nn_launch_hello(struct nn_launch_job *job);
/* A packet of a rank. false: its socket was closed. */
bool nn_launch_hear(struct nn_launch_rank *rank, struct nn_launch_message *packet);
bool nn_launch_send(const struct nn_launch_rank *rank, enum nn_launch_kind kind, int status);

/*
 * launch-life.c: a look at all ranks, twice a second. True: job->stopped or job->idle says why it
 * has to end.
 */
bool nn_launch_look(struct nn_launch_job *job);
/* Have all ranks ended well, and is mpirun, which should end now, stopped for some seconds? */
bool nn_launch_is_left(struct nn_launch_job *job);

/* launch-sweep.c: mpirun was killed, all ranks are gone. */
void nn_launch_sweep(const struct nn_launch_job *job);

/* launch-outcome.c: what the whole comes to, from mpirun's wait status; as nn_launch_run. */
int nn_launch_outcome(struct nn_launch_job *job, int status, struct nn_error *err);

#endif
