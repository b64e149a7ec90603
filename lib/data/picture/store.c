/* Places of pictures in a folder or a tar, and reading them there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/picture/store.h"

struct entry {
	uint64_t at;   /* in the tar; of a file when it was changed */
	uint64_t name; /* in names */
	uint64_t n;    /* bytes */
};

struct nn_picture_store {
	struct nn_picture_rows rows;
	struct nn_codecs codecs;
	char *file;
	int fd; /* of the tar, or of what was kept of it; -1: a folder */
	bool kept;
	uint64_t base;        /* where in it the first byte lies that the tar's reader saw */
	uint64_t bytes;       /* of all pictures; of these in a file without a name, all */
	struct nn_error full; /* why that file does not have all */
	struct nn_block entries;
	size_t n;
	struct nn_text names;
};

static const struct entry *entry_of(const struct nn_picture_store *s, uint64_t row)
{
	return (const struct entry *)s->entries.data + row;
}

int nn_picture_store_new(struct nn_picture_store **store, struct nn_input *input,
			 struct nn_error *err)
{
	struct nn_picture_store *s = nn_alloc(1, sizeof *s, err);

	*store = s;
	if (!s)
		return -1;
	s->fd = -1;
	if (!(s->file = nn_strdup(nn_input_name(input), err)))
		return -1;
	if (nn_input_is_folder(input))
		return 0;
	s->fd = nn_input_reopen(input, &s->base);
	if (s->fd < 0) {
		s->fd = nn_unnamed_file(s->file, "pictures", &s->full);
		s->kept = true;
	}
	return 0;
}

void nn_picture_store_free(struct nn_picture_store *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	nn_block_free(&s->entries);
	nn_text_free(&s->names);
	nn_free(s->file);
	nn_free(s);
}

/* What cannot be written is said only if it is needed: pictures may fit into memory. */
static void keep(struct nn_picture_store *s, const struct nn_member *m)
{
	for (size_t at = 0; s->full.code == 0 && at < m->n;) {
		ssize_t n = write(s->fd, nn_block_at(&m->bytes, at), m->n - at);

		if (n < 0 && errno != EINTR)
			nn_fail_errno(&s->full, NN_EFAIL, "%s: cannot keep pictures in TMPDIR",
				      s->file);
		at += n > 0 ? (size_t)n : 0;
	}
}

int nn_picture_store_add(struct nn_picture_store *s, const struct nn_picture_sample *sample,
			 const struct nn_member *m, struct nn_error *err)
{
	struct nn_picture_file file = { m->bytes.data, m->n, sample->place, false };
	struct entry *entry;

	/* codecs are opened here, so that threads only find them */
	if (!sample->array && !nn_codec_of(&s->codecs, &file, err))
		return -1;
	if (nn_block_reserve(&s->entries, (s->n + 1) * sizeof *entry, err) < 0)
		return nn_fail_at(err, "%s", s->file);
	entry = (struct entry *)s->entries.data + s->n++;
	*entry = (struct entry){ s->kept ? s->bytes : s->base + m->at, s->names.length, m->n };
	if (s->fd < 0 && !s->kept)
		entry->at = m->at;
	nn_text_add_bytes(&s->names, sample->name, strlen(sample->name) + 1);
	if (s->names.failed)
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for names", s->file);
	if (s->kept)
		keep(s, m);
	s->bytes += m->n;
	return 0;
}

int nn_picture_store_end(struct nn_picture_store *s, const struct nn_picture_rows *rows,
			 struct nn_error *err)
{
	s->rows = *rows;
	if (s->full.code == 0)
		return 0;
	if (err)
		*err = s->full;
	return -1;
}

const struct nn_picture_rows *nn_picture_store_rows(const struct nn_picture_store *s)
{
	return &s->rows;
}

const char *nn_picture_store_work(const struct nn_picture_store *s)
{
	return s->rows.arrays                    ? "npy decode"
	       : s->codecs.png && s->codecs.jpeg ? "decode"
	       : s->codecs.png                   ? "png decode"
						 : "jpeg decode";
}

size_t nn_picture_store_size(const struct nn_picture_store *s, uint64_t row)
{
	return entry_of(s, row)->n;
}

size_t nn_picture_store_mean(const struct nn_picture_store *s)
{
	return s->n ? (size_t)(s->bytes / s->n) + 1 : 0;
}

/* Where a picture lies and its name, for errors. */
static void place_of(const struct nn_picture_store *s, uint64_t row, char *place, size_t room)
{
	const char *name = s->names.data + entry_of(s, row)->name;
	char quoted[NN_QUOTED];

	if (s->fd < 0)
		snprintf(place, room, "%s/%s", s->file, name);
	else
		snprintf(place, room, "%s: sample %s", s->file,
			 nn_quote(quoted, name, strlen(name)));
}

#define PLACE 4600

static int changed(const struct nn_picture_store *s, uint64_t row, struct nn_error *err)
{
	char place[PLACE];

	place_of(s, row, place, sizeof place);
	return nn_fail(err, NN_EFAIL, "%s: changed while training", place);
}

static int read_at(const struct nn_picture_store *s, int fd, uint64_t row, uint64_t from,
		   void *bytes, struct nn_error *err)
{
	char place[PLACE];
	int why;

	if (nn_read_at(fd, bytes, entry_of(s, row)->n, from))
		return 0;
	why = errno;
	if (!why)
		return changed(s, row, err);
	place_of(s, row, place, sizeof place);
	errno = why;
	return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", place);
}

/* A file of the folder, as long as it is the one that was seen at first. */
static int read_file(const struct nn_picture_store *s, uint64_t row, void *bytes,
		     struct nn_error *err)
{
	char path[PLACE];
	struct stat st;
	int fd, status;

	place_of(s, row, path, sizeof path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != nn_picture_store_size(s, row) ||
	    nn_member_changed(&st) != entry_of(s, row)->at)
		status = changed(s, row, err);
	else
		status = read_at(s, fd, row, 0, bytes, err);
	close(fd);
	return status;
}

int nn_picture_store_read(const struct nn_picture_store *s, uint64_t row, void *bytes,
			  struct nn_error *err)
{
	return s->fd < 0 ? read_file(s, row, bytes, err)
			 : read_at(s, s->fd, row, entry_of(s, row)->at, bytes, err);
}

int nn_picture_store_decode(const struct nn_picture_store *s, uint64_t row, const void *bytes,
			    unsigned char *to, struct nn_error *err)
{
	struct nn_codecs codecs = s->codecs;
	char place[PLACE];
	struct nn_picture_job job = { { bytes, entry_of(s, row)->n, place, s->rows.classes }, to };

	place_of(s, row, place, sizeof place);
	return nn_picture_decode_one(&s->rows, &codecs, &job, err);
}
