/*
 * Reading models anew while they serve: what is new, changed, gone or bad since the last search.
 *
 * The old version goes on until the new one is warm; then a pointer is exchanged. Requests that
 * hold the old one finish with it.
 */
#include <string.h>

#include "base/memory.h"
#include "serve/models/inside.h"

/* A search on its way: what was wrong first, the rest is told. */
struct progress {
	struct nn_models *models;
	const struct nn_search *search;
	struct nn_error *first;
	bool failed;
};

static void warn(const struct nn_models *models, const char *text)
{
	if (models->setup.warn)
		models->setup.warn(models->setup.arg, text);
}

/* Is it the end of the search (-1), or is it told and the rest goes on? */
static int complain(struct progress *p, const struct nn_error *wrong)
{
	bool start = p->search->start;

	if (start && p->models->setup.keep_going && wrong->code == NN_EFAIL) {
		warn(p->models, wrong->text);
		return 0;
	}
	if (p->failed)
		warn(p->models, wrong->text);
	else if (p->first)
		*p->first = *wrong;
	p->failed = true;
	return start ? -1 : 0;
}

/* ---- a version ---- */

static int open_version(struct nn_models *models, const struct nn_entry *entry,
			const struct nn_found *found, struct nn_served **served,
			struct nn_error *err)
{
	struct nn_served_setup setup = { .name = entry->name,
					 .path = found->path,
					 .version = found->version,
					 .models = &models->setup,
					 .graves = models->graves };
	struct nn_stamp now;

	if (found->wrong.code != NN_OK) {
		*err = found->wrong;
		return -1;
	}
	if (nn_served_open(served, &setup, err) < 0)
		return -1;
	if (nn_stamp_of(&now, found->path) && nn_stamp_equal(&now, &found->stamp))
		return 0;
	nn_served_release(*served);
	return nn_fail(err, NN_EFAIL, "%s: it changed while it was read", found->path);
}

static int load_version(struct progress *p, struct nn_entry *entry, const struct nn_found *found)
{
	struct nn_models *models = p->models;
	struct nn_served *served = NULL, *old = NULL;
	struct nn_version *version;
	struct nn_error wrong = { 0 };
	char *told;
	int status;

	pthread_mutex_lock(&models->lock);
	version = nn_entry_version(entry, found->version, true, &wrong);
	if (version)
		version->loading = !version->served;
	pthread_mutex_unlock(&models->lock);
	if (!version)
		return complain(p, &wrong);

	status = p->search->start ? nn_models_take_folders(models, found->path, &wrong) : 0;
	if (status == 0)
		status = open_version(models, entry, found, &served, &wrong);

	told = status < 0 ? nn_strdup(wrong.text, NULL) : NULL;
	pthread_mutex_lock(&models->lock);
	if (status == 0) {
		old = version->served;
		version->served = served;
	}
	version->there = true;
	version->loading = false;
	nn_free(version->wrong);
	version->wrong = told;
	version->code = wrong.code;
	version->stamp = found->stamp;
	entry->gone = false;
	entry->lame &= status < 0;
	pthread_mutex_unlock(&models->lock);
	if (!p->search->start && models->setup.reloaded)
		models->setup.reloaded(models->setup.arg, entry->name, found->version,
				       status < 0 ? wrong.text : NULL);
	nn_served_release(old);
	return status < 0 ? complain(p, &wrong) : 0;
}

/* ---- what was found ---- */

/* Two files of one name: the one that has it keeps it. */
static int complain_of_both(struct progress *p, const struct nn_entry *entry, size_t operand,
			    const struct nn_found *found)
{
	bool apart = entry->operand != operand;
	struct nn_error wrong;

	if (!p->search->start && !p->search->again)
		return 0;
	nn_fail(&wrong, apart ? NN_EUSAGE : NN_EFAIL,
		"two models are named \"%s\": %s and %s: give one another name with NAME=PATH",
		entry->name, entry->home, found->home);
	return complain(p, &wrong);
}

static int take_found(struct progress *p, size_t operand, const struct nn_found *found)
{
	const struct nn_search *search = p->search;
	struct nn_entry *entry = nn_models_entry(p->models, found->name, strlen(found->name));
	struct nn_version *version;
	struct nn_error wrong;

	if (search->only && strcmp(found->name, search->only) != 0)
		return 0;
	if (entry && (entry->operand != operand || strcmp(entry->home, found->home) != 0))
		return complain_of_both(p, entry, operand, found);
	if (found->early) {
		version = entry ? nn_entry_version(entry, found->version, false, NULL) : NULL;
		if (version)
			version->there = true;
		return search->start ? complain(p, &found->wrong) : 0;
	}
	if (!entry && !(entry = nn_models_add(p->models, found, operand, &wrong)))
		return complain(p, &wrong);
	if (entry->unloaded)
		return 0;
	version = nn_entry_version(entry, found->version, false, NULL);
	if (version && nn_stamp_equal(&version->stamp, &found->stamp) &&
	    !(version->wrong && search->again)) {
		version->there = true;
		return 0;
	}
	return load_version(p, entry, found);
}

/* Versions whose directories are not there any more end. */
static void drop_gone(struct nn_models *models, struct nn_entry *entry)
{
	for (size_t v = entry->n; v-- > 0;) {
		struct nn_version gone = entry->versions[v];

		if (gone.there)
			continue;
		pthread_mutex_lock(&models->lock);
		memmove(&entry->versions[v], &entry->versions[v + 1],
			(--entry->n - v) * sizeof *entry->versions);
		pthread_mutex_unlock(&models->lock);
		nn_served_release(gone.served);
		nn_free(gone.wrong);
	}
	if (entry->n == 0 && !entry->gone && !entry->unloaded) {
		struct nn_error gone;

		nn_fail(&gone, NN_EFAIL, "%s: not there any more: model \"%s\" is not served",
			entry->home, entry->name);
		warn(models, gone.text);
		pthread_mutex_lock(&models->lock);
		entry->gone = true;
		pthread_mutex_unlock(&models->lock);
	}
}

static bool is_meant(const struct progress *p, const struct nn_entry *entry, size_t operand)
{
	return entry->operand == operand &&
	       (!p->search->only || strcmp(entry->name, p->search->only) == 0);
}

/* Its models go on as they are; told once. */
static int complain_of_operand(struct progress *p, struct nn_operand *operand,
			       const struct nn_error *wrong)
{
	bool told = operand->lost && !p->search->again;

	operand->lost = true;
	return told ? 0 : complain(p, wrong);
}

static int search_operand(struct progress *p, size_t o)
{
	struct nn_models *models = p->models;
	struct nn_finding finding = { .folder = nn_models_watch_folder, .arg = models };
	struct nn_error wrong;
	int status = 0;

	if (nn_operand_find(&models->operands[o], &finding, &wrong) < 0) {
		nn_finding_fini(&finding);
		return complain_of_operand(p, &models->operands[o], &wrong);
	}
	models->operands[o].lost = false;
	for (size_t i = 0; i < models->n; i++)
		for (size_t v = 0; v < models->entries[i]->n; v++)
			if (models->entries[i]->operand == o)
				models->entries[i]->versions[v].there = false;
	for (size_t i = 0; i < finding.n && status == 0; i++)
		status = take_found(p, o, &finding.found[i]);
	for (size_t i = 0; i < models->n && status == 0; i++)
		if (is_meant(p, models->entries[i], o))
			drop_gone(models, models->entries[i]);
	nn_finding_fini(&finding);
	return status;
}

static bool any_serves(const struct nn_models *models)
{
	for (size_t i = 0; i < models->n; i++)
		for (size_t v = 0; v < models->entries[i]->n; v++)
			if (models->entries[i]->versions[v].served)
				return true;
	return false;
}

int nn_models_search(struct nn_models *models, const struct nn_search *search, struct nn_error *err)
{
	struct progress p = { .models = models, .search = search, .first = err };

	for (size_t o = 0; o < models->n_operands; o++)
		if (search_operand(&p, o) < 0 ||
		    (search->start &&
		     nn_models_take_folders(models, models->operands[o].path, err) < 0))
			return -1;
	if (search->start && !any_serves(models))
		return nn_fail(err, NN_EFAIL, "none of the models can be served");
	return p.failed ? -1 : 0;
}

/* ---- what users ask for ---- */

static int fail_unknown(const char *name, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EFAIL, "there is no model \"%s\"",
		       nn_quote(quoted, name, strlen(name)));
}

static int reload_one(struct nn_models *models, const char *name, struct nn_error *err)
{
	struct nn_entry *entry = nn_models_entry(models, name, strlen(name));
	struct nn_search search = { .again = true, .only = entry ? entry->name : NULL };

	if (!entry)
		return fail_unknown(name, err);
	pthread_mutex_lock(&models->lock);
	entry->unloaded = false;
	pthread_mutex_unlock(&models->lock);
	if (nn_models_search(models, &search, err) < 0)
		return -1;
	return entry->n > 0 ? 0
			    : nn_fail(err, NN_EFAIL, "%s: there is nothing to load", entry->home);
}

int nn_models_reload(struct nn_models *models, const char *name, struct nn_error *err)
{
	int status;

	pthread_mutex_lock(&models->searching);
	status = name ? reload_one(models, name, err)
		      : nn_models_search(models, &(struct nn_search){ .again = true }, err);
	pthread_mutex_unlock(&models->searching);
	return status;
}

int nn_models_unload(struct nn_models *models, const char *name, struct nn_error *err)
{
	struct nn_version *versions = NULL;
	struct nn_entry *entry;
	size_t n = 0;

	pthread_mutex_lock(&models->searching);
	entry = nn_models_entry(models, name, strlen(name));
	if (entry) {
		pthread_mutex_lock(&models->lock);
		versions = entry->versions;
		n = entry->n;
		entry->versions = NULL;
		entry->n = entry->room = 0;
		entry->unloaded = entry->lame = true;
		pthread_mutex_unlock(&models->lock);
	}
	pthread_mutex_unlock(&models->searching);
	nn_versions_free(versions, n);
	return entry ? 0 : fail_unknown(name, err);
}
