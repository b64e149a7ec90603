/* Predict with a trained model from a C program: the public interface of libnn. */
#ifndef NN_H
#define NN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit statuses of the tools are the same numbers. */
enum nn_code {
	NN_OK = 0,
	NN_EFAIL = 1,     /* the work failed: file, format, shape, I/O */
	NN_EUSAGE = 2,    /* the caller asked for something that cannot be */
	NN_ENODEV = 3,    /* a device, module or transport is not there */
	NN_ENOMEM = 4,    /* out of memory */
	NN_ERANK = 5,     /* a rank was lost */
	NN_EDIVERGED = 6, /* a non-finite loss */
	NN_EFORMAT = NN_EFAIL
};

struct nn_error {
	enum nn_code code;
	char text[512]; /* one line: place, what was found, what was wanted */
};

struct nn_model;
struct nn_session;

/*
 * Open a model file. The model is immutable and may be used by any number of threads at once.
 * NULL on failure, with the reason in *err (err may be NULL).
 */
struct nn_model *nn_model_open(const char *path, struct nn_error *err);
void nn_model_close(struct nn_model *model); /* NULL allowed */

/* float32 values of one row in (all inputs) and of one row out (all outputs) */
size_t nn_model_inputs(const struct nn_model *model);
size_t nn_model_outputs(const struct nn_model *model);

/*
 * Predict n rows: rows[n][inputs] as the file formats give them (images C,H,W; columns in the order
 * of training, not normalized; nan is a missing number where the model fills those),
 * out[n][outputs] logits, or values in the target's units. 0, or -1 with *err set. Allocates;
 * nn_session_* does not. Subnormal numbers count as zeros, in rows and results; the mode of the
 * floating-point unit is put back for the caller.
 */
int nn_model_predict(const struct nn_model *model, const float *rows, size_t n, float *out,
		     struct nn_error *err);

/*
 * What value i of a row out means, i < nn_model_outputs(): the label of its class as it stood in
 * the training data, or the name of its target column. NULL: the model does not know, or there is
 * no such value. Names and labels live as long as the model.
 */
const char *nn_model_label(const struct nn_model *model, size_t i);

/*
 * Rows of a table. The columns of the training data in their order, the targets left out: names, ""
 * where the data had none, NULL after the last. Fields as text in that order become one row in,
 * row[nn_model_inputs()]: numbers, and what the model makes of text (an unknown category is all
 * zeros). "" or NULL is an empty field. 0, or -1 with NN_EFORMAT and the column's name in *err.
 */
const char *nn_model_column(const struct nn_model *model, size_t i);
int nn_model_encode(const struct nn_model *model, const char *const *fields, float *row,
		    struct nn_error *err);

/* What a session is opened with; set size = sizeof(struct nn_session_options), the rest to 0. */
struct nn_session_options {
	size_t size;
	size_t max_rows; /* rows per call at most (0: 64) */
	int threads;     /* compute threads of the session (0 or 1: the caller's alone) */
};

/* A session holds all memory a prediction needs; it belongs to one thread at a time. */
struct nn_session *nn_session_open(const struct nn_model *model,
				   const struct nn_session_options *options, struct nn_error *err);
void nn_session_close(struct nn_session *session); /* NULL allowed */

size_t nn_session_n_inputs(const struct nn_session *session); /* input tensors */
size_t nn_session_n_outputs(const struct nn_session *session);
size_t nn_session_input_size(const struct nn_session *session, size_t input); /* values per row */
size_t nn_session_output_size(const struct nn_session *session, size_t output);
/*
 * Rows of different length: how many steps a row of an input, or of an output, has at most, one
 * behind the other in the size above; 0: its rows are of one length.
 */
size_t nn_session_steps(const struct nn_session *session, size_t input);
size_t nn_session_output_steps(const struct nn_session *session, size_t output);
const char *nn_session_output_name(const struct nn_session *session, size_t output);

/* rows[i]: [n][input_size(i)], out[o]: [n][output_size(o)]; float32 or, the _f64 form, float64. */
int nn_session_predict(struct nn_session *session, const float *const *rows, size_t n,
		       float *const *out, struct nn_error *err);
int nn_session_predict_f64(struct nn_session *session, const double *const *rows, size_t n,
			   double *const *out, struct nn_error *err);

/*
 * The same of rows of different length: lengths[n] steps of each, from 1 to nn_session_steps. Rows
 * lie input_size(i) values apart, whatever their length; what is behind it is not looked at, and
 * zeros in out. (nn_session_predict takes all rows as long as can be.) NN_EFORMAT names a row whose
 * length is none.
 */
int nn_session_predict_lengths(struct nn_session *session, const float *const *rows,
			       const uint32_t *lengths, size_t n, float *const *out,
			       struct nn_error *err);

#ifdef __cplusplus
}
#endif
#endif
