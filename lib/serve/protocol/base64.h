/* Base64 (RFC 4648, section 4): how JSON of TensorFlow Serving has bytes, {"b64": "..."}. */
#ifndef NN_SERVE_PROTOCOL_BASE64_H
#define NN_SERVE_PROTOCOL_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* n characters into `bytes`, which has room for n / 4 * 3 + 2; false: they are none. */
bool nn_base64_decode(const char *text, size_t n, char *bytes, size_t *n_bytes);

#endif
