/*
 * Inside the batcher: lanes, their seats and queues. One lock for all of it, held for as long as
 * rows take to be listed, never while anything is computed or answered.
 */
#ifndef NN_SERVE_BATCH_INSIDE_H
#define NN_SERVE_BATCH_INSIDE_H

#include <pthread.h>

#include "predict/emit.h"
#include "serve/batch/batch.h"
#include "serve/batch/cost.h"
#include "serve/batch/split.h"
#include "serve/batch/wait.h"

/* Below this a change of thread is no longer cheap beside it: the loop computes. */
#define NN_LIGHT_S 200e-6

/* Rows of one job in a batch. */
struct nn_piece {
	struct nn_job *job;
	size_t first, n;
};

struct nn_lane_place;

/* What one thread needs to compute a batch of a lane. */
struct nn_seat {
	struct nn_seat *next; /* of those that are free */
	struct nn_lane_place *place;
	double ends; /* when its batch is expected to be done; 0: it is free */
	struct nn_session *session;
	struct nn_emitted *emitted; /* [outputs] */
	struct nn_piece *pieces;    /* [max_batch] of the batch */
	struct nn_block answer;     /* what ranks say of it */
	size_t n_pieces, rows;
	enum nn_dispatch because; /* why the batch left its queue */
};

/* A device that a lane computes on. */
struct nn_lane_place {
	const struct nn_model *model;
	struct nn_seat *seats, *free;
	size_t n_seats;
	size_t measure; /* rows that an idle worker measures next */
	size_t missed;  /* batches of other places since its last one */
	struct nn_costs costs;
};

struct nn_lane {
	struct nn_batcher *batcher;
	struct nn_lane *next;         /* of the batcher */
	const struct nn_model *model; /* of the first place; all have the same text and weights */
	struct nn_lane_place places[NN_MOST_PLACES];
	size_t n_places;
	float *null_row; /* [row_out] that a null model answers; NULL: it computes */
	size_t row_in, row_out, n_outputs;
	size_t max_batch; /* rows of a seat: the setup's, fewer where memory is short */
	size_t computing; /* seats in use */
	struct nn_job *head, *tail;
	size_t queued;   /* rows */
	size_t pending;  /* requests put and not done */
	double deadline; /* none of those queued is before it */
	bool *fresh;     /* [loops] rows came in a round that goes on */
	bool ready;      /* a round is over: whoever is free may compute */
	bool closing;
	struct nn_gaps gaps;
	double served;                       /* seconds of compute, for fairness between lanes */
	struct nn_lane_counts *counts, own;  /* counts: own, or this process's of `shared` */
	const struct nn_lane_counts *shared; /* [n_shared] of all processes, or own */
	unsigned n_shared;
};

struct nn_batcher {
	struct nn_batcher_setup setup;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for workers */
	pthread_cond_t quiet; /* for those who close lanes */
	struct nn_lane *lanes;
	pthread_t *threads;
	unsigned n_threads, idle, busy; /* workers; asleep; computing */
	bool draining, stop;
	double wake;        /* when the keeper wakes up; INFINITY: nobody looks at the clock */
	const void *keeper; /* the idle worker that does; NULL: none */
	bool measuring;     /* an idle worker measures */
	double served;      /* of the lane that was served last */
	size_t pending;     /* jobs put and not done */
	size_t clients;     /* 0: nobody said */
};

/* ---- seat.c ---- */

/* Seats of a lane, warmed up. On failure what was made is the lane's to free. */
int nn_lane_open_seats(struct nn_lane *lane, struct nn_error *err);
void nn_lane_close_seats(struct nn_lane *lane);
/* What rows of zeros take at the second time; without the lock. */
int nn_seat_measure(const struct nn_lane *lane, struct nn_seat *seat, size_t rows, double *seconds,
		    struct nn_error *err);
/* Compute the seat's pieces; without the lock. */
int nn_seat_compute(const struct nn_lane *lane, struct nn_seat *seat, struct nn_error *err);

/* ---- queue.c; with the lock ---- */

/* Jobs to be told that they are over, after the lock was given back; linked by next. */
struct nn_over {
	struct nn_job *first, **last;
};
void nn_lane_append(struct nn_lane *lane, struct nn_job *job);
/* Jobs that are late, or failed in part, leave the queue. */
void nn_lane_sweep(struct nn_lane *lane, double now, struct nn_over *over);
/* A free seat is taken, for so many rows. */
struct nn_seat *nn_lane_enter(struct nn_lane *lane, struct nn_lane_place *place, size_t rows);
/* Which place takes rows of the queue now, and how many at most. */
struct nn_split nn_lane_split(const struct nn_lane *lane, double now);
/* Take the next rows into a free seat; NULL: all were late. */
struct nn_seat *nn_lane_take(struct nn_lane *lane, struct nn_split split, double now,
			     enum nn_dispatch because, struct nn_over *over);
/* A batch is computed; seconds it took; err NULL: well. The seat is free. */
void nn_lane_finish(struct nn_lane *lane, struct nn_seat *seat, double now, double seconds,
		    const struct nn_error *err, struct nn_over *over);
/* The seat is free again; those who close the lane hear of it. */
void nn_lane_leave(struct nn_lane *lane, struct nn_seat *seat);
/* Tell them; without the lock. Lanes may be gone afterwards. */
void nn_over_tell(struct nn_over *over);

/* ---- measure.c; with the lock, given back meanwhile ---- */

/* So many batches of others, and what is known of a place's costs may be out of date. */
#define NN_MISSED 256
/*
 * Measure a batch of a size that no traffic showed yet, or on a place that traffic has left; false:
 * there is nothing to measure.
 */
bool nn_batcher_measure(struct nn_batcher *batcher);

/* ---- work.c ---- */

/*
 * Compute a batch of the lane here and tell its jobs, which gives the lock back meanwhile. The lane
 * may be gone afterwards.
 */
void nn_lane_serve(struct nn_lane *lane, struct nn_split split, double now,
		   enum nn_dispatch because);
void *nn_batcher_work(void *batcher);
/*
 * What to do with a queue that has rows, which that place would take; others: could compute who
 * comes next.
 */
struct nn_wait nn_lane_decide(struct nn_lane *lane, const struct nn_lane_place *place, double now,
			      bool others);
/* Clients that do not wait for an answer; SIZE_MAX: unknown. */
size_t nn_batcher_can_come(const struct nn_batcher *batcher);
/* Rows are there for a worker: wake one unless all are at work. */
void nn_batcher_wake(struct nn_batcher *batcher);

#endif
