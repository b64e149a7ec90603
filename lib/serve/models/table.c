/* The table of models that are served: opened from operands, found by name, version and label. */
#include <string.h>

#include "base/memory.h"
#include "serve/models/inside.h"

#define NULL_SUFFIX ":null"

/* ---- the table ---- */

struct nn_entry *nn_models_entry(struct nn_models *models, const char *name, size_t n)
{
	for (size_t i = 0; i < models->n; i++)
		if (strncmp(models->entries[i]->name, name, n) == 0 && !models->entries[i]->name[n])
			return models->entries[i];
	return NULL;
}

void nn_versions_free(struct nn_version *versions, size_t n)
{
	for (size_t v = 0; v < n; v++) {
		nn_served_release(versions[v].served);
		nn_free(versions[v].wrong);
	}
	nn_free(versions);
}

static void free_entry(struct nn_entry *entry)
{
	nn_versions_free(entry->versions, entry->n);
	nn_free(entry->name);
	nn_free(entry->home);
	nn_free(entry);
}

struct nn_entry *nn_models_add(struct nn_models *models, const struct nn_found *found,
			       size_t operand, struct nn_error *err)
{
	struct nn_entry *entry = nn_alloc(1, sizeof *entry, err);
	bool room;

	if (!entry)
		return NULL;
	entry->operand = operand;
	entry->fixed = found->fixed;
	entry->lame = true;
	entry->name = nn_strdup(found->name, err);
	entry->home = nn_strdup(found->home, err);
	pthread_mutex_lock(&models->lock);
	room = entry->name && entry->home &&
	       nn_make_room((void **)&models->entries, models->n, &models->room,
			    sizeof(*models->entries), err);
	if (room)
		models->entries[models->n++] = entry;
	pthread_mutex_unlock(&models->lock);
	if (room)
		return entry;
	free_entry(entry);
	return NULL;
}

struct nn_version *nn_entry_version(struct nn_entry *entry, uint64_t number, bool make,
				    struct nn_error *err)
{
	struct nn_version *versions = entry->versions;
	size_t at = 0;

	while (at < entry->n && versions[at].number < number)
		at++;
	if (at < entry->n && versions[at].number == number)
		return &versions[at];
	if (!make ||
	    !nn_make_room((void **)&entry->versions, entry->n, &entry->room, sizeof *versions, err))
		return NULL;
	versions = entry->versions;
	memmove(versions + at + 1, versions + at, (entry->n++ - at) * sizeof *versions);
	versions[at] = (struct nn_version){ .number = number };
	return &versions[at];
}

/* ---- opening ---- */

static int take_operands(struct nn_models *models, struct nn_error *err)
{
	size_t n = 0;

	while (models->setup.operands[n])
		n++;
	models->operands = nn_alloc(n, sizeof *models->operands, err);
	if (!models->operands)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (nn_operand_parse(&models->operands[i], models->setup.operands[i], err) < 0)
			return -1;
		models->n_operands = i + 1;
	}
	return 0;
}

int nn_models_open(struct nn_models **models, const struct nn_models_setup *setup,
		   struct nn_error *err)
{
	struct nn_models *m = nn_alloc(1, sizeof *m, err);

	if (!m)
		return -1;
	m->setup = *setup;
	m->inotify = -1;
	pthread_mutex_init(&m->searching, NULL);
	pthread_mutex_init(&m->lock, NULL);
	if (nn_graves_open(&m->graves, err) < 0 || take_operands(m, err) < 0 ||
	    nn_models_search(m, &(struct nn_search){ .start = true }, err) < 0 ||
	    nn_models_take_labels(m, err) < 0) {
		nn_models_close(m);
		return -1;
	}
	*models = m;
	return 0;
}

void nn_models_close(struct nn_models *models)
{
	if (!models)
		return;
	nn_models_unwatch(models);
	nn_models_free_folders(models);
	for (size_t i = 0; i < models->n; i++)
		free_entry(models->entries[i]);
	nn_graves_close(models->graves);
	for (size_t i = 0; i < models->n_labels; i++) {
		nn_free(models->labels[i].name);
		nn_free(models->labels[i].label);
	}
	for (size_t i = 0; i < models->n_operands; i++)
		nn_operand_fini(&models->operands[i]);
	nn_free(models->labels);
	nn_free(models->entries);
	nn_free(models->operands);
	pthread_mutex_destroy(&models->lock);
	pthread_mutex_destroy(&models->searching);
	nn_free(models);
}

/* ---- finding ---- */

/* The version that is meant: the highest that serves where number is 0. Under the lock. */
static struct nn_served *serving(const struct nn_entry *entry, uint64_t number)
{
	for (size_t v = entry->n; v-- > 0;)
		if (entry->versions[v].served &&
		    (number == 0 || entry->versions[v].number == number))
			return entry->versions[v].served;
	return NULL;
}

static void explain(const struct nn_entry *entry, const char *name, size_t n, uint64_t version,
		    struct nn_error *err)
{
	char quoted[NN_QUOTED];

	nn_quote(quoted, name, n);
	if (!entry)
		nn_fail(err, NN_EFAIL, "there is no model \"%s\"", quoted);
	else if (entry->unloaded)
		nn_fail(err, NN_EFAIL, "model \"%s\" is unloaded", quoted);
	else if (version == 0)
		nn_fail(err, NN_EFAIL, "model \"%s\" has no version that can be served", quoted);
	else
		nn_fail(err, NN_EFAIL, "model \"%s\" has no version %llu", quoted,
			(unsigned long long)version);
}

struct nn_served *nn_models_find(struct nn_models *models, const char *name, size_t n,
				 uint64_t version, const char *label, struct nn_error *err)
{
	size_t suffix = strlen(NULL_SUFFIX);
	bool null = n > suffix && memcmp(name + n - suffix, NULL_SUFFIX, suffix) == 0;
	struct nn_served *served = NULL;
	char quoted[NN_QUOTED];
	struct nn_entry *entry;

	if (null)
		n -= suffix;
	pthread_mutex_lock(&models->lock);
	entry = nn_models_entry(models, name, n);
	if (entry && label && !(version = nn_models_labelled(models, entry->name, label))) {
		nn_fail(err, NN_EUSAGE, "model \"%s\" has no label \"%s\"", entry->name,
			nn_quote(quoted, label, strlen(label)));
	} else {
		served = entry ? serving(entry, version) : NULL;
		if (served && null)
			served = nn_served_null(served);
		if (served)
			nn_served_use(served);
		else
			explain(entry, name, n, version, err);
	}
	pthread_mutex_unlock(&models->lock);
	return served;
}

/* ---- listing ---- */

size_t nn_models_count(struct nn_models *models)
{
	size_t n;

	pthread_mutex_lock(&models->lock);
	n = models->n;
	pthread_mutex_unlock(&models->lock);
	return n;
}

const char *nn_models_name(struct nn_models *models, size_t i)
{
	const char *name;

	pthread_mutex_lock(&models->lock);
	name = i < models->n ? models->entries[i]->name : NULL;
	pthread_mutex_unlock(&models->lock);
	return name;
}

static enum nn_models_state state_of(const struct nn_version *version)
{
	return version->served    ? NN_MODEL_AVAILABLE
	       : version->loading ? NN_MODEL_LOADING
				  : NN_MODEL_END;
}

size_t nn_models_versions(struct nn_models *models, const char *name, uint64_t *versions,
			  enum nn_models_state *states, size_t most)
{
	const struct nn_entry *entry;
	size_t n, first;

	pthread_mutex_lock(&models->lock);
	entry = nn_models_entry(models, name, strlen(name));
	n = entry ? entry->n : 0;
	first = n > most ? n - most : 0;
	for (size_t v = first; v < n; v++) {
		versions[v - first] = entry->versions[v].number;
		states[v - first] = state_of(&entry->versions[v]);
	}
	pthread_mutex_unlock(&models->lock);
	return n;
}

int nn_models_wrong(struct nn_models *models, const char *name, uint64_t number,
		    struct nn_error *err)
{
	struct nn_version *version = NULL;
	struct nn_entry *entry;
	int status = 0;

	pthread_mutex_lock(&models->lock);
	entry = nn_models_entry(models, name, strlen(name));
	if (entry)
		version = nn_entry_version(entry, number, false, NULL);
	if (version && version->wrong)
		status = nn_fail(err, version->code, "%s", version->wrong);
	pthread_mutex_unlock(&models->lock);
	return status;
}

bool nn_models_ready(struct nn_models *models)
{
	bool ready = true;

	pthread_mutex_lock(&models->lock);
	for (size_t i = 0; i < models->n && ready; i++) {
		const struct nn_entry *entry = models->entries[i];

		ready = entry->unloaded || entry->lame || entry->gone || serving(entry, 0);
	}
	pthread_mutex_unlock(&models->lock);
	return ready;
}
