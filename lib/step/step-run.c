/*
 * What comes of a batch: its loss and counts, the update, and a whole step, of which nothing is
 * looked at before its end: on a device with memory of its own the next one is under way by then.
 */
#include <math.h>

#include "base/clock.h"
#include "step/step-inside.h"

static struct nn_step_result empty_result(void)
{
	return (struct nn_step_result){
		.loss = NAN, .norm = NAN, .finite = true, .nonfinite_line = -1
	};
}

/* What the batch changes, but for the optimizer's part. */
static void scale(struct nn_step *s, struct nn_step_result *result)
{
	*result = empty_result();
	nn_graph_now(s->graph, 0)->sample = s->batch.sample;
	for (int i = 0; i < s->n_outputs; i++)
		nn_train_output_scale(&s->outputs[i], s->graph, s->cut, s->weights + i,
				      (size_t)s->n_outputs);
	for (int i = 0; i < s->n_outputs; i++)
		nn_graph_now(s->graph, 1 + (int)s->outputs[i].number)->scale *=
			nn_optimizer_scale(s->optimizer);
	if (s->n_outputs > 0)
		result->weight = s->outputs[0].weight;
}

/*
 * What a batch adds to in device memory begins empty: lists of rows, and figures, of which the
 * host's side was cleared when the batch began.
 */
static void clear_sums(struct nn_step *s)
{
	nn_graph_begin(s->graph);
	if (s->queue)
		nn_queue_clear(s->queue, s->figures.there,
			       s->cut->n_leaves * nn_step_n_figures(s) * sizeof(double));
}

void nn_step_scale(struct nn_step *s, struct nn_step_result *result)
{
	scale(s, result);
	nn_graph_send_now(s->graph);
	clear_sums(s);
}

/*
 * Of the run's leaves, all of them where now is given, which keeps updates from happening where a
 * loss is not finite; forward has left what they are summed from.
 */
static void ask_losses(struct nn_step *s, struct nn_now *now)
{
	for (int i = 0; i < s->n_outputs; i++)
		nn_train_output_losses(&s->outputs[i], s->cut, nn_step_figures(s, 0) + i,
				       nn_step_n_figures(s), now);
}

/* Losses and counts of the run's leaves; for other ranks statistics of its groups. */
static void fetch_figures(struct nn_step *s)
{
	const struct nn_cut *cut = s->cut;
	size_t bytes = nn_step_n_figures(s) * sizeof(double), from, to;

	nn_mirror_fetch(&s->figures, s->queue, cut->run.from * bytes,
			(cut->run.to - cut->run.from) * bytes);
	if (!s->statistics.there)
		return;
	from = cut->group_of_leaf[cut->run.from];
	to = cut->group_of_leaf[cut->run.to];
	nn_mirror_fetch(&s->statistics, s->queue, from * s->statistics_bytes,
			(to - from) * s->statistics_bytes);
}

static void ask_figures(struct nn_step *s, struct nn_now *now)
{
	nn_graph_sum_tables(s->graph, s->cut->run.from, s->cut->run.to);
	ask_losses(s, now);
	fetch_figures(s);
}

/* Meanwhile the next batch sets out. */
static int wait_figures(struct nn_step *s, struct nn_error *err)
{
	if (s->queue)
		nn_step_transfer_next(s);
	return nn_queue_wait(s->queue, err);
}

int nn_step_measure(struct nn_step *s, struct nn_step_result *result, struct nn_error *err)
{
	double start = nn_now_s();
	int status;

	ask_figures(s, NULL);
	status = wait_figures(s, err);
	result->compute_s += nn_now_s() - start;
	return status;
}

static bool are_losses_finite(const struct nn_step *s)
{
	const double *figures = s->figures.host;
	bool finite = true;

	for (size_t i = s->cut->run.from; i < s->cut->run.to; i++)
		for (int k = 0; k < s->n_outputs; k++)
			finite &= isfinite(figures[i * nn_step_n_figures(s) + (size_t)k]) != 0;
	return finite;
}

/* Forward once more, until a span's loss is not finite: the line that went wrong first, or -1. */
static int find_nonfinite(struct nn_step *s, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_step_result again = { 0 };

	for (size_t i = 0; i < s->cut->n_spans; i++) {
		if (nn_step_forward(s, i, &again, err) < 0)
			return -1;
		if (again.finite)
			continue;
		result->nonfinite_line =
			nn_graph_first_nonfinite(s->graph, s->cut->spans[i].span.rows);
		return 0;
	}
	return 0;
}

/*
 * The host's loss of a span is there at once; a device's is looked at when all of them are, so that
 * nobody waits in between.
 */
int nn_step_run(struct nn_step *s, struct nn_step_result *result, struct nn_error *err)
{
	nn_step_scale(s, result);
	for (size_t i = 0; i < s->cut->n_spans; i++) {
		if (nn_step_ask_forward(s, &s->cut->spans[i], !s->queue, result, err) < 0)
			return -1;
		result->finite = s->queue || nn_step_is_found_finite(s);
		if (!result->finite) {
			result->nonfinite_line =
				nn_graph_first_nonfinite(s->graph, s->cut->spans[i].span.rows);
			return 0;
		}
		if (nn_step_backward(s, i, result, err) < 0)
			return -1;
	}
	if (nn_step_measure(s, result, err) < 0)
		return -1;
	result->finite = !s->queue || are_losses_finite(s);
	return result->finite ? 0 : find_nonfinite(s, result, err);
}

/* Squares along the tree of leaves, as all sums of numbers. */
static double squares(struct nn_step *s)
{
	const double *figures = s->figures.host;
	size_t leaves = s->cut->n_leaves;

	for (size_t i = 0; i < leaves; i++)
		s->squares[i] =
			figures[i * nn_step_n_figures(s) + (size_t)s->n_outputs + NN_COUNT_SQUARES];
	for (size_t n = 1; n < leaves; n *= 2)
		for (size_t i = 0; i < leaves; i += 2 * n)
			s->squares[i] += s->squares[i + n];
	return s->squares[0];
}

bool nn_step_finish(struct nn_step *s, struct nn_step_result *result)
{
	const double *figures = s->figures.host;
	size_t width = nn_step_n_figures(s);

	result->loss = 0;
	for (int i = 0; i < s->n_outputs; i++)
		result->loss += s->outputs[i].share *
				nn_train_output_mean(&s->outputs[i], s->cut, figures + i, width);
	for (size_t i = 0; i < s->cut->n_leaves; i++) {
		const double *counts = &figures[i * width + (size_t)s->n_outputs];

		result->hits += counts[NN_COUNT_HITS];
		result->counted += counts[NN_COUNT_ALL];
	}
	result->squares = squares(s);
	if (s->statistics.there && !s->place.follows) {
		struct nn_cut_run run =
			s->alone ? s->cut->run : (struct nn_cut_run){ 0, s->cut->n_leaves };
		size_t from = s->cut->group_of_leaf[run.from],
		       n = s->cut->group_of_leaf[run.to] - from;

		nn_mirror_send(&s->statistics, s->queue, from * s->statistics_bytes,
			       n * s->statistics_bytes);
		nn_graph_advance(s->graph, (char *)s->statistics.there + from * s->statistics_bytes,
				 n);
	}
	return result->finite = isfinite(result->loss);
}

int nn_step_gradient(struct nn_step *s, const struct nn_batch *batch, struct nn_step_result *result,
		     struct nn_error *err)
{
	struct nn_step_tables tables;

	if (nn_step_begin(s, batch, &tables, err) < 0 || nn_step_run(s, result, err) < 0)
		return -1;
	if (result->finite)
		nn_step_finish(s, result);
	return 0;
}

struct nn_noise_sums *nn_step_parts(struct nn_step *s)
{
	return &s->noise;
}

void nn_step_noise(struct nn_step *s)
{
	s->measures = true;
}

void nn_step_noise_of(struct nn_step *s, const void *gradients, struct nn_step_result *result)
{
	if (s->noise.part_rows > 0) {
		const double scale = nn_optimizer_scale(s->optimizer);

		s->noise.squares = nn_optimizer_squares(s->optimizer, gradients);
		result->noise = s->noise;
		result->noise.squares /= scale * scale;
		result->noise.part_squares /= scale * scale;
	}
	s->measures = false;
}

int nn_step_update(struct nn_step *s, uint64_t number, double lr, bool norm,
		   struct nn_step_result *result, struct nn_error *err)
{
	double start = nn_now_s();
	int status;

	norm |= nn_optimizer_scales(s->optimizer);
	nn_step_noise_of(s, nn_graph_gradients(s->graph), result);
	nn_optimizer_begin(s->optimizer, number, lr);
	status = nn_optimizer_update(s->optimizer, norm, err);
	if (status == 0)
		status = nn_queue_wait(s->queue, err);
	if (norm)
		result->norm = nn_optimizer_norm(s->optimizer);
	result->compute_s += nn_now_s() - start;
	return status;
}

/* ---- a whole step whose weights change during backward ---- */

static bool may_update_behind(const struct nn_step *s, size_t rows, bool norm)
{
	const struct nn_cut *cut = rows == s->options.batch ? s->cuts.full : s->cuts.rest;

	return !s->queue && !norm && !s->measures &&
	       nn_step_updates_behind(&s->options, cut->n_spans);
}

/* Whether the loss is finite has to be known before the first weight changes. */
static int update_behind(struct nn_step *s, const struct nn_batch *batch, uint64_t number,
			 double lr, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_step_tables tables;
	struct nn_span span;
	double start;
	int status;

	if (nn_step_begin(s, batch, &tables, err) < 0)
		return -1;
	nn_step_scale(s, result);
	if (nn_step_forward(s, 0, result, err) < 0)
		return -1;
	start = nn_now_s();
	if (!result->finite)
		result->nonfinite_line = nn_graph_first_nonfinite(s->graph, batch->n);
	else
		ask_losses(s, NULL);
	if (!result->finite || !nn_step_finish(s, result))
		return 0;
	nn_optimizer_begin(s->optimizer, number, lr);
	span = nn_step_span(s, &s->cut->spans[0]);
	status = nn_optimizer_backward_update(s->optimizer, &span, err);
	result->compute_s += nn_now_s() - start;
	return status;
}

/* ---- a whole step, of which nothing is looked at before its end ---- */

/* Weights follow their gradients: whether they may is known once forward is done. */
static int ask_behind(struct nn_step *s, struct nn_step_result *result, struct nn_error *err)
{
	const struct nn_span span = nn_step_span(s, &s->cut->spans[0]);

	if (nn_step_ask_forward(s, &s->cut->spans[0], false, result, err) < 0)
		return -1;
	ask_losses(s, nn_graph_now_there(s->graph, 0));
	fetch_figures(s);
	return nn_optimizer_backward_update(s->optimizer, &span, err);
}

/* All that it asks of the device. Where a loss is not finite now->hold keeps the update from
 * happening. */
static int ask_all(struct nn_step *s, bool norm, struct nn_step_result *result,
		   struct nn_error *err)
{
	clear_sums(s);
	if (!norm && nn_step_updates_behind(&s->options, s->cut->n_spans))
		return ask_behind(s, result, err);
	for (size_t i = 0; i < s->cut->n_spans; i++) {
		if (nn_step_ask_forward(s, &s->cut->spans[i], false, result, err) < 0)
			return -1;
		if (nn_step_backward(s, i, result, err) < 0)
			return -1;
	}
	ask_figures(s, nn_graph_now_there(s->graph, 0));
	return nn_optimizer_update(s->optimizer, norm, err);
}

/* The first of its kind is recorded. */
static int ask_recorded(struct nn_step *s, bool norm, struct nn_step_result *result,
			struct nn_error *err)
{
	const struct nn_remote *remote = s->queue->remote;
	struct nn_recording **recording =
		&s->recordings[s->cut != s->cuts.full][s->transfer.now][norm];
	int status = 0;

	if (!remote->record || s->options.offload) /* a file is no work of the device */
		return ask_all(s, norm, result, err);
	if (!*recording) {
		if (remote->record(s->queue, err) < 0)
			return -1;
		status = ask_all(s, norm, result, err);
		*recording = remote->recorded(s->queue, status == 0 ? err : NULL);
	}
	if (status < 0 || !*recording)
		return -1;
	remote->replay(s->queue, *recording);
	return 0;
}

/* follows: the step before is under way. */
static int ask_step(struct nn_step *s, const struct nn_batch *batch,
		    const struct nn_step_terms *terms, bool follows, struct nn_error *err)
{
	struct nn_step_tables tables;
	struct nn_step_result result;
	struct nn_step_asked *asked;

	if (nn_step_begin(s, batch, &tables, err) < 0)
		return -1;
	nn_graph_use_now(s->graph, s->transfer.now, follows);
	nn_optimizer_use_norm(s->optimizer, s->transfer.now);
	scale(s, &result);
	asked = &s->asked[s->transfer.now];
	asked->cut = s->cut;
	for (int i = 0; i < s->n_outputs; i++)
		asked->weights[i] = s->outputs[i].weight;
	nn_optimizer_begin(s->optimizer, terms->number, terms->lr);
	return ask_recorded(s, terms->norm, &result, err);
}

/* The step that was asked for with a cargo is the one under way again. */
static void resume(struct nn_step *s, int cargo, const struct nn_batch *batch)
{
	const struct nn_step_asked *asked = &s->asked[cargo];

	s->batch = *batch;
	s->cut = asked->cut;
	for (int i = 0; i < s->n_outputs; i++)
		s->outputs[i].weight = asked->weights[i];
	nn_step_transfer_use(s, cargo);
	nn_mirror_use(&s->figures, cargo);
	nn_graph_use_now(s->graph, cargo, false);
	nn_optimizer_use_norm(s->optimizer, cargo);
}

/*
 * Not where the host has to see the norm of a step before the next, or makes what all share: what
 * rows weigh.
 */
static bool may_go_ahead(const struct nn_step *s)
{
	const struct nn_remote *remote = s->queue->remote;

	return remote->mark && remote->record && !s->options.offload && !s->source_weights &&
	       !nn_optimizer_scales(s->optimizer);
}

/* The batch that follows sets out, and where its terms are known it is asked for. */
static int ask_next(struct nn_step *s, const struct nn_step_terms *next, struct nn_error *err)
{
	const struct nn_batch batch = nn_step_next_batch(&s->batch);

	if (!nn_step_transfer_next(s) || !next || !may_go_ahead(s))
		return 0;
	nn_queue_mark(s->queue, s->transfer.now);
	s->ahead = *next;
	return ask_step(s, &batch, next, true, err);
}

bool nn_step_is_ahead(const struct nn_step *s)
{
	return s->ahead.number > 0;
}

/* What came of the step of a cargo, while the one after it goes on. */
static int take_figures(struct nn_step *s, int cargo, const struct nn_batch *batch, bool norm,
			struct nn_step_result *result, struct nn_error *err)
{
	if ((nn_step_is_ahead(s) ? nn_queue_reach(s->queue, cargo, err)
				 : nn_queue_wait(s->queue, err)) < 0)
		return -1;
	resume(s, cargo, batch);
	*result = empty_result();
	if (s->n_outputs > 0)
		result->weight = s->outputs[0].weight;
	if (norm)
		result->norm = nn_optimizer_norm(s->optimizer);
	if (nn_step_finish(s, result))
		return 0;
	s->ahead.number = 0;
	nn_graph_send_now(s->graph);
	return find_nonfinite(s, result, err);
}

/* The step that is ahead is the one under way. */
static void go_on(struct nn_step *s, const struct nn_batch *batch,
		  const struct nn_step_terms *terms)
{
	const struct nn_step_terms *ahead = &s->ahead;

	resume(s, !s->transfer.now, batch);
	if (ahead->number != terms->number || ahead->lr != terms->lr ||
	    ahead->norm != terms->norm || !nn_step_transfer_is(s, batch))
		NN_BUG("step %llu where %llu was asked for", (unsigned long long)terms->number,
		       (unsigned long long)ahead->number);
	s->ahead.number = 0;
}

static int remote_step(struct nn_step *s, const struct nn_batch *batch,
		       const struct nn_step_terms *terms, const struct nn_step_terms *next,
		       struct nn_step_result *result, struct nn_error *err)
{
	const double start = nn_now_s();
	double asked;
	int cargo;

	if (nn_step_is_ahead(s))
		go_on(s, batch, terms);
	else if (ask_step(s, batch, terms, false, err) < 0)
		return -1;
	cargo = s->transfer.now;
	asked = nn_now_s();
	if (ask_next(s, next, err) < 0 ||
	    take_figures(s, cargo, batch, terms->norm, result, err) < 0)
		return -1;
	result->input_s = asked - start;
	result->compute_s = nn_now_s() - asked;
	return 0;
}

int nn_step_whole(struct nn_step *s, const struct nn_batch *batch,
		  const struct nn_step_terms *terms, const struct nn_step_terms *next,
		  struct nn_step_result *result, struct nn_error *err)
{
	const struct nn_step_terms now = { terms->number, terms->lr,
					   terms->norm || nn_optimizer_scales(s->optimizer) };

	if (may_update_behind(s, batch->n, now.norm))
		return update_behind(s, batch, now.number, now.lr, result, err);
	if (s->queue && !s->measures && !s->statistics.there)
		return remote_step(s, batch, &now, next, result, err);
	if (nn_step_gradient(s, batch, result, err) < 0)
		return -1;
	return result->finite ? nn_step_update(s, now.number, now.lr, now.norm, result, err)
			      : nn_queue_wait(s->queue, err);
}
