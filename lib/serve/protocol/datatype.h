/* The datatypes of the Open Inference Protocol: names, sizes, and raw values as numbers. */
#ifndef NN_SERVE_PROTOCOL_DATATYPE_H
#define NN_SERVE_PROTOCOL_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nn_datatype {
	NN_DT_ANY, /* v1: it is what the input wants */
	NN_DT_BOOL,
	NN_DT_UINT8,
	NN_DT_UINT16,
	NN_DT_UINT32,
	NN_DT_UINT64,
	NN_DT_INT8,
	NN_DT_INT16,
	NN_DT_INT32,
	NN_DT_INT64,
	NN_DT_FP16,
	NN_DT_BF16,
	NN_DT_FP32,
	NN_DT_FP64,
	NN_DT_BYTES,
	NN_DATATYPES
};

extern const char *const nn_datatype_names[NN_DATATYPES];
/* NN_DATATYPES: there is none of that name. */
enum nn_datatype nn_datatype_find(const char *name, size_t n);
size_t nn_datatype_size(enum nn_datatype type); /* bytes of a value; BYTES: 0 */
/* Is text a value of the type, as JSON writes it? Whole numbers have a range. */
bool nn_datatype_holds(enum nn_datatype type, const char *text, size_t n);
/* A raw little-endian value, exactly; not of BYTES. */
double nn_datatype_value(enum nn_datatype type, const void *raw);
/* The value as text, in the fewest digits (NN_NUMBER bytes); its length. */
size_t nn_datatype_text(enum nn_datatype type, const void *raw, char *text);

#endif
