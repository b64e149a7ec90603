/* The table of ops, in the order of ops.def, and what its rows say of a node. */
#include "op/op.h"

#define NN_OP(id, name) extern const struct nn_op nn_op_##id;
#include "op/ops.def"
#undef NN_OP

const struct nn_op *const nn_ops[NN_N_OPS] = {
#define NN_OP(id, name) [NN_OP_##id] = &nn_op_##id,
#include "op/ops.def"
#undef NN_OP
};

enum nn_op_id nn_op_of(enum nn_op_role role)
{
	enum nn_op_id op = 0;

	while (op < NN_N_OPS - 1 && nn_ops[op]->role != role)
		op++;
	return op;
}

unsigned nn_op_needs(enum nn_op_id op, const void *attrs)
{
	return nn_ops[op]->needs ? nn_ops[op]->needs(attrs) : nn_ops[op]->flags;
}

bool nn_op_is_view(enum nn_op_id op, const void *attrs, bool training)
{
	return nn_ops[op]->view && nn_ops[op]->view(attrs, training);
}

static void *at(void *attrs, size_t offset)
{
	return offset ? (char *)attrs + offset : NULL;
}

bool *nn_op_bias(enum nn_op_id op, void *attrs)
{
	return at(attrs, nn_ops[op]->bias);
}

struct nn_epilogue *nn_op_epilogue(enum nn_op_id op, void *attrs)
{
	return at(attrs, nn_ops[op]->epilogue);
}

struct nn_pooled *nn_op_pooling(enum nn_op_id op, void *attrs)
{
	return at(attrs, nn_ops[op]->pooling);
}

bool nn_op_has_residual(enum nn_op_id op, const void *attrs)
{
	const struct nn_epilogue *epilogue = nn_op_epilogue(op, (void *)attrs);

	return epilogue && epilogue->residual;
}

bool nn_op_is_pooled(enum nn_op_id op, const void *attrs)
{
	const struct nn_pooled *pooling = nn_op_pooling(op, (void *)attrs);

	return pooling && pooling->on;
}

void nn_op_strip(enum nn_op_id op, void *attrs)
{
	struct nn_epilogue *epilogue = nn_op_epilogue(op, attrs);
	struct nn_pooled *pooling = nn_op_pooling(op, attrs);

	if (epilogue)
		*epilogue = (struct nn_epilogue){ 0 };
	if (pooling)
		pooling->on = false;
}

int nn_op_in_place(enum nn_op_id op, const void *attrs, int n_in)
{
	if (nn_ops[op]->flags & NN_OP_Y_ON_X)
		return 0;
	return nn_op_has_residual(op, attrs) && !nn_op_is_pooled(op, attrs) ? n_in - 1 : -1;
}

bool nn_op_takes_dy(enum nn_op_id op, const void *attrs, int n_in, int k)
{
	if (nn_ops[op]->flags & NN_OP_DX_ON_DY)
		return true;
	return nn_op_has_residual(op, attrs) && !nn_op_is_pooled(op, attrs) && k == n_in - 1;
}

size_t nn_op_group(enum nn_op_id op, const void *attrs)
{
	return nn_ops[op]->role == NN_ROLE_NORM ? ((const struct nn_batchnorm *)attrs)->group : 0;
}

uint64_t nn_op_flops(enum nn_op_id op, const void *attrs, const struct nn_shape *in, int n_in,
		     const struct nn_shape *out)
{
	return nn_ops[op]->flops ? nn_ops[op]->flops(attrs, in, n_in, out) : nn_shape_count(out);
}
