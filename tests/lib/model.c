/*
 * The model language: what is understood, what the canonical text is, and the sentence for
 * everything else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model-net.h"

/* Text without newlines and not too long, to be part of a test's name. */
static const char *brief(const char *text)
{
	static char buffer[4][200];
	static int turn;
	char *b = buffer[turn++ % 4];

	snprintf(b, sizeof buffer[0], "%.150s", text);
	for (char *c = b; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '#')
			*c = *c == '\n' ? '/' : '.';
	return b;
}

/* The text has this canonical text, which is its own. */
static void means_for(const struct nn_shape *samples, bool is_inline, const char *text,
		      const char *canonical)
{
	struct nn_error err = { 0 };
	struct nn_net *net = net_of(text, strlen(text), is_inline, samples, &err), *again = NULL;
	char claim[600];

	snprintf(claim, sizeof claim, "model: %s: is %s", brief(text), brief(canonical));
	check(net && strcmp(nn_net_text(net), canonical) == 0, claim,
	      net ? nn_net_text(net) : err.text);
	if (!net)
		return;
	snprintf(claim, sizeof claim, "model: %s: its canonical text is its own", brief(text));
	again = net_of(nn_net_text(net), strlen(nn_net_text(net)), false, samples, &err);
	check(again && strcmp(nn_net_text(again), nn_net_text(net)) == 0, claim,
	      again ? nn_net_text(again) : err.text);
	nn_net_free(again);
	nn_net_free(net);
}

static void means(const char *text, const char *canonical)
{
	struct nn_shape image = nn_shape3(1, 28, 28);

	means_for(&image, true, text, canonical);
}

static void file_means(const char *text, const char *canonical)
{
	struct nn_shape image = nn_shape3(1, 28, 28);

	means_for(&image, false, text, canonical);
}

/* The text is refused with this sentence and status. */
static void refused_n(const char *text, size_t n, bool is_inline, enum nn_code code,
		      const char *sentence)
{
	struct nn_shape image = nn_shape3(1, 28, 28);
	struct nn_error err = { 0 };
	struct nn_net *net = net_of(text, n, is_inline, &image, &err);
	char claim[800];

	snprintf(claim, sizeof claim, "model: %s: %s", brief(text), sentence);
	check(!net && err.code == code && strcmp(err.text, sentence) == 0, claim,
	      net ? nn_net_text(net) : err.text);
	nn_net_free(net);
}

static void refused(const char *text, const char *sentence)
{
	refused_n(text, strlen(text), true, NN_EUSAGE, sentence);
}

static void file_refused(const char *text, const char *sentence)
{
	refused_n(text, strlen(text), false, NN_EFORMAT, sentence);
}

static void lines_and_words(void)
{
	means("dense 128, relu, dense ?", "input 784\ndense 128\nrelu\ndense 10\n");
	means("dense 128,\nrelu,\tdense ?", "input 784\ndense 128\nrelu\ndense 10\n");
	means("# a, b\n dense 3 # relu, tanh", "input 784\ndense 3\n");
	file_means("\xef\xbb\xbf# \xc3\xa9t\xc3\xa9, 2026\r\n\r\n\tdense  3\r\nrelu",
		   "input 784\ndense 3\nrelu\n");
	file_means("repeat 2 { dense 5 } dense 3", "input 784\ndense 5\ndense 5\ndense 3\n");
	means("input \"1x28x28\", conv2d \"8\" \"3x3\" pad=\"1\" bias=\"no\" stride=1\"x\"1, "
	      "repeat \"2\" { a: dropout \".25\" }, add from=\"a_0+a\", flatten, dense \"?\" "
	      "output weight=\"2\"",
	      "input 1x28x28\nconv2d 8 3x3 pad=1 bias=no\na_0: dropout 0.25\na_1: dropout 0.25\n"
	      "add from=a_0+a_1\nflatten\ndense 10 output weight=2\n");
	means("a:relu, b: tanh from=a", "input 1x28x28\na: relu\nb: tanh\n");
	means("conv2d 8 3 pad=1 bias=yes stride=1x1 dilation=1 groups=1 init=default",
	      "input 1x28x28\nconv2d 8 3x3 pad=1\n");
	means("conv2d 8 5x3 stride=2x1 pad=0x1 dilation=2 bias=no init=zeros",
	      "input 1x28x28\nconv2d 8 5x3 stride=2x1 pad=0x1 dilation=2 bias=no init=zeros\n");
	means("pad: identity, maxpool2d 2x2 stride=2, avgpool2d 3x3 stride=1 pad=1, maxpool2d 3x2 "
	      "stride=3x2",
	      "input 1x28x28\npad: identity\nmaxpool2d 2\navgpool2d 3 stride=1 pad=1\nmaxpool2d "
	      "3x2\n");
	means("batchnorm, dropout .5, leaky-relu 1e-2, elu 1.0, dropout 0.25, leaky-relu 0.2, elu "
	      "2",
	      "input 1x28x28\nbatchnorm group=32\ndropout\nleaky-relu\nelu\ndropout "
	      "0.25\nleaky-relu 0.2\nelu 2\n");
	means("batchnorm eps=0.00001 momentum=.1 group=16, layernorm eps=1e-6",
	      "input 1x28x28\nbatchnorm group=16\nlayernorm eps=1e-6\n");
	means("gelu, silu, sigmoid, tanh, softplus, softmax, log-softmax, global-avgpool, reshape "
	      "1x1, flatten, dense 2",
	      "input "
	      "1x28x28\ngelu\nsilu\nsigmoid\ntanh\nsoftplus\nsoftmax\nlog-softmax\nglobal-"
	      "avgpool\nreshape 1x1\n"
	      "flatten\ndense 2\n");
}

static void inputs_and_outputs(void)
{
	means("input 28x28, dense 5", "input 28x28\ndense 5\n");
	means("input, dense 5", "input 1x28x28\ndense 5\n");
	means("flatten, dense 5", "input 1x28x28\nflatten\ndense 5\n");
	means("x: input, a: tanh, add from=a+input", "x: input 1x28x28\na: tanh\nadd from=a+x\n");
	means("a: tanh, input: relu, mul from=a+input+a",
	      "input 1x28x28\na: tanh\ninput: relu\nmul from=a+input+a\n");
	means("wide: input 3 columns=\"d e\",f,\"g,\"\"h\"\"#\", w: dense 2, city: input 4 "
	      "columns=city, "
	      "c: dense 8, relu, deep: dense 2, add from=w+deep",
	      "wide: input 3 columns=\"d e\",f,\"g,\"\"h\"\"#\"\nw: dense 2\ncity: input 4 "
	      "columns=city\nc: dense 8\n"
	      "relu\ndeep: dense 2\nadd from=w+deep\n");
	means("t: dense 8, steer: dense 1 output target=angle weight=0.5, relu from=t, dense ? "
	      "target=\"road kind\"",
	      "input 784\nt: dense 8\nsteer: dense 1 output target=angle weight=0.5\nrelu from=t\n"
	      "dense 10 output target=\"road kind\"\n");
	means("dense ? output weight=1", "input 784\ndense 10\n");
	means("dense ? output, dense ? from=input",
	      "input 784\ndense 10 output\ndense 10 from=input\n");
	refused("dense ?, relu", "-m:1: dense: ? is allowed in an output line only");
	refused("dense 3, dense ? weight=2, relu",
		"-m:2: dense: ? is allowed in an output line only");
	refused("dense 3, dense 4 weight=2, relu",
		"-m:2: dense: weight= belongs to lines marked output");
	refused("dense 3, dense 4 target=a, relu",
		"-m:2: dense: target= belongs to lines marked output");
	refused("dense 3 output output", "-m:1: dense: output is given twice");
	refused("dense 3 weight=-1", "-m:1: dense: weight= must be a number from 0, not '-1'");
	refused("dense 3 target=a,,b", "-m:1: dense: target=: a column without a name");
	refused("dense 3 target=a,b,a", "-m:1: dense: target=: 'a' stands there twice");
	refused("input 5", "-m: the model text has no layer");
	refused("relu, a: input 5, relu", "-m:1: relu: no input line stands before this one");
	refused("relu from=input, a: input 5, relu",
		"-m:1: relu: from=input: no input line stands before this one");
	refused("dense 3, input 5", "-m:1: dense: no input line stands before this one");
	refused("input 5, dense 3 output, x: input 4",
		"-m:3: input: the last line must be a layer");
	refused("input 5, a: dense 3, x: input 3, add from=a+x",
		"-m:1: input: several inputs need names (NAME: input)");
	refused("y: input 5, a: dense 3, x: input 3, add from=a+x+input",
		"-m:4: add: from=input: there are several inputs, name one");
	refused("input 5x0, dense 3", "-m:1: input: a size of 5x0 is 0");
	refused("input 5 5, dense 3", "-m:1: input: '5' is a second shape");
	refused("input 5y, dense 3",
		"-m:1: input: the shape must be numbers AxBxC, at most 8, not '5y'; "
		"?xB are rows of any number of steps of B values");
	refused("input 1x1x1x1x1x1x1x1x1, dense 3",
		"-m:1: input: the shape must be numbers AxBxC, at most 8, not "
		"'1x1x1x1x1x1x1x1x1'; ?xB are rows of any number of steps of B values");
	refused("input ?x1x1x1x1x1x1x1x1, dense 3",
		"-m:1: input: the shape must be numbers AxBxC, at most 8, not "
		"'?x1x1x1x1x1x1x1x1'; ?xB are rows of any number of steps of B values");
	refused("input ?x2 max=1.5, last", "-m:1: input: max= must be a whole number from 1, not '1.5'");
	refused("a: input ?x2, b: input ?x2, c: last from=a, d: last from=b, concat from=c+d",
		"-m:2: input: a net has one input of rows of different length (?), this is the "
		"second");
	refused("input 2147483647x2147483647x2147483647, relu",
		"-m:1: input: a shape of 2147483647x2147483647x2147483647 is too large");
	refused("input column=a, relu",
		"-m:1: input: unknown key 'column=', did you mean 'columns='?");
	refused("input columns=a,a, relu", "-m:1: input: columns=: 'a' stands there twice");
	refused("input pad=3, relu",
		"-m:1: input: unknown key 'pad=' (the form is: input [AxBxC|?xB max=N] "
		"[columns=COLUMN,...] [hash=N] [cross=COLUMN+COLUMN,...] [index=yes])");
}

static void branches(void)
{
	means("a: conv2d 4 3x3 pad=1, b: conv2d 4 1x1 from=input, c: conv2d 8 5x5 pad=2 "
	      "from=input, "
	      "concat from=a+b+c, d: flatten, concat dim=0 from=d+d, dense ?",
	      "input 1x28x28\na: conv2d 4 3x3 pad=1\nb: conv2d 4 1x1 from=input\nc: conv2d 8 5x5 "
	      "pad=2 from=input\n"
	      "concat from=a+b+c\nd: flatten\nconcat from=d+d\ndense 10\n");
	means("x: conv2d 8 3x3 pad=1, relu, y: conv2d 8 3x3 pad=1, z: add from=x+y, relu from=z",
	      "input 1x28x28\nx: conv2d 8 3x3 pad=1\nrelu\ny: conv2d 8 3x3 pad=1\nz: add "
	      "from=x+y\nrelu\n");
	refused("add from=input", "-m:1: add: wants at least 2 inputs (from=NAME+NAME), got 1");
	refused("concat", "-m:1: concat: wants at least 2 inputs (from=NAME+NAME), got 1");
	refused("relu from=input+input", "-m:1: relu: wants 1 input, got 2");
	refused("relu from=", "-m:1: relu: from=: '' is not a name of a line");
	refused("a: relu, add from=a+", "-m:2: add: from=: '' is not a name of a line");
	refused("relu from=3", "-m:1: relu: from=: '3' is not a name of a line");
	refused("relu from=b", "-m:1: relu: from=: no line before this one has the name 'b'");
	refused("relu from=later, later: relu",
		"-m:1: relu: from=: no line before this one has the name 'later'");
	refused("block: relu, relu from=blok", "-m:2: relu: from=: no line before this one has the "
					       "name 'blok', did you mean 'block'?");
	refused("a: relu, a: relu", "-m:2: relu: the name 'a' stands on line 1 too");
	refused("a: relu, relu from=input", "-m:1: relu: no line uses 'a'");
	refused("relu, relu from=input", "-m:1: relu: no line uses the output of this one");
	refused("a: input 5, b: input 6, relu", "-m:1: input: no line uses 'a'");
	refused("A: relu",
		"-m:1: a name must match [a-z][a-z0-9_]* and have at most 100 characters, not 'A'");
	refused("a-b: relu", "-m:1: a name must match [a-z][a-z0-9_]* and have at most 100 "
			     "characters, not 'a-b'");
	refused(": relu",
		"-m:1: a name must match [a-z][a-z0-9_]* and have at most 100 characters, not ''");
	refused("a:", "-m:1: there is no layer behind the name 'a'");
}

static void repeats(void)
{
	means("repeat 3 { dense 4, relu }, dense 2",
	      "input 784\ndense 4\nrelu\ndense 4\nrelu\ndense 4\nrelu\ndense 2\n");
	means("dense 4, repeat 2 { a: dense 4, b: relu, c: add from=a+b }, d: mul from=c+a_0+a",
	      "input 784\ndense 4\na_0: dense 4\nb_0: relu\nc_0: add from=a_0+b_0\na_1: dense "
	      "4\nb_1: relu\n"
	      "c_1: add from=a_1+b_1\nd: mul from=c_1+a_0+a_1\n");
	means("repeat 2 { a: dense 4, repeat 2 { b: tanh, c: add from=a+b } }, mul from=b+a+c",
	      "input 784\na_0: dense 4\nb_0_0: tanh\nc_0_0: add from=a_0+b_0_0\nb_0_1: "
	      "tanh\nc_0_1: add from=a_0+b_0_1\n"
	      "a_1: dense 4\nb_1_0: tanh\nc_1_0: add from=a_1+b_1_0\nb_1_1: tanh\nc_1_1: add "
	      "from=a_1+b_1_1\n"
	      "mul from=b_1_1+a_1+c_1_1\n");
	file_means("repeat 2 {\n  relu\n  repeat 2 { tanh }\n}\n",
		   "input 1x28x28\nrelu\ntanh\ntanh\nrelu\ntanh\ntanh\n");
	means("dense 4, repeat 2 { steer: dense 1 output, dense 4 from=input }, dense ?",
	      "input 784\ndense 4\nsteer_0: dense 1 output\ndense 4 from=input\nsteer_1: dense 1 "
	      "output\n"
	      "dense 4 from=input\ndense 10\n");
	refused("repeat 2 { a: relu, tanh from=input }", "-m:1: relu: no line uses 'a_0'");
	refused("repeat 2 { relu from=a, a: tanh }",
		"-m:1: relu: from=: no line before this one has the name 'a'");
	refused("dense 2, repeat 2 { b: add from=c+c, c: tanh }",
		"-m:2: add: from=: no line before this one has the name 'c'");
	refused("a: relu, repeat 2 { a: tanh }", "-m:2: tanh: the name 'a' stands on line 1 too");
	refused("repeat 2 { a: relu }, a_1: tanh",
		"-m:2: tanh: the name 'a_1' stands on line 1 too");
	refused("repeat 2 { a: relu }, repeat 3 { a: relu }",
		"-m:2: relu: the name 'a_0' stands on line 1 too");
	refused("repeat 2 { relu from=input, input: tanh }",
		"-m:2: tanh: a line in a repeat cannot have the name 'input'");
	refused("repeat 2 { input 5, relu }", "-m:1: input: an input line cannot be repeated");
	refused("repeat 2 { relu", "-m:1: repeat: the brace is never closed");
	refused("relu }", "-m:1: }: no repeat is open here");
	refused("repeat 2 { }", "-m:1: repeat: there are no layers between the braces");
	refused("repeat 2 relu", "-m:1: repeat: wanted '{' after the number of rounds");
	refused("a: repeat 2 { relu }", "-m:1: repeat: a repeat takes no name");
	refused("repeat { relu }", "-m:1: repeat: the number of rounds must be a whole number from "
				   "1 to 100000, not '{'");
	refused("repeat 0 { relu }", "-m:1: repeat: the number of rounds must be a whole number "
				     "from 1 to 100000, not '0'");
	refused("repeat 317 { repeat 317 { relu } }",
		"-m:1: relu: the model has more than 100000 layers (--limit=layers=200000)");
}

static void mistakes(void)
{
	refused("", "-m: the model text has no layer");
	file_refused("# nothing\n", "net.nn: the model text has no layer");
	file_refused("relu\n\n# here\nrleu\n",
		     "net.nn:4: unknown layer 'rleu', did you mean 'relu'?");
	refused("elman 5", "-m:1: unknown layer 'elman', did you mean 'rnn'?");
	refused("a: xyzzy", "-m:1: unknown layer 'xyzzy' (nn-layers(7) lists them)");
	refused("linear 5", "-m:1: unknown layer 'linear', did you mean 'dense'?");
	refused("dense 5, ReLU()", "-m:2: unknown layer 'ReLU()', did you mean 'relu'?");
	refused("Batch_Norm", "-m:1: unknown layer 'Batch_Norm', did you mean 'batchnorm'?");
	refused("16 8", "-m:1: unknown layer '16' (sizes stand behind a layer, as in 'dense 16')");
	refused("dense 16,relu,dense 5",
		"-m:1: dense: '16,relu,dense': put a blank after the comma between two layers");
	refused("dense 16, relu,dense 5", "-m:2: unknown layer 'relu,dense' (put a blank after the "
					  "comma between two layers)");
	refused("imput 5, relu", "-m:1: unknown layer 'imput', did you mean 'input'?");
	refused("dense 5, relu,", "-m:2: unknown layer 'relu,', did you mean 'relu'?");
	file_refused("dense 5, relu\n",
		     "net.nn:1: dense: OUT must be a whole number from 1 to 2147483647, not '5,'");
	refused("dense",
		"-m:1: dense: OUT is missing (the form is: dense OUT [bias=yes] [init=default])");
	refused("conv2d 6", "-m:1: conv2d: KxK is missing (the form is: conv2d OUT KxK [stride=1] "
			    "[pad=0] [dilation=1] "
			    "[groups=1] [bias=yes] [init=default])");
	refused("maxpool2d pad=1",
		"-m:1: maxpool2d: K is missing (the form is: maxpool2d K [stride=K] [pad=0])");
	refused("dense 3 4", "-m:1: dense: '4' is one argument too many (the form is: dense OUT "
			     "[bias=yes] [init=default])");
	refused("relu 3", "-m:1: relu: '3' is one argument too many (the form is: relu)");
	refused("add 3",
		"-m:1: add: '3' is one argument too many (the form is: add from=NAME+NAME...)");
	refused("dense -5",
		"-m:1: dense: OUT must be a whole number from 1 to 2147483647, not '-5'");
	refused("dense 5.0",
		"-m:1: dense: OUT must be a whole number from 1 to 2147483647, not '5.0'");
	refused("dense 99999999999999999999", "-m:1: dense: OUT must be a whole number from 1 to "
					      "2147483647, not '99999999999999999999'");
	refused("conv2d 3 3x3x3", "-m:1: conv2d: KxK must be a number or HEIGHTxWIDTH, each from 1 "
				  "to 2147483647, not '3x3x3'");
	refused("conv2d 3 3x", "-m:1: conv2d: KxK must be a number or HEIGHTxWIDTH, each from 1 to "
			       "2147483647, not '3x'");
	refused("conv2d 3 3x3 stride=0", "-m:1: conv2d: stride= must be a number or HEIGHTxWIDTH, "
					 "each from 1 to 2147483647, not '0'");
	refused("conv2d 3 3x3 paddin=1",
		"-m:1: conv2d: unknown key 'paddin=' (the form is: conv2d OUT KxK [stride=1] "
		"[pad=0] [dilation=1] [groups=1] [bias=yes] [init=default])");
	refused("conv2d 3 3x3 pads=1", "-m:1: conv2d: unknown key 'pads=', did you mean 'pad='?");
	refused("conv2d 3 3x3 pad=1 pad=1", "-m:1: conv2d: pad= is given twice");
	refused("dense 3 OUT=3", "-m:1: dense: unknown key 'OUT=' (the form is: dense OUT "
				 "[bias=yes] [init=default])");
	refused("dense 3 columns=a", "-m:1: dense: unknown key 'columns=' (the form is: dense OUT "
				     "[bias=yes] [init=default])");
	refused("dense 3 bias=true", "-m:1: dense: bias= must be yes or no, not 'true'");
	refused("dense 3 init=normal", "-m:1: dense: init= must be default, kaiming-uniform, "
				       "xavier-uniform or zeros, not 'normal'");
	refused("dropout 1", "-m:1: dropout: P must be a number from 0 and below 1, not '1'");
	refused("dropout nan", "-m:1: dropout: P must be a number from 0 and below 1, not 'nan'");
	refused("layernorm eps=0",
		"-m:1: layernorm: eps= must be a number above 0 and up to 1, not '0'");
	refused("dropout \"1\"", "-m:1: dropout: P must be a number from 0 and below 1, not '1'");
	refused("dense 4 bias=\"\"", "-m:1: dense: bias= must be yes or no, not ''");
	refused("dense \"\"",
		"-m:1: dense: OUT must be a whole number from 1 to 2147483647, not ''");
	refused("dense \"4 4\"",
		"-m:1: dense: OUT must be a whole number from 1 to 2147483647, not '4 4'");
	refused("leaky-relu 2",
		"-m:1: leaky-relu: SLOPE must be a number from 0 and up to 1, not '2'");
	refused("concat dim=8 from=input+input",
		"-m:1: concat: dim= must be a whole number from 0 to 7, not '8'");
	refused("reshape 3x0", "-m:1: reshape: AxBxC must be a shape of 1 to 8 sizes, each from 1 "
			       "to 2147483647, not '3x0'");
	refused("batchnorm group=16, relu, batchnorm", "-m:3: batchnorm: group=32, but group=16 on "
						       "line 1: it must be the same everywhere");
	refused("relu from=\"a", "-m:1: a quote is opened and not closed on this line");
	refused_n("relu\0", 5, true, NN_EUSAGE, "-m:1: control byte '\\x00' in model text");
	refused_n("relu\n\x01", 6, false, NN_EFORMAT,
		  "net.nn:2: control byte '\\x01' in model text");
	file_refused("relu\rtanh", "net.nn:1: control byte '\\x0D' in model text");
	file_refused("relu\n# \xe9t\xe9", "net.nn:2: byte '\\xE9' is not UTF-8 text");
}

static void shapes(void)
{
	refused("input 3x3, conv2d 6 5x5", "-m:2: conv2d: wants an input CxHxW, got 3x3");
	file_refused("input 1x3x3\n\n\nconv2d 6 5x5\n",
		     "net.nn:4: conv2d: kernel 5x5 exceeds input 3x3");
	file_refused("maxpool2d 2\nmaxpool2d 2\nconv2d 6 9x9\n",
		     "net.nn:3: conv2d: kernel 9x9 exceeds input 7x7");
	refused("input 1x28x28, reshape 3x3",
		"-m:2: reshape: cannot give 1x28x28 the shape 3x3: the number of values differs");
	refused("input 4x4, a: dense 3, b: dense 5 from=input, add from=a+b",
		"-m:4: add: inputs differ in shape: 4x3 and 4x5");
	refused("input 3x32x32, conv2d 5 1x1 groups=2",
		"-m:2: conv2d: groups=2 does not divide the 3 channels of input 3x32x32");
	refused_n("flatten, conv2d 5 1x1", 21, true, NN_EFORMAT,
		  "-m:2: conv2d: wants an input CxHxW, got 784");
}

static void hostile(void)
{
	size_t n = 1 << 20;
	char *text = malloc(n + 64);
	struct nn_error err = { 0 };
	struct nn_net *net;

	memset(text, '1', n);
	memcpy(text, "dense ", 6);
	refused_n(text, n, true, NN_EUSAGE,
		  "-m:1: dense: OUT must be a whole number from 1 to 2147483647, not "
		  "'1111111111111111111111111111111111111111...'");
	for (size_t i = 0; i + 6 <= n; i += 6)
		memcpy(text + i, "relu, ", 6);
	refused_n(text, n / 6 * 6, true, NN_EUSAGE,
		  "-m:100001: relu: the model has more than 100000 layers (--limit=layers=200000)");
	for (size_t i = 0; i + 11 <= n; i += 11)
		memcpy(text + i, "repeat 1 {\n", 11);
	refused_n(text, n / 11 * 11, false, NN_EFORMAT,
		  "net.nn:101: repeat: more than 100 repeats inside each other (a fixed limit)");
	memset(text, 'a', n);
	memcpy(text + n - 6, ": relu", 6);
	refused_n(text, n, true, NN_EUSAGE,
		  "-m:1: a name must match [a-z][a-z0-9_]* and have at most 100 characters, "
		  "not 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'");
	memset(text, '"', n | 1);
	refused_n(text, n | 1, true, NN_EUSAGE,
		  "-m:1: a quote is opened and not closed on this line");
	memset(text, '{', n);
	refused_n(text, n, true, NN_EUSAGE, "-m:1: unknown layer '{' (nn-layers(7) lists them)");
	free(text);
	text = "input 5, repeat 100000 { relu }";
	net = net_of(text, strlen(text), true, NULL, &err);
	check(net && nn_net_n_lines(net) == 100000 && nn_net_program(net)->n_nodes == 100000,
	      "model: 100,000 layers are allowed", err.text);
	nn_net_free(net);
	refused("input 1x64x64, conv2d 2000000000 1x1, reshape 2000000000x64x64, dense 2000000000",
		"-m:4: dense: output 2000000000x64x2000000000 is larger than memory can be");
}

int main(void)
{
	lines_and_words();
	inputs_and_outputs();
	branches();
	repeats();
	mistakes();
	shapes();
	hostile();
	return tap_done();
}
