/*
 * An array that takes more memory than it may: its rows stay where they lie, in its own file where
 * that can be read at any place, else (compressed, from a pipe) in a file without a name in TMPDIR.
 * So do those whose columns follow each other, row after row. All values go by once, to be checked.
 */
#include <fcntl.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/array/file-rows.h"
#include "file/turn.h"

#define CHUNK ((size_t)16384) /* values that go by at once */

bool nn_dataset_array_stays(const struct nn_dataset *ds, const struct nn_input *input,
			    const struct nn_npy_header *h)
{
	size_t size = nn_dtype_size(nn_sample_type(h->dtype, ds->dtype)), bytes;

	if (!ds->files.memory || ds->files.sample || nn_input_in_memory(input) ||
	    nn_row_size(&h->shape) == 0)
		return false;
	return !nn_mul(h->bytes / nn_dtype_size(h->dtype), size, &bytes) ||
	       bytes > ds->files.memory;
}

bool nn_dataset_target_stays(const struct nn_dataset *ds, size_t n)
{
	size_t bytes;

	if (!ds->files.memory || ds->files.sample || ds->files.first || ds->lenient ||
	    ds->sequences)
		return false;
	return !nn_mul(n, nn_dtype_size(ds->dtype), &bytes) || bytes > ds->files.memory;
}

/* ---- values that go by ---- */

struct passing {
	struct nn_samples how;
	void *values, *real; /* [CHUNK] as they lie, and as they are checked */
	int fd;              /* where they are kept; -1: nowhere */
	const struct nn_file_rows *columns; /* of which they are the rows; NULL: of none */
};

static int passing_init(struct passing *p, const struct nn_samples *how, int fd,
			struct nn_error *err)
{
	*p = (struct passing){ .how = *how, .fd = fd };
	p->values = nn_alloc(CHUNK, nn_dtype_size(how->from), err);
	p->real = nn_alloc(CHUNK, nn_dtype_size(how->real), err);
	return p->values && p->real ? 0 : -1;
}

static void passing_fini(struct passing *p)
{
	nn_free(p->values);
	nn_free(p->real);
}

static int keep(const struct passing *p, const void *values, size_t n, struct nn_error *err)
{
	if (p->fd < 0 || nn_write_all(p->fd, values, n * nn_dtype_size(p->how.from)))
		return 0;
	return nn_fail_errno(err, NN_EFAIL, "%s: cannot keep rows in TMPDIR", p->how.place);
}

/* n values from number `first` on. */
static int check(struct passing *p, const void *values, size_t first, size_t n,
		 struct nn_error *err)
{
	const char *from = values;

	for (size_t done = 0, some; p->how.real != NN_U8 && done < n; done += some) {
		some = n - done < CHUNK ? n - done : CHUNK;
		p->how.first = first + done;
		if (nn_samples_convert(&p->how, from + done * nn_dtype_size(p->how.from), some,
				       p->real, err) < 0)
			return -1;
	}
	return 0;
}

static int pass(struct passing *p, struct nn_input *input, const struct nn_npy_header *h,
		bool checked, struct nn_error *err)
{
	size_t n = h->bytes / nn_dtype_size(h->dtype);

	for (size_t done = 0, some; done < n; done += some) {
		some = n - done < CHUNK ? n - done : CHUNK;
		if (nn_npy_read_values(input, h, some, p->values, err) < 0 ||
		    keep(p, p->values, some, err) < 0 ||
		    (checked && check(p, p->values, done, some, err) < 0))
			return -1;
	}
	return 0;
}

/* Rows of an input are those of fd (taken) from `at` on; swap: they have the other order of bytes.
 */
static int set_rows(struct nn_data_input *input, const struct nn_samples *how, int fd, uint64_t at,
		    bool swap, struct nn_error *err)
{
	struct nn_file_rows *rows = nn_file_rows_new(fd, how->place, err);

	if (!rows)
		return -1;
	rows->at = at;
	rows->values = how->per_row;
	rows->from = how->from;
	rows->to = how->real;
	rows->swap = swap;
	input->file = rows;
	return 0;
}

/* ---- columns that follow each other into rows ---- */

static int read_columns(void *arg, uint64_t at, void *bytes, size_t n, struct nn_error *err)
{
	const struct nn_file_rows *columns = ((const struct passing *)arg)->columns;

	return nn_file_rows_bytes(columns, columns->at + at, bytes, n, err);
}

static int put_rows(void *arg, const void *values, size_t first, size_t n, struct nn_error *err)
{
	struct passing *p = arg;

	return keep(p, values, n, err) < 0 ? -1 : check(p, values, first, n, err);
}

/* Rows of the first input move to another file; those at once take a quarter of what all may. */
static int turn(struct nn_dataset *ds, const struct nn_samples *how, const struct nn_npy_header *h,
		struct nn_error *err)
{
	struct nn_file_rows *columns = ds->inputs[0].file;
	int fd = nn_unnamed_file(how->place, "rows", err), status = -1;
	struct nn_npy_header lying = *h;
	struct passing p = { 0 };
	const struct nn_turn turn = { read_columns, put_rows, &p };

	if (fd < 0 || set_rows(&ds->inputs[0], how, fd, 0, false, err) < 0)
		return -1;
	lying.swap = columns->swap;
	if (passing_init(&p, how, fd, err) == 0) {
		p.columns = columns;
		status = nn_turn_rows(&lying, ds->files.memory / 4, &turn, err);
	}
	passing_fini(&p);
	nn_file_rows_free(columns);
	return status;
}

/* ---- an array ---- */

int nn_dataset_leave_array(struct nn_dataset *ds, struct nn_input *input,
			   const struct nn_npy_header *h, bool pictures, bool nan_allowed,
			   struct nn_error *err)
{
	struct nn_array *a = &ds->inputs[0].array;
	bool turned = h->fortran && h->shape.rank > 1, kept;
	struct nn_samples how = { h->dtype,
				  nn_sample_type(h->dtype, ds->dtype),
				  nn_input_name(input),
				  0,
				  nn_row_size(&h->shape),
				  nan_allowed,
				  NULL };
	struct passing p = { 0 };
	uint64_t at = 0;
	int fd = nn_input_reopen(input, &at), status = -1;

	*a = (struct nn_array){ .dtype = how.real,
				.shape = h->shape,
				.picture = nn_is_picture(h->dtype, &h->shape, pictures) };
	kept = fd < 0;
	if (kept && (fd = nn_unnamed_file(how.place, "rows", err)) < 0)
		return -1;
	/* what is kept has this machine's order */
	if (set_rows(&ds->inputs[0], &how, fd, at, h->swap && !kept, err) < 0)
		return -1;
	if (!kept && (turned || how.real == NN_U8))
		status = nn_input_pass(input, h->bytes, err);
	else if (passing_init(&p, &how, kept ? fd : -1, err) == 0)
		status = pass(&p, input, h, !turned, err);
	passing_fini(&p);
	return status == 0 && turned ? turn(ds, &how, h, err) : status;
}

int nn_dataset_leave_tensor(struct nn_dataset *ds, size_t input, const char *place,
			    const struct nn_st_tensor *t, int fd, uint64_t at, bool nan_allowed,
			    struct nn_error *err)
{
	struct nn_samples how = { t->dtype,
				  nn_sample_type(t->dtype, ds->dtype),
				  place,
				  0,
				  nn_row_size(&t->shape),
				  nan_allowed,
				  NULL };
	size_t n = nn_shape_count(&t->shape), size = nn_dtype_size(t->dtype);
	struct passing p = { 0 };
	int status;

	ds->inputs[input].array =
		(struct nn_array){ .dtype = how.real,
				   .shape = t->shape,
				   .picture = nn_is_picture(t->dtype, &t->shape, false) };
	if ((fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", place);
	if (set_rows(&ds->inputs[input], &how, fd, at, false, err) < 0)
		return -1;
	status = passing_init(&p, &how, -1, err);
	for (size_t done = 0, some; status == 0 && how.real != NN_U8 && done < n; done += some) {
		some = n - done < CHUNK ? n - done : CHUNK;
		status = nn_file_rows_bytes(ds->inputs[input].file, at + done * size, p.values,
					    some * size, err);
		if (status == 0)
			status = check(&p, p.values, done, some, err);
	}
	passing_fini(&p);
	return status;
}
