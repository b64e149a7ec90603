/* The strategies there are. */
#include "train/strategy/strategy.h"

const struct nn_strategy *const nn_strategies[] = { &nn_strategy_sync, NULL };

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
