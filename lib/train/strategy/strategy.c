/* The strategies there are. */
#include <string.h>

#include "base/text.h"
#include "train/job.h"

const struct nn_strategy *const nn_strategies[] = {
	&nn_strategy_sync, &nn_strategy_async, &nn_strategy_local, &nn_strategy_master, NULL,
};

const struct nn_strategy *nn_strategy_parse(const char *text, struct nn_strategy_terms *terms,
					    struct nn_error *err)
{
	struct nn_strategy_terms unused;
	size_t length = strcspn(text, ":");

	if (!terms)
		terms = &unused;
	*terms = (struct nn_strategy_terms){ 0 };
	for (const struct nn_strategy *const *s = nn_strategies; *s; s++) {
		if (strlen((*s)->name) != length || memcmp((*s)->name, text, length) != 0)
			continue;
		if ((*s)->parse)
			return (*s)->parse(terms, text + length, err) < 0 ? NULL : *s;
		if (text[length] == '\0')
			return *s;
		nn_fail(err, NN_EUSAGE, "expected nothing after %s", (*s)->name);
		return NULL;
	}
	nn_fail(err, NN_EUSAGE, "expected sync, async, local:H, local:H@STEP or master");
	return NULL;
}

const char *nn_strategy_asked(const struct nn_train *t)
{
	if (t->pipe)
		return "pipeline";
	if (t->tensor)
		return "tensor";
	return t->options->strategy ? t->options->strategy : nn_strategy_sync.name;
}

struct nn_strategy_batch nn_train_batch(const struct nn_train *t, struct nn_order *o,
					uint64_t batch)
{
	uint64_t epoch = batch / t->steps_per_epoch,
		 at = batch % t->steps_per_epoch * t->options->batch;
	size_t n = t->n_rows - at < t->options->batch ? t->n_rows - at : t->options->batch;

	if (o->epoch != epoch + 1) {
		nn_shuffle(t->std->seed, epoch, t->rows, o->rows, t->n_rows, t->window);
		o->epoch = epoch + 1;
	}
	return (struct nn_strategy_batch){
		.rows = o->rows + at, .n = n, .sample = epoch * t->n_rows + at, .number = batch + 1
	};
}

int nn_train_settle(struct nn_train *t, struct nn_error *err)
{
	return t->strategy->settle ? t->strategy->settle(t, err) : 0;
}

void nn_wish_join(struct nn_wish *wish, const struct nn_wish *other)
{
	if (!wish->stop)
		wish->stop = other->stop;
	if (!wish->save)
		wish->save = other->save;
	wish->due |= other->due;
	wish->over |= other->over;
	wish->norm |= other->norm;
}
