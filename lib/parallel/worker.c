/* What strategies share: what ranks agree on, what one of them tells. */
#include <stdarg.h>
#include <stdio.h>

#include "parallel/strategy.h"

#define LINE 600

void nn_worker_note(const struct nn_worker *w, const char *format, ...)
{
	char text[LINE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	w->note(w->arg, text);
}

int nn_worker_synchronize(struct nn_worker *w, struct nn_error *err)
{
	return w->layout->strategy->settle ? w->layout->strategy->settle(w, err) : 0;
}

void nn_control_merge(struct nn_control *wish, const struct nn_control *other)
{
	if (!wish->stop)
		wish->stop = other->stop;
	if (!wish->save)
		wish->save = other->save;
	wish->due |= other->due;
	wish->over |= other->over;
	wish->norm |= other->norm;
}
