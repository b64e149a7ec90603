/*
 * What open columns hold: most fields of the first rows decide, so that one odd field, wherever it
 * stands, is named in the end and changes no column. The text is held, looked at, and left there.
 */
#include "base/memory.h"
#include "base/number-line.h"
#include "data/table/cut.h"
#include "data/table/lines.h"
#include "data/table/missing-word.h"

#define MOST_ROWS ((size_t)1000)
#define MOST_BYTES NN_SAMPLE_BYTES
#define FIRST_BYTES ((size_t)128 << 10)

struct sampler {
	struct nn_table *table;
	struct nn_csv csv; /* of the text that is held */
	/* of each column: fields that have a value */
	size_t *numbers, *words;
	double *values; /* [width], of a record: read and forgotten */
};

/* Bytes that are held of the first rows, of whole records unless the file ends with them. */
static int hold(struct nn_csv *csv, size_t rows, size_t *n, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got, before, want = rows < MOST_ROWS ? 1 : FIRST_BYTES;
	struct nn_part part, total;
	bool ended = false;

	bytes = nn_input_held(csv->input, &got);
	for (;; want = rows < MOST_ROWS ? got + 1 : 2 * got) {
		while (got < want && !ended) {
			before = got;
			if (nn_input_more(csv->input, &bytes, &got, err) < 0)
				return -1;
			ended = got == before;
		}
		nn_csv_cut((const char *)bytes, got, csv->separator, SIZE_MAX, &part, 1, &total);
		*n = ended ? got : total.at;
		if (ended || total.records >= rows || got >= MOST_BYTES)
			return 0;
	}
}

static void count_field(struct sampler *s, size_t column, const struct nn_field *field)
{
	if (nn_says_missing(field->text, field->length))
		return;
	if (nn_meant_as_number(field->text, field->length))
		s->numbers[column]++;
	else
		s->words[column]++;
}

/* What is wrong with a record is found again, and told, when it is read. */
static int count_record(struct sampler *s, const struct nn_record *r, struct nn_error *err)
{
	const char *p = r->text, *end = p + r->length;
	size_t width = s->table->width;
	struct nn_field field;
	struct nn_error none;

	if (nn_csv_begin(&s->csv, r, err) < 0)
		return -1;
	for (size_t i = 0; i < width && p <= end; i++, p++) {
		size_t at, n = nn_parse_line_f64(&p, end, s->csv.separator, s->values, width - i);

		while (n-- > 0)
			s->numbers[i++]++;
		if (i == width || p > end)
			break;
		at = (size_t)(p - r->text);
		if (nn_csv_field(&s->csv, r, i, &at, &field, &none) < 0)
			break;
		count_field(s, i, &field);
		p = r->text + at;
	}
	return 0;
}

/* Can no row that is still to come change what a column is? */
static bool is_decided(const struct sampler *s)
{
	for (size_t i = 0; i < s->table->width; i++)
		if (s->table->columns[i].cell == NN_CELL_OPEN && 2 * s->numbers[i] < MOST_ROWS &&
		    2 * s->words[i] <= MOST_ROWS)
			return false;
	return true;
}

static int count_rows(struct sampler *s, struct nn_error *err)
{
	int (*next)(struct nn_csv *, struct nn_record *, struct nn_error *) =
		s->table->lines ? nn_lines_next : nn_csv_next;
	struct nn_record record = s->table->first;
	struct nn_error none;
	int status = s->table->first_waits ? 1 : next(&s->csv, &record, &none);

	for (size_t rows = 1; status > 0; rows++) {
		if (status == 1 && s->table->lines)
			nn_lines_count(s->table, &record, s->numbers, s->words);
		else if (status == 1 && count_record(s, &record, err) < 0)
			return -1;
		if (rows == MOST_ROWS || (rows % 100 == 0 && is_decided(s)))
			break;
		status = next(&s->csv, &record, &none);
	}
	return 0;
}

static void decide(const struct sampler *s)
{
	for (size_t i = 0; i < s->table->width; i++) {
		struct nn_table_column *c = &s->table->columns[i];

		if (c->cell == NN_CELL_OPEN && s->numbers[i] + s->words[i] > 0)
			c->cell = s->words[i] > s->numbers[i] ? NN_CELL_WORD : NN_CELL_NUMBER;
	}
	s->table->runs_known = false;
}

static int sample(struct sampler *s, struct nn_error *err)
{
	struct nn_table *t = s->table;
	struct nn_input *input;
	size_t n, held, rows = t->first_rows && t->first_rows < MOST_ROWS ? t->first_rows : MOST_ROWS;

	if (t->first_waits && nn_csv_keep(&t->csv, &t->first, err) < 0)
		return -1;
	if ((t->lines ? nn_lines_hold(t->csv.input, rows, MOST_BYTES, &n, err)
		      : hold(&t->csv, rows, &n, err)) < 0 ||
	    nn_input_open_memory(&input, nn_input_name(t->csv.input), err) < 0)
		return -1;
	nn_csv_init(&s->csv, input);
	s->csv.separator = t->csv.separator;
	s->csv.started = s->csv.told = true;
	nn_input_give(input, nn_input_held(t->csv.input, &held), n);
	s->numbers = nn_alloc(t->width, sizeof *s->numbers, err);
	s->words = nn_alloc(t->width, sizeof *s->words, err);
	s->values = nn_alloc(t->width, sizeof *s->values, err);
	return s->numbers && s->words && s->values ? count_rows(s, err) : -1;
}

int nn_table_sample(struct nn_table *t, struct nn_error *err)
{
	struct sampler s = { .table = t };
	bool open = false;
	int status;

	for (size_t i = 0; i < t->width; i++)
		open |= t->columns[i].cell == NN_CELL_OPEN;
	if (!open)
		return 0;
	status = sample(&s, err);
	if (status == 0)
		decide(&s);
	nn_free(s.numbers);
	nn_free(s.words);
	nn_free(s.values);
	nn_input_close(s.csv.input);
	nn_csv_fini(&s.csv);
	return status;
}
