/* --cache: is it of these data, and if not, made anew. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "model/model.h"
#include "train/cached.h"

int nn_cached_read_files(struct nn_train *t, const struct nn_cache_sources *s,
			 const struct nn_want *want, struct nn_error *err)
{
	if (nn_dataset_open(&t->task.dataset, s->data, s->targets, t->setup.data, want, err) < 0)
		return -1;
	return s->held_out ? nn_dataset_open_like(&t->task.held_out, s->held_out,
						  s->held_out_targets, t->task.dataset, err)
			   : 0;
}

/* Size and time of the files of --classes. */
static void add_classes(const struct nn_train *t, struct nn_text *said)
{
	const char *classes = t->setup.data->classes;
	size_t n_out = nn_net_n_outputs(t->task.net);
	struct stat st;

	for (size_t i = 0; classes && i < n_out; i++) {
		size_t n;
		const char *part =
			nn_classes_part(classes, n_out, nn_net_output(t->task.net, i)->name, &n);
		char path[PATH_MAX];

		if (part && snprintf(path, sizeof path, "%.*s", (int)n, part) < (int)sizeof path &&
		    stat(path, &st) == 0)
			nn_text_addf(said, "%lld %lld.%09ld;", (long long)st.st_size,
				     (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	}
}

/* What is read depends on options, the network, a start model's schema and the file of --classes. */
static int make_key(const struct nn_train *t, const struct nn_cache_sources *s,
		    char key[NN_SHA256_HEX], struct nn_error *err)
{
	const struct nn_model_file *start = t->source.start;
	struct nn_text said = { 0 };
	int status = -1;

	nn_text_addf(&said, "%s%s%s;", t->source.said.data,
		     start && start->input_json ? start->input_json : "",
		     start && start->target_json ? start->target_json : "");
	add_classes(t, &said);
	if (said.failed || t->source.said.failed)
		nn_fail(err, NN_ENOMEM, "--cache: cannot allocate memory for options");
	else
		status = nn_cache_key(s, said.data, key, err);
	nn_text_free(&said);
	return status;
}

/* That it cannot be written is no reason to end a training on data that were read. */
static void write_cache(struct nn_train *t, struct nn_output *output, const char *key)
{
	struct nn_error why;

	if (nn_output_close(output, nn_cache_write(output, key, t->task.dataset, t->task.held_out, &why),
			    &why) < 0)
		nn_tell_warning(&t->told, "--cache: %s; the training goes on without it", why.text);
	else
		nn_tell_note(&t->told, "%s has the data now, for the next training on them",
			     t->options->cache);
}

static int make(struct nn_train *t, const struct nn_cache_sources *s, const struct nn_want *want,
		const char *key, const struct nn_error *why, struct nn_error *err)
{
	struct nn_output *output = NULL;

	if (nn_layout_first(&t->layout) &&
	    nn_output_open(&output, t->options->cache, true, err) < 0)
		return -1;
	if (why->code)
		nn_tell_note(&t->told, "%s %s; it is made anew", t->options->cache, why->text);
	if (nn_cached_read_files(t, s, want, err) < 0) {
		nn_output_abort(output);
		return -1;
	}
	if (output && nn_cache_takes(t->task.dataset)) {
		write_cache(t, output, key);
		return 0;
	}
	if (output)
		nn_tell_note(&t->told, "--cache: a text is read as it lies; %s is not written",
			     t->options->cache);
	nn_output_abort(output);
	return 0;
}

int nn_cached_read(struct nn_train *t, const struct nn_cache_sources *s, const struct nn_want *want,
		   struct nn_error *err)
{
	char key[NN_SHA256_HEX];
	struct nn_error why;
	int found;

	if (make_key(t, s, key, err) < 0)
		return -1;
	found = nn_cache_read(t->options->cache, key, s, t->setup.data, want, &t->task.dataset,
			      &t->task.held_out, &why, err);
	if (found == 1 && t->std->verbose)
		nn_tell_note(&t->told, "data are read from %s", t->options->cache);
	if (found == 0 && t->options->selfcheck) /* writes nothing */
		return nn_cached_read_files(t, s, want, err);
	return found < 0 ? -1 : found == 1 ? 0 : make(t, s, want, key, &why, err);
}

int nn_cached_plan(struct nn_train *t, const struct nn_cache_sources *s, const struct nn_want *want,
		   struct nn_error *err)
{
	char key[NN_SHA256_HEX];

	if (make_key(t, s, key, err) < 0 || nn_cached_read_files(t, s, want, err) < 0)
		return -1;
	nn_cache_plan(t->options->cache, key, want->memory, t->task.dataset, t->task.held_out);
	return 0;
}
