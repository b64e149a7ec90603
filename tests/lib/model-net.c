/*
 * The network that a text becomes: shapes from samples, what it tells of itself, and models that
 * are shipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model-net.h"

static void samples(void)
{
	struct nn_shape image = nn_shape3(1, 28, 28);
	const char *text = "input 10x10\nrelu\n";
	struct nn_error err = { 0 };
	struct nn_net *net;

	check(nn_net_parse(&net, "net.nn", text, strlen(text), false, &err) == 0 &&
		      nn_net_resolve(net, &image, NULL, &err) == -1 && err.code == NN_EFORMAT &&
		      strcmp(err.text, "net.nn:1: input: 10x10 (100 values) does not fit samples "
				       "of 1x28x28 (784 values)") == 0,
	      "model: an input line and samples of another count: both shapes are named", err.text);
	check(nn_net_resolve(net, &(struct nn_shape){ 1, { 100 } }, NULL, &err) == 0 &&
		      strcmp(nn_net_text(net), "input 10x10\nrelu\n") == 0,
	      "model: an input line reshapes samples of the same count, after a failure too",
	      err.text);
	nn_net_free(net);
	text = "input 5\ndense ?\n";
	check(nn_net_parse(&net, "net.nn", text, strlen(text), false, &err) == 0 &&
		      nn_net_resolve(net, NULL, NULL, &err) == -1 &&
		      strcmp(err.text, "net.nn:2: dense: ? needs data that say how many there are, "
				       "or a number in its place") == 0,
	      "model: ? without data is an error", err.text);
	nn_net_free(net);
	text = "relu";
	check(nn_net_parse(&net, "net.nn", text, strlen(text), false, &err) == 0 &&
		      nn_net_resolve(net, NULL, NULL, &err) == -1 &&
		      strcmp(err.text,
			     "net.nn: input: the text does not say its shape (input AxBxC)") == 0,
	      "model: an input line that was left out needs samples", err.text);
	nn_net_free(net);
}

/* Layers that move values, and those over C,L. */
static void moves(void)
{
	static const char *const cases[][2] = {
		{ "input 3x3x3, conv1d 6 5", "-m:2: conv1d: wants an input CxL, got 3x3x3" },
		{ "input 3x3, maxpool1d 5", "-m:2: maxpool1d: window 1x5 exceeds input 1x3" },
		{ "input 3x8x8, crop", "-m:2: crop: wants a size HxW, or a second input (from=A+B) "
				       "of which A gets the size" },
		{ "input 3x8x8, crop 4x9", "-m:2: crop: 9 of dimension 2 exceeds input 3x8x8" },
		{ "input 3x8x8, a: maxpool2d 2, crop from=a+input",
		  "-m:3: crop: 8 of dimension 1 exceeds input 3x4x4" },
		{ "input 3x8x8, a: flatten, crop from=input+a",
		  "-m:3: crop: inputs 3x8x8 and 192 differ in their dimensions" },
		{ "input 3x8x8, slice 2 2",
		  "-m:2: slice: 2 to 2 are no part of dimension 0 of input 3x8x8" },
		{ "input 3x8x8, slice 0 9 dim=1",
		  "-m:2: slice: 0 to 9 are no part of dimension 1 of input 3x8x8" },
		{ "input 8, slice 0 2 dim=1", "-m:2: slice: dim=1 is not a dimension of input 8" },
		{ "input 3x8, transpose 0 2",
		  "-m:2: transpose: 2 is not a dimension of input 3x8" },
		{ "input 3x8x8, upsample 2 align-corners=yes",
		  "-m:2: upsample: align-corners= goes with mode=bilinear" },
		{ "input 8, upsample 2", "-m:2: upsample: wants an input CxHxW, got 8" },
		{ "input 3x8x8, conv-transpose2d 4 2x2 out-pad=1",
		  "-m:2: conv-transpose2d: out-pad=1x1 is not less than stride=1x1" },
	};
	const char *text = "input 4x9, conv1d 6 3, a: maxpool1d 2, pad 1, b: crop 3, "
			   "crop from=b+a, slice 1 6 step=2, transpose, upsample 3";
	struct nn_shape shape;
	struct nn_error err = { 0 };
	struct nn_net *net;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		net = net_of(cases[i][0], strlen(cases[i][0]), true, NULL, &err);
		check(!net && strcmp(err.text, cases[i][1]) == 0, cases[i][1], err.text);
		nn_net_free(net);
	}
	net = net_of(text, strlen(text), true, NULL, &err);
	check(net != NULL, "model: layers over C,L expand", err.text);
	if (net) {
		shape = nn_net_line(net, nn_net_n_lines(net) - 1).shape;
		check(shape.rank == 2 && shape.dim[0] == 3 && shape.dim[1] == 9 &&
			      nn_net_program(net)->params[0].desc.shape.rank == 3,
		      "model: and have the shapes of PyTorch's", NULL);
	}
	nn_net_free(net);
}

/* What those who train it are told. */
static void descriptions(void)
{
	const char *text = "t: dense 8, steer: dense 1, sigmoid output target=angle weight=0.5, "
			   "flatten from=t, dense ?";
	struct nn_shape image = nn_shape3(1, 28, 28);
	struct nn_error err = { 0 };
	struct nn_net *net = net_of(text, strlen(text), true, &image, &err);
	const struct nn_net_output *o;
	struct nn_net_line line;

	if (!net) {
		check(false, "model: several outputs are described", err.text);
		return;
	}
	o = nn_net_output(net, 0);
	check(nn_net_n_outputs(net) == 2 && strcmp(o->name, "2") == 0 &&
		      strcmp(o->target, "angle") == 0 && o->weight == 0.5 && !o->open &&
		      o->size == 1 && o->shape.rank == 1 && o->shape.dim[0] == 1,
	      "model: an output knows its name, target, weight and size", o->name);
	o = nn_net_output(net, 1);
	check(strcmp(o->name, "4") == 0 && !o->target && o->weight == 1 && o->open &&
		      o->size == 0 && o->shape.dim[0] == 10,
	      "model: the last line is an output", o->name);
	check(nn_net_n_inputs(net) == 1 && nn_net_input(net, 0)->vector &&
		      !nn_net_input(net, 0)->name && nn_net_input(net, 0)->shape.rank == 1 &&
		      nn_net_input(net, 0)->shape.dim[0] == 784,
	      "model: dense first and no input line: samples are vectors", NULL);
	line = nn_net_line(net, 1);
	check(nn_net_n_lines(net) == 5 && strcmp(line.name, "steer") == 0 &&
		      strcmp(line.layer, "dense") == 0 && line.source == 2 &&
		      line.shape.dim[0] == 1,
	      "model: lines are counted without input lines", line.name);
	line = nn_net_line(net, 3);
	check(strcmp(line.name, "3") == 0 && line.value == nn_net_line(net, 0).value &&
		      line.shape.dim[0] == 8,
	      "model: a flatten of a vector is no op", line.name);
	check(strcmp(nn_net_program(net)->params[2].name, "steer.weight") == 0 &&
		      strcmp(nn_net_program(net)->params[4].name, "4.weight") == 0,
	      "model: tensors have the name of their line, else its number",
	      nn_net_program(net)->params[4].name);
	nn_net_free(net);
	check(nn_is_layer("dense", 5) && nn_is_layer("global-avgpool", 14) &&
		      !nn_is_layer("dens", 4) && !nn_is_layer("input", 5),
	      "model: layers are known by name", NULL);
}

static void streams(void)
{
	const char *text = "input 4, relu, dropout, dropout";
	struct nn_error err = { 0 };
	struct nn_net *net = net_of(text, strlen(text), true, NULL, &err);
	const struct nn_node *nodes = net ? nn_net_program(net)->nodes : NULL;

	check(nodes && ((struct nn_dropout *)nodes[1].attrs)->stream == NN_STREAM_DROPOUT + 256 &&
		      ((struct nn_dropout *)nodes[2].attrs)->stream == NN_STREAM_DROPOUT + 512,
	      "model: every dropout line has its own stream", err.text);
	nn_net_free(net);
}

/* An output is a value of its own even where the line computes nothing. */
static void outputs_of_nothing(void)
{
	const char *text = "input 3x4, a: identity output, b: identity output, identity";
	struct nn_error err = { 0 };
	struct nn_net *net = net_of(text, strlen(text), true, NULL, &err);
	const struct nn_program *program = net ? nn_net_program(net) : NULL;

	check(program && program->n_outputs == 3 &&
		      program->outputs[0].value != program->inputs[0] &&
		      program->outputs[1].value != program->outputs[0].value &&
		      program->outputs[2].value != program->outputs[1].value,
	      "model: every output is a node of its own", err.text);
	nn_net_free(net);
}

/* ---- the example models ---- */

static char *slurp(const char *name, size_t *n)
{
	const char *src = getenv("NN_SRC");
	static char text[1 << 16];
	char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%s/share/examples/%s.nn", src ? src : ".", name);
	file = fopen(path, "r");
	*n = file ? fread(text, 1, sizeof text, file) : 0;
	if (file)
		fclose(file);
	return text;
}

static void example(const char *name, struct nn_shape samples, size_t parameters)
{
	struct nn_error err = { .text = "cannot be read" };
	size_t n, count = 0;
	const char *text = slurp(name, &n);
	struct nn_net *net = net_of(text, n, false, &samples, &err);
	char claim[100], found[40];

	for (int i = 0; net && i < nn_net_program(net)->n_params; i++)
		if (nn_net_program(net)->params[i].desc.role != NN_BUFFER)
			count += nn_shape_count(&nn_net_program(net)->params[i].desc.shape);
	snprintf(claim, sizeof claim, "model: share/examples/%s.nn has %zu parameters", name,
		 parameters);
	snprintf(found, sizeof found, "%zu", count);
	check(net && count == parameters, claim, net ? found : err.text);
	nn_net_free(net);
}

/* ---- the manual ---- */

/* The next line of the page as a reader sees it; false at its end. */
static bool page_line(FILE *page, char *line, int size)
{
	char *to = line;

	if (!fgets(line, size, page))
		return false;
	for (const char *from = line; *from; from++)
		if (from[0] != '\\' || from[1] != '-')
			*to++ = *from;
	*to = '\0';
	return true;
}

/* Models of nn-model(5) stand between the comments `model SHAPE` and `end`. */
static void manual(void)
{
	const char *src = getenv("NN_SRC");
	char path[4096], line[512], text[4096] = "";
	struct nn_shape sample = { 0 };
	int n_models = 0;
	FILE *page;

	snprintf(path, sizeof path, "%s/man/nn-model.5", src ? src : ".");
	page = fopen(path, "r");
	while (page && page_line(page, line, sizeof line)) {
		if (sscanf(line, ".\\\" model %zux%zux%zu", &sample.dim[0], &sample.dim[1],
			   &sample.dim[2]) > 0) {
			sample.rank = strchr(line, 'x') ? 3 : 1;
			text[0] = '\0';
		} else if (strncmp(line, ".\\\" end", 7) == 0) {
			struct nn_error err = { 0 };
			struct nn_net *net = net_of(text, strlen(text), false, &sample, &err);
			char claim[80];

			snprintf(claim, sizeof claim, "model: example %d of nn-model(5) is a model",
				 ++n_models);
			check(net != NULL, claim, err.text);
			nn_net_free(net);
		} else {
			strncat(text, line, sizeof text - strlen(text) - 1);
		}
	}
	if (page)
		fclose(page);
	check(n_models == 7, "model: nn-model(5) has seven examples", NULL);
}

int main(void)
{
	moves();
	samples();
	descriptions();
	outputs_of_nothing();
	streams();
	example("mlp", nn_shape3(1, 28, 28), 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
	example("digits", nn_shape1(64), 160 + 16 * 9 * 32 + 32 + 512 * 64 + 64 + 650);
	example("lenet", nn_shape3(1, 28, 28), 61706);
	example("cifar-cnn", nn_shape3(3, 32, 32), 896 + 18496 + 73856 + 2048 * 256 + 256 + 2570);
	example("resnet8", nn_shape3(3, 32, 32), 78042);
	manual();
	return tap_done();
}
