/* The table of ops, in the order of ops.def. */
#include "op/op.h"

#define NN_OP(id, name) extern const struct nn_op nn_op_##id;
#include "op/ops.def"
#undef NN_OP

const struct nn_op *const nn_ops[NN_N_OPS] = {
#define NN_OP(id, name) [NN_OP_##id] = &nn_op_##id,
#include "op/ops.def"
#undef NN_OP
};
