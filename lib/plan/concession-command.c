/*
 * A training with concessions as a command line: what was given, and what they set.
 */
#include <string.h>

#include "plan/concession.h"

static void add_word(struct nn_text *text, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

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

/* value NULL: it takes none. */
static void add_option(struct nn_text *text, const char *name, const char *value)
{
	struct nn_text word = { 0 };

	nn_text_addf(&word, "--%s%s%s", name, value ? "=" : "", value ? value : "");
	if (!word.failed)
		add_word(text, word.data);
	nn_text_free(&word);
}

/* Options that are replaced, and those that say nothing of the training. */
static bool left_out(const struct nn_opt *row, const struct nn_concession *c)
{
	static const char *const never[] = { "explain", "dry-run", "model" };

	if (row->type == NN_OPT_HELP || row->type == NN_OPT_VERSION || row->type == NN_OPT_CONFIG ||
	    row->type == NN_OPT_VERBOSE || row->type == NN_OPT_QUIET)
		return true;
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strcmp(row->name, never[i]) == 0)
			return true;
	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		for (const char *const *own = nn_concession_kinds[kind].options;
		     c->level[kind] && *own; own++)
			if (strcmp(row->name, *own) == 0)
				return true;
	return false;
}

static void add_given(struct nn_text *text, const struct nn_opt_list *list,
		      const struct nn_concession *c)
{
	char value[4096];

	for (const struct nn_opt_table *table = list->tables; table->rows; table++)
		for (const struct nn_opt *row = table->rows; row->name; row++) {
			if (!nn_opt_given(list, row->name) || left_out(row, c) ||
			    !nn_opt_text(list, row->name, value, sizeof value))
				continue;
			if (row->type != NN_OPT_FLAG)
				add_option(text, row->name, value);
			else if (strcmp(value, "yes") == 0)
				add_option(text, row->name, NULL);
		}
}

static void add_conceded(struct nn_text *text, const struct nn_concession *c,
			 const struct nn_variant *v)
{
	const char *const values[NN_CONCESSIONS] = {
		[NN_RECOMPUTE] = NULL,
		[NN_LESS_THREADS] = "1",
		[NN_LESS_LEAVES] = v->recipe.leaves == 1 ? "1" : "2",
		[NN_LESS_PRECISION] = "f32",
		[NN_LESS_OPTIMIZER] = nn_optimizers[v->recipe.optimizer].name,
	};

	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		if (c->level[kind])
			add_option(text, nn_concession_kinds[kind].options[0], values[kind]);
}

void nn_variant_command(struct nn_text *text, const struct nn_command *command,
			const struct nn_concession *c, const struct nn_variant *v)
{
	nn_text_add(text, "nn-train -m");
	add_word(text, command->model);
	add_given(text, command->list, c);
	add_conceded(text, c, v);
	if (command->data_path && command->data_path[0] == '-' && command->data_path[1])
		nn_text_add(text, " --");
	if (command->data_path)
		add_word(text, command->data_path);
	if (command->targets_path)
		add_word(text, command->targets_path);
}
