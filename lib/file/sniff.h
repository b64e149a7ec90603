/* Formats of files, recognized by their first bytes. */
#ifndef NN_FILE_SNIFF_H
#define NN_FILE_SNIFF_H

#include "file/input.h"

enum nn_format_id {
#define FORMAT(id, magics) NN_FORMAT_##id,
#define OTHER(id, magics) NN_FORMAT_##id,
#include "file/formats.def"
#undef FORMAT
};

/* "npy", "gzip", ..., "empty". */
const char *nn_format_word(enum nn_format_id id);
/* "an" or "a", as the word wants it. */
const char *nn_format_article(enum nn_format_id id);

enum nn_format_id nn_sniff(const unsigned char *bytes, size_t n);
/* nn_sniff of what comes next; never waits for more than one line of text. */
int nn_input_sniff(struct nn_input *input, enum nn_format_id *id, struct nn_error *err);

#endif
