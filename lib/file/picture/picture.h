/*
 * Pictures in memory: PNG and JPEG files into bytes, by modules that are opened when the first such
 * picture comes (nn-png with libpng, nn-jpeg with libjpeg-turbo).
 */
#ifndef NN_FILE_PICTURE_PICTURE_H
#define NN_FILE_PICTURE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

#define NN_PICTURE_MOST_CHANNELS 4

/* Grey 1, grey and alpha 2, RGB 3, RGB and alpha 4 channels, of 8 bits each. */
struct nn_picture {
	size_t channels, height, width;
};

/* The bytes of a file. */
struct nn_picture_file {
	const unsigned char *bytes;
	size_t n;
	const char *name; /* for errors */
	/* its values are classes: a palette's indices and grey levels of few bits as they are */
	bool classes;
};

/* What a module offers; threads may call at once. Every warning about lost data is an error. */
struct nn_codec {
	int (*header)(const struct nn_picture_file *file, struct nn_picture *picture,
		      struct nn_error *err);
	/*
	 * All values, [channels][height][width]; a file whose header says anything but *picture is
	 * an error.
	 */
	int (*decode)(const struct nn_picture_file *file, const struct nn_picture *picture,
		      unsigned char *planes, struct nn_error *err);
};

/* Those that were opened; zeros at first. */
struct nn_codecs {
	const struct nn_codec *png, *jpeg;
};

/* Does a name end in .png, .jpg or .jpeg? */
bool nn_is_picture_name(const char *name);
/* The codec of a file, by its first bytes. NULL with an error that names the file. */
const struct nn_codec *nn_codec_of(struct nn_codecs *codecs, const struct nn_picture_file *file,
				   struct nn_error *err);

/* For the modules: is it of a size that may be decoded? Is it what the caller wants? */
int nn_picture_check(const struct nn_picture_file *file, const struct nn_picture *picture,
		     struct nn_error *err);
int nn_picture_expect(const struct nn_picture_file *file, const struct nn_picture *found,
		      const struct nn_picture *wanted, struct nn_error *err);
/* Pixels of interleaved channels to their planes, plane values apart. */
void nn_picture_part(const unsigned char *pixels, size_t n, size_t channels, unsigned char *planes,
		     size_t plane);

#endif
