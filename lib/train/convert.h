/* A finished model written again: as an ONNX file, or in another precision. No data are needed. */
#ifndef NN_TRAIN_CONVERT_H
#define NN_TRAIN_CONVERT_H

#include "train/train.h"

/* Is that what is asked for: --steps=0, a start model, no DATA? */
bool nn_train_converts(const struct nn_train_setup *setup);
/* An option that has no meaning then is NN_EUSAGE. */
int nn_train_convert_check(const struct nn_train_setup *setup, struct nn_error *err);
int nn_train_convert(const struct nn_train_setup *setup, struct nn_error *err);

#endif
