/* The end of an import: every line its name, the text, and the tensors of all lines. */
#include <stdio.h>
#include "config.h"

#include <string.h>

#include "base/memory.h"
#include "onnx/graph.h"

#define ALIGN ((size_t)64)

/* ---- sums and products ---- */

/* Does line `at` add to, or multiply, what the line before it gives to nobody else? */
static bool goes_on(const struct nn_onnx_graph *g, int at)
{
	const struct nn_onnx_line *line = &g->lines[at], *before = line - 1;

	return at > 0 && before->input < 0 && line->input < 0 &&
	       strcmp(line->text, before->text) == 0 &&
	       (strcmp(line->text, "add") == 0 || strcmp(line->text, "mul") == 0) &&
	       line->from[0] == at - 1 && before->n_uses == 1 && !before->name && !before->output;
}

/* One line for as many inputs as there are; numbers of lines close up. */
static int join_lines(struct nn_onnx_graph *g, struct nn_error *err)
{
	g->n_layers = 0;
	for (int i = 0; i < g->n_lines; i++) {
		struct nn_onnx_line *line = &g->lines[i], *before = line - 1;
		size_t size = sizeof *line->from;

		if (goes_on(g, i)) {
			int n = before->n_from,
			    *from = nn_alloc((size_t)(n + line->n_from), size, err);

			if (!from)
				return -1;
			memcpy(from, before->from, (size_t)n * size);
			memcpy(from + n, line->from + 1, (size_t)(line->n_from - 1) * size);
			nn_free(line->from);
			line->from = from;
			line->n_from += n - 1;
			before->joined = true;
			g->n_layers--;
		}
		if (line->input < 0)
			line->number = g->n_layers++;
	}
	return 0;
}

/* ---- names ---- */

/* Another one where the name is taken. */
static int make_unique(struct nn_names *taken, struct nn_onnx_line *line, int at,
		       struct nn_error *err)
{
	char tried[NN_NAME_LENGTH + 1];

	for (unsigned k = 2; nn_names_find(taken, line->name) >= 0; k++) {
		char *again;

		snprintf(tried, sizeof tried, "%.*s_%u", NN_NAME_LENGTH - 12, line->name, k);
		if (nn_names_find(taken, tried) >= 0)
			continue;
		again = nn_strdup(tried, err);
		nn_free(line->name);
		line->name = again;
		if (!again)
			return -1;
	}
	return nn_names_set(taken, line->name, at, err);
}

/* A line that is taken by another than the next needs a name, but for the only input. */
static bool needs_name(const struct nn_onnx_graph *g, int at, bool only_input)
{
	const struct nn_onnx_line *line = &g->lines[at], *next = line + 1;
	bool follows = at + 1 < g->n_lines && next->n_from == 1 && next->from[0] == at;

	return (line->input < 0 || !only_input) && line->n_uses > (int)follows;
}

static int name_lines(struct nn_onnx_graph *g, bool only_input, struct nn_error *err)
{
	struct nn_names *taken;
	int status = nn_names_new(&taken, err);

	for (int i = 0; status == 0 && i < g->n_lines; i++)
		if (g->lines[i].name)
			status = make_unique(taken, &g->lines[i], i, err);
	for (int i = 0; status == 0 && i < g->n_lines; i++) {
		struct nn_onnx_line *line = &g->lines[i];
		char name[32];

		if (line->joined || line->name ||
		    !(needs_name(g, i, only_input) || (line->input >= 0 && !only_input)))
			continue;
		if (line->input >= 0)
			snprintf(name, sizeof name, "x%d", line->input);
		else
			snprintf(name, sizeof name, "line_%d", line->number);
		line->name = nn_strdup(name, err);
		status = line->name ? make_unique(taken, line, i, err) : -1;
	}
	nn_names_free(taken);
	return status;
}

/* ---- text ---- */

static void add_line(const struct nn_onnx_graph *g, int at, struct nn_text *text)
{
	const struct nn_onnx_line *line = &g->lines[at];

	if (line->name)
		nn_text_addf(text, "%s: ", line->name);
	nn_text_addf(text, "%s%s%s", line->input >= 0 ? "input " : "", line->text,
		     line->bare ? " bias=no" : "");
	if (line->output)
		nn_text_add(text, " output");
	if (!(line->n_from == 1 && line->from[0] == at - 1))
		for (int i = 0; i < line->n_from; i++) {
			const char *name = g->lines[line->from[i]].name;

			nn_text_addf(text, "%s%s", i == 0 ? " from=" : "+", name ? name : "input");
		}
	nn_text_add(text, "\n");
}

/* ---- tensors ---- */

static size_t bytes_of(const struct nn_onnx_parameter *p)
{
	return p->constant->count * nn_dtype_size(p->constant->dtype);
}

static char *tensor_name(const struct nn_onnx_graph *g, const struct nn_onnx_parameter *p,
			 struct nn_error *err)
{
	const struct nn_onnx_line *line = &g->lines[p->line];
	char name[NN_NAME_LENGTH + 32];

	if (line->name)
		snprintf(name, sizeof name, "%s.%s", line->name, p->name);
	else
		snprintf(name, sizeof name, "%d.%s", line->number, p->name);
	return nn_strdup(name, err);
}

/* Where a parameter's values lie among the weights that were read; SIZE_MAX: elsewhere. */
static size_t place_of(const struct nn_onnx_parameter *p, const struct nn_onnx_skeleton *weights)
{
	uintptr_t at = (uintptr_t)p->constant->data, begin = (uintptr_t)weights->weights.data;

	return at >= begin && at < begin + weights->used ? at - begin : SIZE_MAX;
}

/* Room for those that were made, behind the others, which may move with their block. */
static int make_room(const struct nn_onnx_graph *g, struct nn_onnx_skeleton *weights, size_t *at,
		     struct nn_error *err)
{
	size_t total = weights->used + 1;

	for (size_t i = 0; i < g->n_parameters; i++) {
		const struct nn_onnx_parameter *p = &g->parameters[i];

		at[i] = place_of(p, weights);
		if (at[i] != SIZE_MAX)
			continue;
		at[i] = (total + ALIGN - 1) / ALIGN * ALIGN;
		if (!nn_add(at[i] + ALIGN, bytes_of(p), &total))
			return nn_fail(err, NN_EFORMAT, "the sizes of all tensors overflow");
	}
	return nn_block_reserve(&weights->weights, total, err);
}

/* Parameters that nobody looked at stay in the file. */
static int leave_waiting(const struct nn_onnx_graph *g, struct nn_onnx_skeleton *weights,
			 struct nn_st *st, struct nn_error *err)
{
	int fd = weights->fd;

	if (fd < 0)
		return 0;
	weights->fd = -1;
	if (nn_st_later_open(st, fd, g->file->path, err) < 0)
		return -1;
	for (size_t i = 0; i < g->n_parameters; i++) {
		const struct nn_onnx_raw *raw = g->parameters[i].constant->raw;

		if (raw && raw->waits)
			nn_st_later_set(st, (size_t)(nn_st_find(st, st->names[i]) - st->tensors),
					raw->begin);
	}
	return 0;
}

static int take_tensors(const struct nn_onnx_graph *g, struct nn_onnx_skeleton *weights,
			struct nn_st *st, struct nn_error *err)
{
	size_t *at = nn_alloc(g->n_parameters, sizeof *at, err);
	int status = at && nn_st_reserve(st, g->n_parameters, err) == 0
			     ? make_room(g, weights, at, err)
			     : -1;

	for (size_t i = 0; status == 0 && i < g->n_parameters; i++) {
		const struct nn_onnx_parameter *p = &g->parameters[i];
		unsigned char *data = nn_block_at(&weights->weights, at[i]);

		st->n_tensors++;
		st->names[i] = tensor_name(g, p, err);
		status = st->names[i] ? 0 : -1;
		if (at[i] > weights->used && p->constant->count > 0)
			memcpy(data, nn_onnx_data(p->constant), bytes_of(p));
		st->tensors[i] =
			(struct nn_st_tensor){ st->names[i], p->constant->dtype, p->shape, data };
	}
	if (status == 0 && weights->failed)
		status = nn_fail(err, NN_EFORMAT, "ends early, it was cut while it was read");
	if (status == 0 && g->n_parameters > 0) {
		st->arrays[0] = weights->weights;
		weights->weights = (struct nn_block){ 0 };
		nn_st_sort(st->tensors, st->n_tensors);
		status = leave_waiting(g, weights, st, err);
	}
	nn_free(at);
	return status;
}

/* ---- metadata ---- */

/* One allocation, so that it goes with the file: keys are ours, values are copied behind them. */
static int take_meta(const struct nn_onnx_graph *g, const struct nn_text *text, struct nn_st *st,
		     struct nn_error *err)
{
	static const char *const keys[] = { "nn.input", "nn.model", "nn.target", "nn.train",
					    "nn.version" };
	const char *values[] = { nn_onnx_meta(g, "nn.input"), text->data,
				 nn_onnx_meta(g, "nn.target"), nn_onnx_meta(g, "nn.train"),
				 NN_MODEL_VERSION };
	size_t n = sizeof keys / sizeof *keys, bytes = n * sizeof *st->meta;
	char *at;

	for (size_t i = 0; i < n; i++)
		bytes += values[i] ? strlen(values[i]) + 1 : 0;
	st->meta = nn_alloc(bytes, 1, err);
	if (!st->meta)
		return -1;
	at = (char *)(st->meta + n);
	for (size_t i = 0; i < n; i++) {
		if (!values[i])
			continue;
		st->meta[st->n_meta++] = (struct nn_st_meta){ keys[i], at };
		at = stpcpy(at, values[i]) + 1;
	}
	return 0;
}

int nn_onnx_graph_write(struct nn_onnx_graph *g, struct nn_onnx_skeleton *weights,
			struct nn_st **result, struct nn_error *err)
{
	struct nn_st *st = nn_alloc(1, sizeof *st, err);
	bool only_input = g->n_lines < 2 || g->lines[1].input < 0;
	struct nn_text text = { 0 };
	int status = st ? join_lines(g, err) : -1;

	if (status == 0)
		status = name_lines(g, only_input, err);

	for (int i = 0; status == 0 && i < g->n_lines; i++)
		if (!g->lines[i].joined)
			add_line(g, i, &text);
	if (status == 0 && text.failed)
		status = nn_fail(err, NN_ENOMEM, "cannot allocate the text of a model");
	if (status == 0 &&
	    (take_tensors(g, weights, st, err) < 0 || take_meta(g, &text, st, err) < 0))
		status = -1;
	nn_text_free(&text);
	if (status < 0)
		nn_st_free(st);
	else
		*result = st;
	return status;
}
