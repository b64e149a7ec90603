/*
 * A training goes on, or is replayed, with the network, options and data it was made with: what
 * differs is named with both values.
 */
#include <stdio.h>
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "train/options.h"
#include "train/state/facts.h"

static const char *shown(const struct nn_json *value)
{
	const char *text = nn_json_string(value, NULL);

	return text ? text : "";
}

/*
 * How near a difference is to what the user did: 0 was typed now, 1 is a default or was typed then,
 * 2 follows from other options, the model or the data.
 */
static int origin_of(const struct nn_opt_list *list, const char *name)
{
	static const char *const derived[] = { "leaves", "loss", "lr", "metric", "weight-decay" };

	if (nn_opt_given(list, name))
		return 0;
	for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
		if (strcmp(derived[i], name) == 0)
			return 2;
	return 1;
}

/* bf16, f16 and int8 are types of the model file alone; but bf16 and f16 are products' of cuda. */
static bool computes_in_f32(const struct nn_json *options)
{
	static const char *const others[] = { "f64", "tf32", "bf16", "f16" };
	const char *precision = shown(nn_json_get(options, "precision"));
	size_t n = strncmp(shown(nn_json_get(options, "device")), "cuda", 4) == 0 ? 4 : 2;

	while (n > 0 && strcmp(precision, others[n - 1]) != 0)
		n--;
	return n == 0;
}

/* Options of one origin by name; one that only one of both knows counts as empty. */
static int compare_options(const struct nn_facts_made *made, const struct nn_opt_list *list,
			   int origin, const struct nn_json *now,
			   bool (*may_differ)(const char *name), struct nn_error *err)
{
	for (size_t i = 0; i < nn_json_size(now); i++) {
		const struct nn_json *value;
		const char *name = nn_json_key(now, i, &value);
		const char *was = shown(nn_json_get(made->options, name)), *is = shown(value);
		char quoted[NN_QUOTED], quoted_was[NN_QUOTED];

		if (strcmp(was, is) == 0 || may_differ(name) ||
		    (strcmp(name, "precision") == 0 && computes_in_f32(made->options) &&
		     computes_in_f32(now)) ||
		    origin_of(list, name) != origin)
			continue;
		return nn_fail(err, NN_EUSAGE, "--%s=%s: %s was made with --%s=%s", name,
			       nn_quote(quoted, is, strlen(is)), made->path, name,
			       nn_quote(quoted_was, was, strlen(was)));
	}
	return 0;
}

static size_t line_length(const char *text)
{
	return strcspn(text, "\n");
}

/* The first line in which two canonical texts differ. */
static int compare_models(const struct nn_facts_made *made, const char *now, struct nn_error *err)
{
	const char *then = made->model;
	char was[NN_QUOTED], is[NN_QUOTED];
	int line = 1;

	for (;; line++) {
		size_t a = line_length(then), b = line_length(now);

		if (a != b || memcmp(then, now, a) != 0)
			return nn_fail(
				err, NN_EUSAGE,
				"-m: line %d of the model is \"%s\", %s was made with \"%s\"", line,
				nn_quote(is, now, b), made->path, nn_quote(was, then, a));
		if (then[a] == '\0' || now[b] == '\0')
			return 0;
		then += a + 1;
		now += b + 1;
	}
}

static bool same(const char *then, const char *now)
{
	return then && now ? strcmp(then, now) == 0 : then == now;
}

int nn_facts_compare(const struct nn_facts_made *made, const struct nn_state_facts *now,
		     bool (*may_differ)(const char *name), struct nn_error *err)
{
	struct nn_json *options;
	int status = 0;

	if (compare_models(made, now->model, err) < 0)
		return -1;
	options = nn_json_parse(now->options, strlen(now->options), err);
	if (!options)
		return -1;
	for (int origin = 0; status == 0 && origin < 3; origin++)
		status = compare_options(made, now->list, origin, options, may_differ, err);
	nn_json_free(options);
	if (status < 0)
		return -1;
	if (!same(made->data, now->data) || !same(made->valid, now->valid))
		return nn_fail(err, NN_EFAIL, "%s: the %s are not those it was trained on",
			       made->path, same(made->data, now->data) ? "held-out data" : "data");
	return 0;
}

/* ---- records ---- */

void nn_facts_add_json(struct nn_text *text, const struct nn_state_facts *facts)
{
	nn_json_put(text, "{");
	nn_json_add_string(text, "data", facts->data);
	nn_json_add_string(text, "model", facts->model);
	nn_json_add(text, "options", facts->options);
	nn_json_add_string(text, "start", facts->start);
	nn_json_add_string(text, "valid", facts->valid);
	nn_text_add(text, "}");
}

/* Of a record: the ranks are replayed by one process, and the bound on what was stale has acted. */
static bool may_differ(const char *name)
{
	return nn_train_may_change(name) || strcmp(name, "record") == 0 ||
	       strcmp(name, "replay-run") == 0 || strcmp(name, "staleness") == 0;
}

/* The same where rates do not depend on how long the training was to be. */
static bool may_differ_less(const char *name)
{
	return may_differ(name) && strcmp(name, "epochs") != 0 && strcmp(name, "steps") != 0;
}

static const char *member(const struct nn_json *json, const char *key)
{
	return nn_json_string(nn_json_get(json, key), NULL);
}

int nn_facts_compare_record(const char *path, const char *text, const struct nn_state_facts *now,
			    bool by_length, struct nn_error *err)
{
	struct nn_json *json = nn_json_parse(text, strlen(text), err);
	const struct nn_facts_made made = {
		.path = path,
		.model = member(json, "model"),
		.data = member(json, "data"),
		.valid = member(json, "valid"),
		.options = nn_json_get(json, "options"),
	};
	int status;

	if (!json)
		return nn_fail_at(err, "%s:1", path);
	if (!made.model || nn_json_type(made.options) != NN_JSON_OBJECT)
		status = nn_fail(err, NN_EFORMAT, "%s:1: expected a model and options", path);
	else
		status =
			nn_facts_compare(&made, now, by_length ? may_differ_less : may_differ, err);
	if (status == 0 && !same(member(json, "start"), now->start))
		status = nn_fail(err, NN_EFAIL,
				 "%s: the model of -m is not the one that the recorded training "
				 "started from",
				 path);
	nn_json_free(json);
	return status;
}
