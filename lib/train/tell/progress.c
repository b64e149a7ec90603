/* Progress: lines are written with one call each, so that they never mix with messages. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "train/tell/progress.h"

#define REDRAW_S 0.1
#define LEAST_COLUMNS 20

struct nn_progress {
	int fd;
	bool bar, drawn;
	double start_s, drawn_s; /* of the first step seen; of the last drawing */
	uint64_t start_step;
	double limit_from_s, limit_s; /* --time-limit; 0: none */
	char fold[48];                /* in front of lines, or empty */
	struct nn_text text, line,
		result; /* of the last epoch: its line, and what stands beside the bar */
};

struct nn_progress *nn_progress_new(int fd, struct nn_error *err)
{
	struct nn_progress *p = nn_alloc(1, sizeof *p, err);
	const char *term = getenv("TERM");

	if (!p)
		return NULL;
	p->fd = fd;
	p->bar = fd >= 0 && isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
	return p;
}

void nn_progress_free(struct nn_progress *p)
{
	if (!p)
		return;
	nn_progress_clear(p);
	nn_text_free(&p->text);
	nn_text_free(&p->line);
	nn_text_free(&p->result);
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

static size_t columns(const struct nn_progress *p)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (text && nn_parse_u64(text, strlen(text), &n) && n >= LEAST_COLUMNS && n < 1000)
		return (size_t)n;
	if (ioctl(p->fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= LEAST_COLUMNS)
		return size.ws_col;
	return 80;
}

/* four places, or four digits of what is far too large for them */
static void add_figure(struct nn_text *text, const char *name, double value)
{
	nn_text_addf(text, fabs(value) < 1e6 ? "  %s %.4f" : "  %s %.4g", name, value);
}

static void add_left(struct nn_text *text, double seconds)
{
	if (seconds < 100)
		nn_text_addf(text, "  %.0f s left", seconds);
	else if (seconds < 6000)
		nn_text_addf(text, "  %.0f m left", seconds / 60);
	else
		nn_text_addf(text, "  %.1f h left", seconds / 3600);
}

void nn_progress_step(struct nn_progress *p, uint64_t done, uint64_t planned, double loss,
		      double now_s)
{
	double share = planned == UINT64_MAX ? 0 : (double)done / (double)planned, left = INFINITY;
	size_t width, room;

	if (!p->bar)
		return;
	if (p->start_s == 0) {
		p->start_s = now_s;
		p->start_step = done;
	}
	if (p->drawn && now_s - p->drawn_s < REDRAW_S)
		return;
	p->drawn_s = now_s;
	p->drawn = true;
	if (done > p->start_step && planned != UINT64_MAX)
		left = (now_s - p->start_s) / (double)(done - p->start_step) *
		       (double)(planned - done);
	if (p->limit_s > 0) {
		share = fmax(share,
			     fmin(1, (now_s - p->limit_from_s) / (p->limit_s - p->limit_from_s)));
		left = fmin(left, fmax(0, p->limit_s - now_s));
	}
	nn_text_clear(&p->text);
	nn_text_addf(&p->text, "%s%3.0f %%  step %llu", p->fold, 100 * share,
		     (unsigned long long)done);
	if (planned != UINT64_MAX)
		nn_text_addf(&p->text, "/%llu", (unsigned long long)planned);
	add_figure(&p->text, "loss", loss);
	if (p->result.length > 0)
		nn_text_add(&p->text, p->result.data);
	if (isfinite(left))
		add_left(&p->text, left);
	width = columns(p) - 1;
	room = p->text.length + 5 <= width ? width - p->text.length - 4 : 0;
	if (p->text.failed || (room == 0 && p->text.length > width))
		p->text.length = p->text.failed ? 0 : width;
	if (room > 0) {
		size_t full = (size_t)((double)room * share);

		nn_text_add(&p->text, "  [");
		for (size_t i = 0; i < room; i++)
			nn_text_add(&p->text, i < full ? "=" : i == full ? ">" : " ");
		nn_text_add(&p->text, "]");
	}
	if (write(p->fd, "\r", 1) == 1)
		put(p, &p->text);
	if (write(p->fd, "\033[K", 3) < 0)
		p->bar = false;
}

void nn_progress_fold(struct nn_progress *p, uint64_t fold, uint64_t folds)
{
	snprintf(p->fold, sizeof p->fold, "fold %llu/%llu  ", (unsigned long long)fold,
		 (unsigned long long)folds);
	p->start_s = 0;
	nn_text_clear(&p->result);
}

void nn_progress_limit(struct nn_progress *p, double start_s, double end_s)
{
	p->limit_from_s = start_s;
	p->limit_s = end_s;
}

void nn_progress_epoch(struct nn_progress *p, const struct nn_progress_line *line)
{
	nn_text_clear(&p->result);
	if (!isnan(line->valid_loss))
		add_figure(&p->result, "valid_loss", line->valid_loss);
	if (line->metric)
		add_figure(&p->result, line->metric, line->value);
	nn_text_clear(&p->line);
	nn_text_addf(&p->line, "%sepoch %llu", p->fold, (unsigned long long)line->epoch);
	if (line->epochs > 0)
		nn_text_addf(&p->line, "/%llu", (unsigned long long)line->epochs);
	add_figure(&p->line, "loss", line->loss);
	if (p->result.length > 0)
		nn_text_add(&p->line, p->result.data);
	nn_text_addf(&p->line, "  %.2f s  %.0f samples/s\n", line->seconds, line->samples_per_s);
	if (!p->bar)
		put(p, &p->line);
}

void nn_progress_end(struct nn_progress *p)
{
	nn_progress_clear(p);
	if (p->bar)
		put(p, &p->line);
}
