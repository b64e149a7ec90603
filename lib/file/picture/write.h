/* Pictures written: PNG (ISO/IEC 15948) without libpng, so that they have the same bytes everywhere. */
#ifndef NN_FILE_PICTURE_WRITE_H
#define NN_FILE_PICTURE_WRITE_H

#include "base/text.h"
#include "file/picture/picture.h"

/* Pixels in rows, [height][width][channels]; of a palette the numbers of its colours, one channel. */
struct nn_drawing {
	struct nn_picture shape;
	const unsigned char *pixels;
	const unsigned char *palette; /* [n_colours][3], at most 256; NULL: grey or colours of their own */
	size_t n_colours;
};

/* The file takes the place of what `text` held. */
int nn_png_write(const struct nn_drawing *drawing, struct nn_text *text, struct nn_error *err);
/*
 * The colour of class c in masks: bits of c shared out among red, green and blue from the highest on, as in the
 * masks of PASCAL VOC (Everingham et al. 2010). 0 is black.
 */
void nn_mask_colour(unsigned c, unsigned char rgb[3]);

#endif
