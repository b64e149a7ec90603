/* The module nn-png: PNG (ISO/IEC 15948) through libpng. */
#include "config.h"

#include <png.h>
#include <string.h>

#include "base/memory.h"
#include "base/module.h"
#include "file/picture/picture.h"

/* A file that is being read. libpng leaves with longjmp, so all that lives longer stands here. */
struct reading {
	const struct nn_picture_file *file;
	struct nn_error *err;
	size_t at;
	png_structp png;
	png_infop info;
	struct nn_picture found;
	const struct nn_picture *wanted; /* NULL: the header alone */
	unsigned char *planes, *pixels;
};

static void failed(png_structp png, png_const_charp message)
{
	struct reading *r = png_get_error_ptr(png);

	nn_fail(r->err, NN_EFORMAT, "%s: the PNG data are damaged (%s)", r->file->name, message);
	png_longjmp(png, 1);
}

static void next_bytes(png_structp png, png_bytep to, size_t n)
{
	struct reading *r = png_get_io_ptr(png);

	if (n > r->file->n - r->at) {
		nn_fail(r->err, NN_EFORMAT, "%s: the PNG data end early", r->file->name);
		png_longjmp(png, 1);
	}
	memcpy(to, r->file->bytes + r->at, n);
	r->at += n;
}

/* What pixels do not need is left out unread: profiles, texts and times, which many files have
 * wrong. */
static void leave_out(png_structp png)
{
	static const png_byte chunks[] =
		"bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT"
		"\0sCAL\0sPLT\0sRGB\0sTER\0tEXt\0tIME\0zTXt";

	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, chunks, sizeof chunks / 5);
}

/* Values as they count: 8 bits each, a palette as its colours, of classes as its indices. */
static void set_values(struct reading *r, int type, int depth)
{
	if (r->file->classes) {
		png_set_packing(r->png);
		return;
	}
	if (type == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(r->png);
	else if (depth < 8)
		png_set_expand_gray_1_2_4_to_8(r->png);
	if (png_get_valid(r->png, r->info, PNG_INFO_tRNS))
		png_set_tRNS_to_alpha(r->png);
}

static int read_header(struct reading *r)
{
	const struct nn_picture_file *file = r->file;
	png_uint_32 width, height;
	int depth, type;

	png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* ours name both sides */
	png_set_chunk_malloc_max(r->png, 1 << 20);
	leave_out(r->png);
	png_read_info(r->png, r->info);
	png_get_IHDR(r->png, r->info, &width, &height, &depth, &type, NULL, NULL, NULL);
	r->found = (struct nn_picture){ 1, height, width };
	if (nn_picture_check(file, &r->found, r->err) < 0)
		return -1;
	if (depth == 16)
		return nn_fail(r->err, NN_EFORMAT, "%s: has 16 bits a channel, expected 8",
			       file->name);
	if (file->classes && type != PNG_COLOR_TYPE_PALETTE && type != PNG_COLOR_TYPE_GRAY)
		return nn_fail(
			r->err, NN_EFORMAT,
			"%s: has several channels, expected a mask: a palette or grey levels",
			file->name);
	set_values(r, type, depth);
	if (r->wanted)
		png_set_interlace_handling(r->png);
	png_read_update_info(r->png, r->info);
	r->found.channels = file->classes ? 1 : png_get_channels(r->png, r->info);
	return r->wanted ? nn_picture_expect(file, &r->found, r->wanted, r->err) : 0;
}

/* Rows that come once each, or a whole picture in passes. */
static int read_pixels(struct reading *r)
{
	const struct nn_picture *p = &r->found;
	bool passes = png_get_interlace_type(r->png, r->info) != PNG_INTERLACE_NONE;
	size_t row = p->width * p->channels, plane = p->width * p->height;

	r->pixels = nn_alloc(passes ? p->height : 1, row, r->err);
	if (!r->pixels)
		return -1;
	for (int pass = 0; passes && pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
		for (size_t y = 0; y < p->height; y++)
			png_read_row(r->png, r->pixels + y * row, NULL);
	for (size_t y = 0; y < p->height; y++) {
		if (!passes)
			png_read_row(r->png, r->pixels, NULL);
		nn_picture_part(r->pixels + (passes ? y * row : 0), p->width, p->channels,
				r->planes + y * p->width, plane);
	}
	png_read_end(r->png, NULL);
	return 0;
}

static int read_file(struct reading *r)
{
	int status = -1;

	r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, failed, failed);
	r->info = r->png ? png_create_info_struct(r->png) : NULL;
	if (!r->info) {
		nn_fail(r->err, NN_ENOMEM, "%s: cannot allocate memory to decode", r->file->name);
	} else if (setjmp(png_jmpbuf(r->png)) == 0) {
		png_set_read_fn(r->png, r, next_bytes);
		status = read_header(r) < 0 || (r->wanted && read_pixels(r) < 0) ? -1 : 0;
	} else {
		status = -1;
	}
	png_destroy_read_struct(&r->png, &r->info, NULL);
	nn_free(r->pixels);
	return status;
}

static int png_header(const struct nn_picture_file *file, struct nn_picture *picture,
		      struct nn_error *err)
{
	struct reading r = { .file = file, .err = err };

	if (read_file(&r) < 0)
		return -1;
	*picture = r.found;
	return 0;
}

static int png_decode(const struct nn_picture_file *file, const struct nn_picture *picture,
		      unsigned char *planes, struct nn_error *err)
{
	struct reading r = { .file = file, .err = err, .wanted = picture, .planes = planes };

	return read_file(&r);
}

static const struct nn_codec table = { png_header, png_decode };

const struct nn_module nn_module = { NN_MODULE_ABI, "png", &table };
