/*
 * Pictures into a dataset: u8 planes of one size, and their classes, masks or other pictures as
 * targets. They are read one after another and decoded many at once.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/picture/decode.h"
#include "data/picture/labels.h"
#include "data/picture/store.h"

/* Decoded at once: samples, and about the bytes of their files. */
#define MOST_SAMPLES 256
#define MOST_BYTES ((size_t)32 << 20)

/* Rows that are decoded: of an input, or of a target. */
struct planes {
	struct nn_picture_rows rows;
	struct nn_array array;
	struct nn_picture_job jobs[MOST_SAMPLES];
};

struct pictures {
	struct nn_dataset *ds;
	struct nn_input *input;
	const struct nn_reading *reading;
	struct nn_sample_reader reader;
	struct nn_codecs codecs;
	struct nn_picture_labels labels;
	struct planes inputs, targets;
	size_t rows;
	struct nn_picture_store *store; /* where the pictures lie; NULL: they stay in memory */
	bool streams; /* pictures stay there: they take more memory than they may */
	bool masks;   /* targets are pictures */
	bool ended;
	struct nn_picture_sample samples[MOST_SAMPLES];
};

/* ---- stems: a picture and its mask have the same one ---- */

static int keep_stem(struct pictures *p, const char *name, struct nn_error *err)
{
	struct nn_text *stems = &p->ds->files.stems;

	nn_text_add_bytes(stems, name, nn_picture_stem(name));
	nn_text_add_bytes(stems, "", 1);
	return stems->failed ? nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for names",
				       nn_input_name(p->input))
			     : 0;
}

/* The stem of the picture whose target is the next one; *at: where in stems. */
static int check_stem(struct pictures *p, const struct nn_picture_sample *s, size_t *at,
		      struct nn_error *err)
{
	const struct nn_text *stems = &p->ds->files.stems;
	const char *wanted = stems->data + *at;
	size_t n = nn_picture_stem(s->name);

	if (stems->length == 0)
		return 0;
	if (*at >= stems->length)
		return nn_fail(err, NN_EFORMAT, "%s: has no picture in %s", s->place,
			       p->ds->files.file[0].path);
	if (strlen(wanted) != n || memcmp(wanted, s->name, n) != 0) {
		bool before = strncmp(s->name, wanted, n) < 0;

		return before ? nn_fail(err, NN_EFORMAT, "%s: has no picture in %s", s->place,
					p->ds->files.file[0].path)
			      : nn_fail(err, NN_EFORMAT, "%s: has nothing for %s of %s",
					nn_input_name(p->input), wanted, p->ds->files.file[0].path);
	}
	*at += n + 1;
	return 0;
}

/* ---- samples into rows ---- */

/* Rows that are asked for at most: the first ones, or as many targets as a sample has inputs. */
static size_t most_rows(const struct pictures *p)
{
	const struct nn_dataset *ds = p->ds;

	return ds->files.first                           ? ds->files.first
	       : ds->files.sample && !p->reading->inputs ? ds->inputs[0].array.shape.dim[0]
							 : SIZE_MAX;
}

static int read_samples(struct pictures *p, size_t *n, struct nn_error *err)
{
	size_t bytes = 0,
	       most = p->store && p->ds->files.memory < MOST_BYTES ? p->ds->files.memory
								   : MOST_BYTES,
	       left = most_rows(p) - p->rows;

	*n = 0;
	while (!p->ended && *n < MOST_SAMPLES && bytes < most && *n < left) {
		struct nn_picture_sample *s = &p->samples[*n];
		int got = nn_sample_reader_next(&p->reader, s, err);

		if (got < 0)
			return -1;
		p->ended = got == 0;
		*n += (size_t)got;
		bytes += got ? s->picture.n + s->mask.n : 0;
	}
	return 0;
}

static struct nn_picture_file file_of(const struct nn_picture_sample *s,
				      const struct nn_member *member, bool classes)
{
	return (struct nn_picture_file){ member->bytes.data, member->n, s->place, classes };
}

/* Do the pictures take more memory than they may? */
static bool is_too_much(const struct pictures *p, const struct planes *to, size_t n)
{
	size_t rows = nn_sample_reader_count(&p->reader), bytes;

	if (rows == SIZE_MAX)
		rows = p->rows + n;
	return !nn_mul(rows, nn_picture_bytes(&to->rows), &bytes) || bytes > p->ds->files.memory;
}

/* Where the pictures lie, as long as it may be needed. */
static int keep_places(struct pictures *p, size_t n, struct nn_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (nn_picture_store_add(p->store, &p->samples[i], &p->samples[i].picture, err) < 0)
			return -1;
	return 0;
}

/* Room for n more rows; a folder says how many there will be. */
static int make_room(struct pictures *p, struct planes *to, size_t n, struct nn_error *err)
{
	size_t rows = nn_sample_reader_count(&p->reader), bytes;

	if (rows == SIZE_MAX || p->ds->files.sample)
		rows = p->rows + n;
	if (!nn_mul(rows, nn_picture_bytes(&to->rows), &bytes) ||
	    nn_block_reserve(&to->array.block, bytes, err) < 0)
		return nn_fail_at(err, "%s: %zu pictures", nn_input_name(p->input), rows);
	return 0;
}

static int decode(struct pictures *p, struct planes *to, size_t n, bool masks, struct nn_error *err)
{
	const struct nn_member *first = masks ? &p->samples[0].mask : &p->samples[0].picture;
	struct nn_picture_file file = file_of(&p->samples[0], first, to->rows.classes);

	if (!to->rows.known) {
		to->rows.arrays = !masks && p->samples[0].array;
		if (nn_picture_learn(&to->rows, &p->codecs, &file, err) < 0)
			return -1;
	}
	for (size_t i = 0; !masks && i < n; i++)
		if (p->samples[i].array != to->rows.arrays)
			return nn_fail(err, NN_EFORMAT, "%s: is %s as the first sample",
				       p->samples[i].place,
				       to->rows.arrays ? "a picture, expected an array (.npy)"
						       : "an array (.npy), expected a picture");
	if (p->store && to == &p->inputs && !p->streams && is_too_much(p, to, n)) {
		p->streams = true;
		nn_array_free(&to->array);
	}
	if (p->streams && to == &p->inputs)
		return 0;
	if (make_room(p, to, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct nn_picture_sample *s = &p->samples[i];

		to->jobs[i].file = file_of(s, masks ? &s->mask : &s->picture, to->rows.classes);
		to->jobs[i].to =
			nn_block_at(&to->array.block, (p->rows + i) * nn_picture_bytes(&to->rows));
	}
	return nn_picture_decode(&to->rows, &p->codecs, to->jobs, n, p->ds->pool, err);
}

/* Labels, masks or stems of what was read. */
static int take_targets(struct pictures *p, size_t n, size_t *stem, struct nn_error *err)
{
	const struct nn_reading *reading = p->reading;

	if (p->rows == 0 && reading->inputs && reading->targets)
		p->masks = p->samples[0].mask.n > 0;
	for (size_t i = 0; i < n; i++) {
		struct nn_picture_sample *s = &p->samples[i];

		if (!reading->inputs ? check_stem(p, s, stem, err) < 0
				     : !reading->targets && keep_stem(p, s->name, err) < 0)
			return -1;
		if (!reading->inputs || !reading->targets)
			continue;
		if (p->masks && !s->mask.n)
			return nn_fail(err, NN_EFORMAT, "%s: has no mask", s->place);
		if (!p->masks && nn_picture_labels_add(&p->labels, p->ds->coding, s->label, s->told,
						       s->place, err) < 0)
			return -1;
	}
	if (p->masks && p->ds->files.first && reading->inputs)
		return nn_fail(err, NN_EFORMAT, "%s: masks of a stream are a folder or tar of their own",
			       nn_input_name(p->input));
	return p->masks ? decode(p, &p->targets, n, reading->inputs, err) : 0;
}

/* Of a sample of the data enough was read. */
static bool is_enough(struct pictures *p)
{
	size_t most = p->ds->files.sample, count = nn_sample_reader_count(&p->reader);

	if (p->rows >= most_rows(p))
		return true;
	if (!most ||
	    p->rows * (nn_picture_bytes(&p->inputs.rows) + nn_picture_bytes(&p->targets.rows)) <
		    most)
		return false;
	if (count != SIZE_MAX)
		nn_dataset_set_share(p->ds, (double)count / (double)p->rows, count);
	else
		nn_dataset_set_share(p->ds, 1 / nn_input_share(p->input), 0);
	return true;
}

static int read_rows(struct pictures *p, struct nn_error *err)
{
	size_t n, stem = 0;

	do {
		if (read_samples(p, &n, err) < 0)
			return -1;
		if (n == 0)
			break;
		if ((p->store && keep_places(p, n, err) < 0) ||
		    (p->reading->inputs && decode(p, &p->inputs, n, false, err) < 0) ||
		    take_targets(p, n, &stem, err) < 0)
			return -1;
		p->rows += n;
	} while (!is_enough(p));
	if (p->rows == 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has no file that is named .png, .jpg or .jpeg%s",
			       nn_input_name(p->input),
			       p->reading->format->id == NN_FORMAT_tar ? ", and no .npy" : "");
	if (n == 0 && !p->reading->inputs && stem < p->ds->files.stems.length)
		return nn_fail(err, NN_EFORMAT, "%s: has nothing for %s of %s",
			       nn_input_name(p->input), p->ds->files.stems.data + stem,
			       p->ds->files.file[0].path);
	return 0;
}

/* ---- rows into the dataset ---- */

static void finish(struct planes *planes, size_t rows)
{
	struct nn_shape sample = nn_picture_shape(&planes->rows);
	struct nn_array *a = &planes->array;

	a->dtype = nn_picture_type(&planes->rows);
	a->shape.rank = sample.rank + 1;
	a->shape.dim[0] = rows;
	memcpy(a->shape.dim + 1, sample.dim, (size_t)sample.rank * sizeof *sample.dim);
	a->data = a->block.data;
	a->picture = nn_picture_scaled(&planes->rows);
}

static int set_targets(struct pictures *p, const struct nn_want_target *want, struct nn_error *err)
{
	struct nn_raw_target raw = { .rows = p->rows, .place = nn_input_name(p->input) };

	if (!p->masks)
		return nn_picture_labels_set(&p->labels, p->ds, raw.place, want, err);
	finish(&p->targets, p->rows);
	raw.array = p->targets.array;
	return nn_dataset_set_target(p->ds, 0, want, &raw, err);
}

/* The store is the dataset's from now on. */
static int leave(struct pictures *p, struct nn_error *err)
{
	if (nn_picture_store_end(p->store, &p->inputs.rows, err) < 0)
		return -1;
	p->ds->files.pictures = p->store;
	p->store = NULL;
	return 0;
}

static int set_rows(struct pictures *p, struct nn_error *err)
{
	struct nn_dataset *ds = p->ds;
	const struct nn_want *want = ds->fixed ? NULL : p->reading->want;
	const char *file = nn_input_name(p->input);

	if (p->reading->inputs) {
		finish(&p->inputs, p->rows);
		ds->inputs[0].array = p->inputs.array;
		p->inputs.array = (struct nn_array){ 0 };
		if (p->streams && leave(p, err) < 0)
			return -1;
		if (nn_dataset_set_input(ds, 0, file, !p->inputs.rows.arrays,
					 want ? want->inputs : NULL, err) < 0)
			return -1;
		if (p->streams)
			nn_dataset_stream(ds);
	}
	if (!p->reading->targets)
		return 0;
	if (nn_dataset_set_rows(ds, file, p->rows, err) < 0)
		return -1;
	return set_targets(p, want ? want->targets : NULL, err);
}

/* Masks are classes, unless the loss or the model wants numbers. */
static bool are_classes(const struct pictures *p)
{
	const struct nn_want *want = p->ds->fixed ? NULL : p->reading->want;

	if (!p->reading->targets || p->ds->schema->n_targets == 0)
		return false;
	return want ? !want->targets[0].numbers : p->ds->schema->targets[0].labels != NULL;
}

static int check_model(const struct pictures *p, struct nn_error *err)
{
	const struct nn_dataset *ds = p->ds;

	if (ds->rules.target && p->reading->targets)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has pictures and no columns, so --target=%.60s is not in it; "
			       "folders are classes, masks a folder of their own",
			       nn_input_name(p->input), ds->rules.target);
	if (nn_dataset_no_columns(ds, nn_input_name(p->input), p->reading->want,
				  p->reading->targets, err) < 0)
		return -1;
	if ((p->reading->inputs && ds->schema->n_inputs > 1) ||
	    (p->reading->targets && ds->schema->n_targets > 1))
		return nn_fail(
			err, NN_EFORMAT,
			"%s: pictures are one input and one target, the model has %zu and %zu",
			nn_input_name(p->input), ds->schema->n_inputs, ds->schema->n_targets);
	return 0;
}

/* Inputs of folders and tars may stay where they are, where memory is bounded. */
static bool may_stream(const struct pictures *p)
{
	return p->ds->files.memory && !p->ds->files.sample && !p->ds->files.first &&
	       p->reading->inputs &&
	       (p->reading->format->id == NN_FORMAT_folder ||
		p->reading->format->id == NN_FORMAT_tar);
}

int nn_dataset_read_pictures(struct nn_dataset *ds, struct nn_input *input,
			     const struct nn_reading *reading, struct nn_error *err)
{
	struct pictures *p = nn_alloc(1, sizeof *p, err);
	int status;

	if (!p)
		return -1;
	p->ds = ds;
	p->input = input;
	p->reading = reading;
	p->masks = !reading->inputs;
	p->targets.rows.classes = are_classes(p);
	p->targets.rows.raw = true;
	p->inputs.rows.real = ds->dtype;
	status = check_model(p, err);
	if (status == 0)
		status = nn_sample_reader_open(&p->reader, input, reading->format->id, err);
	p->reader.labels = reading->inputs && reading->targets;
	p->inputs.rows.nan_allowed = reading->inputs && nn_dataset_nan_allowed(ds, 0);
	if (status == 0 && may_stream(p))
		status = nn_picture_store_new(&p->store, input, err);
	if (status == 0)
		status = read_rows(p, err);
	if (status == 0)
		status = set_rows(p, err);
	for (size_t i = 0; i < MOST_SAMPLES; i++)
		nn_picture_sample_free(&p->samples[i]);
	nn_sample_reader_close(&p->reader);
	nn_picture_labels_fini(&p->labels);
	nn_picture_store_free(p->store);
	nn_array_free(&p->inputs.array);
	nn_array_free(&p->targets.array);
	nn_free(p);
	return status;
}
