/* What the user is told while a training goes on; rank 0 speaks for all. */
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "train/tell/progress.h"
#include "train/tell/telling.h"

#define LINE 600

/* One line, where progress stood; in the log, too, where it has a kind. */
__attribute__((format(printf, 4, 0))) static void tell(const struct nn_telling *t,
						       void (*say)(void *arg, const char *text),
						       const char *kind, const char *format,
						       va_list args)
{
	char text[LINE];

	if (!t->speaks)
		return;
	vsnprintf(text, sizeof text, format, args);
	if (t->progress)
		nn_progress_clear(t->progress);
	say(t->host.arg, text);
	if (kind && t->log) {
		nn_log_begin(t->log, kind);
		nn_log_string(t->log, "text", text);
		nn_log_end(t->log);
	}
}

void nn_tell_warning(const struct nn_telling *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(t, t->host.warn, "warning", format, args);
	va_end(args);
}

void nn_tell_note(const struct nn_telling *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(t, t->host.note, NULL, format, args);
	va_end(args);
}

void nn_tell_saved(const struct nn_telling *t, const char *path, uint64_t step)
{
	if (t->host.saved)
		t->host.saved(t->host.arg, path, step);
}
