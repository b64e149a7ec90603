/* What the user is told while a training goes on; rank 0 speaks for all. */
#include <stdarg.h>
#include <stdio.h>

#include "train/job.h"
#include "parallel/ranks.h"
#include "base/log.h"
#include "train/tell/progress.h"

#define LINE 600

/* One line, where progress stood; in the log, too, where it has a kind. */
__attribute__((format(printf, 4, 0))) static void tell(struct nn_train *t,
						       void (*say)(void *arg, const char *text),
						       const char *kind, const char *format,
						       va_list args)
{
	char text[LINE];

	if (!nn_layout_first(&t->layout))
		return;
	vsnprintf(text, sizeof text, format, args);
	if (t->told.progress)
		nn_progress_clear(t->told.progress);
	say(t->setup.host.arg, text);
	if (kind && t->told.log) {
		nn_log_begin(t->told.log, kind);
		nn_log_string(t->told.log, "text", text);
		nn_log_end(t->told.log);
	}
}

void nn_train_warn(struct nn_train *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(t, t->setup.host.warn, "warning", format, args);
	va_end(args);
}

void nn_train_note(struct nn_train *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(t, t->setup.host.note, NULL, format, args);
	va_end(args);
}

void nn_train_tell_saved(const struct nn_train *t, uint64_t step)
{
	if (t->setup.host.saved)
		t->setup.host.saved(t->setup.host.arg, t->kept.state_path, step);
}
