/* The shape of samples, by the header of a file of arrays alone. */
#include <string.h>
#include <sys/stat.h>

#include "data/array/array.h"
#include "data/data.h"

bool nn_is_picture(enum nn_dtype dtype, const struct nn_shape *rows, bool pictures)
{
	return dtype == NN_U8 && (pictures || rows->rank >= 3);
}

/* Samples of a 1-d array have one value; pictures without channels are 1xHxW. */
struct nn_shape nn_sample_shape(const struct nn_shape *rows, bool pictures)
{
	struct nn_shape s = { .rank = rows->rank - 1 };

	if (rows->rank == 1)
		return nn_shape1(1);
	memcpy(s.dim, rows->dim + 1, (size_t)s.rank * sizeof *s.dim);
	return pictures && s.rank == 2 ? nn_shape3(1, s.dim[0], s.dim[1]) : s;
}

bool nn_data_sample(const char *path, struct nn_shape *sample)
{
	const struct nn_format *format;
	struct nn_npy_header header;
	struct nn_input *input;
	struct nn_error ignored;
	struct stat status;
	bool known;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
	    nn_input_open(&input, path, &ignored) < 0)
		return false;
	format = nn_format_of(input, &ignored);
	known = format && format->header && format->header(input, &header, &ignored) == 1 &&
		header.shape.rank > 0;
	if (known)
		*sample = nn_sample_shape(&header.shape, format->pictures);
	nn_input_close(input);
	return known;
}
