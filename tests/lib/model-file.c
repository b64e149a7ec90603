/*
 * The model file: what is written is read again, the same bytes for the same content, and a
 * sentence for every other file.
 */
#include "base/memory.h"
#include "files.h"
#include "model/layer.h"
#include "model/model.h"

#define TEXT "input 3\ndense 4\nbatchnorm group=32\nrelu\nout: dense 2\n"

/* A net of TEXT and its parameters, counted up from 0. */
struct model {
	struct nn_net *net;
	void **params;
};

static struct model make(const char *text, enum nn_dtype dtype)
{
	struct model m = { 0 };
	struct nn_error err;

	if (nn_net_parse(&m.net, "net.nn", text, strlen(text), false, &err) == 0 &&
	    nn_net_resolve(m.net, NULL, NULL, &err) == 0)
		m.params = nn_params_new(nn_net_program(m.net), dtype, &err);
	if (!m.params) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	for (int i = 0; i < nn_net_program(m.net)->n_params; i++)
		for (size_t k = 0; k < nn_shape_count(&nn_net_program(m.net)->params[i].desc.shape);
		     k++) {
			if (dtype == NN_F64)
				((double *)m.params[i])[k] = (double)i + (double)k / 8;
			else
				((float *)m.params[i])[k] = (float)i + (float)k / 8;
		}
	return m;
}

static void unmake(struct model *m)
{
	nn_free(m->params);
	nn_net_free(m->net);
}

static int write_model(const char *path, const struct model *m, enum nn_dtype dtype,
		       struct nn_error *err)
{
	struct nn_output *output;

	if (nn_output_open(&output, path, true, err))
		return -1;
	if (nn_model_file_write(output, m->net, dtype, (const void *const *)m->params,
				"{\"shape\":[3]}", NULL, "{\"seed\":1}", err)) {
		nn_output_abort(output);
		return -1;
	}
	return nn_output_commit(output, err);
}

static void round_trip(enum nn_dtype dtype, const char *path, const char *again)
{
	struct model m = make(TEXT, dtype);
	struct nn_model_file *file = NULL;
	struct nn_error err = { 0 };
	char claim[120], command[120];

	snprintf(claim, sizeof claim, "model file: %s: what is written is read",
		 nn_dtype_name(dtype));
	if (write_model(path, &m, dtype, &err) == 0 &&
	    nn_model_file_read(&file, path, NULL, &err) == 0) {
		void **params = nn_params_new(nn_net_program(file->net), dtype, &err);
		bool same = params && nn_model_file_params(file, dtype, params, &err) == 0;
		struct model back = { file->net, params };

		for (int i = 0; same && i < nn_net_program(m.net)->n_params; i++)
			same = memcmp(params[i], m.params[i],
				      nn_shape_count(&nn_net_program(m.net)->params[i].desc.shape) *
					      nn_dtype_size(dtype)) == 0;
		ok(same && file->dtype == dtype && strcmp(nn_net_text(file->net), TEXT) == 0 &&
			   strcmp(file->input_json, "{\"shape\":[3]}") == 0 && !file->target_json &&
			   strcmp(file->train_json, "{\"seed\":1}") == 0,
		   claim);
		snprintf(command, sizeof command, "cmp %s %s", path, again);
		snprintf(claim, sizeof claim, "model file: %s: written again it has the same bytes",
			 nn_dtype_name(dtype));
		ok(params && write_model(again, &back, dtype, &err) == 0 && run(command) == 0,
		   claim);
		nn_free(params);
	} else {
		text_is(err.text, "", claim);
	}
	nn_model_file_free(file);
	unmake(&m);
}

/* The names and shapes that PyTorch's load_state_dict wants. */
static void names(void)
{
	static const char *const wanted[] = { "0.bias",         "0.weight",      "1.bias",
					      "1.running_mean", "1.running_var", "1.weight",
					      "out.bias",       "out.weight" };
	struct nn_error err;
	struct nn_st *st;
	bool good;

	if (!ok(nn_st_read(&st, "m", &err) == 0, "model file: it is a safetensors file"))
		return;
	good = st->n_tensors == 8;
	for (size_t i = 0; good && i < 8; i++)
		good = strcmp(st->tensors[i].name, wanted[i]) == 0;
	ok(good, "model file: lines without parameters are counted, named ones use their name");
	ok(nn_st_find(st, "0.weight")->shape.dim[0] == 4 &&
		   nn_st_find(st, "0.weight")->shape.dim[1] == 3,
	   "model file: a dense weight is [out,in]");
	text_is(nn_st_meta(st, "format"), "pt", "model file: format is pt");
	text_is(nn_st_meta(st, "nn.version"), "1", "model file: nn.version is 1");
	text_is(nn_st_meta(st, "nn.model"), TEXT, "model file: nn.model is the canonical text");
	nn_st_free(st);
}

/* ---- every layer of the table ---- */

static bool resolves(const char *text)
{
	struct nn_net *net = NULL;
	struct nn_error err;
	bool good = nn_net_parse(&net, "net.nn", text, strlen(text), false, &err) == 0 &&
		    nn_net_resolve(net, NULL, NULL, &err) == 0;

	nn_net_free(net);
	return good;
}

/* A net of this layer alone, with a value for each argument that has no default. */
static void layer_text(const struct nn_layer *layer, const char *input, struct nn_text *text)
{
	static const char *const values[] = {
		[NN_ARG_SIZE] = "2",  [NN_ARG_PAIR] = "2",   [NN_ARG_SHAPE] = "8x4x8",
		[NN_ARG_INDEX] = "0", [NN_ARG_REAL] = "0.5", [NN_ARG_YESNO] = "yes",
		[NN_ARG_CHOICE] = ""
	};

	bool second = false; /* of several sizes */

	nn_text_addf(text, "input %s\n%s", input, layer->name);
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++) {
		if (!nn_arg_by_place(arg) || arg->fallback)
			continue;
		nn_text_addf(text, " %s",
			     second && arg->type == NN_ARG_SIZE ? "3" : values[arg->type]);
		second = true;
	}
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++)
		if (arg->counted)
			nn_text_addf(text, " %s=9", arg->name);
	nn_text_add(text, layer->min_in > 1 || layer->max_in > 1 ? " from=input+input\n" : "\n");
}

static void every_layer(void)
{
	for (size_t i = 0; nn_layer_at(i); i++) {
		struct nn_text text = { 0 };
		struct nn_model_file *file = NULL;
		struct nn_error err = { 0 };
		struct model m, back = { 0 };
		char claim[120];
		bool good;

		layer_text(nn_layer_at(i), "4x8x8", &text);
		if (!resolves(text.data)) { /* a layer of sequences, or lines */
			nn_text_free(&text);
			layer_text(nn_layer_at(i), "8x8", &text);
		}
		m = make(text.data, NN_F32);
		good = nn_net_init(m.net, 1, NN_F32, m.params, &err) == 0 &&
		       write_model("one", &m, NN_F32, &err) == 0 &&
		       nn_model_file_read(&file, "one", NULL, &err) == 0 &&
		       strcmp(nn_net_text(file->net), nn_net_text(m.net)) == 0;
		if (good) {
			back = (struct model){ file->net, nn_params_new(nn_net_program(file->net),
									NN_F32, &err) };
			good = back.params &&
			       nn_model_file_params(file, NN_F32, back.params, &err) == 0 &&
			       write_model("two", &back, NN_F32, &err) == 0 &&
			       run("cmp one two") == 0;
		}
		snprintf(claim, sizeof claim,
			 "model file: %s: saved, loaded and saved again it has the same bytes",
			 nn_layer_at(i)->name);
		if (!ok(good, claim))
			printf("# %s\n", err.text);
		nn_free(back.params);
		nn_model_file_free(file);
		unmake(&m);
		nn_text_free(&text);
	}
}

/* ---- other files ---- */

static const struct nn_st_meta usual[] = { { "nn.model", "input 3\ndense 2\n" },
					   { "nn.version", "1" } };

static const float zeros[64];

static struct nn_st_tensor tensor(const char *name, size_t rows, size_t columns)
{
	return (struct nn_st_tensor){ name, NN_F32,
				      columns ? nn_shape2(rows, columns) : nn_shape1(rows), zeros };
}

static void write_st(const char *path, const struct nn_st_tensor *tensors, size_t n_tensors,
		     const struct nn_st_meta *meta, size_t n_meta)
{
	struct nn_output *output;
	struct nn_error err;

	if (nn_output_open(&output, path, true, &err) ||
	    nn_st_write(output, tensors, n_tensors, meta, n_meta, &err) ||
	    nn_output_commit(output, &err)) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
}

static void fails(const char *path, const char *text, const char *sentence)
{
	struct nn_model_file *file = NULL;
	struct nn_error err = { 0 };
	struct nn_weights_as as = { .text = text };
	int status = nn_model_file_read(&file, path, text ? &as : NULL, &err);
	char claim[600];

	snprintf(claim, sizeof claim, "model file: %s", sentence);
	fails_as(status, &err, strncmp(sentence, "-m", 2) == 0 ? err.code : NN_EFAIL, sentence,
		 claim);
	nn_model_file_free(file);
}

static void wrong_tensors(void)
{
	struct nn_st_tensor t[3] = { tensor("0.weight", 2, 3), tensor("0.bias", 2, 0),
				     tensor("9.bias", 2, 0) };

	write_st("more", t, 3, usual, 2);
	fails("more", NULL, "more: the model has no tensor '9.bias'");
	write_st("less", t, 1, usual, 2);
	fails("less", NULL, "less: tensor '0.bias' (2) is missing");
	t[0] = tensor("0.weight", 3, 2);
	write_st("shape", t, 2, usual, 2);
	fails("shape", NULL, "shape: tensor '0.weight' is 3x2, the model wants 2x3");
	t[0] = tensor("0.weight", 2, 3);
	t[1].dtype = NN_I32;
	write_st("type", t, 2, usual, 2);
	fails("type", NULL, "type: tensor '0.bias' is i32, wanted f32, f64, f16 or bf16");
	t[1] = tensor("0.num_batches_tracked", 1, 0);
	write_st("counter", t, 2, usual, 2);
	fails("counter", NULL, "counter: tensor '0.bias' (2) is missing");
}

static void wrong_metadata(void)
{
	struct nn_st_tensor t[2] = { tensor("0.weight", 2, 3), tensor("0.bias", 2, 0) };
	struct nn_st_meta meta[3] = { usual[0], usual[1], { NN_META_STATE, "{}" } };

	write_st("bare", t, 2, NULL, 0);
	fails("bare", NULL,
	      "bare: has tensors but no nn.model in its metadata; -m TEXT says what they mean");
	write_st("old", t, 2, meta, 1);
	fails("old", NULL, "old: has nn.model but no nn.version in its metadata");
	write_st("state", t, 2, meta, 3);
	fails("state", NULL, "state: is the state of a training run, not a model");
	meta[1].value = "2";
	write_st("new", t, 2, meta, 2);
	fails("new", NULL, "new: nn.version '2' is newer than this program knows (1)");
	meta[1].value = "2.1";
	write_st("new", t, 2, meta, 2);
	fails("new", NULL, "new: nn.version '2.1' is newer than this program knows (1)");
	meta[1].value = "x";
	write_st("new", t, 2, meta, 2);
	fails("new", NULL, "new: nn.version 'x' is not a version");
	meta[1].value = "1";
	meta[0].value = "input 3\ndnse 2\n";
	write_st("text", t, 2, meta, 2);
	fails("text", NULL, "text:nn.model:2: unknown layer 'dnse', did you mean 'dense'?");
	meta[0].value = "input 3\ndense ?\n";
	write_st("text", t, 2, meta, 2);
	fails("text", NULL,
	      "text:nn.model:2: dense: ? needs data that say how many there are, or a number in "
	      "its place");
	meta[0].value = "dense 2\n";
	write_st("text", t, 2, meta, 2);
	fails("text", NULL, "text:nn.model: input: the text does not say its shape (input AxBxC)");
}

static void reads(const char *path, const char *text, const char *canonical, const char *claim)
{
	struct nn_model_file *file = NULL;
	struct nn_weights_as as = { .text = text };
	struct nn_error err = { 0 };

	text_is(nn_model_file_read(&file, path, text ? &as : NULL, &err) == 0
			? nn_net_text(file->net)
			: err.text,
		canonical, claim);
	nn_model_file_free(file);
}

static void good_ones(void)
{
	struct nn_st_tensor t[7] = { tensor("0.weight", 2, 3),
				     tensor("0.bias", 2, 0),
				     tensor("1.weight", 2, 0),
				     tensor("1.bias", 2, 0),
				     tensor("1.running_mean", 2, 0),
				     tensor("1.running_var", 2, 0),
				     tensor("1.num_batches_tracked", 0, 0) };
	struct nn_st_meta meta[3] = { { "nn.model", "input 3\ndense 2\nbatchnorm group=32\n" },
				      { "nn.version", "1.7" },
				      { "other", "thing" } };
	static const int64_t count = 5;

	write_st("plain", t, 2, usual, 2);
	reads("plain", NULL, "input 3\ndense 2\n",
	      "model file: nn.version and nn.model are enough");
	write_st("bare", t, 2, NULL, 0);
	reads("bare", "dense ?", "input 3\ndense 2\n",
	      "model file: beside inline text, ? and the input are what the weights say");
	reads("plain", "input 3, dense 2, relu", "input 3\ndense 2\nrelu\n",
	      "model file: inline text is taken before nn.model");
	put("dense.nn", "dense ?\n");
	reads("bare", "dense.nn", "input 3\ndense 2\n", "model file: the text may be a file");
	reads("bare", "plain", "input 3\ndense 2\n", "model file: or another model's");
	fails("bare", "dense 3", "bare: tensor '0.weight' is 2x3, the model wants 3x3");
	fails("bare", "dens 3", "-m:1: unknown layer 'dens', did you mean 'dense'?");
	t[6].dtype = NN_I64;
	t[6].shape = (struct nn_shape){ 0 };
	t[6].data = &count;
	write_st("torch", t, 7, meta, 3);
	reads("torch", NULL, "input 3\ndense 2\nbatchnorm group=32\n",
	      "model file: num_batches_tracked, other keys and a minor version are accepted");
}

/* ---- what -m takes ---- */

static void opens(const char *operand, bool is_file, const char *wanted, const char *claim)
{
	struct nn_model_file *file;
	struct nn_error err = { 0 };
	struct nn_net *net;
	char got[600];

	if (nn_net_open(&net, &file, operand, &err))
		snprintf(got, sizeof got, "[%d] %s", err.code, err.text);
	else
		snprintf(got, sizeof got, "%s",
			 (file != NULL) == is_file && (net != NULL) != is_file ? "yes" : "both");
	text_is(got, wanted, claim);
	nn_net_free(net);
	nn_model_file_free(file);
}

static void operands(void)
{
	put("net.nn", "dense 3\n");
	put("bad.nn", "# a\nrleu\n");
	put("relu", "tanh 5\n");
	put("empty", "");
	put_bytes("packed", "\x1f\x8b\x08 and so on", 14);
	put_bytes("junk", "\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff", 10);
	opens("net.nn", false, "yes", "model: -m takes a file with text");
	opens("m", true, "yes", "model: -m takes a model file");
	opens("dense 3", false, "yes", "model: -m takes what contains a blank as text");
	opens("softmax", false, "yes", "model: -m takes a layer's name as text");
	opens("relu", false, "[1] relu:1: tanh: '5' is one argument too many (the form is: tanh)",
	      "model: an existing file wins over a layer's name");
	opens("bad.nn", false, "[1] bad.nn:2: unknown layer 'rleu', did you mean 'relu'?",
	      "model: a mistake in a file is status 1");
	opens("rleu 5", false, "[2] -m:1: unknown layer 'rleu', did you mean 'relu'?",
	      "model: a mistake in inline text is status 2");
	opens("16,8", false,
	      "[2] 16,8: no such file; sizes stand behind layers, as in 'dense 16, relu, dense ?'",
	      "sizes alone are no network");
	opens("nothing.nn", false, "[2] nothing.nn: no such file, and not the name of a layer",
	      "model: what is neither is status 2");
	opens("empty", false, "[1] empty: the model text has no layer",
	      "model: an empty file has no layer");
	opens("packed", false, "[1] packed: looks like a gzip file, not a model",
	      "model: a packed file is named");
	opens("junk", false, "[1] junk: is not a safetensors file, expected a model",
	      "model: junk is no model");
	opens(".", false, "[1] .: is a directory, expected a file",
	      "model: a directory is no model");
	if (run("mkfifo pipe && (cat m > pipe &)") == 0)
		opens("pipe", true, "yes", "model: -m takes a model file from a pipe");
	if (run("(cat net.nn > pipe &)") == 0)
		opens("pipe", false, "yes", "model: -m takes text from a pipe");
}

/* Large weights are read from the file when they are asked for. */
static void waiting(void)
{
	struct model m = make("input 400\ndense 300\n", NN_F32);
	struct nn_model_file *file = NULL;
	struct nn_error err = { 0 };
	float some[7];
	void **params;

	if (write_model("large", &m, NN_F32, &err) < 0 ||
	    nn_model_file_read(&file, "large", NULL, &err) < 0 ||
	    !(params = nn_params_new(nn_net_program(m.net), NN_F32, &err))) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	ok(!nn_model_file_some(file, NN_F32, 0, 0, 7, NULL, NULL) &&
		   nn_model_file_some(file, NN_F32, 1, 0, 7, NULL, NULL),
	   "model file: large weights wait in the file, small ones do not");
	ok(run("cp again large.new && mv large.new large") == 0 &&
		   nn_model_file_some(file, NN_F32, 0, 119990, 7, some, &err) == some &&
		   memcmp(some, (float *)m.params[0] + 119990, sizeof some) == 0 &&
		   nn_model_file_params(file, NN_F32, params, &err) == 0 &&
		   memcmp(params[0], m.params[0], 480000) == 0,
	   "model file: and come from there, whatever file has its name then");
	nn_model_file_free(file);
	if (write_model("large", &m, NN_F32, &err) < 0 ||
	    nn_model_file_read(&file, "large", NULL, &err) < 0 || truncate("large", 100000) < 0)
		printf("Bail out! %s\n", err.text);
	fails_as(nn_model_file_params(file, NN_F32, params, &err), &err, NN_EFORMAT,
		 "large: ends early, it was cut while it was read",
		 "model file: one that was cut meanwhile is an error");
	nn_model_file_free(file);
	nn_free(params);
	unmake(&m);
}

int main(void)
{
	go_to_tmp();
	round_trip(NN_F32, "m", "again");
	round_trip(NN_F64, "m64", "again64");
	waiting();
	names();
	every_layer();
	wrong_tensors();
	wrong_metadata();
	good_ones();
	operands();
	return tests_done();
}
