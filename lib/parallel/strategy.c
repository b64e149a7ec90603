/* The strategies there are. */
#include <string.h>

#include "base/text.h"
#include "parallel/strategy.h"

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

void nn_control_merge(struct nn_control *control, const struct nn_control *other)
{
	if (!control->stop)
		control->stop = other->stop;
	if (!control->save)
		control->save = other->save;
	control->due |= other->due;
	control->over |= other->over;
	control->norm |= other->norm;
}
