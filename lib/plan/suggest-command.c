/* A command line as it was given, but for some options. */
#include <string.h>

#include "plan/suggest.h"

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

/* Options that are replaced, and options that do not affect the training. */
static bool left_out(const struct nn_opt *row, const struct nn_instead *instead, size_t n)
{
	if (row->type == NN_OPT_HELP || row->type == NN_OPT_VERSION || row->type == NN_OPT_CONFIG ||
	    row->type == NN_OPT_VERBOSE || row->type == NN_OPT_QUIET ||
	    strcmp(row->name, "explain") == 0 || strcmp(row->name, "dry-run") == 0 ||
	    strcmp(row->name, "model") == 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(row->name, instead[i].option) == 0)
			return true;
		for (const char *const *also = instead[i].also; *also; also++)
			if (strcmp(row->name, *also) == 0)
				return true;
	}
	return false;
}

void nn_suggest_command(struct nn_text *text, const struct nn_command *command,
			const struct nn_instead *instead, size_t n)
{
	const struct nn_opt_list *list = command->list;
	char value[4096];

	nn_text_add(text, "nn-train -m");
	add_word(text, command->model);
	for (const struct nn_opt_table *table = list->tables; table->rows; table++)
		for (const struct nn_opt *row = table->rows; row->name; row++) {
			if (!nn_opt_given(list, row->name) || left_out(row, instead, n) ||
			    !nn_opt_text(list, row->name, value, sizeof value))
				continue;
			if (row->optional_arg && !*value)
				add_option(text, row->name, NULL);
			else if (row->type != NN_OPT_FLAG)
				add_option(text, row->name, value);
			else if (strcmp(value, "yes") == 0)
				add_option(text, row->name, NULL);
		}
	for (size_t i = 0; i < n; i++)
		add_option(text, instead[i].option, instead[i].value);
	if (command->data_path && command->data_path[0] == '-' && command->data_path[1])
		nn_text_add(text, " --");
	if (command->data_path)
		add_word(text, command->data_path);
	if (command->targets_path)
		add_word(text, command->targets_path);
}
