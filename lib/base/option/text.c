/* Option tables as text: --help, the OPTIONS section of a man page, completions. */
#include "config.h"
#include <string.h>

#include "base/option.h"
#include "base/text.h"

/* "--batch=N", "--score[=TARGETS]", "--quiet" */
static void add_name(struct nn_text *text, const struct nn_opt *o)
{
	nn_text_addf(text, "--%s", o->name);
	if (o->arg)
		nn_text_addf(text, o->optional_arg ? "[=%s]" : "=%s", o->arg);
}

/* Words of s from column `indent` to 80, which `at` has passed already. */
static void add_wrapped(struct nn_text *text, const char *s, size_t indent, size_t at)
{
	while (*s) {
		size_t n = strcspn(s, " ");

		if (at + n + 1 > 80 && at > indent) {
			nn_text_addf(text, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			nn_text_add(text, " ");
			at++;
		}
		nn_text_add_bytes(text, s, n);
		at += n;
		s += n + strspn(s + n, " ");
	}
	nn_text_add(text, "\n");
}

#define HELP_COLUMN 30

void nn_opt_help(const struct nn_opt_list *list, struct nn_text *text)
{
	struct nn_text name = { 0 }, help = { 0 };
	const char *usage = list->usage;

	for (const char *prefix = "Usage: "; *usage; prefix = "  or:  ") {
		size_t n = strcspn(usage, "\n");

		nn_text_addf(text, "%s%.*s\n", prefix, (int)n, usage);
		usage += n + (usage[n] == '\n');
	}
	add_wrapped(text, list->brief, 0, 0);
	for (const struct nn_opt_table *t = list->tables; t->rows; t++) {
		nn_text_addf(text, "\n%s:\n", t->heading);
		for (const struct nn_opt *o = t->rows; o->name; o++) {
			nn_text_clear(&name);
			nn_text_clear(&help);
			nn_text_addf(&name, o->letter ? "  -%c, " : "      ", o->letter);
			add_name(&name, o);
			nn_text_add(&help, o->help);
			if (o->fallback)
				nn_text_addf(&help, " (default: %s)", o->fallback);
			nn_text_add(text, name.data);
			if (name.length + 2 > HELP_COLUMN)
				nn_text_addf(text, "\n%*s", HELP_COLUMN, "");
			else
				nn_text_addf(text, "%*s", (int)(HELP_COLUMN - name.length), "");
			add_wrapped(text, help.data, HELP_COLUMN, HELP_COLUMN);
		}
	}
	nn_text_free(&name);
	nn_text_free(&help);
}

/* Text for roff: hyphens that users type, no escapes, no control lines. */
static void add_roff(struct nn_text *text, const char *s)
{
	bool line_start = true;

	for (; *s; s++) {
		if (line_start && (*s == '.' || *s == '\''))
			nn_text_add(text, "\\&");
		if (*s == '-')
			nn_text_add(text, "\\-");
		else if (*s == '\\')
			nn_text_add(text, "\\e");
		else
			nn_text_add_bytes(text, s, 1);
		line_start = *s == '\n';
	}
}

void nn_opt_man(const struct nn_opt_list *list, struct nn_text *text)
{
	nn_text_add(text, ".SH OPTIONS\n");
	for (const struct nn_opt_table *t = list->tables; t->rows; t++) {
		nn_text_addf(text, ".SS %s\n", t->heading);
		for (const struct nn_opt *o = t->rows; o->name; o++) {
			nn_text_add(text, ".TP\n");
			if (o->letter)
				nn_text_addf(text, "\\fB\\-%c\\fR, ", o->letter);
			nn_text_add(text, "\\fB\\-\\-");
			add_roff(text, o->name);
			nn_text_add(text, "\\fR");
			if (o->arg) {
				nn_text_add(text, o->optional_arg ? "[=\\fI" : "=\\fI");
				add_roff(text, o->arg);
				nn_text_add(text, o->optional_arg ? "\\fR]" : "\\fR");
			}
			nn_text_add(text, "\n");
			add_roff(text, o->help);
			if (o->fallback) {
				nn_text_add(text, " (default: ");
				add_roff(text, o->fallback);
				nn_text_add(text, ")");
			}
			nn_text_add(text, ".\n");
			if (o->man) {
				add_roff(text, o->man);
				nn_text_add(text, "\n");
			}
		}
	}
}

/* ---- completions ---- */

static bool is_file(const struct nn_opt *o)
{
	return o->arg && (strncmp(o->arg, "FILE", 4) == 0 || strcmp(o->arg, "TARGETS") == 0);
}

static void each_choice(struct nn_text *text, const struct nn_opt *o, const char *separator)
{
	if (o->type == NN_OPT_YESNO)
		nn_text_addf(text, "yes%sno", separator);
	for (int i = 0; o->type == NN_OPT_CHOICE && o->choices[i]; i++)
		nn_text_addf(text, "%s%s", i ? separator : "", o->choices[i]);
}

static bool has_choices(const struct nn_opt *o)
{
	return o->type == NN_OPT_CHOICE || o->type == NN_OPT_YESNO;
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
			if (!has_choices(o))
				continue;
			nn_text_addf(text, "\t--%s) mapfile -t COMPREPLY < <(compgen -W '",
				     o->name);
			each_choice(text, o, " ");
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
			  "\telse\n\t\tmapfile -t COMPREPLY < <(compgen -f -- "
			  "\"$cur\")\n\tfi\n}\ncomplete -o filenames -F _");
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
static void zsh_row(struct nn_text *text, const struct nn_opt *o)
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
	if (has_choices(o)) {
		nn_text_add(text, "(");
		each_choice(text, o, " ");
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
			zsh_row(text, o);
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
			if (has_choices(o)) {
				nn_text_add(text, " -x -a '");
				each_choice(text, o, " ");
				nn_text_add(text, "'");
			} else if (o->arg && !o->optional_arg) {
				nn_text_add(text, is_file(o) ? " -r" : " -x");
			}
			nn_text_add(text, " -d '");
			for (const char *s = o->help; *s; s++)
				nn_text_add_bytes(text, *s == '\'' ? "\\'" : s, *s == '\'' ? 2 : 1);
			nn_text_add(text, "'\n");
		}
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
