/* A tar written member by member (POSIX ustar; pax for long names), the same bytes for the same members. */
#ifndef NN_FILE_MEMBERS_TAR_WRITE_H
#define NN_FILE_MEMBERS_TAR_WRITE_H

#include "base/output.h"

int nn_tar_write(struct nn_output *output, const char *name, const void *bytes, size_t n,
		 struct nn_error *err);
int nn_tar_write_end(struct nn_output *output, struct nn_error *err);

#endif
