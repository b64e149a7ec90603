/*
 * nn-predict --generate=N: a text goes on. What stands before a character is put at the beginning
 * of the model's window, or its last part once that is full, and the answer at its last position
 * gives the probabilities, from which the character is drawn: by the seed and its number alone, so
 * the same seed gives the same text.
 *
 * Who keeps a state from character to character (a recurrent layer, keys and values) takes the
 * place of `advance`.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "base/random.h"
#include "base/real.h"
#include "predict/predict.h"
#include "predict/session.h"

struct generation {
	const struct nn_predict *p;
	struct nn_model *model;
	struct nn_session *session;
	struct nn_output *output;
	const struct nn_characters *characters;
	size_t window, columns;
	int16_t number[256]; /* of a byte, -1 of one the model does not know */
	void *input;  /* real [window]: what stands before, then characters there are none of */
	void *chance; /* real [columns] */
	size_t n;     /* characters in the window */
};

/* ---- the model ---- */

static int check_model(struct generation *g, struct nn_error *err)
{
	const struct nn_schema *schema = g->model->schema;
	const struct nn_program *program = g->model->program;
	const struct nn_shape *shape = &program->values[program->outputs[0].value].shape;

	if (schema->n_inputs != 1 || schema->n_targets != 1 || program->n_outputs != 1 ||
	    schema->inputs[0].characters.n == 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is not a model of text (nn-train --window), which --generate "
			       "goes on with",
			       g->p->model);
	g->characters = &schema->inputs[0].characters;
	g->window = nn_shape_count(&schema->inputs[0].shape);
	g->columns = nn_shape_columns(shape);
	if (nn_shape_positions(shape) != g->window || g->columns < g->characters->n ||
	    schema->targets[0].n_labels != g->characters->n)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has no answer for each of the %zu characters at %zu positions",
			       g->p->model, g->characters->n, g->window);
	return 0;
}

static int open_model(struct generation *g, struct nn_error *err)
{
	const struct nn_predict *p = g->p;
	struct nn_weights_as as = { .text = p->options.model_text, .layout = p->options.layout };
	struct nn_model_source source = { .path = p->model,
					  .as = p->options.model_text ? &as : NULL,
					  .precision = p->precision,
					  .any_order = p->any_order,
					  .device_name = p->device,
					  .batch = 1 };
	struct nn_session_setup setup = { .max_rows = 1 };

	if (nn_model_load(&g->model, &source, err) < 0 || check_model(g, err) < 0)
		return -1;
	setup.model = g->model;
	g->input = nn_alloc(g->window, nn_dtype_size(g->model->device->dtype), err);
	g->chance = nn_alloc(g->columns, nn_dtype_size(g->model->device->dtype), err);
	if (!g->input || !g->chance || nn_session_new(&g->session, &setup, err) < 0)
		return -1;
	memset(g->number, 0xff, sizeof g->number);
	for (size_t i = 0; i < g->characters->n; i++)
		g->number[g->characters->bytes[i]] = (int16_t)i;
	for (size_t i = 0; i < g->window; i++)
		nn_real_put(g->model->device->dtype, g->input, i, -1);
	return 0;
}

/* ---- characters ---- */

static void put(struct generation *g, unsigned char byte)
{
	enum nn_dtype dtype = g->model->device->dtype;
	size_t size = nn_dtype_size(dtype);

	if (g->n == g->window)
		memmove(g->input, (char *)g->input + size, --g->n * size);
	nn_real_put(dtype, g->input, g->n++, g->number[byte]);
}

/* The end of a text is what counts, all of it is read. */
static int read_prompt(struct generation *g, struct nn_error *err)
{
	const char *path = g->p->data ? g->p->data : "-";
	struct nn_input *input = NULL;
	const unsigned char *bytes;
	uint64_t unknown = 0;
	char text[240];
	size_t got;

	if (nn_input_open(&input, path, err) < 0)
		return -1;
	while (nn_input_some(input, &bytes, &got, err) == 0 && got > 0) {
		for (size_t i = 0; i < got; i++) {
			unknown += g->number[bytes[i]] < 0;
			put(g, bytes[i]);
		}
		nn_input_take(input, got);
		err->text[0] = '\0';
	}
	nn_input_close(input);
	if (unknown) {
		snprintf(text, sizeof text,
			 "%.100s: characters of the prompt that the model does not know: %llu",
			 path, (unsigned long long)unknown);
		g->p->warn(g->p->arg, text);
	}
	return 0;
}

/* Of what stands before, the logits of what comes next. */
static const void *advance(struct generation *g, struct nn_error *err)
{
	enum nn_dtype dtype = g->model->device->dtype;

	nn_session_lend(g->session, 0, 1, g->input, dtype);
	if (nn_session_run(g->session, 1, err) < 0)
		return NULL;
	return (const char *)nn_session_raw(g->session, 0, 0) +
	       (g->n - 1) * g->columns * nn_dtype_size(dtype);
}

static size_t likeliest(const struct generation *g, const void *logits)
{
	enum nn_dtype dtype = g->model->device->dtype;
	size_t best = 0;

	for (size_t i = 1; i < g->characters->n; i++)
		if (nn_real_at(dtype, logits, i) > nn_real_at(dtype, logits, best))
			best = i;
	return best;
}

/* Character `number`, by its own random number; 0 degrees: the likeliest. */
static size_t draw(struct generation *g, const void *logits, uint64_t number)
{
	enum nn_dtype dtype = g->model->device->dtype;
	double sum = 0, below;
	uint32_t random[4];

	if (g->p->options.temperature == 0)
		return likeliest(g, logits);
	for (size_t i = 0; i < g->characters->n; i++)
		nn_real_put(dtype, g->chance, i,
			    nn_real_at(dtype, logits, i) / g->p->options.temperature);
	g->model->host->softmax(g->chance, g->chance, 1, g->characters->n);
	for (size_t i = 0; i < g->characters->n; i++)
		sum += nn_real_at(dtype, g->chance, i);
	nn_philox(g->p->seed, number, NN_STREAM_GENERATE, 0, random);
	below = sum * (double)(((uint64_t)random[1] << 32 | random[0]) >> 11) * 0x1p-53;
	for (size_t i = 0; i < g->characters->n; i++) {
		below -= nn_real_at(dtype, g->chance, i);
		if (below < 0)
			return i;
	}
	return likeliest(g, logits); /* roundings, or no number at all */
}

static int generate(struct generation *g, struct nn_error *err)
{
	for (uint64_t i = 0; i < g->p->options.generate; i++) {
		const void *logits = advance(g, err);
		unsigned char byte;

		if (!logits)
			return -1;
		byte = g->characters->bytes[draw(g, logits, i)];
		put(g, byte);
		if (nn_output_write(g->output, &byte, 1, err) < 0 ||
		    (g->p->options.flush != NN_FLUSH_FULL && nn_output_flush(g->output, err) < 0))
			return -1;
	}
	return 0;
}

int nn_predict_generate(const struct nn_predict *predict, struct nn_error *err)
{
	struct generation g = { .p = predict };
	int status = predict->log ? nn_fail(err, NN_EUSAGE, "--log: --generate writes none")
				  : open_model(&g, err);

	if (status == 0)
		status = read_prompt(&g, err);
	if (status == 0 && g.n == 0)
		status =
			nn_fail(err, NN_EFORMAT,
				"%s: is empty, expected a text to go on with, a character at least",
				predict->data ? predict->data : "-");
	if (status == 0)
		status = nn_output_open(&g.output, predict->output, false, err);
	if (status == 0)
		status = generate(&g, err);
	if (g.output)
		status = nn_output_close(g.output, status, err);
	nn_session_close(g.session);
	nn_model_close(g.model);
	nn_free(g.input);
	nn_free(g.chance);
	return status;
}
