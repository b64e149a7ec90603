/*
 * Prints what the option tables are to man pages and completions: gen-options TOOL
 * man|bash|zsh|fish|help. Not installed.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/tool.h"

int main(int argc, char **argv)
{
	static const struct nn_opt_list *const lists[] = { &nn_allreduce_list, &nn_bench_list,
							   &nn_predict_list,   &nn_serve_list,
							   &nn_train_list,     NULL };
	struct nn_text text = { 0 };

	for (size_t i = 0; argc == 3 && lists[i]; i++) {
		if (strcmp(lists[i]->tool, argv[1]) != 0)
			continue;
		if (strcmp(argv[2], "man") == 0)
			nn_opt_man(lists[i], &text);
		else if (strcmp(argv[2], "help") == 0)
			nn_opt_help(lists[i], "all", &text, NULL);
		else
			nn_opt_completion(lists[i], argv[2], &text);
	}
	if (!text.data) {
		fprintf(stderr, "usage: gen-options TOOL man|bash|zsh|fish|help\n");
		return 2;
	}
	fputs(text.data, stdout);
	nn_text_free(&text);
	return fflush(stdout) != 0;
}
