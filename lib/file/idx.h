/*
 * IDX, the format of MNIST: 00 00 TT ND, big-endian dimensions, big-endian values, nothing after
 * them.
 */
#ifndef NN_FILE_IDX_H
#define NN_FILE_IDX_H

#include "file/npy.h"

/*
 * The header that comes next; the data are read with nn_npy_read or nn_npy_read_values, then
 * nn_input_end. 1 or -1.
 */
int nn_idx_header(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err);

#endif
