/*
 * A recorded asynchronous run once more, in one process: each gradient with the parameters it was
 * computed with.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "parallel/async.h"

/* Parameters after a number of updates, kept as long as a gradient to come was computed with them.
 */
struct version {
	uint64_t number;
	uint64_t last; /* step of the last gradient that needs it */
	char *weights; /* NULL: free */
};

struct nn_replay {
	char *path;
	struct nn_replay_row *rows; /* [n_rows] of steps 1, 2, ... */
	uint64_t n_rows;
	/* [n_rows] by version: the last step that needs it, 0: none later than the next */
	uint64_t *last;
	struct version *versions;
	size_t n_versions;
	char *present; /* the parameters, while an older version is in their place */
};

/* ---- the file ---- */

static bool number(char **at, char end, uint64_t *value)
{
	size_t n = strcspn(*at, "\t\n");
	bool right = n > 0 && (*at)[n] == end && nn_parse_u64(*at, n, value);

	*at += n + ((*at)[n] != '\0');
	return right;
}

static int add_row(struct nn_replay *r, char *line, struct nn_error *err)
{
	struct nn_replay_row row;
	uint64_t step;

	if (!number(&line, '\t', &step) || !number(&line, '\t', &row.rank) ||
	    !number(&line, '\t', &row.batch) || !number(&line, '\n', &row.version) ||
	    step != r->n_rows + 1 || row.batch < 1 || row.version >= step)
		return nn_fail(err, NN_EFORMAT,
			       "%s:%" PRIu64 ": expected step %" PRIu64
			       ", rank, batch from 1 and a version below the step, "
			       "separated by tabs",
			       r->path, r->n_rows + 3, r->n_rows + 1);
	if ((r->n_rows & (r->n_rows - 1)) == 0) {
		size_t bytes = (size_t)r->n_rows * sizeof row;
		struct nn_replay_row *rows =
			nn_realloc(r->rows, bytes, bytes ? 2 * bytes : sizeof row, err);

		if (!rows)
			return -1;
		r->rows = rows;
	}
	row.batch--;
	r->rows[r->n_rows++] = row;
	return 0;
}

#define MOST_ORIGIN ((size_t)16 << 20) /* bytes of the first line */

/* The first line: what the recorded training was made with. */
static int read_origin(const struct nn_replay *r, FILE *file, const struct nn_origin *origin,
		       struct nn_error *err)
{
	struct nn_text text = { 0 };
	char piece[4096];
	int status = -1;

	do {
		if (!fgets(piece, sizeof piece, file))
			break;
		nn_text_add(&text, piece);
	} while (!strchr(piece, '\n') && text.length < MOST_ORIGIN && !text.failed);
	if (text.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate memory for %s", r->path);
	else if (text.length < 3 || strncmp(text.data, "# ", 2) != 0 ||
		 text.data[text.length - 1] != '\n')
		nn_fail(err, NN_EFORMAT,
			"%s:1: expected # and what was trained, of a file that --record wrote",
			r->path);
	else
		status = origin->compare(origin->arg, r->path, text.data + 2, err);
	nn_text_free(&text);
	return status;
}

static int read_rows(struct nn_replay *r, FILE *file, struct nn_error *err)
{
	char line[128];

	if (!fgets(line, sizeof line, file) || strcmp(line, "step\trank\tbatch\tversion\n") != 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s:2: expected the header step, rank, batch, version of a file "
			       "that --record wrote",
			       r->path);
	while (fgets(line, sizeof line, file))
		if (add_row(r, line, err) < 0)
			return -1;
	return ferror(file) ? nn_fail(err, NN_EFAIL, "%s: cannot be read", r->path) : 0;
}

int nn_replay_open(struct nn_replay **replay, const char *path, const struct nn_origin *origin,
		   struct nn_error *err)
{
	struct nn_replay *r = nn_alloc(1, sizeof *r, err);
	FILE *file;
	int status = -1;

	if (!r)
		return -1;
	*replay = r;
	if (!(r->path = nn_strdup(path, err)))
		return -1;
	file = fopen(path, "r");
	if (!file)
		return nn_fail_errno(err, NN_EFAIL, "%s", path);
	status = read_origin(r, file, origin, err);
	if (status == 0)
		status = read_rows(r, file, err);
	fclose(file);
	if (status < 0 || !(r->last = nn_alloc((size_t)r->n_rows + 1, sizeof *r->last, err)))
		return -1;
	for (uint64_t i = 0; i < r->n_rows; i++)
		if (r->rows[i].version < i)
			r->last[r->rows[i].version] = i + 1;
	return 0;
}

void nn_replay_free(struct nn_replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_versions; i++)
		nn_free(r->versions[i].weights);
	nn_free(r->versions);
	nn_free(r->present);
	nn_free(r->rows);
	nn_free(r->last);
	nn_free(r->path);
	nn_free(r);
}

/* ---- versions ---- */

/* Keep the parameters as they are, where a gradient to come needs them when they are old. */
static int keep(struct nn_worker *w, struct nn_replay *r, uint64_t number, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t bytes = nn_graph_trained(graph) * nn_dtype_size(w->task->device->dtype), i = 0;

	if (number >= r->n_rows || r->last[number] == 0)
		return 0;
	while (i < r->n_versions && r->versions[i].last > number)
		i++;
	if (i == r->n_versions) {
		struct version *more =
			nn_realloc(r->versions, i * sizeof *more, (i + 1) * sizeof *more, err);

		if (!more)
			return -1;
		r->versions = more;
		more[i].weights = nn_alloc(bytes, 1, err);
		if (!more[i].weights)
			return -1;
		r->n_versions++;
	}
	r->versions[i].number = number;
	r->versions[i].last = r->last[number];
	nn_queue_read(nn_graph_queue(graph), r->versions[i].weights, nn_graph_weights(graph),
		      bytes);
	return 0;
}

static const char *find(const struct nn_replay *r, uint64_t number)
{
	for (size_t i = 0; i < r->n_versions; i++)
		if (r->versions[i].number == number)
			return r->versions[i].weights;
	NN_BUG("no version %llu is kept", (unsigned long long)number);
}

/* ---- a step ---- */

static int begin(struct nn_worker *w, struct nn_replay *r, struct nn_error *err)
{
	if (r->present)
		return 0;
	r->present = nn_alloc(nn_graph_trained(nn_step_graph(w->step)),
			      nn_dtype_size(w->task->device->dtype), err);
	if (!r->present)
		return -1;
	return keep(w, r, 0, err);
}

int nn_replay_step(struct nn_worker *w, struct nn_replay *r, const struct nn_strategy_update *u,
		   bool norm, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	struct nn_queue *queue = nn_graph_queue(graph);
	size_t bytes = nn_graph_trained(graph) * nn_dtype_size(w->task->device->dtype);
	const struct nn_replay_row *row;
	struct nn_batch batch;
	struct nn_step_tables tables;
	bool old;

	if (u->number > r->n_rows)
		return nn_fail(err, NN_EFORMAT,
			       "%s: ends after %" PRIu64 " step%s; --steps=%" PRIu64
			       " trains as far as it goes",
			       r->path, r->n_rows, nn_s(r->n_rows), r->n_rows);
	if (begin(w, r, err) < 0)
		return -1;
	row = &r->rows[u->number - 1];
	old = row->version < u->number - 1;
	if (old) {
		nn_queue_read(queue, r->present, nn_graph_weights(graph), bytes);
		nn_queue_write(queue, nn_graph_weights(graph), find(r, row->version), bytes);
		nn_graph_refresh(graph);
	}
	if (nn_loader_draw(w->loader, row->batch, &batch, err) < 0 ||
	    nn_step_begin(w->step, &batch, &tables, err) < 0 ||
	    nn_step_run(w->step, result, err) < 0)
		return -1;
	if (old)
		nn_queue_write(queue, nn_graph_weights(graph), r->present, bytes);
	if (!result->finite || !nn_step_finish(w->step, result))
		return 0;
	if (nn_step_update(w->step, u->number,
			   nn_async_rate(w, u->lr, u->number - 1 - row->version), norm, result,
			   err) < 0)
		return -1;
	return keep(w, r, u->number, err);
}
