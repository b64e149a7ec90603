/* Figures of stages as lines of text. */
#include <math.h>

#include "base/text.h"
#include "data/ahead/verdict.h"

struct nn_ahead_verdict nn_ahead_judge(struct nn_ahead *a)
{
	struct nn_ahead_figures f = nn_ahead_figures(a);
	struct nn_stages *stages = nn_ahead_stages(a);
	struct nn_ahead_verdict v = { .wait_share = f.seconds > 0 ? f.waited_s / f.seconds : 0 };

	v.slowest = nn_stages_figures(stages, 0);
	for (size_t i = 1; i < nn_stages_count(stages); i++) {
		struct nn_stage_figures stage = nn_stages_figures(stages, i);

		if (stage.busy * stage.workers > v.slowest.busy * v.slowest.workers)
			v.slowest = stage;
	}
	v.input_bound = v.wait_share > NN_INPUT_BOUND;
	return v;
}

void nn_ahead_sentence(struct nn_ahead *a, struct nn_text *text)
{
	struct nn_ahead_verdict v = nn_ahead_judge(a);

	if (v.input_bound)
		nn_text_addf(text, "input-bound: %s, %d of %d worker%s busy %.0f %%",
			     v.slowest.name, v.slowest.workers, v.slowest.most,
			     nn_s(v.slowest.most), 100 * v.slowest.busy);
	else
		nn_text_addf(text, "compute-bound: steps waited %.1f %% of the time for samples",
			     100 * v.wait_share);
}

static void add_rate(struct nn_text *text, const char *before, double rate)
{
	if (!isnan(rate))
		nn_text_addf(text, "%s%.4g samples/s", before, rate);
}

void nn_ahead_line(struct nn_ahead *a, size_t i, struct nn_text *text)
{
	struct nn_ahead_figures f;

	if (i < nn_stages_count(nn_ahead_stages(a))) {
		struct nn_stage_figures s = nn_stages_figures(nn_ahead_stages(a), i);

		nn_text_addf(text, "%s: %d of %d worker%s busy %.0f %%, queue %.0f samples", s.name,
			     s.workers, s.most, nn_s(s.most), 100 * s.busy, s.queue);
		add_rate(text, ", can do ", s.rows_per_s);
		return;
	}
	f = nn_ahead_figures(a);
	nn_text_addf(text, "%zu of at most %zu batches ahead in %zu bytes", f.batches, f.most,
		     f.bytes);
	add_rate(text, "; steps would take ", f.wanted);
	add_rate(text, ", predicted ", f.predicted);
	add_rate(text, ", achieved ", f.achieved);
}
