/* Names of tensors as frameworks give them, and what they say. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/match/weight-name.h"

#define MOST_LISTED 8

/* The last word of a name; NULL as ours: not of a model's function. */
static const struct {
	const char *word, *ours;
	enum nn_weights_layout layout;
} words[] = {
	{ "weight", "weight", NN_WEIGHTS_TORCH },
	{ "bias", "bias", NN_WEIGHTS_AUTO },
	{ "running_mean", "running_mean", NN_WEIGHTS_TORCH },
	{ "running_var", "running_var", NN_WEIGHTS_TORCH },
	{ "kernel", "weight", NN_WEIGHTS_KERAS },
	{ "depthwise_kernel", "weight", NN_WEIGHTS_KERAS },
	{ "embeddings", "weight", NN_WEIGHTS_KERAS },
	{ "gamma", "weight", NN_WEIGHTS_KERAS },
	{ "beta", "bias", NN_WEIGHTS_KERAS },
	{ "moving_mean", "running_mean", NN_WEIGHTS_KERAS },
	{ "moving_variance", "running_var", NN_WEIGHTS_KERAS },
#define CELL(way) \
	{ "weight_ih_l0" way, "weight_ih_l0" way, NN_WEIGHTS_TORCH }, \
		{ "weight_hh_l0" way, "weight_hh_l0" way, NN_WEIGHTS_TORCH }, \
		{ "bias_ih_l0" way, "bias_ih_l0" way, NN_WEIGHTS_AUTO }, \
		{ "bias_hh_l0" way, "bias_hh_l0" way, NN_WEIGHTS_AUTO }, \
		{ "kernel_ih_l0" way, "weight_ih_l0" way, NN_WEIGHTS_KERAS }, \
		{ "kernel_hh_l0" way, "weight_hh_l0" way, NN_WEIGHTS_KERAS },
	CELL("") CELL("_reverse"){ "num_batches_tracked", NULL, NN_WEIGHTS_TORCH },
	{ "seed_generator_state", NULL, NN_WEIGHTS_KERAS },
};

/* Keras writes slashes, and TensorFlow ":0" behind a variable. */
static int plain(struct nn_text *text, const char *name, struct nn_error *err)
{
	size_t n = strlen(name), digits = n;

	while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits > 1 && digits < n && name[digits - 1] == ':')
		n = digits - 1;
	nn_text_clear(text);
	nn_text_add_bytes(text, name, n);
	if (text->failed)
		return nn_fail(err, NN_ENOMEM, "out of memory for names of tensors");
	for (size_t i = 0; i < n; i++)
		if (text->data[i] == '/')
			text->data[i] = '.';
	return 0;
}

/* 1: taken, 0: one that no prediction reads. */
static int read_name(struct nn_weight_name *name, struct nn_text *text,
		     const struct nn_st_tensor *tensor, struct nn_error *err)
{
	const char *dot, *word;

	if (plain(text, tensor->name, err) < 0)
		return -1;
	*name = (struct nn_weight_name){ .tensor = tensor, .prefix = text->length };
	dot = strrchr(text->data, '.');
	word = dot ? dot + 1 : text->data;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(word, words[i].word) != 0)
			continue;
		if (!words[i].ours)
			return 0;
		name->role = words[i].ours;
		name->layout = words[i].layout;
		name->prefix = dot ? (size_t)(dot - text->data) : 0;
		text->length = (size_t)(word - text->data);
		nn_text_add(text, words[i].ours);
		break;
	}
	name->text = text->failed ? NULL : nn_strdup(text->data, err);
	return name->text ? 1 : -1;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct nn_weight_name *)a)->text,
		      ((const struct nn_weight_name *)b)->text);
}

/* Of one text, as NAME.kernel beside NAME.weight. */
static int check_twice(const struct nn_weight_names *names, const char *place, struct nn_error *err)
{
	char a[NN_QUOTED], b[NN_QUOTED];

	for (size_t i = 1; i < names->n; i++) {
		const char *one = names->names[i - 1].tensor->name;
		const char *two = names->names[i].tensor->name;

		if (strcmp(names->names[i - 1].text, names->names[i].text) == 0)
			return nn_fail(err, NN_EFORMAT, "%s: tensor '%s' is there beside '%s'",
				       place, nn_quote(a, one, strlen(one)),
				       nn_quote(b, two, strlen(two)));
	}
	return 0;
}

int nn_weight_names_read(struct nn_weight_names *names, const struct nn_st *st, const char *place,
			 struct nn_error *err)
{
	struct nn_text text = { 0 };
	int status = 0;

	*names = (struct nn_weight_names){ nn_alloc(st->n_tensors, sizeof *names->names, err), 0 };
	if (!names->names)
		return -1;
	for (size_t i = 0; i < st->n_tensors && status >= 0; i++) {
		status = read_name(&names->names[names->n], &text, &st->tensors[i], err);
		names->n += status > 0;
	}
	nn_text_free(&text);
	if (names->n > 0)
		qsort(names->names, names->n, sizeof *names->names, by_text);
	return status < 0 ? -1 : check_twice(names, place, err);
}

void nn_weight_names_free(struct nn_weight_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		nn_free(names->names[i].text);
	nn_free(names->names);
}

bool nn_weight_names_strip(struct nn_weight_names *names)
{
	size_t n = names->n ? strcspn(names->names[0].text, ".") + 1 : 0;

	for (size_t i = 0; i < names->n; i++) {
		const struct nn_weight_name *name = &names->names[i];

		if (name->prefix < n - 1 || strlen(name->text) <= n ||
		    strncmp(name->text, names->names[0].text, n) != 0)
			return false;
	}
	for (size_t i = 0; i < names->n; i++) {
		struct nn_weight_name *name = &names->names[i];

		memmove(name->text, name->text + n, strlen(name->text + n) + 1);
		name->prefix -= name->prefix < n ? name->prefix : n;
	}
	return names->n > 0;
}

const struct nn_weight_name *nn_weight_names_find(const struct nn_weight_names *names,
						  const char *text)
{
	struct nn_weight_name wanted = { .text = (char *)text };

	return names->n ? bsearch(&wanted, names->names, names->n, sizeof wanted, by_text) : NULL;
}

void nn_weight_names_list(const struct nn_weight_names *names, struct nn_text *text)
{
	for (size_t i = 0; i < names->n && i < MOST_LISTED; i++) {
		const struct nn_st_tensor *t = names->names[i].tensor;
		char shape[NN_SHAPE_TEXT], quoted[NN_QUOTED];

		nn_text_addf(text, "%s%s %s", i ? ", " : "",
			     nn_quote(quoted, t->name, strlen(t->name)),
			     nn_shape_text(shape, &t->shape));
	}
	if (names->n > MOST_LISTED)
		nn_text_addf(text, " and %zu more", names->n - MOST_LISTED);
	if (names->n == 0)
		nn_text_add(text, "no tensors");
}
