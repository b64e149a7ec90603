/* Files and members into samples. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/picture/samples.h"
#include "file/json/json.h"
#include "file/picture/picture.h"

#define MOST_LABEL 256 /* bytes */

void nn_picture_sample_free(struct nn_picture_sample *s)
{
	nn_free(s->name);
	nn_free(s->place);
	nn_free(s->label);
	nn_block_free(&s->picture.bytes);
	nn_block_free(&s->mask.bytes);
	nn_block_free(&s->text.bytes);
	*s = (struct nn_picture_sample){ 0 };
}

/* Its blocks stay. */
static void clear(struct nn_picture_sample *s)
{
	nn_free(s->name);
	nn_free(s->place);
	nn_free(s->label);
	s->name = s->place = s->label = NULL;
	s->told = s->array = s->has_text = false;
	s->picture.n = s->mask.n = s->text.n = 0;
}

static bool ends(const char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	return n > k && strcmp(name + n - k, ending) == 0;
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

size_t nn_picture_stem(const char *name)
{
	const char *dot = strrchr(last_part(name), '.');

	return dot ? (size_t)(dot - name) : strlen(name);
}

/* Up to the first dot: what members of one sample share. */
static size_t shared_stem(const char *name)
{
	const char *part = last_part(name), *dot = strchr(part, '.');

	return dot ? (size_t)(dot - name) : strlen(name);
}

/* Of a name what stands behind that and its dot. */
static const char *ending_of(const char *name)
{
	const char *ending = name + shared_stem(name);

	return ending + (*ending == '.');
}

static bool is_wanted(const char *name)
{
	const char *ending = ending_of(name);

	return nn_is_picture_name(name) || ends(name, ".cls") || ends(name, ".json") ||
	       strcmp(ending, "npy") == 0 || strcmp(ending, "txt") == 0;
}

/* ---- names and labels ---- */

/* The folder that the file lies in. */
static int label_of_folder(struct nn_picture_sample *s, const char *name, struct nn_error *err)
{
	const char *end = strrchr(name, '/'), *begin = end;

	if (!end)
		return 0;
	while (begin > name && begin[-1] != '/')
		begin--;
	s->label = nn_strndup(begin, (size_t)(end - begin), err);
	return s->label ? 0 : -1;
}

static int set_names(struct nn_sample_reader *r, struct nn_picture_sample *s, const char *name,
		     size_t n, struct nn_error *err)
{
	const char *file = nn_input_name(r->input);
	struct nn_text place = { 0 };
	char quoted[NN_QUOTED];

	if (r->format == NN_FORMAT_folder)
		nn_text_addf(&place, "%s/%s", file, name);
	else if (r->format == NN_FORMAT_tar)
		nn_text_addf(&place, "%s: sample %s", file, nn_quote(quoted, name, n));
	else
		nn_text_add(&place, file);
	s->name = nn_strndup(name, n, err);
	s->place = place.failed ? NULL : nn_strdup(place.data, err);
	nn_text_free(&place);
	if (!s->name || !s->place)
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for a name", file);
	return 0;
}

#define OF_CLASS ".cls or .json"

static int set_label(struct nn_picture_sample *s, const char *of, const char *text, size_t n,
		     struct nn_error *err)
{
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		n--;
	while (n > 0 && strchr(" \t\r\n", *text)) {
		text++;
		n--;
	}
	if (n == 0 || n > MOST_LABEL || memchr(text, '\0', n))
		return nn_fail(err, NN_EFORMAT,
			       "%s: its %s has %s, expected the name or number of a class",
			       s->place, of,
			       n == 0           ? "no label"
			       : n > MOST_LABEL ? "a label of over 256 bytes (a fixed limit)"
						: "a label with a NUL byte");
	nn_free(s->label);
	s->label = nn_strndup(text, n, err);
	s->told = true;
	return s->label ? 0 : -1;
}

/* An object's member "label", "cls" or "class"; without these it says nothing. */
static int take_json(struct nn_picture_sample *s, const struct nn_member *member,
		     struct nn_error *err)
{
	static const char *const keys[] = { "label", "cls", "class" };
	struct nn_json *document = nn_json_parse(member->bytes.data, member->n, err);
	char digits[24];
	int status = 0;

	if (!document)
		return nn_fail_at(err, "%s: .json", s->place);
	for (size_t i = 0; status == 0 && !s->told && i < sizeof keys / sizeof *keys; i++) {
		const struct nn_json *value = nn_json_get(document, keys[i]);
		size_t n = 0;
		const char *text = nn_json_string(value, &n);

		if (!text && nn_json_type(value) == NN_JSON_NUMBER && nn_json_whole(value)) {
			n = (size_t)snprintf(digits, sizeof digits, "%" PRId64,
					     nn_json_integer(value));
			text = digits;
		}
		if (text)
			status = set_label(s, OF_CLASS, text, n, err);
	}
	nn_json_free(document);
	return status;
}

/* ---- members of a tar ---- */

/* Is it the mask of the sample's picture? */
static bool is_mask(const struct nn_picture_sample *s, const char *ending)
{
	return strncmp(ending, "seg.", 4) == 0 || strncmp(ending, "mask.", 5) == 0 ||
	       (s->picture.n && !s->array && strcmp(ending, "png") == 0);
}

/* The bytes of the member that waits; its old ones are the next member's. */
static void keep(struct nn_sample_reader *r, struct nn_member *to)
{
	struct nn_block bytes = to->bytes;

	*to = r->waiting;
	r->waiting.bytes = bytes;
	r->waiting.n = 0;
}

/* Take the member that waits. 1, 0: its place is taken, so it begins another sample; -1. */
static int take(struct nn_sample_reader *r, struct nn_picture_sample *s, struct nn_error *err)
{
	const char *name = r->waiting.name, *ending = ending_of(name);
	bool array = strcmp(ending, "npy") == 0;
	struct nn_member *to;

	if (ends(name, ".json"))
		return take_json(s, &r->waiting, err) < 0 ? -1 : 1;
	if (ends(name, ".cls"))
		return set_label(s, OF_CLASS, (const char *)r->waiting.bytes.data, r->waiting.n,
				 err) < 0
			       ? -1
			       : 1;
	if (strcmp(ending, "txt") == 0) {
		s->has_text = true;
		keep(r, &s->text);
		return 1;
	}
	if (array && s->picture.n && !s->array)
		return 1; /* beside a picture it is left out */
	to = is_mask(s, ending) ? &s->mask : &s->picture;
	if (to->n && !(to == &s->picture && s->array && !array))
		return 0;
	if (r->waiting.n == 0)
		return nn_fail(err, NN_EFORMAT, "%s: its .%s is empty", s->place, ending);
	if (to == &s->picture)
		s->array = array;
	keep(r, to);
	return 1;
}

/* The next member waits, with a name of its own. 1, 0 at the end, -1. */
static int advance(struct nn_sample_reader *r, struct nn_error *err)
{
	int got;

	nn_free((char *)r->waiting.name);
	r->waiting.name = NULL;
	got = nn_members_next(r->members, &r->waiting, err);
	if (got != 1) {
		r->waiting.name = NULL;
		r->ended = got == 0;
		return got;
	}
	r->waiting.name = nn_strdup(r->waiting.name, err);
	return r->waiting.name ? 1 : -1;
}

/* All members of a sample. 1, 0 at the end, -1. */
static int gather(struct nn_sample_reader *r, struct nn_picture_sample *s, struct nn_error *err)
{
	size_t n;
	int got;

	if (!r->waiting.name && (r->ended || (got = advance(r, err)) != 1))
		return r->ended ? 0 : -1;
	n = shared_stem(r->waiting.name);
	if (set_names(r, s, r->waiting.name, n, err) < 0 ||
	    label_of_folder(s, r->waiting.name, err) < 0)
		return -1;
	do {
		got = take(r, s, err);
		if (got == 1)
			got = advance(r, err) < 0 ? -1 : 1;
	} while (got == 1 && !r->ended && shared_stem(r->waiting.name) == n &&
		 memcmp(r->waiting.name, s->name, n) == 0);
	return got < 0 ? -1 : 1;
}

/* A text alone is a file about the data, no sample. */
static bool is_text(const struct nn_picture_sample *s)
{
	return s->has_text && !s->told && !s->picture.n && !s->mask.n;
}

static int next_of_tar(struct nn_sample_reader *r, struct nn_picture_sample *s,
		       struct nn_error *err)
{
	int got;

	while ((got = gather(r, s, err)) == 1 && is_text(s))
		clear(s);
	if (got != 1)
		return got;
	if (!s->picture.n)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has no picture (.jpg, .jpeg or .png) and no array (.npy)",
			       s->place);
	if (r->labels && s->has_text && !s->told && !s->mask.n)
		return set_label(s, ".txt", s->text.bytes.data, s->text.n, err) < 0 ? -1 : 1;
	return 1;
}

/* ---- folders and pictures ---- */

static int next_of_folder(struct nn_sample_reader *r, struct nn_picture_sample *s,
			  struct nn_error *err)
{
	int got = nn_members_next(r->members, &s->picture, err);

	if (got != 1)
		return got;
	if (set_names(r, s, s->picture.name, strlen(s->picture.name), err) < 0 ||
	    label_of_folder(s, s->picture.name, err) < 0)
		return -1;
	return 1;
}

static int next_of_picture(struct nn_sample_reader *r, struct nn_picture_sample *s,
			   struct nn_error *err)
{
	const char *file = nn_input_name(r->input);
	char said[NN_LIMIT_TEXT];
	size_t got = 1;

	if (r->ended)
		return 0;
	r->ended = true;
	for (s->picture.n = 0; got > 0; s->picture.n += got) {
		size_t room = s->picture.n + s->picture.n / 2 + 65536;

		if (s->picture.n > nn_limit(NN_LIMIT_MEMBER))
			return nn_fail(err, NN_EFORMAT, "%s: is larger than %s", file,
				       nn_limit_said(NN_LIMIT_MEMBER, 0, said));
		if (nn_block_reserve(&s->picture.bytes, room, err) < 0)
			return nn_fail_at(err, "%s", file);
		if (nn_input_read(r->input, nn_block_at(&s->picture.bytes, s->picture.n),
				  room - s->picture.n, &got, err) < 0)
			return -1;
	}
	return set_names(r, s, file, strlen(file), err) < 0 ? -1 : 1;
}

int nn_sample_reader_open(struct nn_sample_reader *r, struct nn_input *input,
			  enum nn_format_id format, struct nn_error *err)
{
	*r = (struct nn_sample_reader){ .input = input, .format = format };
	if (format != NN_FORMAT_folder && format != NN_FORMAT_tar)
		return 0;
	return nn_members_open(&r->members, input,
			       format == NN_FORMAT_tar ? is_wanted : nn_is_picture_name, err);
}

int nn_samples_each_file(const char *path, int (*visit)(void *arg, const char *path), void *arg)
{
	struct nn_members *members = NULL;
	struct nn_input *input = NULL;
	struct stat st;
	int status = 0;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (nn_input_open_data(&input, path, NULL) == 0 &&
	    nn_members_open(&members, input, nn_is_picture_name, NULL) == 0)
		status = nn_members_each_path(members, visit, arg);
	nn_members_close(members);
	nn_input_close(input);
	return status;
}

void nn_sample_reader_close(struct nn_sample_reader *r)
{
	nn_members_close(r->members);
	nn_free((char *)r->waiting.name);
	nn_block_free(&r->waiting.bytes);
	*r = (struct nn_sample_reader){ 0 };
}

int nn_sample_reader_next(struct nn_sample_reader *r, struct nn_picture_sample *s,
			  struct nn_error *err)
{
	clear(s);
	if (r->format == NN_FORMAT_folder)
		return next_of_folder(r, s, err);
	return (r->format == NN_FORMAT_tar ? next_of_tar : next_of_picture)(r, s, err);
}

size_t nn_sample_reader_count(const struct nn_sample_reader *r)
{
	return r->members ? nn_members_count(r->members) : 1;
}
