/* The model that is measured: text or a file, resolved, with values for its parameters. */
#ifndef NN_BENCH_MODEL_H
#define NN_BENCH_MODEL_H

#include "device/device.h"
#include "model/model.h"
#include "predict/score/metrics.h"
#include "step/optimizer.h"

struct nn_bench_model {
	const char *name; /* the operand */
	const char *path; /* of a model file that can be opened again; NULL */
	const struct nn_net *net;
	const struct nn_program *program;
	enum nn_dtype dtype;
	bool int8;     /* its weights are, and no type was asked for */
	void **params; /* canonical, of dtype: the file's, or initial values by the seed */
	size_t batch;  /* of nn.train; 64 without */
	struct nn_optimizer_options optimizer;
	struct nn_loss_spec
		*losses; /* [n_outputs]; of text: cross-entropy, for an output of one number mse */
	double *weights; /* [n_outputs] of the losses */

	struct nn_model_file *file; /* owned: one of the two */
	struct nn_net *text;
};

/*
 * The operand of nn-bench's verbs. Text needs `input` lines and numbers for `?`. precision: 0 as
 * the model, else 1 + enum nn_dtype. Errors of inline text are NN_EUSAGE and begin "MODEL:LINE: ";
 * a model whose parameters do not fit is NN_ENOMEM.
 */
int nn_bench_model_open(struct nn_bench_model **subject, const char *operand, int precision,
			uint64_t seed, struct nn_error *err);
/* What of that the command line alone tells, for --dry-run: a file that is there is not read. */
int nn_bench_model_check(const char *operand, struct nn_error *err);
void nn_bench_model_free(struct nn_bench_model *subject);

/* Parameters that are trained. */
size_t nn_bench_model_parameters(const struct nn_bench_model *subject);
/* Bytes of a row of input as the device takes it, of all outputs. */
size_t nn_bench_model_input_bytes(const struct nn_bench_model *subject);
size_t nn_bench_model_output_bytes(const struct nn_bench_model *subject);
/*
 * Room for n rows of each input, or of each output, zeroed: an array for each, all in one piece
 * that nn_free frees.
 */
void **nn_bench_model_rows(const struct nn_bench_model *subject, bool outputs, size_t n,
			   enum nn_dtype dtype, struct nn_error *err);

#endif
