/*
 * Pictures, of a tar arrays too, with what belongs to each, one after another: of a folder every
 * file, of a tar the members that follow each other with one stem (WebDataset), of a picture itself
 * that one.
 */
#ifndef NN_DATA_PICTURE_SAMPLES_H
#define NN_DATA_PICTURE_SAMPLES_H

#include "file/members/members.h"
#include "file/sniff.h"

struct nn_picture_sample {
	char *name;  /* of the file below its folder; of a tar the stem, path and all */
	char *place; /* for errors: where it lies and its name */
	char *label; /* of .cls, .json or .txt, else of the folder it lies in; NULL: none */
	bool told;   /* the label is from .cls, .json or .txt */
	bool array;  /* `picture` is an .npy member, in its place */
	bool has_text;
	struct nn_member picture, mask; /* n 0: there is none */
	struct nn_member text;          /* .txt */
};

void nn_picture_sample_free(struct nn_picture_sample *sample); /* of zeros allowed */

/* Members are the reader's own. */
struct nn_sample_reader {
	struct nn_input *input; /* borrowed */
	enum nn_format_id format;
	bool labels; /* they are wanted: else .txt, which may be long, is not looked at */
	struct nn_members *members;
	struct nn_member waiting; /* of a tar, of the sample after this one; name: a copy */
	bool ended;
};

int nn_sample_reader_open(struct nn_sample_reader *reader, struct nn_input *input,
			  enum nn_format_id format, struct nn_error *err);
void nn_sample_reader_close(struct nn_sample_reader *reader); /* of zeros allowed */
/* 1, 0 at the end, -1. What the sample held before is gone. */
int nn_sample_reader_next(struct nn_sample_reader *reader, struct nn_picture_sample *sample,
			  struct nn_error *err);
/* How many there are in all; SIZE_MAX: not known. */
size_t nn_sample_reader_count(const struct nn_sample_reader *reader);
/* Of nn_opt.each_file, for data: the samples of a folder. */
int nn_samples_each_file(const char *path, int (*visit)(void *arg, const char *path), void *arg);
/* Length of a name without the ending of its file. */
size_t nn_picture_stem(const char *name);

#endif
