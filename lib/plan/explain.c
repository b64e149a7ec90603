/* What can be told of a plan. */
#include "plan/explain.h"
#include "plan/fit.h"

int nn_explain_make(struct nn_explain *e, const struct nn_plan *plan,
		    const struct nn_command *command, struct nn_error *err)
{
	*e = (struct nn_explain){ .plan = plan };
	if (nn_layers_make(&e->layers, plan, err) < 0 ||
	    nn_fit_largest(plan, &plan->fit, &e->largest_batch, err) < 0)
		return -1;
	if (!plan->fit.fits)
		e->n_suggestions = nn_suggest(plan, command, e->suggestions);
	return 0;
}

void nn_explain_free(struct nn_explain *e)
{
	for (size_t i = 0; i < e->n_suggestions; i++)
		nn_text_free(&e->suggestions[i].command);
	nn_layers_free(&e->layers);
}
