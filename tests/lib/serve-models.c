/*
 * Models being served: which files a command line means, versions and labels, tensors as clients
 * see them. Lanes are stand-ins that count themselves.
 */
#include "serve-models.h"

/* ---- operands ---- */

static void refused(const char *operand, enum nn_code code, const char *wanted, const char *claim)
{
	const char *operands[] = { operand, NULL };
	struct nn_models *models = NULL;
	struct nn_error err = { 0 };
	int status = serve_as(&models, operands, NULL, false, &err);

	fails_as(status, &err, code, wanted, claim);
	if (status == 0)
		nn_models_close(models);
}

static void operands_are_understood(void)
{
	struct nn_models *models = serve("net.safetensors");

	ok(lists(models, "net/1"), "a file is a model under its stem, version 1");
	nn_models_close(models);
	models = serve("net.v2.safetensors");
	ok(lists(models, "net.v2/1"), "a stem ends at the last dot");
	nn_models_close(models);
	models = serve("other-name_1.x=./net.safetensors");
	ok(lists(models, "other-name_1.x/1"), "NAME=PATH names it");
	nn_models_close(models);
	models = serve("v/");
	ok(lists(models, "v/1,2,10"), "a directory of versions goes by its own name");
	nn_models_close(models);
	models = serve("net=v");
	ok(lists(models, "net/1,2,10"), "or by the one it is given");
	ok(version_of(models, "net", 0, NULL, NULL) == 10, "the highest version is the default");
	ok(version_of(models, "net", 2, NULL, NULL) == 2, "others are asked for by number");
	nn_models_close(models);
	models = serve("d");
	ok(lists(models, "one/1 three/1 two/1 ver/3"),
	   "a directory of models: files, and directories of versions");
	nn_models_close(models);
	if (chdir("v") == 0)
		models = serve(".");
	ok(lists(models, "v/1,2,10"), "the directory \".\" has its own name too");
	nn_models_close(models);
	ok(chdir("..") == 0 && atomic_load(&lanes) == 0, "what was opened is closed");
}

static void operands_are_refused(void)
{
	const char *both[] = { "net.safetensors", "net=net.v2.safetensors", NULL };
	struct nn_models *models;
	struct nn_error err;

	refused("gone.safetensors", NN_EFAIL, "gone.safetensors: No such file or directory",
		"a file that is not there");
	refused("odd/my net.safetensors", NN_EUSAGE,
		"odd/my net.safetensors: \"my net\" is not a name for a model (letters, digits, "
		"'.', '_' and '-', 250 at most): give it one with NAME=PATH",
		"a stem that is no name says how to give one");
	refused("a b=net.safetensors", NN_EUSAGE,
		"\"a b\" is not a name for a model: expected letters, digits, '.', '_' and '-', "
		"250 at most "
		"(a path with '=' begins with ./)",
		"a given name that is none");
	refused("net=", NN_EUSAGE, "net=: no path after the name", "a name alone");
	refused("odd", NN_EFAIL,
		"odd/my net.safetensors: \"my net\" is not a name for a model (letters, digits, "
		"'.', '_' and '-', 250 at most): give it one with NAME=PATH",
		"the same in a directory is what is wrong with a file");
	refused("empty", NN_EFAIL, "empty: found neither versions (1/, 2/, ...) nor model files",
		"a directory without either");
	refused("none", NN_EFAIL, "none/1: found 0 model files, expected one",
		"a version without a file");
	refused("two", NN_EFAIL, "two/1: found 2 model files, expected one", "a version with two");
	refused("x=d", NN_EUSAGE,
		"x=d: a directory of models, which go by the names of their files: leave out x=",
		"a name for a directory of models");
	fails_as(serve_as(&models, both, NULL, false, &err), &err, NN_EUSAGE,
		 "two models are named \"net\": net.safetensors and net.v2.safetensors: give one "
		 "another name with NAME=PATH",
		 "two operands of one name");
	ok(atomic_load(&lanes) == 0, "nothing of them stays open");
}

static void long_names(void)
{
	char operand[400], *name = operand;
	struct nn_models *models;

	write_model("short.safetensors", &plain, 1);
	memset(name, 'n', 300);
	strcpy(name + 250, "=short.safetensors");
	models = serve(operand);
	name[250] = '\0';
	ok(answer_of(models, name) != 0, "a name of 250 letters is one");
	strcpy(name + 250, ":null");
	ok(version_of(models, name, 0, NULL, NULL) == 1, "its null model, too");
	nn_models_close(models);
	memset(name, 'n', 300);
	strcpy(name + 251, "=short.safetensors");
	refused(operand, NN_EUSAGE,
		"\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...\" is not a name for a model: "
		"expected letters, "
		"digits, '.', '_' and '-', 250 at most (a path with '=' begins with ./)",
		"one of 251 is not");
}

static void twins_in_a_directory(void)
{
	if (run("mkdir -p twin/net/1 && cp net.safetensors twin/net.safetensors && "
		"cp net.safetensors twin/net/1/m.safetensors") != 0)
		exit(1);
	refused("twin", NN_EFAIL,
		"two models are named \"net\": twin/net and twin/net.safetensors: give one another "
		"name with NAME=PATH",
		"two of one name in a directory");
}

static void bad_beside_good(void)
{
	const char *mixed[] = { "bad.safetensors", "net.safetensors", NULL };
	const char *bad[] = { "bad.safetensors", NULL };
	struct nn_models *models;
	struct nn_error err;

	ok(serve_as(&models, mixed, NULL, false, &err) < 0 && err.code == NN_EFAIL &&
		   strncmp(err.text, "bad.safetensors: ", 17) == 0,
	   "a bad model is an error that names its file");
	ok(serve_as(&models, mixed, NULL, true, &err) == 0 && n_warnings == 1 &&
		   lists(models, "bad/1! net/1") && nn_models_ready(models),
	   "with keep_going a warning: the others are served");
	ok(!version_of(models, "bad", 0, NULL, &err) &&
		   strcmp(err.text, "model \"bad\" has no version that can be served") == 0,
	   "and it says so of itself");
	write_model("bad.safetensors", &plain, 4);
	ok(nn_models_reload(models, NULL, &err) == 0 && lists(models, "bad/1 net/1"),
	   "mended, it comes with the next reload");
	nn_models_close(models);
	put("bad.safetensors", "no model");
	fails_as(serve_as(&models, bad, NULL, true, &err), &err, NN_EFAIL,
		 "none of the models can be served", "keep_going needs one that is good");
}

/* ---- names and labels ---- */

static void labels_are_checked(void)
{
	static const struct {
		const char *labels, *wanted;
		enum nn_code code;
	} wrong[] = {
		{ "v:stable", "--label=v:stable: expected NAME:LABEL=VERSION", NN_EUSAGE },
		{ "stable=1", "--label=stable=1: expected NAME:LABEL=VERSION", NN_EUSAGE },
		{ "v:stable=one", "--label=v:stable=one: expected NAME:LABEL=VERSION", NN_EUSAGE },
		{ "v:stable=0", "--label=v:stable=0: expected NAME:LABEL=VERSION", NN_EUSAGE },
		{ "w:stable=1", "--label=w:stable=1: there is no model \"w\"", NN_EUSAGE },
		{ "v:stable=1\nv:stable=2", "--label=v:stable is given twice", NN_EUSAGE },
		{ "v:stable=3", "--label=v:stable=3: v has no version 3", NN_EFAIL },
	};
	const char *operands[] = { "v", NULL };
	struct nn_models *models;
	struct nn_error err;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		fails_as(serve_as(&models, operands, wrong[i].labels, false, &err), &err,
			 wrong[i].code, wrong[i].wanted, wrong[i].wanted);
	ok(serve_as(&models, operands, "v:stable=1\nv:canary=2", false, &err) == 0 &&
		   version_of(models, "v", 0, "stable", NULL) == 1 &&
		   version_of(models, "v", 0, "canary", NULL) == 2,
	   "a label is a version");
	ok(!version_of(models, "v", 0, "beta", &err) && err.code == NN_EUSAGE &&
		   strcmp(err.text, "model \"v\" has no label \"beta\"") == 0,
	   "an unknown label is the caller's mistake");
	ok(!version_of(models, "v", 7, NULL, &err) && err.code == NN_EFAIL &&
		   strcmp(err.text, "model \"v\" has no version 7") == 0,
	   "an unknown version is not there");
	ok(!version_of(models, "vv", 0, NULL, &err) && err.code == NN_EFAIL &&
		   strcmp(err.text, "there is no model \"vv\"") == 0 &&
		   !version_of(models, "", 0, NULL, &err),
	   "nor is an unknown model");
	nn_models_close(models);
}

static void null_models(void)
{
	struct nn_models *models = serve("net.safetensors");
	struct nn_served *null = nn_models_find(models, "net:null", 8, 0, NULL, NULL);
	struct nn_error err;

	ok(null && null->null && null->lane->null && null->n_inputs == 1 &&
		   strcmp(null->name, "net") == 0,
	   "NAME:null has the inputs and outputs of NAME");
	ok(!version_of(models, ":null", 0, NULL, &err) && nn_models_count(models) == 1,
	   "and is in no list");
	ok(nn_models_unload(models, "net", &err) == 0 && atomic_load(&lanes) == 2 &&
		   null->lane->model == null->model && answer(null->model) != 0,
	   "an unloaded model stays as long as its null twin is used");
	nn_served_release(null);
	nn_models_close(models);
	ok(atomic_load(&lanes) == 0, "and goes with it");
}

/* ---- tensors ---- */

static bool port_is(const struct nn_port *port, const char *name, bool text, bool fixed,
		    const char *shape, size_t size)
{
	char found[NN_SHAPE_TEXT];

	nn_shape_text(found, &port->shape);
	if (strcmp(port->name, name) == 0 && port->text == text && port->fixed == fixed &&
	    strcmp(found, shape) == 0 && port->size == size)
		return true;
	printf("# %s text %d fixed %d %s %zu\n", port->name, port->text, port->fixed, found,
	       port->size);
	return false;
}

#define COLUMNS \
	"{\"columns\":[{\"kind\":\"number\",\"mean\":0,\"name\":\"age\",\"sd\":1}," \
	"{\"kind\":\"category\",\"name\":\"city\",\"values\":[\"Bern\",\"Rome\"]}],\"shape\":[3]}"
#define NAMELESS(second) \
	"{\"columns\":[{\"kind\":\"number\",\"mean\":0,\"position\":1,\"sd\":1}," second \
	"],\"shape\":[3]}"
#define LABELS "{\"columns\":[\"y\"],\"labels\":[\"cat\",\"dog\"]}"
#define NUMBERS "{\"columns\":[\"y\"],\"labels\":null}"

static struct nn_served *serve_kind(struct nn_models **models, const struct kind *kind)
{
	write_model("kind.safetensors", kind, 1);
	*models = serve("kind.safetensors");
	return nn_models_find(*models, "kind", 4, 0, NULL, NULL);
}

static void done(struct nn_models *models, struct nn_served *served)
{
	nn_served_release(served);
	nn_models_close(models);
}

static void tensors_of_nets(void)
{
	static const struct kind picture = { .text = "input 1x4x6, conv2d 5 3x3 pad=1",
					     .target = NULL };
	static const struct kind one = { .text = "input 1, dense 1" };
	static const struct kind named = {
		.text = "wide: input 2\ndeep: input 3x4\n"
			"flat: flatten from=deep\nboth: concat from=wide+flat\n"
			"steer: dense 1 output from=both\n"
			"gas: dense 2 output from=both"
	};
	struct nn_models *models;
	struct nn_served *s = serve_kind(&models, &picture);

	ok(s && s->n_inputs == 1 && s->n_outputs == 1 && !s->table && !s->classifies &&
		   s->row_in == 24 && s->row_out == 120 &&
		   port_is(&s->inputs[0], "input", false, true, "1x4x6", 24) &&
		   port_is(&s->outputs[0], "output", false, true, "5x4x6", 120),
	   "a plain net has input and output, in language order");
	done(models, s);
	s = serve_kind(&models, &one);
	ok(s && port_is(&s->inputs[0], "input", false, false, "1", 1) &&
		   port_is(&s->outputs[0], "output", false, false, "1", 1),
	   "single values are [-1]");
	done(models, s);
	s = serve_kind(&models, &named);
	ok(s && s->n_inputs == 2 && s->n_outputs == 2 &&
		   port_is(&s->inputs[0], "wide", false, true, "2", 2) &&
		   port_is(&s->inputs[1], "deep", false, true, "3x4", 12) &&
		   port_is(&s->outputs[0], "steer", false, false, "1", 1) &&
		   port_is(&s->outputs[1], "gas", false, true, "2", 2) && s->row_in == 14 &&
		   s->row_out == 3,
	   "named inputs and outputs go by their names");
	done(models, s);
}

static void tensors_of_tables(void)
{
	static const struct kind classes = { NET, COLUMNS, LABELS, 0 };
	static const struct kind numbers = { "input 3, dense 1", COLUMNS, NUMBERS, 0 };
	static const struct kind array = {
		"input 2, dense 2",
		"{\"columns\":[{\"kind\":\"number\",\"mean\":0,\"position\":1,\"sd\":1},"
		"{\"kind\":\"number\",\"mean\":0,\"position\":2,\"sd\":1}],\"shape\":[2]}",
		LABELS, 0
	};
	static const struct kind nameless = {
		NET, NAMELESS("{\"kind\":\"category\",\"position\":2,\"values\":[\"a\",\"b\"]}"),
		LABELS, 0
	};
	const char *const fields[] = { "40", "Rome" };
	struct nn_models *models;
	struct nn_served *s = serve_kind(&models, &classes);
	float row[3] = { 0 };

	ok(s && s->table && s->classifies && s->n_inputs == 2 && s->n_outputs == 2 &&
		   port_is(&s->inputs[0], "age", false, false, "1", 1) &&
		   port_is(&s->inputs[1], "city", true, false, "1", 1) &&
		   port_is(&s->outputs[0], "probs", false, true, "2", 2) &&
		   port_is(&s->outputs[1], "class", true, false, "1", 1),
	   "a table has an input per column; of classes it says probs and class");
	ok(s && nn_model_encode(s->model, fields, row, NULL) == 0 && row[0] == 40 && row[1] == 0 &&
		   row[2] == 1,
	   "its rows are made of fields");
	done(models, s);
	s = serve_kind(&models, &numbers);
	ok(s && s->table && !s->classifies && s->n_outputs == 1 &&
		   port_is(&s->outputs[0], "output", false, false, "1", 1),
	   "a table of numbers says output");
	done(models, s);
	s = serve_kind(&models, &array);
	ok(s && !s->table && s->classifies && s->n_inputs == 1 && s->n_outputs == 1 &&
		   port_is(&s->inputs[0], "input", false, true, "2", 2),
	   "columns of numbers without names are an array");
	done(models, s);
	s = serve_kind(&models, &nameless);
	ok(s && s->table && port_is(&s->inputs[0], "1", false, false, "1", 1) &&
		   port_is(&s->inputs[1], "2", true, false, "1", 1),
	   "with a category among them they go by their numbers");
	done(models, s);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	go_to_tmp();
	make_files();
	operands_are_understood();
	operands_are_refused();
	twins_in_a_directory();
	long_names();
	bad_beside_good();
	labels_are_checked();
	null_models();
	tensors_of_nets();
	tensors_of_tables();
	return tests_done();
}
