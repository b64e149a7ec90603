/* The list of --augment, and which inputs and targets are pictures. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/augment/augment-inside.h"

#define OFFSET(name) offsetof(struct nn_augment_rules, name)

/* default 0: a value is wanted */
static const struct {
	const char *name;
	size_t offset;
	double fallback, most;
	bool whole;
} names[] = {
	{ "flip", OFFSET(flip), 1, 1, true },
	{ "crop", OFFSET(crop), 0, 4096, true },
	{ "rotate", OFFSET(rotate), 0, 180, false },
	{ "scale", OFFSET(scale), 0, 0.9, false },
	{ "brightness", OFFSET(brightness), 0, 1, false },
	{ "contrast", OFFSET(contrast), 0, 1, false },
	{ "noise", OFFSET(noise), 0, 1000, false },
	{ "cutout", OFFSET(cutout), 0, 4096, true },
	{ "mixup", OFFSET(mixup), 0, 100, false },
};
#define N_NAMES (sizeof names / sizeof *names)

static const char *next_name(const void *arg, size_t i)
{
	(void)arg;
	return i < N_NAMES ? names[i].name : NULL;
}

static int unknown(const char *word, size_t n, struct nn_error *err)
{
	char quoted[NN_QUOTED], copy[32] = "";
	const char *near = NULL;

	nn_quote(quoted, word, n);
	if (n < sizeof copy) {
		memcpy(copy, word, n);
		near = nn_did_you_mean(copy, next_name, NULL);
	}
	return near ? nn_fail(err, NN_EUSAGE, "unknown augmentation %s; did you mean %s?", quoted, near)
		    : nn_fail(err, NN_EUSAGE,
			      "unknown augmentation %s; expected a list of flip, crop=N, rotate=DEGREES, "
			      "scale=F, brightness=F, contrast=F, noise=SD, cutout=N, mixup=A",
			      quoted);
}

/* NAME or NAME=VALUE. */
static int parse_one(const char *word, size_t n, struct nn_augment_rules *rules, struct nn_error *err)
{
	const char *equals = memchr(word, '=', n);
	size_t length = equals ? (size_t)(equals - word) : n, i = 0;
	double *rule, value;

	while (i < N_NAMES &&
	       (strlen(names[i].name) != length || memcmp(names[i].name, word, length) != 0))
		i++;
	if (i == N_NAMES)
		return unknown(word, length, err);
	rule = (double *)((char *)rules + names[i].offset);
	if (*rule != 0)
		return nn_fail(err, NN_EUSAGE, "%s stands there twice", names[i].name);
	value = names[i].fallback;
	if (!equals && value == 0)
		return nn_fail(err, NN_EUSAGE, "%s needs a value, as in %s=%s", names[i].name,
			       names[i].name, names[i].whole ? "4" : "0.1");
	if (equals && (names[i].fallback != 0 ||
		       !nn_parse_f64(equals + 1, n - length - 1, &value) || !(value > 0) ||
		       value > names[i].most || (names[i].whole && value != (double)(int)value)))
		return names[i].fallback != 0
			       ? nn_fail(err, NN_EUSAGE, "%s takes no value", names[i].name)
			       : nn_fail(err, NN_EUSAGE, "%s=: expected a%s number above 0, at most %g",
					 names[i].name, names[i].whole ? " whole" : "",
					 names[i].most);
	*rule = value;
	return 0;
}

static int parse(const char *list, struct nn_augment_rules *rules, struct nn_error *err)
{
	*rules = (struct nn_augment_rules){ 0 };
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (parse_one(list, n, rules, err) < 0)
			return -1;
		if (list[n] == ',' && !list[n + 1])
			return unknown("", 0, err);
	}
	return 0;
}

int nn_augment_check(const char *list, struct nn_error *err)
{
	struct nn_augment_rules rules;

	return *list ? parse(list, &rules, err) : unknown("", 0, err);
}

/* ---- pictures among inputs and targets ---- */

static struct nn_augment_picture picture_of(const struct nn_shape *shape)
{
	struct nn_augment_picture none = { 0 };

	return shape->rank == 3 ? (struct nn_augment_picture){ shape->dim[0], shape->dim[1],
							      shape->dim[2], false, false }
				: none;
}

static int take_inputs(struct nn_augment *a, const struct nn_augment_options *o, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	for (size_t i = 0; i < o->n_inputs; i++) {
		if (o->inputs[i].rows == 0)
			a->inputs[i] = picture_of(&o->inputs[i].shape);
		if (a->inputs[i].channels && !a->size)
			a->size = &a->inputs[i];
	}
	if (!a->size)
		return nn_fail(err, NN_EUSAGE,
			       "--augment: changes pictures (CxHxW), but samples are %s",
			       nn_shape_text(text, &o->inputs[0].shape));
	for (size_t i = 0; a->rules.mixup > 0 && i < o->n_inputs; i++)
		if (!a->inputs[i].channels)
			return nn_fail(err, NN_EUSAGE,
				       "--augment=mixup: mixes pictures (CxHxW), but an input is %s",
				       nn_shape_text(text, &o->inputs[i].shape));
	if (a->rules.crop >= (double)a->size->height || a->rules.crop >= (double)a->size->width)
		return nn_fail(err, NN_EUSAGE, "--augment=crop=%g: pictures are %zux%zu",
			       a->rules.crop, a->size->height, a->size->width);
	return 0;
}

/* A mask, a picture, the values of one in a row, or nothing that lies in places. */
static void take_target(struct nn_augment *a, size_t i)
{
	const struct nn_augment_target *t = &a->outputs[i];
	const struct nn_augment_picture *in = a->size;

	if (t->output.rank == 3)
		a->targets[i] = picture_of(&t->output);
	else if (!t->classes && t->size == in->channels * in->height * in->width) {
		a->targets[i] = *in;
		a->targets[i].planes = true;
	}
	a->targets[i].classes = t->classes;
}

static int check_mixup(const struct nn_augment *a, size_t i, struct nn_error *err)
{
	return a->rules.mixup == 0 || !a->outputs[i].classes || a->outputs[i].size == 1
		       ? 0
		       : nn_fail(err, NN_EUSAGE,
				 "--augment=mixup: mixes one class or numbers of a sample, but the "
				 "targets have a class for each of %zu places",
				 a->outputs[i].size);
}

int nn_augment_new(struct nn_augment **augment, const struct nn_augment_options *o,
		   struct nn_error *err)
{
	struct nn_augment *a = nn_alloc(1, sizeof *a, err);

	if (!a)
		return -1;
	a->dtype = o->dtype;
	a->seed = o->seed;
	a->list = o->list;
	a->inputs = nn_alloc(o->n_inputs, sizeof *a->inputs, err);
	a->targets = nn_alloc(o->n_targets, sizeof *a->targets, err);
	a->outputs = nn_alloc(o->n_targets, sizeof *a->outputs, err);
	if (!a->inputs || !a->targets || !a->outputs || parse(o->list, &a->rules, err) < 0 ||
	    take_inputs(a, o, err) < 0)
		goto failed;
	for (size_t i = 0; i < o->n_targets; i++) {
		a->outputs[i] = o->targets[i];
		take_target(a, i);
		if (check_mixup(a, i, err) < 0)
			goto failed;
	}
	*augment = a;
	return 0;
failed:
	nn_augment_free(a);
	return -1;
}

void nn_augment_free(struct nn_augment *a)
{
	if (!a)
		return;
	nn_free(a->inputs);
	nn_free(a->targets);
	nn_free(a->outputs);
	nn_free(a);
}

bool nn_augment_masks(const struct nn_augment *a, size_t target)
{
	return a && a->targets[target].channels && a->targets[target].classes &&
	       (a->rules.crop > 0 || a->rules.rotate > 0 || a->rules.scale > 0);
}

bool nn_augment_mixes(const struct nn_augment *a)
{
	return a && a->rules.mixup > 0;
}

bool nn_augment_classes(const struct nn_augment *a, const struct nn_dataset *dataset, size_t target)
{
	return nn_dataset_target_classes(dataset, target) && !nn_augment_mixes(a);
}

size_t nn_augment_target_size(const struct nn_augment *a, const struct nn_dataset *dataset,
			      size_t target)
{
	return nn_dataset_target_classes(dataset, target) && nn_augment_mixes(a)
		       ? nn_shape_count(&a->outputs[target].output)
		       : nn_dataset_target_size(dataset, target);
}

const char *nn_augment_list(const struct nn_augment *a)
{
	return a ? a->list : NULL;
}
