/* Pictures for prediction as they come, a sample a row; and the formats of pictures. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/picture/decode.h"
#include "data/rows/rows.h"

struct nn_rows_pictures {
	struct nn_sample_reader reader;
	struct nn_codecs codecs;
	struct nn_picture_rows rows[2]; /* of pictures, and of arrays */
	struct nn_picture_sample sample;
	unsigned char *planes; /* of a sample, or its values */
	size_t stem;           /* where in the stems of the targets */
};

void nn_rows_pictures_free(struct nn_rows_pictures *p)
{
	if (!p)
		return;
	nn_picture_sample_free(&p->sample);
	nn_sample_reader_close(&p->reader);
	nn_free(p->planes);
	nn_free(p);
}

/* What the model wants, where its input is CxHxW; else the first picture says it. */
static void expect_shape(struct nn_rows *r)
{
	const struct nn_shape *shape = &r->schema->inputs[0].shape;
	struct nn_picture_rows *rows = &r->pictures->rows[0];

	if (shape->rank != 3)
		return;
	rows->shape = (struct nn_picture){ shape->dim[0], shape->dim[1], shape->dim[2] };
	rows->size = nn_shape_count(shape);
	rows->known = rows->shape.channels <= NN_PICTURE_MOST_CHANNELS;
}

static void expect_arrays(struct nn_rows *r)
{
	struct nn_picture_rows *rows = &r->pictures->rows[1];

	rows->arrays = true;
	rows->real = r->dtype;
	rows->nan_allowed = r->coding->inputs[0].missing != NULL;
}

/* The name goes with each answer, as a column that --keep would name. */
static int keep_name(struct nn_rows *r, struct nn_error *err)
{
	r->kept.names = nn_alloc(1, sizeof *r->kept.names, err);
	if (!r->kept.names || !(r->kept.names[0] = nn_strdup("file", err)))
		return -1;
	r->kept.n = 1;
	return 0;
}

static int open_pictures(struct nn_rows *r, bool targets, struct nn_error *err)
{
	const char *file = nn_input_name(r->input);
	const struct nn_input_schema *input = &r->schema->inputs[0];

	if (r->schema->n_inputs > 1 || (targets && r->schema->n_targets > 1))
		return nn_fail(
			err, NN_EFORMAT,
			"%s: pictures are one input and one target, the model has %zu and %zu",
			file, r->schema->n_inputs, r->schema->n_targets);
	if (targets && (!r->schema->targets[0].labels || !r->coding->targets[0].labels))
		return nn_fail(
			err, NN_EFORMAT,
			"%s: pictures have labels, but the model's target is numbers; give them "
			"as a file or folder of their own",
			file);
	for (size_t c = 0; input->columns && c < input->n_columns; c++)
		if (input->columns[c].category || input->columns[c].hashed)
			return nn_fail(err, NN_EFORMAT,
				       "%s: has pictures, but the model has columns of text", file);
	r->pictures = nn_alloc(1, sizeof *r->pictures, err);
	if (!r->pictures || keep_name(r, err) < 0)
		return -1;
	expect_shape(r);
	expect_arrays(r);
	if (nn_sample_reader_open(&r->pictures->reader, r->input, r->format->id, err) < 0)
		return -1;
	r->pictures->reader.labels = targets;
	return 0;
}

/* The rows that the sample is one of. */
static struct nn_picture_rows *rows_of(struct nn_rows_pictures *p)
{
	return &p->rows[p->sample.array];
}

static int wrong_size(struct nn_rows *r, struct nn_error *err)
{
	struct nn_picture_rows *rows = rows_of(r->pictures);
	struct nn_shape shape = nn_picture_shape(rows);
	char found[NN_SHAPE_TEXT];

	rows->known = false;
	return nn_fail(err, NN_EFORMAT, "%s: is %s (%zu value%s), the model wants %zu",
		       r->pictures->sample.place, nn_shape_text(found, &shape), rows->size,
		       nn_s(rows->size), r->coding->inputs[0].size);
}

/* Its values as categories, where the model has these. */
static struct nn_row_block source_of(const struct nn_rows *r, const struct nn_picture_rows *rows)
{
	return (struct nn_row_block){ r->pictures->planes, nn_picture_type(rows), rows->size, NULL,
				      nn_picture_scaled(rows) && r->schema->inputs[0].rows == 0 };
}

static int check_categories(struct nn_rows *r, struct nn_error *err)
{
	struct nn_row_block source = source_of(r, rows_of(r->pictures));
	size_t most = r->schema->inputs[0].rows, count = 0;

	return most ? nn_dataset_check_categories(&source, 1, source.stride, most, 0,
						  r->pictures->sample.place, &count, err)
		    : 0;
}

static int decode(struct nn_rows *r, struct nn_error *err)
{
	struct nn_rows_pictures *p = r->pictures;
	struct nn_picture_rows *rows = rows_of(p);
	size_t size = r->coding->inputs[0].size;
	struct nn_picture_job job = { .file = { p->sample.picture.bytes.data, p->sample.picture.n,
						p->sample.place, false } };

	if (!rows->known && nn_picture_learn(rows, &p->codecs, &job.file, err) < 0)
		return -1;
	if (rows->size != size)
		return wrong_size(r, err);
	if (!p->planes && !(p->planes = nn_alloc(size, nn_dtype_size(r->dtype), err)))
		return -1;
	job.to = p->planes;
	return nn_picture_decode_one(rows, &p->codecs, &job, err) < 0 ? -1
								      : check_categories(r, err);
}

static void put_input(struct nn_rows *r, struct nn_rows_out *out)
{
	const struct nn_input_code *code = &r->coding->inputs[0];
	struct nn_row_block source = source_of(r, rows_of(r->pictures));

	nn_fill_input(code, r->dtype, &source, NULL, 1, r->channels_last && r->channels_last[0],
		      (char *)out->inputs[0] + out->n * code->size * nn_dtype_size(r->dtype));
}

/* The class of the sample's label; one that the model does not have counts as unseen. */
static int put_label(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	const struct nn_target_code *code = &r->coding->targets[0];
	const char *label = r->pictures->sample.label;
	int64_t value;
	int32_t id = -1;

	if (!label)
		return nn_fail(err, NN_EFORMAT, "%s: has no label", r->pictures->sample.place);
	if (!nn_words_integers(code->labels))
		id = nn_words_find(code->labels, label, strlen(label));
	else if (nn_parse_i64(label, strlen(label), &value))
		id = nn_words_find_integer(code->labels, value);
	if (id < 0)
		nn_unseen_add(&r->table.labels, label, strlen(label));
	((int32_t *)out->targets[0])[out->n] = nn_code_class(code, id);
	return 0;
}

/* With targets of their own folder: they have to be of the picture of that name. */
static int check_stem(struct nn_rows *r, struct nn_error *err)
{
	struct nn_rows_pictures *p = r->pictures;
	const struct nn_text *stems = &r->scored->files.stems;
	size_t n = nn_picture_stem(p->sample.name);
	const char *wanted = stems->data + p->stem;

	if (p->stem >= stems->length)
		return 0;
	p->stem += strlen(wanted) + 1;
	if (strlen(wanted) == n && memcmp(wanted, p->sample.name, n) == 0)
		return 0;
	return nn_fail(err, NN_EFORMAT, "%s: has no target of its name, the next one is %s",
		       p->sample.place, wanted);
}

static void put_name(struct nn_rows *r, struct nn_rows_out *out)
{
	const char *name = r->pictures->sample.name;

	if (!out->beside || !out->beside->kept)
		return;
	nn_text_add_bytes(out->beside->kept, "s", 1);
	nn_text_add_bytes(out->beside->kept, name, strlen(name) + 1);
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	struct nn_rows_pictures *p = r->pictures;
	bool labels = out->targets && r->options.want_target && !r->scored;

	while (out->n < out->max) {
		int got, bad;

		if (out->n && nn_input_is_pipe(r->input) && !nn_input_ready(r->input))
			return 0;
		got = nn_sample_reader_next(&p->reader, &p->sample, err);
		r->ended = got == 0;
		if (got <= 0)
			return got;
		if (r->scored && check_stem(r, err) < 0)
			return -1;
		bad = decode(r, err) < 0 ? nn_rows_take_bad(r, out, err) : 0;
		if (bad < 0 || (r->scored && nn_rows_put_scored(r, bad ? NULL : out, err) < 0))
			return -1;
		if (bad == 1)
			continue;
		put_name(r, out);
		if (!bad)
			put_input(r, out);
		if (!bad && labels && put_label(r, out, err) < 0)
			return -1;
		out->n++;
	}
	return 0;
}

static int ready(struct nn_rows *r, struct nn_error *err)
{
	size_t held;

	(void)err;
	nn_input_held(r->input, &held);
	return held > 0 || nn_input_ready(r->input);
}

static int64_t total(const struct nn_rows *r)
{
	size_t n = nn_sample_reader_count(&r->pictures->reader);

	return n == SIZE_MAX ? -1 : (int64_t)n;
}

static const struct nn_rows_ops rows = { open_pictures, next_rows, ready, total };

#define PICTURES(format, title) \
	const struct nn_format nn_format_##format = { \
		.id = NN_FORMAT_##format, \
		.name = title, \
		.read = nn_dataset_read_pictures, \
		.rows = &rows, \
		.pictures = true, \
		.named = true, \
	};

PICTURES(png, "PNG")
PICTURES(jpeg, "JPEG")
PICTURES(tar, "tar")
PICTURES(folder, "a folder of pictures")
