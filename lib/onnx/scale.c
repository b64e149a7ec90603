/*
 * Scales of a table, as our own metadata have them (nn.input, nn.target) and as nodes compute them:
 * they must be the same, or the file was changed by somebody who did not know of the metadata.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "file/json/json.h"
#include "onnx/graph.h"

#define CLOSE 1e-5 /* constants of nodes are f32 */

/* One input is an object, several are an array of them. */
static const struct nn_json *one_of(const struct nn_json *json, int i)
{
	return nn_json_type(json) == NN_JSON_ARRAY ? nn_json_at(json, (size_t)i) : json;
}

bool nn_onnx_input_scales(const struct nn_json *json, int input, size_t count, double *mean,
			  double *sd)
{
	const struct nn_json *columns = nn_json_get(one_of(json, input), "columns");
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		mean[i] = 0;
		sd[i] = 1;
	}
	for (size_t c = 0, at = 0; c < nn_json_size(columns) && at < count; c++) {
		const struct nn_json *column = nn_json_at(columns, c);
		size_t values = nn_json_size(nn_json_get(column, "values"));

		if (nn_json_type(nn_json_get(column, "sd")) == NN_JSON_NUMBER) {
			mean[at] = nn_json_number(nn_json_get(column, "mean"));
			sd[at] = nn_json_number(nn_json_get(column, "sd"));
			any = true;
		}
		at += values > 0 ? values : 1;
	}
	return any;
}

bool nn_onnx_output_scales(const struct nn_json *json, int output, size_t count, double *mean,
			   double *sd)
{
	const struct nn_json *target = one_of(json, output);
	const struct nn_json *means = nn_json_get(target, "mean"), *sds = nn_json_get(target, "sd");
	size_t n = nn_json_size(means);

	if (nn_json_type(means) != NN_JSON_ARRAY || n == 0 || nn_json_size(sds) != n)
		return false;
	for (size_t i = 0; i < count; i++) {
		mean[i] = nn_json_number(nn_json_at(means, i % n));
		sd[i] = nn_json_number(nn_json_at(sds, i % n));
	}
	return true;
}

static bool close_to(double found, double wanted)
{
	return fabs(found - wanted) <= CLOSE * (1 + fabs(wanted));
}

/* Is what waits with v these scales and shifts? */
static bool is_same(const struct nn_onnx_value *v, size_t count, const double *scale,
		    const double *shift)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = v->affine.n <= 1 ? 0 : i / (count / v->affine.n);
		double a = v->affine.n ? v->affine.scale[k] : 1,
		       b = v->affine.n ? v->affine.shift[k] : 0;

		if (fabs(a - scale[i]) > CLOSE * fabs(scale[i]) || !close_to(b, shift[i]))
			return false;
	}
	return true;
}

struct side {
	const char *key, *nodes;
	bool input;
	const struct nn_json *json;
	int number;
};

static int compare(const struct side *side, const struct nn_onnx_value *v, bool *same,
		   struct nn_error *err)
{
	size_t count = nn_shape_count(&v->held);
	double *scale = nn_alloc(count, sizeof *scale, err),
	       *shift = nn_alloc(count, sizeof *shift, err);
	bool any;
	int status = scale && shift ? 0 : -1;

	any = status == 0 && (side->input ? nn_onnx_input_scales : nn_onnx_output_scales)(
				     side->json, side->number, count, shift, scale);
	for (size_t i = 0; any && side->input && i < count; i++) {
		shift[i] /= -scale[i];
		scale[i] = 1 / scale[i];
	}
	*same = any && is_same(v, count, scale, shift);
	if (any && !*same)
		status = nn_fail(err, NN_EFORMAT,
				 "the scales of %s in its metadata are not those of its nodes %s",
				 side->key, side->nodes);
	nn_free(scale);
	nn_free(shift);
	return status;
}

int nn_onnx_input_scale(const struct nn_onnx_graph *g, int input, const struct nn_onnx_value *v,
			bool *same, struct nn_error *err)
{
	struct side side = { "nn.input", "Sub and Mul at the input", true, g->input_json, input };

	*same = false;
	return g->input_json ? compare(&side, v, same, err) : 0;
}

int nn_onnx_output_scale(const struct nn_onnx_graph *g, int output, const struct nn_onnx_value *v,
			 bool *same, struct nn_error *err)
{
	struct side side = { "nn.target", "Mul and Add at the output", false, g->target_json,
			     output };

	*same = false;
	return g->target_json ? compare(&side, v, same, err) : 0;
}
