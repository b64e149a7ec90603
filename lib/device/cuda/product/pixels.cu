/* Products forward and towards the input in tiles of middle size, and for few channels. */
#define NN_SHAPE 64x64
#define NN_ROWS 64
#define NN_COLUMNS 64
#define NN_EACH_ROWS 8
#define NN_EACH_COLUMNS 4
#define NN_DEPTH 16
#define NN_STAGES (sizeof(real) == 4 ? 4 : 2)
#include "device/cuda/product/pixels.h"

#define NN_SHAPE 64x32
#define NN_ROWS 64
#define NN_COLUMNS 32
#define NN_EACH_ROWS 4
#define NN_EACH_COLUMNS 4
#define NN_DEPTH 16
#define NN_STAGES (sizeof(real) == 4 ? 4 : 2)
#include "device/cuda/product/pixels.h"

#define NN_SHAPE 128x16
#define NN_ROWS 128
#define NN_COLUMNS 16
#define NN_EACH_ROWS 8
#define NN_EACH_COLUMNS 4
#define NN_DEPTH 16
#define NN_STAGES (sizeof(real) == 4 ? 4 : 2)
#include "device/cuda/product/pixels.h"
