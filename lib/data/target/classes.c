/*
 * --classes: the labels that targets may have, known before they are read: the numbers below N, or
 * a label a line of a file.
 */
#include <inttypes.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/table/lines.h"
#include "data/table/missing-word.h"

static bool is_count(const char *value, uint64_t *n)
{
	return nn_parse_u64(value, strlen(value), n);
}

int nn_classes_check(const char *value, struct nn_error *err)
{
	uint64_t n;

	if (is_count(value, &n) && n < 1)
		return nn_fail(err, NN_EUSAGE, "expected at least 1 class");
	if (!*value || nn_is_stdin(value) || (value[0] == '-' && is_count(value + 1, &n)))
		return nn_fail(err, NN_EUSAGE, "expected the name of a file, or a number");
	return 0;
}

bool nn_classes_names_file(const char *value)
{
	uint64_t n;

	return !is_count(value, &n);
}

static int count_up(struct nn_words *words, uint64_t n, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];

	if (n > nn_limit(NN_LIMIT_CLASSES))
		return nn_fail(err, NN_EUSAGE, "--classes=%" PRIu64 ": expected 1 to %s", n,
			       nn_limit_said(NN_LIMIT_CLASSES, n, said));
	for (uint64_t i = 0; i < n; i++)
		if (nn_words_add_integer(words, (int64_t)i, err) < 0)
			return -1;
	return 0;
}

/* ---- a file ---- */

static int check_line(const struct nn_csv *csv, const struct nn_record *r, uint64_t line,
		      struct nn_error *err)
{
	const char *name = nn_input_name(csv->input);
	size_t good = nn_utf8_prefix(r->text, r->length);
	char said[NN_LIMIT_TEXT];

	if (r->line != line)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": empty line, expected a label",
			       name, line);
	if (line > nn_limit(NN_LIMIT_CLASSES))
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": more than %s", name, line,
			       nn_limit_said(NN_LIMIT_CLASSES, 0, said));
	if (memchr(r->text, '\0', r->length))
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": found a NUL byte, expected text",
			       name, line);
	if (good < r->length)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": byte 0x%02x is not UTF-8", name,
			       line, (unsigned char)r->text[good]);
	return 0;
}

static int twice(const char *path, size_t line, const char *label, size_t length,
		 struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EFORMAT, "%s:%zu: label \"%s\" occurs twice", path, line,
		       nn_quote(quoted, label, length));
}

/* The words are the lines, so the number of each is its line's, less one. */
static int read_lines(struct nn_words *words, const char *path, struct nn_error *err)
{
	struct nn_input *input;
	struct nn_record r;
	struct nn_csv csv;
	int status;

	if (nn_input_open(&input, path, err) < 0)
		return nn_fail_at(err, "--classes");
	nn_csv_init(&csv, input);
	for (size_t n = 1; (status = nn_lines_next(&csv, &r, err)) == 1; n++) {
		r.length -= r.length && r.text[r.length - 1] == '\r';
		if (check_line(&csv, &r, n, err) < 0 ||
		    nn_words_add(words, r.text, r.length, err) < 0)
			status = -1;
		else if (nn_words_count(words) < n)
			status = twice(path, n, r.text, r.length, err);
		if (status < 0)
			break;
	}
	if (status == 0 && nn_words_count(words) == 0)
		status = nn_fail(err, NN_EFORMAT, "%s: has no labels", path);
	nn_csv_fini(&csv);
	nn_input_close(input);
	return status;
}

static bool integer_of(const char *text, int64_t *value)
{
	size_t n = strlen(text);

	if (nn_label_is_padded(text, n))
		return false;
	nn_trim(&text, &n);
	return nn_parse_i64(text, n, value);
}

/* Lines that are integers, all of them, are those. */
static int take_integers(struct nn_dataset *ds, struct nn_words **words, const char *path,
			 struct nn_error *err)
{
	size_t n = nn_words_count(*words);
	struct nn_words *integers;
	int64_t value;

	for (size_t i = 0; i < n; i++)
		if (!integer_of(nn_words_text(*words, (int32_t)i), &value))
			return 0;
	if (!(integers = nn_coding_words(ds->coding, true, err)))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *text = nn_words_text(*words, (int32_t)i);

		integer_of(text, &value);
		if (nn_words_add_integer(integers, value, err) < 0)
			return -1;
		if (nn_words_count(integers) <= i)
			return twice(path, i + 1, text, strlen(text), err);
	}
	*words = integers;
	return 0;
}

/* ---- both ---- */

/* The label of --ignore may occur, whether it is listed or not. */
static int add_ignored(struct nn_words *words, const char *ignored, struct nn_error *err)
{
	int64_t value;
	int32_t id = 0;

	if (ignored && !nn_words_integers(words))
		id = nn_words_add(words, ignored, strlen(ignored), err);
	else if (ignored && nn_parse_i64(ignored, strlen(ignored), &value))
		id = nn_words_add_integer(words, value, err);
	return id < 0 ? -1 : 0;
}

static int list_target(struct nn_dataset *ds, const char *value, const struct nn_want *want,
		       size_t target, struct nn_error *err)
{
	struct nn_target_code *code = &ds->coding->targets[target];
	uint64_t n;
	bool count = is_count(value, &n);
	struct nn_words *words;

	if (!(words = nn_coding_words(ds->coding, count, err)) ||
	    (count ? count_up(words, n, err) : read_lines(words, value, err)) < 0 ||
	    (!count && take_integers(ds, &words, value, err) < 0) ||
	    add_ignored(words, want->targets[target].ignored, err) < 0)
		return -1;
	code->labels = words;
	code->closed = true;
	return 0;
}

/* ---- of several outputs: OUTPUT=FILE|N,... ---- */

const char *nn_classes_part(const char *value, size_t n_outputs, const char *output, size_t *n)
{
	size_t length = output ? strlen(output) : 0;

	if (!value)
		return NULL;
	if (n_outputs == 1) {
		*n = strlen(value);
		return value;
	}
	for (const char *part = value; output; part++) {
		*n = strcspn(part, ",");
		if (*n > length && part[length] == '=' && memcmp(part, output, length) == 0) {
			*n -= length + 1;
			return part + length + 1;
		}
		part += *n;
		if (!*part)
			break;
	}
	return NULL;
}

/* Whose outputs they are is not known before the model is. */
int nn_classes_each_file(const char *value, int (*visit)(void *arg, const char *path), void *arg)
{
	int status = 0;

	for (const char *part = value; part && status == 0;) {
		const char *end = part + strcspn(part, ","),
			   *equals = memchr(part, '=', (size_t)(end - part));
		char *list =
			equals ? nn_strndup(equals + 1, (size_t)(end - equals - 1), NULL) : NULL;

		if (list && !nn_is_stdin(list) && nn_classes_names_file(list))
			status = visit(arg, list);
		nn_free(list);
		part = *end ? end + 1 : NULL;
	}
	return status;
}

/* Each part is that of another output. */
static int check_parts(const char *value, const struct nn_want *want, struct nn_error *err)
{
	size_t parts = 1, found = 0, n;
	struct nn_text names = { 0 };
	int status = 0;

	for (const char *c = value; *c; c++)
		parts += *c == ',';
	for (size_t i = 0; i < want->n_targets; i++) {
		const char *name = want->targets[i].name;

		found += nn_classes_part(value, want->n_targets, name, &n) != NULL;
		nn_text_addf(&names, "%s%s", i ? ", " : "", name ? name : "-");
	}
	if (found != parts)
		status = nn_fail(err, NN_EUSAGE,
				 "--classes=%s: expected OUTPUT=FILE|N,... with outputs of %s, "
				 "each once at most",
				 value, names.failed ? "the model" : names.data);
	nn_text_free(&names);
	return status;
}

int nn_dataset_list_classes(struct nn_dataset *ds, const char *value, const struct nn_want *want,
			    struct nn_error *err)
{
	int status = want->n_targets == 1 ? 0 : check_parts(value, want, err);
	size_t n;

	for (size_t i = 0; i < want->n_targets && status == 0; i++) {
		const char *part =
			nn_classes_part(value, want->n_targets, want->targets[i].name, &n);
		char *list = part ? nn_strndup(part, n, err) : NULL;

		if (part && !list)
			return -1;
		if (part && nn_classes_check(list, err) < 0)
			status = nn_fail_at(err, "--classes=%s", value);
		else if (part)
			status = list_target(ds, list, want, i, err);
		nn_free(list);
	}
	return status;
}

bool nn_dataset_closed_labels(const struct nn_dataset *ds, size_t target,
			      struct nn_table_column *column)
{
	const struct nn_target_code *code = &ds->coding->targets[target];

	if (!code->closed)
		return false;
	column->closed = true;
	column->words = code->labels;
	column->cell = nn_words_integers(code->labels) ? NN_CELL_LABEL : NN_CELL_WORD;
	return true;
}

void nn_classes_hash(const struct nn_words *words, struct nn_sha256 *hash)
{
	for (size_t i = 0; i < nn_words_count(words); i++) {
		int64_t value = nn_words_integers(words) ? nn_words_integer(words, (int32_t)i) : 0;
		const char *text = nn_words_integers(words) ? "" : nn_words_text(words, (int32_t)i);

		nn_sha256_add(hash, &value, sizeof value);
		nn_sha256_add(hash, text, strlen(text) + 1);
	}
}
