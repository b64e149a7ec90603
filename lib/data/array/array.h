/* Arrays as samples or targets: .npy, IDX and the tensors of safetensors behind one door. */
#ifndef NN_DATA_ARRAY_H
#define NN_DATA_ARRAY_H

#include "base/number.h"
#include "data/format.h"

/* A whole array in memory. */
struct nn_array {
	enum nn_dtype dtype;
	struct nn_shape shape; /* the first dimension counts rows */
	const void *data;
	struct nn_block block; /* what data points to, unless it is a tensor of a file */
	bool picture;          /* the scale of pictures applies */
};

void nn_array_free(struct nn_array *array);

/*
 * Are rows of this type and shape pictures? Bytes are, of a format of pictures or of three or more
 * dimensions.
 */
bool nn_is_picture(enum nn_dtype dtype, const struct nn_shape *rows, bool pictures);
/* sample.c: the shape of a row; pictures: of a format of them. */
struct nn_shape nn_sample_shape(const struct nn_shape *rows, bool pictures);

/*
 * The header of the (next) array of a file of arrays. 1, 0 at the end, -1. The rank is at least
 * 1.
 */
int nn_array_next(struct nn_input *input, const struct nn_format *format,
		  struct nn_npy_header *header, struct nn_error *err);
/*
 * Read what follows the header: bool and u8 as u8, all else as `real`; checked to be finite, where
 * nan_allowed to be no infinity.
 */
int nn_array_read_samples(struct nn_array *array, struct nn_input *input,
			  const struct nn_format *format, const struct nn_npy_header *header,
			  enum nn_dtype real, bool nan_allowed, struct nn_error *err);
/* The same in its own type, not checked. */
int nn_array_read_values(struct nn_array *array, struct nn_input *input,
			 const struct nn_npy_header *header, struct nn_error *err);
/* A tensor of an open file, as samples (place: "FILE: tensor"). st has to outlive the array. */
int nn_array_of_tensor(struct nn_array *array, const char *place, const struct nn_st_tensor *tensor,
		       enum nn_dtype real, bool nan_allowed, struct nn_error *err);
/* The same, its values, unless they are bytes, still to be converted: nn_samples_convert, to data.
 */
int nn_array_for_tensor(struct nn_array *array, const char *place,
			const struct nn_st_tensor *tensor, enum nn_dtype real,
			struct nn_error *err);

/*
 * The tensor for one of n wanted things: the one called name (NULL: fallback, "x" or "y"), else the
 * only one where n is 1 and `alone` allows it. NULL with an error that lists the names.
 */
const struct nn_st_tensor *nn_tensor_for(const struct nn_st *st, const char *place,
					 const char *name, const char *fallback, bool alone,
					 struct nn_error *err);

/*
 * n values of any type as `real` at to; -1 with the row and column of the first that is not finite.
 */
struct nn_samples {
	enum nn_dtype from, real;
	const char *place;
	size_t first, per_row; /* index of values[0]; values in a row */
	bool nan_allowed;      /* missing numbers are allowed */
	const size_t *ends;    /* rows are steps of others: steps up to the end of each; NULL */
};
int nn_samples_convert(const struct nn_samples *how, const void *values, size_t n, void *to,
		       struct nn_error *err);
/* The first value that is not finite, nor nan where that is allowed; n: none. */
size_t nn_find_bad(enum nn_dtype real, const void *values, size_t n, bool nan_allowed);
/* "nan", "inf", "-inf", or a number of the file's own type that f32 cannot hold, as text. */
void nn_bad_text(char text[NN_NUMBER], enum nn_dtype from, const void *values, enum nn_dtype real,
		 const void *to, size_t at);
/* Values per row. */
size_t nn_row_size(const struct nn_shape *shape);
/* The type that samples of this type are kept in. */
enum nn_dtype nn_sample_type(enum nn_dtype dtype, enum nn_dtype real);

#endif
