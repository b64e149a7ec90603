/* The area under the ROC curve: exact while scores fit, near it beyond; thresholds by the same
 * scores. */
#include "config.h"
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "predict/score/threshold.h"
#include "tap.h"

#define MANY (NN_AUC_SCORES + 1000)

static double uniform(uint64_t i)
{
	uint32_t x[4];

	nn_philox(1, i, 0, 0, x);
	return x[0] / 4294967296.0;
}

/* Every pair, by the words of the definition. */
static double by_pairs(const double *score, const bool *second, const double *weight, size_t n)
{
	double won = 0, pairs = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			double w = weight[i] * weight[k];

			if (!second[i] || second[k])
				continue;
			pairs += w;
			won += score[i] > score[k] ? w : score[i] == score[k] ? w / 2 : 0;
		}
	return won / pairs;
}

static void few(void)
{
	double score[200], weight[200];
	bool second[200];
	struct nn_auc a = { 0 };
	double area;

	for (size_t i = 0; i < 200; i++) {
		score[i] = floor(uniform(i) * 50) / 50;
		second[i] = uniform(1000 + i) < score[i];
		weight[i] = 1 + floor(uniform(2000 + i) * 4);
		nn_auc_add(&a, score[i], second[i], weight[i]);
	}
	ok(fabs(nn_auc_area(&a) - by_pairs(score, second, weight, 200)) < 1e-12,
	   "auc: the weighted share of pairs in order, equal scores half");
	area = nn_auc_area(&a);
	nn_auc_reset(&a);
	for (size_t i = 0; i < 200; i++)
		nn_auc_add(&a, (score[i] - 0.5) * 1e30, second[i], weight[i]);
	ok(nn_auc_area(&a) == area, "auc: the order of scores counts alone, below 0 too");
	nn_auc_add(&a, NAN, true, 1);
	ok(isnan(nn_auc_area(&a)), "auc: a score that is no number makes it one, too");
	nn_auc_reset(&a);
	nn_auc_add(&a, 0.5, true, 1);
	ok(nn_auc_area(&a) == 0, "auc: 0/0 of one class alone is 0");
	nn_auc_free(&a);
}

/* By its definition: 2 tp / (2 tp + fp + fn), or (tp n - fp p) / (n p), of scores from t on. */
static double figure_of(enum nn_threshold_by by, double t, const double *score, const bool *second,
			const double *weight, size_t n)
{
	double above[2] = { 0 }, all[2] = { 0 };

	for (size_t i = 0; i < n; i++) {
		all[second[i]] += weight[i];
		above[second[i]] += score[i] >= t ? weight[i] : 0;
	}
	return by == NN_THRESHOLD_F1 ? 2 * above[1] / (above[0] + above[1] + all[1])
				     : (above[1] * all[0] - above[0] * all[1]) / (all[0] * all[1]);
}

static void thresholds(void)
{
	double score[300], weight[300];
	bool second[300], best = true;
	struct nn_threshold found;
	struct nn_auc a = { 0 };

	for (uint64_t seed = 0; seed < 40; seed++) {
		nn_auc_reset(&a);
		for (size_t i = 0; i < 300; i++) {
			score[i] = floor(uniform(9000 * seed + i) * 12) / 12;
			second[i] = uniform(9000 * seed + 3000 + i) < 0.2 + score[i] / 3;
			weight[i] = 1 + floor(uniform(9000 * seed + 6000 + i) * 2);
			nn_auc_add(&a, score[i], second[i], weight[i]);
		}
		for (int by = NN_THRESHOLD_F1; by <= NN_THRESHOLD_YOUDEN; by++) {
			double t = 0, most = -1, f;

			for (int k = 1; k < 12; k++) {
				f = figure_of((enum nn_threshold_by)by, k / 12.0, score, second,
					      weight, 300);
				if (f > most) {
					most = f;
					t = k / 12.0;
				}
			}
			best = best && nn_threshold_find(&a, (enum nn_threshold_by)by, &found) &&
			       found.value == t && found.figure == most;
		}
	}
	ok(best, "threshold: the best of all scores above 0");
	nn_auc_reset(&a);
	/* F1 is 2/3 from 0.9 and from 0.6 on, J is 1/2 from 0.9 and from 0.3 on */
	for (size_t i = 0; i < 4; i++)
		nn_auc_add(&a, 0.9 - 0.1 * (double)i, i == 0 || i == 3, 1);
	best = nn_threshold_find(&a, NN_THRESHOLD_F1, &found) && found.value == 0.9 - 0.1 * 3.0;
	nn_auc_reset(&a);
	for (size_t i = 0; i < 4; i++)
		nn_auc_add(&a, 0.9 - 0.3 * (double)i, i % 2 == 0, 1);
	best = best && nn_threshold_find(&a, NN_THRESHOLD_YOUDEN, &found) &&
	       found.value == 0.9 - 0.3 * 2.0;
	ok(best, "threshold: of equals the smallest");
	nn_auc_reset(&a);
	nn_auc_add(&a, 0.5, true, 1);
	ok(!nn_threshold_find(&a, NN_THRESHOLD_F1, &found) && !found.by,
	   "threshold: there is none without rows of both classes");
	nn_auc_add(&a, 0, false, 1);
	ok(nn_threshold_find(&a, NN_THRESHOLD_YOUDEN, &found) && found.value == 0.5 &&
		   found.figure == 1,
	   "threshold: of two rows it is the score of the second class");
	nn_auc_free(&a);
}

/* Scores 0 to 1, of the second class with the probability of the score: the area is 5/6. */
static double many(struct nn_auc *a)
{
	for (size_t i = 0; i < MANY; i++) {
		double score = uniform(i);

		nn_auc_add(a, score, uniform(MANY + i) < score, 1);
	}
	return nn_auc_area(a);
}

int main(void)
{
	struct nn_auc a = { 0 };
	double area;

	few();
	thresholds();
	area = many(&a);
	note("%zu scores, %u bits dropped: %.6f", (size_t)MANY, a.dropped, area);
	ok(a.room <= NN_AUC_SCORES && a.dropped > 0 && fabs(area - 5.0 / 6) < 1e-3,
	   "auc: more scores than fit lose bits, the area stays what it is to a thousandth");
	nn_auc_free(&a);
	return tap_done();
}
