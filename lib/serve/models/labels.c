/* Labels of versions, NAME:LABEL=VERSION: given on the command line, never changed. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "serve/models/inside.h"

/* One line of the setup's labels. */
static int take_label(struct nn_models *models, const char *line, size_t n, struct nn_error *err)
{
	const char *colon = memchr(line, ':', n), *equals;
	struct nn_label *label = &models->labels[models->n_labels];
	char quoted[NN_QUOTED];

	nn_quote(quoted, line, n);
	equals = colon ? memchr(colon, '=', n - (size_t)(colon - line)) : NULL;
	if (!equals || !nn_models_name_is_valid(line, (size_t)(colon - line)) ||
	    !nn_models_name_is_valid(colon + 1, (size_t)(equals - colon - 1)) ||
	    !nn_parse_u64(equals + 1, n - (size_t)(equals + 1 - line), &label->version) ||
	    label->version == 0)
		return nn_fail(err, NN_EUSAGE, "--label=%s: expected NAME:LABEL=VERSION", quoted);
	models->n_labels++;
	label->name = nn_strndup(line, (size_t)(colon - line), err);
	label->label = nn_strndup(colon + 1, (size_t)(equals - colon - 1), err);
	return label->name && label->label ? 0 : -1;
}

static int check_label(struct nn_models *models, size_t i, struct nn_error *err)
{
	const struct nn_label *label = &models->labels[i];
	struct nn_entry *entry = nn_models_entry(models, label->name, strlen(label->name));
	struct nn_version *version;

	for (size_t k = 0; k < i; k++)
		if (strcmp(models->labels[k].name, label->name) == 0 &&
		    strcmp(models->labels[k].label, label->label) == 0)
			return nn_fail(err, NN_EUSAGE, "--label=%s:%s is given twice", label->name,
				       label->label);
	if (!entry)
		return nn_fail(err, NN_EUSAGE, "--label=%s:%s=%llu: there is no model \"%s\"",
			       label->name, label->label, (unsigned long long)label->version,
			       label->name);
	version = nn_entry_version(entry, label->version, false, NULL);
	if (!version || !version->served)
		return nn_fail(err, NN_EFAIL, "--label=%s:%s=%llu: %s has no version %llu",
			       label->name, label->label, (unsigned long long)label->version,
			       entry->home, (unsigned long long)label->version);
	return 0;
}

int nn_models_take_labels(struct nn_models *models, struct nn_error *err)
{
	const char *text = models->setup.labels ? models->setup.labels : "";
	size_t most = 1;

	for (const char *c = text; *c; c++)
		most += *c == '\n';
	models->labels = nn_alloc(most, sizeof *models->labels, err);
	if (!models->labels)
		return -1;
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (n > 0 && take_label(models, text, n, err) < 0)
			return -1;
		text += n + (text[n] == '\n');
	}
	for (size_t i = 0; i < models->n_labels; i++)
		if (check_label(models, i, err) < 0)
			return -1;
	return 0;
}

uint64_t nn_models_labelled(const struct nn_models *models, const char *name, const char *label)
{
	for (size_t i = 0; i < models->n_labels; i++)
		if (strcmp(models->labels[i].name, name) == 0 &&
		    strcmp(models->labels[i].label, label) == 0)
			return models->labels[i].version;
	return 0;
}
