/* The formats of data files, and which of them a file has. */
#include <string.h>

#include "data/format.h"
#include "file/idx.h"
#include "file/npz.h"

static const struct nn_format formats[] = {
#define FORMAT(kind, name, magics, ...) { kind, name, __VA_ARGS__ },
#include "file/formats.def"
#undef FORMAT
};
#define N_FORMATS (sizeof formats / sizeof *formats)

const struct nn_format *nn_format_of(struct nn_input *input, struct nn_error *err)
{
	char known[100] = "";
	const char *kind;

	if (nn_input_sniff(input, &kind, err) < 0)
		return NULL;
	for (size_t i = 0; i < N_FORMATS; i++) {
		if (strcmp(kind, formats[i].kind) == 0)
			return &formats[i];
		strcat(strcat(known, i == 0              ? ""
				     : i + 1 < N_FORMATS ? ", "
							 : " or "),
		       formats[i].name);
	}
	if (strcmp(kind, "empty") == 0)
		nn_fail(err, NN_EFORMAT, "%s: is empty, expected %s", nn_input_name(input), known);
	else
		nn_fail(err, NN_EFORMAT, "%s: looks like %s %s file, expected %s",
			nn_input_name(input), strchr("aeiox", *kind) ? "an" : "a", kind, known);
	return NULL;
}
