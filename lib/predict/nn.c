/* The calls of nn.h that compute: whole arrays through a session, max_rows at a time. */
#include <string.h>

#include "base/flush.h"
#include "base/text.h"
#include "predict/idle.h"
#include "predict/session.h"

/* One batch of n rows in, out: [n_inputs] and [n_outputs] arrays from row `first` on. */
static int predict_batch(struct nn_session *s, const void *const *rows, const uint32_t *lengths,
			 size_t first, size_t n, void *const *out, enum nn_dtype dtype,
			 struct nn_error *err)
{
	size_t element = nn_dtype_size(dtype);

	for (size_t i = 0; i < nn_session_n_inputs(s); i++)
		nn_session_lend(s, i, n,
				(const char *)rows[i] +
					first * nn_session_input_size(s, i) * element,
				dtype);
	if (lengths)
		nn_session_set_lengths(s, 0, n, lengths + first);
	if (nn_session_run(s, n, err) < 0)
		return -1;
	for (size_t o = 0; o < nn_session_n_outputs(s); o++)
		nn_session_get(s, o, 0, n,
			       (char *)out[o] + first * nn_session_output_size(s, o) * element,
			       dtype);
	return 0;
}

static int predict(struct nn_session *s, const void *const *rows, const uint32_t *lengths, size_t n,
		   void *const *out, enum nn_dtype dtype, struct nn_error *err)
{
	size_t most = nn_session_max_rows(s);
	uint64_t before = nn_flush_set(true);
	int status = 0;

	for (size_t at = 0; at < n && status == 0; at += most)
		status = predict_batch(s, rows, lengths, at, n - at < most ? n - at : most, out,
				       dtype, err);
	nn_flush_restore(before);
	return status;
}

int nn_session_predict(struct nn_session *s, const float *const *rows, size_t n, float *const *out,
		       struct nn_error *err)
{
	return predict(s, (const void *const *)rows, NULL, n, (void *const *)out, NN_F32, err);
}

int nn_session_predict_f64(struct nn_session *s, const double *const *rows, size_t n,
			   double *const *out, struct nn_error *err)
{
	return predict(s, (const void *const *)rows, NULL, n, (void *const *)out, NN_F64, err);
}

/* Zeros behind the steps that rows have. */
static void cut_output(const struct nn_session *s, size_t o, const uint32_t *lengths, size_t n,
		       float *out)
{
	size_t size = nn_session_output_size(s, o), steps = nn_session_output_steps(s, o);

	for (size_t r = 0; steps && r < n; r++) {
		size_t end = size / steps * lengths[r];

		memset(out + r * size + end, 0, (size - end) * sizeof *out);
	}
}

int nn_session_predict_lengths(struct nn_session *s, const float *const *rows,
			       const uint32_t *lengths, size_t n, float *const *out,
			       struct nn_error *err)
{
	size_t longest = 0;

	for (size_t i = 0; i < nn_session_n_inputs(s); i++)
		longest = nn_session_steps(s, i) ? nn_session_steps(s, i) : longest;
	if (!longest)
		return nn_fail(err, NN_EUSAGE,
			       "nn_session_predict_lengths: the model's rows are of one length");
	for (size_t r = 0; r < n; r++)
		if (lengths[r] == 0 || lengths[r] > longest)
			return nn_fail(err, NN_EFORMAT,
				       "row %zu has %zu step%s, the model takes 1 to %zu", r + 1,
				       (size_t)lengths[r], nn_s((size_t)lengths[r]), longest);
	if (predict(s, (const void *const *)rows, lengths, n, (void *const *)out, NN_F32, err) < 0)
		return -1;
	for (size_t o = 0; o < nn_session_n_outputs(s); o++)
		cut_output(s, o, lengths, n, out[o]);
	return 0;
}

/* All tensors of a row one after another: a batch of rows taken apart and put together. */
static int predict_concatenated(struct nn_session *s, const float *rows, size_t n, float *out,
				struct nn_error *err)
{
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < nn_session_n_inputs(s); i++) {
			nn_session_put(s, i, r, 1, rows, NN_F32);
			rows += nn_session_input_size(s, i);
		}
	if (nn_session_run(s, n, err) < 0)
		return -1;
	for (size_t r = 0; r < n; r++)
		for (size_t o = 0; o < nn_session_n_outputs(s); o++) {
			nn_session_get(s, o, r, 1, out, NN_F32);
			out += nn_session_output_size(s, o);
		}
	return 0;
}

static int predict_rows(const struct nn_model *model, struct nn_session *s, const float *rows,
			size_t n, float *out, struct nn_error *err)
{
	size_t most = nn_session_max_rows(s);
	uint64_t before;
	int status = 0;

	if (nn_session_n_inputs(s) == 1 && nn_session_n_outputs(s) == 1)
		return nn_session_predict(s, &rows, n, &out, err);
	before = nn_flush_set(true);
	for (size_t at = 0; at < n && status == 0; at += most)
		status = predict_concatenated(s, rows + at * model->inputs,
					      n - at < most ? n - at : most,
					      out + at * model->outputs, err);
	nn_flush_restore(before);
	return status;
}

int nn_model_predict(const struct nn_model *model, const float *rows, size_t n, float *out,
		     struct nn_error *err)
{
	struct nn_session *s = nn_idle_take(model->idle);
	int status;

	if (!s && !(s = nn_session_open(model, NULL, err)))
		return -1;
	status = predict_rows(model, s, rows, n, out, err);
	nn_idle_give(model->idle, s);
	return status;
}
