/* Messages of a graph: made one by one, in memory that goes with the export. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/lex.h"
#include "onnx/export/export.h"

void nn_onnx_append(struct nn_onnx_export *e, struct nn_onnx_list *list, void *item)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		void **items = nn_realloc(list->items, list->room * sizeof *items,
					  room * sizeof *items, NULL);

		e->failed |= !items;
		if (!items)
			return;
		list->items = items;
		list->room = room;
	}
	list->items[list->n++] = item;
}

void *nn_onnx_keep(struct nn_onnx_export *e, size_t n, size_t size)
{
	void *memory = e->failed ? NULL : nn_alloc(n, size, NULL);
	size_t before = e->kept.n;

	e->failed |= !memory;
	if (memory)
		nn_onnx_append(e, &e->kept, memory);
	if (memory && e->kept.n == before) {
		nn_free(memory);
		return NULL;
	}
	return memory;
}

const char *nn_onnx_keep_text(struct nn_onnx_export *e, const char *format, ...)
{
	char text[NN_NAME_LENGTH + 64], *copy;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	copy = nn_onnx_keep(e, strlen(text) + 1, 1);
	return copy ? strcpy(copy, text) : "";
}

void nn_onnx_export_fini(struct nn_onnx_export *e)
{
	for (size_t i = 0; i < e->kept.n; i++)
		nn_free(e->kept.items[i]);
	nn_free(e->kept.items);
	nn_free(e->nodes.items);
	nn_free(e->tensors.items);
	nn_free(e->inputs.items);
	nn_free(e->outputs.items);
}

/* ---- nodes ---- */

Onnx__Node *nn_onnx_node(struct nn_onnx_export *e, const char *op, const char *name,
			 const char *out, const char *const *in)
{
	Onnx__Node *node = nn_onnx_keep(e, 1, sizeof *node);
	char **outputs = nn_onnx_keep(e, 1, sizeof *outputs), **inputs;
	size_t n = 0;

	while (in && in[n])
		n++;
	inputs = nn_onnx_keep(e, n, sizeof *inputs);
	if (!node || !outputs || !inputs)
		return NULL;
	for (size_t i = 0; i < n; i++)
		inputs[i] = (char *)in[i];
	onnx__node__init(node);
	node->op_type = (char *)op;
	node->name = (char *)name;
	node->n_input = n;
	node->input = inputs;
	node->n_output = 1;
	node->output = outputs;
	outputs[0] = (char *)out;
	nn_onnx_append(e, &e->nodes, node);
	return node;
}

enum { MOST_ATTRIBUTES = 8 };
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_INTS = 7, TYPE_STRINGS = 8 };

static Onnx__Attribute *add_attribute(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
				      int type)
{
	Onnx__Attribute *a = nn_onnx_keep(e, 1, sizeof *a);

	if (!node || !a)
		return NULL;
	if (!node->attribute)
		node->attribute = nn_onnx_keep(e, MOST_ATTRIBUTES, sizeof *node->attribute);
	if (!node->attribute)
		return NULL;
	onnx__attribute__init(a);
	a->name = (char *)name;
	a->has_type = 1;
	a->type = type;
	node->attribute[node->n_attribute++] = a;
	return a;
}

void nn_onnx_put_int(struct nn_onnx_export *e, Onnx__Node *node, const char *name, int64_t value)
{
	Onnx__Attribute *a = add_attribute(e, node, name, TYPE_INT);

	if (a) {
		a->has_i = 1;
		a->i = value;
	}
}

void nn_onnx_put_float(struct nn_onnx_export *e, Onnx__Node *node, const char *name, double value)
{
	Onnx__Attribute *a = add_attribute(e, node, name, TYPE_FLOAT);

	if (a) {
		a->has_f = 1;
		a->f = (float)value;
	}
}

/* value lives as long as the program. */
void nn_onnx_put_text(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
		      const char *value)
{
	Onnx__Attribute *a = add_attribute(e, node, name, TYPE_STRING);

	if (a) {
		a->has_s = 1;
		a->s.len = strlen(value);
		a->s.data = (uint8_t *)(uintptr_t)value;
	}
}

void nn_onnx_put_texts(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
		       const char *value, size_t n)
{
	Onnx__Attribute *a = add_attribute(e, node, name, TYPE_STRINGS);
	ProtobufCBinaryData *texts = nn_onnx_keep(e, n, sizeof *texts);

	for (size_t i = 0; a && texts && i < n; i++)
		texts[i] = (ProtobufCBinaryData){ strlen(value), (uint8_t *)(uintptr_t)value };
	if (a && texts) {
		a->n_strings = n;
		a->strings = texts;
	}
}

void nn_onnx_put_ints(struct nn_onnx_export *e, Onnx__Node *node, const char *name,
		      const int64_t *values, size_t n)
{
	Onnx__Attribute *a = add_attribute(e, node, name, TYPE_INTS);
	int64_t *copy = nn_onnx_keep(e, n, sizeof *copy);

	if (a && copy) {
		memcpy(copy, values, n * sizeof *copy);
		a->n_ints = n;
		a->ints = copy;
	}
}

void nn_onnx_tensor(struct nn_onnx_export *e, const char *name, enum nn_dtype dtype,
		    const struct nn_shape *shape, const void *data)
{
	Onnx__Tensor *t = nn_onnx_keep(e, 1, sizeof *t);
	int64_t *dims = nn_onnx_keep(e, (size_t)shape->rank, sizeof *dims);

	if (!t || !dims)
		return;
	onnx__tensor__init(t);
	for (int i = 0; i < shape->rank; i++)
		dims[i] = (int64_t)shape->dim[i];
	t->n_dims = (size_t)shape->rank;
	t->dims = dims;
	t->has_data_type = t->has_raw_data = 1;
	t->data_type = nn_onnx_data_type(dtype);
	t->name = (char *)name;
	t->raw_data.data = (uint8_t *)data; /* only read */
	t->raw_data.len = data ? nn_shape_count(shape) * nn_dtype_size(dtype) : 0;
	nn_onnx_append(e, &e->tensors, t);
}

void nn_onnx_numbers(struct nn_onnx_export *e, const char *name, const struct nn_shape *shape,
		     const double *values)
{
	enum nn_dtype dtype = e->model->dtype;
	size_t n = nn_shape_count(shape);
	void *data = nn_onnx_keep(e, n, nn_dtype_size(dtype));

	for (size_t i = 0; data && i < n; i++)
		if (dtype == NN_F64)
			((double *)data)[i] = values[i];
		else
			((float *)data)[i] = (float)values[i];
	nn_onnx_tensor(e, name, dtype, shape, data);
}

void nn_onnx_number(struct nn_onnx_export *e, const char *name, double value)
{
	struct nn_shape scalar = { 0 };

	nn_onnx_numbers(e, name, &scalar, &value);
}

void nn_onnx_put_value(struct nn_onnx_export *e, struct nn_onnx_list *list, const char *name,
		       enum nn_dtype dtype, const struct nn_shape *shape)
{
	Onnx__Value *v = nn_onnx_keep(e, 1, sizeof *v);
	Onnx__Type *type = nn_onnx_keep(e, 1, sizeof *type);
	Onnx__TensorType *tensor = nn_onnx_keep(e, 1, sizeof *tensor);
	Onnx__Dimensions *dims = nn_onnx_keep(e, 1, sizeof *dims);
	Onnx__Dimension *d = nn_onnx_keep(e, (size_t)shape->rank + 1, sizeof *d);
	Onnx__Dimension **list_of = nn_onnx_keep(e, (size_t)shape->rank + 1, sizeof *list_of);

	if (!v || !type || !tensor || !dims || !d || !list_of)
		return;
	onnx__value__init(v);
	onnx__type__init(type);
	onnx__tensor_type__init(tensor);
	onnx__dimensions__init(dims);
	for (int i = 0; i <= shape->rank; i++) {
		onnx__dimension__init(&d[i]);
		d[i].has_value = i > 0;
		d[i].value = i > 0 ? (int64_t)shape->dim[i - 1] : 0;
		d[i].param = i > 0 ? NULL : (char *)"N";
		list_of[i] = &d[i];
	}
	v->name = (char *)name;
	v->type = type;
	type->tensor_type = tensor;
	tensor->has_elem_type = 1;
	tensor->elem_type = nn_onnx_data_type(dtype);
	tensor->shape = dims;
	dims->n_dim = (size_t)shape->rank + 1;
	dims->dim = list_of;
	nn_onnx_append(e, list, v);
}
