/* Products in large tiles. */
#define NN_TILE 128
#define NN_EACH_WAY 8
#define NN_DEPTH 8
#include "device/cuda/product/tile.h"
#undef NN_TILE
#undef NN_EACH_WAY
#undef NN_DEPTH
