/* Gradients of few weights in small tiles. */
#define NN_LOADERS 128 /* each waits for its own sums: many bring little each */
#define NN_DOWN 8
#define NN_OVER 16
#define NN_EACH_DOWN 2
#define NN_EACH_OVER 1
#define NN_STEPS 128
#define NN_STAGES 4
#include "device/cuda/product/gradient.h"
#undef NN_LOADERS
#undef NN_DOWN
#undef NN_EACH_OVER
#undef NN_STAGES
#define NN_LOADERS 256
#define NN_DOWN 16
#define NN_EACH_OVER 2
#define NN_STAGES 3
#include "device/cuda/product/gradient.h"
#undef NN_DOWN
#undef NN_OVER
#undef NN_EACH_OVER
#undef NN_STEPS
#define NN_DOWN 32
#define NN_OVER 32
#define NN_EACH_OVER 4
#define NN_STEPS 64
#ifdef NN_T_f64
#define NN_LEAVES 3
#endif
#include "device/cuda/product/gradient.h"
