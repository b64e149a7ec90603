/* The OPTIONS section of a man page. */
#include "config.h"

#include "base/option.h"
#include "base/text.h"

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

static void add_row(struct nn_text *text, const struct nn_opt *row)
{
	nn_text_add(text, ".TP\n");
	if (row->letter)
		nn_text_addf(text, "\\fB\\-%c\\fR, ", row->letter);
	nn_text_add(text, "\\fB\\-\\-");
	add_roff(text, row->name);
	nn_text_add(text, "\\fR");
	if (row->arg) {
		nn_text_add(text, row->optional_arg ? "[=\\fI" : "=\\fI");
		add_roff(text, row->arg);
		nn_text_add(text, row->optional_arg ? "\\fR]" : "\\fR");
	}
	nn_text_add(text, "\n");
	add_roff(text, row->help);
	if (row->fallback) {
		nn_text_add(text, " (default: ");
		add_roff(text, row->fallback);
		nn_text_add(text, ")");
	}
	nn_text_add(text, ".\n");
	if (row->man) {
		add_roff(text, row->man);
		nn_text_add(text, "\n");
	}
}

void nn_opt_man(const struct nn_opt_list *list, struct nn_text *text)
{
	nn_text_add(text, ".SH OPTIONS\n");
	for (size_t i = 0; nn_opt_topic(list, i); i++) {
		const char *topic = nn_opt_topic(list, i);

		nn_text_addf(text, ".SS %s\n", topic);
		for (size_t j = 0; nn_opt_of_topic(list, topic, j); j++)
			add_row(text, nn_opt_of_topic(list, topic, j));
	}
}
