/* For tests of models being served: files of models, lanes that count themselves, and what answers.
 */
#ifndef SERVE_MODELS_H
#define SERVE_MODELS_H

#include "config.h"
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

int nn_lane_open(struct nn_lane **lane, struct nn_batcher *batcher,
		 const struct nn_model *const *models, bool null, struct nn_error *err)
{
	(void)batcher;
	*lane = nn_alloc(1, sizeof **lane, err);
	if (!*lane)
		return -1;
	**lane = (struct nn_lane){ models[0], null };
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

#endif
