/* Products in tiles of middle size. */
#define NN_TILE 64
#define NN_EACH_WAY 4
#define NN_DEPTH 16
#include "device/cuda/product/tile.h"
#undef NN_TILE
#undef NN_EACH_WAY
#undef NN_DEPTH
