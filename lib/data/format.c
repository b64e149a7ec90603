/* The formats of data files, and which of them a file has. */
#include <string.h>

#include "data/format.h"

static const struct nn_format *const formats[] = {
#define FORMAT(id, magics) &nn_format_##id,
#include "file/formats.def"
#undef FORMAT
};
#define N_FORMATS (sizeof formats / sizeof *formats)

const struct nn_format *nn_format_of(struct nn_input *input, struct nn_error *err)
{
	char known[200] = "";
	enum nn_format_id id;

	if (nn_input_sniff(input, &id, err) < 0)
		return NULL;
	for (size_t i = 0; id == NN_FORMAT_text && i < N_FORMATS; i++) {
		int fits = formats[i]->fits ? formats[i]->fits(input, err) : 0;

		if (fits)
			return fits < 0 ? NULL : formats[i];
	}
	for (size_t i = 0; i < N_FORMATS; i++) {
		if (formats[i]->id == id)
			return formats[i];
		strcat(strcat(known, i == 0              ? ""
				     : i + 1 < N_FORMATS ? ", "
							 : " or "),
		       formats[i]->name);
	}
	if (id == NN_FORMAT_empty)
		nn_fail(err, NN_EFORMAT, "%s: is empty, expected %s", nn_input_name(input), known);
	else
		nn_fail(err, NN_EFORMAT, "%s: looks like %s %s file, expected %s",
			nn_input_name(input), nn_format_article(id), nn_format_word(id), known);
	return NULL;
}
