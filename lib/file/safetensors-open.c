/* Opening a model: is it a safetensors file, and if not, what? */
#include <string.h>

#include "base/text.h"
#include "file/safetensors.h"
#include "file/sniff.h"

#define MODEL "model"

static int check_kind(struct nn_input *input, const char *wanted, struct nn_error *err)
{
	const unsigned char *b;
	enum nn_format_id format;
	size_t got;

	if (nn_input_sniff(input, &format, err) < 0 || nn_input_peek(input, &b, 9, &got, err) < 0)
		return -1;
	if (got == 9 && b[8] == '{' &&
	    (format == NN_FORMAT_safetensors || nn_utf8_prefix((const char *)b, 8) < 8))
		return 0;
	if (got == 0)
		return nn_fail(err, NN_EFORMAT, "%s: is empty, expected a %s", nn_input_name(input),
			       wanted);
	if (format == NN_FORMAT_text &&
	    (memchr(b, 0, got) || nn_utf8_prefix((const char *)b, got) < got - (got == 9)))
		return nn_fail(err, NN_EFORMAT, "%s: is not a safetensors file, expected a %s",
			       nn_input_name(input), wanted);
	return nn_fail(
		err, NN_EFORMAT, "%s: looks like %s %s file, not a %s%s", nn_input_name(input),
		nn_format_article(format), nn_format_word(format), wanted,
		strcmp(wanted, MODEL) == 0 && (format == NN_FORMAT_zip || format == NN_FORMAT_npy ||
					       format == NN_FORMAT_hdf5)
			? "; weights made elsewhere want a net beside them: -m TEXT"
			: "");
}

int nn_st_read_model_part(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
			  struct nn_error *err)
{
	return check_kind(input, MODEL, err) < 0 ? -1 : nn_st_read_part(st, input, part, err);
}

int nn_st_read_model(struct nn_st **st, struct nn_input *input, struct nn_error *err)
{
	struct nn_st_part all = { 0 };

	return nn_st_read_model_part(st, input, &all, err);
}

static int read_kind(struct nn_st **st, const char *path, const char *wanted, struct nn_error *err)
{
	struct nn_st_part all = { 0 };
	struct nn_input *input;
	int status;

	if (nn_input_open(&input, path, err) < 0)
		return -1;
	nn_input_plain(input);
	status = check_kind(input, wanted, err);
	if (status == 0)
		status = nn_st_read_part(st, input, &all, err);
	nn_input_close(input);
	return status;
}

int nn_st_read(struct nn_st **st, const char *path, struct nn_error *err)
{
	return read_kind(st, path, MODEL, err);
}

int nn_st_read_state(struct nn_st **st, const char *path, struct nn_error *err)
{
	return read_kind(st, path, "state", err);
}
