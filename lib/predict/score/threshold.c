/* One pass over the scores, the largest first: what is at and above each of them. */
#include <stddef.h>

#include "predict/score/threshold.h"

const char *const nn_threshold_words[] = { [NN_THRESHOLD_NONE] = "none",
					   [NN_THRESHOLD_F1] = "f1",
					   [NN_THRESHOLD_YOUDEN] = "youden",
					   NULL };

/* Weights of rows of the first class and of the second. */
struct counts {
	double all[2], above[2];
};

static double f1(const struct counts *c)
{
	return 2 * c->above[1] / (c->above[0] + c->above[1] + c->all[1]);
}

/* J times the rows of both classes: of whole weights without rounding, so equals are equal. */
static double youden(const struct counts *c)
{
	return c->above[1] * c->all[0] - c->above[0] * c->all[1];
}

bool nn_threshold_find(struct nn_auc *auc, enum nn_threshold_by by, struct nn_threshold *found)
{
	struct counts c = { 0 };
	double best = -1;

	*found = (struct nn_threshold){ 0 };
	nn_auc_sort(auc);
	if (auc->undefined)
		return false;
	for (size_t i = 0; i < auc->n; i++)
		for (int k = 0; k < 2; k++)
			c.all[k] += auc->scores[i].weight[k];
	if (c.all[0] == 0 || c.all[1] == 0)
		return false;
	for (size_t i = auc->n; i-- > 0 && auc->scores[i].score > 0;) {
		double figure;

		for (int k = 0; k < 2; k++)
			c.above[k] += auc->scores[i].weight[k];
		figure = by == NN_THRESHOLD_F1 ? f1(&c) : youden(&c);
		if (found->by && figure < best)
			continue;
		best = figure;
		*found = (struct nn_threshold){ by, auc->scores[i].score, figure };
	}
	if (by == NN_THRESHOLD_YOUDEN)
		found->figure /= c.all[0] * c.all[1];
	return found->by != NN_THRESHOLD_NONE;
}
