/*
 * The inside of sessions, the only way forward outside training: rows are put into a batch in
 * place, by one caller or by several, go through together, and are read by whoever put them.
 */
#ifndef NN_PREDICT_SESSION_H
#define NN_PREDICT_SESSION_H

#include "predict/model.h"

struct nn_session_setup {
	const struct nn_model *model; /* whose weights are used, scaled as it says */
	/*
	 * model NULL: a program, whose rows are standardized and whose weights nn_session_load
	 * gives. With a model: its nn_program_step; each run takes the next step of the same rows.
	 */
	const struct nn_program *program;
	const struct nn_device *device;
	struct nn_pool *pool; /* borrowed; NULL: the caller's thread */
	size_t max_rows;      /* of a batch */
};

int nn_session_new(struct nn_session **session, const struct nn_session_setup *setup,
		   struct nn_error *err);
/* Parameters in program order, canonical, of the device's type. */
int nn_session_load(struct nn_session *session, const void *const *params, struct nn_error *err);
size_t nn_session_max_rows(const struct nn_session *session);

/*
 * ---- a batch: rows first .. first + n - 1 of every input, in any order, then one run ----
 */

/* n rows as nn.h takes them, f32 or f64. */
void nn_session_put(struct nn_session *session, size_t input, size_t first, size_t n,
		    const void *rows, enum nn_dtype dtype);
/*
 * The same for a whole batch from row 0, which may be read where it lies: rows must stay until the
 * run is over.
 */
void nn_session_lend(struct nn_session *session, size_t input, size_t n, const void *rows,
		     enum nn_dtype dtype);
/*
 * Where row `first` of an input lies, to be filled with standardized values of the device's type,
 * [][nn_session_input_size]; *channels_last: a sample C,H,W is expected H,W,C.
 */
void *nn_session_place(struct nn_session *session, size_t input, size_t first, bool *channels_last);
/*
 * For the next run all rows of an input from the device's memory, which holds those that may be put
 * as nn_session_place has them: by their numbers, n of them, that lie there, too (nn_graph_gather).
 */
void nn_session_gather(struct nn_session *session, size_t input, const void *there,
		       const uint32_t *numbers, size_t n);
/* NULL: the device's memory is the host's. */
struct nn_queue *nn_session_queue(const struct nn_session *session);
/*
 * Of a model whose rows are of different length: steps of rows first .. first + n - 1, each from 1
 * to nn_session_steps, for the next run. Rows of which nothing is said have as many as there may
 * be. Values behind a row's steps change nothing.
 */
void nn_session_set_lengths(struct nn_session *session, size_t first, size_t n,
			    const uint32_t *lengths);
/* Those of the last run. */
size_t nn_session_length(const struct nn_session *session, size_t row);
/* Rows 0 .. n - 1 go through; of a part, through its nodes alone. */
int nn_session_run(struct nn_session *session, size_t n, struct nn_error *err);
/*
 * Seconds of runs by the clock of a device with memory of its own: from now on they are added to
 * *times; NULL: no more.
 */
struct nn_session_times {
	double in, compute, out;
	size_t runs;
};
void nn_session_time(struct nn_session *session, struct nn_session_times *times);
/* Results until the next run: n rows as nn.h gives them. */
void nn_session_get(const struct nn_session *session, size_t output, size_t first, size_t n,
		    void *values, enum nn_dtype dtype);
/*
 * The same raw, in memory of the host: row `first` on, [][positions][columns] of the device's type,
 * classes or numbers last (nn_shape_columns), numbers standardized.
 */
const void *nn_session_raw(const struct nn_session *session, size_t output, size_t first);

/*
 * ---- a part of a model: rows as they cross its bounds, in memory of the host ----
 */

struct nn_session_edge {
	void *rows; /* [max_rows]: coming ones are filled before a run, going ones read after it */
	size_t row_bytes;
};
size_t nn_session_edges(const struct nn_session *session, enum nn_graph_side side);
struct nn_session_edge nn_session_edge(const struct nn_session *session, enum nn_graph_side side,
				       size_t edge);
/*
 * Bytes of a row of nn_session_raw; what another process computed stands for the result of a run,
 * until the next one.
 */
size_t nn_session_raw_bytes(const struct nn_session *session, size_t output);
void nn_session_answer(struct nn_session *session, size_t output, const void *raw);

#endif
