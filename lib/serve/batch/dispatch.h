/*
 * Why a batch left its queue. shape: the next row has another one; never counted, since all rows of
 * a lane have one shape.
 */
#ifndef NN_SERVE_BATCH_DISPATCH_H
#define NN_SERVE_BATCH_DISPATCH_H

enum nn_dispatch { NN_FULL, NN_IDLE, NN_TIMEOUT, NN_DEADLINE, NN_SHAPE, NN_DRAIN, NN_DISPATCHES };
extern const char *const nn_dispatch_names[NN_DISPATCHES]; /* "full", "idle", ... */

#endif
