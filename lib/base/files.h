/*
 * The files of one command line, compared before work begins: what is written must be neither an
 * input nor what something else is written to.
 */
#ifndef NN_BASE_FILES_H
#define NN_BASE_FILES_H

#include "base/option.h"

/*
 * A file that no row of the option tables names (an operand, one beside the output), or another
 * word on one that a row does name.
 */
struct nn_file_use {
	const char *name; /* of the option; NULL: an operand */
	const char *path; /* "-": standard input or output; NULL: none */
	bool writes;
	bool replaceable; /* read before anything is written, so --output may take its place */
	nn_file_each *each; /* what is read besides it; NULL: nothing */
};

/*
 * Compare the files of all options (nn_opt.file) and of more[n], with those that they stand for, by
 * device and inode, and by folder and name where they are yet to come. Special files are anybody's.
 * An entry of `more` stands in place of the row of its name, if that reads or writes as it does.
 * NN_EUSAGE: names both.
 */
int nn_files_check(const struct nn_opt_list *list, const struct nn_file_use *more, size_t n,
		   struct nn_error *err);

#endif
