/* Several devices: which rows each takes, and that a row's answer does not depend on it. */
#include "serve-batch.h"

/* Sixteen rows take long enough to be worth two threads. */
#define WIDE "input 60, dense 800, relu, dense 800, relu, dense 2"

/* first + row * n seconds */
static struct nn_costs *line(double first, double row)
{
	struct nn_costs *c = calloc(1, sizeof *c);

	for (int i = 0; i < 8; i++)
		for (size_t n = 1; n <= 64; n *= 2)
			nn_costs_add(c, n, first + row * (double)n);
	return c;
}

static bool says(const struct nn_split_view *views, size_t rows, int place, size_t least,
		 size_t most)
{
	struct nn_split s = nn_split_decide(views, 2, rows);

	if (s.place == place && s.rows >= least && s.rows <= most)
		return true;
	note("%zu rows: %zu at place %d", rows, s.rows, s.place);
	return false;
}

static void costs_decide(void)
{
	struct nn_split_view v[] = { { line(0, 100e-6), 0 }, { line(400e-6, 10e-6), 0 } };

	ok(says(v, 1, 0, 1, 1) && says(v, 3, 0, 3, 3),
	   "split: few rows go to the device that has them done first");
	ok(says(v, 64, 0, 8, 10), "split: many are cut so that both devices end together");
	v[0].busy = 100e-3;
	ok(says(v, 3, 1, 3, 3), "split: a device that is busy for long is not waited for");
	v[0].busy = 20e-6;
	ok(says(v, 1, -1, 1, 1), "split: one that is soon free and faster is");
	v[0].busy = 0;
	v[1].busy = 20e-3;
	ok(says(v, 64, 0, 64, 64), "split: all go to one while the other is busy");
	free((void *)v[0].costs);
	free((void *)v[1].costs);
	v[0] = (struct nn_split_view){ line(10e-6, 5e-3), 0 };
	v[1] = (struct nn_split_view){ line(20e-6, 5e-3), 0 };
	ok(says(v, 2, 0, 1, 1) && says(v, 64, 0, 31, 32),
	   "split: equal devices have about half of the rows each");
	free((void *)v[0].costs);
	free((void *)v[1].costs);
}

/* Four requests at once, which are cut and joined; false: a byte differs. */
static bool four_at_once(struct nn_batcher *b, struct nn_lane *lane, const struct nn_model *model)
{
	struct request *asked[4];
	bool good = true;

	for (unsigned i = 0; i < 4; i++)
		asked[i] = ask(b, lane, i * 5, 12, i);
	for (unsigned i = 0; i < 4; i++)
		nn_batcher_round(b, i);
	for (unsigned i = 0; i < 4; i++) {
		float alone[12 * 2];

		sem_wait(&asked[i]->told);
		good &= nn_model_predict(model, rows + (size_t)i * 5 * IN, 12, alone, NULL) == 0 &&
			memcmp(alone, asked[i]->out, sizeof alone) == 0;
		sem_post(&asked[i]->told);
		good &= state_of(asked[i]) == NN_JOB_DONE;
	}
	return good;
}

/*
 * Between two devices, until each of them had some of the rows; but on a busy machine the thread of
 * one may come too late every time.
 */
static bool same_bytes(const struct nn_model *model, const struct nn_model *other)
{
	const struct nn_model *const models[] = { model, other, NULL };
	struct nn_lane_counts counts = { 0 };
	struct nn_batcher *b = open_batcher(-1);
	struct nn_lane *lane = NULL;
	bool good = b && nn_lane_open(&lane, b, models, false, NULL) == 0;
	uint64_t asked = 0, most = 500 * 48;

	while (good && asked < most) {
		good = four_at_once(b, lane, model);
		nn_lane_count(lane, &counts);
		asked += 48;
		if (counts.place_rows[0] && counts.place_rows[1])
			most = 50 * 48;
	}
	good &= counts.place_rows[0] + counts.place_rows[1] == asked;
	nn_batcher_close(b);
	return good;
}

/*
 * What so many rows took on one of them once is not believed for ever: it is measured again when
 * batches go by it.
 */
static void costs_stay_fresh(const struct nn_model *model, const struct nn_model *other, size_t n,
			     double seconds)
{
	const struct nn_model *const models[] = { model, other, NULL };
	struct nn_batcher *b = open_batcher(0);
	struct nn_lane *lane = NULL;
	double cost = seconds;

	if (!ok(b && nn_lane_open(&lane, b, models, false, NULL) == 0, "split: a lane opens"))
		return;
	pthread_mutex_lock(&b->lock);
	for (int i = 0; i < 256; i++)
		nn_costs_add(&lane->places[1].costs, n, seconds);
	pthread_mutex_unlock(&b->lock);
	for (int asked = 0; asked < 20000 && cost > seconds / 4; asked++) {
		struct request *r = ask(b, lane, 0, n, 0);

		nn_batcher_round(b, 0);
		state_of(r);
		pthread_mutex_lock(&b->lock);
		cost = nn_costs_at(&lane->places[1].costs, n);
		pthread_mutex_unlock(&b->lock);
	}
	ok(cost <= seconds / 4, "split: a device that traffic has left is measured again, %zu rows",
	   n);
	nn_batcher_close(b);
}

int main(void)
{
	struct nn_model *model, *other;

	fill_rows();
	costs_decide();
	model = serve_model(WIDE, NULL, NULL, NULL);
	other = serve_model(WIDE, NULL, NULL, NULL);
	if (!ok(model && other, "split: models open"))
		return tap_done();
	ok(same_bytes(model, other),
	   "split: rows cut between two devices have the bytes they have alone");
	costs_stay_fresh(model, other, 1, 10);
	costs_stay_fresh(model, other, 12, 45e-3);
	costs_stay_fresh(model, other, 12, 450e-3);
	nn_model_close(model);
	nn_model_close(other);
	return tap_done();
}
