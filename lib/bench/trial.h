/*
 * A model on a device, ready to be called again and again: a prediction through nn.h's session, or
 * a training step.
 */
#ifndef NN_BENCH_TRIAL_H
#define NN_BENCH_TRIAL_H

#include "bench/bench.h"
#include "bench/model.h"

struct nn_trial;
struct nn_op_trial;

struct nn_trial_options {
	const struct nn_bench_model *subject; /* borrowed, as all here */
	const struct nn_device *device;       /* of the subject's dtype */
	bool int8; /* it multiplies int8 weights as such, and so rounds rows too */
	int threads;
	enum nn_bench_mode mode;
	size_t batch;
	size_t most_bytes; /* of samples that calls take their rows from; 0: 64 MiB */
};

/*
 * Takes all memory and makes random samples; NN_ENOMEM names what the batch needs where it cannot
 * fit. Samples differ from call to call: a training goes through shuffled passes over them as
 * nn-train does, predictions go round.
 */
int nn_trial_new(struct nn_trial **trial, const struct nn_trial_options *options,
		 struct nn_error *err);
void nn_trial_free(struct nn_trial *trial); /* NULL allowed */
/* Two of them, to be timed in turns: both or, with an error, neither. */
int nn_trial_pair_new(struct nn_trial *pair[2], const struct nn_trial_options ways[2],
		      struct nn_error *err);
void nn_trial_pair_free(struct nn_trial *pair[2]);

/*
 * One prediction or step, all copies to and from the device in it and the device done; a
 * nn_measure_call's function.
 */
void nn_trial_call(void *trial);
/* Rows of this type, in and out, through a session of nn.h. */
void nn_trial_predict(struct nn_session *session, enum nn_dtype dtype, void **in, size_t n,
		      void **out);
/* Only the copies of a call; a device whose memory is the host's has none. */
void nn_trial_copies(void *trial);

/*
 * Is what trials compute right? Outputs of the last call, or the gradient of a batch, beside those
 * of the device cpu in f64: the largest difference relative to the largest value (outputs), or of
 * the norm (gradients). To be asked after calls were timed; of several trials the first that is
 * wrong is what is said.
 */
struct nn_verdict {
	bool wrong;     /* one of them computes something else */
	char check[32]; /* "ok", or by how much; "": the reference does not fit the memory */
};
int nn_verdict_add(struct nn_verdict *verdict, struct nn_trial *trial, struct nn_error *err);
int nn_verdict_add_pair(struct nn_verdict *verdict, struct nn_trial *const pair[2],
			struct nn_error *err);
/* The same of a pass of an op, of which NAN is wrong. */
int nn_verdict_add_op(struct nn_verdict *verdict, struct nn_op_trial *trial, bool backward,
		      struct nn_error *err);
/* The column check of a row. */
void nn_verdict_put(const struct nn_verdict *verdict, struct nn_report *report);

double nn_trial_flops(const struct nn_trial *trial); /* of a call */
size_t nn_trial_bytes(const struct nn_trial *trial); /* memory by the plan */

#endif
