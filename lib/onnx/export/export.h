/* A graph on its way into a file: nodes and constants as they are added. */
#ifndef NN_ONNX_EXPORT_H
#define NN_ONNX_EXPORT_H

#include "model/onnx.h"
#include "onnx/constant.h"

struct nn_onnx_list {
	void **items;
	size_t n, room;
};

struct nn_onnx_export {
	const struct nn_onnx_model *model;
	const struct nn_program *program;
	struct nn_onnx_list nodes, tensors, inputs, outputs;
	struct nn_onnx_list kept; /* all memory that messages point to */
	const char **names;       /* of the program's values */
	bool failed;              /* out of memory: what is added is not */
};

/* Zeroed memory that lives as long as the export; NULL once it failed. */
void *nn_onnx_keep(struct nn_onnx_export *e, size_t n, size_t size);
const char *nn_onnx_keep_text(struct nn_onnx_export *e, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nn_onnx_append(struct nn_onnx_export *e, struct nn_onnx_list *list, void *item);

/* A node of inputs (up to a NULL) that gives `out`; what its attributes are is added to it. */
Onnx__Node *nn_onnx_node(struct nn_onnx_export *e, const char *op, const char *name,
			 const char *out, const char *const *in);
void nn_onnx_put_int(struct nn_onnx_export *e, Onnx__Node *node, const char *name, int64_t value);
void nn_onnx_put_float(struct nn_onnx_export *e, Onnx__Node *node, const char *name, double value);
void nn_onnx_put_text(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
		      const char *value);
/* A list of n times the same text. */
void nn_onnx_put_texts(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
		       const char *value, size_t n);
void nn_onnx_put_ints(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
		      const int64_t *values, size_t n);

/* Constants by name; data are borrowed, numbers copied in the model's type. */
void nn_onnx_tensor(struct nn_onnx_export *e, const char *name, enum nn_dtype dtype,
		    const struct nn_shape *shape, const void *data);
void nn_onnx_numbers(struct nn_onnx_export *e, const char *name, const struct nn_shape *shape,
		     const double *values);
void nn_onnx_number(struct nn_onnx_export *e, const char *name, double value);

/* An input or output of the graph: rows of that type and shape. */
void nn_onnx_put_value(struct nn_onnx_export *e, struct nn_onnx_list *list, const char *name,
		       enum nn_dtype dtype, const struct nn_shape *shape);
void nn_onnx_export_fini(struct nn_onnx_export *e);

/* op.c: the nodes of one op. Errors do not say which line it is. */
int nn_onnx_export_op(struct nn_onnx_export *e, const struct nn_node *node, const char *name,
		      struct nn_error *err);

#endif
