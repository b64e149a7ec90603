/*
 * Batches: rows of many requests through one pass of a model, and why they are as large as they
 * are (serving.md, "Batching").
 *
 * A lane is a model's queue, its sessions and what is known of it: what n rows cost, how fast rows
 * come, how many clients can still send. Idle first: who is free takes what is there, unless
 * waiting is known to pay. A row's answer has the same bytes in any company.
 */
#ifndef NN_SERVE_BATCH_BATCH_H
#define NN_SERVE_BATCH_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/shape.h"
#include "base/text.h"
#include "serve/batch/dispatch.h"
#include "serve/places.h"

struct nn_batcher;
struct nn_ranks; /* ranks/ranks.h */
struct nn_lane;
struct nn_model;

enum nn_job_state { NN_JOB_WAITS, NN_JOB_DONE, NN_JOB_EXPIRED, NN_JOB_FAILED };

/* Rows of one request. The caller's memory until done is called. */
struct nn_job {
	struct nn_lane *lane;
	size_t rows;
	enum nn_dtype dtype; /* of in and out: NN_F32 or NN_F64 */
	const void *in; /* [rows][row_in], as nn_model_predict takes them (all inputs of a row) */
	const uint32_t *lengths; /* [rows] steps of each, the rest is filled up; NULL: all */
	void *out; /* [rows][row_out]: probabilities of classes, values in the target's units */
	double deadline;                  /* nn_now_s; INFINITY: none */
	unsigned loop;                    /* whose round it came in */
	void (*done)(struct nn_job *job); /* once, on any thread, also for jobs put during it */
	/* ---- what became of it ---- */
	enum nn_job_state state;
	struct nn_error error;         /* FAILED */
	double queued, started, ended; /* nn_now_s: put, first row into a session, last row out */
	/* ---- the batcher's ---- */
	struct nn_job *next;
	size_t taken, finished;
};

struct nn_batcher_setup {
	size_t max_batch, queue; /* rows */
	double max_delay;        /* seconds; -1: tuned */
	double slo;              /* seconds; 0: none */
	unsigned workers, loops; /* compute threads; loops that call nn_batcher_round */
	struct nn_ranks *ranks;  /* that models lie on; NULL: they are whole */
	struct nn_places places; /* names of the devices of lanes with several */
	unsigned apart;          /* workers for those of them that have memory of their own */
};

int nn_batcher_open(struct nn_batcher **batcher, const struct nn_batcher_setup *setup,
		    struct nn_error *err);
void nn_batcher_close(struct nn_batcher *batcher); /* NULL allowed; lanes are closed */

/*
 * A lane whose sessions are warm. models: the same one on each of the devices, NULL behind the
 * last, borrowed until it is closed. null: nothing is computed.
 */
int nn_lane_open(struct nn_lane **lane, struct nn_batcher *batcher,
		 const struct nn_model *const *models, bool null, struct nn_error *err);
/* What is queued is answered first. NULL allowed. */
void nn_lane_close(struct nn_lane *lane);

/*
 * Queue a job; false: the queue is full, nothing was taken (503). More rows than the queue holds
 * are taken when it is empty.
 */
bool nn_batcher_put(struct nn_batcher *batcher, struct nn_job *job);
/* The end of a round of a loop: what is light is computed here, done is called here. */
void nn_batcher_round(struct nn_batcher *batcher, unsigned loop);
/* From now on nothing waits for company. */
void nn_batcher_drain(struct nn_batcher *batcher);
/* Rows queued in a lane; clients known to the batcher at once (for the sentence). */
void nn_batcher_clients(struct nn_batcher *batcher, size_t connections);

/* Counted since the start by all processes, of a lane that is not shared since it was opened. */
struct nn_lane_counts {
	uint64_t requests, rows, batches, expired, failed, full; /* full: refused */
	uint64_t expired_rows;                                   /* of requests that expired */
	uint64_t batch_rows; /* in batches: rows less those that expired, failed or wait */
	size_t clients;      /* the most that were there when a batch was sent, to one process */
	uint64_t dispatch[NN_DISPATCHES];
	uint64_t place_rows[NN_MOST_PLACES]; /* of batch_rows, on each device */
	double queue_s, compute_s;           /* sums, of requests and of batches */
	/*
	 * histograms: how many were at most each bound, the last: all. queue: requests, from put to
	 * their first row into a session; compute and rows: batches
	 */
	uint64_t queue_counts[16], compute_counts[16], rows_counts[16];
	size_t waiting; /* rows now */
};
extern const double nn_seconds_bounds[15], nn_rows_bounds[15];
void nn_lane_count(const struct nn_lane *lane, struct nn_lane_counts *counts);
/*
 * Counts that outlive the lane, and that several processes may have: all[n], this one's is `mine`.
 * Nothing was put yet.
 */
void nn_lane_share(struct nn_lane *lane, struct nn_lane_counts *all, unsigned n, unsigned mine);
/* all[n] of a lane that may have been closed, added to `sum`. */
void nn_lane_counts_add(struct nn_batcher *batcher, const struct nn_lane_counts *all, unsigned n,
			struct nn_lane_counts *sum);
/* The name of a device of lanes that have several; NULL: there is none. */
const char *nn_batcher_place(const struct nn_batcher *batcher, size_t i);
/* What n rows cost in seconds on the first device as far as it is known, 0: not. */
double nn_lane_cost(const struct nn_lane *lane, size_t rows);
/* Why batches are what they are, in one sentence. */
void nn_lane_explain(const struct nn_lane *lane, struct nn_text *text);

#endif
