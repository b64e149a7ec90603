/*
 * A request on its way: found by the router, parsed into a job by a protocol, computed by the
 * batcher, formatted on whichever thread is done. Its memory is used again by the next one of its
 * loop.
 */
#ifndef NN_SERVE_PROTOCOL_QUERY_H
#define NN_SERVE_PROTOCOL_QUERY_H

#include <pthread.h>
#include <stdatomic.h>

#include "file/bytes.h"
#include "file/json/pull.h"
#include "serve/board.h"
#include "serve/http/http.h"
#include "serve/models/models.h"

/* What is a loop's: requests to be used again. */
struct nn_desk {
	pthread_mutex_t lock;
	struct nn_query *idle;
	size_t idle_bytes;
};

struct nn_keys;
struct nn_leash;
struct nn_ranks;

struct nn_protocol {
	struct nn_models *models;
	struct nn_batcher *batcher;
	const struct nn_keys *keys;
	unsigned max_depth;
	bool triton_metrics;
	size_t max_batch; /* for the configuration */
	const struct nn_board *board;
	struct nn_leash *leash; /* NULL: this process serves alone */
	struct nn_ranks *ranks; /* NULL: models are whole */
	atomic_bool draining;
	atomic_uint loading; /* threads that read models */
	unsigned n_desks;
	struct nn_desk *desks;
};

/* What the path says: which model, which of its versions. */
struct nn_named {
	const char *name; /* NULL: the path has none */
	uint64_t version; /* 0: the default */
	const char *label;
};

/* What came for an input of the model. */
struct nn_fed {
	enum { NN_FED_NOT, NN_FED_FLOATS, NN_FED_CELLS } kind;
	size_t at; /* the first of its floats in `values`, or of its cells */
	size_t rows;
	size_t steps; /* of each row, where their shape says it; 0: `lengths` has them, or none */
};

/* An output that a client asks for. */
struct nn_wanted {
	size_t port;
	int binary;     /* -1: as the request says of all */
	size_t classes; /* the best of so many, as VALUE:INDEX:LABEL; 0: its values */
};

struct nn_query {
	struct nn_job job; /* the first member: done gets its address */
	struct nn_protocol *protocol;
	struct nn_exchange *exchange;
	struct nn_desk *desk;
	struct nn_query *next;
	struct nn_named named;
	char path[1024]; /* unescaped, cut into its segments */
	struct nn_served *served;
	unsigned status; /* of the error */
	struct nn_error error;
	struct nn_pull pull;
	struct nn_pull_keys *keys;
	/* ---- rows (feed.h) ---- */
	struct nn_block in, out, values, fed; /* fed: of each input; in, out: the job's */
	struct nn_block lengths;              /* uint32_t: steps of rows that have a length each */
	struct nn_block offsets;              /* size_t: where cells begin in `cells` */
	struct nn_block arrays; /* size_t: rows until the end of each array of a body */
	struct nn_text cells;                 /* a letter for the kind, the text, '\0' */
	size_t n_values, n_cells, n_arrays;
	/* ---- the answer ---- */
	void (*format)(struct nn_query *query); /* job.out -> nn_query_answer */
	struct nn_block wanted;
	size_t n_wanted;
	unsigned form;  /* the protocol's own */
	char emit[24];  /* of nn-predict's formats, as --emit has it; "": the default */
	const char *id; /* v2; NULL: none */
	size_t id_length;
};

/* A request of an exchange, which owns it from now on (nn_query_end); NULL: memory is out. */
struct nn_query *nn_query_new(struct nn_protocol *protocol, struct nn_exchange *exchange);
void nn_query_end(struct nn_query *query);
void nn_desk_fini(struct nn_desk *desk);

/* Remember what is wrong and the status that says so; -1. */
int nn_query_fail(struct nn_query *query, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Answer with what nn_query_fail remembered, or error if the status is 0 (then 400). */
void nn_query_refuse(struct nn_query *query);
/* Send exchange->answer; the request is not the caller's any more. */
void nn_query_answer(struct nn_query *query, unsigned status, const char *type);
void nn_query_answer_json(struct nn_query *query);

/* Where files lie is nobody's business: paths of a text without their directories. */
void nn_query_cut_paths(char *text);
/* What is wrong with a version of state END, as clients may read it. */
void nn_query_wrong(struct nn_query *query, const char *model, uint64_t version,
		    struct nn_error *wrong);

/* The model of the path, held until the end; -1: 404 or 400. */
int nn_query_find(struct nn_query *query);
/*
 * Rows are in job.in (job.rows of them): compute, then call format. Whatever goes wrong is
 * answered; the request is not the caller's any more.
 */
void nn_query_submit(struct nn_query *query, void (*format)(struct nn_query *query));
/* Lower the deadline to `seconds` after the request began. */
void nn_query_deadline(struct nn_query *query, double seconds);
/* Values of text columns that the training data did not have are counted, and told once a version;
 * those of null models are not. */
void nn_query_unseen(struct nn_query *query, uint64_t n, const char *what);
/* A whole JSON document is the body: begin to read it. */
void nn_query_pull(struct nn_query *query, size_t bytes, bool words);

static inline struct nn_fed *nn_query_fed(const struct nn_query *query, size_t input)
{
	return (struct nn_fed *)query->fed.data + input;
}

static inline struct nn_wanted *nn_query_wanted(const struct nn_query *query, size_t i)
{
	return (struct nn_wanted *)query->wanted.data + i;
}

#endif
