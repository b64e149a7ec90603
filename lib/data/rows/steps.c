/*
 * JSON lines of rows of different length as they come: each is read as a dataset of one row.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "data/rows/rows.h"
#include "data/sequence/line.h"

struct nn_rows_steps {
	struct nn_line_reader reader;
	bool begun; /* a line was read */
};

void nn_rows_steps_free(struct nn_rows_steps *s)
{
	if (!s)
		return;
	nn_line_reader_close(&s->reader);
	nn_free(s);
}

static int open_lines(struct nn_rows *r, bool targets, struct nn_error *err)
{
	struct nn_known known = { .schema = (struct nn_schema *)r->schema,
				  .coding = r->coding,
				  .dtype = r->dtype,
				  .passes = r->options.on_error != NN_ON_ERROR_FAIL };
	struct nn_reading reading = { r->format, NULL, true, targets };

	r->steps = nn_alloc(1, sizeof *r->steps, err);
	r->whole = nn_dataset_new_known(&known, err);
	if (!r->steps || !r->whole || nn_sequences_new(r->whole, err) < 0 ||
	    nn_line_reader_open(&r->steps->reader, r->whole, r->input, &reading, err) < 0)
		return -1;
	return r->keep ? nn_keep_init(&r->kept, NULL, r->keep, err) : 0;
}

/* What is kept are members of the first line, as of tables the columns are. */
static int check_kept(const struct nn_rows *r, const struct nn_json *line, struct nn_error *err)
{
	for (size_t i = 0; i < r->kept.n; i++)
		if (!nn_json_get(line, r->kept.names[i]))
			return nn_fail(err, NN_EFORMAT,
				       "%s:%" PRIu64 ": has no member \"%s\", which --keep names",
				       nn_input_name(r->input), r->steps->reader.record.line,
				       r->kept.names[i]);
	return 0;
}

/* The members to be kept of the line that was read; of one that is no object empty texts. */
static int keep(struct nn_rows *r, bool bad, struct nn_rows_out *out, struct nn_error *err)
{
	const struct nn_record *line = &r->steps->reader.record;
	struct nn_error none;
	struct nn_json *object = nn_json_parse(line->text, line->length, &none);
	int status = 0;

	if (object && nn_json_type(object) != NN_JSON_OBJECT) {
		nn_json_free(object);
		object = NULL;
	}
	if (object && !bad && !r->steps->begun)
		status = check_kept(r, object, err);
	if (status == 0 && out->beside && out->beside->kept)
		nn_keep_members(&r->kept, object, out->beside->kept);
	nn_json_free(object);
	return status;
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	while (out->n < out->max) {
		int got = out->n ? nn_lines_ready(&r->steps->reader.csv, err) : 1, bad;

		if (got != 1)
			return got;
		got = nn_sequences_read_line(r->whole, &r->steps->reader, err);
		r->ended = got == 0;
		if (got <= 0)
			return got;
		if (got == 1 && r->whole->bad.n) {
			nn_fail(err, NN_EFORMAT, "%s", nn_bad_row(&r->whole->bad, 0)->why);
			got = 2;
		}
		bad = got == 2 ? nn_rows_take_bad(r, out, err) : 0;
		if (bad < 0)
			return -1;
		if (bad == 1)
			continue;
		if (r->kept.n && keep(r, bad, out, err) < 0)
			return -1;
		r->steps->begun |= !bad;
		if (!bad && nn_rows_put_whole(r, out, 0, err) < 0)
			return -1;
		out->n++;
	}
	return 0;
}

static int ready(struct nn_rows *r, struct nn_error *err)
{
	return nn_lines_ready(&r->steps->reader.csv, err);
}

static int64_t total(const struct nn_rows *r)
{
	(void)r;
	return -1;
}

const struct nn_rows_ops nn_rows_steps = { open_lines, next_rows, ready, total };
