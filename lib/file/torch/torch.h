/* PyTorch's files: a zip of a pickle that says how tensors lie in the other members. */
#ifndef NN_FILE_TORCH_H
#define NN_FILE_TORCH_H

#include "file/safetensors.h"
#include "file/zip.h"

/* Is there a data.pkl among the members? Its place, or n. */
size_t nn_torch_find(const struct nn_zip_member *members, size_t n);
/*
 * The tensors of a state_dict; they borrow from the members' bytes where they can. Anything but a
 * dict of tensors is refused by what it is, without executing any of it. Errors name `file`.
 */
int nn_torch_read(struct nn_st *st, const struct nn_zip_member *members, size_t n, const char *file,
		  struct nn_error *err);

#endif
