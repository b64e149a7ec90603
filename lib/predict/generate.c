/*
 * nn-predict --generate=N: a text goes on. The answer behind the last character gives the
 * probabilities, from which the next one is drawn: by the seed and its number alone, so the same
 * seed gives the same text.
 *
 * A network that can goes on from character to character (nn_program_step): a recurrent one from
 * the beginning of the text to its end, one whose steps are counted (attention, position) as long
 * as the model's window has room. Where it has none, or the network needs all of it at once, what
 * stands before a character is put at the beginning of the window, or its last part, and all of it
 * is computed.
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
	struct nn_session *session;  /* of whole windows; NULL until one is needed */
	struct nn_program *program;  /* of a step; NULL: the network has none */
	struct nn_session *stepping; /* NULL: it computes windows */
	size_t most;                 /* steps it may take; 0: any number */
	const void *logits;          /* behind the last character, of stepping */
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

/* Can the device keep what steps need of those before them? */
static bool keeps_states(const struct generation *g)
{
	for (int i = 0; i < g->program->n_nodes; i++) {
		const enum nn_op_id op = g->program->nodes[i].op;
		const struct nn_kernel *kernel = g->model->device->kernels[op];

		if (nn_ops[op]->flags & NN_OP_HAS_STATE && !(kernel && kernel->state))
			return false;
	}
	return true;
}

static int open_sessions(struct generation *g, struct nn_error *err)
{
	struct nn_session_setup setup = { .model = g->model, .max_rows = 1 };

	err->text[0] = '\0';
	g->program = nn_program_step(g->model->program, &g->most, err);
	if (!g->program && err->text[0])
		return -1;
	if (g->program && keeps_states(g)) {
		setup.program = g->program;
		if (nn_session_new(&g->stepping, &setup, err) < 0)
			return -1;
		setup.program = NULL;
	}
	return g->stepping && !g->most ? 0 : nn_session_new(&g->session, &setup, err);
}

static int open_model(struct generation *g, struct nn_error *err)
{
	const struct nn_predict *p = g->p;
	struct nn_weights_as as = { .text = p->options.model_text, .layout = p->options.layout };
	struct nn_model_source source = { .path = p->model,
					  .as = p->options.model_text ? &as : NULL,
					  .precision = p->precision,
					  .products = p->products,
					  .device_name = p->device,
					  .batch = 1 };

	if (nn_model_load(&g->model, &source, err) < 0 || check_model(g, err) < 0)
		return -1;
	g->input = nn_alloc(g->window, nn_dtype_size(g->model->device->dtype), err);
	g->chance = nn_alloc(g->columns, nn_dtype_size(g->model->device->dtype), err);
	if (!g->input || !g->chance || open_sessions(g, err) < 0)
		return -1;
	memset(g->number, 0xff, sizeof g->number);
	for (size_t i = 0; i < g->characters->n; i++)
		g->number[g->characters->bytes[i]] = (int16_t)i;
	for (size_t i = 0; i < g->window; i++)
		nn_real_put(g->model->device->dtype, g->input, i, -1);
	return 0;
}

/* ---- characters ---- */

static int take_step(struct generation *g, const void *number, struct nn_error *err)
{
	nn_session_lend(g->stepping, 0, 1, number, g->model->device->dtype);
	if (nn_session_run(g->stepping, 1, err) < 0)
		return -1;
	g->logits = nn_session_raw(g->stepping, 0, 0);
	return 0;
}

/* A window that is full moves on, and nobody takes steps any more. */
static int put(struct generation *g, unsigned char byte, struct nn_error *err)
{
	enum nn_dtype dtype = g->model->device->dtype;
	size_t size = nn_dtype_size(dtype);

	if (g->n == g->window) {
		memmove(g->input, (char *)g->input + size, --g->n * size);
		if (g->most) {
			nn_session_close(g->stepping);
			g->stepping = NULL;
		}
	}
	nn_real_put(dtype, g->input, g->n++, g->number[byte]);
	return g->stepping ? take_step(g, (char *)g->input + (g->n - 1) * size, err) : 0;
}

/* All of a text is read, even where only its end counts. */
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
			if (put(g, bytes[i], err) < 0) {
				nn_input_close(input);
				return -1;
			}
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

	if (g->stepping)
		return g->logits;
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
		if (put(g, byte, err) < 0 || nn_output_write(g->output, &byte, 1, err) < 0 ||
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
	nn_session_close(g.stepping);
	nn_session_close(g.session);
	nn_program_free(g.program);
	nn_model_close(g.model);
	nn_free(g.input);
	nn_free(g.chance);
	return status;
}
