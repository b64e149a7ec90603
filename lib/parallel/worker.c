/* What strategies share: the batches of a task, what ranks agree on, what one of them tells. */
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

struct nn_strategy_batch nn_strategy_batch_at(const struct nn_task *t, struct nn_order *o,
					      uint64_t batch)
{
	uint64_t epoch = batch / t->steps_per_epoch,
		 at = batch % t->steps_per_epoch * t->recipe->batch;
	size_t n = t->n_rows - at < t->recipe->batch ? t->n_rows - at : t->recipe->batch;

	if (o->epoch != epoch + 1) {
		nn_shuffle(t->seed, epoch, t->rows, o->rows, t->n_rows, t->window);
		o->epoch = epoch + 1;
	}
	return (struct nn_strategy_batch){
		.rows = o->rows + at, .n = n, .sample = epoch * t->n_rows + at, .number = batch + 1
	};
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
