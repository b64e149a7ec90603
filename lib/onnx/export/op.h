/* One op on its way into nodes, and what the families of ops share. */
#ifndef NN_ONNX_EXPORT_OP_H
#define NN_ONNX_EXPORT_OP_H

#include "onnx/export/export.h"

struct nn_onnx_op {
	struct nn_onnx_export *e;
	const struct nn_node *node;
	const char *name, *out; /* of the line, and of its value */
	const char *in;         /* first input */
	const void *attrs;
	bool line; /* an image of height 1 that is C,L outside */
};

#define IN(...) ((const char *const[]){ __VA_ARGS__, NULL })

static inline const struct nn_shape *nn_onnx_shape_in(const struct nn_onnx_op *o)
{
	return &o->e->program->values[o->node->in[0]].shape;
}

/* "3.mean": of a line that is several nodes. */
static inline const char *nn_onnx_part(const struct nn_onnx_op *o, const char *what)
{
	return nn_onnx_keep_text(o->e, "%s.%s", o->name, what);
}

/* Parameter k of the op as a constant; its name, NULL where there is none. */
static inline const char *nn_onnx_parameter(const struct nn_onnx_op *o, int k)
{
	const struct nn_program_param *p = &o->e->program->params[o->node->param + k];
	const void *const *params = o->e->model->params;

	if (k >= o->node->n_params)
		return NULL;
	nn_onnx_tensor(o->e, p->name, o->e->model->dtype, &p->desc.shape,
		       params ? params[o->node->param + k] : NULL);
	return p->name;
}

/* What one node of one input computes. */
static inline Onnx__Node *nn_onnx_simple(const struct nn_onnx_op *o, const char *op)
{
	return nn_onnx_node(o->e, op, o->name, o->out, IN(o->in));
}

static inline const char *nn_onnx_step(const struct nn_onnx_op *o, const char *op, const char *what,
				       const char *a, const char *b)
{
	const char *out = nn_onnx_part(o, what);

	nn_onnx_node(o->e, op, out, out, IN(a, b));
	return out;
}

typedef void nn_onnx_put_op(const struct nn_onnx_op *o);
/* recurrent.c */
nn_onnx_put_op nn_onnx_put_recurrent, nn_onnx_put_last;
/* Is it the way back of a layer, or what joins both, which are one node with the way forward? */
bool nn_onnx_is_part_of_recurrent(const struct nn_onnx_export *e, const struct nn_node *node);
/* export-image.c */
nn_onnx_put_op nn_onnx_put_conv2d, nn_onnx_put_conv_transpose2d, nn_onnx_put_maxpool2d,
	nn_onnx_put_avgpool2d, nn_onnx_put_global_avgpool, nn_onnx_put_batchnorm,
	nn_onnx_put_upsample;
/* export-move.c */
nn_onnx_put_op nn_onnx_put_concat, nn_onnx_put_embedding, nn_onnx_put_reshape, nn_onnx_put_slice,
	nn_onnx_put_transpose;

#endif
