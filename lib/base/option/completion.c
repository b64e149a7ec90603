/* Completions for bash, zsh and fish. */
#include "config.h"
#include <string.h>

#include "base/option.h"
#include "base/text.h"

static bool is_file(const struct nn_opt *o)
{
	return o->arg && (strncmp(o->arg, "FILE", 4) == 0 || strcmp(o->arg, "TARGETS") == 0);
}

static bool has_words(const struct nn_opt *o)
{
	return o->choices || o->type == NN_OPT_YESNO || o->type == NN_OPT_HELP;
}

/* The words that a value may be. */
static void each_word(struct nn_text *text, const struct nn_opt_list *list, const struct nn_opt *o)
{
	if (o->type == NN_OPT_YESNO)
		nn_text_add(text, "yes no");
	if (o->type == NN_OPT_HELP)
		nn_opt_add_topics(list, " ", " all", text);
	for (int i = 0; o->choices && o->choices[i]; i++)
		nn_text_addf(text, "%s%s", i ? " " : "", o->choices[i]);
}

/* The words that the first operand may be. */
static void each_operand(struct nn_text *text, const struct nn_opt_list *list)
{
	for (const struct nn_opt_word *word = list->words; word && word->name; word++)
		nn_text_addf(text, "%s%s", word == list->words ? "" : " ", word->name);
}

static void function_name(struct nn_text *text, const char *tool)
{
	for (; *tool; tool++)
		nn_text_add_bytes(text, *tool == '-' ? "_" : tool, 1);
}

static void bash(const struct nn_opt_list *list, struct nn_text *text)
{
	nn_text_addf(text, "# bash completion for %s, made from its option table\n_", list->tool);
	function_name(text, list->tool);
	nn_text_add(
		text,
		"()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tCOMPREPLY=()\n"
		"\tif [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then "
		"prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
		"\tcase $prev in\n");
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++) {
			if (!has_words(o))
				continue;
			nn_text_addf(text, "\t--%s) mapfile -t COMPREPLY < <(compgen -W '",
				     o->name);
			each_word(text, list, o);
			nn_text_add(text, "' -- \"$cur\"); return ;;\n");
		}
	nn_text_add(
		text,
		"\tesac\n\tif [[ $cur == -* ]]; then\n\t\tmapfile -t COMPREPLY < <(compgen -W '");
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			nn_text_addf(text, "%s--%s%s", t == list->tables && o == t->rows ? "" : " ",
				     o->name, o->arg && !o->optional_arg ? "=" : "");
	nn_text_add(text, "' -- \"$cur\")\n\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
			  "\telse\n\t\tmapfile -t COMPREPLY < <(");
	if (list->words) {
		nn_text_add(text, "((COMP_CWORD > 1)) || compgen -W '");
		each_operand(text, list);
		nn_text_add(text, "' -- \"$cur\"; ");
	}
	nn_text_add(text, "compgen -f -- \"$cur\")\n\tfi\n}\ncomplete -o filenames -F _");
	function_name(text, list->tool);
	nn_text_addf(text, " %s\n", list->tool);
}

/* A description inside single quotes of zsh, where brackets and colons have a meaning. */
static void zsh_description(struct nn_text *text, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			nn_text_add(text, "'\\''");
		else if (*s == '[' || *s == ']' || *s == ':')
			nn_text_addf(text, "\\%c", *s);
		else
			nn_text_add_bytes(text, s, 1);
	}
}

/* `--name=[help]:ARG:values`, with `(-n --name){-n+,--name=}` in front where there is a letter. */
static void zsh_row(struct nn_text *text, const struct nn_opt_list *list, const struct nn_opt *o)
{
	const char *sign = !o->arg ? "" : o->optional_arg ? "=-" : "=";

	if (o->letter)
		nn_text_addf(text, " \\\n\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name,
			     o->letter, o->arg ? "+" : "", o->name, sign);
	else
		nn_text_addf(text, " \\\n\t'--%s%s[", o->name, sign);
	zsh_description(text, o->help);
	nn_text_add(text, "]");
	if (o->arg) {
		nn_text_add(text, o->optional_arg ? "::" : ":");
		zsh_description(text, o->arg);
		nn_text_add(text, ":");
	}
	if (has_words(o)) {
		nn_text_add(text, "(");
		each_word(text, list, o);
		nn_text_add(text, ")");
	} else if (is_file(o)) {
		nn_text_add(text, "_files");
	}
	nn_text_add(text, "'");
}

static void zsh(const struct nn_opt_list *list, struct nn_text *text)
{
	nn_text_addf(text, "#compdef %s\n# made from its option table\n_arguments -s", list->tool);
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			zsh_row(text, list, o);
	if (list->words) {
		nn_text_add(text, " \\\n\t'1:verb:(");
		each_operand(text, list);
		nn_text_add(text, ")'");
	}
	nn_text_add(text, " \\\n\t'*:file:_files'\n");
}

static void fish(const struct nn_opt_list *list, struct nn_text *text)
{
	nn_text_addf(text, "# fish completion for %s, made from its option table\n", list->tool);
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++) {
			nn_text_addf(text, "complete -c %s -l %s", list->tool, o->name);
			if (o->letter)
				nn_text_addf(text, " -s %c", o->letter);
			if (has_words(o)) {
				nn_text_add(text, " -x -a '");
				each_word(text, list, o);
				nn_text_add(text, "'");
			} else if (o->arg && !o->optional_arg) {
				nn_text_add(text, is_file(o) ? " -r" : " -x");
			}
			nn_text_add(text, " -d '");
			for (const char *s = o->help; *s; s++)
				nn_text_add_bytes(text, *s == '\'' ? "\\'" : s, *s == '\'' ? 2 : 1);
			nn_text_add(text, "'\n");
		}
	for (const struct nn_opt_word *word = list->words; word && word->name; word++)
		nn_text_addf(text, "complete -c %s -n __fish_use_subcommand -a %s -d '%s'\n",
			     list->tool, word->name, word->help);
}

void nn_opt_completion(const struct nn_opt_list *list, const char *shell, struct nn_text *text)
{
	static const struct {
		const char *shell;
		void (*write)(const struct nn_opt_list *list, struct nn_text *text);
	} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (strcmp(shells[i].shell, shell) == 0)
			shells[i].write(list, text);
}
