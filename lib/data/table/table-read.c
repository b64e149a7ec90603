/*
 * All records of a table: while one thread reads the next block and cuts it into parts of whole
 * records, the others turn the parts of this one into rows. What a part finds is joined in file
 * order: words that were met for the first time get their numbers then, and a part with an error,
 * or with anything else that depends on what came before, is read again by the caller alone.
 */
#include <string.h>

#include "base/memory.h"
#include "base/number-line.h"
#include "data/table/table-join.h"
#include "data/table/scan.h"
#include "data/table/table-text.h"
#include "data/table/table.h"

#define PART_BYTES ((size_t)128 << 10) /* text and rows of a part stay in the cache of a core */
#define PARTS_PER_THREAD 4
/* Each part has columns of its own: a table with more of them is read by one thread. */
#define MOST_COLUMNS ((size_t)10000)

/* A part as it is read beside others. */
struct part_reader {
	struct nn_table view; /* columns with fresh words of its own; all else is the table's */
	bool whole;           /* every record became a row */
};

struct reader {
	struct nn_table *table;
	struct nn_pool *pool;
	struct nn_text_source source;
	struct nn_block *values, *targets;
	size_t row_bytes, target_bytes;
	size_t rows, bytes; /* joined so far */
	struct nn_table_text text[2];
	struct nn_table_text *now, *next; /* parsed, and read */
	uint64_t line;                    /* where `now` begins */
	struct part_reader *workers;      /* NULL: all parts are the caller's */
	size_t n_workers;
	struct nn_csv alone; /* of the caller */
};

/* ---- a part, by whoever has time ---- */

static void *row_of(const struct nn_block *block, size_t row, size_t bytes)
{
	return nn_block_at(block, row * bytes);
}

static int reserve_rows(struct reader *r, size_t rows, struct nn_error *err)
{
	size_t more = rows + rows / 4 + 256;

	if ((rows * r->row_bytes > r->values->room &&
	     nn_block_reserve(r->values, more * r->row_bytes, err) < 0) ||
	    (rows * r->target_bytes > r->targets->room &&
	     nn_block_reserve(r->targets, more * r->target_bytes, err) < 0))
		return nn_fail_at(err, "%s", nn_input_name(r->table->csv.input));
	return 0;
}

static void begin_part(const struct reader *r, struct nn_csv *csv, const struct nn_part *part)
{
	const char *text = (const char *)r->now->bytes.data + part->at;

	csv->line = r->line + part->lines;
	csv->separator = r->table->csv.separator;
	csv->comments = r->table->csv.comments;
	csv->started = csv->told = true;
	csv->clean = nn_csv_clean(text, part->n) ? text + part->n : NULL;
	nn_input_give(csv->input, text, part->n);
}

static size_t count_records(const struct nn_table_text *t, size_t i)
{
	return (i + 1 < t->n_parts ? &t->parts[i + 1] : &t->total)->records - t->parts[i].records;
}

/*
 * Beside others: rows go where they belong when all parts before this one have as many as they have
 * records.
 */
static void parse(struct reader *r, size_t i)
{
	struct part_reader *w = &r->workers[i];
	size_t row = r->rows + r->now->parts[i].records, end = row + count_records(r->now, i), left;
	struct nn_error err;

	begin_part(r, &w->view.csv, &r->now->parts[i]);
	w->view.csv.n_blank = 0;
	while (row < end && nn_table_next(&w->view, row_of(r->values, row, r->row_bytes),
					  row_of(r->targets, row, r->target_bytes), &err) == 1)
		row++;
	nn_input_held(w->view.csv.input, &left);
	w->whole = row == end && left == 0;
}

static void piece(void *arg, size_t i, int thread)
{
	struct reader *r = arg;

	(void)thread;
	if (i > 0)
		parse(r, i - 1);
	else if (!r->now->last)
		nn_table_text_next(&r->source, r->now, r->next);
}

/* By the caller, with all that came before known. */
static int parse_alone(struct reader *r, const struct nn_part *part, struct nn_error *err)
{
	struct nn_csv file = r->table->csv;
	int status;

	begin_part(r, &r->alone, part);
	r->table->csv = r->alone;
	for (;; r->rows++) {
		status = reserve_rows(r, r->rows + 1, err);
		if (status == 0)
			status = nn_table_next(r->table, row_of(r->values, r->rows, r->row_bytes),
					       row_of(r->targets, r->rows, r->target_bytes), err);
		if (status != 1)
			break;
	}
	r->alone = r->table->csv; /* with the blank lines that wait */
	r->table->csv = file;
	return status == 0 ? 0 : -1;
}

/* ---- joining ---- */

/* Can the rows of a part stay as they are? */
static bool is_good(const struct reader *r, const struct part_reader *w, size_t first)
{
	if (!w->whole || r->rows != first || r->alone.n_blank)
		return false;
	for (size_t i = 0; w->view.touched && i < w->view.width; i++)
		if (w->view.columns[i].fresh &&
		    !nn_words_fit(&r->table->columns[i], w->view.columns[i].fresh))
			return false;
	return true;
}

static int join(struct reader *r, struct nn_error *err)
{
	size_t first = r->rows;

	for (size_t i = 0; i < r->now->n_parts; i++) {
		size_t rows = count_records(r->now, i);
		struct part_reader *w = r->workers ? &r->workers[i] : NULL;
		bool good = w && is_good(r, w, first + r->now->parts[i].records);
		struct nn_table_rows part = { r->table->dtype, r->values,       r->targets,
					      r->row_bytes,    r->target_bytes, r->rows,
					      good ? rows : 0 };

		if ((w && nn_table_join(r->table, &w->view, &part, err) < 0) ||
		    (!good && parse_alone(r, &r->now->parts[i], err) < 0))
			return -1;
		r->rows += good ? rows : 0;
	}
	return 0;
}

/*
 * Is what was read enough? Then what that is of the file follows from how much of it was taken, but
 * for what was taken and not read.
 */
static bool is_enough(struct reader *r)
{
	const struct nn_table_text *t = r->now;
	struct nn_table *table = r->table;

	r->bytes += t->total.at;
	if (!table->most || r->bytes < table->most)
		return false;
	table->more = (double)(r->bytes + (r->workers ? r->next->n : t->n - t->total.at)) /
		      (double)r->bytes / nn_input_share(table->csv.input);
	return true;
}

/* ---- all of it ---- */

/* Fresh words are numbered after those that all know when a block begins. */
static void number_fresh(struct reader *r)
{
	for (size_t k = 0; k < r->now->n_parts; k++) {
		struct nn_table *view = &r->workers[k].view;

		for (size_t i = 0; i < view->width; i++)
			if (view->columns[i].fresh)
				view->columns[i].first_fresh =
					(int32_t)nn_words_count(view->columns[i].words);
	}
}

static int read_blocks(struct reader *r, struct nn_error *err)
{
	r->now = &r->text[0];
	r->next = &r->text[1];
	nn_table_text_next(&r->source, r->now, r->next);
	for (;;) {
		struct nn_table_text *t = r->next;

		r->next = r->now;
		r->now = t;
		if (r->workers) {
			number_fresh(r);
			if (reserve_rows(r, r->rows + t->total.records, err) < 0)
				return -1;
			nn_pool_run(r->pool, 1 + t->n_parts, piece, r);
		}
		if (join(r, err) < 0)
			return -1;
		r->line += t->total.lines;
		if (t->last) {
			if (t->status < 0 && err)
				*err = t->err;
			return t->status;
		}
		if (is_enough(r))
			return 0;
		if (!r->workers)
			nn_table_text_next(&r->source, r->now, r->next);
	}
}

static int start_worker(struct part_reader *w, const struct nn_table *t, struct nn_error *err)
{
	struct nn_input *input;

	if (nn_input_open_memory(&input, nn_input_name(t->csv.input), err) < 0)
		return -1;
	w->view = *t;
	w->view.labels = (struct nn_unseen){ 0 };
	nn_csv_init(&w->view.csv, input);
	w->view.columns = nn_alloc(t->width, sizeof *t->columns, err);
	if (!w->view.columns)
		return -1;
	memcpy(w->view.columns, t->columns, t->width * sizeof *t->columns);
	for (size_t i = 0; i < t->width; i++) {
		struct nn_table_column *c = &w->view.columns[i];

		c->unseen = 0;
		if (c->grow && (c->cell == NN_CELL_WORD || c->cell == NN_CELL_LABEL) &&
		    nn_words_new(&c->fresh, nn_words_integers(c->words), err) < 0)
			return -1;
	}
	return 0;
}

static void end_worker(struct part_reader *w)
{
	for (size_t i = 0; w->view.columns && i < w->view.width; i++)
		nn_words_free(w->view.columns[i].fresh);
	nn_free(w->view.columns);
	nn_input_close(w->view.csv.input);
	nn_csv_fini(&w->view.csv);
}

static int start_reader(struct reader *r, struct nn_table *t, size_t block, struct nn_error *err)
{
	size_t threads = (size_t)nn_pool_threads(r->pool);
	struct nn_input *input;

	r->n_workers = threads == 1 || t->width > MOST_COLUMNS ? 0 : PARTS_PER_THREAD * threads;
	if (r->n_workers > NN_TEXT_PARTS)
		r->n_workers = NN_TEXT_PARTS;
	r->source = (struct nn_text_source){ t->csv.input, t->csv.separator,
					     block ? block
						   : PART_BYTES * (r->n_workers ? r->n_workers : 2),
					     0, r->n_workers ? r->n_workers : 1 };
	r->source.part = (r->source.block + r->source.most - 1) / r->source.most;
	if (nn_input_open_memory(&input, nn_input_name(t->csv.input), err) < 0)
		return -1;
	nn_csv_init(&r->alone, input);
	r->alone.blank = t->csv.blank;
	r->alone.n_blank = t->csv.n_blank;
	if (r->n_workers == 0)
		return 0;
	r->workers = nn_alloc(r->n_workers, sizeof *r->workers, err);
	if (!r->workers)
		return -1;
	for (size_t i = 0; i < r->n_workers; i++)
		if (start_worker(&r->workers[i], t, err) < 0)
			return -1;
	return 0;
}

static void end_reader(struct reader *r)
{
	for (size_t i = 0; r->workers && i < r->n_workers; i++)
		end_worker(&r->workers[i]);
	nn_free(r->workers);
	nn_input_close(r->alone.input);
	nn_csv_fini(&r->alone);
	nn_block_free(&r->text[0].bytes);
	nn_block_free(&r->text[1].bytes);
}

static bool is_open(const struct nn_table *t)
{
	for (size_t i = 0; i < t->width; i++)
		if (t->columns[i].cell == NN_CELL_OPEN)
			return true;
	return t->first_waits;
}

/*
 * Records up to the one that tells what a column without a value in the sample holds, all JSON
 * lines, and those of a stream: 1, 0 at the end or where these are enough, -1.
 */
static int read_first(struct reader *r, struct nn_error *err)
{
	size_t first = r->table->first_rows;
	int status = 1;

	while (status == 1 && (!first || r->rows < first) &&
	       (first || r->table->lines || is_open(r->table))) {
		if (reserve_rows(r, r->rows + 1, err) < 0)
			return -1;
		status = nn_table_next(r->table, row_of(r->values, r->rows, r->row_bytes),
				       row_of(r->targets, r->rows, r->target_bytes), err);
		r->rows += status == 1;
	}
	return status == 2 ? -1 : first ? (status < 0 ? -1 : 0) : status;
}

int nn_table_read(struct nn_table *t, struct nn_pool *pool, size_t block, struct nn_block *values,
		  struct nn_block *targets, size_t *rows, struct nn_error *err)
{
	struct reader *r;
	int status;

	*rows = 0;
	t->more = 1;
	if (t->empty)
		return 0;
	r = nn_alloc(1, sizeof *r, err);
	if (!r)
		return -1;
	r->table = t;
	r->pool = pool;
	r->values = values;
	r->targets = targets;
	r->row_bytes = t->n_values * nn_dtype_size(t->dtype);
	r->target_bytes = t->n_targets * sizeof(double);
	status = nn_table_sample(t, err) < 0 ? -1 : read_first(r, err);
	r->line = t->csv.line;
	if (status == 1)
		status = start_reader(r, t, block, err) < 0 || read_blocks(r, err) < 0 ? -1 : 0;
	*rows = r->rows;
	end_reader(r);
	nn_free(r);
	return status;
}
