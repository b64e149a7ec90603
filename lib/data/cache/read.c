/*
 * A cache into datasets: what the JSON at its end says is compared with what is wanted and with the
 * size of the file, so that one that is damaged is made anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/cache/cache.h"
#include "data/array/file-rows.h"
#include "data/sequence/sequence.h"
#include "file/json/json.h"

#define MOST_JSON ((uint64_t)1 << 30)

struct reader {
	struct nn_file_rows file; /* borrowed path; at: where the JSON begins */
	struct nn_json *json;
	const struct nn_want *want;
	bool stays;           /* inputs of the part that is read stay in the file */
	struct nn_error *err; /* of what is no damage: memory */
	struct nn_error why;  /* it is made anew */
};

static int damaged(struct reader *r, const char *what)
{
	return nn_fail(&r->why, NN_EFORMAT, "is damaged: %s", what);
}

/* ---- numbers of the JSON ---- */

static uint64_t count_of(const struct nn_json *object, const char *key)
{
	const struct nn_json *value = nn_json_get(object, key);
	int64_t n = nn_json_whole(value) ? nn_json_integer(value) : -1;

	return n < 0 ? UINT64_MAX : (uint64_t)n;
}

static bool yes(const struct nn_json *object, const char *key)
{
	return nn_json_bool(nn_json_get(object, key));
}

/* Where `count` values of so many bytes lie. */
static int find_section(struct reader *r, const struct nn_json *section, size_t count, size_t size,
			uint64_t *at, size_t *bytes)
{
	*at = count_of(section, "at");
	if (!nn_mul(count, size, bytes) || count_of(section, "bytes") != *bytes ||
	    *at > r->file.at || *bytes > r->file.at - *at)
		return damaged(r, "values have another size than rows");
	return 0;
}

static int load(struct reader *r, const struct nn_json *section, size_t count, size_t size,
		struct nn_block *block)
{
	uint64_t at;
	size_t bytes;

	if (find_section(r, section, count, size, &at, &bytes) < 0)
		return -1;
	if (nn_block_reserve(block, bytes + 1, r->err) < 0 ||
	    nn_file_rows_bytes(&r->file, at, block->data, bytes, r->err) < 0)
		return -1;
	if (nn_crc32(0, block->data, bytes) != count_of(section, "crc"))
		return damaged(r, "values do not have their checksum");
	return 0;
}

/* As load, into memory that nn_free takes. */
static void *load_array(struct reader *r, const struct nn_json *section, size_t count, size_t size)
{
	struct nn_block block = { 0 };
	void *array = load(r, section, count, size, &block) < 0 ? NULL
								  : nn_alloc(count, size, r->err);

	if (array)
		memcpy(array, block.data, count * size);
	nn_block_free(&block);
	return array;
}

/* ---- inputs ---- */

/* Slots of columns that follow each other: values of a table are taken one by one. */
static int give_slots(struct reader *r, struct nn_dataset *ds, size_t i, size_t n)
{
	struct nn_column_plan *plan = &ds->plan;

	if (!plan->slots) {
		plan->n_inputs = ds->schema->n_inputs;
		plan->slots = nn_alloc(plan->n_inputs, sizeof *plan->slots, r->err);
	}
	if (!plan->slots || !(plan->slots[i] = nn_alloc(n, sizeof **plan->slots, r->err)))
		return -1;
	for (size_t c = 0; c < n; c++)
		plan->slots[i][c] = c;
	ds->inputs[i].source.slots = plan->slots[i];
	return 0;
}

/* Do rows stay in the file? All of them where they take more than they may. */
static bool stays(const struct reader *r, const struct nn_dataset *ds, const struct nn_json *inputs)
{
	double bytes = 0;

	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		bytes += (double)count_of(nn_json_get(nn_json_at(inputs, i), "section"), "bytes");
	return r->want->memory && bytes > (double)r->want->memory && !ds->sequences;
}

/* Rows of so many values of a type, from `at` on. */
static int leave_rows(struct reader *r, struct nn_file_rows **file, uint64_t at, size_t values,
		      enum nn_dtype dtype)
{
	int fd = fcntl(r->file.fd, F_DUPFD_CLOEXEC, 3);
	struct nn_file_rows *rows;

	if (fd < 0)
		return nn_fail_errno(r->err, NN_EFAIL, "%s: cannot read", r->file.path);
	if (!(*file = rows = nn_file_rows_new(fd, r->file.path, r->err)))
		return -1;
	rows->at = at;
	rows->values = values;
	rows->from = rows->to = dtype;
	return 0;
}

static int read_input(struct reader *r, struct nn_dataset *ds, size_t i,
		      const struct nn_json *input)
{
	const struct nn_input_schema *schema = &ds->schema->inputs[i];
	bool steps = ds->sequences && ds->sequences->input == i, slots = yes(input, "slots");
	const char *type = nn_json_string(nn_json_get(input, "dtype"), NULL);
	size_t values = schema->columns ? schema->n_columns
			: steps         ? nn_sequences_step(ds)
					: nn_shape_count(&schema->shape);
	enum nn_dtype dtype = type && strcmp(type, "u8") == 0 ? NN_U8 : ds->dtype;
	size_t rows = (size_t)count_of(input, "rows"), size = nn_dtype_size(dtype), bytes;
	const struct nn_json *section = nn_json_get(input, "section");
	uint64_t at;

	if (!type || (dtype != NN_U8 && strcmp(type, nn_dtype_name(ds->dtype)) != 0) ||
	    count_of(input, "values") != values || (slots && dtype == NN_U8) ||
	    !nn_mul(values, size, &size))
		return damaged(r, "rows have other values than the schema");
	if (rows != (steps ? nn_sequence_begin(ds->sequences, ds->rows) : ds->rows))
		return damaged(r, "inputs have other rows than targets");
	ds->inputs[i].source = (struct nn_row_block){ NULL, dtype, values, NULL,
						      yes(input, "picture") };
	if (slots && give_slots(r, ds, i, values) < 0)
		return -1;
	if (find_section(r, section, rows, size, &at, &bytes) < 0)
		return -1;
	if (r->stays)
		return leave_rows(r, &ds->inputs[i].file, at, values, dtype);
	if (load(r, section, rows, size, &ds->inputs[i].array.block) < 0)
		return -1;
	ds->inputs[i].source.data = ds->inputs[i].array.block.data;
	return 0;
}

/* ---- targets ---- */

/* Words, by the numbers that targets have; those of --classes are known already. */
static int read_words(struct reader *r, struct nn_dataset *ds, size_t i, const struct nn_json *words)
{
	struct nn_target_code *code = &ds->coding->targets[i];
	bool integers = ds->schema->targets[i].integer_labels;

	if (!ds->targets[i].classes || code->fixed)
		return 0;
	if (code->closed)
		return nn_words_count(code->labels) == nn_json_size(words)
			       ? 0
			       : damaged(r, "labels are not those of --classes");
	if (!(code->labels = nn_coding_words(ds->coding, integers, r->err)))
		return -1;
	for (size_t k = 0; k < nn_json_size(words); k++) {
		size_t n;
		const char *word = nn_json_string(nn_json_at(words, k), &n);
		int64_t value = 0;
		int32_t id;

		if (!word || (integers && !nn_parse_i64(word, n, &value)))
			return damaged(r, "a label cannot be read");
		id = integers ? nn_words_add_integer(code->labels, value, r->err)
			      : nn_words_add(code->labels, word, n, r->err);
		if (id != (int32_t)k)
			return id < 0 ? -1 : damaged(r, "a label occurs twice");
	}
	return 0;
}

static int read_target(struct reader *r, struct nn_dataset *ds, size_t i,
		       const struct nn_json *target)
{
	const struct nn_json *section = nn_json_get(target, "section");
	struct nn_data_target *t = &ds->targets[i];
	enum nn_dtype dtype = yes(target, "classes") ? NN_I32 : ds->dtype;
	size_t values = 0, bytes;
	uint64_t at;

	t->classes = yes(target, "classes");
	t->steps = yes(target, "steps");
	t->from_table = yes(target, "table");
	t->size = (size_t)count_of(target, "size");
	t->plain = !ds->training && r->want->targets[i].plain;
	t->wanted = ds->training || ds->fixed ? 0 : r->want->targets[i].size;
	if (!ds->training && !ds->fixed && r->want->targets[i].ignored &&
	    !(t->ignored = nn_strdup(r->want->targets[i].ignored, r->err)))
		return -1;
	if (t->steps ? !ds->sequences || nn_sequences_width(ds, t) == 0
		     : !nn_mul(ds->rows, t->size, &values))
		return damaged(r, "targets have other rows than inputs");
	if (t->steps &&
	    !nn_mul(nn_sequence_begin(ds->sequences, ds->rows), nn_sequences_width(ds, t), &values))
		return damaged(r, "targets have other steps than inputs");
	if (find_section(r, section, values, nn_dtype_size(dtype), &at, &bytes) < 0)
		return -1;
	if (r->want->memory && bytes > r->want->memory && !ds->sequences)
		return leave_rows(r, &t->file, at, t->size, dtype);
	return load(r, section, values, nn_dtype_size(dtype), &t->values);
}

/* Numbers of labels, of which there are so many. */
static int check_some(struct reader *r, const struct nn_dataset *ds, size_t i, const int32_t *ids,
		      size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (ids[k] >= (int32_t)nn_words_count(ds->coding->targets[i].labels))
			return damaged(r, "a class is none");
	return 0;
}

static int check_ids(struct reader *r, const struct nn_dataset *ds, size_t i)
{
	const struct nn_data_target *t = &ds->targets[i];
	void *row;
	int status = 0;

	if (!t->classes)
		return 0;
	if (!ds->coding->targets[i].labels)
		return damaged(r, "classes have no labels");
	if (!t->file)
		return check_some(r, ds, i, t->values.data, nn_dataset_target_values(ds, t));
	if (!(row = nn_alloc(1, nn_file_rows_size(t->file), r->err)))
		return -1;
	for (size_t k = 0; status == 0 && k < ds->rows; k++) {
		status = nn_file_rows_read(t->file, k, 1, row, r->err);
		if (status == 0)
			status = check_some(r, ds, i, row, t->size);
	}
	nn_free(row);
	return status;
}

/* ---- a dataset ---- */

static int read_sequences(struct reader *r, struct nn_dataset *ds, const struct nn_json *s)
{
	const size_t *ends;

	if (!s)
		return nn_schema_lengths(ds->schema) < ds->schema->n_inputs
			       ? damaged(r, "rows have no lengths")
			       : 0;
	if (!(ds->sequences = nn_alloc(1, sizeof *ds->sequences, r->err)))
		return -1;
	ds->sequences->input = (size_t)count_of(s, "input");
	ds->sequences->longest = (size_t)count_of(s, "longest");
	if (ds->sequences->input != nn_schema_lengths(ds->schema) ||
	    ds->sequences->input >= ds->schema->n_inputs)
		return damaged(r, "rows of another input have lengths");
	if (load(r, nn_json_get(s, "ends"), ds->rows, sizeof(size_t), &ds->sequences->ends) < 0)
		return -1;
	ends = (const size_t *)ds->sequences->ends.data;
	for (size_t i = 0; i < ds->rows; i++)
		if (ends[i] <= (i ? ends[i - 1] : 0) ||
		    ends[i] - (i ? ends[i - 1] : 0) >
			    ds->schema->inputs[ds->sequences->input].shape.dim[0])
			return damaged(r, "a row has another length");
	return 0;
}

static int read_beside(struct reader *r, struct nn_dataset *ds, const struct nn_json *part)
{
	const struct nn_json *weights = nn_json_get(part, "weights"),
			     *left_out = nn_json_get(part, "left_out"),
			     *notices = nn_json_get(part, "notices");
	const char *columns = nn_json_string(nn_json_get(part, "columns"), NULL);

	if ((weights && !(ds->weights = load_array(r, weights, ds->rows, sizeof *ds->weights))) ||
	    (left_out && !(ds->left_out = load_array(r, left_out, ds->rows, sizeof *ds->left_out))))
		return -1;
	for (size_t k = 0; left_out && k < ds->rows; k++)
		if (((const unsigned char *)ds->left_out)[k] > 1)
			return damaged(r, "a row is left out and is not");
	for (size_t i = 0; i < nn_json_size(notices); i++)
		if (nn_dataset_notice_add(ds, r->err, "%s",
					  nn_json_string(nn_json_at(notices, i), NULL)) < 0)
			return -1;
	return columns && !(ds->columns = nn_strdup(columns, r->err)) ? -1 : 0;
}

/* Names and times of the files, for nn_dataset_unchanged and for messages. */
static int take_files(struct reader *r, struct nn_dataset *ds, const char *data,
		      const char *targets)
{
	const char *const paths[] = { data, targets };
	struct stat st;

	for (size_t i = 0; i < 2 && paths[i]; i++) {
		struct nn_data_file *file = &ds->files.file[ds->files.n];

		if (!(file->path = nn_strdup(paths[i], r->err)))
			return -1;
		if (stat(paths[i], &st) < 0)
			return nn_fail_errno(r->err, NN_EFAIL, "%s: cannot open", paths[i]);
		nn_stamp_take(&file->stamp, &st);
		ds->files.n++;
	}
	return 0;
}

static int read_part(struct reader *r, struct nn_dataset *ds, const struct nn_json *part)
{
	const struct nn_json *inputs = nn_json_get(part, "inputs"),
			     *targets = nn_json_get(part, "targets");
	const char *hash = nn_json_string(nn_json_get(part, "hash"), NULL);

	ds->rows = ds->files.read_rows = (size_t)count_of(part, "rows");
	ds->rows_known = true;
	if (!hash || strlen(hash) >= sizeof ds->hash || nn_json_size(inputs) != ds->schema->n_inputs ||
	    nn_json_size(targets) != ds->schema->n_targets)
		return damaged(r, "inputs or targets are missing");
	memcpy(ds->hash, hash, strlen(hash) + 1);
	if (read_sequences(r, ds, nn_json_get(part, "sequences")) < 0 ||
	    read_beside(r, ds, part) < 0)
		return -1;
	r->stays = stays(r, ds, inputs);
	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		if (read_input(r, ds, i, nn_json_at(inputs, i)) < 0)
			return -1;
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (read_target(r, ds, i, nn_json_at(targets, i)) < 0)
			return -1;
	return 0;
}

/* All words are there: classes, and where rows come from. */
static int finish(struct reader *r, struct nn_dataset *ds)
{
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (nn_dataset_order_labels(ds, i, r->err) < 0)
			return -1;
	if (nn_coding_schema(ds->coding, ds->schema, false, r->err) < 0)
		return -1;
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (check_ids(r, ds, i) < 0)
			return -1;
	if (ds->sequences)
		nn_sequences_source(ds);
	else
		nn_dataset_stream_files(ds);
	ds->files.memory = nn_dataset_in_files(ds) ? r->want->memory : 0;
	return 0;
}

static int parse_schema(struct reader *r, struct nn_schema **schema)
{
	const char *input = nn_json_string(nn_json_get(r->json, "input"), NULL),
		   *target = nn_json_string(nn_json_get(r->json, "target"), NULL);
	struct nn_error why;

	if (!input || !target || nn_schema_parse(schema, input, target, &why) < 0)
		return damaged(r, "what it says of its columns cannot be read");
	if ((*schema)->n_inputs == r->want->n_inputs && (*schema)->n_targets == r->want->n_targets)
		return 0;
	nn_schema_free(*schema);
	return damaged(r, "it has other inputs or targets");
}

static int read_training(struct reader *r, const struct nn_cache_sources *sources,
			 const struct nn_data_options *options, struct nn_dataset **dataset)
{
	const struct nn_json *words = nn_json_get(r->json, "words");
	struct nn_schema *schema;

	if (parse_schema(r, &schema) < 0 ||
	    nn_dataset_new_of(dataset, schema, options, r->want, r->err) < 0 ||
	    take_files(r, *dataset, sources->data, sources->targets) < 0 ||
	    read_part(r, *dataset, nn_json_get(r->json, "data")) < 0)
		return -1;
	for (size_t i = 0; i < (*dataset)->schema->n_targets; i++)
		if (read_words(r, *dataset, i, nn_json_at(words, i)) < 0)
			return -1;
	return finish(r, *dataset);
}

static int read_held_out(struct reader *r, const struct nn_cache_sources *sources,
			 struct nn_dataset *training, struct nn_dataset **held_out)
{
	const struct nn_json *part = nn_json_get(r->json, "held_out");

	if (!part)
		return damaged(r, "held-out rows are missing");
	if (nn_dataset_new_like(held_out, training, r->err) < 0 ||
	    take_files(r, *held_out, sources->held_out, sources->held_out_targets) < 0 ||
	    read_part(r, *held_out, part) < 0)
		return -1;
	return finish(r, *held_out);
}

/* ---- the file ---- */

/* 1: it is there; 0: not yet; -1: it is something else. */
static int open_file(struct reader *r, uint64_t *size)
{
	char magic[8];
	struct stat st;

	r->file.fd = open(r->file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO is refused */
	if (r->file.fd < 0 && errno == ENOENT)
		return 0;
	if (r->file.fd < 0 || fstat(r->file.fd, &st) < 0)
		return nn_fail_errno(r->err, NN_EFAIL, "%s: cannot open", r->file.path);
	*size = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode) && *size == 0)
		return 0;
	if (!S_ISREG(st.st_mode) || *size < sizeof magic ||
	    nn_file_rows_bytes(&r->file, 0, magic, sizeof magic, r->err) < 0 ||
	    memcmp(magic, NN_CACHE_MAGIC, sizeof magic) != 0)
		return nn_fail(r->err, NN_EFORMAT,
			       "--cache=%s: is no cache of data, and is not overwritten",
			       r->file.path);
	return 1;
}

static int read_json(struct reader *r, uint64_t size)
{
	struct nn_block text = { 0 };
	char tail[NN_CACHE_TAIL];
	uint64_t length, crc;
	struct nn_error why;

	if (size < sizeof tail + 8 ||
	    nn_file_rows_bytes(&r->file, size - sizeof tail, tail, sizeof tail, r->err) < 0)
		return damaged(r, "it ends early");
	memcpy(&length, tail, 8);
	memcpy(&crc, tail + 8, 8);
	if (memcmp(tail + 16, NN_CACHE_END, 8) != 0 || length > MOST_JSON ||
	    length > size - sizeof tail - 8)
		return damaged(r, "it ends early");
	r->file.at = size - sizeof tail - length;
	if (nn_block_reserve(&text, length + 1, r->err) < 0 ||
	    nn_file_rows_bytes(&r->file, r->file.at, text.data, length, r->err) < 0) {
		nn_block_free(&text);
		return -1;
	}
	if (nn_crc32(0, text.data, length) == crc)
		r->json = nn_json_parse(text.data, length, &why);
	nn_block_free(&text);
	return r->json ? 0 : damaged(r, "what it says of itself cannot be read");
}

static int check_key(struct reader *r, const char *key)
{
	const char *found = nn_json_string(nn_json_get(r->json, "key"), NULL);

	return found && strcmp(found, key) == 0
		       ? 0
		       : nn_fail(&r->why, NN_EFORMAT,
				 "is of other data, or was made with other options");
}

int nn_cache_read(const char *path, const char *key, const struct nn_cache_sources *sources,
		  const struct nn_data_options *options, const struct nn_want *want,
		  struct nn_dataset **dataset, struct nn_dataset **held_out, struct nn_error *why,
		  struct nn_error *err)
{
	struct nn_error own = { 0 };
	struct reader r = { .file = { .fd = -1, .path = (char *)path }, .want = want, .err = &own };
	uint64_t size = 0;
	int status = open_file(&r, &size);

	*dataset = *held_out = NULL;
	*why = (struct nn_error){ 0 };
	if (status == 1 && (read_json(&r, size) < 0 || check_key(&r, key) < 0 ||
			    read_training(&r, sources, options, dataset) < 0 ||
			    (sources->held_out &&
			     read_held_out(&r, sources, *dataset, held_out) < 0)))
		status = r.why.code ? 0 : -1;
	if (status < 1) {
		nn_dataset_free(*held_out);
		nn_dataset_free(*dataset);
		*dataset = *held_out = NULL;
	}
	*why = r.why;
	if (status < 0 && err)
		*err = own;
	if (r.file.fd >= 0)
		close(r.file.fd);
	nn_json_free(r.json);
	return status;
}

/* ---- a plan ---- */

static bool has(const char *path, const char *key)
{
	struct nn_error own = { 0 };
	struct reader r = { .file = { .fd = -1, .path = (char *)path }, .err = &own };
	uint64_t size;
	bool found =
		open_file(&r, &size) == 1 && read_json(&r, size) == 0 && check_key(&r, key) == 0;

	if (r.file.fd >= 0)
		close(r.file.fd);
	nn_json_free(r.json);
	return found;
}

/* As finish. */
static void plan(struct nn_dataset *ds, size_t memory)
{
	if (ds->sequences || !nn_cache_takes(ds))
		return;
	ds->files.memory = memory;
	ds->files.decoded = false;
}

void nn_cache_plan(const char *path, const char *key, size_t memory, struct nn_dataset *dataset,
		   struct nn_dataset *held_out)
{
	if (!has(path, key))
		return;
	plan(dataset, memory);
	if (held_out)
		plan(held_out, memory);
}
