/* Changes of a command line that need less memory, tried alone, then together. */
#include <string.h>

#include "base/memory.h"
#include "train/suggest.h"

enum { FEWER_THREADS, TWO_LEAVES, ONE_LEAF, SINGLE, ONE_SLOT, NO_SLOTS, N_CHANGES };

/* A training as it would be after some changes. */
struct variant {
	struct nn_train train;
	struct nn_train_options options;
	struct nn_std_options std;
};

static size_t slots(const struct nn_train_options *o)
{
	struct nn_optimizer_options options = { .kind = (enum nn_optimizer_kind)o->optimizer, .momentum = o->momentum };

	return nn_optimizer_bytes(&options, 1, NN_F32) / nn_dtype_size(NN_F32) - 1;
}

/* false: the change is none here. */
static bool change(struct variant *v, int what)
{
	struct nn_train_options *o = &v->options;
	struct nn_error err;

	switch (what) {
	case FEWER_THREADS:
		if (v->std.threads <= 1)
			return false;
		v->std.threads = 1;
		v->train.pool = NULL;
		return true;
	case TWO_LEAVES:
	case ONE_LEAF:
		if (o->leaves <= (what == ONE_LEAF ? 1 : 2))
			return false;
		o->leaves = what == ONE_LEAF ? 1 : 2;
		return true;
	case SINGLE:
		if (v->std.precision != 1)
			return false;
		v->std.precision = 0;
		v->train.device = nn_device_open(v->train.device->name, NN_F32, &err);
		return v->train.device != NULL;
	case ONE_SLOT:
		if (slots(o) < 2)
			return false;
		o->optimizer = NN_RMSPROP;
		return true;
	default:
		if (slots(o) < 1)
			return false;
		o->optimizer = NN_SGD;
		o->momentum = 0;
		o->nesterov = false;
		return true;
	}
}

/* ---- the command line ---- */

static void add_word(struct nn_text *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

	nn_text_add(text, " ");
	if (*word && strspn(word, plain) == strlen(word)) {
		nn_text_add(text, word);
		return;
	}
	nn_text_add(text, "'");
	for (; *word; word++)
		if (*word == '\'')
			nn_text_add(text, "'\\''");
		else
			nn_text_add_bytes(text, word, 1);
	nn_text_add(text, "'");
}

static void add_option(struct nn_text *text, const char *name, const char *value)
{
	struct nn_text word = {0};

	nn_text_addf(&word, "--%s=%s", name, value);
	if (!word.failed)
		add_word(text, word.data);
	nn_text_free(&word);
}

/* Options that a change gives itself, or that say nothing of the training. */
static bool left_out(const struct nn_opt *row, unsigned changes)
{
	static const struct {
		const char *name;
		unsigned changes;
	} names[] = {
		{ "explain", ~0u }, { "dry-run", ~0u }, { "model", ~0u },
		{ "threads", 1u << FEWER_THREADS }, { "leaves", 1u << ONE_LEAF | 1u << TWO_LEAVES }, { "precision", 1u << SINGLE },
		{ "optimizer", 1u << ONE_SLOT | 1u << NO_SLOTS }, { "nesterov", 1u << ONE_SLOT | 1u << NO_SLOTS },
		{ "momentum", 1u << ONE_SLOT | 1u << NO_SLOTS },
	};

	if (row->type == NN_OPT_HELP || row->type == NN_OPT_VERSION || row->type == NN_OPT_CONFIG || row->type == NN_OPT_VERBOSE ||
	    row->type == NN_OPT_QUIET)
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(row->name, names[i].name) == 0 && (changes ? changes & names[i].changes : names[i].changes == ~0u))
			return true;
	return false;
}

static void add_given(struct nn_text *text, const struct nn_opt_list *list, unsigned changes)
{
	char value[4096];

	for (const struct nn_opt_table *table = list->tables; table->rows; table++)
		for (const struct nn_opt *row = table->rows; row->name; row++) {
			if (!nn_opt_given(list, row->name) || left_out(row, changes) ||
			    !nn_opt_text(list, row->name, value, sizeof value))
				continue;
			if (row->type != NN_OPT_FLAG)
				add_option(text, row->name, value);
			else if (strcmp(value, "yes") == 0)
				nn_text_addf(text, " --%s", row->name);
		}
}

static void add_changes(struct nn_text *text, unsigned changes)
{
	static const char *const options[N_CHANGES] = {
		[FEWER_THREADS] = " --threads=1", [TWO_LEAVES] = " --leaves=2", [ONE_LEAF] = " --leaves=1", [SINGLE] = " --precision=f32",
		[ONE_SLOT] = " --optimizer=rmsprop", [NO_SLOTS] = " --optimizer=sgd",
	};

	for (int i = 0; i < N_CHANGES; i++)
		if (changes & 1u << i)
			nn_text_add(text, options[i]);
}

static void write_command(struct nn_text *text, const struct nn_train *t, unsigned changes)
{
	nn_text_add(text, "nn-train -m");
	add_word(text, t->options->model);
	add_given(text, t->setup.list, changes);
	add_changes(text, changes);
	if (t->setup.data_path && t->setup.data_path[0] == '-' && t->setup.data_path[1])
		nn_text_add(text, " --");
	if (t->setup.data_path)
		add_word(text, t->setup.data_path);
	if (t->setup.targets_path)
		add_word(text, t->setup.targets_path);
}

/* ---- the search ---- */

/* must: a change that is none here makes it no variant. */
static bool fits(const struct nn_train *t, unsigned changes, bool must, size_t *total)
{
	struct variant v = { *t, *t->options, *t->std };
	struct nn_fit fit;
	struct nn_error err;

	v.train.options = &v.options;
	v.train.std = &v.std;
	for (int i = 0; i < N_CHANGES; i++)
		if ((changes & 1u << i) && !change(&v, i) && must)
			return false;
	if (nn_fit_choose(&v.train, &fit, &err) < 0 || !fit.fits)
		return false;
	*total = fit.total;
	return true;
}

/* Two changes of one option exclude each other. */
static bool has(unsigned changes, int a, int b)
{
	return (changes >> a & 1) && (changes >> b & 1);
}

size_t nn_suggest(const struct nn_train *t, struct nn_suggestion found[NN_SUGGESTIONS])
{
	unsigned taken[NN_SUGGESTIONS];
	bool failed[1u << N_CHANGES] = { false };
	size_t n = 0, total;

	if (!fits(t, 1u << FEWER_THREADS | 1u << ONE_LEAF | 1u << SINGLE | 1u << NO_SLOTS, false, &total))
		return 0;
	/* First sets of changes of which each is needed, the smaller ones first; then, to make up the number, any others. */
	for (int pass = 0; pass < 2; pass++)
		for (int size = 1; size <= N_CHANGES; size++)
			for (unsigned changes = 1; changes < 1u << N_CHANGES && n < NN_SUGGESTIONS; changes++) {
				bool seen = failed[changes] || has(changes, ONE_SLOT, NO_SLOTS) || has(changes, TWO_LEAVES, ONE_LEAF);

				if (__builtin_popcount(changes) != size)
					continue;
				for (size_t i = 0; i < n; i++)
					seen |= pass == 0 ? (taken[i] & changes) == taken[i] : taken[i] == changes;
				if (seen || (failed[changes] = !fits(t, changes, true, &total)))
					continue;
				found[n] = (struct nn_suggestion){ .total = total };
				write_command(&found[n].command, t, changes);
				taken[n++] = changes;
			}
	return n;
}

void nn_suggest_notes(const struct nn_train *t, struct nn_text *text)
{
	struct nn_suggestion found[NN_SUGGESTIONS];
	size_t n = nn_suggest(t, found);

	for (size_t i = 0; i < n; i++) {
		nn_text_addf(text, "%s   # %zu\n", found[i].command.data, found[i].total);
		nn_text_free(&found[i].command);
	}
}
