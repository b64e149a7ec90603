/* What strategies share: notes for the user, and parameters that come together. */
#include <stdarg.h>
#include <stdio.h>

#include "parallel/worker.h"

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

int nn_worker_synchronize(struct nn_worker *w, struct nn_control *control, struct nn_error *err)
{
	const struct nn_strategy *strategy = w->layout->strategy;

	return strategy->synchronize ? strategy->synchronize(w, control, err) : 0;
}
