/* The module nn-jpeg: JPEG (ITU-T T.81) through libjpeg-turbo. */
#include "config.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "base/memory.h"
#include "base/module.h"
#include "file/picture/picture.h"

/* A progressive picture goes over all its pixels in each scan; encoders make about ten. */
#define MOST_SCANS 200

/* A file that is being read. libjpeg leaves with longjmp, so all that lives longer stands here. */
struct reading {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf out;
	const struct nn_picture_file *file;
	struct nn_error *err;
	struct nn_picture found;
	const struct nn_picture *wanted; /* NULL: the header alone */
	unsigned char *planes, *pixels;
};

static void failed(j_common_ptr jpeg)
{
	struct reading *r = jpeg->client_data;
	char message[JMSG_LENGTH_MAX];

	jpeg->err->format_message(jpeg, message);
	nn_fail(r->err, NN_EFORMAT, "%s: the JPEG data are damaged (%s)", r->file->name, message);
	longjmp(r->out, 1);
}

/* Warnings (below 0) are about data that were lost. */
static void told(j_common_ptr jpeg, int level)
{
	if (level < 0)
		failed(jpeg);
}

static void went_on(j_common_ptr jpeg)
{
	struct reading *r = jpeg->client_data;

	if (r->jpeg.input_scan_number <= MOST_SCANS)
		return;
	nn_fail(r->err, NN_EFORMAT, "%s: has over %d scans (a fixed limit)", r->file->name,
		MOST_SCANS);
	longjmp(r->out, 1);
}

static int read_header(struct reading *r)
{
	const struct nn_picture_file *file = r->file;
	struct jpeg_decompress_struct *jpeg = &r->jpeg;

	jpeg_mem_src(jpeg, file->bytes, file->n);
	jpeg_read_header(jpeg, TRUE);
	r->found = (struct nn_picture){ 1, jpeg->image_height, jpeg->image_width };
	if (nn_picture_check(file, &r->found, r->err) < 0)
		return -1;
	if (jpeg->num_components != 1 && jpeg->num_components != 3)
		return nn_fail(r->err, NN_EFORMAT, "%s: is %s (channels: %d), expected grey or RGB",
			       file->name,
			       jpeg->num_components == 4 ? "CMYK" : "of unknown colours",
			       jpeg->num_components);
	if (file->classes)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: is a JPEG, which does not keep classes exactly; expected a PNG",
			       file->name);
	jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
	r->found.channels = (size_t)jpeg->num_components;
	return r->wanted ? nn_picture_expect(file, &r->found, r->wanted, r->err) : 0;
}

static int read_pixels(struct reading *r)
{
	const struct nn_picture *p = &r->found;
	size_t plane = p->width * p->height;
	unsigned char *row;

	r->pixels = nn_alloc(p->width + 1, p->channels, r->err);
	if (!r->pixels)
		return -1;
	jpeg_start_decompress(&r->jpeg);
	/* libjpeg-turbo writes an aligned row past the caches, from where it would have to come back */
	row = r->pixels + 1;
	for (size_t y = 0; y < p->height; y++) {
		jpeg_read_scanlines(&r->jpeg, &row, 1);
		nn_picture_part(row, p->width, p->channels, r->planes + y * p->width, plane);
	}
	jpeg_finish_decompress(&r->jpeg);
	return 0;
}

static int read_file(struct reading *r)
{
	int status = -1;

	r->jpeg.err = jpeg_std_error(&r->errors);
	r->errors.error_exit = failed;
	r->errors.emit_message = told;
	r->progress.progress_monitor = went_on;
	r->jpeg.client_data = r;
	if (setjmp(r->out) == 0) {
		jpeg_create_decompress(&r->jpeg);
		r->jpeg.progress = &r->progress;
		status = read_header(r) < 0 || (r->wanted && read_pixels(r) < 0) ? -1 : 0;
	} else {
		status = -1;
	}
	jpeg_destroy_decompress(&r->jpeg);
	nn_free(r->pixels);
	return status;
}

static int jpeg_header(const struct nn_picture_file *file, struct nn_picture *picture,
		       struct nn_error *err)
{
	struct reading r = { .file = file, .err = err };

	if (read_file(&r) < 0)
		return -1;
	*picture = r.found;
	return 0;
}

static int jpeg_decode(const struct nn_picture_file *file, const struct nn_picture *picture,
		       unsigned char *planes, struct nn_error *err)
{
	struct reading r = { .file = file, .err = err, .wanted = picture, .planes = planes };

	return read_file(&r);
}

static const struct nn_codec table = { jpeg_header, jpeg_decode };

const struct nn_module nn_module = { NN_MODULE_ABI, "jpeg", &table };
