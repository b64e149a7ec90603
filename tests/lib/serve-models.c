/*
 * Models being served: which files a command line means, versions and labels, tensors as clients
 * see them, reading anew while requests run. Lanes are stand-ins that count themselves.
 */
#include "config.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output.h"
#include "files.h"
#include "model/model.h"
#include "serve/batch/batch.h"
#include "serve/models/models.h"

#define NET "input 3, dense 2"

/* ---- lanes ---- */

struct nn_lane {
	const struct nn_model *model;
	bool null;
};
static atomic_int lanes;

int nn_lane_open(struct nn_lane **lane, struct nn_batcher *batcher, const struct nn_model *model,
		 bool null, struct nn_error *err)
{
	(void)batcher;
	*lane = nn_alloc(1, sizeof **lane, err);
	if (!*lane)
		return -1;
	**lane = (struct nn_lane){ model, null };
	atomic_fetch_add(&lanes, 1);
	return 0;
}

void nn_lane_close(struct nn_lane *lane)
{
	if (lane)
		atomic_fetch_sub(&lanes, 1);
	nn_free(lane);
}

/* ---- files ---- */

struct kind {
	const char *text, *input, *target;
	size_t classes; /* for ? */
};

static const struct kind plain = { .text = NET };

static void write_model(const char *path, const struct kind *kind, uint64_t seed)
{
	size_t sizes[4] = { kind->classes, kind->classes, kind->classes, kind->classes };
	struct nn_output *output;
	struct nn_error err;
	struct nn_net *net;
	void **params;

	if (nn_net_parse(&net, "-m", kind->text, strlen(kind->text), true, &err) < 0 ||
	    nn_net_resolve(net, NULL, kind->classes ? sizes : NULL, &err) < 0 ||
	    !(params = nn_params_new(nn_net_program(net), NN_F32, &err)) ||
	    nn_net_init(net, seed, NN_F32, params, &err) < 0 ||
	    nn_output_open(&output, path, true, &err) < 0 ||
	    nn_model_file_write(output, net, NN_F32, (const void *const *)params, kind->input,
				kind->target, NULL, &err) < 0 ||
	    nn_output_commit(output, &err) < 0) {
		printf("Bail out! %s: %s\n", path, err.text);
		exit(1);
	}
	nn_free(params);
	nn_net_free(net);
}

/* The first output for a row of ones: tells models of different seeds. */
static float answer(const struct nn_model *model)
{
	float row[3] = { 1, 1, 1 }, out[2] = { 0 };

	nn_model_predict(model, row, 1, out, NULL);
	return out[0];
}

static float answer_of_file(const char *path)
{
	struct nn_model *model = nn_model_open(path, NULL);
	float value = model ? answer(model) : 0;

	nn_model_close(model);
	return value;
}

/* ---- serving ---- */

static char warnings[2000];
static int n_warnings;

static void warn(void *arg, const char *text)
{
	(void)arg;
	n_warnings++;
	snprintf(warnings, sizeof warnings, "%s", text);
}

static int n_good, n_bad;

static void reloaded(void *arg, const char *model, uint64_t version, const char *wrong)
{
	(void)arg;
	(void)model;
	(void)version;
	*(wrong ? &n_bad : &n_good) += 1;
}

static int serve_as(struct nn_models **models, const char *const *operands, const char *labels,
		    bool keep_going, struct nn_error *err)
{
	struct nn_models_setup setup = { .operands = operands,
					 .labels = labels,
					 .keep_going = keep_going,
					 .warn = warn,
					 .reloaded = reloaded };

	n_warnings = n_good = n_bad = 0;
	warnings[0] = '\0';
	return nn_models_open(models, &setup, err);
}

static struct nn_models *serve(const char *operand)
{
	const char *operands[] = { operand, NULL };
	struct nn_models *models;
	struct nn_error err;

	if (serve_as(&models, operands, NULL, false, &err) == 0)
		return models;
	printf("Bail out! %s\n", err.text);
	exit(1);
}

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

/* What find gives for a name, closed again: its version; 0: nothing. */
static uint64_t version_of(struct nn_models *models, const char *name, uint64_t version,
			   const char *label, struct nn_error *err)
{
	struct nn_served *served = nn_models_find(models, name, strlen(name), version, label, err);
	uint64_t found = served ? served->version : 0;

	nn_served_release(served);
	return found;
}

static float answer_of(struct nn_models *models, const char *name)
{
	struct nn_served *served = nn_models_find(models, name, strlen(name), 0, NULL, NULL);
	float value = served ? answer(served->model) : 0;

	nn_served_release(served);
	return value;
}

static bool lists(struct nn_models *models, const char *wanted)
{
	struct nn_text text = { 0 };
	uint64_t versions[16];
	enum nn_models_state states[16];
	bool same;

	for (size_t i = 0; i < nn_models_count(models); i++) {
		const char *name = nn_models_name(models, i);
		size_t n = nn_models_versions(models, name, versions, states, 16);

		nn_text_addf(&text, "%s%s", i ? " " : "", name);
		for (size_t v = 0; v < n; v++)
			nn_text_addf(&text, "%c%llu%s", v ? ',' : '/',
				     (unsigned long long)versions[v],
				     states[v] == NN_MODEL_AVAILABLE ? "" : "!");
	}
	same = text.data && strcmp(text.data, wanted) == 0;
	if (!same)
		printf("# found:  %s\n# wanted: %s\n", text.data ? text.data : "", wanted);
	nn_text_free(&text);
	return same;
}

/* ---- operands ---- */

static void make_files(void)
{
	if (run("mkdir -p v/1 v/2 v/10 v/junk d/ver/3 d/sub empty none/1 two/1 odd") != 0)
		exit(1);
	write_model("net.safetensors", &plain, 1);
	write_model("net.v2.safetensors", &plain, 2);
	write_model("v/1/a.safetensors", &plain, 1);
	write_model("v/2/b.safetensors", &plain, 2);
	write_model("v/10/c.safetensors", &plain, 10);
	put("v/1/a.state.safetensors", "x");
	put("v/1/.hidden.safetensors", "x");
	put("v/README", "x");
	write_model("d/one.safetensors", &plain, 1);
	write_model("d/two.st", &plain, 2);
	write_model("d/three", &plain, 3);
	put("d/four.txt", "{}");
	write_model("d/ver/3/m.safetensors", &plain, 3);
	put("d/one.state.safetensors", "x");
	put("d/README.md", "x");
	put("bad.safetensors", "no model");
	write_model("two/1/a.safetensors", &plain, 1);
	write_model("two/1/b.safetensors", &plain, 1);
	write_model("odd/my net.safetensors", &plain, 1);
	put("empty/README", "x");
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

/* ---- reading anew ---- */

static void changed_and_bad(void)
{
	struct nn_models *models;
	struct nn_error err;
	float first, second;

	write_model("live.safetensors", &plain, 1);
	first = answer_of_file("live.safetensors");
	models = serve("live.safetensors");
	write_model("live.safetensors", &plain, 2);
	second = answer_of_file("live.safetensors");
	ok(first != second && answer_of(models, "live") == first,
	   "a changed file serves when it is asked for");
	ok(nn_models_reload(models, NULL, &err) == 0 && answer_of(models, "live") == second,
	   "reload reads it");
	nn_models_reload(models, NULL, &err);
	ok(n_good == 1 && n_bad == 0, "once: what is as it was is not read again");
	ok(truncate("live.safetensors", 60) == 0 && nn_models_reload(models, NULL, &err) < 0 &&
		   strncmp(err.text, "live.safetensors: ", 18) == 0 &&
		   answer_of(models, "live") == second && nn_models_ready(models),
	   "a truncated file leaves the old one serving");
	ok(unlink("live.safetensors") == 0 && nn_models_reload(models, NULL, &err) < 0 &&
		   strcmp(err.text, "live.safetensors: No such file or directory") == 0 &&
		   answer_of(models, "live") == second,
	   "and so does one that is gone");
	ok(n_good == 1 && n_bad == 2, "both are counted");
	write_model("live.safetensors", &plain, 1);
	ok(nn_models_reload(models, NULL, &err) == 0 && answer_of(models, "live") == first,
	   "it comes back");
	nn_models_close(models);
	ok(atomic_load(&lanes) == 0, "no version stays");
}

static void a_request_keeps_its_version(void)
{
	struct nn_models *models;
	struct nn_served *held;
	float first;

	write_model("live.safetensors", &plain, 1);
	models = serve("live.safetensors");
	held = nn_models_find(models, "live", 4, 0, NULL, NULL);
	first = answer(held->model);
	write_model("live.safetensors", &plain, 2);
	ok(nn_models_reload(models, NULL, NULL) == 0 && answer(held->model) == first &&
		   answer_of(models, "live") != first,
	   "a request in flight finishes with the version it began with");
	nn_served_release(held);
	for (int i = 0; i < 1000 && atomic_load(&lanes) > 2; i++)
		usleep(10000);
	ok(atomic_load(&lanes) == 2, "which is closed when it was given back");
	nn_models_close(models);
}

static void versions_come_and_go(void)
{
	struct nn_models *models;
	struct nn_error err;

	if (run("rm -rf w && mkdir -p w/1 w/2 && cp v/1/a.safetensors w/1 && "
		"cp v/2/b.safetensors w/2") != 0)
		exit(1);
	models = serve("w");
	ok(run("mkdir w/3 && rm -r w/1") == 0 && nn_models_reload(models, NULL, &err) == 0 &&
		   lists(models, "w/2"),
	   "a version goes with its directory; an empty one is not complete yet");
	ok(run("cp v/10/c.safetensors w/3") == 0 && nn_models_reload(models, NULL, &err) == 0 &&
		   lists(models, "w/2,3") && version_of(models, "w", 0, NULL, NULL) == 3,
	   "a new version is the default as soon as it serves");
	ok(run("echo x > w/3/c.safetensors && mkdir w/4 && echo y > w/4/d.safetensors") == 0 &&
		   nn_models_reload(models, NULL, &err) < 0 && n_warnings == 1 &&
		   lists(models, "w/2,3,4!") && version_of(models, "w", 0, NULL, NULL) == 3,
	   "a bad one does not take over: the first is the error, the next a warning");
	ok(run("rm -r w/2 w/3 w/4") == 0 && nn_models_reload(models, NULL, &err) < 0 &&
		   strncmp(err.text, "w: found neither", 16) == 0 &&
		   version_of(models, "w", 0, NULL, NULL) == 3,
	   "where nothing is left the last ones go on");
	nn_models_close(models);
}

static void models_come_and_go(void)
{
	struct nn_models *models;
	struct nn_error err;

	if (run("rm -rf m && mkdir m && cp net.safetensors m/a.safetensors && "
		"cp net.safetensors m/b.safetensors") != 0)
		exit(1);
	models = serve("m");
	ok(run("rm m/a.safetensors; mkdir -p m/c/5; cp net.safetensors m/c/5") == 0 &&
		   nn_models_reload(models, NULL, &err) == 0 && n_warnings == 1 &&
		   strcmp(warnings, "m/a.safetensors: not there any more: model \"a\" is not "
				    "served") == 0 &&
		   lists(models, "a b/1 c/5") && nn_models_ready(models),
	   "models come and go with their files");
	ok(run("cp net.safetensors m/a.safetensors") == 0 &&
		   nn_models_reload(models, NULL, &err) == 0 && lists(models, "a/1 b/1 c/5"),
	   "and come back");
	nn_models_close(models);
}

static void unload_and_load(void)
{
	struct nn_models *models = serve("d");
	struct nn_error err;

	ok(nn_models_unload(models, "one", &err) == 0 && lists(models, "one three/1 two/1 ver/3") &&
		   !version_of(models, "one", 0, NULL, &err) &&
		   strcmp(err.text, "model \"one\" is unloaded") == 0 && nn_models_ready(models),
	   "unload takes it away");
	ok(nn_models_reload(models, NULL, &err) == 0 && lists(models, "one three/1 two/1 ver/3"),
	   "a reload of all leaves it so");
	ok(nn_models_reload(models, "one", &err) == 0 && lists(models, "one/1 three/1 two/1 ver/3"),
	   "load by its name brings it back");
	ok(nn_models_unload(models, "no", &err) < 0 &&
		   strcmp(err.text, "there is no model \"no\"") == 0 &&
		   nn_models_reload(models, "no", &err) < 0 && err.code == NN_EFAIL,
	   "only what was named at the start");
	nn_models_close(models);
}

static void links_are_followed(void)
{
	struct nn_models *models;
	float first;

	if (symlink("v/1/a.safetensors", "link.safetensors") < 0)
		exit(1);
	models = serve("link.safetensors");
	first = answer_of(models, "link");
	ok(unlink("link.safetensors") == 0 &&
		   symlink("v/2/b.safetensors", "link.safetensors") == 0 &&
		   nn_models_reload(models, NULL, NULL) == 0 &&
		   answer_of(models, "link") == answer_of_file("v/2/b.safetensors") &&
		   answer_of(models, "link") != first,
	   "a link that was set to another file is read anew");
	nn_models_close(models);
}

/* ---- while requests run ---- */

struct traffic {
	struct nn_models *models;
	float answers[2];
	atomic_bool ended;
	atomic_int wrong;
};

static void *ask(void *arg)
{
	struct traffic *t = arg;

	for (int i = 0; !atomic_load(&t->ended); i++) {
		const char *name = i % 4 == 3 ? "live:null" : "live";
		struct nn_served *s = nn_models_find(t->models, name, strlen(name), 0, NULL, NULL);
		float value = s && s->lane->model == s->model ? answer(s->model) : 0;

		if (value != t->answers[0] && value != t->answers[1])
			atomic_fetch_add(&t->wrong, 1);
		nn_served_release(s);
	}
	return NULL;
}

static void reload_under_traffic(void)
{
	struct traffic t = { 0 };
	pthread_t threads[4];
	int status = 0;

	write_model("one.safetensors", &plain, 1);
	write_model("two.safetensors", &plain, 2);
	t.answers[0] = answer_of_file("one.safetensors");
	t.answers[1] = answer_of_file("two.safetensors");
	if (run("cp one.safetensors live.safetensors") != 0)
		exit(1);
	t.models = serve("live.safetensors");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, ask, &t);
	for (int i = 0; i < 300; i++) {
		unlink("next");
		if (link(i % 2 ? "one.safetensors" : "two.safetensors", "next") < 0 ||
		    rename("next", "live.safetensors") < 0)
			status = -1;
		unlink("next"); /* two names of one file: rename does nothing */
		if (nn_models_reload(t.models, i % 3 ? NULL : "live", NULL) < 0)
			status = -1;
	}
	atomic_store(&t.ended, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ok(status == 0 && atomic_load(&t.wrong) == 0,
	   "4 threads never meet a wrong or freed model while it is read anew 300 times");
	nn_models_close(t.models);
	ok(atomic_load(&lanes) == 0, "each version was closed once");
}

/* ---- watching ---- */

static bool told(struct nn_models *models, int watch)
{
	struct pollfd poll_of = { .fd = watch, .events = POLLIN };

	return poll(&poll_of, 1, 20000) == 1 && nn_models_watched(models, NULL) == 0;
}

static void files_are_watched(void)
{
	struct nn_models *models;
	float second;
	int watch;

	write_model("live.safetensors", &plain, 1);
	models = serve("live.safetensors");
	watch = nn_models_watch(models, NULL);
	write_model("live.safetensors", &plain, 2);
	second = answer_of_file("live.safetensors");
	ok(watch >= 0 && told(models, watch) && answer_of(models, "live") == second,
	   "a file that is renamed into place is seen");
	ok(run("cat one.safetensors > live.safetensors") == 0 && told(models, watch) &&
		   answer_of(models, "live") == answer_of_file("one.safetensors"),
	   "and one that is written over");
	ok(unlink("live.safetensors") == 0 && symlink("two.safetensors", "live.safetensors") == 0 &&
		   told(models, watch) &&
		   answer_of(models, "live") == answer_of_file("two.safetensors"),
	   "and a link");
	nn_models_close(models);
}

static void versions_are_watched(void)
{
	struct nn_models *models;
	int watch;

	if (run("rm -rf w && mkdir -p w/1 && cp v/1/a.safetensors w/1") != 0)
		exit(1);
	models = serve("w");
	watch = nn_models_watch(models, NULL);
	ok(run("mkdir w/2") == 0 && told(models, watch) && lists(models, "w/1"),
	   "a new directory is watched as well");
	ok(run("cp v/2/b.safetensors w/2/") == 0 && told(models, watch) && lists(models, "w/1,2"),
	   "so that its version is seen");
	n_warnings = 0;
	ok(run("echo x > w/2/b.safetensors") == 0 && !told(models, watch) &&
		   run("touch w/other") == 0 && told(models, watch) && lists(models, "w/1,2"),
	   "a bad file is told once, not with each change beside it");
	nn_models_close(models);
}

static void folders_are_known(void)
{
	struct nn_models *models;
	char here[300];
	bool link = false, file = false;

	if (run("rm -rf blobs linked && mkdir blobs linked && mv one.safetensors blobs/x") != 0 ||
	    symlink("../blobs/x", "linked/m.safetensors") < 0 || !getcwd(here, sizeof here - 10))
		exit(1);
	strcat(here, "/blobs");
	models = serve("linked/m.safetensors");
	for (size_t i = 0; nn_models_folder(models, i); i++) {
		link |= strcmp(nn_models_folder(models, i), here) == 0;
		file |= strcmp(nn_models_folder(models, i), "linked") == 0;
	}
	ok(link && file, "the directories to be read are those of files and of links' targets");
	nn_models_close(models);
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
	changed_and_bad();
	a_request_keeps_its_version();
	versions_come_and_go();
	models_come_and_go();
	unload_and_load();
	links_are_followed();
	reload_under_traffic();
	files_are_watched();
	versions_are_watched();
	folders_are_known();
	return tests_done();
}
