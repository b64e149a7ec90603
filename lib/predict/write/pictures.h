/*
 * Where pictures that are written go: each to a file of its own in a folder, one after another into a tar, or the
 * only one to a file.
 */
#ifndef NN_PREDICT_WRITE_PICTURES_H
#define NN_PREDICT_WRITE_PICTURES_H

#include "base/output.h"
#include "base/text.h"

struct nn_pictures;

/* Does -o (NULL: none) name a folder? Every name does that is no file yet and ends in neither .png nor .tar. */
bool nn_pictures_is_folder(const char *output);

/*
 * data: what is read, whose files are never written over; NULL or "-": stdin. Of `total` pictures (-1: nobody
 * knows) one alone goes to standard output as it is, several as a tar. A folder is made where there is none;
 * stream is NULL then, else borrowed.
 */
struct nn_pictures_options {
	const char *output, *data;
	struct nn_output *stream;
	int64_t total;
};
int nn_pictures_open(struct nn_pictures **pictures, const struct nn_pictures_options *options,
		     struct nn_error *err);
/* The next one. name: of the sample, with the ending of its file; NULL: it is called by its number. */
int nn_pictures_put(struct nn_pictures *pictures, const char *name, const struct nn_text *bytes,
		    struct nn_error *err);
int nn_pictures_close(struct nn_pictures *pictures, struct nn_error *err);
void nn_pictures_free(struct nn_pictures *pictures); /* NULL allowed */

#endif
