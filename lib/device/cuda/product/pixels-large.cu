/* Products forward and towards the input in large tiles. */
#define NN_SHAPE 128x128
#define NN_ROWS 128
#define NN_COLUMNS 128
#define NN_EACH_ROWS 8
#define NN_EACH_COLUMNS 8
#define NN_DEPTH (sizeof(real) == 4 ? 16 : 8)
#define NN_STAGES 2
#include "device/cuda/product/pixels.h"
