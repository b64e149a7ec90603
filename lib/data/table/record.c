/*
 * A record of a table as numbers: simple numbers are read in place, everything else field by field.
 */
#include <inttypes.h>
#include <math.h>

#include "base/number-line.h"
#include "base/text.h"
#include "data/table/lines.h"
#include "data/table/svm.h"

static int ragged(struct nn_table *t, const struct nn_record *r, struct nn_error *err)
{
	struct nn_field field;
	size_t n = 0;

	if (nn_csv_begin(&t->csv, r, err) < 0)
		return -1;
	for (size_t at = 0; n == 0 || at < r->length; n++) {
		at += n > 0;
		if (nn_csv_field(&t->csv, r, n, &at, &field, err) < 0)
			return -1;
	}
	return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": expected %zu column%s, got %zu",
		       nn_input_name(t->csv.input), r->line, t->width, nn_s(t->width), n);
}

/*
 * How many columns from each on are numbers and lie one after the other, in the file as in the row.
 */
static void find_runs(struct nn_table *t)
{
	for (size_t i = t->width; i-- > 0;) {
		struct nn_table_column *c = &t->columns[i];
		bool number = c->cell == NN_CELL_NUMBER && !c->target && !c->hashed && !c->rows;

		c->run = number;
		if (number && i + 1 < t->width && c[1].run && c[1].slot == c->slot + 1)
			c->run += c[1].run;
	}
	t->runs_known = true;
}

/*
 * A target of plain numbers: f32 has to hold it, which it does where it holds all its digits.
 * Numbers with a point are distinguished from integers by put_number.
 */
static const char *simple_target(const struct nn_table_column *c, const char *p, const char *end,
				 char separator, double *targets)
{
	double value;

	if (!c->target || c->cell != NN_CELL_NUMBER || !c->point_line ||
	    nn_parse_line_f64(&p, end, separator, &value, 1) == 0 || !(fabs(value) < 0x1p100) ||
	    (fabs(value) < 0x1p-100 && value != 0) || (c->weight && value < 0))
		return NULL;
	targets[c->slot] = value;
	return p - 1;
}

/* A field that is more than a simple number. */
static int read_field(struct nn_table *t, const struct nn_record *r, size_t i, const char **p,
		      void *values, double *targets, struct nn_error *err)
{
	size_t at = (size_t)(*p - r->text);
	struct nn_field field;

	if (nn_csv_field(&t->csv, r, i, &at, &field, err) < 0 ||
	    nn_table_put_field(t, r, i, &field, values, targets, err) < 0)
		return -1;
	*p = r->text + at;
	return 0;
}

/* Once through the bytes of a record. */
static int read_record(struct nn_table *t, const struct nn_record *r, void *values, double *targets,
		       struct nn_error *err)
{
	const char *p = r->text, *end = p + r->length, *q;
	char separator = t->csv.separator;
	size_t i = 0, left = 0, n; /* left: of the run that column i is in */

	if (!t->runs_known)
		find_runs(t);
	if (nn_csv_begin(&t->csv, r, err) < 0)
		return -1;
	while (i < t->width) {
		const struct nn_table_column *c = &t->columns[i];

		left = left ? left : c->run;
		if (left > 0) {
			n = t->dtype == NN_F64 ? nn_parse_line_f64(&p, end, separator,
								   (double *)values + c->slot, left)
					       : nn_parse_line_f32(&p, end, separator,
								   (float *)values + c->slot, left);
			i += n;
			left -= n;
			if (left == 0)
				continue;
			left--; /* the one it stopped at */
		}
		if (p > end)
			return ragged(t, r, err);
		q = simple_target(&t->columns[i], p, end, separator, targets);
		if (q)
			p = q;
		else if (read_field(t, r, i, &p, values, targets, err) < 0)
			return -1;
		i++;
		p++;
	}
	if (p != end + 1)
		return ragged(t, r, err);
	nn_table_put_hashes(t, values);
	return 0;
}

/* Its categories were not seen. */
static int bad_record(struct nn_table *t)
{
	for (size_t c = 0; c < t->width; c++)
		t->columns[c].unseen -=
			t->columns[c].unseen > 0 && t->columns[c].unseen_line == t->record.line;
	return 2;
}

int nn_table_next(struct nn_table *t, void *values, double *targets, struct nn_error *err)
{
	int status;

	if (t->empty)
		return 0;
	if (t->first_waits) {
		t->record = t->first;
		t->first_waits = false;
	} else {
		status = (t->lines ? nn_lines_next : nn_csv_next)(&t->csv, &t->record, err);
		if (status != 1) {
			t->record.text = NULL;
			return status;
		}
	}
	status = (t->svm     ? nn_svm_read
		  : t->lines ? nn_lines_read
			     : read_record)(t, &t->record, values, targets, err);
	if (status == 0)
		return 1;
	return err && err->code == NN_ENOMEM ? -1 : bad_record(t);
}
