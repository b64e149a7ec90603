/*
 * PNG, a picture a sample: of a class per pixel a mask, whose numbers are the labels where these are whole numbers
 * below 256, else the classes; of numbers grey levels or colours, 0 to 1 being 0 to 255.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "file/picture/write.h"
#include "predict/write/write-inside.h"

struct nn_writer_png {
	struct nn_pictures *to;
	struct nn_drawing drawing;
	struct nn_text file;
	unsigned char numbers[256], palette[3 * 256]; /* of classes */
	unsigned char pixels[];
};

static int check(const struct nn_writer *w, struct nn_error *err)
{
	const struct nn_emitted *e = w->e;
	char shape[NN_SHAPE_TEXT];

	if (w->n > 1)
		return nn_fail(
			err, NN_EFAIL,
			"--to=png: the model has several outputs; choose one with --output-name=");
	if (e->shape.rank != 3)
		return nn_fail(err, NN_EFAIL,
			       "--to=png: the output is %s, no picture (CxHxW); a reshape line at the "
			       "end of the model makes one of it",
			       nn_shape_text(shape, &e->shape));
	if (e->emit == NN_EMIT_CLASS && e->columns > 256)
		return nn_fail(err, NN_EFAIL, "--to=png: %zu classes, of which a mask holds 256",
			       e->columns);
	if (e->emit == NN_EMIT_PROBS && nn_emitted_by_class(e))
		return nn_fail(err, NN_EFAIL,
			       "--emit=probs: a picture holds the class of each pixel; use "
			       "--emit=class or --to=npy");
	if (e->emit != NN_EMIT_CLASS && e->columns > NN_PICTURE_MOST_CHANNELS)
		return nn_fail(err, NN_EFAIL,
			       "--to=png: the output has %zu channels, expected 1 to 4 (grey, grey and "
			       "alpha, RGB, RGB and alpha)",
			       e->columns);
	return 0;
}

/* The label of each class, if all are whole numbers that a pixel holds, else the class itself. */
static void number_classes(struct nn_writer_png *png, const struct nn_emitted *e)
{
	bool labels = true;
	size_t most = 0;

	for (size_t c = 0; c < e->columns; c++) {
		int64_t label = nn_write_class_value(e, c);

		labels &= label >= 0 && label < 256;
	}
	for (size_t c = 0; c < e->columns; c++) {
		png->numbers[c] = (unsigned char)(labels ? nn_write_class_value(e, c) : (int64_t)c);
		most = png->numbers[c] > most ? png->numbers[c] : most;
	}
	for (size_t i = 0; i <= most; i++)
		nn_mask_colour((unsigned)i, png->palette + 3 * i);
	png->drawing.palette = png->palette;
	png->drawing.n_colours = most + 1;
}

int nn_write_png_header(struct nn_writer *w, struct nn_error *err)
{
	const struct nn_emitted *e = w->e;
	bool mask = e->emit == NN_EMIT_CLASS;
	struct nn_writer_png *png;
	size_t channels = mask ? 1 : e->columns;

	if (check(w, err) < 0 ||
	    !(png = w->png = nn_alloc(1, sizeof *png + channels * e->positions, err)))
		return -1;
	png->drawing.shape = (struct nn_picture){ channels, e->shape.dim[1], e->shape.dim[2] };
	png->drawing.pixels = png->pixels;
	if (mask)
		number_classes(png, e);
	return nn_pictures_open(&png->to, &w->options.pictures, err);
}

static unsigned char level(double value)
{
	return value >= 1 ? 255 : value > 0 ? (unsigned char)floor(value * 255 + 0.5) : 0;
}

static void draw(struct nn_writer_png *png, const struct nn_emitted *e, size_t row)
{
	for (size_t p = 0; p < e->positions; p++) {
		if (png->drawing.palette)
			png->pixels[p] = png->numbers[nn_emitted_best(e, row, p)];
		else
			for (size_t c = 0; c < e->columns; c++)
				png->pixels[p * e->columns + c] =
					level(nn_emitted_value(e, row, p, c));
	}
}

/* A row that could not be read has no picture. */
int nn_write_png_rows(struct nn_writer *w, size_t rows, const char *const *bad, struct nn_error *err)
{
	struct nn_writer_png *png = w->png;

	for (size_t r = 0; r < rows; r++) {
		const char *name = w->options.rows && nn_rows_kept(w->options.rows, 0)
					   ? nn_write_next_kept(w) + 1
					   : NULL;

		if (bad && bad[r])
			continue;
		draw(png, w->e, r);
		if (nn_png_write(&png->drawing, &png->file, err) < 0 ||
		    nn_pictures_put(png->to, name, &png->file, err) < 0)
			return -1;
	}
	return 0;
}

int nn_write_png_close(struct nn_writer *w, struct nn_error *err)
{
	return nn_pictures_close(w->png->to, err);
}

void nn_write_png_free(struct nn_writer_png *png)
{
	if (!png)
		return;
	nn_pictures_free(png->to);
	nn_text_free(&png->file);
	nn_free(png);
}
