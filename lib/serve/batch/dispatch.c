/* Why a batch left its queue, as metrics and sentences call it. */
#include "serve/batch/dispatch.h"

const char *const nn_dispatch_names[NN_DISPATCHES] = { "full",     "idle",  "timeout",
						       "deadline", "shape", "drain" };
