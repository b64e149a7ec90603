/* From a session's raw outputs to what --emit asks for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/real.h"
#include "predict/emit.h"
#include "predict/score/metrics.h"

static const char *const words[] = {
	[NN_EMIT_PROBS] = "probs",   [NN_EMIT_CLASS] = "class",   [NN_EMIT_TOP] = "top:K",
	[NN_EMIT_LOGITS] = "logits", [NN_EMIT_VALUES] = "values",
};
#define N_WORDS (sizeof words / sizeof *words)

static int parse(const char *word, enum nn_emit *emit, size_t *top, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	uint64_t k;

	for (size_t i = 0; i < N_WORDS; i++)
		if (i != NN_EMIT_TOP && strcmp(words[i], word) == 0) {
			*emit = (enum nn_emit)i;
			return 0;
		}
	if (strncmp(word, "top:", 4) == 0 && nn_parse_u64(word + 4, strlen(word + 4), &k) &&
	    k > 0) {
		*emit = NN_EMIT_TOP;
		*top = k;
		return 0;
	}
	return nn_fail(err, NN_EUSAGE, "--emit=%s: expected probs, class, top:K, logits or values",
		       nn_quote(quoted, word, strlen(word)));
}

int nn_emit_check(const char *word, struct nn_error *err)
{
	enum nn_emit emit;
	size_t top;

	return parse(word, &emit, &top, err);
}

static int choose(struct nn_emitted *e, const char *word, struct nn_error *err)
{
	bool numbers = e->target && !e->target->labels;

	if (!word) {
		e->emit = !e->target ? NN_EMIT_LOGITS : numbers ? NN_EMIT_VALUES : NN_EMIT_PROBS;
		return 0;
	}
	if (parse(word, &e->emit, &e->top, err) < 0)
		return -1;
	if (numbers && !e->bce && e->emit != NN_EMIT_VALUES && e->emit != NN_EMIT_LOGITS)
		return nn_fail(err, NN_EFAIL,
			       "--emit=%s: the model predicts numbers; use --emit=values", word);
	if (numbers && e->bce && (e->emit == NN_EMIT_CLASS || e->emit == NN_EMIT_TOP))
		return nn_fail(
			err, NN_EFAIL,
			"--emit=%s: the model predicts probabilities of its own columns; use "
			"--emit=probs",
			word);
	if (!numbers && e->emit == NN_EMIT_VALUES)
		return nn_fail(err, NN_EFAIL,
			       "--emit=values: the model predicts classes; use --emit=probs or "
			       "--emit=logits");
	if (e->emit == NN_EMIT_TOP && e->top > e->columns)
		e->top = e->columns;
	return 0;
}

int nn_emitted_open(struct nn_emitted *e, const struct nn_model *model, int output,
		    const char *word, size_t max_rows, struct nn_error *err)
{
	const struct nn_program_output *line = &model->program->outputs[output];
	size_t n;

	*e = (struct nn_emitted){ .name = line->name,
				  .host = model->host,
				  .dtype = model->device->dtype,
				  .output = output };
	e->shape = model->program->values[line->value].shape;
	if ((size_t)output < model->schema->n_targets)
		e->target = &model->schema->targets[output];
	e->bce = e->target && model->losses[output].kind == NN_LOSS_BCE;
	e->columns = nn_shape_columns(&e->shape);
	e->positions = nn_shape_positions(&e->shape);
	if (choose(e, word, err) < 0)
		return -1;
	if (!nn_mul(e->positions * e->columns, max_rows, &n))
		return nn_fail(err, NN_ENOMEM, "%zu rows of output exceed the address space",
			       max_rows);
	e->values = nn_alloc(n, nn_dtype_size(e->dtype), err);
	if (model->program->values[line->value].lengths &&
	    !(e->lengths = nn_alloc(max_rows, sizeof *e->lengths, err)))
		return -1;
	return e->values ? 0 : -1;
}

void nn_emitted_close(struct nn_emitted *e)
{
	nn_free(e->values);
	nn_free(e->lengths);
	e->values = NULL;
	e->lengths = NULL;
}

/* Numbers back into the units of the training data: value * sd + mean, in the graph's dtype. */
static void unscale(const struct nn_emitted *e, const void *from, size_t n)
{
	const struct nn_target_schema *t = e->target;

	for (size_t i = 0; i < n; i++) {
		size_t c = i % e->columns;

		if (e->dtype == NN_F64)
			((double *)e->values)[i] =
				((const double *)from)[i] * t->sd[c] + t->mean[c];
		else
			((float *)e->values)[i] =
				((const float *)from)[i] * (float)t->sd[c] + (float)t->mean[c];
	}
}

void nn_emitted_take_lengths(struct nn_emitted *e, const struct nn_session *session, size_t first,
			     size_t rows)
{
	for (size_t r = 0; e->lengths && r < rows; r++)
		e->lengths[r] = (uint32_t)nn_session_length(session, first + r);
}

void nn_emitted_take(struct nn_emitted *e, const struct nn_session *session, size_t first,
		     size_t rows)
{
	size_t places = rows * e->positions, n = places * e->columns;
	const void *raw = nn_session_raw(session, (size_t)e->output, first);

	nn_emitted_take_lengths(e, session, first, rows);
	if ((e->emit == NN_EMIT_PROBS || e->emit == NN_EMIT_VALUES) && e->bce)
		e->host->sigmoid(raw, e->values, n);
	else if (e->emit == NN_EMIT_PROBS || e->emit == NN_EMIT_TOP || e->threshold > 0)
		e->host->softmax(raw, e->values, places, e->columns);
	else if (e->emit == NN_EMIT_VALUES && e->target && e->target->mean)
		unscale(e, raw, n);
	else
		memcpy(e->values, raw, n * nn_dtype_size(e->dtype));
}

void nn_emitted_put(struct nn_emitted *e, const void *values, size_t rows)
{
	memcpy(e->values, values, rows * e->positions * e->columns * nn_dtype_size(e->dtype));
}

int nn_emitted_set_threshold(struct nn_emitted *e, double threshold, struct nn_error *err)
{
	if (e->columns != 2 || !e->target || !e->target->labels)
		return nn_threshold_misplaced(e->columns, err);
	e->threshold = threshold;
	return 0;
}

double nn_emitted_value(const struct nn_emitted *e, size_t row, size_t position, size_t column)
{
	size_t i = (row * e->positions + position) * e->columns + column;

	return nn_real_at(e->dtype, e->values, i);
}

size_t nn_emitted_best(const struct nn_emitted *e, size_t row, size_t position)
{
	size_t best = 0;
	double value = nn_emitted_value(e, row, position, 0);

	if (e->threshold > 0)
		return nn_emitted_value(e, row, position, 1) >= e->threshold;

	for (size_t c = 1; c < e->columns; c++) {
		double v = nn_emitted_value(e, row, position, c);
		if (v > value || (isnan(v) && !isnan(value))) {
			best = c;
			value = v;
		}
	}
	return best;
}

const char *nn_emitted_label(const struct nn_emitted *e, size_t c, char buffer[24])
{
	if (e->target && e->target->labels && c < e->target->n_labels)
		return e->target->labels[c];
	snprintf(buffer, 24, "%zu", c);
	return buffer;
}

/* The name of number column c: the target's, else y or y1, y2, ... */
static const char *column_name(const struct nn_emitted *e, size_t c, char buffer[24])
{
	if (e->target && e->target->columns && c < e->target->n_columns && e->target->columns[c])
		return e->target->columns[c];
	if (e->columns == 1)
		return "y";
	snprintf(buffer, 24, "y%zu", c + 1);
	return buffer;
}

bool nn_emitted_by_class(const struct nn_emitted *e)
{
	return !e->target || e->target->labels;
}

const char *nn_emitted_name(const struct nn_emitted *e, size_t c, char buffer[24])
{
	return nn_emitted_by_class(e) ? nn_emitted_label(e, c, buffer) : column_name(e, c, buffer);
}

void nn_emitted_top(const struct nn_emitted *e, size_t row, size_t k, size_t *classes)
{
	size_t n = 0;

	for (size_t c = 0; c < e->columns; c++) {
		double v = nn_emitted_value(e, row, 0, c);
		size_t at = n;

		while (at > 0 && v > nn_emitted_value(e, row, 0, classes[at - 1]))
			at--;
		if (at >= k)
			continue;
		n = n < k ? n + 1 : k;
		memmove(classes + at + 1, classes + at, (n - 1 - at) * sizeof *classes);
		classes[at] = c;
	}
}
