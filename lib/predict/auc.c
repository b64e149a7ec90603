/* The area under the ROC curve from scores that come one after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "predict/auc.h"

#define MANTISSA_F32 29 /* last bits of a double that an f32 does not have */

void nn_auc_free(struct nn_auc *a)
{
	nn_free(a->scores);
}

void nn_auc_reset(struct nn_auc *a)
{
	a->n = a->n_sorted = 0;
	a->dropped = 0;
	a->undefined = false;
}

/* Ties in every member are the same score: no order of qsort shows. */
static int by_score(const void *a, const void *b)
{
	const struct nn_auc_score *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	for (int k = 0; k < 2; k++)
		if (x->weight[k] != y->weight[k])
			return x->weight[k] < y->weight[k] ? -1 : 1;
	return 0;
}

/* Neighbours of the same score become one. */
static void merge(struct nn_auc *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (kept == 0 || a->scores[kept - 1].score != a->scores[i].score) {
			a->scores[kept++] = a->scores[i];
			continue;
		}
		for (int k = 0; k < 2; k++)
			a->scores[kept - 1].weight[k] += a->scores[i].weight[k];
	}
	a->n = a->n_sorted = kept;
}

static double without(double score, unsigned bits)
{
	uint64_t word;

	memcpy(&word, &score, sizeof word);
	word &= ~(((uint64_t)1 << bits) - 1);
	memcpy(&score, &word, sizeof score);
	return score;
}

void nn_auc_sort(struct nn_auc *a)
{
	if (a->n == a->n_sorted)
		return;
	qsort(a->scores, a->n, sizeof *a->scores, by_score);
	merge(a);
}

/* Dropping bits keeps the order, so what was sorted stays so. */
static void make_room(struct nn_auc *a)
{
	nn_auc_sort(a);
	while (a->n > NN_AUC_SCORES / 2) {
		a->dropped += a->dropped ? 1 : MANTISSA_F32;
		for (size_t i = 0; i < a->n; i++)
			a->scores[i].score = without(a->scores[i].score, a->dropped);
		merge(a);
	}
}

static bool grow(struct nn_auc *a)
{
	size_t room = a->room ? 2 * a->room : 1024, size = sizeof *a->scores;
	struct nn_auc_score *scores = nn_realloc(a->scores, a->room * size, room * size, NULL);

	a->undefined |= !scores;
	if (!scores)
		return false;
	a->scores = scores;
	a->room = room;
	return true;
}

void nn_auc_add(struct nn_auc *a, double score, bool second, double weight)
{
	struct nn_auc_score new = { .score = without(score, a->dropped) };

	a->undefined |= isnan(score) != 0;
	if (a->undefined)
		return;
	if (a->n == NN_AUC_SCORES)
		make_room(a);
	if (a->n == a->room && !grow(a))
		return;
	new.weight[second] = weight;
	a->scores[a->n++] = new;
}

double nn_auc_area(struct nn_auc *a)
{
	double below = 0, seconds = 0, area = 0;

	if (a->undefined)
		return NAN;
	nn_auc_sort(a);
	for (size_t i = 0; i < a->n; i++) {
		const double *weight = a->scores[i].weight;

		area += weight[1] * (below + weight[0] / 2);
		below += weight[0];
		seconds += weight[1];
	}
	return below > 0 && seconds > 0 ? area / (below * seconds) : 0;
}
