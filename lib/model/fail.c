/* What is wrong with a line: where it stands, which layer it is, and the sentence. */
#include <stdarg.h>
#include <stdio.h>
#include "model/net.h"

int nn_statement_fail(const struct nn_net *net, const struct nn_statement *statement,
		      struct nn_error *err, const char *format, ...)
{
	static const char *const kinds[] = { "", "input", "repeat", "}" };
	const char *what = statement->layer ? statement->layer->name : kinds[statement->kind];
	char text[sizeof err->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return nn_text_fail(net->place, statement->source, net->code, err, "%s: %s", what, text);
}

int nn_statement_fail_below(const struct nn_net *net, const struct nn_statement *statement,
			    struct nn_error *err, const struct nn_error *below)
{
	if (below->code == NN_ENOMEM)
		return nn_fail(err, below->code, "%s", below->text);
	return nn_statement_fail(net, statement, err, "%s", below->text);
}
