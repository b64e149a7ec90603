/* Progress: lines are written with one call each, so that they never mix with messages. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/terminal.h"
#include "base/text.h"
#include "train/figures.h"
#include "train/tell/fields.h"
#include "train/tell/progress.h"

#define REDRAW_S 0.1

struct nn_progress {
	int fd;
	bool bar, drawn;
	double start_s, drawn_s; /* of the first step seen; of the last drawing */
	uint64_t start_step;
	double limit_from_s, limit_s; /* --time-limit; 0: none */
	char fold[48];                /* "fold 1/5", or empty */
	struct nn_progress_line last; /* of the last epoch that ended; epoch 0: none */
	char metric[NN_METRIC_NAME];  /* its last.metric */
	struct nn_text text;
};

struct nn_progress *nn_progress_new(int fd, struct nn_error *err)
{
	struct nn_progress *p = nn_alloc(1, sizeof *p, err);

	if (!p)
		return NULL;
	p->fd = fd;
	p->bar = nn_terminal_redraws(fd);
	return p;
}

void nn_progress_free(struct nn_progress *p)
{
	if (!p)
		return;
	nn_progress_clear(p);
	nn_text_free(&p->text);
	nn_free(p);
}

/* stderr may be gone: progress is never a reason to fail */
static void put(const struct nn_progress *p, const struct nn_text *text)
{
	if (p->fd >= 0 && text->length > 0 && write(p->fd, text->data, text->length) < 0)
		return;
}

void nn_progress_clear(struct nn_progress *p)
{
	if (!p->drawn)
		return;
	nn_text_clear(&p->text);
	nn_text_add(&p->text, "\r\033[K");
	put(p, &p->text);
	p->drawn = false;
}

void nn_progress_say(struct nn_progress *p, struct nn_text *line)
{
	nn_progress_clear(p);
	nn_text_add(line, "\n");
	if (!line->failed)
		put(p, line);
}

/* Columns that a line may have: the last one would make some terminals wrap. */
static size_t columns(const struct nn_progress *p)
{
	return (size_t)nn_terminal_columns(p->fd) - 1;
}

/* ---- fields ---- */

static void add_fold(const struct nn_progress *p, struct nn_fields *f, int rank)
{
	if (*p->fold)
		nn_fields_add(f, rank, "%s", p->fold);
}

/* epochs 0: not known */
static void add_epoch(struct nn_fields *f, int rank, uint64_t epoch, uint64_t epochs)
{
	if (epochs > 0)
		nn_fields_add(f, rank, "epoch %" PRIu64 "/%" PRIu64, epoch, epochs);
	else
		nn_fields_add(f, rank, "epoch %" PRIu64, epoch);
}

/* four places, or four digits of what is far too large for them */
static void add_figure(struct nn_fields *f, int rank, const char *name, double value)
{
	nn_fields_add(f, rank, fabs(value) < 1e6 ? "%s %.4f" : "%s %.4g", name, value);
}

/* of an epoch: of held-out rows where there are any */
static void add_results(struct nn_fields *f, int loss_rank, int metric_rank,
			const struct nn_progress_line *line)
{
	if (!isnan(line->valid_loss))
		add_figure(f, loss_rank, "valid_loss", line->valid_loss);
	if (line->metric)
		add_figure(f, metric_rank, line->metric, line->value);
}

static void add_left(struct nn_fields *f, int rank, double seconds)
{
	if (seconds < 100)
		nn_fields_add(f, rank, "%.0f s left", seconds);
	else if (seconds < 6000)
		nn_fields_add(f, rank, "%.0f m left", seconds / 60);
	else
		nn_fields_add(f, rank, "%.1f h left", seconds / 3600);
}

/* three digits are enough for a person */
static void add_rate(struct nn_fields *f, int rank, double samples_per_s)
{
	if (samples_per_s < 1e4)
		nn_fields_add(f, rank, "%.0f samples/s", samples_per_s);
	else if (samples_per_s < 1e6)
		nn_fields_add(f, rank, "%.0fk samples/s", samples_per_s / 1e3);
	else
		nn_fields_add(f, rank, "%.1fM samples/s", samples_per_s / 1e6);
}

/* ---- the bar ---- */

/* Seconds that are left, INFINITY: not known; *share of the training that is done. */
static double left_of(const struct nn_progress *p, const struct nn_progress_at *at, double now_s,
		      double *share)
{
	bool known = at->planned != UINT64_MAX;
	double left = INFINITY;

	*share = known ? (double)at->done / (double)at->planned : 0;
	if (at->done > p->start_step && known)
		left = (now_s - p->start_s) / (double)(at->done - p->start_step) *
		       (double)(at->planned - at->done);
	if (p->limit_s > 0) {
		*share = fmax(*share,
			      fmin(1, (now_s - p->limit_from_s) / (p->limit_s - p->limit_from_s)));
		left = fmin(left, fmax(0, p->limit_s - now_s));
	}
	return left;
}

static void draw(struct nn_progress *p, const struct nn_progress_at *at, double now_s)
{
	struct nn_fields f = { 0 };
	double share, left = left_of(p, at, now_s, &share);

	add_fold(p, &f, 2);
	add_epoch(&f, 1, at->epoch, at->epochs);
	nn_fields_add(&f, 0, "%3.0f %%", 100 * share);
	nn_fields_add_bar(&f, 4, share);
	if (at->planned != UINT64_MAX)
		nn_fields_add(&f, 8, "step %" PRIu64 "/%" PRIu64, at->done, at->planned);
	else
		nn_fields_add(&f, 8, "step %" PRIu64, at->done);
	add_figure(&f, 3, "loss", at->loss);
	if (p->last.epoch > 0)
		add_results(&f, 7, 6, &p->last);
	if (isfinite(left))
		add_left(&f, 5, left);
	nn_text_clear(&p->text);
	nn_text_add(&p->text, "\r");
	nn_fields_put(&f, columns(p), &p->text);
	nn_text_add(&p->text, "\033[K");
	put(p, &p->text);
}

void nn_progress_step(struct nn_progress *p, const struct nn_progress_at *at, double now_s)
{
	if (!p->bar)
		return;
	if (p->start_s == 0) {
		p->start_s = now_s;
		p->start_step = at->done;
	}
	if (now_s - p->drawn_s < REDRAW_S)
		return;
	p->drawn_s = now_s;
	p->drawn = true;
	draw(p, at, now_s);
}

void nn_progress_fold(struct nn_progress *p, uint64_t fold, uint64_t folds)
{
	snprintf(p->fold, sizeof p->fold, "fold %" PRIu64 "/%" PRIu64, fold, folds);
	p->start_s = 0;
	p->last.epoch = 0;
}

void nn_progress_limit(struct nn_progress *p, double start_s, double end_s)
{
	p->limit_from_s = start_s;
	p->limit_s = end_s;
}

/* ---- the line of an epoch ---- */

void nn_progress_epoch(struct nn_progress *p, const struct nn_progress_line *line)
{
	struct nn_fields f = { 0 };

	p->last = *line;
	if (line->metric) {
		snprintf(p->metric, sizeof p->metric, "%s", line->metric);
		p->last.metric = p->metric;
	}
	add_fold(p, &f, 1);
	add_epoch(&f, 0, line->epoch, line->epochs);
	add_figure(&f, 3, "loss", line->loss);
	add_results(&f, 4, 2, line);
	nn_fields_add(&f, 5, "%.2f s", line->seconds);
	if (p->bar)
		add_rate(&f, 6, line->samples_per_s);
	else
		nn_fields_add(&f, 6, "%.0f samples/s", line->samples_per_s);
	nn_progress_clear(p);
	nn_text_clear(&p->text);
	nn_fields_put(&f, p->bar ? columns(p) : SIZE_MAX, &p->text);
	nn_progress_say(p, &p->text);
}
