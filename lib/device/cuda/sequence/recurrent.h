/* What a step of a recurrent layer is told that has its product, too. */
#ifndef NN_DEVICE_CUDA_RECURRENT_H
#define NN_DEVICE_CUDA_RECURRENT_H

#include "device/cuda/kernels.h"

#define NN_STEP_UNITS 4 /* of a block forward, with all their gates */

/* t: the product of the state, or towards the state that the step behind began with; depth 0: none.
 */
struct nn_recurrent_step_args {
	struct nn_tile_args t;
	struct nn_recurrent_args r;
};

#endif
