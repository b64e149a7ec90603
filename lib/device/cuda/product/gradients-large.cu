/*
 * Gradients of many weights in large tiles; all leaves in one, whose subtrees lie in registers
 * (NN_LEAVES: their levels, whose leaves are at most NN_TILE_LEAVES). What is wider has fewer.
 */
#define NN_LOADERS 128
#define NN_STAGES 3
#define NN_DOWN 64
#define NN_OVER 64
#define NN_EACH_DOWN 4
#define NN_EACH_OVER 4
#define NN_STEPS 32
#ifdef NN_T_f32
#define NN_LEAVES 4
#endif
#include "device/cuda/product/gradient.h"
#undef NN_DOWN
#undef NN_OVER
#undef NN_EACH_DOWN
#undef NN_EACH_OVER
#undef NN_STEPS
#undef NN_LEAVES
#ifdef NN_T_f32
#define NN_OVER 128
#define NN_EACH_OVER 8
#else
#define NN_OVER 64
#define NN_EACH_OVER 4
#endif
#define NN_DOWN 128
#define NN_EACH_DOWN 8
#define NN_STEPS 16
#include "device/cuda/product/gradient.h"
