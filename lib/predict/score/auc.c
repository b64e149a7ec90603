/* The area under the ROC curve from scores that come one after another. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "predict/score/auc.h"

#define MANTISSA_F32 29 /* last bits of a double that an f32 does not have */

size_t nn_auc_bytes(size_t n)
{
	return 2 * (n < NN_AUC_SCORES ? n : NN_AUC_SCORES) * sizeof(struct nn_auc_score);
}

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

/* ---- sorting: by digits of 11 bits, the last first; rows of equal scores keep their order ---- */

#define DIGIT 11
#define DIGITS ((64 + DIGIT - 1) / DIGIT)
#define BUCKETS ((size_t)1 << DIGIT)

/* Whole numbers in the order of scores. */
static uint64_t key_of(double score)
{
	uint64_t word;

	memcpy(&word, &score, sizeof word);
	return word >> 63 ? ~word : word | (uint64_t)1 << 63;
}

static size_t digit_of(double score, size_t digit)
{
	return (size_t)(key_of(score) >> (digit * DIGIT)) & (BUCKETS - 1);
}

/* Counts of each value of a digit to places of the first one with it; false: all have the same. */
static bool place(size_t *counts, size_t n)
{
	size_t at = 0;

	for (size_t b = 0; b < BUCKETS; b++) {
		size_t count = counts[b];

		if (count == n)
			return false;
		counts[b] = at;
		at += count;
	}
	return true;
}

/* LSD radix sort: Knuth, The Art of Computer Programming 3, 5.2.5. false: memory is short. */
static bool sort_scores(struct nn_auc *a)
{
	struct nn_auc_score *other = nn_alloc(a->room, sizeof *other, NULL);
	size_t *counts = nn_alloc(DIGITS * BUCKETS, sizeof *counts, NULL);
	bool good = other && counts;

	for (size_t i = 0; good && i < a->n; i++)
		for (size_t d = 0; d < DIGITS; d++)
			counts[d * BUCKETS + digit_of(a->scores[i].score, d)]++;
	for (size_t d = 0; good && d < DIGITS; d++) {
		struct nn_auc_score *from = a->scores;
		size_t *to = counts + d * BUCKETS;

		if (!place(to, a->n))
			continue;
		for (size_t i = 0; i < a->n; i++)
			other[to[digit_of(from[i].score, d)]++] = from[i];
		a->scores = other;
		other = from;
	}
	nn_free(counts);
	nn_free(other);
	return good;
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
	if (sort_scores(a))
		merge(a);
	else
		a->undefined = true;
}

/* Dropping bits keeps the order, so what was sorted stays so. */
static void make_room(struct nn_auc *a)
{
	nn_auc_sort(a);
	while (!a->undefined && a->n > NN_AUC_SCORES / 2) {
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
	if (a->undefined)
		return;
	if (a->n == a->room && !grow(a))
		return;
	new.weight[second] = weight;
	a->scores[a->n++] = new;
}

/*
 * Of all pairs those in order, by the sum of both kinds: with weights, whose products are rounded,
 * rows that are separated have an area of 1 and none has more.
 */
double nn_auc_area(struct nn_auc *a)
{
	double firsts = 0, seconds = 0, right = 0, wrong = 0;

	nn_auc_sort(a);
	if (a->undefined)
		return NAN;
	for (size_t i = 0; i < a->n; i++) {
		const double *weight = a->scores[i].weight;

		right += weight[1] * (firsts + weight[0] / 2);
		wrong += weight[0] * (seconds + weight[1] / 2);
		firsts += weight[0];
		seconds += weight[1];
	}
	return firsts > 0 && seconds > 0 ? right / (right + wrong) : 0;
}
