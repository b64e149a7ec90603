/* Which codec a picture needs, and the limits that hold for all of them. */
#include <string.h>
#include <strings.h>

#include "base/limit.h"
#include "base/module.h"
#include "file/picture/picture.h"
#include "file/sniff.h"

bool nn_is_picture_name(const char *name)
{
	static const char *const endings[] = { ".png", ".jpg", ".jpeg" };
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t k = strlen(endings[i]);

		if (n > k && strcasecmp(name + n - k, endings[i]) == 0)
			return true;
	}
	return false;
}

static const struct nn_codec *open_codec(const struct nn_codec **codec, const char *module,
					 const struct nn_picture_file *file, struct nn_error *err)
{
	if (!*codec && !(*codec = nn_module_open(module, err)))
		nn_fail_at(err, "%s", file->name);
	return *codec;
}

const struct nn_codec *nn_codec_of(struct nn_codecs *codecs, const struct nn_picture_file *file,
				   struct nn_error *err)
{
	enum nn_format_id id = nn_sniff(file->bytes, file->n);

	if (id == NN_FORMAT_png)
		return open_codec(&codecs->png, "png", file, err);
	if (id == NN_FORMAT_jpeg)
		return open_codec(&codecs->jpeg, "jpeg", file, err);
	if (id == NN_FORMAT_empty)
		nn_fail(err, NN_EFORMAT, "%s: is empty, expected a PNG or JPEG picture",
			file->name);
	else
		nn_fail(err, NN_EFORMAT,
			"%s: looks like %s %s file, expected a PNG or JPEG picture", file->name,
			nn_format_article(id), nn_format_word(id));
	return NULL;
}

int nn_picture_check(const struct nn_picture_file *file, const struct nn_picture *p,
		     struct nn_error *err)
{
	size_t side = p->width > p->height ? p->width : p->height;
	char said[NN_LIMIT_TEXT];

	if (p->width == 0 || p->height == 0)
		return nn_fail(err, NN_EFORMAT, "%s: has no pixels", file->name);
	if (side > nn_limit(NN_LIMIT_SIDE))
		nn_limit_said(NN_LIMIT_SIDE, side, said);
	else if (p->width * p->height > nn_limit(NN_LIMIT_PIXELS))
		nn_limit_said(NN_LIMIT_PIXELS, p->width * p->height, said);
	else
		return 0;
	return nn_fail(err, NN_EFORMAT, "%s: is %zu pixels wide and %zu high, expected at most %s",
		       file->name, p->width, p->height, said);
}

static const char *colours(size_t channels)
{
	static const char *const words[] = { "", "grey", "grey with alpha", "RGB",
					     "RGB with alpha" };

	return words[channels];
}

int nn_picture_expect(const struct nn_picture_file *file, const struct nn_picture *found,
		      const struct nn_picture *wanted, struct nn_error *err)
{
	if (found->width != wanted->width || found->height != wanted->height)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is %zux%zu pixels, expected %zux%zu; pictures are not scaled",
			       file->name, found->width, found->height, wanted->width,
			       wanted->height);
	if (found->channels != wanted->channels)
		return nn_fail(err, NN_EFORMAT, "%s: is %s (channels: %zu), expected %s (%zu)",
			       file->name, colours(found->channels), found->channels,
			       colours(wanted->channels), wanted->channels);
	return 0;
}
