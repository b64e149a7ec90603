/* Prints nn-layers(7) from the table of layers. Not installed. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/initial.h"

/* Text as roff has it: no control lines, hyphens and backslashes as themselves. */
static void print(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

static void print_form(const struct nn_layer *layer)
{
	struct nn_text form = { 0 };

	nn_layer_form(layer, &form);
	puts("\n.PP\n.nf\n.RS");
	print(form.data ? form.data : layer->name);
	puts("\n.RE\n.fi");
	nn_text_free(&form);
}

static void print_choices(const struct nn_layer_arg *arg)
{
	for (size_t i = 0; arg->choices && arg->choices[i]; i++) {
		fputs(i == 0 ? " One of " : arg->choices[i + 1] ? ", " : " and ", stdout);
		print(arg->choices[i]);
		fputs(arg->choices[i + 1] ? "" : ".", stdout);
	}
}

static void print_argument(const struct nn_layer_arg *arg)
{
	fputs(".TP\n.B ", stdout);
	print(arg->name);
	puts(nn_arg_by_place(arg) ? "" : "=");
	print(arg->help);
	if (arg->open)
		fputs(" ? is what the data say.", stdout);
	print_choices(arg);
	if (arg->like)
		printf(" Default: as %s.", arg->like);
	else if (arg->fallback) {
		fputs(" Default: ", stdout);
		print(arg->fallback);
		putchar('.');
	}
	if (arg->keras) {
		fputs(" With weights from Keras: ", stdout);
		print(arg->keras);
		putchar('.');
	}
	putchar('\n');
}

static void print_layer(const struct nn_layer *layer)
{
	fputs(".SS ", stdout);
	print(layer->name);
	putchar('\n');
	print(layer->brief);
	print_form(layer);
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++)
		print_argument(arg);
	if (layer->shapes || layer->more)
		puts(".PP");
	if (layer->shapes) {
		fputs("Shape: ", stdout);
		print(layer->shapes);
		puts(".");
	}
	if (layer->more) {
		print(layer->more);
		putchar('\n');
	}
}

static const char head[] = ".\\\" made by gen-layers from lib/model/layer/\n"
			   ".TH NN-LAYERS 7 \"\" \"nntools\" \"nntools\"\n"
			   ".SH NAME\n"
			   "nn-layers \\- the layers of networks\n"
			   ".SH DESCRIPTION\n"
			   "The layers that a network in the language of\n"
			   ".BR nn-model (5)\n"
			   "can have. Arguments in capitals go by place, others by key; in "
			   "brackets stands what may be left out, with its default.\n"
			   "Shapes are those of one row; images are channels, height, width: "
			   "C,H,W. Where no shape is given the output has the shape of the\n"
			   "input. Sizes written AxB are height x width, one number stands for "
			   "both. Beside its own keys every layer takes\n"
			   ".BR from= ,\n"
			   ".BR output ,\n"
			   ".B target=\n"
			   "and\n"
			   ".BR weight= .\n"
			   ".SH LAYERS\n";

static const char tail[] =
	".SH INITIAL VALUES\n"
	"The key init= of dense, conv2d and embedding. Values are uniform between \\-b and b, from "
	"Philox4x32\\-10: the same seed gives the same\n"
	"values, and a layer's do not depend on the other layers, only on its number.\n"
	".TP\n"
	".B default\n"
	"b = 1/sqrt(fan in) for weights and biases, as PyTorch's layers draw them (Kaiming uniform "
	"with a = sqrt(5)). Fan in is the number\n"
	"of inputs of an output: channels/groups times the window for a convolution. For an "
	"embedding b = sqrt(3): the mean and the\n"
	"variance of the normal values of torch.nn.Embedding.\n"
	".TP\n"
	".B kaiming\\-uniform\n"
	"b = sqrt(6/fan in), biases 0: torch.nn.init.kaiming_uniform_ for relu. The fan in of an "
	"embedding is its SIZE.\n"
	".TP\n"
	".B xavier\\-uniform\n"
	"b = sqrt(6/(fan in + fan out)), biases 0: torch.nn.init.xavier_uniform_.\n"
	".TP\n"
	".B zeros\n"
	"All 0.\n"
	".SH SEE ALSO\n"
	".BR nn-model (5),\n"
	".BR nn-train (1),\n"
	".BR nntools (7)\n";

int main(void)
{
	fputs(head, stdout);
	for (size_t i = 0; nn_layer_at(i); i++)
		print_layer(nn_layer_at(i));
	fputs(tail, stdout);
	return fflush(stdout) != 0;
}
